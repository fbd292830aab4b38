"""Nonlinear programs: their functions against closed forms, their patterns, SciPy as a solver, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from nonlinear_programs import SOLUTION, START, control, hock_schittkowski_71

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import AotensorError, GraphTypeError, GraphValueError, MissingInputError


def test_functions_have_the_values_of_closed_forms() -> None:
    program, c = hock_schittkowski_71(), 2.0
    x0, x1, x2, x3 = START
    assert program.f.reference(START, c) == x0 * x3 * (x0 + x1 + x2) + c * x2
    np.testing.assert_allclose(program.grad_f.reference(START, c), [x3 * (x0 + 11), x0 * x3, x0 * x3 + c, x0 * 11])
    np.testing.assert_allclose(program.g.reference(START, c), [25.0, 52.0])
    slopes = program.jac_g.reference(START, c).toarray()
    np.testing.assert_allclose(slopes, [np.prod(START) / START, 2 * START])
    of_f = np.array([[2 * x3, x3, x3, 12], [x3, 0, 0, 1], [x3, 0, 0, 1], [12, 1, 1, 0]])
    of_product = (np.prod(START) / np.outer(START, START)) * (1 - np.eye(4))
    expected = np.tril(3.0 * of_f + 0.5 * of_product - 2.0 * 2 * np.eye(4))
    np.testing.assert_allclose(program.hess_l.reference(START, c, 3.0, [0.5, -2.0]).toarray(), expected)
    assert [f.name for f in program] == ["hs71_f", "hs71_grad_f", "hs71_g", "hs71_jac_g", "hs71_hess_l"]


def test_patterns_are_those_of_the_functions() -> None:
    program = control(6)
    values = (
        program.jac_g.reference(np.ones(program.n), 0.1),
        program.hess_l.reference(np.ones(program.n), 0.1, 1.0, np.ones(12)),
    )
    for pattern, found in zip((program.jac_g_pattern, program.hess_l_pattern), values, strict=True):
        indptr, indices = pattern
        assert np.array_equal(indptr, found.indptr) and np.array_equal(indices, found.indices)
        assert np.array_equal(pattern.rows, found.tocoo().row)
    assert (program.hess_l_pattern.rows >= program.hess_l_pattern.indices).all()
    # aa, ab, bb of the states at each of 7 times, and uu
    assert len(program.hess_l_pattern.indices) == 4 * 7 and len(program.jac_g_pattern.indices) == 10 * 6


def test_several_arrays_are_one_vector() -> None:
    program, rng = control(3), np.random.default_rng(1)
    y, u = rng.normal(size=(4, 2)), rng.normal(size=4)
    x = program.join(y, u)
    assert np.array_equal(x, np.r_[y.ravel(), u]) and (program.n, program.m) == (12, 6)
    assert all(map(np.array_equal, program.split(x), (y, u)))
    assert np.isclose(program.f.reference(x, 0.1), 0.1 * (np.sum(y**2) + np.sum(u**2)))
    step = 1e-6 * np.eye(12)
    g = lambda z: program.g.reference(z, 0.1)  # noqa: E731
    differences = np.array([(g(x + e) - g(x - e)) / 2e-6 for e in step]).T
    np.testing.assert_allclose(program.jac_g.reference(x, 0.1).toarray(), differences, atol=1e-9)


def test_scipy_finds_the_optimum(tmp_path: Path) -> None:
    lib, c = aot.compile(hock_schittkowski_71(), tmp_path, opt_level=0).load(), 1.0

    def hessian(x: np.ndarray, sigma: float, lam: np.ndarray) -> np.ndarray:
        lower = lib.hs71_hess_l(x, c, sigma, lam).toarray()
        return lower + np.tril(lower, -1).T

    constraint = scipy.optimize.NonlinearConstraint(
        lambda x: lib.hs71_g(x, c),
        [25.0, 40.0],
        [np.inf, 40.0],
        lambda x: lib.hs71_jac_g(x, c),
        lambda x, v: hessian(x, 0.0, v),
    )
    found = scipy.optimize.minimize(
        lib.hs71_f, START, (c,), "trust-constr", jac=lib.hs71_grad_f, hess=lambda x, c: hessian(x, 1.0, np.zeros(2)),
        bounds=[(1, 5)] * 4, constraints=constraint, options={"gtol": 1e-9, "xtol": 1e-10},
    )  # fmt: skip
    np.testing.assert_allclose(found.x, SOLUTION, atol=1e-5)


def test_a_batch_of_points_has_one_pattern() -> None:
    program, rng = hock_schittkowski_71(), np.random.default_rng(0)
    X, values = at.matrix("X", shape=("k", 4)), sp.csm_data(program.jacobian)
    many = aot.function([X], at.vectorize_graph(values, {program.graphs["x"]: X}), name="many")
    points = rng.uniform(1, 5, size=(3, 4))
    one_by_one = [program.jac_g.reference(x, 0.0).data for x in points]
    np.testing.assert_allclose(many.reference(points), one_by_one)


@pytest.mark.parametrize("kind", ["none", "linear", "inside", "beside", "full"])
def test_the_hessian_of_a_quadratic_objective_is_data(kind: str) -> None:
    rng, n = np.random.default_rng(5), 6
    Q, lam = np.diag(np.arange(1.0, n + 1)), np.array([0.5, -2.0])
    Q[3, 1] = Q[1, 3] = 0.25
    x = at.vector("x", shape=(n,))
    g = {
        "none": None,
        "linear": x[:2] * 2.0,
        "inside": x[1:3] ** 3 / 6,
        "beside": at.stack([x[0] * x[4] ** 2 / 2, x[5] ** 3 / 6]),
        "full": at.stack([at.exp(x.sum()), x[0]]),
    }[kind]
    program = aot.nlp(x, 0.5 * at.dot(x, at.as_tensor(Q) @ x) + x.sum(), g)
    point, lam = rng.normal(size=n), lam if g is not None else lam[:0]
    expected = 3.0 * Q
    if kind == "inside":
        expected[[1, 2], [1, 2]] += lam * point[1:3]
    if kind == "beside":
        expected[[0, 4], [4, 0]] += lam[0] * point[4]
        expected[[4, 5], [4, 5]] += [lam[0] * point[0], lam[1] * point[5]]
    if kind == "full":
        expected += lam[0] * np.exp(point.sum())
    np.testing.assert_allclose(program.hess_l.reference(point, 3.0, lam).toarray(), np.tril(expected), rtol=1e-12)
    if kind in ("none", "linear"):  # an entry each: sigma times a constant
        assert program.hess_l_pattern.indices.size == n + 1
        assert "inc_" not in program.hess_l.ir("graph") and "take_at" not in program.hess_l.ir("graph")


def test_programs_without_constraints_parameters_or_curvature() -> None:
    x = at.vector("x", shape=(3,))
    free = aot.nlp(x, at.cosh(x).sum(), name="free")
    assert free.m == 0 and free.g.reference(np.ones(3)).shape == (0,)
    assert free.jac_g.reference(np.ones(3)).shape == (0, 3) and free.jac_g_pattern.indptr.tolist() == [0]
    np.testing.assert_allclose(free.hess_l.reference(np.ones(3), 2.0, []).toarray(), 2 * np.cosh(1) * np.eye(3))
    linear = aot.nlp(x, 0.0, at.as_tensor(np.ones((2, 3))) @ x)
    assert linear.hess_l.reference(np.ones(3), 1.0, np.ones(2)).nnz == 0 and linear.jac_g_pattern.indices.size == 6
    assert np.array_equal(linear.grad_f.reference(np.ones(3)), np.zeros(3))
    s = at.scalar("sigma")
    assert list(aot.nlp(x, (s * x**2).sum(), p=s).hess_l.arguments) == ["x", "sigma", "sigma2", "lam"]


def test_named_dims_have_values_and_gradients_only() -> None:
    x = at.vector("x", shape=("n",))
    program = aot.nlp(x, (x**3).sum(), x[1:] - x[:-1], name="grow")
    assert program.f.reference(np.ones(4)) == 4 and program.g.reference(np.ones(4)).shape == (3,)
    for ask in (lambda: program.jac_g, lambda: program.hess_l_pattern, lambda: program.n, lambda: list(program)):
        with pytest.raises(GraphValueError, match=r"nlp grow: .* needs the extents of x, which is float64"):
            ask()


def test_a_parameter_whose_pattern_is_an_input_has_no_hessian() -> None:
    x, A = at.vector("x", shape=(3,)), sp.csr_matrix("A", dtype="float64", shape=(3, 3))
    program = aot.nlp(x, at.dot(x, sp.dot(A, x)), p=A)
    given = scipy.sparse.csr_matrix(np.arange(9.0).reshape(3, 3))
    assert program.f.reference(np.ones(3), given) == 36.0
    with pytest.raises(GraphValueError, match="the sparsity of a Jacobian depends on the pattern of A"):
        program.hess_l.reference(np.ones(3), given, 1.0, [])
    constant = aot.nlp(x, at.dot(x, sp.dot(sp.as_sparse(given), x)))
    expected = np.tril(given.toarray() + given.toarray().T)
    np.testing.assert_allclose(constant.hess_l.reference(np.ones(3), 1.0, []).toarray(), expected)


X, Q = at.vector("x", shape=(2,)), at.scalar("q")
REFUSED: list[tuple[Callable[[], aot.NLP], type[AotensorError], str]] = [
    (lambda: aot.nlp(X, X), GraphValueError, r"f is float64\[2\], not a scalar"),
    (lambda: aot.nlp(X, X.sum(), p=[X]), GraphValueError, "x is given twice"),
    (lambda: aot.nlp(X, Q * X.sum()), MissingInputError, "f depends on q, which is neither in x nor in p"),
    (lambda: aot.nlp(X, X.sum(), [Q * X]), MissingInputError, "g depends on q"),
    (lambda: aot.nlp(X + 1, X.sum()), GraphTypeError, "x is computed or has a value"),
    (lambda: aot.nlp([], X.sum()), GraphTypeError, "x is empty"),
    (lambda: aot.nlp(at.lvector("i"), 1.0), GraphTypeError, "not an array of floating point numbers"),
    (lambda: aot.nlp(X, X.sum(), name="a b"), GraphValueError, "'a b' is not a C identifier"),
    (lambda: aot.nlp(X, X.sum(), sp.csr_from_dense(at.diag(X))), GraphTypeError, "g is csr .*, not a dense array"),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_what_is_refused(make: Callable[[], aot.NLP], error: type[AotensorError], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
