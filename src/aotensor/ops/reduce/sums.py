"""sum, prod, mean, any, all: reductions over any axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, normalise_axes
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Op
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, Variables, as_tensor, constant
from aotensor.ops.batching import AxisOp
from aotensor.ops.create import full_like
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.linear import DiscreteOp, LinearOp
from aotensor.ops.reduce.cumulate import exclusive_products
from aotensor.ops.shape.axes import reexpand
from aotensor.ops.shape.extents import extents_of, product

Axes = int | Sequence[int] | None


def without_axes(x: TensorType, axes: Sequence[int], dtype: str | None = None) -> TensorType:
    """The type of the result of a reduction of x over `axes`."""
    kept = tuple(dim for axis, dim in enumerate(x.shape) if axis not in axes)
    return TensorType(dtype or x.dtype, kept)


def broadcast_back(reduced: Variable, axes: Sequence[int], x: Variable) -> Variable:
    """The result of a reduction of x over `axes`, broadcast to the extents of x."""
    return full_like(x, reexpand(reduced, axes, x.ndim), dtype=reduced.dtype)


def finished(reduced: Variable, axes: Sequence[int], x: Variable, keepdims: bool) -> Variable:
    """The result of a reduction, with the reduced axes kept as extent 1 if `keepdims`."""
    return reexpand(reduced, axes, x.ndim) if keepdims else reduced


@frozen_dataclass
class Sum(AxisOp, LinearOp):
    """y = Σ x over axes, accumulated in `acc_dtype`, given in `dtype`. An empty sum is 0."""

    name: ClassVar[str] = "sum"
    axes: tuple[int, ...]
    dtype: str
    acc_dtype: str

    def infer_type(self, x: TensorType) -> TensorType:
        return without_axes(x, self.axes, self.dtype)

    def reference(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.sum(x, axis=self.axes, dtype=self.acc_dtype)).astype(self.dtype)

    def continued(self, x: Any) -> Any:
        return np.sum(x, axis=self.axes)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        (x,) = inputs
        if dtypes.is_float(x.dtype):
            cotangent = cast(cotangent, x.dtype)
        return broadcast_back(cotangent, self.axes, x)

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        return b.cast(b.reduce("add", x, self.axes, dtype=self.acc_dtype), self.dtype)


@frozen_dataclass
class Prod(AxisOp):
    """y = Π x over axes, accumulated in `acc_dtype`, given in `dtype`. An empty product is 1.

    no_zeros_in_input: derivatives may divide by x.
    """

    name: ClassVar[str] = "prod"
    is_analytic: ClassVar[bool] = True
    axes: tuple[int, ...]
    dtype: str
    acc_dtype: str
    no_zeros_in_input: bool = False

    def infer_type(self, x: TensorType) -> TensorType:
        return without_axes(x, self.axes, self.dtype)

    def reference(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.prod(x, axis=self.axes, dtype=self.acc_dtype)).astype(self.dtype)

    def continued(self, x: Any) -> Any:
        return np.prod(x, axis=self.axes)

    def _derivatives(self, x: Variable, y: Variable) -> Variable:
        """∂y/∂x, of the shape of x: for each element the product of the others, without division by zero."""
        if self.no_zeros_in_input:
            return broadcast_back(y, self.axes, x) / x
        return exclusive_products(cast(x, self.dtype), self.axes)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (y,), (ct,) = inputs, outputs, cotangents
        return [broadcast_back(ct, self.axes, x) * self._derivatives(x, y)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (y,), (tx,) = inputs, outputs, tangents
        return [sum(tx * self._derivatives(x, y), axis=self.axes)]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        return b.cast(b.reduce("mul", x, self.axes, dtype=self.acc_dtype), self.dtype)


@frozen_dataclass
class Quantifier(AxisOp, DiscreteOp):
    """`any` or `all` of the elements of a bool x over axes; of no elements false or true, respectively."""

    kind: str
    axes: tuple[int, ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.kind

    def infer_type(self, x: TensorType) -> TensorType:
        return without_axes(x, self.axes, "bool")

    def reference(self, x: Array) -> Array:
        return np.asarray({"any": np.any, "all": np.all}[self.kind](x, axis=self.axes))

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        return b.reduce({"any": "or", "all": "and"}[self.kind], b.cast(x, "bool"), self.axes)


@public(numpy=("add.reduce", "sum"))
@coerced
def sum(
    x: Any,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike | None = None,
) -> Variable:
    """Σ x over axes.   Integers widen to 64 bits, bool counts in int64, float32 is accumulated in float64.

    Raises: GraphValueError for an axis out of range or named twice.
    """
    return _accumulated(Sum, as_tensor(x), axis, dtype, keepdims, acc_dtype)


@public(numpy=("multiply.reduce", "prod"))
@coerced
def prod(
    x: Any,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike | None = None,
    no_zeros_in_input: bool = False,
) -> Variable:
    """Π x over axes, with the dtypes of `sum`.   Derivatives of every order hold at zeros too.

    no_zeros_in_input: a promise that makes the derivatives cheaper.
    Raises: GraphValueError for an axis out of range or named twice.
    """
    make = partial(Prod, no_zeros_in_input=no_zeros_in_input)
    return _accumulated(make, as_tensor(x), axis, dtype, keepdims, acc_dtype)


def _accumulated(
    make: Callable[[tuple[int, ...], str, str], Op],
    x: Variable,
    axis: Axes,
    dtype: DTypeLike | None,
    keepdims: bool,
    acc_dtype: DTypeLike | None,
) -> Variable:
    """Call `make(axes, dtype, acc_dtype)` with the defaults of `sum` for dtypes, and apply keepdims."""
    axes = normalise_axes(axis, x.ndim)
    out = dtypes.sum_of(x.dtype) if dtype is None else dtypes.canonical(dtype)
    if not axes:
        return cast(x, out)
    acc = dtypes.accumulator_of(out) if acc_dtype is None else dtypes.canonical(acc_dtype)
    return finished(make(axes, out, acc)(x), axes, x, keepdims)


def count(x: Variable, axes: Sequence[int], dtype: str) -> Variable:
    """The number of elements that a reduction of x over `axes` combines, as a scalar of a float dtype."""
    extents = extents_of(x)
    number = product(extents[axis] for axis in axes)
    return constant(number, dtype=dtype) if isinstance(number, int) else cast(number, dtype)


@public(numpy="mean")
@coerced
def mean(
    x: Any,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike | None = None,
) -> Variable:
    """Σ x / n over axes: float64 for discrete x, else the dtype of x.

    acc_dtype: in which it is accumulated and divided, by default float64, of complex x complex128. The mean of nothing
    is nan.

    Raises: GraphValueError for an axis out of range or named twice, GraphTypeError for an acc_dtype of integers.
    """
    x = as_tensor(x)
    axes = normalise_axes(axis, x.ndim)
    out = dtypes.mean_of(x.dtype) if dtype is None else dtypes.canonical(dtype)
    wide = dtypes.canonical(acc_dtype or ("complex128" if dtypes.is_complex(out) else "float64"))
    if dtypes.is_discrete(wide):
        raise GraphTypeError(f"mean: acc_dtype must be a floating dtype, not {wide}")
    total = sum(x, axis=axes, dtype=wide, keepdims=keepdims, acc_dtype=acc_dtype)
    return cast(total / count(x, axes, "float32" if wide == "float32" else "float64"), out)


@public(numpy=("logical_or.reduce", "any"), method="any")
@coerced
def any(x: Any, axis: Axes = None, keepdims: bool = False) -> Variable:
    """Is any element along axes not zero? nan counts as true.   Raises: GraphValueError for a bad axis."""
    return _quantifier("any", as_tensor(x), axis, keepdims)


@public(numpy=("logical_and.reduce", "all"), method="all")
@coerced
def all(x: Any, axis: Axes = None, keepdims: bool = False) -> Variable:
    """Are all elements along axes not zero? nan counts as true.   Raises: GraphValueError for a bad axis."""
    return _quantifier("all", as_tensor(x), axis, keepdims)


def _quantifier(kind: str, x: Variable, axis: Axes, keepdims: bool) -> Variable:
    axes = normalise_axes(axis, x.ndim)
    if not axes:
        return cast(x, "bool")
    return finished(Quantifier(kind, axes)(x), axes, x, keepdims)
