"""Solutions of sparse equations against SciPy's direct ones, their implicit derivatives, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import jacobian
from aotensor.graph.sparse_type import scipy_sparse
from aotensor.graph.walk import toposort
from aotensor.ops.scan.op import Scan
from aotensor.sparse.linear.solve import SparseSolve

ss: Any = scipy_sparse()


def poisson(n: int) -> Any:
    """The five-point Laplacian on an n by n grid: symmetric positive definite."""
    line = ss.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    return (ss.kron(line, ss.identity(n)) + ss.kron(ss.identity(n), line)).tocsr()


def lopsided(n: int) -> Any:
    """A regular matrix that is not symmetric."""
    return (ss.random(n, n, 0.1, random_state=0) + 3 * ss.identity(n)).tocsr()


def exact(matrix: Any, b: Any) -> Any:
    return spsolve(matrix.tocsc(), b)


@pytest.mark.parametrize(
    ("method", "matrix", "columns", "format"),
    [
        ("cg", poisson(6), (), "csr"),
        ("cg", poisson(6), (3,), "csc"),
        ("bicgstab", lopsided(36), (3,), "csr"),
        ("bicgstab", lopsided(36), (), "csc"),
        pytest.param("cg", poisson(6), (3,), "csr"),
        pytest.param("cg", poisson(6), (), "csc"),
        pytest.param("bicgstab", lopsided(36), (), "csr"),
        pytest.param("bicgstab", lopsided(36), (3,), "csc"),
    ],
)
def test_solution_and_gradients(method: str, matrix: Any, format: str, columns: tuple[int, ...]) -> None:
    A, b = sp.matrix(format, "A", "float64"), at.tensor("b", dtype="float64", shape=(None,) * (1 + len(columns)))
    x = sp.solve(A, b, method, tol=1e-13)
    cost = (x**3).sum()
    f = aot.function([A, b], [x, aot.grad(cost, A), aot.grad(cost, b)])
    value = np.random.default_rng(0).normal(size=(36, *columns))
    stored = matrix.asformat(format)
    expected = exact(stored, value)
    for_b = exact(stored.T, 3 * expected**2)
    for_a = -np.einsum("ik,jk->ij", for_b.reshape(36, -1), expected.reshape(36, -1))
    for found in (f.reference(stored, value), f(stored, value)):
        np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(found[2], for_b, rtol=1e-8, atol=1e-10)
        assert found[1].format == format
        np.testing.assert_array_equal(found[1].indices, stored.indices)
        np.testing.assert_allclose(found[1].toarray(), np.where(stored.toarray() != 0, for_a, 0), rtol=1e-8, atol=1e-9)


@pytest.mark.shows("sparse/15-solve-iterations")
def test_a_large_system_stays_sparse() -> None:
    matrix, A, b = poisson(60), sp.csr_matrix("A"), at.dvector("b")
    f = aot.function([A, b], sp.cg(A, b))
    right = np.random.default_rng(1).normal(size=3600)
    found = f(matrix, right)
    assert np.linalg.norm(matrix @ found - right) <= 1e-9 * np.linalg.norm(right)
    np.testing.assert_allclose(found, exact(matrix, right), rtol=1e-6, atol=1e-8)


def test_no_step_is_differentiated() -> None:
    A, b = sp.csr_matrix("A"), at.dvector("b")
    derivative = aot.grad(sp.cg(A, b).sum(), b)
    assert any(isinstance(node.op, SparseSolve) for node in toposort([derivative]))
    assert not any(isinstance(node.op, Scan) for node in toposort([derivative]))


def test_jacobian_by_samples_is_the_inverse() -> None:
    matrix, b = lopsided(12), at.dvector("b", shape=(12,))
    x = sp.solve(sp.as_sparse(matrix), b, "bicgstab", tol=1e-13)
    f = aot.function([b], jacobian(x, b), on_unused_input="ignore")
    for found in (f.reference(np.zeros(12)), f(np.zeros(12))):
        np.testing.assert_allclose(found, np.linalg.inv(matrix.toarray()), rtol=1e-9, atol=1e-11)


def test_derivative_by_difference() -> None:
    """d/ds of a functional of the solution of (L + s·I)·x = b."""
    laplacian, s, b = poisson(5), at.dscalar("s"), np.linspace(-1, 1, 25)
    data, indices, indptr, shape = sp.csm_properties(sp.as_sparse(laplacian))
    diagonal = (laplacian.tocoo().row == laplacian.tocoo().col).astype(float)
    x = sp.cg(sp.CSR(data + s * diagonal, indices, indptr, shape), b, tol=1e-14)
    cost = at.exp(x).sum()
    f = aot.function([s], [cost, aot.grad(cost, s), aot.grad(aot.grad(cost, s), s)])
    step = 1e-4
    low, middle, high = (f(0.3 + k * step) for k in (-1, 0, 1))
    assert middle[1] == pytest.approx((high[0] - low[0]) / (2 * step), rel=1e-7)
    assert middle[2] == pytest.approx((high[1] - low[1]) / (2 * step), rel=1e-6)


def test_start_saves_steps() -> None:
    matrix, A, b, x0 = poisson(8), sp.csr_matrix("A"), at.dvector("b"), at.dvector("x0")
    right = np.random.default_rng(2).normal(size=64)
    f = aot.function([A, b, x0], sp.cg(A, b, x0, maxiter=2))
    np.testing.assert_allclose(f(matrix, right, exact(matrix, right)), exact(matrix, right), rtol=1e-10)
    with pytest.raises(np.linalg.LinAlgError, match="cg did not converge"):
        f(matrix, right, np.zeros(64))


def test_dtypes() -> None:
    single, whole, b = sp.csr_matrix("A", dtype="float32"), sp.csr_matrix("A", dtype="int64"), at.fvector("b")
    matrix, right = poisson(5), np.linspace(0, 1, 25, dtype="float32")
    x = sp.cg(single, b)
    assert x.dtype == "float32"
    found = aot.function([single, b], x)(matrix.astype("float32"), right)
    np.testing.assert_allclose(found, exact(matrix, right.astype(float)), rtol=1e-3)
    y = sp.cg(whole, at.dvector("b"))
    assert y.dtype == "float64"


INDEFINITE = ss.csr_matrix(np.array([[0.0, 1.0], [1.0, 0.0]]))
SINGULAR = ss.csr_matrix(np.array([[1.0, 1.0], [1.0, 1.0]]))
SKEW = ss.csr_matrix(np.array([[1.0, 5.0], [-5.0, 1.0]]))


@pytest.mark.parametrize(
    ("method", "matrix", "message"),
    [
        ("cg", INDEFINITE, "symmetric and positive definite"),
        ("cg", SKEW, "symmetric and positive definite"),
        ("cg", SINGULAR, "symmetric and positive definite"),
        ("bicgstab", SINGULAR, "regular"),
    ],
)
def test_no_convergence_is_an_error(method: str, matrix: Any, message: str) -> None:
    A, b = sp.csr_matrix("A"), at.dvector("b")
    f = aot.function([A, b], sp.solve(A, b, method))
    run: Callable[..., Any]
    for run in (f.reference, f):
        with pytest.raises(np.linalg.LinAlgError, match=message):
            run(matrix, np.array([1.0, 0.0]))


def test_extents_that_differ() -> None:
    A, b = sp.csr_matrix("A"), at.dvector("b")
    f = aot.function([A, b], sp.cg(A, b))
    for matrix in (ss.identity(3, format="csr"), ss.csr_matrix(np.eye(2, 3)), ss.csr_matrix(np.eye(3, 2))):
        for run in (f.reference, f):
            with pytest.raises(ValueError, match=r"extents of the matrix and of b|must be square"):
                run(matrix, np.ones(2))


def test_refused() -> None:
    A, b = sp.csr_matrix("A"), at.dvector("b")
    with pytest.raises(GraphValueError, match="method must be one of 'direct', 'cholesky', 'cg', 'bicgstab', not 'qr'"):
        sp.solve(A, b, "qr")
    with pytest.raises(GraphValueError, match=r"preconditioner must be one of .*, not 'ilu'"):
        sp.solve(A, b, preconditioner="ilu")
    with pytest.raises(GraphValueError, match="maxiter must be None or a positive number of steps"):
        sp.cg(A, b, maxiter=0)
    with pytest.raises(GraphTypeError, match="expected a sparse matrix"):
        sp.solve(at.dmatrix("D"), b)
    with pytest.raises(GraphTypeError, match="b must be a vector or a matrix"):
        sp.cg(A, 1.0)
    with pytest.raises(GraphTypeError, match="x0 must have the rank of b"):
        sp.cg(A, b, np.zeros((2, 2)))
    with pytest.raises(GraphValueError, match="expected a square matrix, found 2 by 3"):
        sp.cg(sp.csr_matrix("R", shape=(2, 3)), b)
    with pytest.raises(GraphValueError, match="extents of the matrix and of b"):
        sp.cg(sp.csr_matrix("R", shape=(3, 3)), np.ones(2))
