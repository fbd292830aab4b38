"""reduce_window: sums, products and extrema of moving windows; select_and_scatter_add, the gradient of extrema."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from math import prod
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

import aotensor.tensor as at
from aotensor.importers.lax.folds import combined, folded, operands_of
from aotensor.importers.lax.reductions import bound
from aotensor.importers.lax.shapes import extent, padded, span
from aotensor.importers.lax.table import Context, Convert, Equation, Extent, Program, body_of, enter, programs_in, rule

_MOST_TERMS: Final = 16
"""Elements of a window that are combined at once, and not axis by axis."""

_LARGEST: Final = 4096
"""Elements of a window: each is a slice of the array."""

Combine = Callable[..., at.Variable]


def _neutral(combine: Combine, dtype: str) -> Any:
    """The neutral element of a combination."""
    if combine in (at.maximum, at.minimum):
        return bound(dtype, combine is at.minimum)
    return int(combine is at.mul)


def pool_windows(
    x: at.Variable, params: Mapping[str, Any], combine: Combine, counts: Mapping[int, Extent] | None = None
) -> at.Variable:
    """Combine the elements of each window of x, in C order; elements outside x are ignored. counts: number of windows
    along each axis, by default all that fit
    """
    sizes = [int(n) for n in params["window_dimensions"]]
    x = padded(x, _widths(x, params), at.constant(np.asarray(_neutral(combine, x.dtype), x.dtype)))
    axes = _moved_axes(params)
    counts = _window_counts(x, params) if counts is None else counts
    groups = [axes] if prod(sizes) <= _MOST_TERMS else [[d] for d in reversed(axes)]
    for group in groups:  # the last axis first, so that of equal elements the first in C order is taken
        x = reduce(combine, [x[index] for index in window_slices(x.ndim, params, counts, group)])
    return x


def _steps(params: Mapping[str, Any], key: str, rank: int) -> list[int]:
    """A parameter with one number per axis; ones if it is left out."""
    return [int(n) for n in params.get(key) or [1] * rank]


def _widths(x: at.Variable, params: Mapping[str, Any]) -> list[tuple[int, int, int]]:
    """The padding before, after and between the elements of x, along each axis."""
    spread = _steps(params, "base_dilation", x.ndim)
    return [(int(low), int(high), n - 1) for (low, high), n in zip(params["padding"], spread, strict=True)]


def _moved_axes(params: Mapping[str, Any]) -> list[int]:
    """The axes along which windows have more than one element, a stride or padding."""
    pairs = zip(params["window_dimensions"], params["window_strides"], strict=True)
    return [d for d, pair in enumerate(pairs) if tuple(map(int, pair)) != (1, 1)]


def _window_counts(x: at.Variable, params: Mapping[str, Any]) -> dict[int, Extent]:
    """The number of windows along each of these axes of the padded x."""
    sizes, strides = params["window_dimensions"], params["window_strides"]
    dilations = _steps(params, "window_dilation", x.ndim)
    return {
        d: (extent(x, d) - (int(sizes[d]) - 1) * dilations[d] - 1) // int(strides[d]) + 1 for d in _moved_axes(params)
    }


def window_slices(
    rank: int, params: Mapping[str, Any], counts: Mapping[int, Extent], group: Sequence[int]
) -> Iterator[tuple[slice, ...]]:
    """For each position in a window, in C order, the slices that select this position of all windows."""
    sizes, strides = params["window_dimensions"], params["window_strides"]
    dilations = _steps(params, "window_dilation", rank)
    for place in itertools.product(*(range(int(sizes[d])) for d in group)):
        index = [slice(None)] * rank
        for d, k in zip(group, place, strict=True):
            first = k * dilations[d]
            index[d] = slice(first, first + span(counts[d], int(strides[d])), int(strides[d]))
        yield tuple(index)


def _is_too_large(equation: Equation) -> str:
    params = equation.params
    if not all(isinstance(n, int | np.integer) for pair in params["padding"] for n in pair):
        return "its padding widths are not constants"
    sizes = params["window_dimensions"]
    if not all(isinstance(n, int | np.integer) for n in sizes) or prod(sizes) > _LARGEST:
        return f"its windows have more than {_LARGEST} elements, or extents that are not constants"
    is_empty = any(n == 0 for n in (*equation.invars[0].aval.shape, *equation.outvars[0].aval.shape))
    return "its operand or its result has no elements" if is_empty else ""


def _windows(combine: Combine) -> Convert:
    return lambda context, equation, x: pool_windows(x, equation.params, combine)


for _name, _combine in (
    ("reduce_window_sum", at.add), ("reduce_window_max", at.maximum), ("reduce_window_min", at.minimum),
    ("reduce_window_prod", at.mul),
):  # fmt: skip
    enter(_name, _windows(_combine), check=_is_too_large, note=f"windows of up to {_LARGEST} elements")


_COMBINED: Final[Mapping[str, Combine]] = {"add": at.add, "mul": at.mul, "max": at.maximum, "min": at.minimum}


def _of_one_operation(equation: Equation) -> Combine | None:
    """The combination that a program of two scalars computes; None for any other program."""
    body = body_of(equation.params["jaxpr"])
    if len(equation.invars) != 2 or len(body.eqns) != 1 or list(body.eqns[0].outvars) != list(body.outvars):
        return None
    if set(body.eqns[0].invars) != set(body.invars) or len(body.invars) != 2:
        return None
    return _COMBINED.get(body.eqns[0].primitive.name)


def _programs(equation: Equation) -> Iterable[Program]:
    """The program that combines two elements, if no operation on arrays corresponds to it."""
    return () if _of_one_operation(equation) is not None else programs_in(equation)


@rule("reduce_window", check=_is_too_large, inner=_programs, note=f"windows of up to {_LARGEST} elements, in C order")
def _reduce_window(context: Context, equation: Equation, *inputs: at.Variable) -> Sequence[at.Variable]:
    combine, params = _of_one_operation(equation), equation.params
    if combine is not None:
        x, start = inputs
        return [combine(start, pool_windows(x, params, combine))]
    xs, starts, outer = operands_of(equation, inputs)
    program = SimpleNamespace(jaxpr=body_of(params["jaxpr"]), consts=params.get("consts", ()))
    inside = _inside(xs[0], _widths(xs[0], params))
    xs = [padded(x, _widths(x, params), start) for x, start in zip(xs, starts, strict=True)]
    places = list(window_slices(xs[0].ndim, params, _window_counts(xs[0], params), _moved_axes(params)))
    found = [at.fill(x[places[0]], start) for x, start in zip(xs, starts, strict=True)]
    if len(places) > _MOST_TERMS:
        *rows, mask = (None if x is None else at.stack([x[index] for index in places], axis=0) for x in (*xs, inside))
        return folded(context, program, outer, [x for x in rows if x is not None], found, mask)
    for index in places:
        mask = None if inside is None else inside[index]
        found = combined(context, program, outer, found, [x[index] for x in xs], mask)
    return found


def _inside(x: at.Variable, widths: Sequence[tuple[int, int, int]]) -> at.Variable | None:
    """A mask of the elements of the padded x that are not padding; None without padding."""
    has_border = any(any(width) for width in widths)
    return padded(at.ones_like(x, dtype="bool"), widths, at.constant(np.asarray(False))) if has_border else None


_SELECTS: Final[Mapping[str, Combine]] = {"ge": at.ge, "gt": at.gt, "le": at.le, "lt": at.lt}


def _select(equation: Equation) -> str:
    found = equation.params["select_prim"]
    return str(getattr(found, "name", found))


def _cannot_select(equation: Equation) -> str:
    if _select(equation) not in _SELECTS:
        return f"by {_select(equation)}"
    return _is_too_large(_Reversed(equation))


class _Reversed:
    """select_and_scatter_add, described as the pooling whose gradient it computes."""

    def __init__(self, equation: Equation) -> None:
        self.params, self.primitive = equation.params, equation.primitive
        self.invars, self.outvars = equation.invars[1:], equation.invars[:1]


@rule("select_and_scatter_add", check=_cannot_select, note="of equal elements of a window the first, as JAX does")
def _scatter_gradient(context: Context, equation: Equation, source: at.Variable, x: at.Variable) -> at.Variable:
    """The gradient of pooling: add the cotangent of each window to the element that the window selects."""
    params, widths = equation.params, _widths(x, equation.params)
    wide = padded(x, widths, at.constant(np.zeros((), x.dtype)))
    inside = _inside(x, widths)
    counts = _window_counts(wide, params)
    places = list(window_slices(x.ndim, params, counts, _moved_axes(params)))
    chosen = _selected_elements(wide, inside, places, _SELECTS[_select(equation)])
    found = at.zeros_like(wide)
    for number, index in enumerate(places):
        found = at.inc_subtensor(found[index], at.switch(at.eq(chosen, number), source, at.zeros_like(source)))
    return found if inside is None else found[tuple(_inner(x, d, *width) for d, width in enumerate(widths))]


def _selected_elements(
    x: at.Variable, inside: at.Variable | None, places: Sequence[tuple[slice, ...]], stays: Combine
) -> at.Variable:
    """The index of the element that each window selects: a candidate is replaced by the next one unless the comparison
    keeps it.
    """
    best = x[places[0]]
    chosen, is_valid = at.zeros_like(best, dtype="int32"), None if inside is None else inside[places[0]]
    for number, index in enumerate(places[1:], 1):
        is_next = at.invert(stays(best, x[index]))
        if inside is not None and is_valid is not None:
            is_next = inside[index] & (at.invert(is_valid) | is_next)
            is_valid = is_valid | inside[index]
        best, chosen = at.switch(is_next, x[index], best), at.switch(is_next, np.int32(number), chosen)
    return chosen


def _inner(x: at.Variable, axis: int, low: int, high: int, inner: int) -> slice:
    """The slice of the padded axis that contains the elements of x."""
    return slice(low, low + span(extent(x, axis), inner + 1), inner + 1)
