"""Minima by Newton's method in a trust region, with products of the Hessian only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aotensor.graph.variable import Variable, constant
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.arithmetic import abs, maximum, minimum
from aotensor.ops.elementwise.compare import and_, cast, ge, gt, invert, isfinite, le, lt, or_, switch
from aotensor.ops.elementwise.elementary import sqrt
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.scan.step import until
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

ACCEPTED = 0.1
"""A step is taken if the function falls by this share of what the model foretells, at least."""


def trust_region(
    value: Callable[[Variable], Variable],
    gradient: Callable[[Variable], Variable],
    product: Callable[[Variable, Variable], Variable],
    x0: Variable,
    tolerance: Variable,
    max_steps: int,
) -> tuple[Variable, Variable, Variable, Variable]:
    """x, the number of steps, the gradient there, and the status.

    product: (x, v) → H(x)·v. It is done with a step inside of the region that is short relative to x.
    Source: Steihaug (1983); Nocedal & Wright (2006), algorithms 4.1 and 7.2.
    """

    def step(x: Variable, f: Variable, g: Variable, radius: Variable) -> tuple[list[Variable], Variable]:
        p, curved, is_inside = steihaug(lambda v: product(x, v), g, radius)
        new_x = x + p
        new_f, new_g = value(new_x), gradient(new_x)
        foretold = -sum_of(g * p) - number(0.5, x) * sum_of(p * curved)
        is_lost = le(foretold, rounding(x, 100) * maximum(abs(f), abs(new_f)))
        is_flatter = le(largest(new_g), largest(g))
        ratio = switch(is_lost, cast(is_flatter, x.dtype), (f - new_f) / foretold)
        is_finite = and_(isfinite(new_f), isfinite(sum_of(new_g)))
        ratio = switch(is_finite, ratio, number(-1, x))
        is_taken = gt(ratio, number(ACCEPTED, x))
        length = sqrt(sum_of(p * p))
        new_radius = next_radius(radius, ratio, length, is_inside)
        is_last = and_(is_inside, is_short(p, x, tolerance))
        status = first(
            (and_(is_taken, or_(is_last, is_zero(new_g))), ending(Ending.CONVERGED)),
            (is_taken, ending(Ending.RUNNING)),
            (invert(isfinite(length)), ending(Ending.NOT_FINITE)),
            (and_(is_inside, is_rounding(p, x)), ending(Ending.CONVERGED)),
            (is_short(p, x, rounding(x)), ending(Ending.NO_PROGRESS)),
            otherwise=ending(Ending.RUNNING),
        )
        taken = [switch(is_taken, now, then) for now, then in ((new_x, x), (new_f, f), (new_g, g))]
        return [*taken, new_radius], status

    f0, g0 = value(x0), gradient(x0)
    status = switch(isfinite(f0), started(g0), ending(Ending.NOT_FINITE))
    radius = maximum(number(1, x0), number(0.1, x0) * sqrt(sum_of(x0 * x0)))
    (x, _, g, _), count, status = iterate("trust-ncg", step, [x0, f0, g0, radius], status, max_steps)
    return x, count, g, status


def next_radius(radius: Variable, ratio: Variable, length: Variable, is_inside: Variable) -> Variable:
    """The radius after a step of this length.

    ratio: decrease of the function over that of the model. is_inside: does the step end inside of the region?
    """
    larger = switch(is_inside, radius, maximum(radius, 2 * length))
    return first(
        (lt(ratio, number(0.25, radius)), number(0.25, radius) * minimum(length, radius)),
        (gt(ratio, number(0.75, radius)), larger),
        otherwise=radius,
    )


def steihaug(
    product: Callable[[Variable], Variable], g: Variable, radius: Variable
) -> tuple[Variable, Variable, Variable]:
    """(p, H·p, does p solve H·p = −g approximately) for p with |p| ≤ radius and a small g·p + p·H·p/2.

    Conjugate gradients, to the edge along a direction that leaves the region or has no curvature.
    """
    size = sqrt(sum_of(g * g))
    goal = minimum(number(0.1, g), sqrt(size)) * size

    def step(*states: Variable) -> tuple[list[Variable], until]:
        p, curved, r, d, _ = states
        image = product(d)
        curvature, square = sum_of(d * image), sum_of(r * r)
        alpha = square / curvature
        is_outside = or_(
            invert(gt(curvature, 0)),
            ge(sum_of((p + alpha * d) ** 2), radius * radius),
        )
        dd, dp, pp = sum_of(d * d), sum_of(d * p), sum_of(p * p)
        edge = (-dp + sqrt(maximum(dp * dp + dd * (radius * radius - pp), number(0, g)))) / dd
        length = switch(is_outside, edge, alpha)
        new_r = r + length * image
        remaining = sum_of(new_r * new_r)
        is_done = le(sqrt(remaining), goal)
        new = [p + length * d, curved + length * image, new_r, -new_r + remaining / square * d, invert(is_outside)]
        return new, until(or_(is_outside, or_(is_done, invert(isfinite(remaining)))))

    nothing = zeros_like(g)
    steps = 2 * g.shape[0] + constant(10, dtype="int64")
    initial = [nothing, nothing, g, -g, constant(np.bool_(True))]
    (p, curved, _, _, is_inside), _ = Loop(step, None, initial, None, steps).run(-1, "steihaug", keep_last=True)
    return p, curved, is_inside
