"""The values of one matrix at the stored entries of another: what structured gradients are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply, disconnected
from aotensor.graph.operations import sparse
from aotensor.graph.sparse_type import SparseTensorType
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.ranges import arange
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import extent_of, product
from aotensor.ops.shape.reshape import ravel, reshape
from aotensor.sparse.compressed_axes import TakeAt, TakePresent, major_of_entries, sum_at
from aotensor.sparse.csm import like, matrix_of, parts_of
from aotensor.sparse.duplicate_entries import entries_of, own_entries
from aotensor.sparse.op import Compressed, SparseOp, is_blocked, need_sparse, type_error
from aotensor.sparse.operand_checks import as_matrix
from aotensor.sparse.patterns import canonical, positions_in


@frozen_dataclass
class Sample(SparseOp):
    """(g, x) → g at the stored positions of the sparse matrix x, in the order of its data.

    g: dense or sparse, (m, n) as x → (nnz,), of bsr (nnz, r, c), dtype of g. Where g is sparse and stores
    nothing, the value is 0; duplicate entries each have the whole element of g.

    Gradient with respect to g: regular, the cotangent at the pattern of x; x itself is disconnected.
    """

    name: ClassVar[str] = "sample"
    takes_blocks: ClassVar[bool] = True

    def convert_inputs(self, inputs: Sequence[Any]) -> list[Variable]:
        g, x = super().convert_inputs(inputs)
        return [like_blocks(g, x) if x.is_sparse else g, x]

    def infer_type(self, g: TensorType, x: TensorType) -> TensorType:
        need_sparse(self, x)
        if g.rank != 2:
            raise type_error(self, "a matrix", g)
        if any(None not in (a, b) and a != b for a, b in zip(g.static_shape, x.static_shape, strict=True)):
            raise GraphValueError(f"{self.name}: expected equal shapes, found {g} and {x}")
        return TensorType(g.dtype, (None, *(need_sparse(self, x).blocksize or ())))

    def reference(self, g: Any, x: Any) -> Array:
        if g.shape != x.shape:
            raise GraphValueError(f"{self.name}: expected equal shapes, found {g.shape} and {x.shape}")
        coordinates = x.tocoo(copy=False)
        dense = g if isinstance(g, np.ndarray) else g.toarray()
        found: Array = dense[coordinates.row, coordinates.col]
        return found.reshape(x.data.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        g, x = inputs
        p = parts_of(x)
        if isinstance(g.type, SparseTensorType):
            own = own_entries(g, x)
            if own is not None:
                return [own]
            q = canonical(parts_of(g))
            return [TakePresent()(q.data, positions_in(p, q))]
        return [take_entries(as_matrix(g, p, "sample: extents"), p)]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        found = like(inputs[1], cotangents[0])
        return [found if inputs[0].is_sparse else sparse.dense_from_sparse(found, structured=False), disconnected()]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [self(tangents[0], inputs[1])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False]]


@coerced
def sample_at(g: Variable, x: Variable) -> Variable:
    """The values of a dense or sparse matrix at the stored positions of the sparse matrix x; see Sample."""
    g = like_blocks(g, x)
    own = entries_of(g, x)
    return Sample()(g, x) if own is None else own


def like_blocks(g: Variable, x: Variable) -> Variable:
    """A sparse g converted to the blocksize of x, or to csr if x has no blocks; a dense g is unchanged."""
    if not g.is_sparse or g.type.blocksize == x.type.blocksize:
        return g
    return sparse.in_format(g, "bsr" if is_blocked(x) else "csr", x.type.blocksize)  # type: ignore[arg-type]


def at_pattern(g: Variable, x: Variable) -> Variable:
    """A dense or sparse matrix restricted to the pattern of x, in the format of x: the structured form of a
    gradient.

    Duplicate entries of x are there once: they would add up.
    """
    p = parts_of(x)
    pattern = x if p.is_canonical else matrix_of(canonical(p))
    return like(pattern, sample_at(g, pattern))


# --- dense matrices, entry by entry ----------------------------------------------------------------------------------


def flat_positions(p: Compressed) -> Variable:
    """int64 number of every stored element among those of the dense matrix, in C order; of bsr block by block."""
    major, minor = cast(major_of_entries(p), "int64"), cast(p.indices, "int64")
    rows, columns = (major, minor) if p.by_rows else (minor, major)
    if p.blocksize is not None:
        height, width = p.blocksize
        inside = (arange(n, dtype="int64") for n in p.blocksize)
        rows, columns = dimshuffle(rows * height, [0, None, None]), dimshuffle(columns * width, [0, None, None])
        rows, columns = rows + dimshuffle(next(inside), [0, None]), columns + next(inside)
    return ravel(rows * as_tensor(p.columns) + columns)


def take_entries(g: Variable, p: Compressed) -> Variable:
    """The elements of a dense matrix at the stored positions: (nnz,), or (nnz, r, c) for bsr."""
    found = TakeAt()(reshape(g, (product([p.rows, p.columns]),)), flat_positions(p))
    return found if p.blocksize is None else reshape(found, (extent_of(p.indices, 0), *p.blocksize))


def densified(p: Compressed) -> Variable:
    """The dense matrix of compressed vectors; duplicate entries add up."""
    total = product([p.rows, p.columns])
    return reshape(sum_at(ravel(p.data), flat_positions(p), total), (p.rows, p.columns))
