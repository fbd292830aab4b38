"""Events of an integration: sign changes of functions of t and y, and their times as values.

    g(τ, y(τ)) = 0        τ̇ = −(∂G/∂p·ṗ) / (∂g/∂t + ∂g/∂y·f)        G(τ, p) = g(τ, y(τ; p))

The search takes the steps of the integration, and halves each step with a sign change; the implicit function theorem
gives the derivatives, as for roots. An event may end the integration at its first or a later sign change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient.composite import OpFromGraph
from aotensor.gradient.forward import Rop
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable, constant
from aotensor.graph.vectorize import vectorize_graph
from aotensor.graph.walk import replace
from aotensor.ops.create import full, zeros, zeros_like
from aotensor.ops.elementwise.arithmetic import maximum, sign
from aotensor.ops.elementwise.compare import and_, cast, eq, ge, gt, invert, le, lt, or_, switch
from aotensor.ops.gradient_control import disconnected_grad
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.extremum import argmin
from aotensor.ops.reduce.extremum import min as min_of
from aotensor.ops.reduce.sums import any as any_of
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.scan.ifelse import ifelse
from aotensor.ops.scan.step import captures, until
from aotensor.ops.shape.extents import shape_i
from aotensor.ops.shape.join import concatenate, stack
from aotensor.ops.shape.reshape import reshape
from aotensor.solutions.driver import symbol
from aotensor.solutions.formulas import ending, first, is_all_finite, number
from aotensor.solutions.implicit import as_op
from aotensor.solutions.problem import called
from aotensor.solutions.results import Ending
from aotensor.solutions.trajectories.control import Control, State
from aotensor.solutions.trajectories.system import System

_HALVINGS: Final = {"float32": 40, "float64": 70}
"""Of a step, until the place of an event in it is known to rounding."""


@frozen_dataclass
class Events:
    """Event functions g(t, y), each of whose elements is an event.   output: (events,)

    t, y: the symbols of `output`. directions: above 0 for rising elements only, below 0 for falling ones, 0 for both.
    limits: the sign change that ends the integration, 0 for none. capacities: how many times are stored.
    slots: stand for the values in `parameters`, which g reads.
    """

    t: Variable
    y: Variable
    output: Variable
    directions: tuple[float, ...]
    limits: tuple[int, ...]
    capacities: tuple[int, ...]
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

    def sign_changes(self, before: Variable, after: Variable) -> Variable:
        """Mask of the elements that change sign in their direction, as in `scipy.integrate`.   bool (events,)"""
        rises, falls = and_(le(before, 0), ge(after, 0)), and_(ge(before, 0), le(after, 0))
        ways = constant(np.array(self.directions))
        return or_(and_(rises, ge(ways, 0)), and_(falls, le(ways, 0)))


def traced_events(name: str, events: Any, system: System, args: Sequence[Variable], capacity: int | None) -> Events:
    """The events of a user's functions, of symbols of the system's dtype.

    capacity: how many times are stored of an event that does not end the integration.

    Raises: GraphTypeError unless they are functions that return real scalars; GraphValueError for another `terminal`,
    or one without an end or a capacity.
    """
    functions = list(events) if isinstance(events, list | tuple) else [events]
    if not functions:
        raise GraphValueError(f"{name}: events is empty", hint="leave it out")
    t, y = symbol(system.t, "t"), symbol(system.y, "y")
    found = [cast(_value(name, function, [t, y, *args]), y.dtype) for function in functions]
    limits = tuple(_limit(name, function) for function in functions)
    for function, limit in zip(functions, limits, strict=True):
        if not limit and capacity is None:
            title = f"{name}: events: {_title(function)} does not end the integration, so max_events is needed"
            hint = "max_events=: how many of its times are stored; or set its attribute terminal = True"
            raise GraphValueError(title, hint=hint)
    directions = tuple(float(getattr(function, "direction", 0.0)) for function in functions)
    capacities = tuple(limit or int(capacity or 0) for limit in limits)
    output = stack(found)
    outer = captures([output], [t, y])
    slots = tuple(symbol(value, value.name or "read") for value in outer)
    output = replace([output], dict(zip(outer, slots, strict=True)))[0]
    return Events(t, y, output, directions, limits, capacities, slots, tuple(outer))


def _limit(name: str, function: Callable[..., Any]) -> int:
    """The sign change that ends the integration, counted from 1, by the attribute `terminal`; 0 for none."""
    terminal = getattr(function, "terminal", None)
    if terminal is None:
        return 0
    if not isinstance(terminal, bool | np.bool_ | int | np.integer) or terminal < 0:
        title = f"{name}: events: {_title(function)} has terminal = {terminal!r:.40}"
        raise GraphValueError(title, hint="True, False, or the number of the sign change that ends the integration")
    return int(terminal)


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


@frozen_dataclass
class Crossings:
    """Sign changes that a search found, without derivatives.

    stop: the time where the integration ends. which: the event that ended it, −1 for none. status: of the start, an
    `Ending`. counts: of each event, (events,). times: of each event, (capacity,); `stop` where there are fewer.
    """

    stop: Variable
    which: Variable
    status: Variable
    counts: Variable
    times: tuple[Variable, ...]

    @property
    def is_stored(self) -> Variable:
        """Mask of the stored times that belong to sign changes, events in order.   bool (times,)"""
        stored = [lt(arange(shape_i(x, 0)), self.counts[k]) for k, x in enumerate(self.times)]
        return concatenate(stored)


def searched(
    control: Control, y0: Variable, events: Events, inputs: Sequence[Variable], given: Sequence[Variable]
) -> Crossings:
    """The events of an integration.   inputs: of the graphs of all arguments; given: the values."""
    op = OpFromGraph(list(inputs), _search(control, y0, events), name="events")
    stop, which, status, counts, *times = op.apply(*map(disconnected_grad, given)).outputs
    return Crossings(stop, which, status, counts, tuple(times))


def _search(control: Control, y0: Variable, events: Events) -> list[Variable]:
    """(stop, which, status, counts, times) of `Crossings`."""
    opening = control.opening(y0)
    g0, limits = events.values(control.start, y0), constant(np.array(events.limits))
    nothing = [control.end, constant(-1, dtype="int64"), zeros_like(limits)]
    lists = [full([size], control.end) for size in events.capacities]
    opened = [*opening.flat(), g0, zeros_like(limits), *nothing, *lists]
    size = len(opening.flat())

    def advance(*values: Variable) -> tuple[list[Variable], until]:
        before, shared, stop, which, counts, *times = values[size:]
        new = control.attempt(opening.from_flat(values[:size]))
        g = switch(new.is_rejected, before, events.values(new.t, new.y))
        is_old = and_(eq(before, 0), gt(shared, 0))  # the end of the last step, where it was counted
        crossed = and_(and_(events.sign_changes(before, g), invert(is_old)), invert(new.is_rejected))
        share = ifelse(any_of(crossed), _shares(control, events, new, before), zeros_like(before))
        is_end = and_(crossed, and_(gt(limits, 0), ge(counts + crossed, limits)))
        is_found, late = any_of(is_end), number(2, share)
        first_end = switch(is_end, share, late)
        is_kept = and_(crossed, le(share, switch(is_found, min_of(first_end), late)))
        t, _, h, *_ = new.before
        places = t + share * h
        times = [
            switch(and_(is_kept[k], eq(arange(shape_i(x, 0)), counts[k])), places[k], x) for k, x in enumerate(times)
        ]
        ended = argmin(first_end)
        here = [switch(is_found, places[ended], stop), switch(is_found, cast(ended, "int64"), which)]
        shared = switch(new.is_rejected, shared, cast(and_(is_kept, eq(g, 0)), "int64"))
        told = [g, shared, *here, counts + is_kept, *times]
        return [*new.flat(), *told], until(or_(is_found, control.has_reached(new, control.end)))

    limit = constant(control.max_steps, dtype="int64")
    moved, _ = Loop(advance, None, opened, None, limit).run(-1, "steps", keep_last=True)
    last = ifelse(control.has_reached(opening, control.end), opened, moved)
    s, (_, _, stop, which, counts, *times) = opening.from_flat(last[:size]), last[size:]
    is_at_start = and_(ge(which, 0), and_(eq(s.steps, 1), eq(g0[maximum(which, 0)], 0)))
    is_at_start = and_(is_at_start, eq(stop, control.start))
    status = first(
        (invert(is_all_finite(g0)), ending(Ending.NOT_FINITE)),
        (is_at_start, ending(Ending.EVENT_AT_START)),
        otherwise=ending(Ending.CONVERGED),
    )
    padded = [switch(lt(arange(shape_i(x, 0)), counts[k]), x, stop) for k, x in enumerate(times)]
    return [stop, which, status, counts, *padded]


def _shares(control: Control, events: Events, s: State, before: Variable) -> Variable:
    """The share of the last step at which each event changes its sign, by bisection.   (events,), in [0, 1]"""
    t, y, h, *stages = s.before

    def halve(low: Variable, high: Variable) -> list[Variable]:
        middle = (low + high) / 2
        places = [middle[k] for k in range(len(events.limits))]
        there = stack(
            [events.values(t + x * h, control.method.inside(t, y, h, s.y, stages, x))[k] for k, x in enumerate(places)]
        )
        is_later = gt(sign(before) * sign(there), 0)
        return [switch(is_later, middle, low), switch(is_later, high, middle)]

    count = constant(_HALVINGS[y.dtype], dtype="int64")
    (low, high), _ = Loop(halve, None, [zeros_like(before), zeros_like(before) + 1], None, count).run(
        -1, "halvings", keep_last=True
    )
    return switch(eq(before, 0), low, high)


def differentiable_times(
    found: Crossings, events: Events, system: System,
    states: Callable[[Variable], Variable], inputs: Sequence[Variable], given: Sequence[Variable],
) -> Variable:  # fmt: skip
    """All times of events, one event after the other, with their derivatives in all arguments.   (times,)

    states: of such times, the states there, (times, n), by the graphs of `inputs`, which stand for `given`.
    """
    all_times, is_stored = concatenate(list(found.times)), found.is_stored
    places, stored, start = symbol(all_times, "times"), symbol(is_stored, "stored"), symbol(all_times, "found")
    rows = states(places)
    slope = events.slope(events.t, events.y, system.rate(events.t, events.y))
    values, slopes, first_of = [], [], 0
    for k, size in enumerate(events.capacities):
        part = slice(first_of, first_of + size)
        pair = vectorize_graph([events.output[k], slope[k]], {events.t: places[part], events.y: rows[part]})
        values.append(pair[0] + zeros([size], pair[0].dtype))
        slopes.append(pair[1] + zeros([size], pair[1].dtype))
        first_of += size
    value = switch(stored, concatenate(values), number(0, places))
    matrix = switch(stored, concatenate(slopes), number(1, places))
    search = Subgraph((start, stored, *inputs), (start, constant(np.bool_(True))))
    equations = Subgraph((places, stored, *inputs), (value, matrix))
    return as_op("event_times", [disconnected_grad(all_times)], [is_stored, *given], search, equations)[0]
