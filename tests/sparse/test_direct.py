"""Solutions by sparse factors and triangles against NumPy's: matrices of every kind, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_solve import lopsided, poisson

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import Rop, jacobian
from aotensor.graph.sparse_type import scipy_sparse
from aotensor.graph.vectorize import vectorize_graph
from aotensor.graph.walk import toposort
from aotensor.sparse.direct.ops import elimination_order

ss: Any = scipy_sparse()
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def solvers() -> dict[str, Any]:
    """For each format the solution, gradients of the sum of its cubes with respect to b and A, a second derivative."""
    made = {}
    for format in ("csr", "csc"):
        A, b = sp.matrix(format, "A", "float64"), at.dmatrix("b")
        x = sp.solve(A, b, "direct")
        for_b = aot.grad((x**3).sum(), b)
        outputs = [x, for_b, aot.grad((x**3).sum(), A), Rop(for_b, b, at.ones_like(b))]
        made[format] = aot.function([A, b], outputs, name=f"solve_{format}")
    return made


def arrow(n: int) -> Any:
    """A diagonal with a full first row and column: everything fills in the order that is written."""
    whole = ss.identity(n).tolil()
    whole[0, :], whole[:, 0] = 1.0, 1.0
    whole[0, 0] = 2.0 * n
    return whole.tocsr()


SHUFFLED = RNG.permutation(64)
MATRICES: dict[str, Any] = {
    "none": ss.csr_matrix((0, 0)),
    "one": ss.csr_matrix([[-2.0]]),
    "poisson": poisson(8),
    "permuted rows": poisson(8)[SHUFFLED],
    "zero diagonal": ss.csr_matrix(np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [4.0, 1.0, 0.0]])),
    "lopsided": lopsided(41),
    "full": ss.csr_matrix(RNG.normal(size=(17, 17))),
    "small pivots": ss.csr_matrix(np.array([[1e-20, 1.0, 0.0], [1.0, 1.0, 2.0], [0.0, 1.0, 1e-20]])),
    "arrow": arrow(60),
    "arrow of rows": arrow(60)[::-1],
    "indefinite": poisson(7) - 3.1 * ss.identity(49),
    "grows": ss.random(500, 500, 0.008, random_state=2) + ss.identity(500),
    "blocks": ss.block_diag([lopsided(5), ss.identity(3), poisson(3)]),
    "stored zeros": ss.csr_matrix((np.array([2.0, 0.0, 0.0, 3.0]), [0, 1, 0, 1], [0, 2, 4]), shape=(2, 2)),
}


@pytest.mark.shows("sparse/15-solve-direct", "sparse/15-solve-derivatives")
@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("name", MATRICES)
def test_matrices(solvers: dict[str, Any], name: str, format: str) -> None:
    matrix = MATRICES[name].asformat(format)
    n, whole = matrix.shape[0], matrix.toarray()
    b = RNG.normal(size=(n, 3))
    x, for_b, for_a, second = solvers[format](matrix, b)
    np.testing.assert_allclose(whole @ x, b, rtol=0, atol=1e-9 * max(1.0, np.abs(x).max(initial=0)))
    np.testing.assert_allclose(whole.T @ for_b, 3 * x**2, rtol=0, atol=1e-8 * max(1.0, np.abs(for_b).max(initial=0)))
    dense = -np.einsum("ik,jk->ij", for_b, x)
    entries = matrix.tocoo()
    scale = max(1.0, np.abs(dense).max(initial=0))
    np.testing.assert_allclose(for_a.data, dense[entries.row, entries.col], rtol=0, atol=1e-9 * scale)
    inverse = np.linalg.inv(whole)
    expected = inverse.T @ (6 * x * (inverse @ np.ones((n, 3))))
    np.testing.assert_allclose(second, expected, rtol=1e-6, atol=1e-7 * max(1.0, np.abs(expected).max(initial=0)))


@pytest.mark.shows("sparse/15-solve-derivatives")
def test_factors_are_found_once() -> None:
    A, b = sp.csr_matrix("A"), at.dvector("b")
    x = sp.spsolve(A, b)
    f = aot.function([A, b], [x, aot.grad((x**2).sum(), [A, b])[1], Rop(x, b, b)])
    text = f.ir("tensor")
    assert [text.count(f'kind = "{kind}') for kind in ("order", 'lu"', "lu_solve")] == [
        1,
        1,
        2,
    ]  # the last one is x again


@pytest.mark.shows("sparse/15-solve-pattern")
def test_a_known_pattern_is_ordered_when_it_is_compiled() -> None:
    matrix, data = poisson(6), at.dvector("data", shape=(156,))
    x = sp.spsolve(sp.CSR(data, matrix.indices, matrix.indptr, np.array(matrix.shape)), np.ones(36))
    f = aot.function([data], [x, aot.grad(x.sum(), data)])
    assert "order" not in f.ir("tensor")
    for run in (f, f.reference):
        np.testing.assert_allclose(matrix @ run(matrix.data)[0], np.ones(36), rtol=1e-12)


def test_order_keeps_factors_sparse() -> None:
    """An arrow has as many entries in its factors as before, whichever way it points."""
    matrix = arrow(40).tocsc()
    order, is_full = elimination_order(matrix.indices, matrix.indptr)
    assert is_full[0] == 1 and sorted(order) == list(range(40)) and 0 in order[-2:]


@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
@pytest.mark.parametrize("name", MATRICES)
def test_order_is_a_permutation(name: str, index_dtype: str) -> None:
    """And `is_full` says whether every diagonal element is stored, which a stored zero is."""
    matrix = MATRICES[name].tocsc()
    order, is_full = elimination_order(matrix.indices.astype(index_dtype), matrix.indptr.astype(index_dtype))
    n = matrix.shape[0]
    columns = np.repeat(np.arange(n), np.diff(matrix.indptr))
    assert sorted(order) == list(range(n))
    assert is_full.tolist() == [set(columns[columns == matrix.indices]) == set(range(n))]


def test_unsorted_and_repeated_entries() -> None:
    data, b = at.dvector("data"), at.dvector("b")
    indices, indptr = np.array([2, 0, 0, 1, 2, 1]), np.array([0, 3, 4, 6])
    values, right = np.array([1.0, 2.0, 3.0, 4.0, 5.0, -1.0]), np.array([1.0, 2.0, 3.0])
    whole = np.array([[5.0, 0.0, 1.0], [0.0, 4.0, 0.0], [0.0, -1.0, 5.0]])
    for make, matrix in ((sp.CSR, whole), (sp.CSC, whole.T)):
        A = make(data, indices, indptr, np.array([3, 3]))
        f = aot.function([data, b], [sp.spsolve(A, b), sp.solve_triangular(A, b, lower=make is sp.CSC)])
        for found in (f(values, right), f.reference(values, right)):
            np.testing.assert_allclose(found[0], np.linalg.solve(matrix, right), rtol=1e-13)
            upper = np.triu(whole) if make is sp.CSR else np.tril(whole.T)
            np.testing.assert_allclose(found[1], np.linalg.solve(upper, right), rtol=1e-13)


def test_single_precision_and_integers() -> None:
    single, whole, b = sp.csc_matrix("A", dtype="float32"), sp.csr_matrix("B", dtype="int64"), at.fvector("b")
    x, y = sp.spsolve(single, b), sp.spsolve(whole, b)
    assert (x.dtype, y.dtype) == ("float32", "float64")
    matrix, right = poisson(5), np.linspace(0, 1, 25, dtype="float32")
    found = aot.function([single, whole, b], [x, y])(matrix.tocsc().astype("float32"), matrix.astype("int64"), right)
    exact = np.linalg.solve(matrix.toarray(), right.astype(float))
    np.testing.assert_allclose(found[0], exact, rtol=1e-4)
    np.testing.assert_allclose(found[1], exact, rtol=1e-12)


def test_matrices_of_one_pattern() -> None:
    """A batch of data: the blocks of one matrix."""
    matrix, data = lopsided(6), at.dmatrix("data")

    def one(values: Any) -> Any:
        return sp.spsolve(sp.CSR(values, matrix.indices, matrix.indptr, np.array([6, 6])), np.arange(6.0))

    row = at.dvector("row", shape=(matrix.nnz,))
    f = aot.function([row], jacobian(one(row), row))
    x = np.linalg.solve(matrix.toarray(), np.arange(6.0))
    inverse, (rows, columns) = np.linalg.inv(matrix.toarray()), matrix.nonzero()
    for run in (f, f.reference):
        np.testing.assert_allclose(run(matrix.data), -inverse[:, rows] * x[columns], rtol=1e-11, atol=1e-13)
    g = aot.function([data], vectorize_graph(one(row), {row: data}))
    np.testing.assert_allclose(g(np.stack([matrix.data, 2 * matrix.data])), [x, x / 2], rtol=1e-12)


def test_in_a_loop_over_time() -> None:
    """A matrix that changes from step to step is factorised in each, one that does not in front of the loop."""
    A, s, b = sp.csr_matrix("A"), at.dvector("s"), at.dvector("b")
    fixed, _ = aot.scan(lambda x: sp.spsolve(A, x), outputs_info=[b], n_steps=4)
    moving, _ = aot.scan(lambda t, x: sp.spsolve(A * t, x), sequences=[s], outputs_info=[b])
    f = aot.function([A, s, b], [fixed[-1], moving[-1], aot.grad(moving[-1].sum(), s)])
    matrix, right = lopsided(9), np.arange(9.0)
    scales = np.array([1.0, 2.0, 0.5, 4.0])
    expected = np.linalg.matrix_power(np.linalg.inv(matrix.toarray()), 4) @ right
    found = f(matrix, scales, right)
    np.testing.assert_allclose(found[0], expected, rtol=1e-10)
    np.testing.assert_allclose(found[1], expected / 4, rtol=1e-10)
    np.testing.assert_allclose(found[2], -expected.sum() / 4 / scales, rtol=1e-9)


SINGULAR: dict[str, tuple[Any, str]] = {
    "numbers": (np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]]), r"no pivot in {} [01]"),
    "structure": (np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 3.0], [4.0, 0.0, 1.0]]), r"no pivot in {} \d"),
    "zero": (np.zeros((2, 2)), r"no pivot in {} \d"),
}


@pytest.fixture(scope="module")
def symmetric() -> Any:
    """Solution by Cholesky factors, and the gradient of the sum of cubes with respect to b and A."""
    A, b = sp.csr_matrix("A"), at.dmatrix("b")
    x = sp.solve(A, b, "cholesky")
    return aot.function([A, b], [x, *aot.grad((x**3).sum(), [b, A])], name="symmetric")


FULL = RNG.normal(size=(19, 19))
POSITIVE: dict[str, Any] = {
    "none": ss.csr_matrix((0, 0)),
    "one": ss.csr_matrix([[2.0]]),
    "poisson": poisson(9),
    "full": ss.csr_matrix(FULL @ FULL.T + np.eye(19)),
    "arrow": (arrow(50) + arrow(50).T).tocsr(),
    "grows": (lambda half: (half @ half.T + ss.identity(300)).tocsr())(ss.random(300, 300, 0.008, random_state=2)),
}


@pytest.mark.shows("sparse/15-solve-cholesky")
@pytest.mark.parametrize("name", POSITIVE)
def test_symmetric_matrices(symmetric: Any, name: str) -> None:
    matrix = POSITIVE[name].sorted_indices()
    for columns in (1, 3):
        b = RNG.normal(size=(matrix.shape[0], columns))
        x, for_b, for_a = symmetric(matrix, b)
        np.testing.assert_allclose(matrix @ x, b, rtol=0, atol=1e-9 * max(1.0, np.abs(x).max(initial=0)))
        scale = max(1.0, np.abs(for_b).max(initial=0))
        np.testing.assert_allclose(matrix @ for_b, 3 * x**2, rtol=0, atol=1e-9 * scale)
        entries = matrix.tocoo()
        dense = -np.einsum("ik,jk->ij", for_b, x)
        np.testing.assert_allclose(for_a.data, dense[entries.row, entries.col], rtol=1e-7, atol=1e-9 * scale)


@pytest.mark.shows("sparse/15-solve-cholesky")
def test_an_indefinite_matrix_is_an_error(symmetric: Any) -> None:
    shifted, swap = poisson(5) - 2 * ss.identity(25), ss.csr_matrix(np.array([[0.0, 1.0], [1.0, 0.0]]))
    for matrix in (shifted.tocsr(), swap):
        for run in (symmetric, symmetric.reference):
            with pytest.raises(np.linalg.LinAlgError, match=r"not positive definite: .* no positive pivot in row \d"):
                run(matrix, np.ones((matrix.shape[0], 1)))


@pytest.mark.shows("sparse/15-solve-singular")
@pytest.mark.parametrize("name", SINGULAR)
def test_a_singular_matrix_is_an_error(solvers: dict[str, Any], name: str) -> None:
    dense, message = SINGULAR[name]
    for format, slice in (("csr", "row"), ("csc", "column")):
        f, matrix, b = solvers[format], ss.csr_matrix(dense).asformat(format), np.ones((len(dense), 1))
        texts = set()
        run: Callable[..., Any]
        for run in (f, f.reference):
            with pytest.raises(np.linalg.LinAlgError, match=message.format(slice)) as caught:
                run(matrix, b)
            texts.add(str(caught.value).splitlines()[0].split("singular")[1][:60])
        assert len(texts) == 1


def test_nan_is_no_singular_matrix(solvers: dict[str, Any]) -> None:
    matrix = ss.csr_matrix(np.array([[np.nan, 1.0], [1.0, 1.0]]))
    assert np.isnan(solvers["csr"](matrix, np.ones((2, 1)))[0]).all()


@pytest.mark.shows("sparse/15-solve_triangular")
@pytest.mark.parametrize("lower", [True, False])
def test_a_zero_on_the_diagonal_of_a_triangle(lower: bool) -> None:
    A, b = sp.csr_matrix("A"), at.dvector("b")
    f = aot.function([A, b], [sp.solve_triangular(A, b, lower=lower), sp.spsolve_triangular(A, b, lower, True)])
    for run in (f, f.reference):
        with pytest.raises(np.linalg.LinAlgError, match="diagonal element 1 is zero"):
            run(ss.csr_matrix(np.array([[2.0, 1.0], [1.0, 0.0]])), np.ones(2))


def test_refused() -> None:
    A, b = sp.csr_matrix("A"), at.dvector("b")
    with pytest.raises(GraphValueError, match="factorises, and uses neither x0 nor tol"):
        sp.solve(A, b, "direct", maxiter=3)
    with pytest.raises(GraphValueError, match="factorises, and uses neither x0 nor tol"):
        sp.solve(A, b, "direct", x0=b)
    with pytest.raises(GraphValueError, match="expected a square matrix, found 2 by 3"):
        sp.spsolve(sp.csr_matrix("R", shape=(2, 3)), b)
    with pytest.raises(GraphValueError, match="expected a square matrix, found 2 by 3"):
        sp.solve_triangular(sp.csr_matrix("R", shape=(2, 3)), b)
    with pytest.raises(GraphTypeError, match="b must be a vector or a matrix"):
        sp.spsolve(A, 1.0)
    with pytest.raises(GraphTypeError, match="expected a sparse matrix"):
        sp.spsolve_triangular(at.dmatrix("D"), b)
    with pytest.raises(GraphValueError, match="trans must be one of"):
        sp.solve_triangular(A, b, trans="X")
    f = aot.function([A, b], sp.spsolve(A, b))
    for run in (f, f.reference):
        with pytest.raises(ValueError, match="extents of the matrix and of b"):
            run(ss.identity(3, format="csr"), np.ones(2))


def test_nothing_of_the_steps_is_differentiated() -> None:
    A, b = sp.csr_matrix("A"), at.dvector("b")
    names = {node.op.name for node in toposort([aot.grad(sp.spsolve(A, b).sum(), b)])}
    assert "sparse_direct_solve" in names and "lu_factors" not in names
