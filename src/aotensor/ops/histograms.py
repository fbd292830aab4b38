"""Occurrence counts of values, and piecewise linear interpolation: bincount, histogram, interp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aotensor.core import dtypes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Constant, Variable, as_tensor, constant
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.arithmetic import maximum, minimum, mod, second
from aotensor.ops.elementwise.compare import (
    and_,
    cast,
    clip,
    eq,
    ge,
    gt,
    invert,
    isfinite,
    isinf,
    isnan,
    le,
    lt,
    or_,
    switch,
)
from aotensor.ops.grids import linspace
from aotensor.ops.index import subtensor
from aotensor.ops.random.parameter import Ascending, finite, nonempty, parameter
from aotensor.ops.reduce.cumulate import diff
from aotensor.ops.reduce.extremum import max as max_over
from aotensor.ops.reduce.extremum import min as min_over
from aotensor.ops.reduce.sort import argsort
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.search import searchsorted
from aotensor.ops.shape.extents import as_extent, extent_of
from aotensor.ops.shape.join import join
from aotensor.ops.shape.reshape import ravel
from aotensor.ops.take import take
from aotensor.ops.updates import inc_subtensor


@public(numpy="bincount")
@coerced
def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Variable:
    """y[k] = how often k occurs in the vector x, or the sum of the weights there.   → (max(max x + 1, minlength),)

    x: integers, none negative; int64 counts, or float64 sums of weights. minlength: an int or an integer scalar.
    The derivative of a weight is that of its sum, z̄[x].

    Raises: GraphTypeError for anything but a vector of integers, GraphValueError for weights of another rank, or at run
    time of another length, or for a negative element of x or minlength.
    """
    x = _vector("bincount: x", x)
    if x.dtype not in (*dtypes.INTEGERS, "bool") or x.dtype == "uint64":
        raise GraphTypeError(f"bincount: x must hold integers, not {x.dtype}", lines=[x.describe()])
    least = as_extent(minlength, "bincount: minlength")
    if isinstance(least, int) and least < 0:
        raise GraphValueError(f"bincount: minlength is {least}, a negative number of bins")
    x = parameter("bincount: x", cast(x, "int64"), "int64", low=0)
    smallest = parameter("bincount: minlength", least, "int64", low=0) - 1
    length = max_over(join(0, x, maximum(smallest, -1)[None])) + 1
    if weights is None:
        return _sum_by_bin(x, constant(1, dtype="int64"), length)
    return _sum_by_bin(x, cast(_vector("bincount: weights", weights), "float64"), length)


def _sum_by_bin(places: Variable, values: Variable, length: Any) -> Variable:
    """A vector with `length` bins: the sum of the values for which `places` names the bin."""
    return inc_subtensor(subtensor(zeros((length,), values.dtype), places), values)


def _vector(what: str, x: Any) -> Variable:
    x = as_tensor(x)
    if x.ndim != 1:
        raise GraphTypeError(f"{what} must be a vector, not {x.type}", lines=[x.describe()])
    return x  # type: ignore[no-any-return]


# --- histograms ------------------------------------------------------------------------------------------------------


@public(numpy="histogram")
@coerced
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[Variable, Variable]:
    """(counts, edges): the number of elements of a in each interval between edges; the last one is closed.

    bins: a number of equal intervals, or the edges, an ascending vector. range: (low, high) of equal ones, by default
    from the smallest to the largest element. weights: of the elements, summed instead of counted (their dtype).
    density: divide by the number and by the width, so that the integral is 1. Elements outside, and nan, do not
    count. Weights have derivatives, and so have the edges with density.

    Raises: GraphTypeError for bins or a range of another kind, GraphValueError for a number of bins below 1, a range
    or edges that do not ascend, a range that is not finite, be it that of a, or weights of another shape: at run time
    where it is not known.
    """
    a = as_tensor(a)
    values = ravel(a)
    amounts = constant(1, dtype="int64") if weights is None else ravel(_like(a, as_tensor(weights)))
    if amounts.dtype == "bool":
        amounts = cast(amounts, "int64")
    if isinstance(bins, str):
        raise GraphTypeError(f"histogram: bins must be a number or a vector of edges, not {bins!r}")
    number = as_tensor(bins)
    if number.ndim == 0:
        several = as_extent(number, "histogram: bins")
        if isinstance(several, Variable):
            several = parameter("histogram: bins", several, "int64", low=1)
        edges, places, count = _equal_bins(values, several, range)
    else:
        edges = _vector("histogram: bins", bins)
        in_order = Ascending("histogram: bins are edges")
        if isinstance(edges, Constant) and not in_order.is_good(edges.data):
            raise GraphValueError(in_order.message, lines=[edges.describe()])
        edges = edges if isinstance(edges, Constant) else in_order(edges)
        count = extent_of(edges, 0) - 1
        behind = searchsorted(edges, values, side="right") - 1
        is_last = eq(values, subtensor(edges, -1))
        places = switch(is_last, count - 1, switch(or_(lt(behind, 0), isnan(values)), count, behind))
    counts = subtensor(_sum_by_bin(places, amounts, count + 1), slice(None, count))
    if not density:
        return counts, edges
    return counts / diff(edges) / sum_over(counts), edges


def _like(a: Variable, weights: Variable) -> Variable:
    """`weights` after a check that they have the shape of `a`, at run time for unknown extents."""
    pairs = zip(a.static_shape, weights.static_shape, strict=False)
    if weights.ndim != a.ndim or any(m != n and isinstance(m, int) and isinstance(n, int) for m, n in pairs):
        raise GraphValueError(f"histogram: weights are {weights.type}, and a is {a.type}: the shapes differ")
    return second(a, weights)


def _equal_bins(values: Variable, count: Any, range: Any) -> tuple[Variable, Variable, Any]:
    """(edges, number of the bin of each value, with `count` for values outside, count) for bins of equal width."""
    if isinstance(count, int) and count < 1:
        raise GraphValueError(f"histogram: bins must be at least 1, found {count}")
    dtype = dtypes.mean_of(values.dtype)
    low, high = _range_of(values, range, dtype)
    step = (high - low) / cast(as_tensor(count), dtype)

    def edge(k: Variable) -> Variable:
        """Edge k of the bins, computed as by `linspace`."""
        return switch(eq(k, count), high, cast(k, dtype) * step + low)

    x = cast(values, dtype)
    guess = clip(cast((x - low) / step, "int64"), 0, count - 1)
    guess = guess - cast(lt(x, edge(guess)), "int64")
    guess = guess + cast(and_(ge(x, edge(guess + 1)), lt(guess, count - 1)), "int64")
    is_inside = and_(ge(x, low), le(x, high))
    return linspace(low, high, count + 1), switch(is_inside, clip(guess, 0, count - 1), count), count


def _range_of(values: Variable, range: Any, dtype: str) -> tuple[Variable, Variable]:
    """(low, high): the given range, or the extrema; (v − ½, v + ½) where all values are v, (0, 1) without values."""
    if range is not None:
        if not isinstance(range, Sequence) or len(range) != 2:
            raise GraphTypeError(f"histogram: range must be a pair (low, high), not {range!r:.60}")
        low, high = (cast(as_tensor(end), dtype) for end in range)
        if isinstance(range[0], int | float) and isinstance(range[1], int | float):
            if not range[0] <= range[1]:
                raise GraphValueError(
                    f"histogram: range must be (low, high) with low <= high, found ({range[0]}, {range[1]})"
                )
            if not np.isfinite(range).all():
                raise GraphValueError(f"histogram: range must be two finite numbers, found ({range[0]}, {range[1]})")
    else:
        x = cast(values, dtype)
        largest = constant(np.inf, dtype=dtype)
        ends = [min_over(join(0, x, largest[None])), max_over(join(0, x, (-largest)[None]))]
        is_none = eq(extent_of(values, 0), 0) if isinstance(extent_of(values, 0), Variable) else None
        if is_none is not None:
            ends = [switch(is_none, end, found) for end, found in zip((0.0, 1.0), ends, strict=True)]
        elif extent_of(values, 0) == 0:
            ends = [constant(0.0, dtype=dtype), constant(1.0, dtype=dtype)]
        low, high = ends
    low, high = (finite("histogram: the range", end) for end in (low, high))
    is_one = eq(low, high)
    return low - switch(is_one, 0.5, 0.0), high + switch(is_one, 0.5, 0.0)


# --- lines through points --------------------------------------------------------------------------------------------


@public(numpy="interp")
@coerced
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Variable:
    """The piecewise linear function through the points (xp, fp), at x.   xp, fp: (n,) → the shape of x, floating

    xp is ascending; otherwise the result is on one of the lines. left, right: values before the first and after
    the last point, by default fp there. period: of xp, which then is sorted. Infinite points are as in NumPy.
    x (with the slope on the right of a point), xp and fp have derivatives.

    Raises: GraphTypeError unless xp and fp are vectors, left and right numbers; GraphValueError for vectors of two
    lengths or of none, at run time where they are not known, and for a period that is known to be 0.
    """
    x, xp, fp = as_tensor(x), _vector("interp: xp", xp), _vector("interp: fp", fp)
    for what, value in (("left", left), ("right", right)):
        if value is not None and as_tensor(value).ndim:
            raise GraphTypeError(f"interp: {what} must be a number, not {as_tensor(value).type}")
    dtype = dtypes.mean_of(dtypes.promote(x.dtype, xp.dtype, fp.dtype))
    x, xp, fp = (cast(one, dtype) for one in (x, nonempty("interp: xp", xp, [0]), fp))
    fp = second(xp, fp)  # one length
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
        left = right = None
    before = searchsorted(xp, x, side="right") - 1
    last = extent_of(xp, 0) - 1
    at = clip(before, 0, maximum(last - 1, 0) if isinstance(last, Variable) else max(last - 1, 0))
    following = minimum(at + 1, last)
    x0, x1, y0, y1 = take(xp, at), take(xp, following), take(fp, at), take(fp, following)
    width = x1 - x0
    is_point = eq(width, 0)
    slope = switch(is_point, 0, (y1 - y0) / switch(is_point, 1, width))
    inside = _on_line(x, slope, (x0, y0), (x1, y1))
    first, end = subtensor(xp, 0), subtensor(xp, -1)
    low = subtensor(fp, 0) if left is None else cast(as_tensor(left), dtype)
    high = subtensor(fp, -1) if right is None else cast(as_tensor(right), dtype)
    y = switch(lt(x, first), low, switch(gt(x, end), high, switch(eq(x, end), subtensor(fp, -1), inside)))
    return switch(isnan(x), x, y)


def _on_line(
    x: Variable, slope: Variable, start: tuple[Variable, Variable], end: tuple[Variable, Variable]
) -> Variable:
    """The line through two points, evaluated at x from the first point; from the second if that gives nan, as in
    NumPy.

    So a segment with an infinite end has that end's value except at the other end.
    """
    (x0, y0), (x1, y1) = start, end

    def beside(point: Variable, y: Variable) -> Variable:
        is_there = and_(eq(x, point), or_(invert(isfinite(slope)), isinf(point)))
        return switch(is_there, 0, slope * (x - point)) + y

    first, second_ = beside(x0, y0), beside(x1, y1)
    found = switch(isnan(first), second_, first)
    return switch(and_(isnan(found), eq(y0, y1)), y0, found)


def _periodic(x: Variable, xp: Variable, fp: Variable, period: Any) -> tuple[Variable, Variable, Variable]:
    """All points within one period, sorted, with a point of each neighbouring period."""
    length = as_tensor(period)
    if isinstance(length, Constant) and not length.data.all():
        raise GraphValueError("interp: period must not be 0")
    length = cast(length, xp.dtype)
    length = switch(lt(length, 0), -length, length)
    xp = mod(xp, length)
    order = argsort(xp)
    xp, fp = take(xp, order), take(fp, order)
    xp = join(0, subtensor(xp, slice(-1, None)) - length, xp, subtensor(xp, slice(None, 1)) + length)
    fp = join(0, subtensor(fp, slice(-1, None)), fp, subtensor(fp, slice(None, 1)))
    return mod(x, length), xp, fp
