"""The loops of an integration: forward to the requested times, and again along the same steps for derivatives.

Forward, each time is a round of steps up to it, and memory does not depend on the number of steps. For derivatives, a
first loop stores the time after each attempt, and the steps between these times are differentiated, as graphs of the
initial state and all that f reads; their sizes are constants. So all repetitions of a step have the same size: a size
that is computed again may differ, since two compilations of a step round differently, and at tight tolerances errors
are roundings. Reverse mode repeats a round from its start, in segments of √n of its steps: it stores the states between
segments, and those of the steps of one segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt, prod
from typing import Final

import numpy as np

from aotensor.graph.variable import Variable, constant
from aotensor.ops.elementwise.arithmetic import maximum, minimum
from aotensor.ops.elementwise.compare import and_, eq, ge, invert, or_, switch
from aotensor.ops.gradient_control import disconnected_grad
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.scan.ifelse import ifelse
from aotensor.ops.scan.step import until
from aotensor.solutions.formulas import number
from aotensor.solutions.trajectories.control import Control, State


def integrated(control: Control, y0: Variable, times: Variable) -> tuple[Variable, State]:
    """(y at the times, nan after a failure; the last state)   (m, n)"""
    opening = control.opening(y0)
    count = len(opening.flat())

    def round_to(target: Variable, *values: Variable) -> list[Variable]:
        s = opening.from_flat(values)

        def advance(*inner: Variable) -> tuple[list[Variable], until]:
            new = control.attempt(opening.from_flat(inner))
            return new.flat(), until(control.has_reached(new, target))

        limit = constant(control.max_steps, dtype="int64")
        advanced, _ = Loop(advance, None, list(values), None, limit).run(-1, "steps", keep_last=True)
        found = opening.from_flat(ifelse(control.has_reached(s, target), list(values), advanced))
        t, y, h, *stages = found.before
        share = (target - t) / switch(eq(h, 0), number(1, h), h)
        inside = control.method.inside(t, y, h, found.y, stages, share)
        inside = switch(eq(h, 0), found.y, inside)
        is_there = ge(control.direction * (found.t - target), 0)
        return [*found.flat(), switch(is_there, inside, number(float("nan"), y))]

    outputs, _ = Loop(round_to, [times], [*opening.flat(), None], None).run(-1, "solve_ivp", keep_last=True)
    return outputs[count], opening.from_flat(outputs[:count])


def attempted(control: Control, y0: Variable) -> tuple[Variable, Variable]:
    """(The time after each attempt of a step, their number, at least 1)   (max_steps,), int64

    A rejected attempt repeats the time before it. Times after the last attempt are not defined.
    """
    opening = control.opening(y0)

    def advance(*values: Variable) -> tuple[list[Variable], until]:
        s = opening.from_flat(values)
        new = control.attempt(s)
        t = switch(control.has_reached(s, control.end), s.t, new.t)
        return [*new.flat(), t], until(control.has_reached(new, control.end))

    limit = constant(control.max_steps, dtype="int64")
    loop = Loop(advance, None, [*opening.flat(), None], None, limit)
    outputs, _ = loop.run(-1, "attempts", keep_last=True, pads=True, keeps_rows=True)
    return outputs[-1], opening.from_flat(outputs[:-1]).attempts


def repeated(control: Control, y0: Variable, times: Variable, ends: Variable, count: Variable) -> Variable:
    """y at the times by the steps that `attempted` returns, to be differentiated.   (m, n)

    A round is a loop over turns: a step, or, where the next time is inside of the step, a look at it that does not
    move on and ends the round. So the graph of a step is there once.
    """
    zero = constant(0, dtype="int64")
    opening = [zero, y0, *control.method.begin(control.start, y0)]
    size = len(opening)
    limits = _lengths(control.max_steps + 1, opening)
    direction = disconnected_grad(control.direction)
    shift = control.start - disconnected_grad(control.start)  # 0, with the derivative of all times in the start

    def turn(target: Variable, values: Sequence[Variable]) -> list[Variable]:
        attempt, y, *carry, before, is_open = values
        last = ends[maximum(minimum(attempt, count) - 1, zero)]
        here, there = switch(eq(attempt, 0), control.start, last), ends[minimum(attempt, count - 1)]
        here, h = disconnected_grad(here) + shift, disconnected_grad(there - here)
        made = control.method.step(here, y, carry, h)
        is_over = ge(attempt, count)
        is_there = or_(is_over, and_(invert(eq(h, 0)), ge(direction * (there - target), 0)))
        share = switch(is_there, target - here, number(0, here)) / switch(eq(h, 0), number(1, h), h)
        found = control.method.inside(here, y, h, made.y, made.stages, share)
        stays = or_(is_there, invert(is_open))
        moved = [attempt + 1, made.y, *made.carry]
        kept = [switch(stays, old, new) for old, new in zip(values, moved, strict=False)]
        return [*kept, switch(is_open, found, before), and_(is_open, invert(is_there))]

    def turns(target: Variable, values: Sequence[Variable], level: int) -> list[Variable]:
        if level == len(limits):
            return turn(target, values)

        def advance(*inner: Variable) -> tuple[list[Variable], until]:
            new = turns(target, inner, level + 1)
            return new, until(invert(new[-1]))

        limit = constant(limits[level], dtype="int64")
        label = "steps" if level == len(limits) - 1 else "segments"
        loop = Loop(advance, None, list(values), None, limit)
        return loop.run(-1, label, keep_last=True, frugal=True, pads=True)[0]

    def round_to(target: Variable, *start: Variable) -> list[Variable]:
        found = turns(target, [*start, start[1], constant(True, dtype="bool")], 0)
        return found[: size + 1]

    outputs, _ = Loop(round_to, [times], [*opening, None], None).run(-1, "solve_ivp", keep_last=True, frugal=True)
    return outputs[size]


_WHOLE: Final = 500_000
"""Bytes of the states of all turns, up to which a loop has no segments: they repeat its turns once more.

Two equations and the usual 10,000 steps need 490,000. `memory=` divides such a loop where it must be smaller."""


def _lengths(turns: int, states: Sequence[Variable]) -> list[int]:
    """The largest numbers of segments, and of turns in one, for a number of turns: about its root."""
    shapes = [x.static_shape for x in states]
    known = [prod(n for n in shape if n is not None) for shape in shapes if None not in shape]
    row = sum(n * np.dtype(x.dtype).itemsize for n, x in zip(known, states, strict=False))
    if len(known) == len(states) and turns * row <= _WHOLE:
        return [turns]
    inner = isqrt(turns - 1) + 1
    return [-(-turns // inner), inner]
