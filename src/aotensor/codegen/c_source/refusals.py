"""What C source does not have: half precision, by the name of the value."""

from __future__ import annotations

from aotensor.errors import UnsupportedError
from aotensor_runtime.manifest import FunctionSpec

_HALVES = ("float16", "bfloat16")


def refuse_types(spec: FunctionSpec) -> None:
    """Check the inputs and outputs of a function.   Raises: UnsupportedError that names the first"""
    for value in (*spec.arguments, *spec.produced):
        if value.dtype in _HALVES:
            text = f"{spec.name}: {value.name} is {value.dtype}, and C source has no half precision"
            raise UnsupportedError(text, hint="make it float32")
