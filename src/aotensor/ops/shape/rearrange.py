"""Elements repeated, rolled, reversed and padded: compositions of reshape, broadcasting, indexing and join."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.types import as_array, normalise_axes, normalise_axis
from aotensor.errors import GraphTypeError, GraphValueError, UnsupportedError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Constant, Variable, as_tensor, constant
from aotensor.ops.create import alloc, zeros
from aotensor.ops.elementwise.arithmetic import maximum, minimum, mod
from aotensor.ops.elementwise.compare import cast, clip
from aotensor.ops.index import subtensor
from aotensor.ops.multi_index import position_inside
from aotensor.ops.random.parameter import nonempty
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.cumulate import cumsum
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import expand_dims, shape_padleft
from aotensor.ops.shape.broadcast import specify_shape
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, as_extents, extent_of, extents_of, product
from aotensor.ops.shape.join import join
from aotensor.ops.shape.reshape import ravel, reshape
from aotensor.ops.take import take
from aotensor.ops.updates import inc_subtensor, set_subtensor


@public(numpy="repeat", method="repeat")
@coerced
def repeat(x: Any, repeats: Any, axis: int | None = None) -> Variable:
    """Every element (or slice along an axis) `repeats` times in a row; axis None flattens first.

    repeats: an int or an integer scalar, or a vector of one count per element along the axis; one whose only extent is
    statically 1 counts for all of them.

    Raises: GraphTypeError for counts that are not integers; GraphValueError for counts of another rank or length, or
    for a negative one (at run time where it is not known).
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalise_axis(axis, x.ndim)
    counts = as_tensor(repeats)
    if counts.static_shape == (1,):
        (repeats,) = as_extents(counts)
    elif counts.ndim:
        return _repeated_each(x, counts, axis)
    times = as_extent(repeats)
    extents = extents_of(x)
    wide = alloc(expand_dims(x, axis + 1), *extents[: axis + 1], times, *extents[axis + 1 :])
    return reshape(wide, [*extents[:axis], product([extents[axis], times]), *extents[axis + 1 :]])


def _repeated_each(x: Variable, counts: Variable, axis: int) -> Variable:
    """Repeat element k along the axis counts[k] times: output position p reads the last element that starts at p or
    before.
    """
    if counts.ndim != 1:
        raise GraphValueError("repeat: repeats must be a scalar or a vector", lines=[counts.describe()])
    if counts.dtype not in dtypes.INTEGERS:
        raise GraphTypeError(f"repeat: repeats must be integers, not {counts.dtype}", lines=[counts.describe()])
    counts = specify_shape(cast(counts, "int64"), (extent_of(x, axis),))
    total = sum_over(counts)
    starts = cumsum(position_inside(counts, total + 1)) - counts
    marks = inc_subtensor(subtensor(zeros((total + 1,), "int64"), starts), 1)
    return take(x, subtensor(cumsum(marks), slice(None, total)) - 1, axis)


@public(numpy="tile")
@coerced
def tile(x: Any, reps: Any) -> Variable:
    """x repeated as a whole, reps[k] times along axis k; missing counts and axes are 1 on the left, as in NumPy.

    reps: a count, several, or an integer vector of known length.

    Raises: GraphTypeError for counts that are not integers, GraphValueError for a negative one (at run time where it is
    not known).
    """
    x = as_tensor(x)
    named = as_extents(reps)
    rank = max(x.ndim, len(named))
    x = shape_padleft(x, rank - x.ndim)
    counts: list[SymbolicExtent] = [*([1] * (rank - len(named))), *named]
    extents = extents_of(x)
    interleaved: list[SymbolicExtent] = [entry for pair in zip(counts, extents, strict=True) for entry in pair]
    wide = alloc(expand_dims(x, range(0, 2 * rank, 2)), *interleaved) if rank else x
    return reshape(wide, [product(pair) for pair in zip(counts, extents, strict=True)])


@public(numpy="flip")
@coerced
def flip(x: Any, axis: int | Sequence[int] | None = None) -> Variable:
    """The elements in reverse order along axes, None for all."""
    x = as_tensor(x)
    axes = normalise_axes(axis, x.ndim)
    return subtensor(x, tuple(slice(None, None, -1 if axis in axes else None) for axis in range(x.ndim)))


@public(numpy="roll")
@coerced
def roll(x: Any, shift: Any, axis: int | None = None) -> Variable:
    """Elements moved by `shift` positions along an axis, wrapping around; None rolls flattened x.

    shift: an int or an integer scalar, of any size and sign.
    """
    x = as_tensor(x)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), extents_of(x))
    axis = normalise_axis(axis, x.ndim)
    positions, extent = as_extent(shift, "a shift"), extent_of(x, axis)
    if isinstance(positions, int) and isinstance(extent, int):
        cut: SymbolicExtent = -positions % extent if extent else 0
    else:
        cut = (-_symbol(positions)) % _symbol(extent)
    whole = (slice(None),) * axis
    return join(axis, subtensor(x, (*whole, slice(cut, None))), subtensor(x, (*whole, slice(None, cut))))


def _symbol(extent: SymbolicExtent) -> Variable:
    """Convert an extent to an int64 scalar: signed, so that it can be negated."""
    return constant(extent, dtype="int64") if isinstance(extent, int) else cast(extent, "int64")


@public(numpy="pad")
@coerced
def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Variable:
    """x with a border around it.

    pad_width: an int for all sides, (before, after) for all axes, or one such pair per axis.
    mode: the content of the border. "constant": `constant_values`, one number or scalar. "edge": the nearest element.
    "wrap": x repeated. "symmetric", "reflect": x mirrored at its edges, with the element at the edge twice or once.

    Raises: UnsupportedError for another mode, GraphValueError for a width that is negative or does not fit x, and for
    an empty axis that is not padded by a constant (at run time where the extent is not known).
    """
    x = as_tensor(x)
    if not isinstance(mode, str) or mode not in ("constant", *_POSITIONS):
        modes = ", ".join(["constant", *_POSITIONS])
        raise UnsupportedError(f"pad: mode {mode!r} is not supported", hint=f"use one of {modes}")
    if isinstance(pad_width, Variable) and not isinstance(pad_width, Constant):
        raise GraphTypeError(
            "pad: for this mode, the widths must be numbers known when the graph is built", lines=[pad_width.describe()]
        )
    widths = _widths(pad_width.data if isinstance(pad_width, Constant) else pad_width, x.ndim)
    if mode != "constant":
        return _padded_by_itself(x, widths, _POSITIONS[mode])
    extents = extents_of(x)
    border = cast(as_tensor(constant_values), x.dtype)
    wide = alloc(
        border, *(_plus(extent, before + after) for extent, (before, after) in zip(extents, widths, strict=True))
    )
    window = tuple(slice(before, _plus(extent, before)) for extent, (before, _) in zip(extents, widths, strict=True))
    return set_subtensor(subtensor(wide, window), x)


def _padded_by_itself(x: Variable, widths: Sequence[tuple[int, int]], positions: Callable[..., Variable]) -> Variable:
    """x with borders of its own elements: p from −before to n + after − 1 reads the element at `positions(p, n)`."""
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = nonempty("pad", x, [axis])
            n = _symbol(extent_of(x, axis))
            x = take(x, positions(arange(-before, n + after), n), axis)
    return x


def _at_edge(p: Variable, n: Variable) -> Variable:
    return clip(p, 0, n - 1)


def _wrapped(p: Variable, n: Variable) -> Variable:
    return mod(p, n)


def _symmetric(p: Variable, n: Variable) -> Variable:
    turn = mod(p, 2 * n)
    return minimum(turn, 2 * n - 1 - turn)


def _reflected(p: Variable, n: Variable) -> Variable:
    """Positions of the pad mode "reflect"; of an axis with one element all are 0."""
    turn = mod(p, maximum(2 * n - 2, 1))
    return minimum(turn, maximum(2 * n - 2 - turn, 0))


_POSITIONS: Final[dict[str, Callable[..., Variable]]] = {
    "edge": _at_edge, "reflect": _reflected, "symmetric": _symmetric, "wrap": _wrapped,
}  # fmt: skip


def _widths(pad_width: Any, rank: int) -> list[tuple[int, int]]:
    widths = as_array(pad_width)
    if widths.dtype.kind not in "iu" or (widths < 0).any():
        raise GraphValueError(f"pad: widths must be non-negative integers, not {pad_width!r}")
    try:
        return [(int(before), int(after)) for before, after in np.broadcast_to(widths, (rank, 2))]
    except ValueError as error:
        raise GraphValueError(f"pad: pad_width {pad_width!r} does not fit a tensor of rank {rank}") from error


def _plus(extent: SymbolicExtent, amount: int) -> SymbolicExtent:
    return extent + amount if isinstance(extent, int) or amount else extent
