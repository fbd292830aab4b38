"""Minima of a function of one number: by a bracket or in an interval (Brent), the last digits by its derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aotensor.graph.variable import Variable, constant
from aotensor.ops.elementwise.arithmetic import abs, maximum, minimum
from aotensor.ops.elementwise.compare import and_, eq, ge, gt, invert, isfinite, le, lt, or_, switch
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.scan.step import until
from aotensor.solutions.formulas import default_tolerance, ending, first, iterate, number
from aotensor.solutions.results import Ending

GOLDEN = float((3 - np.sqrt(5)) / 2)
GROWTHS = 100
"""A bracket is widened at most so many times, by about 1.6 each."""


def bracket_minimum(
    f: Callable[[Variable], Variable], a: Variable, b: Variable
) -> tuple[Variable, Variable, Variable, Variable]:
    """(three points of which the middle one has the smallest value, whether they were found), downhill from a and b."""
    grow = number(1 / (1 - GOLDEN), a)
    fa, fb = f(a), f(b)
    is_up = gt(fb, fa)
    a, b, fb = switch(is_up, b, a), switch(is_up, a, b), switch(is_up, fa, fb)
    c = b + grow * (b - a)

    def step(
        a: Variable, b: Variable, c: Variable, fb: Variable, fc: Variable, _: Variable
    ) -> tuple[list[Variable], until]:
        following = c + grow * (c - b)
        is_found = ge(fc, fb)
        new = [switch(is_found, then, now) for then, now in ((a, b), (b, c), (c, following), (fb, fc))]
        return [*new, switch(is_found, fc, f(following)), is_found], until(or_(is_found, invert(isfinite(following))))

    initial = [a, b, c, fb, f(c), constant(np.bool_(False))]
    steps = constant(GROWTHS, dtype="int64")
    (a, b, c, _, _, is_found), _ = Loop(step, None, initial, None, steps).run(-1, "bracket", keep_last=True)
    return a, b, c, is_found


def brent_minimum(
    f: Callable[[Variable], Variable],
    low: Variable,
    start: Variable,
    high: Variable,
    status: Variable,
    tolerance: Variable,
    max_steps: int,
) -> tuple[Variable, Variable, Variable]:
    """x in [low, high] where f is small, the number of steps, and the status.   Source: Brent (1973), chapter 5."""
    half = number(0.5, low)

    def step(*states: Variable) -> tuple[list[Variable], Variable]:
        a, b, x, w, v, fx, fw, fv, e, d = states
        middle = half * (a + b)
        least = tolerance * maximum(abs(x), tolerance) + number(float(np.finfo(low.dtype).tiny), low)
        is_done = le(abs(x - middle), 2 * least - half * (b - a))
        r, q = (x - w) * (fx - fv), (x - v) * (fx - fw)
        p, q = (x - v) * q - (x - w) * r, 2 * (q - r)
        p, q = switch(gt(q, 0), -p, p), abs(q)
        is_parabola = and_(
            gt(abs(e), least),
            and_(lt(abs(p), abs(half * q * e)), and_(gt(p, q * (a - x)), lt(p, q * (b - x)))),
        )
        rest = switch(lt(x, middle), b - x, a - x)
        new_e, new_d = switch(is_parabola, d, rest), switch(is_parabola, p / q, number(GOLDEN, low) * rest)
        u = x + new_d
        is_near_end = and_(is_parabola, or_(lt(u - a, 2 * least), lt(b - u, 2 * least)))
        new_d = switch(is_near_end, switch(lt(x, middle), least, -least), new_d)
        move = switch(ge(abs(new_d), least), new_d, switch(gt(new_d, 0), least, -least))
        u = switch(is_done, x, x + move)
        fu = f(u)
        is_lower, is_right = le(fu, fx), ge(u, x)
        new_a = switch(is_lower, switch(is_right, x, a), switch(is_right, a, u))
        new_b = switch(is_lower, switch(is_right, b, x), switch(is_right, u, b))
        is_second = and_(invert(is_lower), or_(le(fu, fw), eq(w, x)))
        is_third = or_(le(fu, fv), or_(eq(v, x), eq(v, w)))
        new_v, new_fv = (
            switch(or_(is_lower, is_second), second, switch(is_third, this, third))
            for second, this, third in ((w, u, v), (fw, fu, fv))
        )
        new_w, new_fw = (
            switch(is_lower, best, switch(is_second, this, second)) for best, this, second in ((x, u, w), (fx, fu, fw))
        )
        new_x, new_fx = switch(is_lower, u, x), switch(is_lower, fu, fx)
        result = first(
            (is_done, ending(Ending.CONVERGED)),
            (isfinite(fu), ending(Ending.RUNNING)),
            otherwise=ending(Ending.NOT_FINITE),
        )
        new = [new_a, new_b, new_x, new_w, new_v, new_fx, new_fw, new_fv, new_e, new_d]
        return [switch(is_done, then, now) for now, then in zip(new, states, strict=True)], result

    f0, zero = f(start), number(0, low)
    ends = minimum(low, high), maximum(low, high)
    status = switch(and_(eq(status, ending(Ending.RUNNING)), invert(isfinite(f0))), ending(Ending.NOT_FINITE), status)
    states = [*ends, start, start, start, f0, f0, f0, zero, zero]
    found, count, status = iterate("brent", step, states, status, max_steps)
    return found[2], count, status


def polish_minimum(
    slope: Callable[[Variable], Variable], curvature: Callable[[Variable], Variable], x: Variable, steps: int = 3
) -> Variable:
    """Improve a minimum x to a smaller |f'(x)| by short Newton steps: values determine half of the digits only."""
    reach = number(100 * default_tolerance(x.dtype), x)
    for _ in range(steps):
        move = -slope(x) / curvature(x)
        following = x + move
        is_short_enough = le(abs(move), reach * maximum(abs(x), number(1, x)))
        is_better = and_(gt(curvature(x), 0), and_(is_short_enough, lt(abs(slope(following)), abs(slope(x)))))
        x = switch(is_better, following, x)
    return x
