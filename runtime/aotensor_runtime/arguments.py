"""Convert call arguments to the arrays that a library accepts: names, dtypes, ranks; and allocate results.

Extents are checked in native code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from aotensor_runtime.arrays.layout import DTYPES
from aotensor_runtime.arrays.memory import block
from aotensor_runtime.arrays.plain import AnyArray, dtype_hint, kind_of, plain_array
from aotensor_runtime.arrays.poison import poison
from aotensor_runtime.errors import ArgumentTypeError, OutOfMemory
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, SparseValue

LARGE: Final = 1 << 18
"""Least bytes of an array whose cache-line alignment is worth searching for."""
LINE: Final = 64
"""Bytes of a cache line."""

_KINDS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}

_NOTHING = np.zeros(1, dtype="bool")
_NO_STEPS = (0, 0)


def pattern(shape: tuple[int, ...]) -> AnyArray:
    """An array of two extents without memory, which passes the extents of a sparse matrix."""
    return np.ndarray(shape, "bool", _NOTHING, 0, _NO_STEPS)


def new_array(shape: Sequence[int], dtype: np.dtype[Any]) -> AnyArray:
    """An uninitialised array in C order. A large matrix is aligned: rows that straddle lines cost up to a third.

    A large one may reuse the memory of a former result without references.

    Raises: OutOfMemory.
    """
    try:
        if len(shape) < 2 and (not shape or shape[0] < LARGE):
            return np.empty(shape, dtype)
        if (size := prod(shape) * dtype.itemsize) < LARGE:
            return np.empty(shape, dtype)
        room = block(size + LINE)
    except (MemoryError, ValueError) as error:
        raise OutOfMemory(f"no memory for an array of {dtype}{[int(n) for n in shape]}") from error
    start = -room.__array_interface__["data"][0] % LINE
    return room[start : start + size].view(dtype).reshape(shape)


def new_columns(shape: Sequence[int], dtype: np.dtype[Any]) -> AnyArray:
    """The same in Fortran's order, column-major.   Raises: OutOfMemory"""
    return new_array(shape[::-1], dtype).T


def new_output(shape: Sequence[int], dtype: np.dtype[Any], layout: str = "C") -> AnyArray:
    """`new_array` for a result, poisoned if calls run on poisoned memory.   layout: "C" or "F"   Raises: OutOfMemory"""
    return poison((new_columns if layout == "F" else new_array)(shape, dtype))


def match_names(
    function: str, inputs: Sequence[ArgumentSpec | SparseValue], args: Sequence[object], kwargs: Mapping[str, object]
) -> list[object]:
    """Bind the arguments of a call to the inputs, in their order.

    Raises: ArgumentTypeError if some are missing, too many, unknown or given twice.
    """
    names = [value.name for value in inputs]
    if len(args) > len(names):
        raise ArgumentTypeError(
            f"{function} accepts {_count(len(names))}, found {len(args)}", hint=_usage(function, names)
        )
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise ArgumentTypeError(f"{function} has no input {name!r}", hint=_usage(function, names))
        if name in given:
            raise ArgumentTypeError(f"{function}: input {name!r} is given twice", hint=_usage(function, names))
        given[name] = value
    missing = [name for name in names if name not in given]
    if missing:
        raise ArgumentTypeError(f"{function}: missing {', '.join(missing)}", hint=_usage(function, names))
    return [given[name] for name in names]


def _count(number: int) -> str:
    return "1 argument" if number == 1 else f"{number} arguments"


def _usage(function: str, names: Sequence[str]) -> str:
    return f"call {function}({', '.join(names)})"


def to_array(spec: FunctionSpec, value: object, target: ArgumentSpec) -> AnyArray:
    """`value` as an array of the input's dtype and rank, aligned, with strides that are multiples of its elements.

    Arrays keep their values: they are cast to wider dtypes only. Python numbers and lists are accepted if their values
    fit; a float as float32 only if it is exact.

    Raises: ArgumentTypeError for other dtypes and ranks, masked arrays, and anything but an array.
    """
    dtype = DTYPES[target.dtype]
    if type(value) is float and target.dtype == "float64" and not target.shape:
        return np.array(value)
    is_literal = isinstance(value, bool | int | float | complex | list | tuple) and not isinstance(value, np.generic)
    array = as_plain(spec, value, target.name)
    if array.dtype != dtype:
        array = _from_literal(spec, array, target) if is_literal else _cast(spec, array, target)
    if array.ndim != len(target.shape):
        raise ArgumentTypeError(f"{spec.name}: {target.name} has rank {array.ndim}, expected {len(target.shape)}")
    if not array.flags.aligned or any(stride % array.itemsize for stride in array.strides):
        array = np.array(array, dtype=dtype, order="C")
    return array


def as_plain(spec: FunctionSpec, value: object, name: str) -> AnyArray:
    """`value` as an array in the dtype that NumPy chooses.   Raises: ArgumentTypeError if a value would change."""
    try:
        return plain_array(value)
    except ArgumentTypeError as error:
        found = error.diagnostic
        raise ArgumentTypeError(f"{spec.name}: {name}: {found.title}", hint=found.hint) from error


def _cast(spec: FunctionSpec, array: AnyArray, target: ArgumentSpec) -> AnyArray:
    dtype = DTYPES[target.dtype]
    rule = "same_kind" if spec.allow_input_downcast else "safe"
    if kind_of(array.dtype) not in _KINDS or not np.can_cast(array.dtype, dtype, rule):  # type: ignore[arg-type]
        is_rounding = kind_of(array.dtype) in _KINDS and np.can_cast(array.dtype, dtype, "same_kind")
        raise ArgumentTypeError(
            f"{spec.name}: {target.name} has dtype {array.dtype}, expected {dtype}",
            hint=f"convert it with .astype({target.dtype!r})" if is_rounding else dtype_hint(array.dtype),
        )
    return array.astype(dtype)


def _from_literal(spec: FunctionSpec, array: AnyArray, target: ArgumentSpec) -> AnyArray:
    """Convert Python numbers by value: their own dtype does not matter if the values fit."""
    dtype = DTYPES[target.dtype]
    if kind_of(array.dtype) not in _KINDS:
        raise ArgumentTypeError(
            f"{spec.name}: {target.name} does not hold {'' if dtype.kind == 'c' else 'real '}numbers (dtype "
            f"{array.dtype})",
            hint=dtype_hint(array.dtype),
        )
    if array.size and _KINDS[kind_of(array.dtype)] > _KINDS[kind_of(dtype)]:
        raise ArgumentTypeError(
            f"{spec.name}: {target.name} = {_short(array)} has dtype {array.dtype}, expected {dtype}",
            hint=dtype_hint(array.dtype),
        )
    if target.dtype in ("float64", "complex128"):
        return array.astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        result = array.astype(dtype)
    if not spec.allow_input_downcast and not np.array_equal(result, array, equal_nan=kind_of(dtype) in "fc"):
        raise ArgumentTypeError(f"{spec.name}: {target.name} = {_short(array)} does not fit {dtype} exactly")
    return result


def _short(array: AnyArray) -> str:
    return str(array) if array.size <= 4 else f"an array of shape {array.shape}"
