"""Events that do not end an integration, or a later time does: against SciPy and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
from test_events import ENDING, ends, swing

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.gradient import Rop
from aotensor.graph.vectorize import vectorize_graph


@pytest.mark.shows("tensor/26-solve_ivp-event-times")
@pytest.mark.parametrize("end", [9.0, -6.0], ids=["forward", "backward"])
def test_times_are_those_of_scipy(end: float) -> None:
    """Three events at once, one of which ends the integration at its second sign change: the same steps and times."""
    k = at.dscalar("k")
    low, fast, late = (lambda t, y, k: y[0]), (lambda t, y, k: y[1] - 0.3 * k), (lambda t, y, k: y[0] + 0.1 * t)
    events = [ends(low, -1, False), ends(fast, 0, None), ends(late, 0, 2)]
    times = np.linspace(0, end, 10)
    found = at.integrate.solve_ivp(
        lambda t, y, k: swing(t, y, k, at), (0.0, end), [1.0, 0.5], t_eval=times, args=(k,), events=events,
        max_events=6, rtol=1e-6, atol=1e-8,
    )  # fmt: skip
    assert found.t_events is not None and found.y_events is not None
    f = aot.function([k], [found.y, found.event, found.event_counts, *found.t_events, *found.y_events])
    y, event, counts, *lists = f.reference(2.0)
    made = scipy.integrate.solve_ivp(
        lambda t, y, k: swing(t, y, k, np), (0, end), [1.0, 0.5], t_eval=times, args=(2.0,), events=events,
        rtol=1e-6, atol=1e-8,
    )  # fmt: skip
    assert counts.tolist() == [len(x) for x in made.t_events] and counts[2] == 2 and event == 2 and min(counts) > 0
    for j, count in enumerate(counts):
        np.testing.assert_allclose(lists[j][:count], made.t_events[j], rtol=1e-10)
        np.testing.assert_allclose(lists[3 + j][:count], made.y_events[j], rtol=1e-9, atol=1e-10)
        assert np.isnan(lists[j][count:]).all() and np.isnan(lists[3 + j][count:]).all()
    reached = made.y.shape[1]
    np.testing.assert_allclose(y[:, :reached], made.y, rtol=1e-9, atol=1e-12)
    assert np.isnan(y[:, reached:]).all() and 3 < reached < 10


@pytest.mark.shows("tensor/26-solve_ivp-event-times")
@pytest.mark.unlimited("closed forms are the oracle", "ci")
def test_derivatives_in_closed_form() -> None:
    """sin(w·t) is 0 at j·π/w, at the start too; its derivatives forward, reverse and twice."""
    w = at.dscalar("w")
    found = at.integrate.solve_ivp(
        lambda t, y: [y[1], -(w**2) * y[0]], (0.0, 3.0), at.stack([0 * w, w]), t_eval=[3.0], method="Tsit5",
        events=ends(lambda t, y: y[0], 0, False), max_events=3, rtol=1e-7, atol=1e-9,
    )  # fmt: skip
    assert found.t_events is not None and found.y_events is not None and found.event_counts is not None
    rate, one = 1.5, at.constant(1.0)
    every, counts = aot.function([w], [found.t_events[0], found.event_counts], name="zeros_of_sine")(rate)
    np.testing.assert_allclose(every, [0, np.pi / rate, np.nan], rtol=1e-6, atol=1e-12)
    assert counts.tolist() == [2]
    time, speed = found.t_events[0][1], found.y_events[0][1, 1]
    first = aot.grad(time, w)
    outputs = [first, Rop(time, w, one), speed, aot.grad(speed, w), Rop(first, w, one)]
    last = np.pi / rate
    wanted = [-last / rate, -last / rate, -rate, -1, 2 * last / rate**2]
    np.testing.assert_allclose(aot.function([w], outputs).reference(rate), wanted, rtol=1e-5)


@pytest.mark.shows("tensor/26-solve_ivp-event-times")
def test_more_times_than_are_stored() -> None:
    """The first ones are stored, success is false; a count of the user's own is exact, samples have their own."""
    w, rates = at.dscalar("w"), at.dvector("rates")

    def solved(**options: Any) -> Any:
        return at.integrate.solve_ivp(
            lambda t, y: [w, -y[1]], (0.0, 7.0), [0.0, 1.0], t_eval=[7.0],
            events=ends(lambda t, y: at.sin(y[0] + 0.5), 0, False), max_step=0.5, max_events=2, **options,
        )  # fmt: skip

    found = solved()
    outputs = [found.t_events[0], found.event_counts, found.status, found.y[0, 0]]
    times, counts, status, last = aot.function([rates], vectorize_graph(outputs, {w: rates})).reference([0.5, 1.0, 2.0])
    wanted = [[(np.pi - 0.5) / 0.5, np.nan], [np.pi - 0.5, 2 * np.pi - 0.5], [np.pi / 2 - 0.25, np.pi - 0.25]]
    np.testing.assert_allclose(times, wanted, rtol=1e-5)
    assert counts.ravel().tolist() == [1, 2, 4]
    assert status.tolist() == [ENDING.CONVERGED, ENDING.CONVERGED, ENDING.TOO_MANY_EVENTS]
    np.testing.assert_allclose(last, [3.5, 7, 14])
    asked = aot.function([w], solved(raise_on_failure=True).y)
    with pytest.raises(ArithmeticError, match="solve_ivp: an event has more sign changes than max_events"):
        asked.reference(2.0)


@pytest.mark.shows("tensor/26-solve_ivp-event-times")
def test_a_step_that_ends_on_a_sign_change_counts_it_once() -> None:
    """Steps of 1/4 meet t = 1/2 and 1: SciPy counts each twice."""
    found = at.integrate.solve_ivp(
        lambda t, y: 0 * y, (0.0, 2.0), [1.0], t_eval=[2.0], first_step=0.25, max_step=0.25,
        events=[ends(lambda t, y: t - 0.5, 0, False), ends(lambda t, y: t - 1, 1, False)], max_events=3,
    )  # fmt: skip
    assert found.t_events is not None
    counts, *times = aot.function([], [found.event_counts, *found.t_events]).reference()
    assert counts.tolist() == [1, 1]
    np.testing.assert_array_equal(times, [[0.5, np.nan, np.nan], [1, np.nan, np.nan]])


@pytest.mark.shows("tensor/26-solve_ivp-event-times")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_events": 3}, "max_events needs events"),
        ({"max_events": 0, "events": ends(lambda t, y: y[0])}, "at least 1, not 0"),
        ({"events": ends(lambda t, y: y[0], terminal=1.5)}, "terminal = 1.5"),
    ],
)
def test_numbers_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphValueError, match=f"solve_ivp: .*{message}"):
        at.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], t_eval=[1.0], **options)
