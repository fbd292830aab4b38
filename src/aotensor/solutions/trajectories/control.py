"""Step size control: the first step size, and repeated attempts until the error is within the tolerance.

As in SciPy's integrators: Hairer, Nørsett & Wanner (1993), sections II.4 and IV.8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.graph.variable import Variable, constant
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.arithmetic import abs, maximum, minimum
from aotensor.ops.elementwise.compare import and_, cast, eq, ge, gt, invert, le, lt, or_, switch
from aotensor.ops.gradient_control import disconnected_grad
from aotensor.solutions.formulas import ending, first, is_all_finite, number
from aotensor.solutions.results import Ending
from aotensor.solutions.trajectories.methods import Step, Stepper, scaled_size, tiny

SAFETY = 0.9
SMALLEST, LARGEST = 0.2, 10.0
"""A step is not shorter or longer than the one before by more than these factors."""


@frozen_dataclass
class Control:
    """The method, span, tolerances and limits of an integration.

    method: of each step. start, end: of the span. direction: 1, or −1 where the end is before the start. rtol, atol:
    scalars, or (n,) for atol. longest: of a step, may be inf. first: the size of the first one, None for a guess.
    max_steps: attempts.
    """

    method: Stepper
    start: Variable
    end: Variable
    direction: Variable
    rtol: Variable
    atol: Variable
    longest: Variable
    first: Variable | None
    max_steps: int

    def scale(self, y: Variable, other: Variable) -> Variable:
        """The tolerance of each component, by which errors are divided.   (n,)"""
        return self.atol + self.rtol * maximum(abs(y), abs(other))

    def opening(self, y0: Variable) -> State:
        """The state at the start of an integration.

        The size of the first step has no derivative: a size that is the root of 0 has a derivative of inf.
        """
        carry = self.method.begin(self.start, y0)
        rate = self.method.system.rate(self.start, y0)
        size = self._first_size(y0, rate) if self.first is None else minimum(self.first, abs(self.end - self.start))
        size = disconnected_grad(size)
        is_good = and_(is_all_finite(y0), is_all_finite(rate))
        status = switch(is_good, ending(Ending.RUNNING), ending(Ending.NOT_FINITE))
        none, zero = constant(np.bool_(False)), constant(0, dtype="int64")
        before = [self.start, y0, number(0, self.start), *(zeros_like(y0) for _ in range(self.method.stages))]
        return State(self.start, y0, carry, size, none, zero, zero, status, before)

    def _first_size(self, y0: Variable, f0: Variable) -> Variable:
        t0, scale = self.start, self.scale(y0, y0)
        span = abs(self.end - t0)
        d0, d1 = scaled_size([y0], scale), scaled_size([f0], scale)
        is_flat = or_(lt(d0, number(1e-5, t0)), lt(d1, number(1e-5, t0)))
        h0 = minimum(switch(is_flat, number(1e-6, t0), number(0.01, t0) * d0 / d1), span)
        f1 = self.method.system.rate(t0 + h0 * self.direction, y0 + h0 * self.direction * f0)
        d2 = scaled_size([f1 - f0], scale) / h0
        largest = maximum(d1, d2)
        by_slope = (number(0.01, t0) / largest) ** number(1 / (self.method.order + 1), t0)
        h1 = switch(le(largest, number(1e-15, t0)), maximum(number(1e-6, t0), h0 * number(1e-3, t0)), by_slope)
        guess = minimum(minimum(number(100, t0) * h0, h1), minimum(span, self.longest))
        return switch(gt(guess, 0), guess, span)

    def attempt(self, s: State) -> State:
        """The state after one attempt of a step, which is accepted if its error is within the tolerance.

        Its size, and that of the next one, have no derivative.
        """
        eps = float(np.finfo(s.t.dtype).eps)
        shortest = number(10 * eps, s.t) * abs(s.t) + tiny(s.t)
        size = switch(s.is_rejected, s.size, maximum(s.size, shortest))
        size = minimum(size, self.longest)
        is_lost = lt(size, shortest)
        ahead = s.t + size * self.direction
        is_last = ge(self.direction * (ahead - self.end), 0)
        t = switch(is_last, self.end, ahead)
        h = disconnected_grad(t - s.t)
        made: Step = self.method.step(s.t, s.y, s.carry, h)
        error = scaled_size(made.errors, self.scale(s.y, made.y))
        power = number(-1 / (self.method.order + 1), s.t)
        is_taken = and_(lt(error, 1), invert(is_lost))
        factor = number(SAFETY, s.t) * error**power
        longer = switch(eq(error, 0), number(LARGEST, s.t), minimum(number(LARGEST, s.t), factor))
        longer = switch(s.is_rejected, minimum(longer, number(1, s.t)), longer)
        shorter = switch(gt(factor, number(SMALLEST, s.t)), factor, number(SMALLEST, s.t))
        new_size = disconnected_grad(abs(h) * switch(is_taken, longer, shorter))
        attempts = s.attempts + 1
        is_full = ge(attempts, constant(self.max_steps, dtype="int64"))
        status = first(
            (is_lost, ending(Ending.NO_PROGRESS)),
            (is_full, ending(Ending.TOO_MANY_STEPS)),
            otherwise=ending(Ending.RUNNING),
        )
        kept = [switch(is_taken, now, then) for now, then in zip(made.carry, s.carry, strict=True)]
        before = [s.t, s.y, h, *made.stages]
        return State(
            switch(is_taken, t, s.t), switch(is_taken, made.y, s.y), kept, new_size, invert(is_taken), attempts,
            s.steps + cast(is_taken, "int64"), status, before,
        )  # fmt: skip

    def has_reached(self, s: State, target: Variable) -> Variable:
        """Has the integration reached a time, or ended before it?"""
        return or_(ge(self.direction * (s.t - target), 0), invert(eq(s.status, ending(Ending.RUNNING))))


@frozen_dataclass
class State:
    """An integration between two attempts.

    t, y, carry: the point reached, and what the next step begins with. size: of the next attempt. is_rejected: was
    the last one refused? attempts, steps: so far. status: an `Ending`. before: t, y, h and stages of the last
    attempt.
    """

    t: Variable
    y: Variable
    carry: list[Variable]
    size: Variable
    is_rejected: Variable
    attempts: Variable
    steps: Variable
    status: Variable
    before: list[Variable]

    def flat(self) -> list[Variable]:
        """The fields as a list, for the states of a loop."""
        counts = [self.size, self.is_rejected, self.attempts, self.steps, self.status]
        return [self.t, self.y, *self.carry, *counts, *self.before]

    def from_flat(self, values: Sequence[Variable]) -> State:
        """A state from its fields in the order of `flat`."""
        t, y, *rest = values
        carry, rest = rest[: len(self.carry)], rest[len(self.carry) :]
        size, is_rejected, attempts, steps, status, *before = rest
        return State(t, y, carry, size, is_rejected, attempts, steps, status, before)
