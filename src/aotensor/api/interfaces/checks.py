"""Checks that several interfaces share: no state, and dense float64 arrays of static shape."""

from __future__ import annotations

from collections.abc import Iterable

from aotensor.core.types import TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.variable import Variable


def refuse_state(interface: str, function: str, names: Iterable[str], hint: str = "make them inputs") -> None:
    """Check that a function has no shared variables.   Raises: GraphValueError that names them"""
    found = ", ".join(dict.fromkeys(names))
    if found:
        raise GraphValueError(f"abi {interface}: {function} has shared variables, {found}", hint=hint)


def static_shape(x: Variable) -> tuple[int, ...]:
    """The extents of an array of static shape."""
    return tuple(int(n) for n in x.static_shape if n is not None)


def is_static_float64(x: Variable) -> bool:
    """Is a variable a dense float64 array of static shape?"""
    is_dense = isinstance(x.type, TensorType) and not x.is_sparse
    return is_dense and x.type.dtype == "float64" and None not in x.static_shape
