"""The kernel language: Python functions of numbers and vectors that run as they are, and that the compiler translates.

Types are those of the annotations below. docs/kernels.md describes statements, expressions, memory and calls; the
functions below are the ones that a kernel may call in addition to other kernels and `abs`, `min`, `max` and `int`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from aotensor.core.types import Array

Index: TypeAlias = int
"""A count or a position."""
Word: TypeAlias = int
"""64 bits: an int64, or a set of bits."""
Bool: TypeAlias = bool
Real: TypeAlias = float
"""A float of the call's dtype."""
Element: TypeAlias = Any
"""A number of any dtype."""
Indices: TypeAlias = "list[int]"
"""int32 or int64 in memory, read and written as Index."""
Words: TypeAlias = "list[int]"
Reals: TypeAlias = "list[float]"
Elements: TypeAlias = "list[Any]"

_T = TypeVar("_T")

# --- loops -----------------------------------------------------------------------------------------------------------

vectorised: Final = range
"""A range whose loop LLVM may vectorise, but does not unroll: not even one of few iterations into scalar code."""
serial: Final = range
"""A range whose loop LLVM does not vectorise."""
rolled: Final = range
"""A range whose loop LLVM neither vectorises nor unrolls."""
parallel: Final = range
"""A range whose iterations run on several cores; iterations write disjoint elements and assign no outer variable."""
unrolled: Final = range
"""A range of a constant length whose body is translated once for each value."""

# --- memory ----------------------------------------------------------------------------------------------------------


def alloc(like: list[_T], n: Index, *more: Index) -> list[_T]:
    """A new array of these extents with the dtype of another one. In Python its elements are unset until written."""
    if isinstance(like, Checked):
        return Checked(np.zeros((n, *more), like.array.dtype), is_set=False)  # type: ignore[return-value]
    return [None] * n  # type: ignore[list-item]


def alloc_words(n: Index) -> Words:
    """A new vector of n words."""
    return [None] * n  # type: ignore[list-item]


def alloc_indices(n: Index) -> Indices:
    """A new vector of n positions, of 64 bits."""
    return [None] * n  # type: ignore[list-item]


def prefetch(x: Sequence[Any] | None, k: Index) -> None:
    """Prefetch x[k]; k may be out of bounds."""


# --- numbers ---------------------------------------------------------------------------------------------------------


def word(n: Index) -> Word:
    """An index as a word."""
    return n


def zero(like: Sequence[_T]) -> _T:
    """0 of the dtype of a vector."""
    return 0  # type: ignore[return-value]


def root(n: Index) -> Index:
    """⌊√n⌋"""
    return math.isqrt(n)


def is_nan(x: Element) -> Bool:
    """Is an element nan? Never for an integer."""
    return bool(x != x)


def trailing_zeros(x: Word) -> Index:
    """The number of the lowest bit that is set in a word other than 0."""
    return (x & -x).bit_length() - 1


def count_ones(x: Word) -> Index:
    """The number of bits that are set in a word."""
    return (x & (1 << 64) - 1).bit_count()


LEAST: Final = -(1 << 63)
MOST: Final = (1 << 63) - 1


def order_key(x: Element) -> Word:
    """An int64 in the order of x. Keys of 0 and −0 are equal; keys of all nan are equal, and larger than all others.

    Compiled, a uint64 minus 2**63; in Python, where an integer does not tell its dtype, the integer itself.
    """
    if isinstance(x, float | np.floating):
        if x != x:
            return MOST
        (bits,) = struct.unpack("<q", struct.pack("<d", x if x else 0.0))
        return bits if bits >= 0 else bits ^ MOST  # type: ignore[no-any-return]
    return int(x)


sqrt, exp, expm1, log, log1p = np.sqrt, np.exp, np.expm1, np.log, np.log1p
sin, cos, tan, tanh, floor, ceil = np.sin, np.cos, np.tan, np.tanh, np.floor, np.ceil
power = np.power

# --- run as Python ---------------------------------------------------------------------------------------------------


class Bounded(list[_T]):
    """A list that refuses negative positions and slices, and elements that were never written (None)."""

    def __getitem__(self, k: Any) -> Any:
        value = super().__getitem__(self._checked(k))
        if value is None:
            raise IndexError(f"element {k} is read before it is written")
        return value

    def __setitem__(self, k: Any, value: Any) -> None:
        super().__setitem__(self._checked(k), value)

    def _checked(self, k: Any) -> int:
        if not isinstance(k, int) or k < 0:
            raise IndexError(f"{k} is not a position")
        return k


class Checked:
    """An array of a kernel: refuses positions out of bounds, elements that were never written, and writes to inputs.

    is_set: have the elements values? is_index: are they read as Index?
    """

    def __init__(self, array: Array, is_set: bool, is_index: bool = False) -> None:
        self.array, self.is_input, self.is_index = array, is_set, is_index
        self.written = np.full(array.shape, is_set)
        self.shape = array.shape

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, where: Any) -> Any:
        where = self._checked(where)
        if not self.written[where]:
            raise IndexError(f"element {where} is read before it is written")
        return int(self.array[where]) if self.is_index else self.array[where]

    def __setitem__(self, where: Any, value: Any) -> None:
        where = self._checked(where)
        if self.is_input:
            raise IndexError("an input of a kernel may only be read")
        self.array[where] = value
        self.written[where] = True

    def _checked(self, where: Any) -> tuple[int, ...]:
        found = where if isinstance(where, tuple) else (where,)
        if len(found) != self.array.ndim or not all(0 <= k < n for k, n in zip(found, self.shape, strict=True)):
            raise IndexError(f"{where} is not a position in an array of shape {self.shape}")
        return found


class _Discarded:
    """The result of a kernel that nobody uses: a vector that may only be written."""

    def __setitem__(self, k: int, value: Any) -> None:
        pass


def run_kernel(kernel: Callable[..., Any], *arguments: Any) -> Any:
    """Run a kernel as Python: arrays are lists meanwhile, which is faster, and get the new elements in the end.

    None stands for a result that is not used.
    """
    lists = [x.tolist() if isinstance(x, np.ndarray) else _Discarded() if x is None else x for x in arguments]
    with np.errstate(all="ignore"):
        result = kernel(*lists)
    for x, new in zip(arguments, lists, strict=True):
        if isinstance(x, np.ndarray) and x.size and x.flags.writeable:
            x[...] = new
    return result
