"""What C source does not have: half precision and complex numbers, by the name of the value."""

from __future__ import annotations

from aotensor.errors import UnsupportedError
from aotensor_runtime.manifest import FunctionSpec

_HALVES = ("float16", "bfloat16")


def refuse_types(spec: FunctionSpec) -> None:
    """Check the inputs and outputs of a function.   Raises: UnsupportedError that names the first"""
    for value in (*spec.arguments, *spec.produced):
        if value.dtype in _HALVES or value.dtype.startswith("complex"):
            what = "half precision" if value.dtype in _HALVES else "complex numbers"
            hint = "cast it to float32" if value.dtype in _HALVES else "pass its real and imaginary part"
            raise UnsupportedError(f"{spec.name}: {value.name} is {value.dtype}: C source has no {what}", hint=hint)
