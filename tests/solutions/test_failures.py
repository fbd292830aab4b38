"""What a search does that finds nothing, and what is refused before it begins."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_roots import both

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphConvergenceError, GraphLinAlgError
from aotensor.gradient import grad
from aotensor.tensor.optimize import Ending
from aotensor_runtime.abi import Status

A = at.scalar("a")
TWO = at.constant([1.0, 2.0])
OPTIMIZE = at.optimize


@pytest.mark.shows("tensor/13-failures")
@pytest.mark.parametrize(
    ("solve", "status"),
    [
        (lambda: OPTIMIZE.root(lambda x: x**2 + A, TWO), Ending.SINGULAR),
        (lambda: OPTIMIZE.root(lambda x: at.stack([x.sum() - A, 2 * x.sum()]), TWO), Ending.SINGULAR),
        (lambda: OPTIMIZE.root(lambda x: at.sqrt(x) + A, at.zeros(1)), Ending.SINGULAR),
        (lambda: OPTIMIZE.root_scalar(lambda x: at.sqrt(x) + A, x0=0.0), Ending.SINGULAR),
        (lambda: OPTIMIZE.root(lambda x: at.exp(x) + A, TWO, maxiter=3), Ending.TOO_MANY_STEPS),
        (lambda: OPTIMIZE.root(lambda x: at.log(-x) + A, TWO), Ending.NOT_FINITE),
        (lambda: OPTIMIZE.root(lambda x: x**2 + A, at.constant([1.0, np.nan])), Ending.NOT_FINITE),
        (lambda: OPTIMIZE.root(lambda x: x**2 + A, TWO, method="broyden", maxiter=5), Ending.TOO_MANY_STEPS),
        (lambda: OPTIMIZE.root_scalar(lambda x: x**2 + A, bracket=(-1.0, 1.0)), Ending.NO_BRACKET),
        (lambda: OPTIMIZE.root_scalar(lambda x: at.log(x) + A, bracket=(0.0, 1.0)), Ending.NOT_FINITE),
        (lambda: OPTIMIZE.root_scalar(lambda x: x**2 + A, x0=0.0), Ending.SINGULAR),
        (lambda: OPTIMIZE.root_scalar(lambda x: x**2 + A, x0=1.0, method="secant"), Ending.TOO_MANY_STEPS),
        (lambda: OPTIMIZE.fixed_point(lambda x: 3 * x + A, TWO, method="iteration", maxiter=9), Ending.TOO_MANY_STEPS),
        (lambda: OPTIMIZE.fixed_point(lambda x: at.exp(x) + A, TWO, method="iteration"), Ending.NO_PROGRESS),
        (lambda: OPTIMIZE.minimize(lambda x: at.sqrt(x - A).sum(), at.constant([0.5, 2.0])), Ending.NOT_FINITE),
        (lambda: OPTIMIZE.minimize(lambda x: -(x**4).sum() * A, TWO, maxiter=5), Ending.TOO_MANY_STEPS),
        (lambda: OPTIMIZE.minimize(lambda x: -(x * A).sum(), TWO, method="BFGS"), Ending.NO_PROGRESS),
        (lambda: OPTIMIZE.minimize_scalar(lambda x: A * x), Ending.NO_BRACKET),
        (lambda: OPTIMIZE.minimize_scalar(lambda x: A * x * x, bounds=(2.0, 1.0)), Ending.NO_BRACKET),
        (lambda: OPTIMIZE.least_squares(lambda x: at.log(-x) * A, TWO), Ending.NOT_FINITE),
    ],
)
def test_a_search_that_fails_says_so(solve: Any, status: Ending) -> None:
    """No success and the reason; its derivative is nan; the call itself goes well."""
    found = solve()
    success, why, slope = both([A], [found.success, found.status, grad(found.solution.sum(), A)], 1.0)
    assert not success
    assert why == status
    assert np.isnan(slope)


def test_systems_without_unknowns_and_with_one() -> None:
    b = at.vector("b", shape=("n",))
    found = at.optimize.root(lambda x: x**3 - b, at.ones_like(b))
    least = at.optimize.minimize(lambda x: ((x - b) ** 2).sum(), at.ones_like(b))
    outputs = [found.solution, found.success, grad(found.solution.sum(), b), least.solution, least.success]
    for values in (np.zeros(0), np.array([8.0])):
        x, success, slope, y, is_least = both([b], outputs, values)
        assert success and is_least
        np.testing.assert_allclose(x, np.cbrt(values))
        np.testing.assert_allclose(slope, 1 / (3 * x**2))
        np.testing.assert_allclose(y, values)


@pytest.mark.shows("tensor/13-failures")
def test_a_call_that_must_converge_fails_with_a_status(tmp_path: Path) -> None:
    found = at.optimize.root_scalar(lambda x: at.exp(x) - A, x0=0.0, raise_on_failure=True, maxiter=7)
    f = aot.function([A], {"x": found.solution, "slope": grad(found.solution, A)}, name="logarithm")
    artifact = aot.compile([f], tmp_path, opt_level=0)
    log = artifact.load().logarithm
    result = log(np.e)
    np.testing.assert_allclose([result["x"], result["slope"]], [1, 1 / np.e], rtol=1e-13)
    for call in (log, f.reference):
        with pytest.raises(ArithmeticError, match=r"root_scalar: no (solution|step)"):
            call(1e9)
    assert "AOTENSOR_NOT_CONVERGED" in artifact.header.read_text()
    library = ctypes.CDLL(str(artifact.library))
    x, slope, number = ctypes.c_double(), ctypes.c_double(), ctypes.c_double
    library.logarithm.argtypes = [ctypes.POINTER(number)] * 3 + [ctypes.c_void_p]
    assert library.logarithm(number(3.0), x, slope, None) == Status.OK
    assert library.logarithm(number(1e9), x, slope, None) == Status.NOT_CONVERGED
    library.aotensor_status_message.restype = ctypes.c_char_p
    assert library.aotensor_status_message(int(Status.NOT_CONVERGED)) == b"a solver that must converge did not"


@pytest.mark.shows("tensor/13-failures")
def test_a_singular_system_that_must_converge_is_told_apart() -> None:
    found = at.optimize.root(lambda x: x**2 + A, TWO, raise_on_failure=True)
    f = aot.function([A], found.solution)
    np.testing.assert_allclose(f(-4.0), [2, 2])
    for call in (f, f.reference):
        with pytest.raises(np.linalg.LinAlgError, match="root: the derivative is singular"):
            call(1.0)
    many = at.vector("many")
    g = aot.function([many], at.vectorize_graph(found.solution, {A: many}))
    np.testing.assert_allclose(g([-4.0, -9.0])[:, 0], [2, 3])
    assert g(np.zeros(0)).shape == (0, 2)
    with pytest.raises(GraphLinAlgError, match="singular"):
        g.reference([-4.0, 1.0])
    assert issubclass(GraphConvergenceError, ArithmeticError)


@pytest.mark.shows("tensor/13-arguments")
@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: OPTIMIZE.root(3, TWO), TypeError, "root: F must be a function, not 3"),
        (lambda: OPTIMIZE.root(lambda x: None, TWO), TypeError, "F returned None"),
        (lambda: OPTIMIZE.root(lambda x: x[0], TWO), ValueError, "F must have the shape of x"),
        (lambda: OPTIMIZE.root(lambda x: [x[0], x[1], x[0]], TWO), ValueError, "F must have the shape of x"),
        (lambda: OPTIMIZE.root(lambda x: TWO, TWO), ValueError, "F does not depend on x"),
        (lambda: OPTIMIZE.root(lambda x: x * 1j, TWO), TypeError, "F must be real"),
        (lambda: OPTIMIZE.root(lambda x: x, at.zvector("z")), TypeError, "x0 must be a dense real tensor"),
        (lambda: OPTIMIZE.root(lambda x: x, TWO, method="hybr"), ValueError, "root: method"),
        (lambda: OPTIMIZE.root(lambda x: x, TWO, tol=0), ValueError, "tol must be between 0 and 1, not 0"),
        (lambda: OPTIMIZE.root(lambda x: x, TWO, tol=A), TypeError, "tol must be a number"),
        (lambda: OPTIMIZE.root(lambda x: x, TWO, maxiter=0), ValueError, "maxiter must be at least 1, not 0"),
        (lambda: OPTIMIZE.root(lambda x: x, TWO, maxiter=1.5), TypeError, "maxiter must be an int, not 1.5"),
        (lambda: OPTIMIZE.root_scalar(lambda x: x), TypeError, "method 'newton' needs a start x0"),
        (lambda: OPTIMIZE.root_scalar(lambda x: x, x0=TWO), ValueError, "x0 must be a scalar"),
        (lambda: OPTIMIZE.root_scalar(lambda x: x, bracket=(1.0,)), TypeError, r"a pair \(a, b\)"),
        (
            lambda: OPTIMIZE.root_scalar(lambda x: x, bracket=(1.0, 1.0)),
            ValueError,
            "two ends of bracket must differ, found 1.0",
        ),
        (lambda: OPTIMIZE.root_scalar(lambda x: x, bracket=(1.0, np.inf)), ValueError, "finite number, not inf"),
        (lambda: OPTIMIZE.minimize(lambda x: x, TWO), ValueError, "minimize: fun must return a scalar"),
        (
            lambda: OPTIMIZE.minimize_scalar(lambda x: x, bounds=(0.0, 1.0), method="brent"),
            TypeError,
            "accepts a bracket only",
        ),
        (
            lambda: OPTIMIZE.minimize_scalar(lambda x: x, method="bounded"),
            TypeError,
            'needs bounds and "brent" accepts',
        ),
        (lambda: OPTIMIZE.least_squares(lambda x: x.sum(), TWO), ValueError, "must return a vector of residuals"),
    ],
)
def test_what_cannot_be_solved_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.shows("tensor/13-root")
def test_a_derived_function_verifies() -> None:
    """All that `verify` checks: every stage, threads, derivatives by duality, Taylor order and differences, symbols."""
    found = at.optimize.root_scalar(lambda x: x**3 + x - A, x0=0.0)
    f = aot.function([A], {"x": found.solution, "slope": grad(found.solution, A)}, name="cardano")
    report = f.verify(samples=3)
    assert report, str(report)


@pytest.mark.shows("tensor/13-arguments")
def test_extents_that_do_not_fit_are_told_in_the_call() -> None:
    v, m = at.vector("v"), at.matrix("m")
    short = aot.function([v], at.optimize.root(lambda x: x[:-1] ** 2 - 2, v).solution)
    turned = aot.function([m], at.optimize.fixed_point(lambda x: at.cos(x.T), m).solution)
    for f, point in ((short, np.ones(3)), (turned, np.ones((2, 3)))):
        for call in (f, f.reference):
            with pytest.raises(ValueError, match="along axis 0 instead of"):
                call(point)
    np.testing.assert_allclose(turned(np.ones((2, 2))), np.full((2, 2), 0.7390851332151607), rtol=1e-11)
