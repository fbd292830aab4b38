"""dtype names, promotion and widening, in one table.

A dtype is a plain string, the NumPy name. `index` exists inside the compiler only (extents and loop counters).
"""

from __future__ import annotations

import importlib
import math
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike

from aotensor.errors import GraphOverflowError, UnsupportedError
from aotensor_runtime.arrays.dtypes import DTYPES as DTYPES
from aotensor_runtime.arrays.plain import dtype_hint
from aotensor_runtime.arrays.plain import kind_of as kind_of


def _dtypes_of_kind(kind: str) -> tuple[str, ...]:
    return tuple(name for name, record in DTYPES.items() if record.kind == kind and not record.is_stored_only)


BOOL: Final = _dtypes_of_kind("b")
SIGNED: Final = _dtypes_of_kind("i")
UNSIGNED: Final = _dtypes_of_kind("u")
FLOATS: Final = _dtypes_of_kind("f")
HALVES: Final = tuple(name for name, record in DTYPES.items() if record.is_stored_only)
"""Floats that are storage formats only: arithmetic uses float32."""
COMPLEX: Final = _dtypes_of_kind("c")
INTEGERS: Final = SIGNED + UNSIGNED
DISCRETE: Final = BOOL + INTEGERS
ALL: Final = DISCRETE + FLOATS + HALVES
INDEX: Final = "index"

_SIZES: Final = {"index": 8} | {name: record.size for name, record in DTYPES.items()}
_PARTS: Final = {name: record.part for name, record in DTYPES.items() if record.part is not None}
_WHOLES: Final = {part: name for name, part in _PARTS.items()}


@cache
def name_of(dtype: np.dtype[Any]) -> str:
    """NumPy's name of a dtype, cached, since NumPy formats it at each access."""
    return dtype.name


def itemsize(dtype: str) -> int:
    """Bytes of one element in memory (1 for bool)."""
    return _SIZES[dtype]


def is_float(dtype: str) -> bool:
    """Is it a real floating dtype, of arithmetic or of storage?"""
    return dtype in FLOATS or dtype in HALVES


def is_half(dtype: str) -> bool:
    """Is it a storage format, such as float16 or bfloat16?"""
    return dtype in HALVES


def compute_of(dtype: str) -> str:
    """The dtype of arithmetic on a dtype: float32 for float16 and bfloat16, else the dtype itself."""
    return DTYPES[dtype].compute if dtype in HALVES else dtype


def is_complex(dtype: str) -> bool:
    """Is it complex64 or complex128?"""
    return dtype in COMPLEX


def is_inexact(dtype: str) -> bool:
    """Is it a float or complex dtype, so that it has derivatives?"""
    return is_float(dtype) or dtype in COMPLEX


def part_of(dtype: str) -> str:
    """The dtype of the real and the imaginary part; of a real dtype the dtype itself."""
    return _PARTS.get(dtype, dtype)


def complex_of(dtype: str) -> str:
    """The complex dtype whose parts hold `dtype`, by NumPy's rules: complex64 for float32 and narrower dtypes."""
    return dtype if is_complex(dtype) else _WHOLES[compute_of(float_of(dtype))]


def epsilon(dtype: str) -> float:
    """The distance from 1 to the next larger number of a float, or of the parts of a complex dtype."""
    return 2.0 ** (1 - DTYPES[part_of(dtype)].digits)


def largest(dtype: str) -> float:
    """The largest finite number of a floating dtype."""
    return (2.0 - epsilon(dtype)) * 2.0 ** (1 - DTYPES[dtype].exponent)


def tiny(dtype: str) -> float:
    """The smallest positive normal number of a floating dtype; times `epsilon` it is the smallest subnormal number."""
    return 2.0 ** DTYPES[dtype].exponent


def is_discrete(dtype: str) -> bool:
    """Is it bool or an integer?"""
    return dtype in DISCRETE


def is_signed(dtype: str) -> bool:
    """Is it a signed integer? True for "index"."""
    return dtype in SIGNED or dtype == INDEX


def is_unsigned(dtype: str) -> bool:
    """Is it an unsigned integer? True for bool."""
    return dtype in UNSIGNED or dtype == "bool"


def canonical(dtype: DTypeLike | str) -> str:
    """The name of a dtype that the compiler supports.

    Raises: UnsupportedError (a TypeError) for object and all other kinds, for anything but a dtype, and for a dtype
    of a package that is not installed.
    """
    if isinstance(dtype, str) and dtype in _SIZES and dtype != INDEX:
        if DTYPES[dtype].package:
            _import_package(dtype)
        return dtype
    try:
        found = None if dtype is None else np.dtype(dtype)  # NumPy would read None as float64
    except Exception as error:  # TypeError, ValueError, SyntaxError: depends on NumPy's parser
        raise UnsupportedError(f"{dtype!r:.60} is not a dtype", hint=_SUPPORTED) from error
    if found is None or found.name not in DTYPES:
        what = f"{dtype!r} is not a dtype" if found is None else f"dtype {found.name} is not supported"
        raise UnsupportedError(what, hint="; ".join(filter(None, [_SUPPORTED, _hint_for(found)])))
    return found.name


_SUPPORTED: Final = (
    f"use bool, int8-int64, uint8-uint64, {', '.join(HALVES)}, float32, float64, complex64 or complex128"
)


@cache
def _import_package(dtype: str) -> None:
    """Import the package that adds a dtype to NumPy.   Raises: UnsupportedError if it is not installed"""
    package = DTYPES[dtype].package
    try:
        importlib.import_module(package)
    except ImportError as error:
        raise UnsupportedError(f"{dtype} needs the package {package}", hint="pip install 'aotensor[half]'") from error


def _hint_for(dtype: np.dtype[Any] | None) -> str | None:
    return None if dtype is None else dtype_hint(dtype)


@cache
def promote(*dtypes: str) -> str:
    """The smallest dtype that holds all of `dtypes`, by NumPy's rules for arrays (int64 with float32 is float64).

    A dtype that NumPy does not have, such as bfloat16, holds bool and the integers whose bits fit its significand
    (int8 and uint8); with other dtypes it counts as float32.
    """
    foreign = [dtype for dtype in dtypes if DTYPES[dtype].package]
    if foreign:
        others = {dtype for dtype in dtypes if dtype != foreign[0]}
        if all(x == "bool" or (x in INTEGERS and DTYPES[x].bits <= DTYPES[foreign[0]].digits) for x in others):
            return foreign[0]
        dtypes = tuple(compute_of(dtype) if dtype in foreign else dtype for dtype in dtypes)
    return canonical(np.result_type(*dtypes))


def float_of(dtype: str) -> str:
    """The dtype of `exp`, `sqrt`, … of a value: floats keep their dtype, integers of up to 16 bits give float32."""
    if is_inexact(dtype):
        return dtype
    return "float32" if itemsize(dtype) <= 2 else "float64"


def sum_of(dtype: str) -> str:
    """The dtype of `sum` and `prod`: integers widen to 64 bits, bool counts in int64, floats keep their dtype."""
    if is_inexact(dtype):
        return dtype
    return "uint64" if dtype in UNSIGNED else "int64"


def mean_of(dtype: str) -> str:
    """The dtype of `mean`, `var` and `true_div`: floats keep their dtype, all others give float64."""
    return dtype if is_inexact(dtype) else "float64"


def accumulator_of(dtype: str) -> str:
    """dtype in which a sum of `dtype` is accumulated: float64, float32 for float16 and bfloat16, or complex128."""
    return DTYPES[dtype].accumulator


def weak_scalar(value: bool | int | float, other: str | None = None) -> str:
    """dtype of a Python scalar combined with an operand of dtype `other`: literals are weakly typed.

    An int gets the smallest integer type that holds it, so that `x_int8 + 1` stays int8; with a float both get
    that float's dtype, with a complex dtype that of its parts; with other dtypes a float gets float64. A float
    with float16 or bfloat16 gets float32: these represent few literals exactly.

    Raises: GraphOverflowError for an int beyond 64 bits.
    """
    if isinstance(value, bool):
        return "bool"
    if other is not None and is_inexact(other):
        return part_of(other) if isinstance(value, int) else compute_of(part_of(other))
    if isinstance(value, int):
        for name in SIGNED if value < 0 else ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
            info = np.iinfo(name)
            if info.min <= value <= info.max:
                return name
        raise GraphOverflowError(f"the integer {value} does not fit 64 bits")
    return "float64"


def neutral_element(kind: str, dtype: str) -> float | int | bool:
    """The start value of a reduction, which is the result for an empty array."""
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
