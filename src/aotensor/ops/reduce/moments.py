"""Variance, standard deviation and norms: sums of squares, and a square root that is flat at 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Scalar, ScalarVerbs, Tensor, TensorBuilder
from aotensor.core.types import Array, TensorType, normalise_axes
from aotensor.errors import GraphTypeError, GraphValueError, UnsupportedError
from aotensor.graph.op import is_disconnected
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.batching import AxisOp
from aotensor.ops.elementwise.arithmetic import abs as absolute
from aotensor.ops.elementwise.arithmetic import sqr
from aotensor.ops.elementwise.base import Elementwise, Row
from aotensor.ops.elementwise.compare import cast, eq, gt, neq, switch
from aotensor.ops.reduce.extremum import max as max_over
from aotensor.ops.reduce.extremum import min as min_over
from aotensor.ops.reduce.sums import Axes, count, finished, mean, without_axes
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import reexpand

root: Final = Elementwise(
    Row(
        "root",
        "√x with slope 0 at 0, for lengths: the subgradient that norms and standard deviations have there.",
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

    def _slopes(self, x: Variable) -> Variable:
        return 2 * (x - mean(x, axis=self.axes, keepdims=True))

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        (x,), (ct,) = inputs, cotangents
        return [self._slopes(x) * reexpand(ct, self.axes, x.ndim)]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        (x,), (tx,) = inputs, tangents
        return [tx if is_disconnected(tx) else sum_over(self._slopes(x) * tx, axis=self.axes)]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        v = b.scalars
        number: Extent = 1
        for axis in self.axes:
            number = v.imul(number, x.extents[axis])
        kept = iter(range(len(x.extents)))
        pattern = [None if axis in self.axes else next(kept) for axis in range(len(x.extents))]
        total = b.permute(b.reduce("add", x, self.axes, dtype="float64"), pattern)
        size = b.from_scalar(v.cast(v.index(number), "float64"))

        def element(v: ScalarVerbs, x: Scalar, total: Scalar, size: Scalar) -> Scalar:
            deviation = v.sub(v.cast(x, "float64"), v.div(total, size))
            return v.mul(deviation, deviation)

        squares = b.map(element, x, total, size, dtype="float64")
        return b.cast(b.reduce("add", squares, self.axes), x.dtype)


@public
def var(x: Any, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Variable:
    """Σ (x − mean x)² / (n − ddof) over axes: float64 for discrete x; nan if n ≤ ddof.

    Raises: GraphValueError for an axis out of range or named twice.
    """
    x = as_tensor(x)
    axes = normalise_axes(axis, x.ndim)
    x = cast(x, dtypes.mean_of(x.dtype))
    freedom = count(x, axes, x.dtype) - constant(ddof, dtype=x.dtype)
    divisor = switch(gt(freedom, 0), freedom, math.nan)
    return finished(SquaredDeviations(axes)(x) / divisor, axes, x, keepdims)


@public
def std(x: Any, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Variable:
    """√var over axes, with slope 0 where all elements are equal.   Raises: as var."""
    return root(var(x, axis, ddof, keepdims))


@public
def norm(x: Any, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Variable:
    """np.linalg.norm: of vectors for one axis, of matrices for two, of all elements where axis and ord are None.

    ord of vectors: None, 2, 1, inf, −inf, 0 or another number p for (Σ |x|ᵖ)^(1/p).
    ord of matrices: None, "fro", 1, −1, inf, −inf (largest or smallest sum of a column or row).
    Slope 0 at 0. Discrete x counts as float64.

    Raises: GraphValueError for an ord or axis that does not fit; UnsupportedError for norms by singular values.
    """
    x = as_tensor(x)
    x = cast(x, dtypes.mean_of(x.dtype))
    axes = normalise_axes(axis, x.ndim)
    if axis is not None and not isinstance(axis, int | np.integer):
        axes = tuple(int(one) % x.ndim for one in axis)
    if ord is None or (len(axes) == 2 and ord == "fro") or (len(axes) == 1 and ord == 2):
        return finished(root(sum_over(sqr(x), axis=axes)), axes, x, keepdims)
    if len(axes) == 1:
        return finished(_vector_norm(x, ord, axes[0]), axes, x, keepdims)
    if len(axes) == 2:
        return finished(_matrix_norm(x, ord, axes), axes, x, keepdims)
    raise GraphValueError(f"norm: ord {ord!r} needs one axis or two, not {len(axes)}", lines=[x.describe()])


def _vector_norm(x: Variable, ord: Any, axis: int) -> Variable:
    if isinstance(ord, str):
        raise GraphValueError(f"norm: ord {ord!r} of a vector")
    size = absolute(x)
    if ord == math.inf:
        return max_over(size, axis=axis)
    if ord == -math.inf:
        return min_over(size, axis=axis)
    if ord == 0:
        return sum_over(cast(neq(x, 0), x.dtype), axis=axis)
    if ord == 1:
        return sum_over(size, axis=axis)
    return _power_mean(size, float(ord), axis)


def _power_mean(size: Variable, p: float, axis: int) -> Variable:
    """(Σ sizeᵖ)^(1/p). Where an element or the whole sum is 0, or for p < 0 infinite, its slope is 0."""
    is_zero = eq(size, 0)
    powers = switch(is_zero, 0.0 if p > 0 else math.inf, switch(is_zero, 1, size) ** p)
    total = sum_over(powers, axis=axis)
    is_flat = eq(total, 0.0 if p > 0 else math.inf)
    return switch(is_flat, 0, switch(is_flat, 1, total) ** (1.0 / p))


def _matrix_norm(x: Variable, ord: Any, axes: tuple[int, ...]) -> Variable:
    if ord in (2, -2, "nuc"):
        raise UnsupportedError(f"norm: ord {ord!r} of a matrix needs singular values", hint="use the Frobenius norm")
    if ord not in (1, -1, math.inf, -math.inf):
        raise GraphValueError(f"norm: ord {ord!r} of a matrix")
    rows, columns = axes
    summed, compared = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = sum_over(absolute(x), axis=summed)
    return (max_over if ord > 0 else min_over)(sums, axis=compared - (compared > summed))
