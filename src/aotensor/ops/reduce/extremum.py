"""max, min, argmax, argmin: the largest and smallest elements, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, normalise_axes, normalise_axis
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.batching import AxisOp
from aotensor.ops.elementwise.compare import switch
from aotensor.ops.linear import ConstantOp, DiscreteOp
from aotensor.ops.reduce.sums import Axes, finished, without_axes
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import reexpand, transpose
from aotensor.ops.shape.extents import extents_of, product
from aotensor.ops.shape.reshape import reshape

_REDUCTION: Final = {"max": "maximum", "min": "minimum", "argmax": "maximum", "argmin": "minimum"}
_BOOL_KIND: Final = {"max": "or", "min": "and"}


def _empty(kind: str, axis: int) -> str:
    return f"{kind}: axis {axis} is empty"


def _check_static(kind: str, axes: Sequence[int], x: TensorType) -> None:
    for axis in axes:
        if x.shape[axis] == 0:
            raise GraphValueError(_empty(kind, axis))


def _check_extents(kind: str, axes: Sequence[int], x: Array) -> None:
    for axis in axes:
        if x.shape[axis] == 0:
            raise GraphValueError(_empty(kind, axis))


def _lower_check(b: TensorBuilder, kind: str, axes: Sequence[int], x: Tensor) -> None:
    v = b.scalars
    for axis in axes:
        if not isinstance(x.extents[axis], int):
            b.check(v.compare("ne", x.extents[axis], v.index(0)), _empty(kind, axis))


@frozen_dataclass
class Extremum(AxisOp):
    """The largest or smallest element over axes; nan if there is one.

    of_nothing: of an empty axis, return the least number of the dtype for max (−inf), the largest for min, instead of
    an error. Derivatives: every tied element gets the full cotangent; a nan result sends it to the first nan.
    """

    kind: str
    axes: tuple[int, ...]
    of_nothing: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.kind

    def infer_type(self, x: TensorType) -> TensorType:
        if not self.of_nothing:
            _check_static(self.kind, self.axes, x)
        return without_axes(x, self.axes)

    def reference(self, x: Array) -> Array:
        function = {"max": np.max, "min": np.min}[self.kind]
        if self.of_nothing:
            neutral = dtypes.neutral_element(_REDUCTION[self.kind], str(x.dtype))
            return np.asarray(function(x, axis=self.axes, initial=neutral))
        _check_extents(self.kind, self.axes, x)
        return np.asarray(function(x, axis=self.axes))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (y,), (ct,) = inputs, outputs, cotangents
        return [switch(ExtremumMask(self.axes)(x, y), reexpand(ct, self.axes, x.ndim), 0)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (y,), (tx,) = inputs, outputs, tangents
        return [sum_over(switch(ExtremumMask(self.axes)(x, y), tx, 0), axis=self.axes)]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        if not self.of_nothing:
            _lower_check(b, self.kind, self.axes, x)
        return b.reduce((_BOOL_KIND if x.dtype == "bool" else _REDUCTION)[self.kind], x, self.axes)


@frozen_dataclass
class ExtremumMask(AxisOp, DiscreteOp):
    """Which elements of x carry the derivative of its extremum y over `axes`: those equal to it, or the first nan."""

    name: ClassVar[str] = "extremum_mask"
    notation: ClassVar[str] = "eq"
    axes: tuple[int, ...]

    def infer_type(self, x: TensorType, y: TensorType) -> TensorType:
        return x.with_dtype("bool")

    def reference(self, x: Array, y: Array) -> Array:
        is_nan = np.isnan(x)
        order = [axis for axis in range(x.ndim) if axis not in self.axes] + list(self.axes)
        lines = is_nan.transpose(order).reshape(*y.shape, -1) if x.size else is_nan
        is_first = lines & (np.cumsum(lines, -1) == 1)
        is_first = is_first.reshape([x.shape[axis] for axis in order]).transpose(np.argsort(order)) if x.size else lines
        return np.asarray((x == np.expand_dims(y, self.axes)) | is_first)

    def lower(self, b: TensorBuilder, x: Tensor, y: Tensor) -> Tensor:
        rank = len(x.extents)
        position = b.tabulate(x.extents, "int64", lambda v, *at: self._position(v, x.extents, at))
        last = np.iinfo(np.int64).max

        def if_nan(v: ScalarBuilder, element: Scalar, at: Scalar) -> Scalar:
            return v.select(v.is_nan(element), at, v.constant(last, "int64"))

        def belongs(v: ScalarBuilder, element: Scalar, best: Scalar, at: Scalar, first: Scalar) -> Scalar:
            return v.select(v.is_nan(element), v.compare("eq", at, first), v.compare("eq", element, best))

        first_nan = b.reduce("minimum", b.map(if_nan, x, position, dtype="int64"), self.axes)
        best, first = (self._expanded(b, value, rank) for value in (y, first_nan))
        return b.map(belongs, x, best, position, first, dtype="bool")  # type: ignore[no-any-return]

    def _position(self, v: ScalarBuilder, extents: Sequence[Extent], at: Sequence[Scalar]) -> Scalar:
        """The C-order number of an element among the elements that are reduced together."""
        position: Extent = 0
        for axis in self.axes:
            position = position * extents[axis] + at[axis]
        return v.cast(v.index(position), "int64")

    def _expanded(self, b: TensorBuilder, y: Tensor, rank: int) -> Tensor:
        kept = iter(range(len(y.extents)))
        return b.permute(y, [None if axis in self.axes else next(kept) for axis in range(rank)])


@frozen_dataclass
class ArgExtremum(AxisOp, ConstantOp):
    """int64 position of the first extremum along an axis, the first nan if there is one. It has no gradient."""

    kind: str
    axis: int

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.kind

    def infer_type(self, x: TensorType) -> TensorType:
        _check_static(self.kind, [self.axis], x)
        return without_axes(x, [self.axis], "int64")

    def reference(self, x: Array) -> Array:
        _check_extents(self.kind, [self.axis], x)
        return np.asarray({"argmax": np.argmax, "argmin": np.argmin}[self.kind](x, axis=self.axis))

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        _lower_check(b, self.kind, [self.axis], x)
        comparable = b.cast(x, "int8") if x.dtype == "bool" else x
        return b.arg_reduce(_REDUCTION[self.kind], comparable, self.axis)[1]


@public(numpy=("maximum.reduce", "amax", "max"), method="max")
@coerced
def max(x: Any, axis: Axes = None, keepdims: bool = False) -> Variable:
    """The largest element over axes; nan if there is one. Ties all get the full derivative.

    Raises: GraphValueError for an axis out of range or named twice, or for an empty one (at run time where it is not
    known). Of an array that is empty for another axis the maximum is empty.
    """
    return _extremum("max", as_tensor(x), axis, keepdims)


@public(numpy=("minimum.reduce", "amin", "min"), method="min")
@coerced
def min(x: Any, axis: Axes = None, keepdims: bool = False) -> Variable:
    """The smallest element over axes; else as max."""
    return _extremum("min", as_tensor(x), axis, keepdims)


def max_or_limit(x: Any, axis: Axes = None, keepdims: bool = False) -> Variable:
    """The largest element over axes, as max; of none −inf, or the least number of the dtype. For importers."""
    return _extremum("max", as_tensor(x), axis, keepdims, of_nothing=True)


def min_or_limit(x: Any, axis: Axes = None, keepdims: bool = False) -> Variable:
    """The smallest element over axes, as min; of none inf, or the largest number of the dtype. For importers."""
    return _extremum("min", as_tensor(x), axis, keepdims, of_nothing=True)


def _extremum(kind: str, x: Variable, axis: Axes, keepdims: bool, of_nothing: bool = False) -> Variable:
    axes = normalise_axes(axis, x.ndim)
    return finished(Extremum(kind, axes, of_nothing)(x), axes, x, keepdims) if axes else x


@public(numpy="argmax", method="argmax")
@coerced
def argmax(x: Any, axis: Axes = None, keepdims: bool = False) -> Variable:
    """int64 position of the first maximum, or of the first nan, along axes, which count as one in C order.

    Raises: as max.
    """
    return _arg_extremum("argmax", as_tensor(x), axis, keepdims)


@public(numpy="argmin", method="argmin")
@coerced
def argmin(x: Any, axis: Axes = None, keepdims: bool = False) -> Variable:
    """int64 position of the first minimum, or of the first nan; else as argmax."""
    return _arg_extremum("argmin", as_tensor(x), axis, keepdims)


def _arg_extremum(kind: str, x: Variable, axis: Axes, keepdims: bool) -> Variable:
    axes = normalise_axes(axis, x.ndim)
    if len(axes) == 1:
        return finished(ArgExtremum(kind, axes[0])(x), axes, x, keepdims)
    _check_static(kind, axes, x.tensor_type)
    order = [axis for axis in range(x.ndim) if axis not in axes] + list(axes)
    extents = extents_of(transpose(x, order))
    kept = x.ndim - len(axes)
    lines = reshape(transpose(x, order), [*extents[:kept], product(extents[kept:])])
    return finished(ArgExtremum(kind, normalise_axis(-1, lines.ndim))(lines), axes, x, keepdims)


@coerced
def max_and_argmax(x: Any, axis: Axes = None, keepdims: bool = False) -> tuple[Variable, Variable]:
    """(max, argmax) along the same axes."""
    return max(x, axis, keepdims), argmax(x, axis, keepdims)


@public(numpy="ptp", method="ptp")
@coerced
def ptp(x: Any, axis: Axes = None, keepdims: bool = False) -> Variable:
    """Maximum minus minimum over axes."""
    return max(x, axis, keepdims) - min(x, axis, keepdims)
