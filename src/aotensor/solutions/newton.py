"""Newton's method with a line search, for F(x) = 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aotensor.graph.variable import Variable, constant
from aotensor.ops.elementwise.arithmetic import maximum, minimum
from aotensor.ops.elementwise.compare import and_, invert, isfinite, le, lt, or_, switch
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.scan.step import until
from aotensor.solutions.formulas import (
    ending,
    first,
    is_all_finite,
    is_rounding,
    is_short,
    is_zero,
    iterate,
    number,
    started,
)
from aotensor.solutions.results import Ending

SHRINKS = 40
"""A line search makes a step shorter at most so many times, by 2 to 10 each."""
DECREASE = 1e-4
"""A step t of a line search is taken if |F|² falls by this share of 2·t·|F|² at least."""


def newton(
    residual: Callable[[Variable], Variable],
    direction_of: Callable[[Variable, Variable], Variable],
    x0: Variable,
    tolerance: Variable,
    max_steps: int,
) -> tuple[Variable, Variable, Variable, Variable]:
    """x, the number of steps, F(x) and the status.   Source: Dennis & Schnabel (1983), chapter 6.

    direction_of: (x, F(x)) → the step to a better x, not finite where there is none.
    It is done with a full step that is short relative to x, or with F = 0.
    """

    def step(x: Variable, f: Variable) -> tuple[list[Variable], Variable]:
        direction = direction_of(x, f)
        is_regular = is_all_finite(direction)
        is_last = is_short(direction, x, tolerance)
        new_x, new_f, is_found = line_search(residual, x, f, direction, is_last, is_regular)
        status = first(
            (invert(is_regular), ending(Ending.SINGULAR)),
            (and_(is_found, or_(is_last, is_zero(new_f))), ending(Ending.CONVERGED)),
            (is_found, ending(Ending.RUNNING)),
            (is_rounding(direction, x), ending(Ending.CONVERGED)),
            otherwise=ending(Ending.NO_PROGRESS),
        )
        return [switch(is_found, new_x, x), switch(is_found, new_f, f)], status

    f0 = residual(x0)
    (x, f), count, status = iterate("newton", step, [x0, f0], started(f0), max_steps)
    return x, count, f, status


def line_search(
    residual: Callable[[Variable], Variable],
    x: Variable,
    f: Variable,
    direction: Variable,
    is_last: Variable,
    is_regular: Variable,
) -> tuple[Variable, Variable, Variable]:
    """(x + t·direction with a smaller |F|², F there, whether one was found); t is 1, or from a parabola.

    is_last: the first finite value will do, as rounding is larger than what is left to gain.
    is_regular: without it, nothing is searched for.
    """
    merit = sum_of(f * f)

    def shorter(t: Variable, _x: Variable, _f: Variable, _found: Variable) -> tuple[list[Variable], until]:
        new_x = x + t * direction
        new_f = residual(new_x)
        new_merit = sum_of(new_f * new_f)
        is_lower = and_(lt(new_merit, merit), le(new_merit, (1 - number(2 * DECREASE, x) * t) * merit))
        found = or_(is_lower, and_(is_last, isfinite(new_merit)))
        best = merit * t * t / (new_merit - merit + 2 * t * merit)
        best = switch(isfinite(new_merit), best, number(0.1, x) * t)
        following = maximum(minimum(best, number(0.5, x) * t), number(0.1, x) * t)
        return [following, new_x, new_f, found], until(or_(found, invert(is_regular)))

    initial = [number(1, x), x, f, constant(np.bool_(False))]
    steps = constant(SHRINKS, dtype="int64")
    (_, new_x, new_f, found), _ = Loop(shorter, None, initial, None, steps).run(-1, "line search", keep_last=True)
    return new_x, new_f, found
