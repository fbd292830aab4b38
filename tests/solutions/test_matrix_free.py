"""GMRES, and roots from products of the Jacobian with vectors: against NumPy, dense Jacobians and mpmath."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import Rop
from aotensor.solutions.jacobians.gmres import gmres
from aotensor.tensor.optimize import Ending

RNG = np.random.default_rng(4)
SKEW = np.array([[0.0, 1.0], [-1.0, 0.0]])
REGULAR = [
    np.zeros((0, 0)), np.array([[3.0]]), SKEW, 2 * np.eye(3), np.roll(np.eye(20), 1, axis=0),
    np.eye(60) + 0.5 * np.eye(60, k=1) - 0.3 * np.eye(60, k=-3), np.eye(50) + 0.1 * RNG.normal(size=(50, 50)),
    np.diag(10.0 ** np.linspace(-3, 3, 8)),
]  # fmt: skip
"""Some with directions in which the residual stays, and one that needs more than one cycle."""


@pytest.mark.shows("tensor/13-root-matrix-free")
def test_systems_by_products_alone() -> None:
    """Residuals near rounding; nan, after a bounded number of products, for matrices without a solution."""
    A, b = at.dmatrix("A"), at.dvector("b")
    f = aot.function([A, b], gmres(lambda v: A @ v, b), name="by_products")
    for run in (f, f.reference):
        for matrix in REGULAR:
            side = np.cos(np.arange(len(matrix)))
            np.testing.assert_allclose(matrix @ run(matrix, side), side, rtol=0, atol=1e-9)
            np.testing.assert_array_equal(run(matrix, 0 * side), 0 * side)
        for matrix in (np.ones((2, 2)), np.zeros((1, 1)), np.diag([1.0, np.inf])):
            assert np.isnan(run(matrix, np.arange(1.0, len(matrix) + 1))).all()
    far = np.roll(np.eye(40), 1, axis=0)  # 30 directions see nothing of the solution, in any cycle
    assert np.isnan(f(far, np.eye(40)[0])).all()


def coupled(x: Any, a: Any, xp: Any) -> Any:
    """Equations whose Jacobian is not symmetric."""
    last = xp.concatenate([xp.tanh(a * x[1:]), x[:1] ** 2])
    return x - 0.2 * last - a / 4


@pytest.mark.shows("tensor/13-root-matrix-free")
@pytest.mark.unlimited("derivatives without a matrix are shown by it alone", "ci")
def test_derivatives_of_a_root_of_named_length() -> None:
    """Of order 1 and 2, in both modes, by mpmath's differences with 12 digits."""
    a, x0 = at.dscalar("a"), at.dvector("x0", shape=("n",))
    found = at.optimize.root(lambda x: coupled(x, a, at), x0, jacobian="matrix-free")
    total = (found.solution**2).sum()
    slope = aot.grad(total, a)
    outputs = [total, slope, Rop(total, a, at.constant(1.0)), aot.grad(slope, a), found.success, aot.grad(total, x0)]
    f = aot.function([x0, a], outputs, name="coupled")

    def exact(n: int, a: Any) -> Any:
        def equations(*x: Any) -> list[Any]:
            last = [*(mpmath.tanh(a * y) for y in x[1:]), x[0] ** 2]
            return [y - mpmath.mpf("0.2") * z - a / 4 for y, z in zip(x, last, strict=True)]

        return sum(y**2 for y in mpmath.findroot(equations, [mpmath.mpf("0.3")] * n))

    with mpmath.workdps(40):
        step, point = mpmath.mpf(10) ** -12, mpmath.mpf(1.25)
        ends = [exact(4, point + k * step) for k in (-1, 0, 1)]
        first, second = (ends[2] - ends[0]) / (2 * step), (ends[2] - 2 * ends[1] + ends[0]) / step**2
    *values, success, for_start = f(np.zeros(4), 1.25)
    np.testing.assert_allclose(values, [float(x) for x in (ends[1], first, first, second)], rtol=1e-9)
    assert success and not for_start.any()
    assert f(np.zeros(0), 1.25)[0] == 0


@pytest.mark.shows("tensor/13-root-matrix-free")
@pytest.mark.parametrize("level", [0, 3])
def test_samples_and_failures(level: int, tmp_path: Path) -> None:
    """A sample with a singular Jacobian has that status and a derivative of nan; the others are solved."""
    a, many = at.dscalar("a"), at.dvector("many")
    found = at.optimize.root(
        lambda x: at.stack([a * x[0] + x[1] - 1, x[0] ** 2 + x[1] - 2]), at.ones(2), jacobian="matrix-free"
    )
    rows = at.vectorize_graph([found.solution, found.status, aot.grad(found.solution.sum(), a)], {a: many})
    f = aot.function([many], rows, name="samples")
    for run in (aot.compile([f], tmp_path, opt_level=level).load().samples, f.reference):
        x, status, slope = run(np.array([1.0, 2.0, -1.0]))  # at the start the Jacobian is [[a, 1], [2, 1]]
        assert status.tolist() == [Ending.CONVERGED, Ending.SINGULAR, Ending.CONVERGED]
        for k, value in ((0, 1.0), (2, -1.0)):
            np.testing.assert_allclose([value * x[k, 0] + x[k, 1], x[k, 0] ** 2 + x[k, 1]], [1, 2], rtol=1e-11)
            matrix = np.array([[value, 1], [2 * x[k, 0], 1]])
            np.testing.assert_allclose(slope[k], -np.linalg.solve(matrix, [x[k, 0], 0]).sum(), rtol=1e-9)
        assert np.isnan(slope[1])


@pytest.mark.shows("tensor/13-fixed_point")
def test_derivatives_of_a_fixed_point_by_products() -> None:
    a = at.dvector("a", shape=("n",))
    x = at.optimize.fixed_point(lambda x: a + 0.3 * at.sin(x[::-1]), at.zeros_like(a), jacobian="matrix-free").solution
    f = aot.function([a], [x, aot.grad(x.sum(), a)], name="fixed_by_products")
    value, slope = f(np.linspace(-1, 2, 9))
    matrix = np.eye(9) - np.diag(0.3 * np.cos(value[::-1]))[:, ::-1]
    np.testing.assert_allclose(slope, np.linalg.solve(matrix.T, np.ones(9)), rtol=1e-10)


@pytest.mark.shows("tensor/13-arguments")
def test_what_has_no_products() -> None:
    with pytest.raises(ValueError, match="jacobian='matrix-free' needs method \"newton\""):
        at.optimize.root(lambda x: x**2 - 2, at.ones(2), method="broyden", jacobian="matrix-free")
    with pytest.raises(ValueError, match="solve_ivp: jacobian must be one of"):
        at.integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], t_eval=[1.0], method="Rodas4", jacobian="matrix-free")
