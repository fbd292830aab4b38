"""Offsets of the fields inside CPython's and NumPy's objects that a call reads: probed on samples, never assumed.

`probe` returns None when a field is not found (another Python, a later NumPy); calls then use
ctypes descriptors, which is slower and needs no offsets.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from aotensor_runtime.abi import DTYPE_CODES, PythonLayout
from aotensor_runtime.arrays.dtypes import DTYPES as RECORDS
from aotensor_runtime.errors import ArgumentTypeError


class _DTypes(dict[str, "np.dtype[Any]"]):
    """NumPy's dtype objects by name; those of other packages are added on request."""

    def __missing__(self, name: str) -> np.dtype[Any]:
        package = RECORDS[name].package
        try:
            found: np.dtype[Any] = np.dtype(getattr(importlib.import_module(package), name))
        except ImportError as error:
            hint = "pip install 'aotensor[half]'; C programs need nothing"
            raise ArgumentTypeError(f"arrays of {name} need the package {package}", hint=hint) from error
        self[name] = found
        return found


DTYPES: Final[dict[str, np.dtype[Any]]] = _DTypes({x.name: np.dtype(x.name) for x in RECORDS.values() if not x.package})
"""The dtype objects of plain arrays.   Raises: ArgumentTypeError for a dtype of a package that is not installed"""

_HEADER: Final = object.__basicsize__
_WORD: Final = 8


@dataclass(frozen=True)
class Layout:
    """A tested PythonLayout with the memory that it points to."""

    struct: PythonLayout
    dtypes: Any

    @property
    def address(self) -> int:
        return ctypes.addressof(self.struct)

    def know(self, name: str) -> None:
        """Accept plain arrays of this dtype; one of another package is added at its first use."""
        self.dtypes[DTYPE_CODES[name]] = id(DTYPES[name])


@cache
def probe() -> Layout | None:
    """Offsets inside tuples, floats and arrays, or None if samples do not confirm them."""
    if ctypes.sizeof(ctypes.c_void_p) != _WORD:
        return None
    object_type = next(
        (at for at in range(0, _HEADER, _WORD) if all(_word(x, at) == id(type(x)) for x in _OBJECTS)), None
    )
    samples = ((1.0, 2.0, 3.0), (1.0,), ())
    sizes = range(_HEADER, tuple.__basicsize__, _WORD)
    tuple_size = next((at for at in sizes if all(_word(x, at) == len(x) for x in samples)), None)
    if object_type is None or tuple_size is None:
        return None
    dtypes = (ctypes.c_void_p * (max(DTYPE_CODES.values()) + 1))()
    for name, dtype in DTYPES.items():
        dtypes[DTYPE_CODES[name]] = id(dtype)
    struct = PythonLayout(
        object_type=object_type,
        tuple_size=tuple_size,
        tuple_items=tuple.__basicsize__,
        float_value=float.__basicsize__ - _WORD,
        array_data=_HEADER,
        array_rank=_HEADER + _WORD,
        array_shape=_HEADER + 2 * _WORD,
        array_strides=_HEADER + 3 * _WORD,
        array_dtype=_HEADER + 5 * _WORD,
        array_type=id(np.ndarray),
        float_type=id(float),
        float64_type=id(np.float64),
        dtypes=ctypes.addressof(dtypes),
    )
    return Layout(struct, dtypes) if _is_confirmed(struct) else None


_OBJECTS: Final[tuple[object, ...]] = (1.5, (), np.zeros(2), np.float64(2.5), "text", DTYPES["int8"])


def _arrays() -> Iterator[np.ndarray[Any, Any]]:
    yield np.zeros(())
    yield np.zeros((0, 5), dtype="int16")
    yield np.arange(24, dtype="float32").reshape(2, 3, 4)
    yield np.arange(24).reshape(4, 6)[::-2, 1::2].T


def _is_confirmed(struct: PythonLayout) -> bool:
    """Does every sample read by offsets equal the same read by Python?"""
    items = (np.zeros(1), 2.0, "x")
    tuples = all(_word(items, struct.tuple_items + _WORD * i) == id(item) for i, item in enumerate(items))
    floats = all(
        ctypes.c_double.from_address(id(x) + struct.float_value).value == x for x in (0.1, -1e300, np.float64(2.5))
    )
    return tuples and floats and all(_is_array_confirmed(struct, array) for array in _arrays())


def _is_array_confirmed(struct: PythonLayout, array: np.ndarray[Any, Any]) -> bool:
    address, rank = id(array), array.ndim
    if ctypes.c_int.from_address(address + struct.array_rank).value != rank:
        return False
    if _word(array, struct.array_data) != array.ctypes.data or _word(array, struct.array_dtype) != id(array.dtype):
        return False
    if rank == 0:
        return True
    words = ctypes.c_int64 * rank
    shape, strides = (_word(array, at) for at in (struct.array_shape, struct.array_strides))
    if not shape or not strides:
        return False
    return tuple(words.from_address(shape)) == array.shape and tuple(words.from_address(strides)) == array.strides


def _word(value: object, offset: int) -> int:
    return ctypes.c_size_t.from_address(id(value) + offset).value
