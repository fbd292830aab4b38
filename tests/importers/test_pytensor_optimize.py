"""PyTensor's solvers, which call SciPy while a function runs: imported, the library searches by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor", reason="no PyTensor: pip install 'aotensor[pytensor]'")
pytest.importorskip("pytensor.tensor.optimize", reason="before PyTensor had solvers")

import pytensor.tensor as pt  # noqa: E402
from pytensor.compile.mode import Mode  # noqa: E402
from pytensor.tensor import optimize  # noqa: E402

from aotensor.importers.pytensor import NoCounterpart, function  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
X, A = pt.dscalars("x", "a")
V = pt.dvector("v")


def _line(x: Any) -> Any:
    return x + 2 * A * pt.cos(x)


def _bowl(x: Any) -> Any:
    return ((x - A) ** 4).sum() + (x**2).sum()


def _with_slope(made: Any) -> list[Any]:
    solution, success = made
    return [solution, success, pytensor.grad(solution.sum() if solution.ndim else solution, A)]


@pytest.mark.parametrize(
    ("solve", "start"),
    [
        (lambda: optimize.root(_line(V), V), V),
        (lambda: optimize.root(_line(V), V, method="broyden1", jac=False, optimizer_kwargs={"tol": 1e-10}), V),
        (lambda: optimize.root_scalar(_line(X), X, method="newton", jac=True), X),
        (lambda: optimize.root_scalar(_line(X), X, method="brentq", optimizer_kwargs={"bracket": (-3.0, 1.0)}), X),
        (lambda: optimize.minimize(_bowl(V), V, method="trust-exact", hess=True), V),
        (lambda: optimize.minimize(_bowl(V), V, method="L-BFGS-B", optimizer_kwargs={"options": {"maxiter": 90}}), V),
        (lambda: optimize.minimize_scalar(_bowl(X), X), X),
        (lambda: optimize.minimize_scalar(_bowl(X), X, "bounded", {"bounds": (-5, 5)}), X),
    ],
    ids=["hybr", "broyden", "newton", "brentq", "trust", "lbfgs", "brent", "bounded"],
)
def test_solutions_are_those_that_scipy_finds(request: pytest.FixtureRequest, solve: Any, start: Any) -> None:
    point = np.zeros(2) if start is V else 0.0
    # PyTensor hands its function a float from SciPy's bracketing methods, where it fails
    is_bracket = "brentq" in str(request.node.name)
    plain = optimize.root_scalar(_line(X), X, method="newton", jac=True) if is_bracket else solve()
    options: dict[str, Any] = {"on_unused_input": "ignore"}
    wanted = pytensor.function([start, A], _with_slope(plain), mode=Mode("py", None), **options)(point, 1.3)
    found = function([start, A], _with_slope(solve()), **options)(point, 1.3)
    assert found[1] and wanted[1]
    np.testing.assert_allclose(found[0], wanted[0], atol=2e-5)
    np.testing.assert_allclose(found[2], wanted[2], atol=2e-4)


def test_bounds_of_a_vector_are_kept() -> None:
    """One element is at its bound, the other is not."""
    made = optimize.minimize(_bowl(V), V, method="L-BFGS-B", optimizer_kwargs={"bounds": [(None, 0.2), (0, None)]})
    wanted = pytensor.function([V, A], made, mode=Mode("py", None))(np.zeros(2), 1.3)
    found = function([V, A], made).reference(np.zeros(2), 1.3)
    assert found[1] and wanted[1] and found[0][0] == 0.2
    np.testing.assert_allclose(found[0], wanted[0], atol=2e-5)


@pytest.mark.parametrize(
    ("solve", "text"),
    [
        (
            lambda: optimize.minimize(_bowl(V), V, "SLSQP", optimizer_kwargs={"bounds": [(0, 1)]}),
            "its option 'bounds' is not supported",
        ),
        (lambda: optimize.root_scalar(_line(X), X, method="bisect"), "its method 'bisect' needs a bracket"),
    ],
)
def test_options_without_a_counterpart_are_refused(solve: Any, text: str) -> None:
    with pytest.raises(NoCounterpart, match=text):
        function([X, V, A], solve()[0], on_unused_input="ignore")
