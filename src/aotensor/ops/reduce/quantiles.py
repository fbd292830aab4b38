"""Order statistics: median, quantile, percentile, and the largest or smallest elements, topk."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from aotensor.core import dtypes
from aotensor.core.types import normalise_axes, normalise_axis
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.elementwise.arithmetic import maximum, minimum
from aotensor.ops.elementwise.compare import and_, cast, eq, floor, gt, isfinite, isinf, isnan, lt, or_, rint, switch
from aotensor.ops.index import subtensor
from aotensor.ops.random.parameter import nonempty, parameter
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.select import Leading, Ranked
from aotensor.ops.reduce.sort import argsort
from aotensor.ops.reduce.sums import Axes, finished
from aotensor.ops.reduce.sums import any as any_of
from aotensor.ops.shape.axes import expand_dims, moveaxis, transpose
from aotensor.ops.shape.extents import extent_of, extents_of, product
from aotensor.ops.shape.join import stack
from aotensor.ops.shape.rearrange import flip
from aotensor.ops.shape.reshape import ravel, reshape
from aotensor.ops.take import take, take_along_axis

Place: TypeAlias = Callable[[Variable, Variable], Variable]
"""(q, n) → the real position of a quantile among the ordered elements 0 … n − 1."""


def _hyndman(alpha: float, beta: float) -> Place:
    """A function (q, n) ↦ n·q + α + q·(1 − α − β) − 1: the position of a quantile. Source: Hyndman & Fan (1996)."""
    return lambda q, n: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _closest(q: Variable, n: Variable) -> Variable:
    """The position n·q − ½ of a quantile, rounded up; at ties rounded to an even number of elements."""
    place = n * q - 1.5
    whole = floor(place)
    is_down = and_(eq(place, whole), eq(whole - 2 * floor(whole / 2), 1))
    return whole + switch(is_down, 0, 1)


def _nearest(q: Variable, n: Variable) -> Variable:
    return rint((n - 1) * q)


_PLACES: Final[dict[str, Place]] = {
    "inverted_cdf": lambda q, n: -floor(-(n * q)) - 1,
    "averaged_inverted_cdf": lambda q, n: n * q - 1,
    "closest_observation": _closest,
    "interpolated_inverted_cdf": _hyndman(0, 1),
    "hazen": _hyndman(0.5, 0.5),
    "weibull": _hyndman(0, 0),
    "linear": lambda q, n: (n - 1) * q,
    "median_unbiased": _hyndman(1 / 3, 1 / 3),
    "normal_unbiased": _hyndman(3 / 8, 3 / 8),
    "lower": lambda q, n: floor((n - 1) * q),
    "higher": lambda q, n: -floor(-((n - 1) * q)),
    "midpoint": lambda q, n: (n - 1) * q,
    "nearest": _nearest,
}
"""Methods by their names in NumPy."""


@public(numpy="median")
@coerced
def median(x: Any, axis: Axes = None, keepdims: bool = False) -> Variable:
    """The middle element along axes, the mean of the two middle ones for an even number; nan if there is one.

    Raises: GraphValueError for an axis out of range or named twice, or an empty one (at run time if not known).
    """
    x = as_tensor(x)
    axes = normalise_axes(axis, x.ndim)
    lines = _lines(cast(nonempty("median", x, axes), dtypes.mean_of(x.dtype)), axes)
    n = as_tensor(extent_of(lines, -1))
    low, high = _at_ranks(lines, (n - 1) // 2, n // 2)
    middle = switch(any_of(isnan(lines), axis=-1), constant(math.nan, dtype=lines.dtype), (low + high) / 2)
    return finished(middle, axes, x, keepdims)


def _lines(x: Variable, axes: Sequence[int]) -> Variable:
    """x with all elements along some axes merged into the last axis."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    extents = extents_of(x)
    return reshape(transpose(x, [*kept, *axes]), [*(extents[k] for k in kept), product(extents[k] for k in axes)])


@public(numpy="quantile")
@coerced
def quantile(a: Any, q: Any, axis: Axes = None, method: str = "linear", keepdims: bool = False) -> Variable:
    """The quantile: a fraction q of the elements along axes is below it.   q: (…) → (…, remaining axes of a)

    method: interpolation between two elements, by NumPy's name: "linear", "lower", "higher", "nearest", "midpoint",
    "hazen", "weibull", "median_unbiased", "normal_unbiased", "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation", "interpolated_inverted_cdf". nan if there is one; of nothing an error.
    The gradient is that of the two weighted elements, ties by sorted position, and for q the slope on its right.

    Raises: GraphValueError for another method, an axis out of range or named twice, a q outside of [0, 1] or an empty
    axis (at run time where these are not known).
    """
    check_choice("quantile: method", method, _PLACES)
    return _quantile("quantile", as_tensor(a), q, 1, axis, method, keepdims)


@public(numpy="percentile")
@coerced
def percentile(a: Any, q: Any, axis: Axes = None, method: str = "linear", keepdims: bool = False) -> Variable:
    """`quantile` of q percent.   Raises: as `quantile`, for a q outside of [0, 100]."""
    check_choice("percentile: method", method, _PLACES)
    return _quantile("percentile", as_tensor(a), q, 100, axis, method, keepdims)


def _quantile(name: str, a: Variable, q: Any, whole: int, axis: Axes, method: str, keepdims: bool) -> Variable:
    axes = normalise_axes(axis, a.ndim)
    dtype = dtypes.mean_of(a.dtype)
    shares = parameter(f"{name}: q", q, "float64", low=0, high=whole) / whole
    lines = _lines(cast(nonempty(name, a, axes), dtype), axes)
    kept = lines.ndim - 1
    found = _interpolate(lines, shares, method)
    found = moveaxis(found, list(range(kept, found.ndim)), list(range(shares.ndim))) if shares.ndim else found
    return expand_dims(found, [shares.ndim + k for k in axes]) if keepdims and axes else found


def _interpolate(lines: Variable, shares: Variable, method: str) -> Variable:
    """Quantiles of the vectors along the last axis, at fractions `shares`.   (…, n), (shares,) → (…, shares)"""
    extent = extent_of(lines, -1)
    n = cast(as_tensor(extent), "float64")
    wanted = _PLACES[method](shares, n)
    place = minimum(maximum(wanted, 0), n - 1)
    below = floor(place)
    weight = place - below
    if method == "midpoint":
        weight = switch(gt(weight, 0), 0.5, 0.0)
    elif method == "averaged_inverted_cdf":
        weight = switch(lt(wanted, 0), 0.0, switch(gt(weight, 0), 1.0, 0.5))
    low = cast(below, "int64")
    high = minimum(low + 1, extent - 1)
    first, second = _at_ranks(lines, low, high)
    weight = cast(weight, lines.dtype)
    is_alone = or_(or_(eq(weight, 0), eq(first, second)), and_(isinf(first), isfinite(second)))  # no inf − inf, 0·inf
    found = first + weight * switch(is_alone, 0, second - first)
    has_nan = any_of(isnan(lines), axis=-1)
    is_nan = expand_dims(has_nan, list(range(has_nan.ndim, found.ndim))) if shares.ndim else has_nan
    return switch(is_nan, constant(math.nan, dtype=lines.dtype), found)


def _at_ranks(lines: Variable, low: Variable, high: Variable) -> tuple[Variable, Variable]:
    """Elements of the vectors along the last axis at two tensors of ranks.   (…, n), (ranks,) → (…, ranks) twice"""
    pairs = stack([low, high], axis=-1)  # neighbours follow each other: the second is found fast
    places = Ranked()(lines, take(arange(extent_of(lines, -1)), ravel(pairs)))
    found = reshape(take_along_axis(lines, places), [*extents_of(lines)[:-1], *extents_of(pairs)])
    return subtensor(found, (..., 0)), subtensor(found, (..., 1))


# --- the largest few -------------------------------------------------------------------------------------------------


@coerced
def topk(x: Any, kth: int, axis: int | None = -1, sorted: bool = True) -> Variable:
    """The `kth` largest elements along an axis, the largest first; for a negative kth the |kth| smallest ones,
    the smallest first. nan counts as larger than all else. Derivatives go to the elements; ties by position.

    axis: None for all elements. sorted: they are in any case.

    Raises: GraphValueError for a kth of 0 or beyond the extent (at run time where that is not known), or an axis out
    of range.
    """
    return _top("topk", x, kth, axis)[0]


@coerced
def argtopk(x: Any, kth: int, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64") -> Variable:
    """The positions along the axis of the elements of `topk`. No gradient.   Raises: as `topk`; GraphTypeError."""
    return _as_index(_top("argtopk", x, kth, axis)[1], idx_dtype)


@coerced
def topk_and_argtopk(
    x: Any, kth: int, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64"
) -> list[Variable]:
    """[topk, argtopk]   Raises: as `topk`."""
    values, places = _top("topk_and_argtopk", x, kth, axis)
    return [values, _as_index(places, idx_dtype)]


def _as_index(places: Variable, dtype: str) -> Variable:
    if dtype not in dtypes.INTEGERS:
        raise GraphTypeError(f"positions are integers: idx_dtype cannot be {dtype!r}")
    return cast(places, dtype)


def _top(name: str, x: Any, kth: int, axis: int | None) -> tuple[Variable, Variable]:
    x = as_tensor(x)
    x, axis = (ravel(x), 0) if axis is None else (x, normalise_axis(axis, x.ndim))
    extent = x.static_shape[axis]
    count = abs(kth)
    if kth == 0 or (extent is not None and count > extent):
        of = "some" if extent is None else f"{extent}"
        raise GraphValueError(f"{name}: kth is {kth}, but axis {axis} has {of} elements", lines=[x.describe()])
    lines = moveaxis(x, axis, -1)
    places = Leading(count, kth > 0)(lines)
    if count > 1:
        order = argsort(take_along_axis(lines, places))
        places = take_along_axis(places, flip(order, -1) if kth > 0 else order)
    places = moveaxis(places, -1, axis)
    return take_along_axis(x, places, axis), places
