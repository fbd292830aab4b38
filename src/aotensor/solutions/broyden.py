"""Broyden's method for F(x) = 0: few Jacobians, updated after each step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aotensor.graph.variable import Variable, constant
from aotensor.ops.contract import dot, outer
from aotensor.ops.elementwise.compare import and_, eq, invert, isfinite, neq, or_, switch
from aotensor.ops.linalg.solve import inv
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.ops.scan.ifelse import ifelse
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
from aotensor.solutions.newton import line_search
from aotensor.solutions.results import Ending


def broyden(
    residual: Callable[[Variable], Variable],
    slopes: Callable[[Variable], Variable],
    x0: Variable,
    tolerance: Variable,
    max_steps: int,
) -> tuple[Variable, Variable, Variable, Variable]:
    """x, the number of steps, F(x) and the status.   Source: Broyden (1965), by the inverse of the Jacobian.

    The Jacobian is computed at the start, where a step makes no progress, and before a short step is taken as the
    last one: so the end is that of Newton's method.
    """

    def step(x: Variable, f: Variable, inverse: Variable, is_fresh: Variable) -> tuple[list[Variable], Variable]:
        inverse = ifelse(is_fresh, inv(slopes(x), on_error="nan"), inverse)
        direction = -dot(inverse, f)
        is_regular = is_all_finite(direction)
        is_close = is_short(direction, x, tolerance)
        is_last = and_(is_close, is_fresh)
        new_x, new_f, is_found = line_search(residual, x, f, direction, is_last, is_regular)
        is_found = and_(is_found, or_(invert(is_close), is_fresh))
        s, y = new_x - x, new_f - f
        moved = dot(inverse, y)
        scale = sum_of(s * moved)
        update = outer(s - moved, dot(s, inverse)) / scale
        is_good = and_(is_found, and_(neq(scale, 0), isfinite(sum_of(update))))
        status = first(
            (and_(is_found, or_(is_last, is_zero(new_f))), ending(Ending.CONVERGED)),
            (or_(is_found, invert(is_fresh)), ending(Ending.RUNNING)),
            (invert(is_regular), ending(Ending.SINGULAR)),
            (is_rounding(direction, x), ending(Ending.CONVERGED)),
            otherwise=ending(Ending.NO_PROGRESS),
        )
        new = [switch(is_found, new_x, x), switch(is_found, new_f, f), switch(is_good, inverse + update, inverse)]
        return [*new, invert(is_found)], status

    f0 = residual(x0)
    initial = outer(x0, x0) * number(0, x0)
    states = [x0, f0, initial, eq(constant(np.int64(0)), 0)]
    (x, f, *_), count, status = iterate("broyden", step, states, started(f0), max_steps)
    return x, count, f, status
