"""Checks that extents agree, for arrays that are read at another array's positions without element-wise checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphIndexError, GraphValueError
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.batching import check_nondifferentiable
from aotensor.ops.linear import LinearOp
from aotensor.ops.shape.extents import SymbolicExtent, is_extent


@frozen_dataclass
class ExtentCheck(LinearOp):
    """(x, n) → x, whose extent along `axis` is checked to be n.

    what: names both in the error. kind: that of the error, "value" or "index".
    """

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "fitting"
    notation: ClassVar[str] = "{0}"
    axis: int
    what: str
    kind: str = "value"

    def infer_type(self, x: TensorType, extent: TensorType) -> TensorType:
        return x

    def reference(self, x: Array, extent: Array) -> Array:
        if x.shape[self.axis] != extent:
            raise ERRORS[self.kind](f"{self.what} differ: {x.shape[self.axis]} and {extent}")
        return x

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return cotangent

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched)
        return ExtentCheck(self.axis + 1, self.what, self.kind).apply(*inputs).outputs

    def lower(self, b: TensorBuilder, x: Tensor, extent: Tensor) -> Tensor:
        wanted = b.scalars.cast(b.item(extent), dtypes.INDEX)
        b.same_extent([wanted, x.extents[self.axis]], self.what, self.kind)
        return x


ERRORS: Final = {"value": GraphValueError, "index": GraphIndexError}
"""Error classes by kind."""


def fitting(x: Variable, axis: int, extent: SymbolicExtent, dim: Dim, what: str, kind: str = "value") -> Variable:
    """x, whose extent along an axis must be `extent`, with `dim` in its type; checked at run time unless known.

    Raises: GraphValueError, or GraphIndexError for the kind "index", where the static extents differ.
    """
    found = x.tensor_type.shape[axis]
    if isinstance(found, int) and isinstance(extent, int) and found != extent:
        raise ERRORS[kind](f"{what} differ: {found} and {extent}", lines=[x.describe()])
    is_known = found == extent if isinstance(extent, int) else is_extent(extent, x, axis)
    if is_known or (found is not None and found == dim):
        return x
    return ExtentCheck(axis, what, kind)(x, as_tensor(extent))  # type: ignore[no-any-return]
