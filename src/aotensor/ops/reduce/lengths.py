"""Lengths √Σ x² and √Σ (x − x̄)² of vectors whose squares may overflow or vanish, and unit vectors.

Squares of float32 are taken in float64, where none overflows. For float64 three sums are taken in one pass, as squares
have twice the range of exponents:

    middle = Σ x²      high = Σ (2⁻⁶⁰⁰·x)²      low = Σ (2⁶⁰⁰·x)²

Source: after Blue (1978), "A portable Fortran program to find the Euclidean norm of a vector".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.op import disconnected
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.batching import AxisOp
from aotensor.ops.elementwise.arithmetic import sqr
from aotensor.ops.elementwise.compare import cast, eq, gt, lt, switch
from aotensor.ops.elementwise.elementary import sqrt
from aotensor.ops.reduce.deviations import SquaredDeviations
from aotensor.ops.reduce.sums import mean, without_axes
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import reexpand

HIGH: Final = 2.0**-600
LOW: Final = 2.0**600
LARGEST: Final = 2.0**1000
"""Sum of plain squares above which it may have overflowed."""
SMALLEST: Final = 2.0**-900
"""Sum of plain squares below which squares may have lost digits."""


@frozen_dataclass
class Length(AxisOp):
    """y = √Σ x² over axes in float64, or √Σ (x − mean x)².   Derivatives: the unit vector along x, 0 at 0."""

    name: ClassVar[str] = "length"
    notation: ClassVar[str] = "norm({0})"
    is_analytic: ClassVar[bool] = True
    axes: tuple[int, ...]
    is_centred: bool = False

    def infer_type(self, x: TensorType) -> TensorType:
        if not dtypes.is_float(x.dtype):
            raise GraphTypeError(f"expected a floating dtype, found {x.dtype}")
        return without_axes(x, self.axes, "float64")

    def reference(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            wide = x.astype(np.float64)
            if self.is_centred:
                number = np.float64(math.prod(x.shape[axis] for axis in self.axes))
                wide = wide - wide.sum(axis=self.axes, keepdims=True) / number
            largest = np.abs(wide).max(axis=self.axes, keepdims=True, initial=0)
            scale = np.ldexp(1.0, np.frexp(np.where(np.isfinite(largest), largest, 1))[1] - 1)
            unit = np.sqrt(np.square(wide / scale).sum(axis=self.axes))
            return np.asarray(unit * scale.reshape(unit.shape))

    def continued(self, x: Any) -> Any:
        """√Σ x² at complex x, for the complex step; nan at 0, where the length has a kink."""
        from_centre = x - (x.mean(axis=self.axes, keepdims=True) if self.is_centred else 0)
        is_kink = ~np.any(np.real(from_centre), axis=self.axes)
        return np.where(is_kink, np.nan, np.sqrt(np.square(from_centre).sum(axis=self.axes)))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        (x,) = inputs
        if x.dtype == "float32":
            return [sqrt(self._squares(cast(x, "float64"), 1.0))]
        middle, high, low = (self._squares(x, scale) for scale in (1.0, HIGH, LOW))
        is_high, is_low = gt(middle, LARGEST), lt(middle, SMALLEST)
        total = switch(is_high, high, switch(is_low, low, middle))
        return [sqrt(total) * switch(is_high, 1 / HIGH, switch(is_low, 1 / LOW, 1.0))]

    def _squares(self, x: Variable, scale: float) -> Variable:
        if self.is_centred:
            return SquaredDeviations(self.axes, scale)(x)  # type: ignore[no-any-return]
        return sum_over(sqr(x * scale if scale != 1 else x), axis=self.axes)

    def _direction(self, x: Variable, y: Variable) -> Variable:
        x = cast(x, "float64")
        if self.is_centred:
            x = x - mean(x, axis=self.axes, keepdims=True)
        return UnitVector(self.axes)(x, reexpand(y, self.axes, x.ndim))  # type: ignore[no-any-return]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (y,), (ct,) = inputs, outputs, cotangents
        return [cast(self._direction(x, y) * reexpand(ct, self.axes, x.ndim), x.dtype)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (y,), (tx,) = inputs, outputs, tangents
        return [sum_over(self._direction(x, y) * tx, axis=self.axes)]


@frozen_dataclass
class UnitVector(AxisOp):
    """u = x/y of vectors x along axes and their lengths y, whose axes have extent 1; 0 where the length is 0.

    The length is an input so that it is not computed twice; it has no derivative, as du = (dx − u·⟨u, dx⟩)/y.
    """

    name: ClassVar[str] = "unit_vector"
    notation: ClassVar[str] = "grad(norm({0}))"
    is_analytic: ClassVar[bool] = True
    axes: tuple[int, ...]

    def infer_type(self, x: TensorType, y: TensorType) -> TensorType:
        return x

    def reference(self, x: Array, y: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.where(y == 0, 0, x / np.where(y == 0, 1, y))).astype(x.dtype)

    def continued(self, x: Any, y: Any) -> Any:
        return x / y

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        x, y = inputs
        return [x * _inverse(y)]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        return [[True], [False]]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [self._derivative(inputs[1], outputs[0], cotangents[0]), disconnected()]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [self._derivative(inputs[1], outputs[0], tangents[0])]

    def _derivative(self, y: Variable, u: Variable, direction: Variable) -> Variable:
        """The tangent or cotangent of the unit vector: the part of `direction` orthogonal to x, divided by y."""
        return (direction - u * sum_over(u * direction, axis=self.axes, keepdims=True)) * _inverse(y)


def _inverse(y: Variable) -> Variable:
    """1/y, and 0 where y is 0."""
    return switch(eq(y, 0), 0, 1 / switch(eq(y, 0), 1, y))
