"""scatter: replace windows of an array at many positions, or combine them by sums, products, minima or maxima."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import aotensor.tensor as at
from aotensor.extension import dtypes
from aotensor.importers.lax.gather import Windows, mode_of
from aotensor.importers.lax.table import Context, Equation, Extent, enter, rule
from aotensor.importers.lax.updates import updated

_NOTE = "in every mode: outside of the array windows are moved inside, or dropped"


def _windows(context: Context, equation: Equation, starts: at.Variable) -> Windows:
    mode = mode_of(equation)
    if mode == "promise_in_bounds" and equation.primitive.name != "scatter":
        mode = "fill_or_drop"  # as XLA does: derivatives of scatter-max and scatter-min break the promise
    dims, shape = equation.params["dimension_numbers"], equation.invars[0].aval.shape
    dropped = {*map(int, dims.inserted_window_dims), *map(int, dims.operand_batching_dims)}
    kept = [d for d in range(len(shape)) if d not in dropped]
    updates = context.extents(equation.invars[2].aval.shape)
    sizes: list[Extent] = [1] * len(shape)
    for axis, place in zip(kept, dims.update_window_dims, strict=True):
        is_whole = equation.invars[2].aval.shape[place] == shape[axis]
        sizes[axis] = context.extents(shape)[axis] if is_whole else updates[place]
    return Windows(
        shape=context.extents(shape),
        sizes=sizes,
        batch=context.extents(equation.invars[1].aval.shape[:-1]),
        kept_axes=kept,
        start_axes=[int(d) for d in dims.scatter_dims_to_operand_dims],
        batch_axes=dict(
            zip(map(int, dims.operand_batching_dims), map(int, dims.scatter_indices_batching_dims), strict=True)
        ),
        starts=starts,
        mode=mode,
    )


def _in_order(found: Windows, equation: Equation, updates: at.Variable) -> at.Variable:
    """The updates with axes batch, cut, slices."""
    return at.dimshuffle(updates, found.axes_of_selection(equation.params["dimension_numbers"].update_window_dims))


def _is_never_in_range(found: Windows) -> bool:
    """Is the array statically smaller than a window, so that all updates are dropped?"""
    pairs = [(found.shape[d], found.sizes[d]) for d in found.start_axes]
    return any(isinstance(whole, int) and isinstance(size, int) and size > whole for whole, size in pairs)


def _unless_outside(found: Windows, updates: at.Variable, neutral: Any) -> at.Variable:
    if found.is_inside is None:
        return updates
    is_inside = at.dimshuffle(found.is_inside, [*range(len(found.batch)), *[None] * len(found.kept_axes)])
    return at.switch(is_inside, updates, at.constant(np.asarray(neutral, updates.dtype)))


def _scatter(
    context: Context, equation: Equation, x: at.Variable, starts: at.Variable, updates: at.Variable
) -> at.Variable:
    found = _windows(context, equation, starts)
    if _is_never_in_range(found):
        return x
    target, values = found.transposed(x), _in_order(found, equation, updates)
    if found.is_inside is None:
        return found.transposed_back(_put(target, found.index(), values))
    if not found.batch:
        return at.switch(found.is_inside, found.transposed_back(_put(target, found.index(), values)), x)
    return found.transposed_back(_put_inside(found, target, values))


def _put(x: at.Variable, index: tuple[at.Variable, ...], values: at.Variable) -> at.Variable:
    return at.set_subtensor(x[index], values) if index else values


def _put_inside(found: Windows, target: at.Variable, values: at.Variable) -> at.Variable:
    """Scatter into an array with extra rows that receive updates out of bounds, and remove these rows again."""
    first = found.start_axes[0]
    place, whole, size = found.indexed.index(first), found.shape[first], found.sizes[first]
    further = [size if d == first else found.shape[d] for d in (*found.indexed, *found.slices)]
    padded = at.concatenate([target, at.zeros(further, dtype=target.dtype)], axis=place)
    written = _put(padded, found.index(outside=whole), values)
    return written[(*[slice(None)] * place, slice(0, whole))]


def _added(
    context: Context, equation: Equation, x: at.Variable, starts: at.Variable, updates: at.Variable
) -> at.Variable:
    found = _windows(context, equation, starts)
    if _is_never_in_range(found):
        return x
    values = _unless_outside(found, _in_order(found, equation, updates), 0)
    index, target = found.index(), found.transposed(x)
    return found.transposed_back(at.inc_subtensor(target[index], values) if index else target + values)


enter("scatter", _scatter, note=_NOTE)
enter("scatter-add", _added, note=_NOTE)


@rule("scatter-sub", note=_NOTE)
def _scatter_sub(
    context: Context, equation: Equation, x: at.Variable, starts: at.Variable, updates: at.Variable
) -> at.Variable:
    return _added(context, equation, x, starts, -updates)


def _is_single(equation: Equation) -> bool:
    """Is there one window, or a promise that windows do not overlap?"""
    return bool(equation.params["unique_indices"]) or all(n == 1 for n in equation.invars[1].aval.shape[:-1])


@rule("scatter-mul", note=_NOTE)
def _scatter_mul(
    context: Context, equation: Equation, x: at.Variable, starts: at.Variable, updates: at.Variable
) -> at.Variable:
    """x times an array of ones with the updates inserted; if windows may overlap, multiply by one update after the
    other.
    """
    if _is_single(equation):
        return x * _scatter(context, equation, at.ones_like(x), starts, updates)
    return _combined(at.mul, 1, context, equation, x, starts, updates)


def _combined(
    combine: Callable[..., at.Variable],
    neutral: Any,
    context: Context,
    equation: Equation,
    x: at.Variable,
    starts: at.Variable,
    updates: at.Variable,
) -> at.Variable:
    found = _windows(context, equation, starts)
    if _is_never_in_range(found):
        return x
    values = _unless_outside(found, _in_order(found, equation, updates), neutral)
    wholes = [found.shape[d] for d in found.indexed]
    return found.transposed_back(updated(combine, found.transposed(x), found.index(), wholes, values))


def _bounded(combine: Callable[..., at.Variable], is_upper: bool) -> Callable[..., at.Variable]:
    """The maximum or minimum of each element and its updates."""

    def convert(
        context: Context, equation: Equation, x: at.Variable, starts: at.Variable, updates: at.Variable
    ) -> at.Variable:
        return _combined(combine, _extreme(x.dtype, is_upper), context, equation, x, starts, updates)

    return convert


def _extreme(dtype: str, is_upper: bool) -> Any:
    """The neutral element: the least value of the dtype for maxima, the largest for minima."""
    if dtype == "bool":
        return not is_upper
    if dtypes.is_float(dtype):
        return -np.inf if is_upper else np.inf
    return np.iinfo(dtype).min if is_upper else np.iinfo(dtype).max


enter("scatter-max", _bounded(at.maximum, is_upper=True), note=_NOTE)
enter("scatter-min", _bounded(at.minimum, is_upper=False), note=_NOTE)
