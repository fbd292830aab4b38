"""Products that skip zeros: of the elements along axes, and of two operands."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.graph.variable import Variable, Variables, constant
from aotensor.ops.batching import AxisOp
from aotensor.ops.elementwise.base import Elementwise, elementwise
from aotensor.ops.elementwise.compare import cast, eq, switch
from aotensor.ops.elementwise.signatures import numeric
from aotensor.ops.reduce.cumulate import exclusive_products
from aotensor.ops.reduce.sums import broadcast_back, without_axes
from aotensor.ops.reduce.sums import sum as sum_over


def _emit_mul(s: ScalarBuilder, x: Any, y: Any) -> Scalar:
    product = s.select(_is_zero(s, y), x, x * y)
    return s.select(_is_zero(s, x), y, product)


def _is_zero(s: ScalarBuilder, x: Any) -> Scalar:
    return s.compare("eq", x, s.constant(0, x.dtype))


def _unless_zero(g: Variable, own: Variable, other: Variable) -> Variable:
    """g·∂(x·y)/∂own for a product that skips zeros: 0 if `own` is 0, g if `other` is 0, else g·other."""
    return switch(eq(own, 0), 0, switch(eq(other, 0), g, g * other))


mul_without_zeros: Elementwise = elementwise(
    "mul_without_zeros",
    "x · y, where a factor of 0 counts as 1; 0 of two zeros. Derivative 0 for what is skipped.",
    lambda x, y: np.where(x == 0, y, np.where(y == 0, x, np.multiply(x, y))),
    _emit_mul,
    (lambda g, a, b, y: _unless_zero(g, a, b), lambda g, a, b, y: _unless_zero(g, b, a)),
    numeric,
)


@frozen_dataclass
class ProdWithoutZeros(AxisOp):
    """y = Π x over axes of the elements that are not 0, accumulated in `acc_dtype`, given in `dtype`; 1 if all are.

    Derivatives of the zeros are 0, all others as those of Prod, to any order.
    """

    name: ClassVar[str] = "prod_without_zeros"
    notation: ClassVar[str] = "prod"
    axes: tuple[int, ...]
    dtype: str
    acc_dtype: str

    def infer_type(self, x: TensorType) -> TensorType:
        return without_axes(x, self.axes, self.dtype)

    def reference(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.prod(np.where(x == 0, 1, x), axis=self.axes, dtype=self.acc_dtype)).astype(self.dtype)

    def _derivatives(self, x: Variable) -> Variable:
        """∂y/∂x, of the shape of x: for each nonzero element the product of the other nonzero elements, else 0."""
        wide = cast(x, self.dtype)
        zero, one = constant(0, dtype=self.dtype), constant(1, dtype=self.dtype)
        others = exclusive_products(switch(eq(wide, zero), one, wide), self.axes)
        return switch(eq(wide, zero), zero, others)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (ct,) = inputs, cotangents
        return [broadcast_back(ct, self.axes, x) * self._derivatives(x)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (tx,) = inputs, tangents
        return [sum_over(tx * self._derivatives(x), axis=self.axes)]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        def factor(s: ScalarBuilder, value: Scalar) -> Scalar:
            return s.select(_is_zero(s, value), s.constant(1, x.dtype), value)

        factors = b.map(factor, x, dtype=x.dtype)
        return b.cast(b.reduce("mul", factors, self.axes, dtype=self.acc_dtype), self.dtype)
