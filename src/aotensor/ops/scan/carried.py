"""Values as the dense ones that loops and branches carry: a sparse matrix is there as its vectors."""

from __future__ import annotations

from collections.abc import Iterator

from aotensor.core.types import TensorType
from aotensor.graph.operations import sparse
from aotensor.graph.sparse_type import SparseTensorType, SparseVariable
from aotensor.graph.variable import Variable


def dense_values(x: Variable) -> list[Variable]:
    """x itself; of a sparse matrix its five vectors: data, indices, indptr, and two that have its extents."""
    return sparse().vectors(x) if isinstance(x, SparseVariable) else [x]


def whole(type: TensorType, values: Iterator[Variable]) -> Variable:
    """The value of that type from the next of the dense ones."""
    if not isinstance(type, SparseTensorType):
        return next(values)
    return sparse().of_vectors(type, [next(values) for _ in range(5)])
