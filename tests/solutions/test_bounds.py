"""Minima within bounds against SciPy: values, and derivatives on the elements between their bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from test_roots import both

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import Rop, jacobian
from aotensor.graph.vectorize import vectorize_graph
from aotensor.tensor.optimize import Bounds, Ending

INF = float("inf")


@pytest.mark.shows("tensor/13-minimize-bounds")
@pytest.mark.parametrize("method", ["trust-ncg", "L-BFGS-B"])
def test_rosenbrock_in_boxes_of_scipy(method: str) -> None:
    """Boxes at both sides of the minimum, half open, and one that is a point in one element; starts inside or not."""
    x0, low, high = at.vector("x0", shape=("n",)), at.vector("low", shape=("n",)), at.vector("high", shape=("n",))
    found = at.optimize.minimize(
        lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(),
        x0,
        method=method,
        bounds=Bounds(low, high),
    )
    f = aot.function([x0, low, high], [found.solution, found.success, found.residual, found.fun], name="boxed")
    for lower, upper in (
        ([-2, -2, -2, -2], [0.8, 2, 2, 2]),
        ([-INF, 1.2, -INF, -INF], [INF, INF, INF, 1.5]),
        ([0.5, 0.5, 0.7, -1.0], [2, 2, 0.7, 0.2]),
        ([-INF] * 4, [INF] * 4),
    ):
        a, b = np.array(lower, dtype=float), np.array(upper, dtype=float)
        x, success, residual, fun = f(np.array([0.9, 1.5, 1.1, 0.3]), a, b)
        box = scipy.optimize.Bounds(a, b)
        strict = {"ftol": 1e-16, "gtol": 1e-12, "maxiter": 5000}
        wanted = scipy.optimize.minimize(
            scipy.optimize.rosen, np.clip([0.9, 1.5, 1.1, 0.3], a, b), jac=scipy.optimize.rosen_der, bounds=box,
            method="L-BFGS-B", options=strict,
        )  # fmt: skip
        np.testing.assert_allclose(x, wanted.x, rtol=1e-6)
        assert success and residual < 1e-7 and fun <= wanted.fun + 1e-12
        assert (x >= a).all() and (x <= b).all()


@pytest.mark.shows("tensor/13-minimize-bounds")
def test_derivatives_on_the_free_elements(rng: np.random.Generator) -> None:
    """Of a function with active bounds, two of which vary: forward, reverse and twice, by differences of SciPy's."""
    a = at.dscalar("a")
    root = rng.normal(size=(5, 5))
    matrix, b = root @ root.T + np.eye(5), 4 * rng.normal(size=5)

    def value(x: Any, a: Any, xp: Any) -> Any:
        return ((matrix @ x) * x).sum() / 2 - a * (b * x).sum() + xp.exp(x * a / 4).sum()

    def ends(a: Any) -> tuple[list[Any], list[Any]]:
        return [-0.2 * a, -INF, -0.1, -0.1, -0.3], [0.3, 0.2 * a, INF, 0.4, 0.1]

    low, high = ends(a)
    matrix_of_graph, coefficients = at.constant(matrix), at.constant(b)
    found = at.optimize.minimize(
        lambda x, a: ((matrix_of_graph @ x) * x).sum() / 2 - a * (coefficients * x).sum() + at.exp(x * a / 4).sum(),
        at.zeros(5), a, bounds=list(zip(low, high, strict=True)),
    )  # fmt: skip

    def solved(a: float) -> Any:
        """The minimum: SciPy's, and then its equations on the free elements to rounding."""
        lower, upper = map(np.array, ends(a))
        x = scipy.optimize.minimize(
            lambda x: value(x, a, np), np.zeros(5), bounds=scipy.optimize.Bounds(lower, upper), method="L-BFGS-B"
        ).x
        free = (x > lower + 1e-6) & (x < upper - 1e-6)
        x = np.where(free, x, np.where(x < lower + 1e-6, lower, upper))

        def slope(part: Any) -> Any:
            x[free] = part
            return (matrix @ x - a * b + a / 4 * np.exp(x * a / 4))[free]

        x[free] = scipy.optimize.root(slope, x[free], tol=1e-14).x
        return x, free

    first = jacobian(found.solution, a)
    outputs = [found.solution, first, Rop(found.solution, a, at.constant(1.0)), aot.grad(found.fun, a)]
    x, reverse, forward, envelope = both([a], outputs, 1.0)
    second = aot.function([a], Rop(first, a, at.constant(1.0))).reference(1.0)
    (wanted, free), h = solved(1.0), 1e-4
    behind, ahead = solved(1 - h)[0], solved(1 + h)[0]
    assert 0 < free.sum() < 5
    np.testing.assert_allclose(x, wanted, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(reverse, (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(forward, reverse, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(second, (ahead - 2 * wanted + behind) / h**2, rtol=1e-4, atol=1e-5)
    difference = (value(ahead, 1 + h, np) - value(behind, 1 - h, np)) / (2 * h)
    np.testing.assert_allclose(envelope, difference, rtol=1e-6)


@pytest.mark.shows("tensor/13-minimize-bounds")
def test_samples_have_bounds_of_their_own() -> None:
    """(x − a)²: the bound where a is outside of it. Bounds in the wrong order, or nan, are told by the status."""
    a, low, rows = at.dvector("a"), at.dscalar("low"), at.dvector("rows")
    found = at.optimize.minimize(lambda x: ((x - a) ** 2).sum(), at.zeros(2), bounds=Bounds(low, 3.0))
    outputs = [found.solution, found.status, aot.grad(found.solution.sum(), low)]
    f = aot.function([a, rows], vectorize_graph(outputs, {low: rows}))
    x, status, slope = f.reference(np.array([1.5, 9.0]), np.array([0.0, 2.0, 4.0, np.nan]))
    np.testing.assert_allclose(x[:2], [[1.5, 3], [2, 3]], rtol=1e-12)
    assert status.tolist() == [Ending.CONVERGED, Ending.CONVERGED, Ending.NO_BRACKET, Ending.NO_BRACKET]
    np.testing.assert_array_equal(slope, [0, 1, np.nan, np.nan])


@pytest.mark.shows("tensor/13-minimize-bounds")
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "BFGS", "bounds": Bounds(0, 1)}, GraphValueError, 'method "BFGS" does not support bounds'),
        (
            {"bounds": Bounds(np.array([0.0, 2.0]), 1)},
            GraphValueError,
            "lower end 2 and the upper end 1",
        ),
        ({"bounds": scipy.optimize.Bounds(np.nan, 1)}, GraphValueError, "lower end nan"),
        ({"bounds": [(0, 1)]}, GraphValueError, "bounds are 1 pairs, and x0 is not a vector with as many"),
        ({"bounds": [(0, 1), 3]}, GraphTypeError, "bounds must be pairs .min, max., not 3"),
        ({"bounds": 3.0}, GraphTypeError, "bounds must be Bounds or a list of pairs, not float"),
        ({"bounds": Bounds(np.zeros((1, 2)))}, GraphValueError, "bounds must have the shape of x0 or broadcast to it"),
        ({"bounds": Bounds(1j)}, GraphTypeError, "bounds must be real"),
    ],
)
def test_bounds_that_do_not_fit(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"minimize: .*{message}"):
        at.optimize.minimize(lambda x: (x**2).sum(), at.zeros(2), **options)


@pytest.mark.shows("tensor/13-least_squares")
def test_least_squares_in_boxes_of_scipy(rng: np.random.Generator) -> None:
    """A decay with an active bound, one at infinity, and derivatives by the data and the bound from differences."""
    times = np.linspace(0, 4, 25)
    data = 2.5 * np.exp(-1.3 * times) + 0.5 + 0.05 * rng.normal(size=25)
    t, y, high = at.constant(times), at.dvector("y"), at.dscalar("high")
    upper = at.stack([at.constant(INF), high, at.constant(0.3)])
    found = at.optimize.least_squares(
        lambda p: p[0] * at.exp(-p[1] * t) + p[2] - y, at.constant([1.0, 1.0, 0.0]), bounds=(-1.0, upper)
    )
    names = [found.solution, found.fun, found.residual, found.success]
    f = aot.function([y, high], [*names, jacobian(found.solution, high), jacobian(found.solution, y)], name="decay")

    def solved(observed: Any, end: float) -> Any:
        return scipy.optimize.least_squares(
            lambda p: p[0] * np.exp(-p[1] * times) + p[2] - observed, [1, 0.5, 0], "3-point",
            bounds=([-1] * 3, [INF, end, 0.3]), xtol=1e-15, ftol=1e-15, gtol=1e-15,
        )  # fmt: skip

    for end in (0.9, 3.0):
        for run in (f, f.reference):
            x, fun, residual, success, by_end, by_data = run(data, end)
            wanted = solved(data, end)
            np.testing.assert_allclose(x, wanted.x, rtol=1e-7)
            assert success and residual < 1e-8 and fun <= wanted.cost * (1 + 1e-10) and x[2] <= 0.3
        assert (x[1] == end) == (end == 0.9) and x[2] == 0.3
        h = 1e-4
        differences = (solved(data, end + h).x - solved(data, end - h).x) / (2 * h)
        np.testing.assert_allclose(by_end, differences, rtol=1e-4, atol=1e-4)
        step = np.cos(times)
        moved = (solved(data + h * step, end).x - solved(data - h * step, end).x) / (2 * h)
        np.testing.assert_allclose(by_data @ step, moved, rtol=1e-4, atol=1e-4)


@pytest.mark.shows("tensor/13-least_squares")
def test_methods_of_least_squares_agree() -> None:
    """Powell's badly scaled and Brown's functions without bounds: "trf" finds what "lm" does."""
    starts = [np.array([0.0, 1.0]), np.array([1.0, 1.0])]
    for fun, start in zip(
        (
            lambda x: at.stack([1e2 * x[0] * x[1] - 1, at.exp(-x[0]) + at.exp(-x[1]) - 1.0001]),
            lambda x: at.stack([x[0] - 1e2, x[1] - 2e-2, x[0] * x[1] - 2]),
        ),
        starts,
        strict=True,
    ):
        by = [at.optimize.least_squares(fun, at.constant(start), method=method) for method in ("lm", "trf")]
        outputs = [x for found in by for x in (found.solution, found.success)]
        first, is_first, second, is_second = aot.function([], outputs).reference()
        assert is_first and is_second
        np.testing.assert_allclose(first, second, rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "lm", "bounds": (0, 1)}, GraphValueError, 'method "lm" has none'),
        ({"bounds": (0, 1, 2)}, GraphTypeError, "bounds must be Bounds.lb, ub. or a pair"),
        ({"bounds": (1, 0)}, GraphValueError, "lower end 1 and the upper end 0"),
        ({"bounds": (0, [1, 2, 3])}, GraphValueError, "bounds must have the shape of x0 or broadcast to it"),
        ({"method": "dogbox"}, GraphValueError, "dogbox"),
    ],
)
def test_bounds_of_least_squares_that_do_not_fit(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        at.optimize.least_squares(lambda x: x - 3, at.zeros(2), **options)
