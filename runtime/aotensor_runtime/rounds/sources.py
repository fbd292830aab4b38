"""Sources of rows: arrays and matrices in memory, and several sources as one. Files are in `files`.

A source knows its number of rows and returns parts of them; a part can be sent, and is read where it is used.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from aotensor_runtime.arrays.plain import AnyArray
from aotensor_runtime.errors import ArgumentTypeError, ArgumentValueError
from aotensor_runtime.sparse.values import Compressed, is_sparse, is_sparse_array


@runtime_checkable
class Part(Protocol):
    """Rows of a source, read lazily. where: file and rows, for errors"""

    @property
    def where(self) -> str:
        """Its description in error messages."""

    def read(self) -> Any:
        """Read the rows, as an array or a matrix.   Raises: OSError, and ArgumentValueError for a damaged file"""


class Source(Protocol):
    """Rows along `axis`. length: their number. row_bytes: approximate bytes of one. cuts: preferred starts of parts."""

    axis: int
    length: int
    row_bytes: float
    cuts: tuple[int, ...]

    def part(self, start: int, stop: int) -> Part:
        """The part with rows `start` to before `stop`."""

    def kind(self) -> str:
        """dtype, and extents of all axes but that of the rows, of every part, as `kind_of_value` writes them."""


@dataclass(frozen=True)
class Held:
    """A part that is in memory."""

    value: Any
    where: str = "in memory"

    def read(self) -> Any:
        """The rows themselves."""
        return self.value


class ArraySource:
    """Rows of an array in memory."""

    def __init__(self, array: AnyArray, axis: int) -> None:
        self.array, self.axis, self.length = array, axis, array.shape[axis]
        self.row_bytes = array.nbytes / max(self.length, 1)
        self.cuts: tuple[int, ...] = ()

    def part(self, start: int, stop: int) -> Part:
        """A view of these rows."""
        return Held(self.array[(slice(None),) * self.axis + (slice(start, stop),)])

    def kind(self) -> str:
        """As `Source.kind`."""
        return kind_of_value(self.array, self.axis)


class CompressedSource:
    """Rows of a csr matrix, or columns of a csc matrix, in memory."""

    def __init__(self, matrix: Compressed, axis: int) -> None:
        if axis != (0 if matrix.format == "csr" else 1):
            wanted = "csr" if axis == 0 else "csc"
            raise ArgumentTypeError(
                f"a {matrix.format} matrix cannot be split into chunks along axis {axis}", hint=f"pass {wanted}"
            )
        self.matrix, self.axis, self.length = matrix, axis, matrix.shape[axis]
        size = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
        self.row_bytes = size / max(self.length, 1)
        self.cuts: tuple[int, ...] = ()

    def part(self, start: int, stop: int) -> Part:
        """The part with these rows (columns of csc)."""
        return Held(slices_of(self.matrix, start, stop))

    def kind(self) -> str:
        """As `Source.kind`."""
        return kind_of_value(self.matrix, self.axis)


def slices_of(matrix: Compressed, start: int, stop: int) -> Compressed:
    """Rows (columns of csc) from `start` to before `stop`, as a matrix on the same memory."""
    first, last = int(matrix.indptr[start]), int(matrix.indptr[stop])
    rows, columns = matrix.shape
    shape = (stop - start, columns) if matrix.format == "csr" else (rows, stop - start)
    indptr = matrix.indptr[start : stop + 1] - matrix.indptr[start]
    return Compressed(
        matrix.format, shape, matrix.data[first:last], matrix.indices[first:last], indptr, matrix.is_array
    )


@dataclass(frozen=True)
class Pieces:
    """Rows of several parts, one after the other."""

    parts: tuple[Part, ...]
    axis: int

    @property
    def where(self) -> str:
        """The descriptions of all parts."""
        return ", ".join(part.where for part in self.parts)

    def read(self) -> Any:
        """The rows, joined."""
        return concatenate([part.read() for part in self.parts], self.axis)


class JoinedSource:
    """Sources one after the other, such as the files of a folder.

    Raises: ArgumentValueError for one with other columns, dtype or format, by its number and file.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        if not sources:
            raise ArgumentValueError("the list of files is empty, so there are no rows")
        self.sources, self.axis = list(sources), sources[0].axis
        for k, source in enumerate(sources):
            if source.kind() != sources[0].kind():
                where = source.part(0, source.length).where
                raise ArgumentValueError(
                    f"piece {k + 1} of {len(sources)} has {source.kind()}, but the first has {sources[0].kind()}",
                    lines=[where],
                )
        self.starts = [0]
        for source in sources:
            self.starts.append(self.starts[-1] + source.length)
        self.length = self.starts[-1]
        self.row_bytes = max(source.row_bytes for source in sources)
        self.cuts = tuple(dict.fromkeys(s + c for s, x in zip(self.starts, sources, strict=False) for c in x.cuts))

    def part(self, start: int, stop: int) -> Part:
        """The part with these rows, from one source or several."""
        found: list[Part] = []
        at = start
        while at < stop:
            k = bisect_right(self.starts, at) - 1
            end = min(stop, self.starts[k + 1])
            found.append(self.sources[k].part(at - self.starts[k], end - self.starts[k]))
            at = end
        if not found:
            found.append(self.sources[0].part(0, 0))
        return found[0] if len(found) == 1 else Pieces(tuple(found), self.axis)

    def kind(self) -> str:
        """As `Source.kind`."""
        return self.sources[0].kind()


def concatenate(values: Sequence[Any], axis: int) -> Any:
    """Concatenate arrays, or matrices that are compressed along that axis."""
    if not is_sparse(values[0]):
        return np.concatenate(values, axis)
    first = values[0]
    length = sum(x.shape[axis] for x in values)
    shape = (length, first.shape[1]) if axis == 0 else (first.shape[0], length)
    ends = np.cumsum([0, *(int(x.indptr[-1]) for x in values)])
    indptr = np.concatenate([
        first.indptr[:1], *(x.indptr[1:] + np.asarray(k, x.indptr.dtype) for x, k in zip(values, ends, strict=False))
    ])  # fmt: skip
    data, indices = (np.concatenate([getattr(x, name) for x in values]) for name in ("data", "indices"))
    is_array = is_sparse_array(first)
    return Compressed(first.format, shape, data, indices, indptr, is_array)


def kind_of(dtype: Any, shape: Sequence[int], axis: int) -> str:
    """`float64 (rows, 3)`"""
    extents = ", ".join("rows" if k == axis else str(n) for k, n in enumerate(shape))
    return f"{dtype} ({extents})"


def kind_of_value(value: Any, axis: int) -> str:
    """`float64 (rows, 3)` of an array, `csr float64 (rows, 3)` of a compressed matrix"""
    if is_sparse(value):
        return f"{value.format} {kind_of(value.data.dtype, value.shape, axis)}"
    return kind_of(value.dtype, value.shape, axis)
