"""Sparse Jacobians of roots and of stiff systems: against SciPy, mpmath, closed forms, and against dense Jacobians."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.gradient import Rop
from aotensor.solutions.jacobians.slopes import Slopes
from aotensor.sparse.csm import parts_of
from aotensor.sparse.direct.ops import elimination_order, factors_of
from aotensor.tensor.optimize import Ending

RATE = at.dscalar("rate")


def bratu(u: Any, rate: Any, xp: Any) -> Any:
    """u″ + rate·eᵘ = 0 with u = 0 at both ends, by differences."""
    n = int(u.shape[0]) if xp is np else u.static_shape[0]
    around = xp.concatenate([xp.zeros(1), u, xp.zeros(1)])
    return around[:-2] - 2 * u + around[2:] + rate * xp.exp(u) / (n + 1) ** 2


def bratu_by_mpmath(n: int, rate: Any) -> Any:
    """The sum of the lower solution, with 40 digits."""

    def equations(*u: Any) -> list[Any]:
        around = [0, *u, 0]
        return [
            a - 2 * b + c + rate * mpmath.exp(b) / (n + 1) ** 2
            for a, b, c in zip(around, around[1:], around[2:], strict=False)
        ]

    return sum(mpmath.findroot(equations, [mpmath.mpf("0.1")] * n))


@pytest.mark.shows("tensor/13-root-sparse")
@pytest.mark.parametrize("n", [5, 0, 1, 2])
def test_a_boundary_value_problem(n: int) -> None:
    """Values and derivatives of order 1 and 2 in both modes, with 12 digits."""
    found = at.optimize.root(lambda u: bratu(u, RATE, at), at.zeros(n), jacobian="sparse")
    total = found.solution.sum()
    slope = aot.grad(total, RATE)
    one = at.constant(1.0)
    outputs = [total, slope, aot.grad(slope, RATE), Rop(total, RATE, one), Rop(Rop(total, RATE, one), RATE, one)]
    f = aot.function([RATE], [*outputs, found.success, found.residual], name=f"bratu_{n}")
    with mpmath.workdps(40):
        step = mpmath.mpf(10) ** -12
        ends = [bratu_by_mpmath(n, 1 + k * step) if n else mpmath.mpf(0) for k in (-1, 0, 1)]
        first, second = (ends[2] - ends[0]) / (2 * step), (ends[2] - 2 * ends[1] + ends[0]) / step**2
    expected = [float(x) for x in (ends[1], first, second, first, second)]
    for run in (f, f.reference):
        *values, success, residual = run(1.0)
        np.testing.assert_allclose(values, expected, rtol=1e-12)
        assert success and residual < 1e-15


@pytest.mark.shows("tensor/13-root-sparse")
def test_a_large_tridiagonal_system(tmp_path: Path) -> None:
    """Broyden's tridiagonal function of 3000 unknowns, by SciPy's banded solver, without optimisation and with it."""
    n = 3000
    b, v = at.dvector("b", shape=(n,)), at.dvector("v", shape=(n,))

    def equations(x: Any) -> Any:
        inner = at.concatenate([at.zeros(1), x, at.zeros(1)])
        return (3 - 2 * x) * x - inner[:-2] - 2 * inner[2:] + b

    x = at.optimize.root(equations, -at.ones(n), jacobian="sparse").solution
    f = aot.function([b, v], [x, aot.grad((x * v).sum(), b), Rop(x, b, v)], name="tridiagonal")
    right, along = np.linspace(0.9, 1.1, n), np.sin(np.arange(n))
    for level in (0, 3):
        library = aot.compile([f], tmp_path / str(level), opt_level=level).load()
        found, reverse, forward = library.tridiagonal(right, along)
        around = np.concatenate([[0], found, [0]])
        assert np.abs((3 - 2 * found) * found - around[:-2] - 2 * around[2:] + right).max() < 1e-13
        bands = np.stack([np.full(n, -2.0), 3 - 4 * found, np.full(n, -1.0)])
        np.testing.assert_allclose(forward, -scipy.linalg.solve_banded((1, 1), bands, along), rtol=1e-11, atol=1e-13)
        transposed = np.stack([np.full(n, -1.0), 3 - 4 * found, np.full(n, -2.0)])
        np.testing.assert_allclose(reverse, -scipy.linalg.solve_banded((1, 1), transposed, along), atol=1e-12)


@pytest.mark.shows("tensor/13-root-sparse")
def test_equations_in_two_dimensions_with_a_matrix_of_another_pattern() -> None:
    """M·x + tanh x = a for a sparse input M, whose pattern only the caller knows: jac_sparsity gives a larger one."""
    M, a = sp.csr_matrix("M", dtype="float64", shape=(6, 6)), at.dvector("a", shape=(6,))
    pattern = scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(6, 6))
    matrix = scipy.sparse.csr_matrix(np.diag(np.arange(2.0, 8.0)) + np.eye(6, k=1))

    def equations(x: Any) -> Any:
        return at.reshape(M @ x.ravel() + at.tanh(x.ravel()) - a, (2, 3))

    with pytest.raises(ValueError, match="the sparsity of a Jacobian depends on the pattern of"):
        at.optimize.root(equations, at.zeros((2, 3)), jacobian="sparse")
    found = at.optimize.root(equations, at.zeros((2, 3)), jac_sparsity=pattern)
    x = found.solution
    f = aot.function([M, a], [x, aot.grad(x.sum(), a), aot.grad(x.sum(), M), found.success], name="two_dimensions")
    right = np.linspace(-1, 1, 6)
    for run in (f, f.reference):
        value, for_a, for_m, success = run(matrix, right)
        flat = value.ravel()
        np.testing.assert_allclose(matrix @ flat + np.tanh(flat), right, atol=1e-14)
        adjoint = np.linalg.solve((matrix.toarray() + np.diag(1 - np.tanh(flat) ** 2)).T, np.ones(6))
        np.testing.assert_allclose(for_a, adjoint, rtol=1e-12)
        np.testing.assert_allclose(for_m, -np.outer(adjoint, flat), atol=1e-13)
        assert success and value.shape == (2, 3)


@pytest.mark.shows("tensor/13-fixed_point")
def test_derivatives_of_a_fixed_point() -> None:
    a = at.dvector("a", shape=(30,))

    def smoothed(x: Any) -> Any:
        around = at.concatenate([x[-1:], x, x[:1]])
        return a + 0.2 * at.sin(around[:-2]) + 0.3 * at.cos(around[2:])

    made = {}
    for kind in ("dense", "sparse"):
        x = at.optimize.fixed_point(smoothed, at.zeros(30), jacobian=kind).solution
        made[kind] = aot.function([a], [x, aot.grad((x**2).sum(), a), Rop(x, a, at.ones(30))], name=f"fixed_{kind}")
    point = np.linspace(-1, 2, 30)
    for one, other in zip(made["dense"](point), made["sparse"](point), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.shows("tensor/13-failures")
@pytest.mark.parametrize("level", [0, 3])
def test_a_singular_system_is_a_status(level: int, tmp_path: Path) -> None:
    """Of numbers, of the structure, and infinite; in a batch, the others are solved; and an error on demand."""
    a, many = at.dscalar("a"), at.dvector("many")
    start = at.constant([1.0, 1.0])

    def of(equations: Any, **options: Any) -> Any:
        return at.optimize.root(equations, start, jacobian="sparse", **options)

    searches = [
        of(lambda x: at.stack([x.sum() - a, 2 * x.sum()])),
        of(lambda x: at.stack([x[0] - a, x[0] ** 2])),
        of(lambda x: at.stack([at.sqrt(x[0] - 1) + a, x[1] - a])),
    ]
    outputs = [y for s in searches for y in (s.success, s.status, aot.grad(s.solution.sum(), a))]
    strict = of(lambda x: at.stack([a * x.sum() - 1, x[0] - x[1]]), raise_on_failure=True)
    lanes = of(lambda x: at.stack([a * x[0] + x[1] - 1, x[0] ** 2 + x[1] - 2]))
    rows = at.vectorize_graph([lanes.solution, lanes.status, aot.grad(lanes.solution.sum(), a)], {a: many})
    failing = aot.function([a], outputs, name="failing")
    must = aot.function([a], strict.solution, name="must")
    batch = aot.function([many], rows, name="batch")
    library = aot.compile([failing, must, batch], tmp_path, opt_level=level).load()
    for run in (library.failing, failing.reference):
        found = run(1.0)
        for success, status, slope in zip(found[::3], found[1::3], found[2::3], strict=True):
            assert not success and status == Ending.SINGULAR and np.isnan(slope)
    for run in (library.must, must.reference):
        np.testing.assert_allclose(run(0.25), [2, 2], rtol=1e-14)
        with pytest.raises(np.linalg.LinAlgError, match="root: the derivative is singular"):
            run(0.0)
    for run in (library.batch, batch.reference):
        x, status, slope = run(np.array([1.0, 2.0, -1.0]))  # at the start the Jacobian is [[a, 1], [2, 1]]
        assert status.tolist() == [Ending.CONVERGED, Ending.SINGULAR, Ending.CONVERGED]
        for k, value in ((0, 1.0), (2, -1.0)):
            np.testing.assert_allclose([value * x[k, 0] + x[k, 1], x[k, 0] ** 2 + x[k, 1]], [1, 2], rtol=1e-12)
            matrix = np.array([[value, 1], [2 * x[k, 0], 1]])
            np.testing.assert_allclose(slope[k], -np.linalg.solve(matrix, [x[k, 0], 0]).sum(), rtol=1e-11)
        assert np.isnan(slope[1])


@pytest.mark.shows("tensor/13-root-sparse")
def test_work_and_memory_are_linear_in_the_number_of_unknowns() -> None:
    """The largest tensor of search and gradient, in elements, and the entries of the factors: 4 n, but n² if dense."""
    x = at.dvector("x", shape=(400,))
    matrix = parts_of(Slopes("sparse").of(bratu(x, RATE, at), x))
    values = matrix.data.eval({x: np.linspace(0, 1, 400), RATE: 1.0})
    patterns = matrix.indices.eval(), matrix.indptr.eval()
    factors = factors_of(values, *patterns, *elimination_order(*patterns))
    assert len(values) == 3 * 400 - 2 and len(factors[4]) + len(factors[6]) <= 4 * 400
    sizes = {}
    for kind, n in (("sparse", 100), ("sparse", 400), ("dense", 100)):
        found = at.optimize.root(lambda u: bratu(u, RATE, at), at.zeros(n), jacobian=kind).solution
        text = aot.function([RATE], [found, aot.grad(found.sum(), RATE)]).ir("tensor")
        shapes = re.findall(r"tensor<((?:\d+x)+)[a-z]", text)
        sizes[kind, n] = max(math.prod(map(int, shape.split("x")[:-1])) for shape in shapes)
    assert sizes["sparse", 100] <= 6 * 101 and sizes["sparse", 400] <= 6 * 401 and sizes["dense", 100] >= 100**2


@pytest.mark.shows("tensor/13-root-sparse")
def test_a_derived_function_verifies() -> None:
    found = at.optimize.root(lambda u: bratu(u, RATE, at), at.zeros(7), jacobian="sparse")
    f = aot.function([RATE], {"u": found.solution, "slope": aot.grad(found.solution.sum(), RATE)}, name="verified")
    report = f.verify(samples=2)
    assert report, str(report)


@pytest.mark.shows("tensor/13-arguments")
@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"jacobian": "banded"}, ValueError, "root: jacobian must be one of"),
        ({"jacobian": "sparse", "method": "broyden"}, ValueError, "jacobian='sparse' needs method"),
        ({"jac_sparsity": np.eye(2)}, TypeError, "jac_sparsity must be a SciPy sparse matrix, not ndarray"),
        (
            {"jac_sparsity": scipy.sparse.eye_array(3)},
            ValueError,
            r"jac_sparsity must have the shape \(2, 2\), not \(3, 3\)",
        ),
        (
            {"jacobian": "dense", "jac_sparsity": scipy.sparse.eye_array(2)},
            ValueError,
            "jac_sparsity needs jacobian=\"sparse\", not 'dense'",
        ),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        at.optimize.root(lambda x: x**2 - 2, at.ones(2), **options)


@pytest.mark.shows("tensor/13-arguments")
def test_a_sparse_jacobian_needs_extents_and_a_method_that_has_one() -> None:
    with pytest.raises(ValueError, match="root: a sparse Jacobian needs the extents of x0"):
        at.optimize.root(lambda x: x**2 - 2, at.dvector("x0", shape=("n",)), jacobian="sparse")
    with pytest.raises(ValueError, match="the sparsity of a Jacobian needs the extents of b"):
        b = at.dvector("b")
        at.optimize.root(lambda x: x**2 - b, at.ones(2), jacobian="sparse")
    with pytest.raises(ValueError, match="'RK45' uses no Jacobian: jacobian and jac_sparsity are for Rodas4, Rodas5P"):
        at.integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], t_eval=[1.0], jacobian="sparse")
    with pytest.raises(ValueError, match="solve_ivp: a sparse Jacobian needs the extents of y0"):
        y0 = at.dvector("y0")
        at.integrate.solve_ivp(lambda t, y: -y, (0, 1), y0, t_eval=[1.0], method="Rodas4", jacobian="sparse")
