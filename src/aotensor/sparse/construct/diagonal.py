"""Diagonals: of a sparse matrix as a vector, and a vector as a sparse matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType, within_reach
from aotensor.graph.coercion import coerced
from aotensor.graph.sparse_type import SparseTensorType, SparseVariable
from aotensor.graph.variable import Variable, Variables, as_tensor, constant
from aotensor.ops.diagonal import diagonal
from aotensor.ops.elementwise.arithmetic import maximum, minimum
from aotensor.ops.elementwise.compare import cast, eq, switch
from aotensor.ops.index import subtensor
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.extents import SymbolicExtent, extent_of
from aotensor.sparse.checks import LARGEST, check_countable
from aotensor.sparse.compressed_axes import major_of_entries, sum_major
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import Compressed, SparseOp, as_sparse, need_sparse, scipy_matrix, type_error


@frozen_dataclass
class Diag(SparseOp):
    """y[i] = x[i, i + offset], or x[i − offset, i] for a negative one.   (m, n) sparse → its length, dtype of x

    Gradient: regular, the cotangent on that diagonal in the format of x.
    """

    name: ClassVar[str] = "sparse_diag"
    notation: ClassVar[str] = "diag"
    offset: int = 0

    def infer_type(self, x: TensorType) -> TensorType:
        rows, columns = need_sparse(self, x).shape
        length: Dim = None
        if isinstance(rows, int) and isinstance(columns, int):
            length = diagonal_length(rows, columns, self.offset)
        elif rows == columns and self.offset == 0:
            length = rows
        return TensorType(x.dtype, (length,))

    def reference(self, x: Any) -> Array:
        if abs(self.offset) <= LARGEST:
            return np.asarray(x.diagonal(self.offset))
        entries = x.tocoo()  # SciPy takes no larger offsets
        rows, columns = entries.row.astype(np.int64), entries.col.astype(np.int64)
        is_on = columns - rows == self.offset
        found = np.zeros(diagonal_length(x.shape[0], x.shape[1], self.offset), x.dtype)
        np.add.at(found, rows[is_on] + min(self.offset, 0), entries.data[is_on])
        return found

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        p = parts_of(inputs[0])
        shift, start = (self.offset, max(-self.offset, 0)) if p.format == "csr" else (-self.offset, max(self.offset, 0))
        wide = p.indices.dtype if abs(shift) <= LARGEST else "int64"
        is_on = eq(cast(p.indices, wide), cast(major_of_entries(p), wide) + constant(shift, dtype=wide))
        slices = sum_major(p, switch(is_on, p.data, constant(0, dtype=p.data.dtype)))
        length = _length(p, self.offset)
        if start == 0 and length is p.major:
            return [slices]
        return [subtensor(slices, slice(start, length + start))]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (ct,) = inputs, cotangents
        return [on_diagonal(ct, parts_of(x), self.offset)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [diagonal_of(tangents[0], self.offset)]


def diagonal_length(rows: int, columns: int, offset: int) -> int:
    """The number of elements of a diagonal."""
    return max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)


def _length(p: Compressed, offset: int) -> SymbolicExtent:
    """The number of elements of a diagonal of p, for static or run-time extents; the number of slices if equal to
    that.
    """
    if isinstance(p.rows, int) and isinstance(p.columns, int):
        found = diagonal_length(p.rows, p.columns, offset)
        return p.major if found == p.major else found
    if offset == 0 and p.dims[0] == p.dims[1] is not None:
        return p.major
    return maximum(minimum(as_tensor(p.rows) + min(offset, 0), as_tensor(p.columns) - max(offset, 0)), 0)


def on_diagonal(v: Variable, p: Compressed, offset: int) -> SparseVariable:
    """A matrix of the format and extents of p with the vector v on a diagonal of its length; zeros are stored."""
    first, shift = max(-offset, 0), max(offset, 0)
    if p.format == "csc":
        first, shift = shift, first
    wide, length = p.indices.dtype, extent_of(v, 0)
    step = as_tensor(shift)
    if shift:
        last = length + shift if isinstance(length, int) else as_tensor(length) + shift
        step = check_countable(step, last, wide, "a matrix with an entry on the diagonal has {found} rows or columns")
    indices = arange(length, dtype=wide) + cast(step, wide)
    below = arange(as_tensor(p.major) + 1, dtype=wide) - constant(first, dtype=wide)
    indptr = minimum(maximum(below, 0), cast(as_tensor(length), wide))
    return matrix_of(Compressed(p.format, v, indices, indptr, p.rows, p.columns, p.dims, is_canonical=True))


def diagonal_of(x: Variable, offset: int) -> Variable:
    """A diagonal of a sparse or dense matrix, as a vector."""
    return Diag(offset)(x) if x.is_sparse else diagonal(x, offset)


@coerced
def diag(x: Any, k: int = 0) -> Variable:
    """Diagonal k of a sparse matrix as a dense vector: x[i, i + k].   (m, n) → its length

    Raises: GraphTypeError unless x is a sparse matrix and k an int.
    """
    return Diag(within_reach(k))(as_sparse(x))  # type: ignore[no-any-return]


def trace(x: Any) -> Variable:
    """Sum of the main diagonal, with the dtypes of `sum`.   Raises: GraphTypeError unless x is a sparse matrix."""
    return sum_over(diag(x))


@frozen_dataclass
class SquareDiagonal(SparseOp):
    """v on the main diagonal of a square matrix, zeros stored.   v: (n,) → (n, n) of the format, dtype of v

    Gradient: regular, the diagonal of the cotangent.
    """

    name: ClassVar[str] = "square_diagonal"
    format: str = "csc"

    def infer_type(self, v: TensorType) -> TensorType:
        if isinstance(v, SparseTensorType) or v.rank != 1:
            raise type_error(self, "a vector", v)
        return SparseTensorType(self.format, v.dtype, v.shape * 2)

    def reference(self, v: Array) -> Any:
        n = len(v)
        positions = np.arange(n + 1, dtype=np.int32)
        return scipy_matrix(self.format, v, positions[:n], positions, (n, n))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        (v,) = inputs
        wide = SparseTensorType(self.format, v.dtype, v.tensor_type.shape * 2).index_dtype
        extent, dim = extent_of(v, 0), v.tensor_type.shape[0]
        indices, indptr = arange(extent, dtype=wide), arange(as_tensor(extent) + 1, dtype=wide)
        return [matrix_of(Compressed(self.format, v, indices, indptr, extent, extent, (dim, dim), is_canonical=True))]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [diagonal_of(cotangents[0], 0)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [self(tangents[0])]


@coerced
def square_diagonal(diag: Any, format: str = "csc") -> SparseVariable:
    """A square matrix of a format with a vector on its main diagonal; zeros are stored.   (n,) → (n, n)

    Raises: GraphTypeError unless it is a dense vector of a dtype that sparse matrices have; GraphValueError for another
    format.
    """
    return SquareDiagonal(format)(diag)  # type: ignore[no-any-return]
