"""Minima against SciPy and closed forms: values, first and second derivatives, compiled and by the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from test_roots import both, difference

import aotensor.tensor as at
from aotensor.gradient import Rop, grad, jacobian
from aotensor.tensor.optimize import Ending

A = at.scalar("a")
METHODS = ["trust-ncg", "BFGS", "L-BFGS"]


def rosenbrock(x: Any, a: Any) -> Any:
    return (a * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@pytest.mark.parametrize("method", METHODS)
def test_rosenbrock(method: str) -> None:
    x0 = at.vector("x0", shape=("n",))
    found = at.optimize.minimize(rosenbrock, x0, A, method=method)
    start = np.array([1.2, 1.0, 0.5, 2.0])
    x, success, iterations, residual, fun = both(
        [x0, A], [found.solution, found.success, found.iterations, found.residual, found.fun], start, 100.0
    )
    assert success and residual < 1e-8 and iterations < 80
    np.testing.assert_allclose(x, np.ones(4), rtol=1e-9)
    assert abs(fun) < 1e-18


@pytest.mark.shows("tensor/13-minimize")
@pytest.mark.parametrize("method", METHODS)
def test_a_regression_and_its_derivatives(method: str, rng: np.random.Generator) -> None:
    """Logistic regression: the optimum as SciPy finds it, its derivatives by the penalty as differences of that."""
    X, y, w0 = at.matrix("X", shape=("n", "p")), at.vector("y", shape=("n",)), at.vector("w0", shape=("p",))

    def loss(w: Any, penalty: Any) -> Any:
        return at.softplus(-y * (X @ w)).mean() + penalty * (w**2).sum()

    rows, labels = rng.normal(size=(20, 3)), np.sign(rng.normal(size=20))

    def fitted(penalty: float) -> Any:
        def value(w: Any) -> Any:
            return np.logaddexp(0, -labels * (rows @ w)).mean() + penalty * (w**2).sum()

        def slope(w: Any) -> Any:
            return -(labels / (1 + np.exp(labels * (rows @ w)))) @ rows / 20 + 2 * penalty * w

        return scipy.optimize.root(slope, scipy.optimize.minimize(value, np.zeros(3), jac=slope).x, tol=1e-14).x

    found = at.optimize.minimize(loss, w0, A, method=method)
    first = jacobian(found.solution, A)
    outputs = [
        found.solution,
        found.success,
        found.fun,
        first,
        Rop(found.solution, A, at.constant(1.0)),
        grad(found.fun, A),
    ]
    w, success, fun, reverse, forward, envelope = both([X, y, w0, A], outputs, rows, labels, np.zeros(3), 0.1)
    assert success
    np.testing.assert_allclose(w, fitted(0.1), rtol=1e-9)
    np.testing.assert_allclose(reverse, difference(fitted, 0.1), rtol=1e-6)
    np.testing.assert_allclose(forward, reverse, rtol=1e-12)
    np.testing.assert_allclose(envelope, (w**2).sum(), rtol=1e-9)  # the envelope theorem
    assert 0 < fun < np.log(2)


@pytest.mark.shows("tensor/13-least_squares")
@pytest.mark.unlimited("minima of vectors are shown by it alone where others wait")
def test_least_squares_as_scipy_solves_it(rng: np.random.Generator) -> None:
    """An exponential with noise. Derivatives need the second ones of the model: the residuals are not small."""
    t, y = at.vector("t", shape=("m",)), at.vector("y", shape=("m",))
    times = np.linspace(0, 4, 30)
    data = 2.5 * np.exp(-1.3 * times) + 0.5 + 0.2 * rng.normal(size=30)

    def model(p: Any, t: Any, library: Any) -> Any:
        return p[0] * library.exp(-p[1] * t) + p[2]

    def fitted(shift: float) -> Any:
        moved = data + shift * np.sin(times)
        strict = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
        return scipy.optimize.least_squares(lambda p: model(p, times, np) - moved, [1, 1, 0], jac="cs", **strict).x

    found = at.optimize.least_squares(lambda p: model(p, t, at) - y, at.constant([1.0, 1.0, 0.0]))
    p, success, residual, fun, slopes = both(
        [t, y], [found.solution, found.success, found.residual, found.fun, jacobian(found.solution, y)], times, data
    )
    assert success and residual < 1e-8
    np.testing.assert_allclose(p, fitted(0.0), rtol=1e-7)
    np.testing.assert_allclose(fun, ((model(p, times, np) - data) ** 2).sum() / 2, rtol=1e-12)
    np.testing.assert_allclose(slopes @ np.sin(times), difference(fitted, 0.0, 1e-3), rtol=1e-4)


@pytest.mark.shows("tensor/13-minimize_scalar")
@pytest.mark.parametrize(
    ("options", "point", "wanted", "slope"),
    [
        ({}, 3.0, None, None),
        ({"bracket": (4.0, 5.0)}, 3.0, None, None),
        ({"bounds": (0.0, 6.0)}, 3.0, None, None),
        ({"bounds": (0.0, 2.0)}, 3.0, 2.0, 0.0),
        ({"bounds": (A, 9.0)}, 3.5, 3.5, 1.0),
    ],
    ids=["brent", "bracket", "bounded", "at-a-bound", "at-a-bound-that-varies"],
)
def test_one_unknown(options: dict[str, Any], point: float, wanted: float | None, slope: float | None) -> None:
    found = at.optimize.minimize_scalar(lambda x: (x - at.minimum(A, 3.0)) ** 2 * at.exp(x / 10) + at.cos(x), **options)
    x, success, first, fun = both([A], [found.solution, found.success, grad(found.solution, A), found.fun], point)
    assert success

    def minimum(a: float) -> Any:
        def f(x: Any) -> Any:
            return 2 * (x - a) * np.exp(x / 10) + (x - a) ** 2 * np.exp(x / 10) / 10 - np.sin(x)

        return scipy.optimize.brentq(f, 2, 4, xtol=1e-15)

    np.testing.assert_allclose(x, minimum(point) if wanted is None else wanted, rtol=1e-13)
    if slope is not None:
        assert first == slope
    assert fun == (x - min(point, 3.0)) ** 2 * np.exp(x / 10) + np.cos(x) or abs(fun) < 2


@pytest.mark.shows("tensor/13-batch")
@pytest.mark.unlimited("minima of vectors are shown by it alone where others wait")
def test_samples_of_minima_stop_one_by_one(rng: np.random.Generator) -> None:
    c, many = at.vector("c", shape=("n",)), at.matrix("many", shape=("m", "n"))
    found = at.optimize.minimize(lambda x: ((x - c) ** 4).sum() + (x**2).sum(), at.zeros_like(c), method="BFGS")
    x, success, steps = at.vectorize_graph([found.solution, found.success, found.iterations], {c: many})
    points = 3 * rng.normal(size=(3, 2))
    values, well, counts, slopes = both([many], [x, success, steps, grad(x.sum(), many)], points)
    assert well.all() and len(set(counts)) > 1
    np.testing.assert_allclose(4 * (values - points) ** 3 + 2 * values, 0, atol=1e-9)
    curvature = 12 * (values - points) ** 2
    np.testing.assert_allclose(slopes, curvature / (curvature + 2), rtol=1e-9)


@pytest.mark.shows("tensor/13-minimize")
def test_a_saddle_is_left_and_a_scale_does_not_matter() -> None:
    """From the edge of a saddle downhill; values of 1e-12 or 1e12 end at the same point."""
    scale = at.scalar("scale")
    for method in METHODS:
        found = at.optimize.minimize(
            lambda x: scale * ((x[0] ** 2 - 4) ** 2 + x[1] ** 2), at.constant([0.1, 3.0]), method=method
        )
        for factor in (1e-12, 1.0, 1e12):
            x, success, status = both([scale], [found.solution, found.success, found.status], factor)
            assert success and status == Ending.CONVERGED
            np.testing.assert_allclose(x, [2, 0], atol=1e-9)
