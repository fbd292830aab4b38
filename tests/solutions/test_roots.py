"""Roots and fixed points against SciPy and closed forms: values, both derivatives, compiled and by the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.gradient import Rop, grad, hessian
from aotensor.tensor.optimize import Ending, Solution

A = at.scalar("a")


def both(inputs: Sequence[Any], outputs: Any, *values: Any) -> list[Any]:
    """What compiled code gives, after a comparison with the reference."""
    f = aot.function(list(inputs), outputs)
    found, wanted = f(*values), f.reference(*values)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    return list(found)


def system(x: Any, a: Any, np_or_at: Any) -> list[Any]:
    return [a * x[0] * np_or_at.cos(x[1]) - 4, x[0] * x[1] - a * x[1] - 5]


def difference(fn: Callable[[float], Any], at_point: float, step: float = 1e-5) -> Any:
    return (fn(at_point + step) - fn(at_point - step)) / (2 * step)


@pytest.mark.shows("tensor/13-root")
@pytest.mark.parametrize("method", ["newton", "broyden"])
def test_a_system_as_scipy_solves_it(method: str) -> None:
    def solved(a: float) -> np.ndarray:
        return scipy.optimize.root(system, [1.0, 1.0], (a, np), tol=1e-14).x

    found = at.optimize.root(lambda x: system(x, A, at), at.constant([1.0, 1.0]), method=method)
    slope = grad(found.solution[0], A)
    x, success, iterations, residual, status, first, second = both([A], [*found, slope, grad(slope, A)], 1.2)
    np.testing.assert_allclose(x, solved(1.2), rtol=1e-11)
    assert success and status == Ending.CONVERGED and residual < 1e-12 and iterations < 20
    np.testing.assert_allclose(first, difference(lambda a: solved(a)[0], 1.2), rtol=1e-6)
    np.testing.assert_allclose(
        second, difference(lambda a: difference(lambda b: solved(b)[0], a, 1e-3), 1.2, 1e-3), rtol=1e-3
    )


@pytest.mark.shows("tensor/13-root_scalar")
@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"x0": 0.0, "method": "newton"}, "newton"),
        ({"x0": 0.0, "method": "halley"}, "halley"),
        ({"x0": 0.0, "method": "secant"}, "secant"),
        ({"bracket": (-2.0, 1.0)}, "brentq"),
    ],
)
def test_one_equation_by_every_method(options: dict[str, Any], name: str) -> None:
    found = at.optimize.root_scalar(lambda x: x + 2 * A * at.cos(x), **options)
    slope = grad(found.solution, A)
    x, success, iterations, _, _, first, second = both([A], [*found, slope, grad(slope, A)], 1.0)
    wanted = scipy.optimize.brentq(lambda x: x + 2 * np.cos(x), -2, 1, xtol=1e-15)
    np.testing.assert_allclose(x, wanted, rtol=1e-14)
    assert success and iterations <= 10, name
    s, c = np.sin(wanted), np.cos(wanted)
    d = -2 * c / (1 - 2 * s)
    np.testing.assert_allclose(first, d, rtol=1e-12)
    # d/da of x + 2 a cos x = 0, twice: x" (1 − 2 a sin x) = 4 sin x · x' + 2 a cos x · x'²
    np.testing.assert_allclose(second, (4 * s * d + 2 * c * d * d) / (1 - 2 * s), rtol=1e-11)


@pytest.mark.shows("tensor/13-fixed_point")
@pytest.mark.parametrize("method", ["anderson", "iteration"])
def test_a_fixed_point(method: str, rng: np.random.Generator) -> None:
    W, b = at.matrix("W", shape=("n", "n")), at.vector("b", shape=("n",))
    weights, bias = 0.4 * rng.normal(size=(5, 5)), rng.normal(size=5)
    found = at.optimize.fixed_point(lambda x, b: at.tanh(W @ x) + b, at.zeros_like(b), b, method=method)
    x, success, iterations, slope = both(
        [W, b], [found.solution, found.success, found.iterations, grad(found.solution.sum(), b)], weights, bias
    )
    assert success
    assert iterations < (20 if method == "anderson" else 200)
    np.testing.assert_allclose(np.tanh(weights @ x) + bias, x, atol=1e-11)
    jacobian = np.eye(5) - (1 - np.tanh(weights @ x) ** 2)[:, None] * weights
    np.testing.assert_allclose(slope, np.linalg.solve(jacobian.T, np.ones(5)), rtol=1e-9)


def test_a_root_of_a_matrix_in_every_direction(rng: np.random.Generator) -> None:
    """X with X·X = M: forward and reverse agree, and are those of the Sylvester equation X·Ẋ + Ẋ·X = Ṁ."""
    M, V = at.matrix("M", shape=(2, 2)), at.matrix("V", shape=(2, 2))
    found = at.optimize.root(lambda x: x @ x - M, at.eye(2))
    x, forward, reverse = both(
        [M, V], [found.solution, Rop(found.solution, M, V), grad((found.solution * V).sum(), M)],
        np.array([[4.0, 1.0], [0.5, 9.0]]), np.array([[0.3, -1.0], [2.0, 0.7]]),
    )  # fmt: skip
    np.testing.assert_allclose(x @ x, [[4, 1], [0.5, 9]], atol=1e-12)
    v = np.array([[0.3, -1.0], [2.0, 0.7]])
    np.testing.assert_allclose(forward, scipy.linalg.solve_sylvester(x, x, v), rtol=1e-10)
    np.testing.assert_allclose(reverse, scipy.linalg.solve_sylvester(x.T, x.T, v), rtol=1e-10)


@pytest.mark.shows("tensor/13-root")
def test_second_derivatives_of_a_vector_of_named_length() -> None:
    a, x0 = at.vector("a", shape=("n",)), at.vector("x0", shape=("n",))
    x = at.optimize.root(lambda x: x**3 + x - a, x0).solution
    point = np.array([1.0, 2.0, -30.0])
    value, slope, curve = both([x0, a], [x, grad(x.sum(), a), hessian(x.sum(), a)], np.zeros(3), point)
    np.testing.assert_allclose(value**3 + value, point, rtol=1e-13)
    np.testing.assert_allclose(slope, 1 / (3 * value**2 + 1), rtol=1e-12)
    np.testing.assert_allclose(curve, np.diag(-6 * value / (3 * value**2 + 1) ** 3), atol=1e-13)
    # the start has no influence, and zeros as its derivative
    (zeros,) = both([x0, a], [grad(x.sum(), x0)], np.zeros(3), point)
    np.testing.assert_array_equal(zeros, np.zeros(3))


def test_a_sparse_matrix_and_a_shared_variable_that_the_equations_read() -> None:
    matrix = sp.csr_matrix("S", dtype="float64", shape=("n", "n"))
    shift = aot.shared(np.ones(3), name="shift")
    x = at.optimize.root(lambda x: matrix @ x + at.tanh(x) - shift, at.zeros(3)).solution
    values = scipy.sparse.csr_matrix(np.diag([2.0, 3.0, 4.0]) + np.eye(3, k=1))
    found, by_shift, by_matrix = both([matrix], [x, grad(x.sum(), shift), grad(x.sum(), matrix)], values)
    jacobian = values.toarray() + np.diag(1 - np.tanh(found) ** 2)
    adjoint = np.linalg.solve(jacobian.T, np.ones(3))
    np.testing.assert_allclose(by_shift, adjoint, rtol=1e-12)
    np.testing.assert_allclose(by_matrix, -np.outer(adjoint, found), rtol=1e-12)


def test_a_root_of_a_root() -> None:
    """x + y = a where y³ + y = x·b: the inner search is a part of the outer one, at any depth of derivatives."""
    b = at.scalar("b")

    def inner(x: Any) -> Any:
        return at.optimize.root_scalar(lambda y: y**3 + y - x * b, x0=0.0).solution

    x = at.optimize.root_scalar(lambda x: x + inner(x) - A, x0=0.0).solution
    found, slope = both([A, b], [x, grad(x, b)], 3.0, 2.0)
    y = 3.0 - found
    np.testing.assert_allclose(y**3 + y, 2 * found, rtol=1e-12)
    np.testing.assert_allclose(slope, -found / (3 * y**2 + 1 + 2), rtol=1e-11)


@pytest.mark.shows("tensor/13-batch")
@pytest.mark.parametrize("level", [0, 3])
def test_samples_stop_one_by_one(level: int, tmp_path: Any) -> None:
    """Every sample has its own number of steps, in one loop; one that fails has nan alone."""
    found = at.optimize.root_scalar(lambda x: x * x - A, x0=1.0)
    many = at.vector("many", shape=("m",))
    x, success, steps, slope = at.vectorize_graph(
        [found.solution, found.success, found.iterations, grad(found.solution, A)], {A: many}
    )
    outputs = {"x": x, "success": success, "steps": steps, "slope": slope, "again": grad(x.sum(), many)}
    f = aot.function([many], outputs, name="roots")
    library = aot.compile([f], tmp_path, opt_level=level).load()
    points = np.array([4.0, 1.0, 1e6, -1.0])
    for result in (library.roots(points), f.reference(points)):
        np.testing.assert_allclose(result["x"][:3], [2, 1, 1000], rtol=1e-14)
        np.testing.assert_array_equal(result["success"], [True, True, True, False])
        assert result["steps"][1] == 0 < result["steps"][0] < result["steps"][2]
        for slopes in (result["slope"], result["again"]):
            np.testing.assert_allclose(slopes, [0.25, 0.5, 0.0005, np.nan], rtol=1e-12)
    empty = library.roots(np.zeros(0))
    assert empty["x"].shape == (0,)


def test_single_precision() -> None:
    x0, b = at.fvector("x0"), at.fvector("b")
    found: Solution = at.optimize.root(lambda x: x**3 + x - b, x0)
    x, success, slope = both(
        [x0, b], [found.solution, found.success, grad(found.solution.sum(), b)], *np.float32([[0, 0], [2, 10]])
    )
    assert x.dtype == slope.dtype == "float32" and success
    np.testing.assert_allclose(x, [1, 2], rtol=1e-6)
    np.testing.assert_allclose(slope, [1 / 4, 1 / 13], rtol=1e-6)
