"""Minima of functions of a vector whose elements have bounds: a trust region and projected steps.

Each step has two parts. The first one goes along the gradient, bent at the bounds, until the model of the function has
fallen enough; it says which elements stay at their bounds. The second one minimises the model in the others.
Source: Lin & Moré (1999), TRON.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.graph.variable import Variable, constant
from aotensor.ops.contract import dot
from aotensor.ops.create import zeros, zeros_like
from aotensor.ops.diagonal import diag, diagonal, tril
from aotensor.ops.elementwise.arithmetic import abs, maximum, minimum
from aotensor.ops.elementwise.compare import and_, cast, eq, ge, gt, invert, isfinite, le, lt, or_, switch
from aotensor.ops.elementwise.elementary import sqrt
from aotensor.ops.linalg.solve import inv
from aotensor.ops.reduce.sums import all as all_of
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.scan.step import until
from aotensor.ops.shape.axes import expand_dims, transpose
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
from aotensor.solutions.trust_region import ACCEPTED, next_radius, steihaug

FALL = 0.01
"""The model falls by this share of its slope times the step, at least."""
TRIALS = 30
"""The largest number of reductions of a step."""


class Curvature(ABC):
    """The second derivatives of a model of the function."""

    @abstractmethod
    def states(self, x: Variable, g: Variable) -> list[Variable]:
        """The initial states of the approximation, from x with the gradient g."""

    @abstractmethod
    def product(self, x: Variable, known: Sequence[Variable]) -> Callable[[Variable], Variable]:
        """v → the matrix at x times v."""

    @abstractmethod
    def updated(self, known: Sequence[Variable], s: Variable, y: Variable) -> list[Variable]:
        """The states after a step s that changed the gradient by y."""


@frozen_dataclass
class ExactHessian(Curvature):
    """The Hessian of the function.   times: (x, v) → H(x)·v"""

    times: Callable[[Variable, Variable], Variable]

    def states(self, x: Variable, g: Variable) -> list[Variable]:
        return []

    def product(self, x: Variable, known: Sequence[Variable]) -> Callable[[Variable], Variable]:
        return lambda v: self.times(x, v)

    def updated(self, known: Sequence[Variable], s: Variable, y: Variable) -> list[Variable]:
        return []


@frozen_dataclass
class GaussNewton(Curvature):
    """JᵀJ of residuals, the Hessian of half their squares without second derivatives.   slopes: x → J(x), (m, n)"""

    slopes: Callable[[Variable], Variable]

    def states(self, x: Variable, g: Variable) -> list[Variable]:
        return []

    def product(self, x: Variable, known: Sequence[Variable]) -> Callable[[Variable], Variable]:
        matrix = self.slopes(x)
        return lambda v: dot(dot(matrix, v), matrix)

    def updated(self, known: Sequence[Variable], s: Variable, y: Variable) -> list[Variable]:
        return []


@frozen_dataclass
class LimitedMemory(Curvature):
    """The matrix of L-BFGS, of the last steps.   size: how many; memory 2·size·n

    θ·I − Wᵀ·M⁻¹·W with the rows θ·s and y in W. Source: Byrd, Nocedal & Schnabel (1994), theorem 2.3.
    """

    size: int

    def states(self, x: Variable, g: Variable) -> list[Variable]:
        """Rows of zeros, for steps and changes of the gradient, oldest first; and θ, for a step of a tenth of x."""
        rows = zeros([self.size, shape_i(x, 0)], x.dtype)
        return [rows, rows, number(10, x) * largest(g) / maximum(largest(x), number(1, x))]

    def product(self, x: Variable, known: Sequence[Variable]) -> Callable[[Variable], Variable]:
        s, y, theta = known
        crossed = dot(s, transpose(y))
        none = cast(eq(diagonal(crossed), 0), x.dtype)  # rows without a step do not count
        below = tril(crossed, -1)
        upper = join(1, theta * dot(s, transpose(s)) + diag(none), below)
        lower = join(1, transpose(below), -diag(diagonal(crossed) + none))
        inverse = inv(join(0, upper, lower), on_error="nan")
        rows = join(0, theta * s, y)
        return lambda v: theta * v - dot(dot(inverse, dot(rows, v)), rows)

    def updated(self, known: Sequence[Variable], s: Variable, y: Variable) -> list[Variable]:
        sy, yy = sum_of(s * y), sum_of(y * y)
        is_curved = gt(sy, rounding(s) * yy)
        rows = [join(0, old[1:], expand_dims(new, 0)) for old, new in zip(known[:2], (s, y), strict=True)]
        return [switch(is_curved, now, then) for now, then in zip((*rows, yy / sy), known, strict=True)]


@frozen_dataclass
class Box:
    """Bounds of each element.   lower, upper: (n,), may be infinite"""

    lower: Variable
    upper: Variable

    def nearest(self, x: Variable) -> Variable:
        """The point of the box next to x."""
        return minimum(maximum(x, self.lower), self.upper)

    def slope(self, x: Variable, g: Variable) -> Variable:
        """A gradient without the elements that push x out of the box: 0 at a minimum."""
        found = switch(le(x, self.lower), minimum(g, number(0, g)), g)
        return switch(ge(x, self.upper), maximum(found, number(0, g)), found)

    def equation(self, x: Variable, g: Variable) -> Variable:
        """0 at a minimum: the distance of each element at a bound from that, and the gradient of the others."""
        return switch(le(x, self.lower), x - self.lower, switch(ge(x, self.upper), x - self.upper, g))

    def is_open(self, x: Variable) -> Variable:
        """Which elements are strictly between their bounds?"""
        return and_(gt(x, self.lower), lt(x, self.upper))


@frozen_dataclass
class Model:
    """g·s + s·H·s/2 for steps s from x.   product: v → H·v"""

    box: Box
    x: Variable
    g: Variable
    product: Callable[[Variable], Variable]

    def change(self, s: Variable) -> tuple[Variable, Variable]:
        """The model at a step, and H·s."""
        curved = self.product(s)
        return sum_of(self.g * s) + number(0.5, s) * sum_of(s * curved), curved

    def along_gradient(self, radius: Variable) -> tuple[Variable, Variable, Variable]:
        """A step along the gradient within a radius, H·s and the model there, which has fallen enough."""
        x, g = self.x, self.g
        slope = self.box.slope(x, g)
        square, curvature = sum_of(slope * slope), sum_of(slope * self.product(slope))
        longest, best = radius / sqrt(square), square / curvature
        length = switch(gt(curvature, 0), minimum(longest, best), longest)

        def shorter(t: Variable, *_: Variable) -> tuple[list[Variable], until]:
            s = self.box.nearest(x - t * g) - x
            change, curved = self.change(s)
            return [number(0.25, x) * t, s, curved, change], until(le(change, number(FALL, x) * sum_of(g * s)))

        initial = [length, zeros_like(x), zeros_like(x), number(0, x)]
        steps = constant(TRIALS, dtype="int64")
        (_, s, curved, change), _ = Loop(shorter, None, initial, None, steps).run(-1, "gradient", keep_last=True)
        return s, curved, change

    def beyond(
        self, s: Variable, curved: Variable, change: Variable, radius: Variable
    ) -> tuple[Variable, Variable, Variable, Variable]:
        """A step that goes on after s in the elements that s leaves open; H·s, the model, and: is it its minimum?"""
        place, slope, none = self.x + s, self.g + curved, zeros_like(s)
        is_open = self.box.is_open(place)
        within = switch(is_open, slope, none)
        has_none = is_zero(within)
        w, _, is_inside = steihaug(lambda v: switch(is_open, self.product(v), none), within, radius)
        w = switch(has_none, none, w)
        noise = rounding(s, 10) * abs(change)

        def shorter(t: Variable, *_: Variable) -> tuple[list[Variable], until]:
            whole = self.box.nearest(place + t * w) - self.x
            value, image = self.change(whole)
            is_low = le(value, change + number(FALL, s) * sum_of(slope * (whole - s)) + noise)
            return [number(0.5, s) * t, whole, image, value, is_low], until(is_low)

        no = constant(np.bool_(False))
        steps = constant(TRIALS, dtype="int64")
        (t, whole, image, value, is_low), _ = Loop(
            shorter, None, [number(1, s), s, curved, change, no], None, steps
        ).run(-1, "projection", keep_last=True)
        is_whole = or_(and_(is_low, ge(t, number(0.5, s))), is_short(w, self.x, rounding(s, 100)))
        is_full = and_(is_whole, or_(is_inside, has_none))
        return switch(is_low, whole, s), switch(is_low, image, curved), switch(is_low, value, change), is_full


def bounded_minimum(
    value: Callable[[Variable], Variable],
    gradient: Callable[[Variable], Variable],
    curvature: Curvature,
    x0: Variable,
    box: Box,
    tolerance: Variable,
    max_steps: int,
) -> tuple[Variable, Variable, Variable, Variable]:
    """x in the box, the number of steps, the gradient there without the elements that push out, and the status.

    It is done with a step inside of the region that is short relative to x. A box whose bounds are in the wrong order,
    or nan, has the status NO_BRACKET.
    """

    def step(
        x: Variable, f: Variable, g: Variable, radius: Variable, *known: Variable
    ) -> tuple[list[Variable], Variable]:
        model = Model(box, x, g, curvature.product(x, known))
        p, _, change, is_full = model.beyond(*model.along_gradient(radius), radius)
        new_x = box.nearest(x + p)
        new_f, new_g = value(new_x), gradient(new_x)
        new_slope = box.slope(new_x, new_g)
        is_lost = le(-change, rounding(x, 100) * maximum(abs(f), abs(new_f)))
        by_slopes = number(0.5, x) * sum_of((g + new_g) * p)  # where the values differ by rounding only
        ratio = switch(is_lost, by_slopes, new_f - f) / change
        is_finite = and_(isfinite(new_f), isfinite(sum_of(new_g)))
        ratio = switch(is_finite, ratio, number(-1, x))
        is_taken = gt(ratio, number(ACCEPTED, x))
        length = sqrt(sum_of(p * p))
        new_radius = next_radius(radius, ratio, length, is_full)
        is_last = and_(is_full, is_short(p, x, tolerance))
        status = first(
            (and_(is_taken, or_(is_last, is_zero(new_slope))), ending(Ending.CONVERGED)),
            (invert(isfinite(length)), ending(Ending.NOT_FINITE)),
            (and_(invert(is_taken), and_(is_full, is_rounding(p, x))), ending(Ending.CONVERGED)),
            (is_short(p, x, rounding(x)), ending(Ending.NO_PROGRESS)),
            otherwise=ending(Ending.RUNNING),
        )
        learned = curvature.updated(known, new_x - x, new_g - g)
        learned = [switch(is_finite, now, then) for now, then in zip(learned, known, strict=True)]
        taken = [switch(is_taken, now, then) for now, then in ((new_x, x), (new_f, f), (new_g, g))]
        return [*taken, new_radius, *learned], status

    start = box.nearest(x0)
    f0, g0 = value(start), gradient(start)
    status = switch(isfinite(f0), started(switch(isfinite(g0), box.slope(start, g0), g0)), ending(Ending.NOT_FINITE))
    status = switch(all_of(le(box.lower, box.upper)), status, ending(Ending.NO_BRACKET))
    radius = maximum(number(1, x0), number(0.1, x0) * sqrt(sum_of(start * start)))
    states = [start, f0, g0, radius, *curvature.states(start, g0)]
    (x, _, g, *_), count, status = iterate("bounded", step, states, status, max_steps)
    return x, count, box.slope(x, g), status
