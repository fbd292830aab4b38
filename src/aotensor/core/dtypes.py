"""dtype names, promotion and widening, as specified in one table.

A dtype is a plain string, the NumPy name. `index` exists inside the compiler only (extents and loop counters).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike

from aotensor.errors import GraphOverflowError, UnsupportedError
from aotensor_runtime.arrays.dtypes import DTYPES
from aotensor_runtime.arrays.plain import dtype_hint


def _of_kind(kind: str) -> tuple[str, ...]:
    return tuple(name for name, record in DTYPES.items() if record.kind == kind)


BOOL: Final = _of_kind("b")
SIGNED: Final = _of_kind("i")
UNSIGNED: Final = _of_kind("u")
FLOATS: Final = _of_kind("f")
COMPLEX: Final = _of_kind("c")
INTEGERS: Final = SIGNED + UNSIGNED
DISCRETE: Final = BOOL + INTEGERS
ALL: Final = DISCRETE + FLOATS
INDEX: Final = "index"

_SIZES: Final = {"index": 8} | {name: record.size for name, record in DTYPES.items()}
_PARTS: Final = {name: record.part for name, record in DTYPES.items() if record.part is not None}
_WHOLES: Final = {part: name for name, part in _PARTS.items()}


@cache
def name_of(dtype: np.dtype[Any]) -> str:
    """NumPy's name of a dtype, which NumPy itself puts together anew each time."""
    return dtype.name


def itemsize(dtype: str) -> int:
    """Bytes that one element takes in memory (a bool takes one)."""
    return _SIZES[dtype]


def is_float(dtype: str) -> bool:
    """float32 or float64."""
    return dtype in FLOATS


def is_complex(dtype: str) -> bool:
    """complex64 or complex128."""
    return dtype in COMPLEX


def is_inexact(dtype: str) -> bool:
    """A float or complex: what has derivatives."""
    return dtype in FLOATS or dtype in COMPLEX


def part_of(dtype: str) -> str:
    """The dtype of real and imaginary part; a real dtype is its own."""
    return _PARTS.get(dtype, dtype)


def complex_of(dtype: str) -> str:
    """The complex dtype whose parts hold `dtype`, by NumPy's rules: complex64 for float32 and small integers."""
    return dtype if is_complex(dtype) else _WHOLES[float_of(dtype)]


def is_discrete(dtype: str) -> bool:
    """bool or an integer."""
    return dtype in DISCRETE


def is_signed(dtype: str) -> bool:
    """A signed integer; an index counts as one."""
    return dtype in SIGNED or dtype == INDEX


def is_unsigned(dtype: str) -> bool:
    """An unsigned integer; bool counts as one."""
    return dtype in UNSIGNED or dtype == "bool"


def canonical(dtype: DTypeLike | str) -> str:
    """The name of a dtype that the compiler supports.

    Raises: UnsupportedError (a TypeError) for float16, object and all other kinds, and for what is no dtype.
    """
    if isinstance(dtype, str) and dtype in _SIZES and dtype != INDEX:
        return dtype
    try:
        found = None if dtype is None else np.dtype(dtype)  # NumPy would take None for float64
    except Exception as error:  # TypeError, ValueError, SyntaxError: as NumPy reads what it gets
        raise UnsupportedError(f"{dtype!r:.60} is no dtype", hint=_SUPPORTED) from error
    if found is None or found.name not in DTYPES:
        what = f"{dtype!r} is no dtype" if found is None else f"dtype {found.name} is not supported"
        raise UnsupportedError(what, hint="; ".join(filter(None, [_SUPPORTED, _hint_for(found)])))
    return found.name


_SUPPORTED: Final = "use bool, int8-int64, uint8-uint64, float32, float64, complex64 or complex128"


def _hint_for(dtype: np.dtype[Any] | None) -> str | None:
    return None if dtype is None else dtype_hint(dtype)


@cache
def promote(*dtypes: str) -> str:
    """The smallest dtype that holds all of `dtypes`, by NumPy's rules for arrays (int64 with float32 is float64)."""
    return canonical(np.result_type(*dtypes))


def float_of(dtype: str) -> str:
    """dtype of `exp`, `sqrt`, ... of a value: floats keep theirs, integers of up to 16 bits give float32."""
    if is_inexact(dtype):
        return dtype
    return "float32" if itemsize(dtype) <= 2 else "float64"


def sum_of(dtype: str) -> str:
    """dtype of `sum` and `prod`: integers widen to 64 bits, bool counts in int64, floats keep theirs."""
    if is_inexact(dtype):
        return dtype
    return "uint64" if dtype in UNSIGNED else "int64"


def mean_of(dtype: str) -> str:
    """dtype of `mean`, `var` and `true_div`: floats keep theirs, all else gives float64."""
    return dtype if is_inexact(dtype) else "float64"


def accumulator_of(dtype: str) -> str:
    """dtype in which a sum of `dtype` is accumulated: float64 for every float, complex128 for every complex dtype."""
    return DTYPES[dtype].accumulator


def weak_scalar(value: bool | int | float, other: str | None = None) -> str:
    """dtype of a Python scalar beside an operand of dtype `other`: literals are weak.

    An int takes the smallest integer type that holds it, so that `x_int8 + 1` stays int8; a float beside a float
    takes that float's dtype, beside a complex dtype that of its parts, beside anything else float64.

    Raises: GraphOverflowError for an int beyond 64 bits.
    """
    if isinstance(value, bool):
        return "bool"
    if other is not None and is_inexact(other):
        return part_of(other)
    if isinstance(value, int):
        for name in SIGNED if value < 0 else ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
            info = np.iinfo(name)
            if info.min <= value <= info.max:
                return name
        raise GraphOverflowError(f"the integer {value} does not fit 64 bits")
    return "float64"


def neutral_element(kind: str, dtype: str) -> float | int | bool:
    """The start value of a reduction: what an empty one gives."""
    if kind in ("add", "or"):
        return 0
    if kind in ("mul", "and"):
        return 1
    if is_float(dtype):
        return -math.inf if kind == "maximum" else math.inf
    if dtype == "bool":
        return kind == "minimum"
    info = np.iinfo(dtype)
    return int(info.min if kind == "maximum" else info.max)
