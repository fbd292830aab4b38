"""Roots of one equation in one unknown: by a bracket (Brent), and by the line through two points."""

from __future__ import annotations

from collections.abc import Callable

from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.arithmetic import abs, maximum, minimum, sign
from aotensor.ops.elementwise.compare import and_, eq, gt, invert, isfinite, le, lt, neq, or_, switch
from aotensor.solutions.formulas import ending, first, is_short, iterate, number, rounding
from aotensor.solutions.results import Ending


def brent_root(
    f: Callable[[Variable], Variable], a: Variable, b: Variable, tolerance: Variable, max_steps: int
) -> tuple[Variable, Variable, Variable, Variable]:
    """x between a and b with f(x) = 0, the number of steps, f(x) and the status.   Source: Brent (1973), chapter 4.

    f(a) and f(b) have different signs, or one of them is 0. The bracket shrinks by half at least every other time.
    """
    half, two = number(0.5, a), number(2, a)

    def step(*states: Variable) -> tuple[list[Variable], Variable]:
        old, x, other, f_old, fx, f_other, previous, last = states
        is_new = and_(neq(f_old, 0), and_(neq(fx, 0), neq(sign(f_old), sign(fx))))
        other, f_other = switch(is_new, old, other), switch(is_new, f_old, f_other)
        previous, last = switch(is_new, x - old, previous), switch(is_new, x - old, last)
        is_swapped = lt(abs(f_other), abs(fx))
        old, x, other = switch(is_swapped, x, old), switch(is_swapped, other, x), switch(is_swapped, x, other)
        f_old, fx, f_other = (
            switch(is_swapped, fx, f_old),
            switch(is_swapped, f_other, fx),
            switch(is_swapped, fx, f_other),
        )
        least = rounding(a, 2) * abs(x) + half * tolerance
        middle = half * (other - x)
        is_done = or_(eq(fx, 0), le(abs(middle), least))
        line = -fx * (x - old) / (fx - f_old)
        slope_old, slope_other = (f_old - fx) / (old - x), (f_other - fx) / (other - x)
        parabola = -fx * (f_other * slope_other - f_old * slope_old) / (slope_other * slope_old * (f_other - f_old))
        trial = switch(eq(old, other), line, parabola)
        bound = minimum(abs(previous), number(3, a) * abs(middle) - least)
        is_tried = and_(gt(abs(previous), least), lt(abs(fx), abs(f_old)))
        is_short_enough = and_(is_tried, lt(two * abs(trial), bound))
        previous, last = switch(is_short_enough, last, middle), switch(is_short_enough, trial, middle)
        move = switch(gt(abs(last), least), last, switch(gt(middle, 0), least, -least))
        following = switch(is_done, x, x + move)
        value = f(following)
        status = first(
            (is_done, ending(Ending.CONVERGED)),
            (isfinite(value), ending(Ending.RUNNING)),
            otherwise=ending(Ending.NOT_FINITE),
        )
        new = [switch(is_done, old, x), following, other, switch(is_done, f_old, fx), value, f_other, previous, last]
        return new, status

    fa, fb = f(a), f(b)
    status = first(
        (invert(and_(isfinite(fa), isfinite(fb))), ending(Ending.NOT_FINITE)),
        (or_(eq(fa, 0), eq(fb, 0)), ending(Ending.CONVERGED)),
        (eq(sign(fa), sign(fb)), ending(Ending.NO_BRACKET)),
        otherwise=ending(Ending.RUNNING),
    )
    is_first = eq(fa, 0)
    x, fx, old, f_old = (
        switch(is_first, a, b),
        switch(is_first, fa, fb),
        switch(is_first, b, a),
        switch(is_first, fb, fa),
    )
    zero = number(0, a)
    states = [old, x, zero, f_old, fx, zero, zero, zero]
    found, count, status = iterate("brentq", step, states, status, max_steps)
    return found[1], count, found[4], status


def secant(
    f: Callable[[Variable], Variable], x0: Variable, x1: Variable, tolerance: Variable, max_steps: int
) -> tuple[Variable, Variable, Variable, Variable]:
    """x with f(x) = 0, the number of steps, f(x) and the status, by the line through the last two points."""

    def step(old: Variable, x: Variable, f_old: Variable, fx: Variable) -> tuple[list[Variable], Variable]:
        move = -fx * (x - old) / (fx - f_old)
        following = x + move
        value = f(following)
        status = first(
            (invert(isfinite(move)), ending(Ending.SINGULAR)),
            (invert(isfinite(value)), ending(Ending.NOT_FINITE)),
            (or_(eq(value, 0), is_short(move, x, tolerance)), ending(Ending.CONVERGED)),
            otherwise=ending(Ending.RUNNING),
        )
        is_finite = isfinite(value)
        new = [switch(is_finite, now, then) for now, then in ((x, old), (following, x), (fx, f_old), (value, fx))]
        return new, status

    f0, f1 = f(x0), f(x1)
    status = first(
        (invert(and_(isfinite(f0), isfinite(f1))), ending(Ending.NOT_FINITE)),
        (or_(eq(f0, 0), eq(f1, 0)), ending(Ending.CONVERGED)),
        otherwise=ending(Ending.RUNNING),
    )
    is_first = eq(f0, 0)
    states = [x0, switch(is_first, x0, x1), f0, switch(is_first, f0, f1)]
    (_, x, _, fx), count, status = iterate("secant", step, states, status, max_steps)
    return x, count, fx, status


def ordered(a: Variable, b: Variable) -> tuple[Variable, Variable]:
    """The smaller and the larger of two scalars."""
    return minimum(a, b), maximum(a, b)
