"""Initial value problems against SciPy at tight tolerances, published values, closed forms and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import Rop, jacobian
from aotensor.graph.vectorize import vectorize_graph

METHODS = ["RK45", "Tsit5", "DOP853", "Rodas4", "Rodas5P"]
TIMES = np.array([0.0, 0.3, 1.0, 2.5])


def pendulum(t: Any, y: Any, k: Any, xp: Any) -> list[Any]:
    """A driven, damped pendulum, which depends on time."""
    return [y[1], -k * xp.sin(y[0]) - 0.1 * y[1] * t + xp.sin(3 * t)]


def exact(y0: Any, k: float, times: Any, start: float = 0.0) -> np.ndarray:
    """By SciPy's most exact method."""
    found = scipy.integrate.solve_ivp(
        pendulum, (start, 3.0), y0, t_eval=times, method="DOP853", rtol=1e-13, atol=1e-13, args=(k, np)
    )
    return np.asarray(found.y)


@pytest.fixture(scope="module")
def swing() -> Callable[[str], Any]:
    """By method: y, its steps and attempts, the sum of squares, derivatives of that in y0, k and the times."""
    made: dict[str, Any] = {}

    def of(method: str) -> Any:
        if method not in made:
            y0, k, times = at.dvector("y0", shape=(2,)), at.dscalar("k"), at.dvector("times")
            found = at.integrate.solve_ivp(
                lambda t, y: pendulum(t, y, k, at), (0.0, 3.0), y0, t_eval=times, method=method, rtol=1e-9, atol=1e-10
            )
            cost = (found.y**2).sum()
            slopes = aot.grad(cost, [y0, k, times])
            outputs = [found.y, found.success, found.steps, found.attempts, cost, *slopes]
            made[method] = aot.function([y0, k, times], outputs, name=f"swing_{method}")
        return made[method]

    return of


@pytest.mark.shows("tensor/26-solve_ivp", "tensor/26-solve_ivp-derivatives")
@pytest.mark.parametrize("method", METHODS)
def test_values_and_gradients(swing: Callable[[str], Any], method: str) -> None:
    y0, k, step = np.array([1.0, 0.5]), 2.0, 1e-4
    f = swing(method)
    y, success, steps, attempts, _, for_y0, for_k, for_times = f(y0, k, TIMES)
    assert success and 0 < steps <= attempts
    np.testing.assert_allclose(y, exact(y0, k, TIMES), rtol=0, atol=3e-7)

    def value(y0: Any, k: float, times: Any) -> float:
        return float((exact(y0, k, times) ** 2).sum())

    unit = np.eye(4)
    by_y0 = [(value(y0 + step * d, k, TIMES) - value(y0 - step * d, k, TIMES)) / (2 * step) for d in unit[:2, :2]]
    by_k = (value(y0, k + step, TIMES) - value(y0, k - step, TIMES)) / (2 * step)
    by_times = [(value(y0, k, TIMES + step * d) - value(y0, k, TIMES - step * d)) / (2 * step) for d in unit[1:]]
    np.testing.assert_allclose(for_y0, by_y0, rtol=2e-6)
    np.testing.assert_allclose(for_k, by_k, rtol=2e-6)
    np.testing.assert_allclose(for_times[1:], by_times, rtol=1e-5, atol=1e-6)


@pytest.mark.shows("tensor/26-solve_ivp")
@pytest.mark.parametrize("method", ["RK45", "DOP853"])
def test_steps_are_those_of_scipy(method: str) -> None:
    y0, times = np.array([2.0, 0.0]), np.linspace(0, 20, 11)

    def stiffening(t: Any, y: Any) -> list[Any]:
        return [y[1], 5 * (1 - y[0] ** 2) * y[1] - y[0]]

    found = at.integrate.solve_ivp(stiffening, (0.0, 20.0), y0, t_eval=times, method=method, rtol=1e-6, atol=1e-8)
    y, attempts = aot.function([], [found.y, found.attempts])()
    scipys = scipy.integrate.solve_ivp(stiffening, (0, 20), y0, t_eval=times, method=method, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(y, scipys.y, rtol=0, atol=1e-10)
    stages = {"RK45": 6, "DOP853": 12}[method]
    assert abs(stages * attempts - scipys.nfev) < 0.2 * scipys.nfev


@pytest.mark.shows("tensor/26-solve_ivp-derivatives")
def test_second_derivatives_and_tangents() -> None:
    """Of y' = −k·y² + c·t in closed form for c = 0: y = y0 / (1 + k·y0·t)."""
    y0, k = at.dvector("y0", shape=(1,)), at.dscalar("k")
    found = at.integrate.solve_ivp(lambda t, y: -k * y**2, (0.0, 2.0), y0, t_eval=[1.5], rtol=1e-11, atol=1e-12)
    y = found.y[0, 0]
    first = aot.grad(y, k)
    f = aot.function([y0, k], [y, first, aot.grad(first, k), Rop(y, k, at.constant(1.0)), jacobian(first, y0)])
    a, b, t = 1.3, 0.7, 1.5
    bottom = 1 + a * b * t
    expected = [a / bottom, -(a**2) * t / bottom**2, 2 * a**3 * t**2 / bottom**3, -(a**2) * t / bottom**2]
    expected.append(-2 * a * t / bottom**2 + 2 * a**2 * b * t**2 / bottom**3)
    for found, value in zip(f(np.array([a]), b), expected, strict=True):
        np.testing.assert_allclose(np.asarray(found).item(), value, rtol=1e-9)


@pytest.mark.shows("tensor/26-solve_ivp-stiff")
@pytest.mark.parametrize("method", ["Rodas4", "Rodas5P"])
def test_stiff_reactions(method: str) -> None:
    """Robertson's reaction and van der Pol's oscillator with ε = 1e-6.

    Source of the values: the test set of Mazzia & Magherini (2008), ROBER and VDPOL, from which 8 digits are taken.
    """

    def robertson(t: Any, y: Any) -> list[Any]:
        slow, fast = 0.04 * y[0], 1e4 * y[1] * y[2]
        return [fast - slow, slow - fast - 3e7 * y[1] ** 2, 3e7 * y[1] ** 2]

    def oscillator(t: Any, y: Any) -> list[Any]:
        return [y[1], ((1 - y[0] ** 2) * y[1] - y[0]) / 1e-6]

    options: dict[str, Any] = {"method": method, "rtol": 1e-8}
    slow = at.integrate.solve_ivp(robertson, (0, 1e11), [1.0, 0.0, 0.0], t_eval=[40.0, 1e11], atol=1e-14, **options)
    fast = at.integrate.solve_ivp(oscillator, (0, 2), [2.0, 0.0], t_eval=[1.0, 2.0], atol=1e-10, **options)
    y, x, steps, others = aot.function([], [slow.y, fast.y, slow.steps, fast.steps])()
    np.testing.assert_allclose(y[:, 0], [0.7158270688, 9.185534764e-6, 0.2841637458], rtol=2e-6)
    np.testing.assert_allclose(y[:, 1], [0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050], rtol=1e-5)
    np.testing.assert_allclose(x[0], [-1.863646254808130, 1.706167732170469], rtol=1e-5)
    assert steps < 2000 and others < 6000


@pytest.mark.shows("tensor/26-solve_ivp-batch")
def test_samples_take_steps_of_their_own() -> None:
    y0, k, rows, rates = (
        at.dvector("y0", shape=(1,)),
        at.dscalar("k"),
        at.dmatrix("rows", shape=(None, 1)),
        at.dvector("rates"),
    )
    found = at.integrate.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), y0, t_eval=[0.5, 2.0], rtol=1e-9, atol=1e-12)
    y, steps = vectorize_graph([found.y, found.steps], {y0: rows, k: rates})
    f = aot.function([rows, rates], [y, steps, aot.grad(y.sum(), rates)])
    start, each = np.array([[1.0], [2.0], [3.0]]), np.array([0.1, 1.0, 8.0])
    y, steps, slope = f(start, each)
    times = np.array([0.5, 2.0])
    np.testing.assert_allclose(y[:, 0], start * np.exp(-each[:, None] * times), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(slope, (-times * y[:, 0]).sum(axis=1), rtol=1e-6, atol=1e-11)
    assert steps[0] < steps[1] < steps[2]


@pytest.mark.shows("tensor/26-solve_ivp-batch")
def test_samples_that_ended_stay_in_the_domain() -> None:
    """Of y' = k / y, y = √(y0² + 2·k·t), whose right-hand side is not finite at 0."""
    k, rates = at.dscalar("k"), at.dvector("rates")
    y = at.integrate.solve_ivp(lambda t, y: k / y, (0.0, 1.0), [1.0], t_eval=[0.5, 1.0], rtol=1e-6, max_steps=40).y
    (slopes,) = vectorize_graph([aot.grad(y.sum(), k)], {k: rates})
    each, times = np.array([0.01, 2.0]), np.array([0.5, 1.0])
    expected = (times / np.sqrt(1 + 2 * each[:, None] * times)).sum(axis=1)
    np.testing.assert_allclose(aot.function([rates], slopes).reference(each), expected, rtol=1e-5)


def decay(t: Any, y: Any) -> Any:
    return -0.7 * y


@pytest.mark.shows("tensor/26-solve_ivp")
def test_a_span_may_go_backward() -> None:
    times = np.array([1.0, 0.5, 0.5, -1.0])
    end = at.dscalar("end")
    found = at.integrate.solve_ivp(decay, (1.0, end), [2.0], t_eval=times, rtol=1e-9, atol=1e-12)
    f = aot.function([end], [found.y, found.success])
    for run in (f, f.reference):
        y, success = run(-1.0)
        np.testing.assert_allclose(y[0], 2 * np.exp(-0.7 * (times - 1)), rtol=1e-8)
        assert success


@pytest.mark.shows("tensor/26-solve_ivp")
def test_empty_short_and_crowded() -> None:
    """A span of length 0, no times, no equations, many times in one step."""
    y0, times, end = at.dvector("y0"), at.dvector("times"), at.dscalar("end")
    found = at.integrate.solve_ivp(decay, (0.0, end), y0, t_eval=times, rtol=1e-6)
    f = aot.function([y0, times, end], [found.y, found.success])
    start, many = np.array([1.0, 3.0]), np.linspace(0, 1, 200)
    for run in (f, f.reference):
        for here, t, last in ((start, many, 1.0), (start, [0.0], 0.0), (start, [], 1.0), (start[:0], many, 1.0)):
            y, success = run(here, np.array(t), last)
            assert success and y.shape == (len(here), len(t))
            np.testing.assert_allclose(y, here[:, None] * np.exp(-0.7 * np.array(t)), rtol=1e-5)


ENDING = at.integrate.Ending
FAILURES: dict[str, tuple[dict[str, Any], tuple[ENDING, ...], list[float]]] = {
    "pole": (
        {"fun": lambda t, y: y**2, "t_eval": [0.5, 2.0], "rtol": 1e-6}, (ENDING.NO_PROGRESS,), [2.0, np.nan]
    ),
    "pole-stiff": (
        {"fun": lambda t, y: y**2, "t_eval": [0.5, 2.0], "rtol": 1e-6, "method": "Rodas4"},
        (ENDING.NO_PROGRESS, ENDING.TOO_MANY_STEPS), [2.0, np.nan],
    ),
    "short": (
        {"fun": lambda t, y: y, "t_eval": [3.0], "rtol": 1e-10, "max_steps": 5}, (ENDING.TOO_MANY_STEPS,), [np.nan]
    ),
    "start": (
        {"fun": lambda t, y: at.log(y - 2), "t_eval": [0.0, 3.0]}, (ENDING.NOT_FINITE,), [1.0, np.nan]
    ),
}  # fmt: skip
"""Options, how the integration may end, and y."""


@pytest.mark.shows("tensor/26-solve_ivp-failure")
@pytest.mark.parametrize("name", FAILURES)
def test_failures_are_told(name: str) -> None:
    """A pole, too few steps, a start where the function is not finite: success is false, the rest nan."""
    options, endings, expected = FAILURES[name]
    found = at.integrate.solve_ivp(t_span=(0.0, 3.0), y0=[1.0], **options)
    f = aot.function([], [found.y, found.status, found.success], name="failing")
    for run in (f, f.reference):
        y, status, success = run()
        np.testing.assert_allclose(y[0], expected, rtol=1e-5)
        assert ENDING(int(status)) in endings and not success


@pytest.mark.shows("tensor/26-solve_ivp-failure")
def test_a_failure_has_no_derivative_and_may_be_an_error() -> None:
    k = at.dscalar("k")

    def integrate(**options: Any) -> Any:
        return at.integrate.solve_ivp(lambda t, y: k * y, (0.0, 3.0), [1.0], t_eval=[0.1, 3.0], max_steps=5, **options)

    found = integrate(rtol=1e-8)
    assert np.isnan(aot.function([k], aot.grad(found.y[0, 0], k)).reference(1.0))
    asked = integrate(rtol=1e-8, raise_on_failure=True)
    f = aot.function([k], asked.y, name="asked")
    for run in (f, f.reference):
        with pytest.raises(ArithmeticError, match="solve_ivp: no solution after the largest number of steps"):
            run(1.0)


@pytest.mark.shows("tensor/26-solve_ivp", "tensor/26-solve_ivp-derivatives")
@pytest.mark.parametrize("method", ["RK45", "Rodas4"])
def test_decay_in_closed_form(method: str) -> None:
    """Uncompiled: y = 2·exp(−k·t), and its derivatives."""
    k = at.dscalar("k")
    found = at.integrate.solve_ivp(
        lambda t, y: -k * y, (0.0, 1.0), [2.0], t_eval=[0.0, 0.4, 1.0], method=method, rtol=1e-5, atol=1e-8
    )
    f = aot.function([k], [found.y, aot.grad(found.y.sum(), k), Rop(found.y.sum(), k, at.constant(1.0))])
    y, slope, tangent = f.reference(0.7)
    times = np.array([0.0, 0.4, 1.0])
    np.testing.assert_allclose(y, [2 * np.exp(-0.7 * times)], rtol=1e-5)
    np.testing.assert_allclose([slope, tangent], (-2 * times * np.exp(-0.7 * times)).sum(), rtol=1e-4)


@pytest.mark.shows("tensor/26-solve_ivp-derivatives")
def test_a_start_at_rest_has_derivatives() -> None:
    """At y = 0 with a rate of 0, the first step size is a root of 0; uncompiled: y = k·t²/2."""
    k = at.dscalar("k")
    y = at.integrate.solve_ivp(lambda t, y: k * t + 0 * y, (0.0, 1.0), [0.0], t_eval=[0.8], rtol=1e-4).y[0, 0]
    f = aot.function([k], [y, aot.grad(y, k), Rop(y, k, at.constant(1.0))])
    np.testing.assert_allclose(f.reference(0.7), [0.7 * 0.32, 0.32, 0.32], rtol=1e-8)


@pytest.mark.shows("tensor/26-solve_ivp-refused")
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"t_eval": [0.5, 2.0]}, GraphValueError, r"t_eval has 2.0, outside of t_span \(0.0, 1.0\)"),
        ({"t_eval": [0.5, 0.2]}, GraphValueError, "t_eval has 0.2, out of order"),
        ({"t_eval": [np.nan]}, GraphValueError, "t_eval has nan, outside of"),
        ({"t_eval": 0.5}, GraphValueError, "t_eval must be a vector of times"),
        ({"t_span": (0.0, np.inf)}, GraphValueError, "t_span must be finite"),
        ({"t_span": 1.0}, GraphTypeError, "t_span must be a pair"),
        ({"rtol": 0.0}, GraphValueError, "rtol must be above 0 and finite, not 0.0"),
        ({"rtol": 1e-15}, GraphValueError, "must be at least 100 roundings of float64"),
        ({"atol": [1e-6, 0.0]}, GraphValueError, "atol must be above 0"),
        ({"y0": 1.0}, GraphTypeError, "y0 must be a vector, not of rank 0"),
        ({"y0": [1.0 + 2j]}, GraphTypeError, "y0 must be a dense real tensor"),
        ({"fun": lambda t, y: y[:1]}, GraphValueError, "fun must have the shape of y"),
        ({"fun": lambda t, y: None}, GraphTypeError, "fun returned None"),
        ({"fun": 3}, GraphTypeError, "fun must be a function, not 3"),
        ({"method": "LSODA"}, GraphValueError, "method must be one of"),
        ({"max_steps": 0}, GraphValueError, "max_steps must be a number of steps, at least 1"),
        ({"max_step": 0.0}, GraphValueError, "max_step must be a number above 0"),
        ({"first_step": -1.0}, GraphValueError, "first_step must be a number above 0"),
    ],
)
def test_arguments_that_do_not_fit(options: dict[str, Any], error: type[Exception], message: str) -> None:
    given = {"fun": lambda t, y: -y, "t_span": (0.0, 1.0), "y0": [1.0, 2.0], "t_eval": [1.0], **options}
    with pytest.raises(error, match=f"solve_ivp: .*{message}"):
        at.integrate.solve_ivp(**given)


@pytest.mark.shows("tensor/26-solve_ivp-refused")
def test_times_are_checked_in_the_call() -> None:
    times = at.dvector("times")
    f = aot.function([times], at.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], t_eval=times).y)
    for run in (f, f.reference):
        np.testing.assert_allclose(run(np.array([0.0, 1.0])), [[1.0, np.exp(-1)]], rtol=1e-3)
        for bad in ([0.5, 2.0], [0.5, 0.2], [-0.1], [np.nan]):
            with pytest.raises(ValueError, match="t_eval has a time outside of t_span, or out of order"):
                run(np.array(bad))
