"""softmax, log_softmax, logsumexp: exponentials shifted by the maximum, so that none overflows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, normalise_axes
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.batching import AxisOp
from aotensor.ops.elementwise.compare import cast, gt, switch
from aotensor.ops.reduce.sums import Axes, finished, without_axes
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import reexpand


def _checked(x: TensorType) -> TensorType:
    if not dtypes.is_float(x.dtype):
        raise GraphTypeError(f"expected a floating dtype, found {x.dtype}")
    return x


def _maximum(x: Array, axes: tuple[int, ...]) -> Array:
    return np.asarray(np.max(x, axis=axes, keepdims=True, initial=-np.inf))


def _lower_reduced(b: TensorBuilder, kind: str, x: Tensor, axes: Sequence[int]) -> Tensor:
    """Lower a reduction whose axes are kept with extent 1."""
    kept = iter(range(len(x.extents)))
    return b.permute(b.reduce(kind, x, axes), [None if axis in axes else next(kept) for axis in range(len(x.extents))])


def _weights(
    b: TensorBuilder, x: Tensor, axes: Sequence[int], is_shared_at_limits: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """(m, exp(x − m), Σ exp(x − m)) with m = max x over axes, kept with extent 1.

    is_shared_at_limits: elements that are m itself weigh 1, be it infinite.
    """

    def weight(v: ScalarBuilder, x: Scalar, m: Scalar) -> Scalar:
        found = v.math("exp", x - m)
        return v.select(v.compare("eq", x, m), v.constant(1.0, x.dtype), found) if is_shared_at_limits else found

    m = _lower_reduced(b, "maximum", x, axes)
    weights = b.map(weight, x, m, dtype=x.dtype)
    return m, weights, _lower_reduced(b, "add", weights, axes)


def _beyond_mean(y: Variable, direction: Variable, axes: tuple[int, ...]) -> Variable:
    """d − Σ y⊙d for shares y with Σ y = 1, accurate also for a share that rounds to 1.

    Where one share is above ½, the d there is subtracted from all d first. That changes nothing, but leaves the result
    for this element to the small shares, as its own share rounds to 1.
    """
    is_most = gt(y, 0.5)
    top = sum_over(switch(is_most, direction, 0), axis=axes, keepdims=True)
    others = switch(is_most, 0, y)
    mean = sum_over(others * direction, axis=axes, keepdims=True) - top * sum_over(others, axis=axes, keepdims=True)
    return direction - top - mean


def _less_share(g: Variable, y: Variable, axes: tuple[int, ...]) -> Variable:
    """g − y·Σ g for shares y with Σ y = 1; for y above ½ computed from the other elements, to avoid cancellation."""
    is_most = gt(y, 0.5)
    total = sum_over(g, axis=axes, keepdims=True)
    others = sum_over(switch(is_most, 0, y), axis=axes, keepdims=True)
    return switch(is_most, others * total - sum_over(switch(is_most, 0, g), axis=axes, keepdims=True), g - y * total)


@frozen_dataclass
class Softmax(AxisOp):
    """y = exp(x) / Σ exp(x) over axes.

    Where infinities decide: nan, as the formula has it; if `at_limits`, what the derivatives of logsumexp are: all −inf
    give zeros, and +inf share the weight among themselves.
    """

    name: ClassVar[str] = "softmax"
    is_analytic: ClassVar[bool] = True
    axes: tuple[int, ...]
    at_limits: bool = False

    def infer_type(self, x: TensorType) -> TensorType:
        return _checked(x)

    def reference(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            m = _maximum(x, self.axes)
            weights = np.exp(x - m)
            if self.at_limits:
                weights = np.where(x == m, np.where(m == -np.inf, 0, 1), np.where(m == -np.inf, 0, weights))
            total = weights.sum(axis=self.axes, keepdims=True)
            return weights / (np.where(m == -np.inf, 1, total) if self.at_limits else total)  # type: ignore[no-any-return]

    def _derivative(self, y: Variable, direction: Variable) -> Variable:
        """The tangent or cotangent y⊙(d − Σ y⊙d): the Jacobian is symmetric, so both modes use it."""
        return y * _beyond_mean(y, direction, self.axes)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [self._derivative(outputs[0], cotangents[0])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [self._derivative(outputs[0], tangents[0])]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        """Emit exp(x − m) times 1/Σ: one quotient per sum and one product per element, for ½ ulp more of error."""
        m, weights, total = _weights(b, x, self.axes, self.at_limits)
        unit = b.map(self._unit, total, m, dtype=x.dtype)
        return b.map(lambda v, weight, unit: weight * unit, weights, unit, dtype=x.dtype)  # type: ignore[no-any-return]

    def _unit(self, v: ScalarBuilder, total: Scalar, m: Scalar) -> Scalar:
        """1/total: the softmax of an element whose weight is 1."""
        unit = 1.0 / total
        if not self.at_limits:
            return unit
        is_nothing = v.compare("eq", m, v.constant(-np.inf, m.dtype))
        return v.select(is_nothing, v.constant(0.0, m.dtype), unit)


@frozen_dataclass
class LogSoftmax(AxisOp):
    """y = x − log Σ exp(x) over axes."""

    name: ClassVar[str] = "log_softmax"
    is_analytic: ClassVar[bool] = True
    axes: tuple[int, ...]

    def infer_type(self, x: TensorType) -> TensorType:
        return _checked(x)

    def reference(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            shifted = x - _maximum(x, self.axes)
            return shifted - np.log(np.exp(shifted).sum(axis=self.axes, keepdims=True))  # type: ignore[no-any-return]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (ct,) = inputs, cotangents
        return [_less_share(ct, Softmax(self.axes)(x), self.axes)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (tx,) = inputs, tangents
        return [_beyond_mean(Softmax(self.axes)(x), tx, self.axes)]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        m, _, total = _weights(b, x, self.axes, is_shared_at_limits=False)

        def element(v: ScalarBuilder, x: Scalar, m: Scalar, total: Scalar) -> Scalar:
            return x - m - v.math("log", total)

        return b.map(element, x, m, total, dtype=x.dtype)  # type: ignore[no-any-return]


@frozen_dataclass
class LogSumExp(AxisOp):
    """y = log Σ exp(x) over axes; −inf for nothing or only −inf, inf if one is inf."""

    name: ClassVar[str] = "logsumexp"
    is_analytic: ClassVar[bool] = True
    axes: tuple[int, ...]

    def infer_type(self, x: TensorType) -> TensorType:
        return without_axes(_checked(x), self.axes)

    def reference(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            m = _maximum(x, self.axes)
            shift = np.where(np.isfinite(m), m, 0).astype(x.dtype)
            return np.asarray(
                np.log(np.exp(x - shift).sum(axis=self.axes)) + shift.reshape(np.squeeze(shift, self.axes).shape)
            )

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (ct,) = inputs, cotangents
        return [Softmax(self.axes, at_limits=True)(x) * reexpand(ct, self.axes, x.ndim)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (tx,) = inputs, tangents
        return [sum_over(Softmax(self.axes, at_limits=True)(x) * tx, axis=self.axes)]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        """Emit m + log Σ exp(x − m), with the weights of the softmax that is its derivative, so that both share
        them.
        """
        m, _, total = _weights(b, x, self.axes, is_shared_at_limits=True)
        kept = [axis for axis in range(len(x.extents)) if axis not in self.axes]

        def element(v: ScalarBuilder, total: Scalar, m: Scalar) -> Scalar:
            return v.math("log", total) + m

        return b.map(element, b.permute(total, kept), b.permute(m, kept), dtype=x.dtype)  # type: ignore[no-any-return]


def _as_float(x: Any) -> Variable:
    x = as_tensor(x)
    return cast(x, dtypes.float_of(x.dtype))


@coerced
def softmax(x: Any, axis: Axes = None) -> Variable:
    """exp(x) / Σ exp(x) over axes, None for all; safe for large x. A line of −inf gives nan.

    Raises: GraphValueError for an axis out of range or named twice. Source: shift by the maximum.
    """
    x = _as_float(x)
    return Softmax(normalise_axes(axis, x.ndim))(x)  # type: ignore[no-any-return]


@coerced
def log_softmax(x: Any, axis: Axes = None) -> Variable:
    """x − log Σ exp(x) over axes, None for all; exact for far apart x.

    Raises: GraphValueError for an axis out of range or named twice. Source: shift by the maximum.
    """
    x = _as_float(x)
    return LogSoftmax(normalise_axes(axis, x.ndim))(x)  # type: ignore[no-any-return]


@coerced
def logsumexp(x: Any, axis: Axes = None, keepdims: bool = False) -> Variable:
    """log Σ exp(x) over axes, safe for large x.   Derivatives: the softmax; 0 where all are −inf, shared among +inf.

    Raises: GraphValueError for an axis out of range or named twice. An empty axis gives −inf.
    Source: shift by the maximum; Blanchard, Higham & Higham (2021).
    """
    x = _as_float(x)
    axes = normalise_axes(axis, x.ndim)
    return finished(LogSumExp(axes)(x), axes, x, keepdims)
