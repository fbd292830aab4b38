"""Dense operands must fit the matrix beside them: what is copied to entries is not checked entry by entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.batching import check_steering
from aotensor.ops.linear import LinearOp
from aotensor.ops.shape.extents import SymbolicExtent, is_extent
from aotensor.sparse.op import Parts


@dataclass(frozen=True)
class Fitting(LinearOp):
    """(x, n) → x, whose extent along `axis` is checked to be n.   what: names both in the error"""

    name: ClassVar[str] = "fitting"
    axis: int
    what: str

    def infer_type(self, x: TensorType, extent: TensorType) -> TensorType:
        return x

    def reference(self, x: Array, extent: Array) -> Array:
        if x.shape[self.axis] != extent:
            raise GraphValueError(f"{self.what} differ, {extent} and {x.shape[self.axis]}")
        return x

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return cotangent

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_steering(self, is_batched)
        return Fitting(self.axis + 1, self.what).apply(*inputs).outputs

    def lower(self, b: TensorBuilder, x: Tensor, extent: Tensor) -> Tensor:
        wanted = b.scalars.cast(b.item(extent), dtypes.INDEX)
        b.same_extent([wanted, x.extents[self.axis]], self.what)
        return x


def fitting(x: Variable, axis: int, extent: SymbolicExtent, dim: Dim, what: str) -> Variable:
    """x, whose extent along an axis must be `extent`, of which a type says `dim`; checked at run time unless known.

    Raises: GraphValueError where the types tell that they differ.
    """
    found = x.tensor_type.shape[axis]
    if isinstance(found, int) and isinstance(extent, int) and found != extent:
        raise GraphValueError(f"{what} differ, {extent} and {found}", lines=[x.describe()])
    is_known = found == extent if isinstance(extent, int) else is_extent(extent, x, axis)
    if is_known or (found is not None and found == dim):
        return x
    return Fitting(axis, what)(x, as_tensor(extent))  # type: ignore[no-any-return]


def as_row(x: Variable, p: Parts, what: str) -> Variable:
    """x, whose last axis must run over the columns of a matrix."""
    return fitting(x, x.ndim - 1, p.columns, p.dims[1], what)


def as_column(x: Variable, p: Parts, what: str) -> Variable:
    """x, whose first axis must run over the rows of a matrix."""
    return fitting(x, 0, p.rows, p.dims[0], what)


def as_matrix(x: Variable, p: Parts, what: str) -> Variable:
    """x, which must have the shape of a matrix."""
    return as_column(as_row(x, p, what), p, what)
