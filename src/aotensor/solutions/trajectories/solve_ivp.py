"""solve_ivp: initial value problems as SciPy states them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from aotensor.errors import GraphTypeError, GraphValueError, UnsupportedError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.variable import Constant, Variable, as_tensor, constant
from aotensor.ops.elementwise.arithmetic import maximum
from aotensor.ops.elementwise.compare import and_, cast, eq, ge, gt, le, switch
from aotensor.ops.gradient_control import disconnected_grad
from aotensor.ops.reduce.sort import argsort
from aotensor.ops.reduce.sums import any as any_of
from aotensor.ops.shape.axes import expand_dims, matrix_transpose
from aotensor.ops.shape.extents import shape_i
from aotensor.ops.shape.join import join
from aotensor.solutions.convergence_check import check_converged
from aotensor.solutions.driver import symbol
from aotensor.solutions.formulas import ending, number
from aotensor.solutions.jacobians.slopes import MATRICES, chosen_slopes
from aotensor.solutions.problem import arguments
from aotensor.solutions.results import Ending
from aotensor.solutions.trajectories.checks import times_in_span
from aotensor.solutions.trajectories.derivatives import ADJOINTS, NAME, NAMES, Problem, check_continuous, integration
from aotensor.solutions.trajectories.events import Events, differentiable_times, searched, traced_events
from aotensor.solutions.trajectories.system import traced_system
from aotensor.solutions.trajectories.tableaus import METHODS, Rosenbrock, RungeKutta

_ROUNDINGS: Final = 100
"""rtol is not below so many roundings of the dtype."""


class Trajectory(NamedTuple):
    """The result of `solve_ivp`.

    t: the times, (m,). y: the states at these, (n, m); nan from where the integration failed. success: bool scalar.
    status: int64 scalar, an `Ending`. steps, attempts: int64 scalars, the steps that were taken and tried.
    event, t_event, y_event: which event ended the integration, an int64 scalar, −1 for none; its time, a scalar, and
    the state there, (n,), nan for none. t_events, y_events: of each event, its times, (k,), and the states there,
    (k, n), nan behind the last one; k is 1 for terminal = True, and max_events for an event that ends nothing.
    event_counts: the sign changes of each event, (events,) int64. All are None without `events`.
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
    t_events: tuple[Variable, ...] | None = None
    y_events: tuple[Variable, ...] | None = None
    event_counts: Variable | None = None


@coerced
def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    *,
    t_eval: Any,
    method: str = "RK45",
    jacobian: str | None = None,
    jac_sparsity: Any = None,
    rtol: Any = 1e-3,
    atol: Any = 1e-6,
    args: Any = (),
    events: Any = None,
    max_events: int | None = None,
    first_step: Any = None,
    max_step: Any = np.inf,
    max_steps: int = 10_000,
    raise_on_failure: bool = False,
    adjoint: str = "discrete",
) -> Trajectory:
    """y(t) with dy/dt = fun(t, y, *args), y(t_span[0]) = y0, at the times t_eval, integrated inside of the library.

    fun: a function of symbols, a scalar t and a vector y, that returns dy/dt as a vector or a list. It may read other
    variables. t_span: a pair (t0, t1), in either direction. y0: a real vector. t_eval: a vector of times in the span,
    in its direction; the integration ends with the last of them. method: "RK45", "Tsit5" or "DOP853", explicit;
    "Rodas4" or "Rodas5P" for stiff systems, with the exact Jacobian. jacobian: of these two, "dense", the default, or
    "sparse", for a y0 of known extent: the pattern follows from the graph, entries by colouring, and each step
    factorises one sparse matrix. jac_sparsity: a SciPy matrix (n, n) whose stored entries are that pattern. rtol, atol:
    of the error of a step, atol also (n,); steps and their first size are controlled as in SciPy. events: a function,
    or a list, of t, y and args, whose scalar is an event where it changes sign. As in SciPy, each may have the
    attributes direction, and terminal: True, or the number of the sign change that ends the integration; y is nan at
    the times of t_eval after it. max_events: how many times are stored of each event that ends nothing. first_step,
    max_step: sizes, None and inf for what the control finds. max_steps: the largest number of attempts.
    raise_on_failure: a call whose integration fails is an error, with status AOTENSOR_NOT_CONVERGED.

    Returns a `Trajectory` of t, y (n, m), success, status, steps and attempts; and of events. Where a step becomes
    too small for the dtype, where fun or an event is not finite at the start, where a terminal event is 0 there and
    fires, or after max_steps, success is false, and the remaining values and all derivatives are nan. With more sign
    changes than max_events, success is false, and all values that are stored are good.

    Derivatives are those of the accepted steps, whose sizes are constants, and of the times of events: forward and
    reverse, to any order, in y0, the times and all that fun and events read. Reverse mode stores states between
    segments of steps, and repeats one segment at a time: about 2·√max_steps states, and max_steps times.
    adjoint="continuous": reverse mode integrates the adjoint equation backward instead, from each time to the one
    before, with the same method and tolerances. It stores the states at t_eval only, and agrees with forward mode to
    the tolerance; without events.

    Raises: GraphTypeError, GraphValueError for arguments of another kind; a t_eval outside of the span or out of order
    is an error at run time where it is not known before. UnsupportedError for a continuous adjoint with events, with
    a sparse Jacobian, or of a fun that reads sparse or complex values.
    """
    check_choice(f"{NAME}: method", method, tuple(METHODS))
    system, y = traced_system(NAME, fun, y0, arguments(args))
    if isinstance(METHODS[method], RungeKutta) and not (jacobian is None and jac_sparsity is None):
        implicit = ", ".join(name for name, table in METHODS.items() if isinstance(table, Rosenbrock))
        raise GraphValueError(
            f"{NAME}: method {method!r} uses no Jacobian: jacobian and jac_sparsity are for {implicit}"
        )
    slopes = chosen_slopes(NAME, "y0", system.y, jacobian, jac_sparsity, MATRICES)
    start, end = _span(t_span, y)
    times = _vector("t_eval", t_eval, y)
    tolerances = _tolerance("rtol", rtol, y, _ROUNDINGS * float(np.finfo(y.dtype).eps)), _tolerance("atol", atol, y)
    limits = [_positive("max_step", max_step, y)]
    limits += [] if first_step is None else [_positive("first_step", first_step, y)]
    if isinstance(max_steps, bool) or not isinstance(max_steps, int | np.integer) or max_steps < 1:
        raise GraphValueError(f"{NAME}: max_steps must be a number of steps, at least 1, not {max_steps!r}")
    if max_events is not None:
        if max_events < 1:
            raise GraphValueError(f"{NAME}: max_events must be a number of times, at least 1, not {max_events!r}")
        if events is None:
            raise GraphValueError(f"{NAME}: max_events needs events")
    times = times_in_span(times, start, end)
    given = [start, end, y, times, *tolerances, *limits]
    check_choice(f"{NAME}: adjoint", adjoint, ADJOINTS)
    problem = Problem(system, method, slopes, int(max_steps), len(limits) > 1, adjoint == "continuous")
    if problem.is_continuous:
        check_continuous(system)
        if slopes.kind == "sparse":
            raise UnsupportedError(
                f'{NAME}: adjoint="continuous" has no sparse Jacobian', hint='use adjoint="discrete", or a dense one'
            )
    if events is not None:
        if problem.is_continuous:
            raise UnsupportedError(
                f'{NAME}: adjoint="continuous" has no times of events', hint='leave out events, or adjoint="discrete"'
            )
        traced = traced_events(NAME, events, system, arguments(args), max_events)
        return _with_events(problem, given, traced, raise_on_failure)
    values, status, steps, attempts, *_ = integration(problem, given).apply(*given, *system.parameters).outputs
    if raise_on_failure:
        values = check_converged(NAME, values, status)
    return Trajectory(times, values, eq(status, ending(Ending.CONVERGED)), status, steps, attempts)


def _with_events(problem: Problem, given: Sequence[Variable], events: Events, raises: bool) -> Trajectory:
    """The solution and its events: a first integration finds the times, a second one repeats its steps with
    derivatives.
    """
    system = problem.system
    slots = [symbol(x, name) for x, name in zip(given, NAMES, strict=False)]
    inputs, values = [*slots, *system.slots, *events.slots], [*given, *system.parameters, *events.parameters]
    found = searched(problem.control(slots), slots[2], events, inputs, values)
    start, end, _, times, *_ = given

    def states(places: Variable) -> Variable:
        return _in_order(problem, slots, places, system.slots)[0]

    all_times = differentiable_times(found, events, system, states, inputs, values)
    is_event = ge(found.which, 0)
    ends = constant(np.cumsum(events.capacities) - 1)  # where the sign change that may end the integration is stored
    time = all_times[ends[maximum(found.which, 0)]]
    stop = switch(is_event, time, end)
    direction = switch(ge(end, start), number(1, start), number(-1, start))
    is_there = le(direction * times, direction * found.stop)
    places = join(0, switch(is_there, times, stop), all_times, expand_dims(stop, 0))
    rows, status, steps, attempts = _in_order(problem, given, places, system.parameters)
    status = switch(eq(found.status, ending(Ending.CONVERGED)), status, found.status)
    is_good, none = eq(status, ending(Ending.CONVERGED)), number(float("nan"), rows)
    is_full = and_(is_good, any_of(gt(found.counts, constant(np.array(events.capacities)))))
    status = switch(is_full, ending(Ending.TOO_MANY_EVENTS), status)
    if raises:
        rows = check_converged(NAME, rows, status)
    opened = eq(found.status, ending(Ending.CONVERGED))
    is_stored, is_seen = and_(found.is_stored, opened), and_(is_event, is_good)
    count, total = shape_i(times, 0), sum(events.capacities)
    event_times = switch(is_stored, all_times, none)
    event_rows = switch(expand_dims(is_stored, 1), rows[count : count + total], none)
    parts = list(pairwise([0, *np.cumsum(events.capacities).tolist()]))
    return Trajectory(
        times,
        switch(and_(is_there, opened), matrix_transpose(rows[:count]), none),
        eq(status, ending(Ending.CONVERGED)), status, steps, attempts,
        switch(is_seen, found.which, constant(-1, dtype="int64")),
        switch(is_seen, time, none),
        switch(is_seen, rows[-1], none),
        tuple(event_times[a:b] for a, b in parts),
        tuple(event_rows[a:b] for a, b in parts),
        found.counts,
    )  # fmt: skip


def _in_order(
    problem: Problem, given: Sequence[Variable], places: Variable, parameters: Sequence[Variable]
) -> list[Variable]:
    """States at times in any order, (times, n), with status, steps and attempts.   given: as for `integration`"""
    start, end, y0, _, *rest = given
    direction = switch(ge(end, start), number(1, start), number(-1, start))
    order = argsort(direction * disconnected_grad(places), kind="stable")
    to_there = [start, end, y0, places[order], *rest]
    y, status, steps, attempts, *_ = integration(problem, to_there).apply(*to_there, *parameters).outputs
    return [matrix_transpose(y)[argsort(order, kind="stable")], status, steps, attempts]


def _span(t_span: Any, y: Variable) -> tuple[Variable, Variable]:
    """Convert t_span to two scalars.   Raises: GraphTypeError unless it is a pair of finite scalars."""
    pair = t_span
    if isinstance(pair, Variable | np.ndarray) and pair.ndim == 1:
        pair = [pair[0], pair[1]]
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise GraphTypeError(f"{NAME}: t_span must be a pair (t0, t1)")
    start, end = (_scalar("t_span", x, y) for x in pair)
    return start, end


def _scalar(what: str, value: Any, y: Variable) -> Variable:
    x = as_tensor(value)
    if x.ndim != 0:
        raise GraphValueError(f"{NAME}: {what} must hold scalars", lines=[x.describe()])
    if isinstance(x, Constant) and not np.isfinite(x.data):
        raise GraphValueError(f"{NAME}: {what} must be finite, not {x.data}")
    return cast(x, y.dtype)


def _vector(what: str, value: Any, y: Variable) -> Variable:
    x = as_tensor(value)
    if x.ndim != 1:
        raise GraphValueError(f"{NAME}: {what} must be a vector of times", lines=[x.describe()])
    return cast(x, y.dtype)


def _tolerance(what: str, value: Any, y: Variable, least: float = 0.0) -> Variable:
    """Convert a tolerance.   Raises: GraphValueError if it is known to be too small, or has another rank."""
    x = as_tensor(value)
    if x.ndim > (what == "atol"):
        kind = "a scalar, or a vector like y0" if what == "atol" else "a scalar"
        raise GraphValueError(f"{NAME}: {what} must be {kind}", lines=[x.describe()])
    if isinstance(x, Constant):
        if not np.all(x.data > 0) or not np.all(np.isfinite(x.data)):
            raise GraphValueError(f"{NAME}: {what} must be above 0 and finite, not {x.data}")
        if np.any(x.data < least):
            raise GraphValueError(
                f"{NAME}: {what} must be at least {_ROUNDINGS} roundings of {y.dtype}, found {x.data}"
            )
    return cast(x, y.dtype)


def _positive(what: str, value: Any, y: Variable) -> Variable:
    """Convert a step size.   Raises: GraphValueError if it is not positive."""
    x = as_tensor(value)
    if x.ndim != 0 or (isinstance(x, Constant) and not x.data > 0):
        raise GraphValueError(f"{NAME}: {what} must be a number above 0", lines=[x.describe()])
    return cast(x, y.dtype)
