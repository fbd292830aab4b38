"""The loops of an integration: forward to the requested times, and again from one time to the next for derivatives.

Forward, each time is a round of steps up to it, and memory does not depend on the number of steps. Each round also
stores what its first step starts with. Derivatives differentiate the steps that were accepted, as graphs of the
initial state and all that f reads; their sizes are constants. Reverse mode repeats a round from its start, in segments
of √n of its steps: it stores the states between segments, and those of the steps of one segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt, prod
from typing import Final

import numpy as np

from aotensor.graph.variable import Variable, constant
from aotensor.ops.elementwise.compare import and_, eq, ge, invert, or_, switch
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.scan.ifelse import ifelse
from aotensor.ops.scan.step import until
from aotensor.solutions.formulas import ending, number
from aotensor.solutions.results import Ending
from aotensor.solutions.trajectories.control import Control, State


def integrated(control: Control, y0: Variable, times: Variable) -> tuple[Variable, State, list[Variable]]:
    """(y at the times, nan after a failure; the last state; `State.start` before each time).   (m, n), …, (m, …)"""
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
        return [*found.flat(), switch(is_there, inside, number(float("nan"), y)), *s.start]

    infos = [*opening.flat(), None, *[None] * len(opening.start)]
    outputs, _ = Loop(round_to, [times], infos, None).run(-1, "solve_ivp", keep_last=True)
    return outputs[count], opening.from_flat(outputs[:count]), outputs[count + 1 :]


def repeated(control: Control, y0: Variable, times: Variable) -> tuple[Variable, list[Variable]]:
    """(y at the times, `State.start` before each time) by the steps of `integrated`, to be differentiated.

    A round is a loop over turns: a step, or, where the next time is inside of the step, a look at it that does not
    move on and ends the round. So the graph of a step is there once.
    """
    control = control.without_derivatives()
    opening = control.opening(y0)
    limits = _lengths(control.max_steps + 1, opening.start)
    size = len(opening.start)

    def turn(target: Variable, values: Sequence[Variable]) -> list[Variable]:
        *start, before, is_open = values
        s = State.from_start(start)
        new = control.attempt(s)
        _, _, h, *stages = new.before
        is_there = and_(invert(new.is_rejected), ge(control.direction * (new.t - target), 0))
        share = switch(is_there, target - s.t, number(0, s.t)) / switch(eq(h, 0), number(1, h), h)
        found = control.method.inside(s.t, s.y, h, new.y, stages, share)
        t = switch(new.is_rejected, s.t, s.t + h)
        stays = or_(is_there, invert(is_open))
        moved = [t, new.y, new.size, new.is_rejected, *new.carry]
        kept = [switch(stays, old, now) for old, now in zip(start, moved, strict=True)]
        is_lost = eq(new.status, ending(Ending.NO_PROGRESS))
        goes_on = and_(is_open, invert(or_(is_there, is_lost)))
        return [*kept, switch(is_open, found, before), goes_on]

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
        return [*found[:size], found[size], *start]

    infos = [*opening.start, None, *[None] * size]
    outputs, _ = Loop(round_to, [times], infos, None).run(-1, "solve_ivp", keep_last=True, frugal=True)
    return outputs[size], outputs[size + 1 :]


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
