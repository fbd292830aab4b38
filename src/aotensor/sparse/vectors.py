"""Sparse matrices inside of loops and branches: dense vectors go in, and a matrix is made of them there.

Ops with bodies carry dense values alone. Their frontends ask by name for what stands here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aotensor.graph.public import public
from aotensor.graph.sparse_type import SparseTensorType, SparseVariable
from aotensor.graph.variable import Variable
from aotensor.ops.index import subtensor
from aotensor.sparse.csm import CSMProperties, matrix_of
from aotensor.sparse.op import Parts, as_sparse_or_tensor

public(as_sparse_or_tensor)


@public
def sparse_vectors(x: Variable) -> list[Variable]:
    """data, indices, indptr and shape of a matrix: the values that stand for it where only dense ones can go."""
    found: list[Variable] = CSMProperties()(x)
    return found


@public
def sparse_of_vectors(type: SparseTensorType, vectors: Sequence[Variable]) -> SparseVariable:
    """The matrix of vectors that were those of a matrix of this type."""
    data, indices, indptr, shape = vectors
    rows, columns = (dim if isinstance(dim, int) else subtensor(shape, axis) for axis, dim in enumerate(type.shape))
    dims: Any = type.shape
    return matrix_of(Parts(type.format, data, indices, indptr, rows, columns, dims, type.is_canonical))
