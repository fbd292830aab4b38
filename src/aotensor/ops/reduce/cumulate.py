"""Running sums and products along one axis, forwards or backwards, and exclusive products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import DTypeLike

from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, normalise_axis
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.batching import AxisOp
from aotensor.ops.elementwise.compare import cast, neq
from aotensor.ops.linear import LinearisedOp, LinearOp
from aotensor.ops.reduce.recurrence import LinearRecurrence, Shift
from aotensor.ops.shape.axes import transpose
from aotensor.ops.shape.extents import extents_of, product
from aotensor.ops.shape.reshape import ravel, reshape


def _shifted(b: TensorBuilder, x: Tensor, axis: int, is_back: bool) -> Tensor:
    """Emit x shifted by one along the axis, with a leading 1, or back, with a trailing 1."""

    def element(v: ScalarBuilder, *at: Scalar) -> Scalar:
        last = x.extents[axis] - 1
        source = v.imin(at[axis] + 1, last) if is_back else v.imax(at[axis] - 1, 0)
        value = v.load(x, *at[:axis], source, *at[axis + 1 :])
        is_end = v.compare("eq", at[axis], v.index(last if is_back else 0))
        return v.select(is_end, v.constant(1, x.dtype), value)

    return b.tabulate(x.extents, x.dtype, element)


@frozen_dataclass
class CumSum(AxisOp, LinearOp):
    """y[k] = Σ x[i] over i ≤ k along an axis, or over i ≥ k if reverse; computed and given in `dtype`."""

    name: ClassVar[str] = "cumsum"
    axis: int
    dtype: str
    reverse: bool = False

    def infer_type(self, x: TensorType) -> TensorType:
        normalise_axis(self.axis, x.rank)
        return x.with_dtype(self.dtype)

    def reference(self, x: Array) -> Array:
        return self._sums(x, self.dtype)

    def continued(self, x: Any) -> Any:
        return self._sums(x, "complex128")

    def _sums(self, x: Array, dtype: str) -> Array:
        with np.errstate(all="ignore"):
            if self.reverse:
                return np.flip(np.cumsum(np.flip(x, self.axis), self.axis, dtype=dtype), self.axis)
            return np.cumsum(x, self.axis, dtype=dtype)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return CumSum(self.axis, cotangent.dtype, not self.reverse)(cotangent)  # type: ignore[no-any-return]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        return b.cumulate("add", b.cast(x, self.dtype), self.axis, self.reverse)


@frozen_dataclass
class CumProd(AxisOp, LinearisedOp):
    """y[k] = Π x[i] over i ≤ k along an axis (i < k if exclusive; i ≥ k, i > k if reverse), in `dtype`.

    Derivatives never divide, so they hold at zeros; they take as many steps as the product.
    """

    name: ClassVar[str] = "cumprod"
    is_analytic: ClassVar[bool] = True
    axis: int
    dtype: str
    exclusive: bool = False
    reverse: bool = False

    def infer_type(self, x: TensorType) -> TensorType:
        normalise_axis(self.axis, x.rank)
        return x.with_dtype(self.dtype)

    def reference(self, x: Array) -> Array:
        return self._products(x, self.dtype)

    def continued(self, x: Any) -> Any:
        return self._products(x, "complex128")

    def _products(self, x: Array, dtype: str) -> Array:
        line = np.moveaxis(x, self.axis, -1)
        line = line[..., ::-1] if self.reverse else line
        if self.exclusive:
            line = np.concatenate([np.ones_like(line[..., :1]), line[..., :-1]], -1)
        with np.errstate(all="ignore"):
            result = np.cumprod(line, -1, dtype=dtype)
        return np.moveaxis(result[..., ::-1] if self.reverse else result, -1, self.axis)

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        """The tangent by a linear recurrence: ẏ[k] = x[k]·ẏ[k − 1] + ẋ[k]·Π_{i<k} x[i]."""
        factors = cast(inputs[0], self.dtype)
        terms = cast(tangents[0], self.dtype) * replace(self, exclusive=True)(factors)
        change = LinearRecurrence(self.axis, self.reverse)(factors, terms)
        return [Shift(self.axis, self.reverse)(change) if self.exclusive else change]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        result = b.cumulate("mul", b.cast(x, self.dtype), self.axis, self.reverse)
        return _shifted(b, result, self.axis, self.reverse) if self.exclusive else result


def exclusive_products(x: Variable, axes: Sequence[int]) -> Variable:
    """For every element of x the product of all others along `axes`, without division, so it is right at zeros."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    order = [*kept, *axes]
    permuted = transpose(x, order)
    extents = extents_of(permuted)
    lines = reshape(permuted, [*extents[: len(kept)], product(extents[len(kept) :])])
    before = CumProd(len(kept), x.dtype, exclusive=True)(lines)
    after = CumProd(len(kept), x.dtype, exclusive=True, reverse=True)(lines)
    return transpose(reshape(before * after, extents), [order.index(axis) for axis in range(x.ndim)])


@public(numpy=("add.accumulate", "cumsum"), method="cumsum")
@coerced
def cumsum(x: Any, axis: int | None = None, dtype: DTypeLike | None = None) -> Variable:
    """Running sum along an axis; None flattens first. Integers widen to 64 bits, as in `sum`.

    Raises: GraphValueError for an axis out of range.
    """
    line, along, out = _prepared(x, axis, dtype)
    return CumSum(along, out)(line)  # type: ignore[no-any-return]


@public(numpy=("multiply.accumulate", "cumprod"), method="cumprod")
@coerced
def cumprod(x: Any, axis: int | None = None, dtype: DTypeLike | None = None) -> Variable:
    """Running product along an axis; None flattens first. Integers widen to 64 bits, as in `prod`.

    Derivatives of every order hold at zeros too.
    Raises: GraphValueError for an axis out of range.
    """
    line, along, out = _prepared(x, axis, dtype)
    return CumProd(along, out)(line)  # type: ignore[no-any-return]


def _prepared(x: Any, axis: int | None, dtype: DTypeLike | None) -> tuple[Variable, int, str]:
    x = as_tensor(x)
    out = dtypes.sum_of(x.dtype) if dtype is None else dtypes.canonical(dtype)
    if axis is None:
        return ravel(x), 0, out
    return x, normalise_axis(axis, x.ndim), out


HIGHEST_DIFFERENCE: Final = 1000
"""Highest order: each is a subtraction in the graph; beyond, binomial coefficients exceed the range of float64."""


@public(numpy="diff")
@coerced
def diff(x: Any, n: int = 1, axis: int = -1) -> Variable:
    """x[1:] − x[:−1] along an axis, n times; of booleans whether neighbours differ.

    Raises: GraphValueError for an n that is negative or above HIGHEST_DIFFERENCE, or an axis out of range.
    """
    x = as_tensor(x)
    if not 0 <= n <= HIGHEST_DIFFERENCE:
        raise GraphValueError(f"diff: order {n} is {'negative' if n < 0 else f'above {HIGHEST_DIFFERENCE}'}")
    before = (slice(None),) * normalise_axis(axis, x.ndim)
    for _ in range(n):
        later, earlier = x[(*before, slice(1, None))], x[(*before, slice(None, -1))]
        x = neq(later, earlier) if x.dtype == "bool" else later - earlier
    return x  # type: ignore[no-any-return]
