"""solve_ivp: initial value problems as SciPy states them, with derivatives by the accepted steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient.composite import OpFromGraph
from aotensor.gradient.forward import push_through
from aotensor.gradient.sweep import pull_through
from aotensor.graph.coercion import coerced, one_of
from aotensor.graph.expansion import Expansion
from aotensor.graph.op import disconnected, has_value
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Constant, Variable, Variables, as_tensor, constant
from aotensor.ops.elementwise.compare import and_, cast, eq, ge, le, switch
from aotensor.ops.shape.axes import expand_dims, matrix_transpose
from aotensor.ops.shape.join import join
from aotensor.solutions.demand import demanded
from aotensor.solutions.driver import symbol
from aotensor.solutions.formulas import ending, number
from aotensor.solutions.problem import arguments
from aotensor.solutions.results import Ending
from aotensor.solutions.trajectories.checks import times_in_span
from aotensor.solutions.trajectories.control import Control
from aotensor.solutions.trajectories.events import Events, differentiable_time, first_event, traced_events
from aotensor.solutions.trajectories.loops import integrated, repeated
from aotensor.solutions.trajectories.methods import stepper
from aotensor.solutions.trajectories.system import System, traced_system
from aotensor.solutions.trajectories.tableaus import METHODS

_NAME: Final = "solve_ivp"
_ROUNDINGS: Final = 100
"""rtol is not below so many roundings of the dtype."""


class Trajectory(NamedTuple):
    """What `solve_ivp` found.

    t: the times, (m,). y: the states at these, (n, m); nan from where the integration failed. success: bool scalar.
    status: int64 scalar, an `Ending`. steps, attempts: int64 scalars, the steps that were taken and tried.
    event, t_event, y_event: which event ended the integration, an int64 scalar, −1 for none; its time, a scalar, and
    the state there, (n,), nan for none. They are None without `events`.
    """

    t: Variable
    y: Variable
    success: Variable
    status: Variable
    steps: Variable
    attempts: Variable
    event: Variable | None = None
    t_event: Variable | None = None
    y_event: Variable | None = None


@coerced
def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    *,
    t_eval: Any,
    method: str = "RK45",
    rtol: Any = 1e-3,
    atol: Any = 1e-6,
    args: Any = (),
    events: Any = None,
    first_step: Any = None,
    max_step: Any = np.inf,
    max_steps: int = 10_000,
    raise_on_failure: bool = False,
) -> Trajectory:
    """y(t) with dy/dt = fun(t, y, *args), y(t_span[0]) = y0, at the times t_eval, integrated inside of the library.

    fun: a function of symbols, a scalar t and a vector y, that returns dy/dt as a vector or a list. It may read other
    variables. t_span: a pair (t0, t1), in either direction. y0: a real vector. t_eval: a vector of times in the span,
    in its direction; the integration ends with the last of them. method: "RK45", "Tsit5" or "DOP853", explicit;
    "Rodas4" or "Rodas5P" for stiff systems, with the exact Jacobian. rtol, atol: of the error of a step, atol also
    (n,); steps and their first size are controlled as in SciPy. events: a function, or a list, of t, y and args, whose
    scalar ends the integration when it changes sign; as in SciPy, each has the attribute terminal = True, and maybe a
    direction. What t_eval has behind an event is nan. first_step, max_step: sizes, None and inf for what
    the control finds. max_steps: the largest number of attempts. raise_on_failure: a call whose integration fails is
    an error, with status AOTENSOR_NOT_CONVERGED.

    Returns a `Trajectory` of t, y (n, m), success, status, steps and attempts; and of an event. Where a step becomes
    too small for the dtype, where fun or an event is not finite at the start, where an event is 0 there and fires, or
    after max_steps, success is false, and the remaining values and all derivatives are nan.

    Derivatives are those of the accepted steps, whose sizes are constants, and of the time of an event: forward and
    reverse, to any order, in y0, the times and all that fun and events read. Reverse mode stores the state of each
    step.

    Raises: GraphTypeError, GraphValueError for arguments of another kind; a t_eval outside of the span or out of order
    is an error at run time where it is not known before.
    """
    one_of(f"{_NAME}: method", method, tuple(METHODS))
    system, y = traced_system(_NAME, fun, y0, arguments(args))
    start, end = _span(t_span, y)
    times = _vector("t_eval", t_eval, y)
    tolerances = _tolerance("rtol", rtol, y, _ROUNDINGS * float(np.finfo(y.dtype).eps)), _tolerance("atol", atol, y)
    limits = [_positive("max_step", max_step, y)]
    limits += [] if first_step is None else [_positive("first_step", first_step, y)]
    if isinstance(max_steps, bool) or not isinstance(max_steps, int | np.integer) or max_steps < 1:
        raise GraphValueError(f"{_NAME}: max_steps is a number of steps, at least 1, not {max_steps!r}")
    times = times_in_span(times, start, end)
    given = [start, end, y, times, *tolerances, *limits]
    problem = Problem(system, method, int(max_steps), len(limits) > 1)
    if events is not None:
        return _until_event(problem, given, traced_events(_NAME, events, system, arguments(args)), raise_on_failure)
    values, status, steps, attempts = _as_op(problem, given).apply(*given, *system.parameters).outputs
    if raise_on_failure:
        values = demanded(_NAME, values, status)
    return Trajectory(times, values, eq(status, ending(Ending.CONVERGED)), status, steps, attempts)


@dataclass(frozen=True)
class Problem:
    """What does not depend on values.   has_first: is the size of the first step given?"""

    system: System
    method: str
    max_steps: int
    has_first: bool

    def control(self, values: Sequence[Variable]) -> Control:
        """The control of steps for the arguments of the op."""
        start, end, _, _, rtol, atol, longest, *first = values
        direction = switch(ge(end, start), number(1, start), number(-1, start))
        size = first[0] if self.has_first else None
        return Control(
            stepper(self.system, self.method), start, end, direction, rtol, atol, longest, size, self.max_steps
        )


def _until_event(problem: Problem, given: Sequence[Variable], events: Events, raises: bool) -> Trajectory:
    """The solution up to the first event: its time is found first, then the steps up to there are taken again."""
    system = problem.system
    slots = [symbol(x, name) for x, name in zip(given, _NAMES, strict=False)]
    inputs, values = [*slots, *system.slots, *events.slots], [*given, *system.parameters, *events.parameters]
    found, which, opened = first_event(problem.control(slots), slots[2], events, inputs, values)

    def states(time: Variable) -> Variable:
        to_there = [*slots[:3], expand_dims(time, 0), *slots[4:]]
        return _as_op(problem, to_there).apply(*to_there, *system.slots).outputs[0][:, 0]

    time = differentiable_time(found, which, events, system, states, inputs, values)
    start, end, y0, times, *_ = given
    is_event = ge(which, 0)
    stop, last = switch(is_event, time, end), switch(is_event, found, end)
    direction = switch(ge(end, start), number(1, start), number(-1, start))
    is_there = le(direction * times, direction * last)
    until = join(0, switch(is_there, times, stop), expand_dims(stop, 0))
    whole = [start, end, y0, until, *given[4:]]
    y, status, steps, attempts = _as_op(problem, whole).apply(*whole, *system.parameters).outputs
    status = switch(eq(opened, ending(Ending.CONVERGED)), status, opened)
    if raises:
        y = demanded(_NAME, y, status)
    is_good = eq(status, ending(Ending.CONVERGED))
    is_seen, none = and_(is_event, is_good), number(float("nan"), y)
    return Trajectory(
        times,
        switch(and_(is_there, eq(opened, ending(Ending.CONVERGED))), y[:, :-1], none),
        is_good, status, steps, attempts,
        switch(is_seen, which, constant(-1, dtype="int64")),
        switch(is_seen, time, none),
        switch(is_seen, y[:, -1], none),
    )  # fmt: skip


def _as_op(problem: Problem, given: Sequence[Variable]) -> OpFromGraph:
    """The integration as an op: (*given, *parameters) → (y, status, steps, attempts), with derivatives."""
    slots = [symbol(x, name) for x, name in zip(given, _NAMES, strict=False)]
    control, inputs = problem.control(slots), [*slots, *problem.system.slots]
    values, last = integrated(control, slots[2], slots[3])
    status = switch(eq(last.status, ending(Ending.RUNNING)), ending(Ending.CONVERGED), last.status)
    outputs = [matrix_transpose(values), status, last.steps, last.attempts]
    along = Subgraph(tuple(inputs), (matrix_transpose(repeated(control, slots[2], slots[3])),))
    connected = along.influences[0]
    rules = Rules(Expansion(inputs, along.outputs))
    return OpFromGraph(
        inputs,
        outputs,
        pullback=rules.pullback,
        pushforward=rules.pushforward,
        connection_pattern=[[k in connected, False, False, False] for k in range(len(inputs))],
        name=_NAME,
    )


_NAMES: Final = ("t0", "t1", "y0", "t_eval", "rtol", "atol", "max_step", "first_step")


@dataclass(frozen=True)
class Rules:
    """Derivatives along the steps; nan where the integration failed.   steps: the inputs of the op → y"""

    steps: Expansion

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        """Cotangents of all inputs."""
        terms = pull_through(self.steps, inputs, outputs[:1], [_if_found(outputs[1], cotangents[0])])
        return [_if_found(outputs[1], term) for term in terms]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        """The tangent of y; the counts have none."""
        (moved,) = push_through(self.steps, inputs, outputs[:1], tangents)
        return [_if_found(outputs[1], moved), *(disconnected() for _ in outputs[1:])]


def _if_found(status: Variable, term: Variable) -> Variable:
    if not has_value(term) or term.is_sparse:
        return term
    return switch(eq(status, ending(Ending.CONVERGED)), term, number(float("nan"), term))


def _span(t_span: Any, y: Variable) -> tuple[Variable, Variable]:
    """Raises: GraphTypeError unless it is a pair of finite scalars."""
    pair = t_span
    if isinstance(pair, Variable | np.ndarray) and pair.ndim == 1:
        pair = [pair[0], pair[1]]
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise GraphTypeError(f"{_NAME}: t_span is a pair (t0, t1)")
    start, end = (_scalar("t_span", x, y) for x in pair)
    return start, end


def _scalar(what: str, value: Any, y: Variable) -> Variable:
    x = as_tensor(value)
    if x.ndim != 0:
        raise GraphValueError(f"{_NAME}: {what} holds scalars", lines=[x.describe()])
    if isinstance(x, Constant) and not np.isfinite(x.data):
        raise GraphValueError(f"{_NAME}: {what} is finite, not {x.data}")
    return cast(x, y.dtype)


def _vector(what: str, value: Any, y: Variable) -> Variable:
    x = as_tensor(value)
    if x.ndim != 1:
        raise GraphValueError(f"{_NAME}: {what} is a vector of times", lines=[x.describe()])
    return cast(x, y.dtype)


def _tolerance(what: str, value: Any, y: Variable, least: float = 0.0) -> Variable:
    """Raises: GraphValueError for a tolerance that is known to be too small, or of another rank."""
    x = as_tensor(value)
    if x.ndim > (what == "atol"):
        kind = "a scalar, or a vector like y0" if what == "atol" else "a scalar"
        raise GraphValueError(f"{_NAME}: {what} is {kind}", lines=[x.describe()])
    if isinstance(x, Constant):
        if not np.all(x.data > 0) or not np.all(np.isfinite(x.data)):
            raise GraphValueError(f"{_NAME}: {what} is above 0 and finite, not {x.data}")
        if np.any(x.data < least):
            raise GraphValueError(f"{_NAME}: {what} is {x.data}, less than {_ROUNDINGS} roundings of {y.dtype}")
    return cast(x, y.dtype)


def _positive(what: str, value: Any, y: Variable) -> Variable:
    """Raises: GraphValueError for a size that is not above 0."""
    x = as_tensor(value)
    if x.ndim != 0 or (isinstance(x, Constant) and not x.data > 0):
        raise GraphValueError(f"{_NAME}: {what} is a number above 0", lines=[x.describe()])
    return cast(x, y.dtype)
