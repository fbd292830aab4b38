"""Minimisation by gradients: BFGS with a matrix, and L-BFGS with the last steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from aotensor.graph.variable import Variable, constant
from aotensor.ops.contract import dot, outer
from aotensor.ops.create import zeros
from aotensor.ops.diagonal import eye
from aotensor.ops.elementwise.arithmetic import abs, maximum
from aotensor.ops.elementwise.compare import and_, eq, ge, gt, invert, isfinite, le, lt, or_, switch
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.scan.step import until
from aotensor.ops.shape.axes import expand_dims
from aotensor.ops.shape.extents import shape_i
from aotensor.ops.shape.join import join
from aotensor.solutions.formulas import (
    ending,
    first,
    is_rounding,
    is_short,
    is_zero,
    iterate,
    largest,
    number,
    rounding,
    started,
)
from aotensor.solutions.results import Ending

TRIALS = 50
"""A line search tries at most so many lengths."""
DECREASE, SLOPE = 1e-4, 0.9
"""Weak Wolfe conditions: the share of the foretold decrease, and of the slope that may be left."""


class Matrix:
    """An approximation of the inverse Hessian as a matrix, updated by the formula of BFGS."""

    def states(self, x: Variable) -> list[Variable]:
        """The initial states: a matrix of zeros, before the first update."""
        return [outer(x, x) * number(0, x)]

    def times(self, states: Sequence[Variable], g: Variable) -> Variable:
        """The matrix times a vector."""
        return dot(states[0], g)

    def updated(self, states: Sequence[Variable], s: Variable, y: Variable, is_first: Variable) -> list[Variable]:
        """The states after a step s that changed the gradient by y, with s·y > 0."""
        (h,) = states
        sy, yy = sum_of(s * y), sum_of(y * y)
        hy, share = switch(is_first, sy / yy * y, dot(h, y)), 1 / sy
        base = switch(is_first, sy / yy * eye(shape_i(s, 0), dtype=h.dtype), h)
        factor = (1 + sum_of(y * hy) * share) * share
        return [base + factor * outer(s, s) - share * (outer(hy, s) + outer(s, hy))]


class Memory:
    """An approximation of the inverse Hessian by the last steps: the two loops of L-BFGS.

    Source: Nocedal (1980).
    """

    def __init__(self, size: int) -> None:
        self._size = size

    def states(self, x: Variable) -> list[Variable]:
        """The initial states, rows of zeros: steps, changes of the gradient, 1 / (s·y), and s·y / y·y."""
        rows = zeros([self._size, shape_i(x, 0)], x.dtype)
        return [rows, rows, zeros([self._size], x.dtype), number(1, x)]

    def times(self, states: Sequence[Variable], g: Variable) -> Variable:
        """The approximation times a vector."""
        steps, changes, shares, scale = states

        def newest_first(s: Variable, y: Variable, share: Variable, q: Variable) -> list[Variable]:
            alpha = share * sum_of(s * q)
            return [q - alpha * y, alpha]

        def oldest_first(s: Variable, y: Variable, share: Variable, alpha: Variable, r: Variable) -> Variable:
            return r + (alpha - share * sum_of(y * r)) * s

        backwards = Loop(newest_first, [steps, changes, shares], [g, None], None, None, True)
        (q, alphas), _ = backwards.run(-1, "newest first", keep_last=True)
        (found,), _ = Loop(oldest_first, [steps, changes, shares, alphas[::-1]], [scale * q], None).run(
            -1, "oldest first", keep_last=True
        )
        return found

    def updated(self, states: Sequence[Variable], s: Variable, y: Variable, is_first: Variable) -> list[Variable]:
        """The states after a step s that changed the gradient by y, with s·y > 0."""
        steps, changes, shares, _ = states
        sy = sum_of(s * y)
        new = ((steps, s), (changes, y), (shares, 1 / sy))
        return [*(join(0, rows[1:], expand_dims(row, 0)) for rows, row in new), sy / sum_of(y * y)]


def quasi_newton(
    value: Callable[[Variable], Variable],
    gradient: Callable[[Variable], Variable],
    x0: Variable,
    tolerance: Variable,
    max_steps: int,
    curvature: Matrix | Memory,
) -> tuple[Variable, Variable, Variable, Variable]:
    """x, the number of steps, the gradient there, and the status.   Source: Nocedal & Wright (2006), chapters 6 and 7.

    It is done with a full step that is short relative to x, once the curvature is known from one step at least.
    """

    def step(
        x: Variable, f: Variable, g: Variable, is_first: Variable, *known: Variable
    ) -> tuple[list[Variable], Variable]:
        size = maximum(largest(x), number(1, x))
        plain = number(0.1, x) * size / largest(g) * g
        direction = -switch(is_first, plain, curvature.times(known, g))
        is_last = and_(invert(is_first), is_short(direction, x, tolerance))
        new_x, new_f, new_g, is_found = wolfe(value, gradient, x, f, g, direction, is_last)
        s, y = new_x - x, new_g - g
        is_curved = and_(is_found, gt(sum_of(s * y), rounding(x) * sum_of(y * y)))
        updated = curvature.updated(known, s, y, is_first)
        status = first(
            (and_(is_found, or_(is_last, is_zero(new_g))), ending(Ending.CONVERGED)),
            (is_found, ending(Ending.RUNNING)),
            (and_(invert(is_first), is_rounding(direction, x)), ending(Ending.CONVERGED)),
            (is_first, ending(Ending.NO_PROGRESS)),
            otherwise=ending(Ending.RUNNING),
        )
        kept = [switch(is_found, now, then) for now, then in ((new_x, x), (new_f, f), (new_g, g))]
        is_unknown = switch(is_found, and_(is_first, invert(is_curved)), constant(np.bool_(True)))
        return [
            *kept,
            is_unknown,
            *(switch(is_curved, now, then) for now, then in zip(updated, known, strict=True)),
        ], status

    f0, g0 = value(x0), gradient(x0)
    status = switch(isfinite(f0), started(g0), ending(Ending.NOT_FINITE))
    states = [x0, f0, g0, eq(constant(np.int64(0)), 0), *curvature.states(x0)]
    (x, _, g, *_), count, status = iterate("bfgs", step, states, status, max_steps)
    return x, count, g, status


def wolfe(
    value: Callable[[Variable], Variable],
    gradient: Callable[[Variable], Variable],
    x: Variable,
    f: Variable,
    g: Variable,
    direction: Variable,
    is_last: Variable,
) -> tuple[Variable, Variable, Variable, Variable]:
    """A point x + t·direction with the weak Wolfe conditions, its value and gradient, and whether one was found.

    Bisection, after doubling (Lewis & Overton 2013). Where values differ by rounding only, slopes decide (Hager &
    Zhang 2005). is_last: the first finite point will do.
    """
    slope = sum_of(g * direction)
    noise = rounding(x, 10) * abs(f)

    def trial(low: Variable, high: Variable, t: Variable, *_: Variable) -> tuple[list[Variable], until]:
        new_x = x + t * direction
        new_f, new_g = value(new_x), gradient(new_x)
        new_slope = sum_of(new_g * direction)
        is_finite = and_(isfinite(new_f), isfinite(new_slope))
        is_lower = le(new_f, f + number(DECREASE, x) * t * slope)
        is_same = and_(le(new_f, f + noise), le(new_slope, number(2 * DECREASE - 1, x) * slope))
        is_low = and_(is_finite, or_(is_lower, is_same))
        is_flat = ge(new_slope, number(SLOPE, x) * slope)
        found = or_(and_(is_low, is_flat), and_(is_last, is_finite))
        new_low, new_high = switch(is_low, t, low), switch(is_low, high, t)
        half = number(0.5, x)
        following = switch(isfinite(new_high), half * (new_low + new_high), 2 * t)
        is_hopeless = invert(lt(slope, 0))
        return [new_low, new_high, following, new_x, new_f, new_g, found], until(or_(found, is_hopeless))

    initial = [number(0, x), number(np.inf, x), number(1, x), x, f, g, constant(np.bool_(False))]
    steps = constant(TRIALS, dtype="int64")
    (_, _, _, new_x, new_f, new_g, found), _ = Loop(trial, None, initial, None, steps).run(-1, "wolfe", keep_last=True)
    return new_x, new_f, new_g, found
