"""Variance and standard deviation: sums of squares, and a square root that is flat at 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.types import Array, TensorType, normalise_axes
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.batching import AxisOp
from aotensor.ops.elementwise.base import Elementwise, Row
from aotensor.ops.elementwise.compare import cast, eq, gt, switch
from aotensor.ops.reduce.sums import Axes, count, finished, mean, without_axes
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import reexpand

root: Final = Elementwise(
    Row(
        "root",
        "√x with derivative 0 at 0, for lengths: the subgradient that norms and standard deviations have there.",
        np.sqrt,
        lambda s, x: s.math("sqrt", x),
        (lambda g, x, y: switch(eq(y, 0), 0, 0.5 * g / switch(eq(y, 0), 1, y)),),
    )
)


@dataclass(frozen=True)
class SquaredDeviations(AxisOp):
    """y = Σ (x − mean x)² over axes, computed in float64, given in the dtype of x."""

    name: ClassVar[str] = "squared_deviations"
    is_analytic: ClassVar[bool] = True
    axes: tuple[int, ...]

    def infer_type(self, x: TensorType) -> TensorType:
        if not dtypes.is_float(x.dtype):
            raise GraphTypeError(f"needs a float, not {x.dtype}")
        return without_axes(x, self.axes)

    def reference(self, x: Array) -> Array:
        number = math.prod(x.shape[axis] for axis in self.axes)
        with np.errstate(all="ignore"):
            center = x.sum(axis=self.axes, dtype=np.float64, keepdims=True) / np.float64(number)
            return np.asarray(np.square(x - center).sum(axis=self.axes)).astype(x.dtype)

    def continued(self, x: Any) -> Any:
        return np.square(x - x.mean(axis=self.axes, keepdims=True)).sum(axis=self.axes)

    def _derivatives(self, x: Variable) -> Variable:
        return 2 * (x - mean(x, axis=self.axes, keepdims=True))

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        (x,), (ct,) = inputs, cotangents
        return [self._derivatives(x) * reexpand(ct, self.axes, x.ndim)]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        (x,), (tx,) = inputs, tangents
        return [sum_over(self._derivatives(x) * tx, axis=self.axes)]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        v = b.scalars
        number: Extent = 1
        for axis in self.axes:
            number = v.imul(number, x.extents[axis])
        kept = iter(range(len(x.extents)))
        pattern = [None if axis in self.axes else next(kept) for axis in range(len(x.extents))]
        total = b.permute(b.reduce("add", x, self.axes, dtype="float64"), pattern)
        size = b.from_scalar(v.cast(v.index(number), "float64"))

        def element(v: ScalarBuilder, x: Scalar, total: Scalar, size: Scalar) -> Scalar:
            deviation = v.sub(v.cast(x, "float64"), v.div(total, size))
            return v.mul(deviation, deviation)

        squares = b.map(element, x, total, size, dtype="float64")
        return b.cast(b.reduce("add", squares, self.axes), x.dtype)


@coerced
def var(x: Any, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Variable:
    """Σ |x − mean x|² / (n − ddof) over axes: float64 for discrete x; nan if n ≤ ddof.

    Raises: GraphValueError for an axis out of range or named twice.
    """
    x = as_tensor(x)
    if dtypes.is_complex(x.dtype):
        return var(x.real, axis, ddof, keepdims) + var(x.imag, axis, ddof, keepdims)
    axes = normalise_axes(axis, x.ndim)
    x = cast(x, dtypes.mean_of(x.dtype))
    freedom = count(x, axes, x.dtype) - constant(ddof, dtype=x.dtype)
    divisor = switch(gt(freedom, 0), freedom, constant(math.nan, dtype=x.dtype))
    return finished(SquaredDeviations(axes)(x) / divisor, axes, x, keepdims)


@coerced
def std(x: Any, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Variable:
    """√var over axes, with derivative 0 where all elements are equal.   Raises: as var."""
    return root(var(x, axis, ddof, keepdims))
