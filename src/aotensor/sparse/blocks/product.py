"""Products of a bsr matrix and a dense one, a row of blocks at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.batching import check_nondifferentiable
from aotensor.ops.complex.parts import as_factor
from aotensor.ops.elementwise.arithmetic import mul
from aotensor.ops.linear import MultilinearOp
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import SymbolicExtent, extent_of, extents_of
from aotensor.ops.shape.reshape import reshape
from aotensor.sparse.compressed_axes import (
    ExpandSlices,
    TakeAt,
    dim_or,
    in_blocks,
    lowered_extent,
    segment_sum,
    sum_at,
    whole,
)
from aotensor.sparse.op import Compressed
from aotensor.sparse.patterns import IndexOp, slices_of


@frozen_dataclass
class BlockProduct(MultilinearOp, IndexOp):
    """A·x, or Aᵀ·x where it is turned, of a matrix A in rows of r×c blocks, in terms of rows of blocks.

    (indices, indptr, extent, data, x) → y   data: (nnz, r, c); indices: (nnz,); indptr: (m + 1,); n columns of blocks

        A·x    x: (n, c, k) → (m, r, k)   y[I, i, ·] = Σ data[p, i, j]·x[indices[p], j, ·] over the blocks p of row I
        Aᵀ·x   x: (m, r, k) → (n, c, k)   y[indices[p], j, ·] += data[p, i, j]·x[I, i, ·]

    extent: rows of blocks of the result. dim: the same, where it is known. data and x are of one dtype, that of y.

    Bilinear: each derivative is this op, or for data the products of rows of x and ȳ at the blocks.

    Raises: GraphTypeError for two dtypes, or other ranks.
    """

    name: ClassVar[str] = "block_product"
    notation: ClassVar[str] = "dot"
    linear_in: ClassVar[tuple[tuple[int, ...], ...]] = ((3,), (4,))
    is_transposed: bool = False
    dim: Dim = None

    def infer_type(self, *types: TensorType) -> TensorType:
        indices, indptr, _, data, x = types
        self.index_dtype(indices, indptr)
        if data.dtype != x.dtype or (data.rank, x.rank) != (3, 3):
            raise GraphTypeError(f"{self.name}: expected blocks and rows of them of one dtype, found {data} and {x}")
        return TensorType(x.dtype, (self.dim, data.shape[2 if self.is_transposed else 1], x.shape[2]))

    def reference(self, indices: Array, indptr: Array, extent: Array, data: Array, x: Array) -> Array:
        y = np.zeros((int(extent), data.shape[2 if self.is_transposed else 1], x.shape[2]), data.dtype)
        with np.errstate(all="ignore"):
            rows = slices_of(indptr)
            if self.is_transposed:
                np.add.at(y, indices, np.swapaxes(data, 1, 2) @ x[rows])
            else:
                np.add.at(y, rows, data @ x[indices])
        return y

    def adjoints(self, inputs: Sequence[Variable], cotangent: Variable) -> Sequence[Variable]:
        indices, indptr, _, data, x = inputs
        transposed_matrix = BlockProduct(not self.is_transposed, x.tensor_type.shape[0])
        rows, columns = (x, cotangent) if self.is_transposed else (cotangent, x)
        by_block = block_outer(indices, indptr, rows, columns)
        return [by_block, transposed_matrix(indices, indptr, as_tensor(extent_of(x, 0)), data, cotangent)]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        """The product for a batch: samples of x become columns; if the data is batched, by expansion into block
        products.
        """
        check_nondifferentiable(self, is_batched[:3], first=0)
        indices, indptr, extent, data, x = inputs
        if not is_batched[3]:
            samples, rows, height, columns = extents_of(x)
            wide = reshape(dimshuffle(x, [1, 2, 0, 3]), (rows, height, samples * columns))
            y = self(indices, indptr, extent, data, wide)
            apart = reshape(y, (extent_of(y, 0), extent_of(y, 1), samples, columns))
            return [dimshuffle(apart, [2, 0, 1, 3])]
        rows_of_x = dimshuffle(x, [1, 0, 2, 3]) if is_batched[4] else dimshuffle(x, [0, None, 1, 2])
        at = ExpandSlices()(rows_of_x, indptr, indices) if self.is_transposed else TakeAt()(rows_of_x, indices)
        blocks = dimshuffle(data, [1, 0, 2, 3])
        left = dimshuffle(blocks, [0, 1, 2, 3, None])  # (nnz, samples, r, c, k)
        right = dimshuffle(at, [0, 1, 2, None, 3] if self.is_transposed else [0, 1, None, 2, 3])
        terms = sum_over(mul(left, right), axis=2 if self.is_transposed else 3, dtype=x.dtype, acc_dtype=x.dtype)
        if self.is_transposed:
            found = sum_at(terms, indices, as_tensor(extent), self.dim)
        else:
            found = segment_sum(terms, indptr, as_tensor(extent), self.dim)
        return [dimshuffle(found, [1, 0, 2, 3])]

    def lower(self, b: TensorBuilder, *inputs: Tensor) -> Tensor:
        indices, indptr, extent, data, x = inputs
        rows = lowered_extent(b, self.dim, extent)
        shape = (rows, data.extents[2 if self.is_transposed else 1], x.extents[2])
        kind = "block_product_turned" if self.is_transposed else "block_product"
        (y,) = b.pattern(kind, [indices, indptr, data, x], [rows], [(x.dtype, shape)])
        return y


def block_outer(indices: Variable, indptr: Variable, rows: Variable, columns: Variable) -> Variable:
    """Σ_k rows[I, i, k]·columns[indices[p], j, k] for every block p.   (m, r, k), (n, c, k) → (nnz, r, c)"""
    left = ExpandSlices()(rows, indptr, indices)
    right = TakeAt()(columns, indices)
    if rows.static_shape[2] == 1:
        return mul(left, dimshuffle(right, [0, 2, 1]))  # (nnz, r, 1) and (nnz, 1, c)
    terms = mul(dimshuffle(left, [0, 1, None, 2]), dimshuffle(right, [0, None, 1, 2]))
    return sum_over(terms, axis=3, dtype=terms.dtype, acc_dtype=terms.dtype)


def block_times(p: Compressed, x: Variable, is_transposed: bool = False) -> Variable:
    """A·x of a bsr matrix, or Aᵀ·x, in the promoted dtype.   x: (n,) or (n, k), as A has columns, or rows → dense"""
    assert p.blocksize is not None
    inner, outer = (0, 1) if is_transposed else (1, 0)
    common = dtypes.promote(p.data.dtype, x.dtype)
    data, x = as_factor(p.data, common), as_factor(x, common)
    columns: Variable = x if x.ndim == 2 else dimshuffle(x, [0, None])
    rows: SymbolicExtent = p.minor if is_transposed else p.major
    dim = p.minor_dim if is_transposed else p.major_dim
    op = BlockProduct(is_transposed, dim_or(rows, dim))
    y = op(p.indices, p.indptr, as_tensor(rows), data, in_blocks(p.blocksize[inner], columns))
    found = whole(p.blocksize[outer], y)
    return found if x.ndim == 2 else dimshuffle(found, [0])
