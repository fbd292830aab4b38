"""Sparse arguments whose pattern is checked once, so that calls do not check their indices again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Self

import numpy as np

from aotensor_runtime.abi import CANONICAL, Context
from aotensor_runtime.arguments import pattern
from aotensor_runtime.arrays.plain import AnyArray, plain_array
from aotensor_runtime.errors import ArgumentIndexError, ArgumentTypeError, ArgumentValueError
from aotensor_runtime.sparse.values import Compressed, Value, is_sparse, is_sparse_array

_FORMATS: Final = ("csr", "csc", "bsr")


class CheckedPattern(Compressed):
    """A sparse matrix whose pattern is checked here, once: calls and `bind` do not check its indices again.

    matrix: a CSR, CSC or BSR matrix or array of SciPy without duplicates, its entries in order. It has its own copy of
    the pattern, read-only, and shares the matrix's `data`: later calls use values that are written there. A function
    that declares another format, dtype or index dtype converts it in every call, and checks it again.

    Raises: ArgumentTypeError for anything else; ArgumentIndexError for an index outside of the matrix;
    ArgumentValueError for a malformed pattern, and entries that are not in order.
    """

    __slots__ = ("_arrays",)
    _arrays: tuple[AnyArray, AnyArray, AnyArray, AnyArray]

    def __init__(self, matrix: Any) -> None:
        if not is_sparse(matrix) or matrix.format not in _FORMATS or len(matrix.shape) != 2:
            found = f"a matrix in format {matrix.format}" if is_sparse(matrix) else type(matrix).__name__
            raise ArgumentTypeError(
                f"CheckedPattern: expected a sparse matrix in format csr, csc or bsr, found {found}",
                hint="convert it with .tocsr()" if is_sparse(matrix) else "pass scipy.sparse.csr_matrix(...)",
            )
        shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        indices, indptr = _copied(matrix.indices, "indices"), _copied(matrix.indptr, "indptr")
        block = matrix.blocksize if matrix.format == "bsr" else (1, 1)
        count = _check(matrix.format, shape, block, indices, indptr)
        data = _values(matrix.data, len(matrix.data), matrix.data.shape[1:])
        if len(data) < count:
            raise ArgumentValueError(f"CheckedPattern: data has {len(data)} entries, but indptr ends with {count}")
        data = data if len(data) == count else data[:count]  # SciPy allows unused space after the last entry
        indices = indices if len(indices) == count else indices[:count].copy()
        self._set(matrix.format, shape, data, indices, indptr, is_sparse_array(matrix))
        if not self.is_canonical:
            raise ArgumentValueError(
                "CheckedPattern: the matrix has entries out of order or twice", hint="call .sum_duplicates() first"
            )
        self.indices.flags.writeable = self.indptr.flags.writeable = False

    def with_data(self, data: object) -> Self:
        """A matrix with this pattern, which is not checked again, and other values: one for each stored entry.

        data: an array of the stored entries; of BSR of (entries, rows of a block, columns of a block).

        Raises: ArgumentTypeError for other shapes, and anything but numbers.
        """
        values = _values(data, len(self.data), self.data.shape[1:])
        made = object.__new__(type(self))
        made._set(self.format, self.shape, values, self.indices, self.indptr, self.is_array)
        return made

    @property
    def arrays(self) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        """As those of `Compressed`, made once."""
        return self._arrays

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process is checked there."""
        return CheckedPattern, (self.to_scipy(),)

    def _set(self, *fields: Any) -> None:
        Compressed.__init__(self, *fields)
        object.__setattr__(self, "_arrays", (pattern(self.shape), self.data, self.indices, self.indptr))


def are_checked(values: Iterable[object]) -> bool:
    """Are all sparse matrices among these values CheckedPatterns, and is there one?"""
    matrices = [type(x) for x in values if is_sparse(x)]
    return bool(matrices) and all(kind is CheckedPattern for kind in matrices)


def trusting(context: Context) -> Context:
    """A copy of a context for calls whose sparse inputs are known to be valid and canonical."""
    own = Context.from_buffer_copy(context)
    own.flags = CANONICAL
    return own


def context_for(context: Context, values: Iterable[Value]) -> Context:
    """The context for a call on these values: its indices are checked unless all patterns are."""
    return trusting(context) if are_checked(values) else context


def _copied(x: object, name: str) -> AnyArray:
    if not isinstance(x, np.ndarray) or x.ndim != 1 or x.dtype.kind not in "iu":
        raise ArgumentTypeError(f"CheckedPattern: {name} is not a vector of integers")
    return x.copy()


def _values(x: object, count: int, block: tuple[int, ...]) -> AnyArray:
    data = plain_array(x)
    if data.shape != (count, *block) or data.dtype.kind not in "biufc":
        raise ArgumentTypeError(
            f"CheckedPattern: data is an array of {data.dtype}{list(data.shape)}, expected numbers of shape "
            f"{[count, *block]}"
        )
    return data


def _check(form: str, shape: tuple[int, int], block: tuple[int, int], indices: AnyArray, indptr: AnyArray) -> int:
    """The number of entries of a valid pattern.   Raises: ArgumentValueError, ArgumentIndexError"""
    if shape[0] % block[0] or shape[1] % block[1]:
        raise ArgumentValueError(f"CheckedPattern: blocks of {list(block)} do not divide a matrix of {list(shape)}")
    grid = (shape[0] // block[0], shape[1] // block[1])
    slices, limit = grid if form != "csc" else grid[::-1]
    if len(indptr) != slices + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ArgumentValueError(f"CheckedPattern: indptr does not ascend from 0 at {slices + 1} positions")
    count = int(indptr[-1])
    if count > len(indices):
        raise ArgumentValueError(f"CheckedPattern: there are {len(indices)} indices, but indptr ends with {count}")
    outside = (indices[:count] < 0) | (indices[:count] >= limit)
    if outside.any():
        worst = int(indices[:count][outside][0])
        raise ArgumentIndexError(f"CheckedPattern: the matrix has index {worst}, but its extent is {limit}")
    return count
