"""Events that end an integration: the first sign change of a function of t and y, and its time as a value.

    g(τ, y(τ)) = 0        τ̇ = −(∂G/∂p·ṗ) / (∂g/∂t + ∂g/∂y·f)        G(τ, p) = g(τ, y(τ; p))

The search takes the steps of the integration, and halves the step with the sign change; the implicit function theorem
gives the derivatives, as for roots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient.composite import OpFromGraph
from aotensor.gradient.forward import Rop
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable, constant
from aotensor.graph.walk import replace
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.arithmetic import maximum, sign
from aotensor.ops.elementwise.compare import and_, cast, eq, ge, gt, invert, le, lt, or_, switch
from aotensor.ops.gradient_control import disconnected_grad
from aotensor.ops.reduce.extremum import argmin
from aotensor.ops.reduce.sums import any as any_of
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.scan.ifelse import ifelse
from aotensor.ops.scan.step import captured, until
from aotensor.ops.shape.join import stack
from aotensor.ops.shape.reshape import reshape
from aotensor.solutions.driver import symbol
from aotensor.solutions.formulas import ending, first, is_all_finite, number
from aotensor.solutions.implicit import as_op
from aotensor.solutions.problem import called
from aotensor.solutions.results import Ending
from aotensor.solutions.trajectories.control import Control
from aotensor.solutions.trajectories.system import System

_HALVINGS: Final = {"float32": 40, "float64": 70}
"""Of a step, until the place of an event in it is known to rounding."""


@dataclass(frozen=True)
class Events:
    """g(t, y), whose elements end an integration when they change sign.   output: (events,)

    t, y: the symbols of `output`. directions: above 0 for rising elements only, below 0 for falling ones, 0 for both.
    slots: stand for the values in `parameters`, which g reads.
    """

    t: Variable
    y: Variable
    output: Variable
    directions: tuple[float, ...]
    slots: tuple[Variable, ...]
    parameters: tuple[Variable, ...]

    def values(self, t: Variable, y: Variable) -> Variable:
        """g(t, y)   (events,)"""
        return replace([self.output], {self.t: t, self.y: y})[0]

    def slope(self, t: Variable, y: Variable, rate: Variable) -> Variable:
        """dg/dt along a solution, whose y changes by `rate`.   (events,)"""
        along = Rop(
            self.output, [self.t, self.y], [number(1, self.t), rate], disconnected_outputs="ignore"
        )  # tangents of the symbols
        found = along if isinstance(along, Variable) else zeros_like(self.output)
        return replace([found], {self.t: t, self.y: y})[0]

    def crossed(self, before: Variable, after: Variable) -> Variable:
        """Which elements change sign in their direction, as `scipy.integrate` says it.   bool (events,)"""
        rises, falls = and_(le(before, 0), ge(after, 0)), and_(ge(before, 0), le(after, 0))
        ways = constant(np.array(self.directions))
        return or_(and_(rises, ge(ways, 0)), and_(falls, le(ways, 0)))


def traced_events(name: str, events: Any, system: System, args: Sequence[Variable]) -> Events:
    """The events of a user's functions, of symbols of the system's dtype.

    Raises: GraphTypeError unless they are functions that return real scalars; GraphValueError for one that does not
    end the integration.
    """
    functions = list(events) if isinstance(events, list | tuple) else [events]
    if not functions:
        raise GraphValueError(f"{name}: events has no function", hint="leave it out")
    t, y = symbol(system.t, "t"), symbol(system.y, "y")
    found = []
    for function in functions:
        g = _value(name, function, [t, y, *args])
        terminal = getattr(function, "terminal", False)
        if terminal is not True and not (isinstance(terminal, int) and terminal == 1):
            title = f"{name}: events: {_title(function)} has terminal = {terminal!r:.40}, and events end integrations"
            raise GraphValueError(title, hint="set its attribute terminal = True")
        found.append(cast(g, y.dtype))
    directions = tuple(float(getattr(function, "direction", 0.0)) for function in functions)
    output = stack(found)
    outer = captured([output], [t, y])
    slots = tuple(symbol(value, value.name or "read") for value in outer)
    output = replace([output], dict(zip(outer, slots, strict=True)))[0]
    return Events(t, y, output, directions, slots, tuple(outer))


def _value(name: str, function: Callable[..., Any], given: Sequence[Variable]) -> Variable:
    g = called(name, "events", function, given)
    if g.ndim == 1 and g.tensor_type.shape == (1,):
        g = reshape(g, [])
    if g.ndim != 0 or g.is_sparse:
        title = f"{name}: events: {_title(function)} returns a scalar, not {g.type}"
        raise GraphTypeError(title, lines=[g.describe()])
    return g


def _title(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", "an event"))


def first_event(
    control: Control, y0: Variable, events: Events, inputs: Sequence[Variable], given: Sequence[Variable]
) -> tuple[Variable, Variable, Variable]:
    """The time of the first event, which of them it is, −1 for none, and whether the start is good: an `Ending`.

    They have no derivative. inputs: of the graphs of all arguments; given: the values.
    """
    op = OpFromGraph(list(inputs), list(_searched(control, y0, events)), name="first_event")
    time, which, status = op.apply(*map(disconnected_grad, given)).outputs
    return time, which, status


def _searched(control: Control, y0: Variable, events: Events) -> tuple[Variable, Variable, Variable]:
    opening = control.opening(y0)
    g0 = events.values(control.start, y0)
    opened = [*opening.flat(), g0, g0]

    def advance(*values: Variable) -> tuple[list[Variable], until]:
        *flat, before, now = values
        new = control.attempt(opening.of(flat))
        g = events.values(new.t, new.y)
        before, now = (switch(new.is_rejected, old, later) for old, later in ((before, now), (now, g)))
        is_found = and_(invert(new.is_rejected), any_of(events.crossed(before, now)))
        return [*new.flat(), before, now], until(or_(is_found, control.has_reached(new, control.end)))

    limit = constant(control.max_steps, dtype="int64")
    moved, _ = Loop(advance, None, opened, None, limit).run(-1, "steps", keep_last=True)
    *flat, before, now = ifelse(control.has_reached(opening, control.end), opened, moved)
    s = opening.of(flat)
    crossed = and_(events.crossed(before, now), and_(gt(s.steps, 0), invert(s.is_rejected)))
    t, y, h, *stages = s.before

    def halve(low: Variable, high: Variable) -> list[Variable]:
        middle = (low + high) / 2
        places = [middle[k] for k in range(len(events.directions))]
        there = stack(
            [events.values(t + x * h, control.method.inside(t, y, h, s.y, stages, x))[k] for k, x in enumerate(places)]
        )
        is_later = gt(sign(before) * sign(there), 0)
        return [switch(is_later, middle, low), switch(is_later, high, middle)]

    count = constant(_HALVINGS[y0.dtype], dtype="int64")
    (low, high), _ = Loop(halve, None, [zeros_like(before), zeros_like(before) + 1], None, count).run(
        -1, "halvings", keep_last=True
    )
    share = switch(eq(before, 0), low, high)
    which = argmin(switch(crossed, share, number(2, share)))
    is_found = any_of(crossed)
    is_at_start = and_(is_found, and_(eq(s.steps, 1), eq(before[which], 0)))
    status = first(
        (invert(is_all_finite(g0)), ending(Ending.NOT_FINITE)),
        (is_at_start, ending(Ending.EVENT_AT_START)),
        otherwise=ending(Ending.CONVERGED),
    )
    time = switch(is_found, t + share[which] * h, control.end)
    return time, switch(is_found, cast(which, "int64"), constant(-1, dtype="int64")), status


def differentiable_time(
    time: Variable, which: Variable, events: Events, system: System,
    states: Callable[[Variable], Variable], inputs: Sequence[Variable], given: Sequence[Variable],
) -> Variable:  # fmt: skip
    """The time of an event with its derivatives in all arguments.

    states: of a time, the state there, (n,), by the graphs of `inputs`, which stand for `given`.
    """
    place, chosen, found = symbol(time, "time"), symbol(which, "which"), symbol(time, "found")
    y = states(place)
    index = maximum(chosen, 0)
    value = events.values(place, y)[index]
    slope = events.slope(place, y, system.rate(place, y))[index]
    slope = switch(lt(chosen, 0), number(1, slope), slope)
    search = Subgraph((found, chosen, *inputs), (found, constant(np.bool_(True))))
    equations = Subgraph((place, chosen, *inputs), (value, slope))
    return as_op("event_time", [disconnected_grad(time)], [which, *given], search, equations)[0]
