"""Convert a user's numbers to a NumPy array without any loss, or say why that is impossible.

`np.asarray` drops masks, rounds integers without a common dtype, and returns object arrays for values that it does not
understand. Such values are refused here.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np

from aotensor_runtime.arrays.dtypes import DTYPES
from aotensor_runtime.errors import ArgumentTypeError

AnyArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]

DEEPEST: Final = 64
"""The largest rank of an array of NumPy."""

NUMBERS: Final = "biuf"
"""Kinds of real dtypes."""


def kind_of(dtype: np.dtype[Any]) -> str:
    """NumPy's kind letter of a dtype; f for floats of other packages, too, which may have V in NumPy."""
    return "f" if dtype.kind == "V" and dtype.name in DTYPES else dtype.kind


def plain_array(value: object) -> AnyArray:
    """`value` as an array, with the dtype that NumPy chooses; an array is returned unchanged.

    The caller checks the dtype.

    Raises: ArgumentTypeError for masked arrays, values that NumPy cannot convert, and integers that would be rounded.
    """
    if type(value) is np.ndarray:
        return value
    if _is_masked(value):
        raise ArgumentTypeError(
            "a masked array has elements without a value",
            hint="pass x.filled(...), and x.mask as an argument of its own",
        )
    try:
        array = np.asarray(_through_dlpack(value))
    except Exception as error:  # any error of a foreign __array__
        message = f"{type(value).__name__} {value!r:.40} is not an array ({_first_line(error)})"
        raise ArgumentTypeError(message) from error
    if array.dtype == object and array.ndim == 0 and not isinstance(value, np.ndarray):
        if isinstance(value, int):
            raise ArgumentTypeError(f"an integer of {value.bit_length()} bits does not fit 64")
        hint = "pass float(x), if it is a number" if hasattr(value, "__float__") else None
        raise ArgumentTypeError(f"{type(value).__name__} {value!r:.40} is neither a number nor an array", hint=hint)
    if array.dtype.kind == "f" and isinstance(value, list | tuple) and _holds_integers_only(value):
        raise ArgumentTypeError(
            "the integers have no common dtype, so they would be rounded",
            hint="pass an array of uint64, int64 or float64",
        )
    return array


def dtype_hint(dtype: np.dtype[Any]) -> str | None:
    """A hint for an array whose dtype is not numeric, or not real where that is needed."""
    if dtype.kind in "fc" and dtype.itemsize > (8 if dtype.kind == "f" else 16):
        return f"convert it with .astype('{'float64' if dtype.kind == 'f' else 'complex128'}')"
    return _HINTS.get(dtype.kind)


_HINTS: Final = {
    "c": "pass its real part, .real, or its size, abs(x)",
    "M": "pass numbers: .astype('int64'), or differences in a unit",
    "m": "pass numbers: divide by a unit, as in x / np.timedelta64(1, 's')",
    "O": "its elements are Python objects: convert it with .astype('float64'), if they are numbers",
    "V": "pass its fields one by one, as in x['name']",
}


def _through_dlpack(value: object) -> object:
    """An array on the memory of an object that only DLPack can read; anything else unchanged.

    NumPy reads __array__, __array_interface__ and buffers by itself.
    """
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return value
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return value
    return np.from_dlpack(value)


def _is_masked(value: object, depth: int = DEEPEST) -> bool:
    if isinstance(value, list | tuple):
        inner = (item for item in value if isinstance(item, list | tuple | np.ma.MaskedArray))
        return depth > 0 and any(_is_masked(item, depth - 1) for item in inner)
    return isinstance(value, np.ma.MaskedArray)


def _holds_integers_only(items: list[Any] | tuple[Any, ...]) -> bool:
    """Are all numbers in nested lists integers, and is there one?"""
    is_found = False
    for item in items:
        if isinstance(item, list | tuple):
            if not _holds_integers_only(item):
                return False
        elif not isinstance(item, int | np.integer):
            return False
        is_found = True
    return is_found


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:120]
