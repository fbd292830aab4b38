"""The loops of an integration: forward to the requested times, and again along recorded step sizes.

Forward, each time is a round of steps up to it, and memory does not depend on the number of steps. Derivatives
differentiate the steps that were accepted, as graphs of the initial state and all that f reads; their sizes are
constants.
"""

from __future__ import annotations

from aotensor.graph.variable import Variable, constant
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.arithmetic import minimum
from aotensor.ops.elementwise.compare import eq, ge, lt, switch
from aotensor.ops.gradient_control import disconnected_grad
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.cumulate import cumsum
from aotensor.ops.reduce.sort import argsort
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.scan.ifelse import ifelse
from aotensor.ops.scan.step import until
from aotensor.ops.search import searchsorted
from aotensor.ops.shape.axes import expand_dims
from aotensor.ops.shape.extents import shape_i
from aotensor.ops.shape.join import concatenate, join
from aotensor.solutions.formulas import number
from aotensor.solutions.trajectories.control import Control, State


def integrated(control: Control, y0: Variable, times: Variable) -> tuple[Variable, State]:
    """(y at the times, nan after a failure; the last state).   (m, n)"""
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
    return outputs[-1], opening.from_flat(outputs[:count])


def recorded(control: Control, y0: Variable, last: Variable) -> Variable:
    """The sizes of all attempted steps up to a time, 0 for rejected ones.   (attempts,)"""
    opening = control.opening(y0)

    def advance(*values: Variable) -> tuple[list[Variable], until]:
        s = opening.from_flat(values)
        new = control.attempt(s)
        size = switch(new.is_rejected, number(0, new.t), new.before[2])
        return [*new.flat(), size], until(control.has_reached(new, last))

    limit = constant(control.max_steps, dtype="int64")
    outputs, _ = Loop(advance, None, [*opening.flat(), None], None, limit).run(-1, "record", keep_last=True, pads=True)
    return outputs[-1]


def repeated(control: Control, y0: Variable, times: Variable) -> Variable:
    """y at the times by the recorded steps of `integrated`; step sizes have no derivative.   (m, n)

    One loop has both: a step, or a look at a time inside of the next step. So the graph of a step is there once.
    """
    t0, method = control.start, control.method
    last = join(0, expand_dims(t0, 0), times)[-1]
    sizes = disconnected_grad(recorded(control, y0, last))

    here = method.begin(t0, y0)

    def advance(
        h: Variable, is_look: Variable, target: Variable, t: Variable, y: Variable, *carry: Variable
    ) -> list[Variable]:
        made = method.step(t, y, carry, h)
        share = switch(is_look, target - t, number(0, t)) / switch(eq(h, 0), number(1, h), h)
        found = method.inside(t, y, h, made.y, made.stages, share)
        moved = zip((t + h, made.y, *made.carry), (t, y, *carry), strict=True)
        return [*(switch(is_look, then, now) for now, then in moved), found]

    steps, looks = shape_i(sizes, 0), shape_i(times, 0)
    ends = t0 + cumsum(sizes)
    place = minimum(searchsorted(control.direction * ends, control.direction * disconnected_grad(times)), steps - 1)
    order = argsort(concatenate([place * 2, arange(steps) * 2 + 1]), kind="stable")
    sequences = [
        concatenate([sizes[place], sizes])[order],
        lt(order, looks),
        concatenate([times, zeros([steps], times.dtype)])[order],
    ]
    (*_, values), _ = Loop(advance, sequences, [t0, y0, *here, None], None).run(
        -1, "solve_ivp", keep_last=True, frugal=True
    )
    return values[arange(looks) + place]
