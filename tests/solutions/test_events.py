"""Events of solve_ivp against SciPy, closed forms and differences of SciPy's solutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import Rop
from aotensor.graph.vectorize import vectorize_graph

ENDING = at.integrate.Ending


def ends(function: Callable[..., Any], direction: float = 0.0, terminal: Any = True) -> Any:
    """A function as an event."""
    event: Any = lambda *args: function(*args)  # noqa: E731  (attributes of its own)
    event.terminal, event.direction = terminal, direction
    return event


@pytest.mark.shows("tensor/26-solve_ivp-events")
@pytest.mark.unlimited("closed forms are the oracle", "ci")
def test_a_ball_in_closed_form() -> None:
    """Thrown from the ground, where the height is 0, too: value, first and second derivatives of the time."""
    g, v = at.dscalars("g", "v")
    ball = at.integrate.solve_ivp(
        lambda t, y: [y[1], -g], (0.0, 10.0), at.stack([0 * v, v]), t_eval=[0.1, 1.0, 5.0],
        events=ends(lambda t, y: y[0], -1), rtol=1e-8, atol=1e-10,
    )  # fmt: skip
    first = aot.grad(ball.t_event, v)
    f = aot.function([g, v], [ball.y, ball.event, ball.t_event, first], name="ball")
    more = [Rop(ball.t_event, g, at.constant(1.0)), aot.grad(first, g), ball.y_event[1], aot.grad(ball.y_event[1], v)]
    a, b = 9.81, 9.0
    y, event, time, slope = f(a, b)
    found = [time, slope, *aot.function([g, v], more, name="more").reference(a, b)]
    wanted = [[0.1 * b - a / 200, b - a / 2, np.nan], [b - 0.1 * a, b - a, np.nan]]
    np.testing.assert_allclose(y, wanted, rtol=1e-9)
    np.testing.assert_allclose(found, [2 * b / a, 2 / a, -2 * b / a**2, -2 / a**2, -b, -1], rtol=1e-9)
    assert event == 0


def swing(t: Any, y: Any, k: Any, xp: Any) -> list[Any]:
    return [y[1], -k * xp.sin(y[0]) - 0.1 * y[1] * t]


@pytest.mark.shows("tensor/26-solve_ivp-events")
@pytest.mark.parametrize(("method", "rtol"), [("RK45", 1e-8), ("Rodas5P", 1e-6)])
def test_the_first_of_several_is_that_of_scipy(method: str, rtol: float) -> None:
    """Events that read t, y and args; the gradient of a value behind by differences of SciPy's."""
    k = at.dscalar("k")
    low, late = (lambda t, y, k: y[0] + 0.5 * k), (lambda t, y, k: y[1] + 0.2 * t - 1.5)
    found = at.integrate.solve_ivp(
        lambda t, y, k: swing(t, y, k, at), (0.0, 8.0), [1.0, 0.5], t_eval=[0.5, 7.0], args=(k,), method=method,
        events=[ends(low), ends(late, 1)], rtol=rtol, atol=rtol / 10,
    )  # fmt: skip
    cost = found.t_event * found.y_event[1] + found.y[0, 0]
    f = aot.function([k], [found.event, found.t_event, found.y_event, found.success, cost, aot.grad(cost, k)])

    def scipys(k: float) -> Any:
        made = scipy.integrate.solve_ivp(
            lambda t, y, k: swing(t, y, k, np), (0, 8), [1.0, 0.5], args=(k,), dense_output=True,
            method="DOP853", events=[ends(low), ends(late, 1)], rtol=1e-12, atol=1e-13,
        )  # fmt: skip
        which = int(len(made.t_events[0]) == 0)
        time, state = made.t_events[which][0], made.y_events[which][0]
        return which, time, state, time * state[1] + made.sol(0.5)[0]

    which, time, state, value = scipys(1.2)
    event, t_event, y_event, success, own, slope = f.reference(1.2)
    assert success and event == which
    np.testing.assert_allclose([t_event, *y_event, own], [time, *state, value], rtol=100 * rtol)
    step = 1e-4
    np.testing.assert_allclose(slope, (scipys(1.2 + step)[3] - scipys(1.2 - step)[3]) / (2 * step), rtol=1000 * rtol)


@pytest.mark.shows("tensor/26-solve_ivp-events")
def test_none_later_and_backward() -> None:
    """No event leaves all as without; a span may go backward; directions are those of the integration."""
    k, end = at.dscalars("k", "end")
    found = at.integrate.solve_ivp(
        lambda t, y: -k * y, (1.0, end), [2.0], t_eval=at.stack([end]), events=ends(lambda t, y: y[0] - 3, 1),
        rtol=1e-9, atol=1e-12,
    )  # fmt: skip
    f = aot.function([k, end], [found.y, found.event, found.t_event, aot.grad(found.y.sum(), k), found.success])
    y, event, time, slope, success = f.reference(0.7, 2.0)
    np.testing.assert_allclose([y[0, 0], slope], [2 * np.exp(-0.7), -2 * np.exp(-0.7)], rtol=1e-7)
    assert event == -1 and np.isnan(time) and success
    y, event, time, slope, success = f.reference(0.7, -1.0)
    np.testing.assert_allclose(time, 1 - np.log(1.5) / 0.7, rtol=1e-8)
    assert event == 0 and np.isnan(y).all() and success and slope == 0


@pytest.mark.shows("tensor/26-solve_ivp-events")
def test_samples_have_events_of_their_own() -> None:
    k, rates = at.dscalar("k"), at.dvector("rates")
    found = at.integrate.solve_ivp(
        lambda t, y: -k * y, (0.0, 4.0), [2.0], t_eval=[4.0], events=ends(lambda t, y: y[0] - 1), rtol=1e-9, atol=1e-12
    )
    time, event = vectorize_graph([found.t_event, found.event], {k: rates})
    times, events = aot.function([rates], [time, event]).reference(np.array([0.1, 0.5, 2.0]))
    np.testing.assert_allclose(times, [np.nan, np.log(2) / 0.5, np.log(2) / 2], rtol=1e-8)
    assert events.tolist() == [-1, 0, 0]


@pytest.mark.shows("tensor/26-solve_ivp-events")
def test_starts_that_are_refused() -> None:
    """An event that is 0 at the start and fires, or is not finite there: success is false, the rest nan."""
    for event, status in (
        (lambda t, y: y[0] - 1, ENDING.EVENT_AT_START),
        (lambda t, y: at.log(-y[0]), ENDING.NOT_FINITE),
    ):
        found = at.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], t_eval=[0.0, 1.0], events=ends(event))
        y, told, success, number, time = aot.function(
            [], [found.y, found.status, found.success, found.event, found.t_event]
        ).reference()
        assert np.isnan(y).all() and ENDING(int(told)) == status and not success
        assert number == -1 and np.isnan(time)
    asked = at.integrate.solve_ivp(
        lambda t, y: -y, (0.0, 1.0), [1.0], t_eval=[1.0], events=ends(lambda t, y: y[0] - 1), raise_on_failure=True
    )
    with pytest.raises(ArithmeticError, match="solve_ivp: an event is 0 at the start"):
        aot.function([], asked.y).reference()


@pytest.mark.shows("tensor/26-solve_ivp-events")
@pytest.mark.parametrize(
    ("events", "error", "message"),
    [
        (lambda t, y: y[0], GraphValueError, "does not end the integration, so max_events is needed"),
        (ends(lambda t, y: y[0], terminal=-3), GraphValueError, "terminal = -3"),
        (ends(lambda t, y: y), GraphTypeError, "returns a scalar, not float64"),
        (ends(lambda t, y: None), GraphTypeError, "events returned None"),
        (ends(lambda t, y: y[0] * 1j), GraphTypeError, "events must be real"),
        ([], GraphValueError, "events is empty"),
        (3, GraphTypeError, "events must be a function, not int"),
    ],
)
def test_events_that_do_not_fit(events: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"solve_ivp: .*{message}"):
        at.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0, 2.0], t_eval=[1.0], events=events)
