"""Sums of squared deviations from the mean, in two passes."""

from __future__ import annotations

import math
from math import prod
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.batching import AxisOp
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.reduce.sums import mean, without_axes
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import reexpand


@frozen_dataclass
class SquaredDeviations(AxisOp):
    """y = Σ (scale·(x − mean x))² over axes, in float64.   scale: a power of 2"""

    name: ClassVar[str] = "squared_deviations"
    notation: ClassVar[str] = "({0} - mean({0}))**2"
    is_analytic: ClassVar[bool] = True
    axes: tuple[int, ...]
    scale: float = 1.0

    def infer_type(self, x: TensorType) -> TensorType:
        if not dtypes.is_float(x.dtype):
            raise GraphTypeError(f"expected a floating dtype, found {x.dtype}")
        return without_axes(x, self.axes, "float64")

    def reference(self, x: Array) -> Array:
        number = math.prod(x.shape[axis] for axis in self.axes)
        with np.errstate(all="ignore"):
            center = x.sum(axis=self.axes, dtype=np.float64, keepdims=True) / np.float64(number)
            return np.asarray(np.square((x - center) * self.scale).sum(axis=self.axes))

    def continued(self, x: Any) -> Any:
        return np.square((x - x.mean(axis=self.axes, keepdims=True)) * self.scale).sum(axis=self.axes)

    def _derivatives(self, x: Variable) -> Variable:
        wide = cast(x, "float64")
        return (2 * self.scale * self.scale) * (wide - mean(wide, axis=self.axes, keepdims=True))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (ct,) = inputs, cotangents
        return [cast(self._derivatives(x) * reexpand(ct, self.axes, x.ndim), x.dtype)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (tx,) = inputs, tangents
        return [sum_over(self._derivatives(x) * tx, axis=self.axes)]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        v = b.scalars
        number: Extent = prod(x.extents[axis] for axis in self.axes)
        kept = iter(range(len(x.extents)))
        pattern = [None if axis in self.axes else next(kept) for axis in range(len(x.extents))]
        total = b.permute(b.reduce("add", x, self.axes, dtype="float64"), pattern)
        size = b.from_scalar(v.cast(v.index(number), "float64"))

        def element(v: ScalarBuilder, x: Scalar, total: Scalar, size: Scalar) -> Scalar:
            deviation = v.cast(x, "float64") - total / size
            if self.scale != 1:
                deviation *= self.scale
            return deviation * deviation

        squares = b.map(element, x, total, size, dtype="float64")
        return b.reduce("add", squares, self.axes)
