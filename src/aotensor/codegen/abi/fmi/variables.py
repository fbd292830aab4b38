"""The variables of an FMU, for its functions and its modelDescription.xml."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from aotensor.codegen.abi.substitutes import missing_lapack
from aotensor.core.types import Array
from aotensor_runtime.abi import DTYPE_SIZES
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, OutputSpec
from aotensor_runtime.signature import signature_text

TYPES: Final = {
    "float64": "Float64", "float32": "Float32", "int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64",
    "uint8": "UInt8", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "bool": "Boolean",
}  # fmt: skip
"""dtype → the type of FMI."""
DERIVATIVES: Final = {"forward": "Directional", "adjoint": "Adjoint"}
"""What follows the name of the model in the function of a derivative → how FMI calls it."""


@dataclass(frozen=True)
class Variable:
    """An input or output of the model; its value reference is its position, from 1. is_data: is it a parameter?"""

    name: str
    dtype: str
    shape: tuple[int, ...]
    is_output: bool
    is_data: bool = False

    @property
    def is_continuous(self) -> bool:
        """Is the variable continuous, so that it has derivatives?"""
        return self.dtype in ("float64", "float32")

    @property
    def count(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def size(self) -> int:
        """The size of an element in bytes."""
        return DTYPE_SIZES[self.dtype]


def variables_of(spec: FunctionSpec) -> list[Variable]:
    """The inputs of a model, then its outputs; an output gets the suffix `_out` if an input has the same name."""
    found: list[Variable] = []
    for value in spec.values:
        shape = tuple(n for n in value.shape if isinstance(n, int))
        is_data = isinstance(value, ArgumentSpec) and value.is_data
        is_output = isinstance(value, OutputSpec)
        name = _free(value.name, found, "_out" if is_output else "_")
        found.append(Variable(name, value.dtype, shape, is_output, is_data))
    return found


def time_name(found: Sequence[Variable]) -> str:
    """The name of the independent variable, time; different from the names of all variables."""
    return _free("time", found, "_")


def _free(name: str, found: Sequence[Variable], suffix: str) -> str:
    taken = {x.name for x in found}
    while name in taken:
        name += suffix
    return name


def start_text(values: Array | None) -> str:
    """Start values as modelDescription.xml has them; "" for zeros."""
    if values is None or not values.any():
        return ""
    if values.dtype == "bool":
        return " ".join(str(bool(x)).lower() for x in values.ravel())
    return " ".join(map(str, values.ravel()))


def derivative_name(spec: FunctionSpec, role: str, functions: Sequence[FunctionSpec]) -> str | None:
    """Our function that computes a derivative of the model; None if there is none, or if FMUs cannot call it."""
    found = next((x for x in functions if x.name == f"{spec.name}_{role}"), None)
    return None if found is None or missing_lapack(found) else found.name


def token_of(spec: FunctionSpec, starts: Sequence[str]) -> str:
    """The instantiation token, which compares a modelDescription.xml with a library.   starts: as in the manifest"""
    digest = hashlib.sha256("\n".join([signature_text(spec), *starts]).encode()).hexdigest()
    return "{" + "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32])) + "}"
