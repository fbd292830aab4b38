"""Rows of a dense matrix whose gradient is sparse: a large table with few rows that are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.index import subtensor
from aotensor.ops.integer_indexing import AdvancedSubtensor
from aotensor.ops.linear import LinearOp
from aotensor.ops.ranges import arange
from aotensor.ops.shape.extents import extent_of
from aotensor.sparse.construct.create import construct_sparse_from_list


@frozen_dataclass
class SparseGradRows(LinearOp):
    """x[rows] of a dense matrix: x: (m, n), rows: (k,) integers → (k, n), dtype of x.

    Gradient: regular, a csc matrix of the shape of x that stores the rows which are read; repeated ones add up.
    """

    name: ClassVar[str] = "sparse_grad_rows"
    notation: ClassVar[str] = "get_item_list_grad"

    def infer_type(self, x: TensorType, rows: TensorType) -> TensorType:
        if x.rank != 2 or rows.rank != 1 or rows.dtype not in dtypes.INTEGERS:
            raise GraphTypeError(f"{self.name}: expected a matrix and a vector of integers, found {x} and {rows}")
        return TensorType(x.dtype, (rows.shape[0], x.shape[1]))

    def reference(self, x: Array, rows: Array) -> Array:
        return x[rows]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        x, rows = inputs
        return [subtensor(x, rows)]

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        x, rows = inputs
        numbers = subtensor(arange(extent_of(x, 0)), rows)  # from the end where negative
        return construct_sparse_from_list(x, cotangent, numbers)  # type: ignore[no-any-return]

    def along(self, group: tuple[int, ...], inputs: Sequence[Variable], tangents: Sequence[Variable]) -> Variable:
        return subtensor(tangents[0], inputs[1])


def sparse_grad(var: Any) -> Variable:
    """x[rows] again, for `var` = x[rows] of a dense matrix x and a vector of integers: the gradient of x is sparse.

    It is a csc matrix of the shape of x in which rows that repeat add up.

    Raises: GraphTypeError for a variable that was made otherwise, or by two vectors.
    """
    var = as_tensor(var)
    node = var.owner
    if node is None or node.op != AdvancedSubtensor((0,)) or node.inputs[0].ndim != 2 or node.inputs[1].ndim != 1:
        raise GraphTypeError(
            "sparse_grad: expected x[rows], with a dense matrix x and a vector of integers rows", lines=[var.describe()]
        )
    return SparseGradRows()(*node.inputs)  # type: ignore[no-any-return]
