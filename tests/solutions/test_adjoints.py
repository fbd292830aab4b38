"""The continuous adjoint against closed forms, SciPy's solution of the adjoint system, and the discrete adjoint."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphValueError, UnsupportedError
from aotensor.gradient import Rop
from aotensor.graph.vectorize import vectorize_graph

METHODS = ["RK45", "Tsit5", "DOP853", "Rodas4", "Rodas5P"]


def solved(fun: Any, span: Any, y0: Any, times: Any, **options: Any) -> Any:
    given = {"rtol": 1e-8, "atol": 1e-9, "adjoint": "continuous", **options}
    return at.integrate.solve_ivp(fun, span, y0, t_eval=times, **given)


@pytest.mark.shows("tensor/26-solve_ivp-adjoint")
@pytest.mark.parametrize("method", METHODS)
def test_linear_systems_in_closed_form(method: str) -> None:
    """y(T) = exp(A·T)·y0: derivatives in A by the Fréchet derivative of exp, in y0, t0 and T."""
    matrix, y0, start, end = at.dmatrix("matrix"), at.dvector("y0"), at.dscalar("start"), at.dscalar("end")
    y = solved(lambda t, y: at.dot(matrix, y), (start, 2.0), y0, at.stack([end]), method=method).y
    weights = np.array([1.0, -0.5])
    cost = at.dot(weights, y[:, 0])
    f = aot.function([matrix, y0, start, end], aot.grad(cost, [matrix, y0, start, end]))
    a, x, span = np.array([[-0.4, 1.1], [-0.9, -0.1]]), np.array([0.7, 1.2]), 1.5
    by_matrix, by_y0, by_start, by_end = f.reference(a, x, 0.25, 0.25 + span)
    flow = scipy.linalg.expm(a * span)
    units = np.eye(4).reshape(4, 2, 2)
    slopes = [weights @ scipy.linalg.expm_frechet(a * span, unit * span, compute_expm=False) @ x for unit in units]
    np.testing.assert_allclose(by_matrix.ravel(), slopes, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(by_y0, flow.T @ weights, rtol=1e-6)
    np.testing.assert_allclose([by_start, by_end], [-weights @ flow @ a @ x, weights @ a @ flow @ x], rtol=1e-6)


@pytest.mark.shows("tensor/26-solve_ivp-adjoint")
def test_pendulum_as_scipy_integrates_its_adjoint() -> None:
    """Cotangents at several times, two of them equal, of a driven pendulum; compiled."""
    y0, k, times = at.dvector("y0", shape=(2,)), at.dscalar("k"), at.dvector("times")
    y = solved(lambda t, y: [y[1], -k * at.sin(y[0]) + at.sin(3 * t)], (0.0, 3.0), y0, times, rtol=1e-10, atol=1e-11).y
    cost = (y**2).sum()
    f = aot.function([y0, k, times], aot.grad(cost, [y0, k, times]), name="pendulum")
    x, rate, places = np.array([1.0, 0.5]), 2.0, np.array([0.5, 1.25, 1.25, 2.5])

    def forward(t: float, y: Any) -> list[float]:
        return [y[1], -rate * np.sin(y[0]) + np.sin(3 * t)]

    def backward(t: float, z: Any) -> list[float]:
        y, (first, second) = z[:2], z[2:4]
        return [*forward(t, y), second * rate * np.cos(y[0]), -first, second * np.sin(y[0])]

    options: Any = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
    states = scipy.integrate.solve_ivp(forward, (0, 3), x, t_eval=np.unique(places), **options).y[:, [0, 1, 1, 2]]
    z = np.zeros(5)
    for place, state, before in zip(places[::-1], states.T[::-1], [*places[-2::-1], 0.0], strict=True):
        z = np.concatenate([state, z[2:4] + 2 * state, z[4:]])
        if before < place:
            z = scipy.integrate.solve_ivp(backward, (place, before), z, **options).y[:, -1]
    by_times = [2 * state @ forward(place, state) for place, state in zip(places, states.T, strict=True)]
    for run in (f, f.reference):
        by_y0, by_k, found = run(x, rate, places)
        np.testing.assert_allclose(by_y0, z[2:4], rtol=1e-7)
        np.testing.assert_allclose(by_k, z[4], rtol=1e-7)
        np.testing.assert_allclose(found, by_times, rtol=1e-7)


@pytest.mark.shows("tensor/26-solve_ivp-adjoint")
def test_second_derivatives_in_closed_form() -> None:
    """Of y = y0 / (1 + k·y0·t): reverse over reverse, and forward over reverse."""
    y0, k = at.dvector("y0", shape=(1,)), at.dscalar("k")
    y = solved(lambda t, y: -k * y**2, (0.0, 2.0), y0, [1.5], rtol=1e-7, atol=1e-8).y[0, 0]
    first = aot.grad(y, k)
    f = aot.function([y0, k], [first, aot.grad(first, k), aot.grad(first, y0)[0], Rop(first, k, at.constant(1.0))])
    a, b, t = 1.3, 0.7, 1.5
    bottom = 1 + a * b * t
    second = 2 * a**3 * t**2 / bottom**3
    mixed = -2 * a * t / bottom**2 + 2 * a**2 * b * t**2 / bottom**3
    expected = [-(a**2) * t / bottom**2, second, mixed, second]
    np.testing.assert_allclose(f.reference(np.array([a]), b), expected, rtol=1e-5)


@pytest.mark.shows("tensor/26-solve_ivp-adjoint")
def test_the_discrete_adjoint_has_the_same_derivatives() -> None:
    """Of a system with a matrix, an int and a value that f does not read; and with vector tolerances, backward."""
    y0, matrix, count = at.dvector("y0"), at.dmatrix("matrix"), at.lscalar("count")

    def gradients(adjoint: str) -> Any:
        y = solved(
            lambda t, y: at.dot(matrix, at.sin(y)) / count + t, (1.0, 0.0), y0, [0.5, 0.0], adjoint=adjoint,
            atol=[1e-9, 1e-10], max_step=0.3, first_step=0.1,
        ).y  # fmt: skip
        return aot.grad((y**2).sum(), [y0, matrix])

    f = aot.function([y0, matrix, count], [*gradients("continuous"), *gradients("discrete")])
    by_y0, by_matrix, *others = f.reference(np.array([0.4, 1.0]), np.array([[0.3, -1.0], [0.8, 0.2]]), 2)
    np.testing.assert_allclose(by_y0, others[0], rtol=1e-6)
    np.testing.assert_allclose(by_matrix, others[1], rtol=1e-6)


@pytest.mark.shows("tensor/26-solve_ivp-adjoint")
def test_empty_and_short() -> None:
    """No equations, one equation, no times, a span of length 0; gradients are those of the discrete adjoint."""
    y0, k, end, times = at.dvector("y0"), at.dscalar("k"), at.dscalar("end"), at.dvector("times")
    y = solved(lambda t, y: -k * y, (0.0, end), y0, times).y
    f = aot.function([y0, k, end, times], aot.grad(y.sum(), [y0, k, times]), name="empty")
    for run in (f, f.reference):
        for start, last, places in (([], 1.0, [0.5]), ([2.0], 1.0, [0.5]), ([2.0, 3.0], 1.0, []), ([2.0], 0.0, [0.0])):
            x, t = np.array(start), np.array(places)
            by_y0, by_k, by_times = run(x, 0.7, last, t)
            decay = np.exp(-0.7 * t)
            np.testing.assert_allclose(by_y0, np.full(len(x), decay.sum()), rtol=1e-6)
            np.testing.assert_allclose(by_k, -(t * decay).sum() * x.sum(), rtol=1e-6)
            np.testing.assert_allclose(by_times, -0.7 * decay * x.sum(), rtol=1e-6)


@pytest.mark.shows("tensor/26-solve_ivp-adjoint")
def test_samples_are_integrated_together() -> None:
    y0, k, rates = at.dvector("y0", shape=(1,)), at.dscalar("k"), at.dvector("rates")
    y = solved(lambda t, y: -k * y, (0.0, 2.0), y0, [0.5, 2.0]).y.sum()
    (slopes,) = vectorize_graph([aot.grad(y, k)], {k: rates})
    f = aot.function([y0, rates], slopes)
    each, times = np.array([0.1, 1.0, 8.0]), np.array([0.5, 2.0])
    expected = -(times * np.exp(-each[:, None] * times)).sum(axis=1) * 3
    np.testing.assert_allclose(f.reference(np.array([3.0]), each), expected, rtol=1e-5)


@pytest.mark.shows("tensor/26-solve_ivp-adjoint")
def test_a_failure_has_no_derivative() -> None:
    k = at.dscalar("k")
    y = solved(lambda t, y: k * y**2, (0.0, 3.0), [1.0], [0.1, 3.0]).y
    assert np.isnan(aot.function([k], aot.grad(y[0, 0], k)).reference(1.0))


@pytest.mark.level("all", "a method of eighth order with a gradient compiles for 15 seconds")
def test_segments_repeat_the_same_steps() -> None:
    """Errors of a comet's steps are roundings at this tolerance, and two copies of a step round differently."""
    mass = at.dscalar("mass")

    def accelerated(t: Any, y: Any) -> Any:
        pull = mass / (y[0] ** 2 + y[1] ** 2) ** 1.5
        return at.stack([y[2], y[3], -pull * y[0], -pull * y[1]])

    place = at.integrate.solve_ivp(
        accelerated, (0.0, 20.0), [0.1, 0.0, 0.0, np.sqrt(19.0)], t_eval=[20.0], method="DOP853", rtol=1e-12,
        atol=1e-13, max_steps=20_000,
    ).y[0, 0]  # fmt: skip
    f = aot.function([mass], [aot.grad(place, mass), Rop(place, mass, at.constant(1.0))], name="comet")
    backward, forward = f(1.0)
    np.testing.assert_allclose(backward, forward, rtol=1e-10)
    np.testing.assert_allclose(backward, _slope_of_orbit(), rtol=1e-7)


def _slope_of_orbit() -> float:
    """The derivative in the mass of the first coordinate, by Kepler's equation in 40 digits."""

    def first(mass: Any) -> Any:
        radius, speed = mpmath.mpf("0.1"), mpmath.sqrt(19)
        e = radius * speed**2 / mass - 1
        size = radius / (1 - e)
        anomaly = mpmath.sqrt(mass / size**3) * 20
        u = mpmath.findroot(lambda u: u - e * mpmath.sin(u) - anomaly, anomaly + e * mpmath.sin(anomaly) / 2)
        return size * (mpmath.cos(u) - e)

    with mpmath.workdps(40):
        return float(mpmath.diff(first, 1))


@pytest.mark.shows("tensor/26-solve_ivp-adjoint")
def test_what_has_no_continuous_adjoint() -> None:
    with pytest.raises(GraphValueError, match="solve_ivp: adjoint must be one of"):
        solved(lambda t, y: y, (0.0, 1.0), [1.0], [1.0], adjoint="backsolve")
    with pytest.raises(UnsupportedError, match='adjoint="continuous" has no times of events'):
        solved(lambda t, y: y, (0.0, 1.0), [1.0], [1.0], events=lambda t, y: y[0], max_events=1)
    matrix = sp.csr_matrix("matrix", dtype="float64", shape=(2, 2))
    with pytest.raises(UnsupportedError, match="integrates dense real cotangents, but fun reads another value"):
        solved(lambda t, y: sp.dot(matrix, y), (0.0, 1.0), [1.0, 2.0], [1.0])
