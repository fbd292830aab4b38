"""The values of one matrix at the stored entries of another: what structured gradients are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply, disconnected, is_disconnected
from aotensor.graph.operations import sparse
from aotensor.graph.sparse_type import SparseTensorType
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.shape.extents import product
from aotensor.ops.shape.reshape import reshape
from aotensor.sparse.compressed import TakeAt, major_of_entries, sum_at
from aotensor.sparse.csm import like, matrix_of, parts_of
from aotensor.sparse.fitting import as_matrix
from aotensor.sparse.op import Parts, SparseOp, need_sparse, type_error
from aotensor.sparse.patterns import canonical, positions_in, take_present
from aotensor.sparse.shares import entries_of, own_entries


@dataclass(frozen=True)
class Sample(SparseOp):
    """(g, x) → g at the stored positions of the sparse matrix x, in the order of its data.

    g: dense or sparse, (m, n) as x → (nnz,), dtype of g. Where g is sparse and stores nothing, the value is 0;
    duplicate entries each have the whole element of g.

    Gradient with respect to g: regular, the cotangent at the pattern of x; x itself is disconnected.
    """

    name: ClassVar[str] = "sample"

    def infer_type(self, g: TensorType, x: TensorType) -> TensorType:
        need_sparse(self, x)
        if g.rank != 2:
            raise type_error(self, "a matrix", g)
        if any(None not in (a, b) and a != b for a, b in zip(g.static_shape, x.static_shape, strict=True)):
            raise GraphValueError(f"{self.name}: shapes of {g} and {x} differ")
        return TensorType(g.dtype, (None,))

    def reference(self, g: Any, x: Any) -> Array:
        if g.shape != x.shape:
            raise GraphValueError(f"{self.name}: shapes {g.shape} and {x.shape} differ")
        coordinates = x.tocoo(copy=False)
        dense = g if isinstance(g, np.ndarray) else g.toarray()
        found: Array = dense[coordinates.row, coordinates.col]
        return found

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        g, x = inputs
        p = parts_of(x)
        if isinstance(g.type, SparseTensorType):
            own = own_entries(g, x)
            if own is not None:
                return [own]
            q = canonical(parts_of(g))
            return [take_present(q.data, positions_in(p, q))]
        return [take_entries(as_matrix(g, p, "sample: extents"), p)]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        if is_disconnected(cotangents[0]):
            return [disconnected(), disconnected()]
        found = like(inputs[1], cotangents[0])
        return [found if inputs[0].is_sparse else sparse().dense_from_sparse(found, structured=False), disconnected()]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        return [disconnected() if is_disconnected(tangents[0]) else self(tangents[0], inputs[1])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False]]


@coerced
def sample_at(g: Variable, x: Variable) -> Variable:
    """The values of a dense or sparse matrix at the stored positions of the sparse matrix x; see Sample."""
    own = entries_of(g, x)
    return Sample()(g, x) if own is None else own


def at_pattern(g: Variable, x: Variable) -> Variable:
    """A dense or sparse matrix masked to the pattern of x, in its format: the structured form of a gradient.

    Duplicate entries of x are there once: they would add up.
    """
    p = parts_of(x)
    pattern = x if p.is_canonical else matrix_of(canonical(p))
    return like(pattern, sample_at(g, pattern))


# --- dense matrices, entry by entry ----------------------------------------------------------------------------------


def flat_positions(p: Parts) -> Variable:
    """int64 number of every stored entry among the elements of the dense matrix, in C order."""
    major, minor = cast(major_of_entries(p), "int64"), cast(p.indices, "int64")
    rows, columns = (major, minor) if p.format == "csr" else (minor, major)
    return rows * as_tensor(p.columns) + columns


def take_entries(g: Variable, p: Parts) -> Variable:
    """(nnz,) elements of a dense matrix at the stored positions."""
    return TakeAt()(reshape(g, (product([p.rows, p.columns]),)), flat_positions(p))  # type: ignore[no-any-return]


def densified(p: Parts) -> Variable:
    """The dense matrix; duplicate entries add up."""
    total = product([p.rows, p.columns])
    return reshape(sum_at(p.data, flat_positions(p), total), (p.rows, p.columns))
