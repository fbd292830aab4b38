"""Dense real values that loops and branches carry instead of sparse or complex ones."""

from __future__ import annotations

from collections.abc import Iterator

from aotensor.core import dtypes
from aotensor.core.types import TensorType
from aotensor.graph.operations import sparse
from aotensor.graph.sparse_type import SparseTensorType, SparseVariable
from aotensor.graph.variable import Variable
from aotensor.ops.complex.parts import join_parts as of_parts
from aotensor.ops.complex.parts import parts


def dense_values(x: Variable) -> list[Variable]:
    """The dense real values that represent x: x itself, two parts if complex, five vectors if sparse."""
    if isinstance(x, SparseVariable):
        data, *structure = sparse.vectors(x)
        return [*dense_values(data), *structure]
    return list(parts(x)) if dtypes.is_complex(x.dtype) else [x]


def assemble_value(type: TensorType, values: Iterator[Variable]) -> Variable:
    """The value of a type, assembled from the next dense real values of an iterator: the inverse of `dense_values`."""
    first = of_parts(next(values), next(values)) if dtypes.is_complex(type.dtype) else next(values)
    if not isinstance(type, SparseTensorType):
        return first
    return sparse.of_vectors(type, [first, *(next(values) for _ in range(4))])
