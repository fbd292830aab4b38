"""Running sums and products along one axis, forwards or backwards, and exclusive products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarVerbs, Tensor, TensorBuilder
from aotensor.core.types import Array, TensorType, normalise_axis
from aotensor.errors import GraphValueError
from aotensor.graph.op import is_disconnected
from aotensor.graph.public import lookup, public
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.batching import AxisOp, TrailingOp
from aotensor.ops.elementwise.compare import cast, neq, switch
from aotensor.ops.linear import ConstantOp, LinearOp, zero_gradient
from aotensor.ops.shape.axes import expand_dims, moveaxis, transpose
from aotensor.ops.shape.extents import extents_of, product, ravel, reshape


def _reversed(b: TensorBuilder, x: Tensor, axis: int) -> Tensor:
    def element(v: ScalarVerbs, *at: Scalar) -> Scalar:
        mirrored = v.isub(v.isub(x.extents[axis], 1), at[axis])
        return v.load(x, *at[:axis], mirrored, *at[axis + 1 :])

    return b.tabulate(x.extents, x.dtype, element)


def _shifted(b: TensorBuilder, x: Tensor, axis: int) -> Tensor:
    """x moved by one along the axis, with a 1 in front."""

    def element(v: ScalarVerbs, *at: Scalar) -> Scalar:
        before = v.imax(v.isub(at[axis], 1), 0)
        value = v.load(x, *at[:axis], before, *at[axis + 1 :])
        return v.select(v.compare("eq", at[axis], v.index(0)), v.constant(1, x.dtype), value)

    return b.tabulate(x.extents, x.dtype, element)


@dataclass(frozen=True)
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
        source = _reversed(b, x, self.axis) if self.reverse else x
        result = b.cumulate("add", b.cast(source, self.dtype), self.axis)
        return _reversed(b, result, self.axis) if self.reverse else result


@dataclass(frozen=True)
class CumProd(AxisOp):
    """y[k] = Π x[i] over i ≤ k along an axis (i < k if exclusive; i ≥ k, i > k if reverse), in `dtype`.

    Derivatives never divide, so they hold at zeros; they take n² products per line of n elements.
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

    def _others(self, x: Variable) -> Variable:
        """J[…, j, k] = ∂y[k]/∂x[j] along the last axis: the product of the factors of y[k] other than x[j]."""
        predicate = {(False, False): "le", (True, False): "lt", (False, True): "ge", (True, True): "gt"}
        rows = expand_dims(x, -2)
        without_own = switch(PairMask("eq")(x), constant(1, dtype=x.dtype), rows)
        products = CumProd(x.ndim, x.dtype, self.exclusive, self.reverse)(without_own)
        is_factor = PairMask(predicate[self.exclusive, self.reverse])(x)
        return switch(is_factor, products, constant(0, dtype=x.dtype))

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        (x,), (y,), (ct,) = inputs, outputs, cotangents
        if dtypes.is_discrete(y.dtype):
            return [zero_gradient(x)]
        line = moveaxis(cast(x, self.dtype), self.axis, -1)
        term = lookup("sum")(self._others(line) * expand_dims(moveaxis(ct, self.axis, -1), -2), axis=-1)
        return [moveaxis(term, -1, self.axis)]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        (x,), (y,), (tx,) = inputs, outputs, tangents
        if is_disconnected(tx):
            return [tx]
        if dtypes.is_discrete(y.dtype):
            return [zero_gradient(y)]
        line = moveaxis(cast(x, self.dtype), self.axis, -1)
        change = lookup("sum")(self._others(line) * expand_dims(moveaxis(tx, self.axis, -1), -1), axis=-2)
        return [moveaxis(change, -1, self.axis)]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        source = _reversed(b, x, self.axis) if self.reverse else x
        result = b.cumulate("mul", b.cast(source, self.dtype), self.axis)
        result = _shifted(b, result, self.axis) if self.exclusive else result
        return _reversed(b, result, self.axis) if self.reverse else result


@dataclass(frozen=True)
class PairMask(TrailingOp, ConstantOp):
    """m[j, k] = (j predicate k) for positions along the last axis of x.   x: (…, n) → bool (n, n)"""

    name: ClassVar[str] = "pair_mask"
    predicate: str

    def infer_type(self, x: TensorType) -> TensorType:
        return TensorType("bool", (x.shape[-1], x.shape[-1]))

    def reference(self, x: Array) -> Array:
        compare = {"eq": np.equal, "le": np.less_equal, "lt": np.less, "ge": np.greater_equal, "gt": np.greater}
        position = np.arange(x.shape[-1])
        return np.asarray(compare[self.predicate](position[:, None], position))

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        extents = (x.extents[-1], x.extents[-1])
        return b.tabulate(extents, "bool", lambda v, j, k: v.compare(self.predicate, j, k))


def exclusive_products(x: Variable, axes: Sequence[int]) -> Variable:
    """For every element of x the product of all others along `axes`. Divides by nothing: right at zeros too."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    order = [*kept, *axes]
    permuted = transpose(x, order)
    extents = extents_of(permuted)
    lines = reshape(permuted, [*extents[: len(kept)], product(extents[len(kept) :])])
    before = CumProd(len(kept), x.dtype, exclusive=True)(lines)
    after = CumProd(len(kept), x.dtype, exclusive=True, reverse=True)(lines)
    return transpose(reshape(before * after, extents), [order.index(axis) for axis in range(x.ndim)])


@public
def cumsum(x: Any, axis: int | None = None, dtype: DTypeLike | None = None) -> Variable:
    """Running sum along an axis; None flattens first. Integers widen to 64 bits, as in `sum`.

    Raises: GraphValueError for an axis out of range.
    """
    line, along, out = _prepared(x, axis, dtype)
    return CumSum(along, out)(line)  # type: ignore[no-any-return]


@public
def cumprod(x: Any, axis: int | None = None, dtype: DTypeLike | None = None) -> Variable:
    """Running product along an axis; None flattens first. Integers widen to 64 bits, as in `prod`.

    Derivatives hold at zeros too; they take n² products for n elements along the axis.
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


@public
def diff(x: Any, n: int = 1, axis: int = -1) -> Variable:
    """x[1:] − x[:−1] along an axis, n times; of booleans whether neighbours differ.

    Raises: GraphValueError for a negative n or an axis out of range.
    """
    x = as_tensor(x)
    if n < 0:
        raise GraphValueError(f"diff: order {n} is negative")
    before = (slice(None),) * normalise_axis(axis, x.ndim)
    for _ in range(n):
        later, earlier = x[(*before, slice(1, None))], x[(*before, slice(None, -1))]
        x = neq(later, earlier) if x.dtype == "bool" else later - earlier
    return x  # type: ignore[no-any-return]
