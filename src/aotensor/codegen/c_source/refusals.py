"""Checks for what C source does not support: half-precision values, and interfaces of other projects."""

from __future__ import annotations

from aotensor.core.dtypes import is_half
from aotensor.errors import UnsupportedError
from aotensor_runtime.manifest import FunctionSpec, Manifest


def refuse_types(spec: FunctionSpec) -> None:
    """Check the inputs and outputs of a function.   Raises: UnsupportedError that names the first unsupported one."""
    for value in (*spec.arguments, *spec.produced):
        if is_half(value.dtype):
            text = f"{spec.name}: {value.name} is {value.dtype}, and C source has no half precision"
            raise UnsupportedError(text, hint="make it float32")


def refuse_interfaces(manifest: Manifest) -> None:
    """Check that a library has no interface of another project. Raises: UnsupportedError that names the interface."""
    if manifest.interfaces:
        name = manifest.interfaces[0].name
        raise UnsupportedError(
            f"C source has no symbols of the interface {name}", hint=f"emit the library, or leave out --abi {name}"
        )
