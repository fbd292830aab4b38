"""Operations on shapes: transpose, reshape, broadcast, concatenate, slice, pad; and those that create arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import aotensor.tensor as at
from aotensor.extension import dtypes
from aotensor.importers.lax.table import Context, Equation, Extent, rule


@rule("broadcast_in_dim")
def _broadcast(context: Context, equation: Equation, x: at.Variable, *extents: at.Variable) -> at.Variable:
    shape, axes = equation.params["shape"], list(equation.params["broadcast_dimensions"])
    placed = at.dimshuffle(x, [axes.index(d) if d in axes else None for d in range(len(shape))])
    old = [equation.invars[0].aval.shape[axes.index(d)] if d in axes else 1 for d in range(len(shape))]
    return placed if old == list(shape) else at.broadcast_to(placed, context.extents(shape))


@rule("reshape")
def _reshape(context: Context, equation: Equation, x: at.Variable, *extents: at.Variable) -> at.Variable:
    if equation.params.get("dimensions") is not None:
        x = at.dimshuffle(x, [int(axis) for axis in equation.params["dimensions"]])
    return at.reshape(x, context.extents(equation.params["new_sizes"]), ndim=len(equation.params["new_sizes"]))


@rule("squeeze")
def _squeeze(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    dropped = equation.params["dimensions"]
    return at.dimshuffle(x, [d for d in range(x.ndim) if d not in dropped])


@rule("transpose")
def _transpose(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    return at.dimshuffle(x, [int(axis) for axis in equation.params["permutation"]])


@rule("rev")
def _reverse(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    axes = tuple(int(axis) for axis in equation.params["dimensions"])
    return at.flip(x, axes) if axes else x


@rule("concatenate")
def _concatenate(context: Context, equation: Equation, *xs: at.Variable) -> at.Variable:
    return at.concatenate(list(xs), axis=int(equation.params["dimension"]))


@rule("stack")
def _stack(context: Context, equation: Equation, *xs: at.Variable) -> at.Variable:
    return at.stack(list(xs), axis=int(equation.params["axis"]))


@rule("unstack")
def _unstack(context: Context, equation: Equation, x: at.Variable) -> list[at.Variable]:
    rows = at.moveaxis(x, int(equation.params["axis"]), 0)
    return [rows[k] for k in range(len(equation.outvars))]


@rule("tile")
def _tile(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    return at.tile(x, tuple(context.extents(equation.params["reps"])))


@rule("split")
def _split(context: Context, equation: Equation, x: at.Variable) -> list[at.Variable]:
    axis, found = int(equation.params["axis"]), []
    start: Extent = 0
    for size in context.extents(equation.params["sizes"]):
        found.append(x[(*[slice(None)] * axis, slice(start, start + size))])
        start = start + size
    return found


@rule("slice")
def _slice(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    starts, stops = equation.params["start_indices"], equation.params["limit_indices"]
    steps = equation.params["strides"] or (1,) * x.ndim
    entries = [
        slice(None)
        if (start, stop, step) == (0, whole, 1)
        else slice(context.extent(start), context.extent(stop), int(step))
        for start, stop, step, whole in zip(starts, stops, steps, equation.invars[0].aval.shape, strict=True)
    ]
    return x[tuple(entries)]


def _broadcast_reason(equation: Equation) -> str:
    spread = any(int(inner) for *_, inner in equation.params["padding_config"])
    is_known = all(isinstance(width, int | np.integer) for width in _widths(equation))
    return "" if is_known or not spread else "it pads between elements, which needs padding widths that are constants"


def _widths(equation: Equation) -> list[Any]:
    return [width for low, high, _ in equation.params["padding_config"] for width in (low, high)]


@rule("pad", check=_broadcast_reason)
def _pad(context: Context, equation: Equation, x: at.Variable, value: at.Variable) -> at.Variable:
    if not all(isinstance(width, int | np.integer) for width in _widths(equation)):
        pairs = [context.extents(pair[:2]) for pair in equation.params["padding_config"]]
        return bordered(x, pairs, value)
    widths = [(int(low), int(high), int(inner)) for low, high, inner in equation.params["padding_config"]]
    return padded(x, widths, value)


def padded(x: at.Variable, widths: Sequence[tuple[int, int, int]], value: at.Variable) -> at.Variable:
    """x padded with a value. widths: before, after and between elements, along each axis; negative widths crop"""
    if not any(map(any, widths)):
        return x
    shape = [_wide(extent(x, axis), *one) for axis, one in enumerate(widths)]
    entries = []
    for axis, (low, high, inner) in enumerate(widths):
        step = inner + 1
        x, first = _cut_negative_widths(x, axis, low, high, step)
        entries.append(slice(first, first + span(extent(x, axis), step), step))
    if all(entry.start == 0 and entry.step == 1 for entry in entries) and shape == list(x.static_shape):
        return x
    return at.set_subtensor(at.broadcast_to(value, shape)[tuple(entries)], x)


def _wide(count: Extent, low: int, high: int, inner: int) -> Extent:
    """The extent after padding."""
    if inner:
        count = (
            max(count - 1, 0) * inner + count if isinstance(count, int) else at.maximum(count - 1, 0) * inner + count
        )
    return count + low + high


def span(count: Extent, step: int) -> Extent:
    """The extent of `count` elements at distance `step`: (count − 1)·step + 1, or 0 without elements."""
    found = (count - 1) * step + 1
    return max(found, 0) if isinstance(found, int) else at.maximum(found, 0)


def extent(x: at.Variable, axis: int) -> Extent:
    """The extent of x along an axis: a number if it is static, else a scalar."""
    known = x.static_shape[axis]
    return at.shape_i(x, axis) if known is None else known


def _cut_negative_widths(x: at.Variable, axis: int, low: int, high: int, step: int) -> tuple[at.Variable, int]:
    """x cropped by negative widths, and the position of its first element; elements are at distance `step`."""
    before, after = (-(width // step) if width < 0 else 0 for width in (low, high))
    if before or after:
        x = x[(*[slice(None)] * axis, slice(before, extent(x, axis) - after))]
    return x, low + before * step


def bordered(x: at.Variable, pairs: Sequence[Sequence[Extent]], value: at.Variable) -> at.Variable:
    """x between blocks of `value` of these widths; a negative width is an error at run time."""
    for axis, widths in enumerate(pairs):
        if not any(isinstance(width, at.Variable) or width for width in widths):
            continue
        blocks = []
        for width in widths:
            shape = [width if d == axis else extent(x, d) for d in range(x.ndim)]
            blocks.append(at.broadcast_to(value, shape))
        x = at.concatenate([blocks[0], x, blocks[1]], axis=axis)
    return x


@rule("iota")
def _iota(context: Context, equation: Equation, *extents: at.Variable) -> at.Variable:
    shape, axis = context.extents(equation.params["shape"]), equation.params["dimension"]
    name = np.dtype(equation.params["dtype"]).name
    line = at.cast(at.arange(shape[axis]), name) if dtypes.is_complex(name) else at.arange(shape[axis], dtype=name)
    placed = at.dimshuffle(line, [0 if d == axis else None for d in range(len(shape))])
    return at.broadcast_to(placed, shape) if len(shape) > 1 else placed


@rule("empty", "empty2")
def _empty(context: Context, equation: Equation) -> at.Variable:
    aval = equation.outvars[0].aval
    return at.zeros(context.extents(aval.shape), dtype=str(aval.dtype))


@rule("dim_as_value")
def _extent_as_value(context: Context, equation: Equation) -> at.Variable:
    return at.as_tensor(context.extent(equation.params["dim"]))
