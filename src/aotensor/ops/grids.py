"""Grids: numbers at equal steps or ratios between two ends, and axes repeated over a common grid."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import DTypeLike

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.core.types import normalise_axis
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Constant, Variable, as_tensor, constant
from aotensor.ops.diagonal import tri, tril_indices, triu_indices
from aotensor.ops.elementwise.arithmetic import abs as absolute
from aotensor.ops.elementwise.arithmetic import maximum, sign
from aotensor.ops.elementwise.compare import and_, cast, eq, floor, gt, invert, switch
from aotensor.ops.elementwise.elementary import log10
from aotensor.ops.elementwise.powers import pow as power
from aotensor.ops.mask import nonzero
from aotensor.ops.random.parameter import parameter
from aotensor.ops.ranges import arange
from aotensor.ops.shape.axes import dimshuffle, moveaxis, shape_padleft
from aotensor.ops.shape.broadcast import broadcast_arrays
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, extent_of, extents_of, source_of
from aotensor.ops.shape.join import stack


class _Ladder:
    """Steps 0, 1, … `count` − 1 along a new first axis between two broadcast ends; `last` is the step of the stop.

    Raises: GraphValueError for a negative count (at run time where it is not known).
    """

    def __init__(self, name: str, start: Any, stop: Any, num: Any, endpoint: bool) -> None:
        count = as_extent(num, f"{name}: num")
        if isinstance(count, int) and count < 0:
            raise GraphValueError(f"{name}: num is {count}, a negative number of steps")
        if isinstance(count, Variable) and source_of(count) is None:
            count = parameter(f"{name}: num", count, "int64", low=0)
        ends = [as_tensor(x) for x in (start, stop)]
        self.dtype = dtypes.mean_of(dtypes.promote(*(x.dtype for x in ends)))
        self.start, self.stop = (cast(x, self.dtype) for x in ends)
        self.has_stop = endpoint and count != 1
        self.last = _less_one(count) if endpoint else count
        rank = max(x.ndim for x in ends)
        self.number = dimshuffle(arange(count, dtype=self.dtype), [0, *[None] * rank])

    def between(self, start: Variable, stop: Variable) -> Variable:
        """start + k·(stop − start)/last for each step k"""
        divisor = maximum(self.last, 1) if isinstance(self.last, Variable) else max(self.last, 1)
        step = (stop - start) / _number(divisor, self.dtype)
        return self.number * step + start

    def step(self) -> Variable:
        """(stop − start)/last, nan without steps."""
        last: Variable = _number(self.last, self.dtype)
        return (self.stop - self.start) / switch(eq(last, 0), math.nan, last)

    def with_stop(self, y: Variable) -> Variable:
        """y with its last step set to the stop exactly, if the stop is included."""
        if not self.has_stop:
            return y
        is_stop = eq(self.number, _number(self.last, self.dtype))
        if isinstance(self.last, Variable):
            is_stop = and_(is_stop, gt(self.last, 0))
        return switch(is_stop, self.stop, y)


def _less_one(count: SymbolicExtent) -> SymbolicExtent:
    return max(count - 1, 0) if isinstance(count, int) else maximum(cast(count, "int64") - 1, 0)


def _number(x: SymbolicExtent, dtype: str) -> Variable:
    return constant(x, dtype=dtype) if isinstance(x, int) else cast(x, dtype)


def _finished(y: Variable, dtype: DTypeLike | None, axis: int) -> Variable:
    """y in a dtype (rounded down for integers, as in NumPy), with its first axis moved to `axis`."""
    if dtype is not None:
        y = cast(floor(y) if dtypes.canonical(dtype) in dtypes.INTEGERS else y, dtype)
    axis = normalise_axis(axis, y.ndim)
    return moveaxis(y, 0, axis) if axis else y


@public(numpy="linspace")
@coerced
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """`num` numbers from start to stop at equal steps.   start, stop: (…) → (num, …), the new axis at `axis`

    num: an int or an integer scalar. endpoint: whether stop is the last number, exactly. retstep: (numbers, step), the
    step nan if there is none: for one number with its stop, or no numbers.
    dtype: of start and stop, float64 for integers; an integer dtype rounds down.
    Derivatives: 1 − k/(num − 1) for start, k/(num − 1) for stop.

    Raises: GraphTypeError for a non-integer num, GraphValueError for a negative one (at run time where it is not
    known).
    """
    ladder = _Ladder("linspace", start, stop, num, endpoint)
    y = _finished(ladder.with_stop(ladder.between(ladder.start, ladder.stop)), dtype, axis)
    if not retstep:
        return y
    return y, ladder.step()


@public(numpy="logspace")
@coerced
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Variable:
    """base to the powers of `linspace`: from base**start to base**stop.   base broadcasts with start and stop.

    Raises: as `linspace`.
    """
    start, base = as_tensor(start), as_tensor(base)
    if base.ndim > start.ndim:
        start = shape_padleft(start, base.ndim - start.ndim)
    return _finished(power(base, linspace(start, stop, num, endpoint)), dtype, axis)


@public(numpy="geomspace")
@coerced
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: DTypeLike | None = None, axis: int = 0
) -> Variable:
    """`num` numbers from start to stop at equal ratios, both ends exact; two ends of different signs give nan.

    Raises: as `linspace`; GraphValueError for an end that is known to be 0.
    """
    for what, end in (("start", as_tensor(start)), ("stop", as_tensor(stop))):
        if isinstance(end, Constant) and not end.data.all():
            raise GraphValueError(f"geomspace: {what} is 0, but a geometric sequence has no zeros")
    ladder = _Ladder("geomspace", start, stop, num, endpoint)
    side = sign(ladder.start)
    exponents = ladder.between(log10(ladder.start * side), log10(ladder.stop * side))
    y = side * power(constant(10.0, dtype=ladder.dtype), exponents)  # by tens, so that powers of ten are exact
    return _finished(ladder.with_stop(switch(eq(ladder.number, 0), ladder.start, y)), dtype, axis)


@public(numpy="meshgrid")
@coerced
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Variable]:
    """Vectors (or scalars) along one axis each, repeated over the common grid: one tensor for each.

    sparse: keep extent 1 along the other axes. indexing: "ij" keeps the order of axes, "xy"
    exchanges the first two. copy: has no effect. The gradient of a vector is the sum over the other axes.

    Raises: GraphTypeError for a rank above 1, GraphValueError for another indexing.
    """
    is_xy = check_choice("meshgrid: indexing", indexing, ("xy", "ij")) == "xy"
    lines = [as_tensor(x) for x in xi]
    for x in lines:
        if x.ndim > 1:
            raise GraphTypeError("meshgrid: expected vectors and scalars", lines=[x.describe()])
    spread = [_along(x, axis, len(lines)) for axis, x in enumerate(lines)]
    if is_xy and len(lines) > 1:
        spread = [dimshuffle(x, [1, 0, *range(2, len(lines))]) for x in spread]
    return spread if sparse or len(lines) < 2 else list(broadcast_arrays(*spread))


def _along(x: Variable, axis: int, rank: int) -> Variable:
    """A vector or scalar along one axis of a tensor of this rank."""
    return dimshuffle(x, [0 if d == axis and x.ndim else None for d in range(rank)])


class Grid:
    """`mgrid` and `ogrid`: grids of ranges, written as an index.

    `mgrid[0:n, 1:3]` is one tensor, (2, n, 2) of int64; `ogrid[0:n, 1:3]` a list of tensors (n, 1) and (1, 2). A step
    that is imaginary, as in `mgrid[0:1:5j]`, is a number of points from the start to the stop, which is included.
    Bounds may be symbolic.
    """

    def __init__(self, name: str, is_open: bool) -> None:
        self._name = name
        self._is_open = is_open

    def __getitem__(self, key: Any) -> Any:
        """The grid of ranges that an index describes.   Raises: GraphTypeError for anything but a slice with a stop."""
        if not isinstance(key, tuple):
            return self._line(key)
        lines = [self._line(one) for one in key]
        common = dtypes.promote(*(x.dtype for x in lines))
        grids = meshgrid(*(cast(x, common) for x in lines), sparse=self._is_open, indexing="ij")
        return grids if self._is_open else stack(grids)

    def _line(self, key: Any) -> Variable:
        if not isinstance(key, slice) or key.stop is None:
            raise GraphTypeError(
                f"{self._name}: expected slices with a stop, such as {self._name}[0:n, 0:m], found {key!r:.60}"
            )
        start, step = 0 if key.start is None else key.start, 1 if key.step is None else key.step
        if isinstance(step, complex):
            return linspace(start, key.stop, int(abs(step)))  # type: ignore[no-any-return]
        return arange(start, key.stop, step)

    def __repr__(self) -> str:
        return self._name


mgrid = Grid("mgrid", is_open=False)
ogrid = Grid("ogrid", is_open=True)


@coerced
def stacklists(arg: Any) -> Variable:
    """Stack nested lists of tensors of one shape: each level of lists becomes an axis.   Raises: as `stack`."""
    if isinstance(arg, list | tuple):
        return stack([stacklists(one) for one in arg])
    return as_tensor(arg)


# --- positions and weights by formula --------------------------------------------------------------------------------


@public(numpy="tril_indices_from")
@coerced
def tril_indices_from(arr: Any, k: int = 0) -> tuple[Variable, ...]:
    """Rows and columns, int64, of the entries of a matrix on and below diagonal k.   Raises: GraphTypeError"""
    return _band_of("tril_indices_from", arr, k, is_lower=True)


@public(numpy="triu_indices_from")
@coerced
def triu_indices_from(arr: Any, k: int = 0) -> tuple[Variable, ...]:
    """Rows and columns, int64, of the entries of a matrix on and above diagonal k.   Raises: GraphTypeError"""
    return _band_of("triu_indices_from", arr, k, is_lower=False)


def _band_of(name: str, arr: Any, k: int, is_lower: bool) -> tuple[Variable, ...]:
    arr = as_tensor(arr)
    if arr.ndim != 2:
        raise GraphTypeError(f"{name}: expected a matrix, found rank {arr.ndim}", lines=[arr.describe()])
    rows, columns = extents_of(arr)
    if isinstance(rows, int) and isinstance(columns, int):
        return (tril_indices if is_lower else triu_indices)(rows, k, columns)
    below = tri(rows, columns, k if is_lower else k - 1, "bool")
    return tuple(nonzero(below if is_lower else invert(below)))


@coerced
def bartlett(m: Any) -> Variable:
    """The triangular window 1 − |2·i/(m − 1) − 1| of m points, floatX; of one point 1.   m: an int or integer scalar

    Raises: GraphTypeError for a non-integer; GraphValueError for a negative m, at run time where it is not known.
    """
    steps = linspace(0, 2, m)
    count = extent_of(steps, 0)
    falls = 1 - absolute(steps - 1)
    return cast(switch(eq(as_tensor(count), 1), 1.0, falls), config.floatX)
