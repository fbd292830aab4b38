"""Gaussian fields with a sparse precision matrix against dense formulas: log determinants, selected inverses, draws."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from test_direct import POSITIVE, poisson

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError, NullTypeGradError
from aotensor.gradient import Rop
from aotensor.graph.sparse_type import scipy_sparse
from aotensor.ir.context import parse_module
from aotensor.ir.interpreter.interpret import interpret

ss: Any = scipy_sparse()
RNG = np.random.default_rng(5)


@pytest.fixture(scope="module")
def field() -> Any:
    """Log determinant and its gradient, the selected inverse and the gradient of the sum of its squares, a draw."""
    A, z = sp.csr_matrix("A"), at.dvector("z")
    factor = sp.cholesky(A)
    sign, logarithm = factor.slogdet()
    inverse = factor.selected_inverse()
    squares = (sp.csm_data(inverse) ** 2).sum()
    outputs = [sign, logarithm, aot.grad(logarithm, A), inverse, aot.grad(squares, A), factor.draws(z), factor.solve(z)]
    return aot.function([A, z], outputs, name="field")


def at_entries(matrix: Any, dense: np.ndarray) -> np.ndarray:
    entries = matrix.tocoo()
    return np.asarray(dense[entries.row, entries.col])


@pytest.mark.shows("sparse/15-slogdet", "sparse/15-selected_inverse", "sparse/15-precision_draws")
@pytest.mark.parametrize("name", POSITIVE)
def test_dense_formulas(field: Any, name: str) -> None:
    matrix = POSITIVE[name].sorted_indices()
    n, whole = matrix.shape[0], matrix.toarray()
    z = RNG.normal(size=n)
    dense = np.linalg.inv(whole)
    for run in (field, field.reference):
        sign, logarithm, for_log, inverse, for_squares, draw, solution = run(matrix, z)
        scale = max(1.0, np.abs(dense).max(initial=0))
        np.testing.assert_allclose([sign, logarithm], np.linalg.slogdet(whole), rtol=1e-12, atol=1e-12)
        for found in (for_log, inverse):
            assert (found.indices == matrix.indices).all() and (found.indptr == matrix.indptr).all()
            np.testing.assert_allclose(found.data, at_entries(matrix, dense), rtol=1e-9, atol=1e-12 * scale)
        weights = np.where(matrix.toarray() != 0, 2 * dense, 0)
        expected = at_entries(matrix, -dense @ weights @ dense)
        np.testing.assert_allclose(for_squares.data, expected, rtol=1e-8, atol=1e-11 * scale**3)
        np.testing.assert_allclose(draw @ whole @ draw, z @ z, rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(whole @ solution, z, rtol=0, atol=1e-9)


@pytest.mark.shows("sparse/15-selected_inverse")
def test_derivatives_of_third_order() -> None:
    """D³A⁻¹[C, C, C] = −6·Z·C·Z·C·Z·C·Z, and along three directions that differ, whose symmetric parts count."""
    matrix = POSITIVE["arrow"]
    data, steps = at.dvector("data"), at.dmatrix("steps")
    values = sp.csm_data(sp.selected_inverse(sp.CSR(data, matrix.indices, matrix.indptr, np.array(matrix.shape))))
    for k in range(3):
        values = Rop(values, data, steps[k])
    f = aot.function([data, steps], values)
    given = 0.1 * RNG.normal(size=(3, matrix.nnz))
    changes = [ss.csr_matrix((x, matrix.indices, matrix.indptr), matrix.shape).toarray() for x in given]
    changes = [(c + c.T) / 2 for c in changes]
    Z = np.linalg.inv(matrix.toarray())
    expected = -sum(Z @ a @ Z @ b @ Z @ c @ Z for a, b, c in permutations(changes))
    np.testing.assert_allclose(f(matrix.data, given), at_entries(matrix, expected), rtol=1e-8, atol=1e-12)


@pytest.mark.shows("sparse/15-precision_draws")
def test_draws_have_the_covariance() -> None:
    """R·Rᵀ = A⁻¹, and the gradient goes through Rᵀ; one with respect to A is not there."""
    matrix, A, Z = POSITIVE["grows"], sp.csc_matrix("A"), at.dmatrix("Z")
    x = sp.precision_draws(A, Z)
    f = aot.function([A, Z], [x, aot.grad((x**2).sum() / 2, Z)])
    root, pulled = f(matrix.tocsc(), np.eye(300))
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(matrix.toarray()), rtol=0, atol=1e-11)
    np.testing.assert_allclose(pulled, root.T @ root, rtol=0, atol=1e-11)
    with pytest.raises(NullTypeGradError, match="derivative with respect to z only"):
        aot.grad(x.sum(), A)


@pytest.mark.shows("sparse/15-slogdet")
def test_factors_are_shared() -> None:
    A, b = sp.csr_matrix("A"), at.dvector("b")
    logarithm = sp.slogdet(A).logabsdet
    x = sp.solve(A, b, "cholesky")
    density = 0.5 * logarithm - 0.5 * (b * x).sum()
    text = aot.function([A, b], [density, *aot.grad(density, [A, b])]).ir("tensor")
    assert text.count('kind = "cholesky"') == 1


@pytest.mark.shows("sparse/15-slogdet")
def test_hermitian() -> None:
    H = sp.csr_matrix("H", dtype="complex128")
    half = ss.random(12, 12, 0.2, random_state=3) + 1j * ss.random(12, 12, 0.2, random_state=4)
    matrix = (half @ half.conj().T + ss.identity(12)).tocsr()
    f = aot.function([H], sp.slogdet(H).logabsdet)
    for run in (f, f.reference):
        np.testing.assert_allclose(run(matrix), np.linalg.slogdet(matrix.toarray())[1], rtol=1e-12)


@pytest.mark.shows("sparse/15-fields-refused")
def test_refused(field: Any) -> None:
    swap = ss.csr_matrix(np.array([[0.0, 1.0], [1.0, 0.0]]))
    half = ss.csr_matrix(np.triu(poisson(3).toarray()))
    for matrix, message in (
        ((poisson(4) - 2 * ss.identity(16)).tocsr(), r"not positive definite: .* no positive pivot in row \d"),
        (swap, "not positive definite"),
        (ss.csr_matrix((3, 3)), "not positive definite"),
        (half, "not symmetric: row and column 1 store entries at different places"),
        (half.T.tocsr(), "not symmetric: row and column 0 store entries at different places"),
    ):
        for run in (field, field.reference):
            with pytest.raises(np.linalg.LinAlgError, match=message):
                run(matrix, np.ones(matrix.shape[0]))
    A, R = sp.csr_matrix("A"), sp.csr_matrix("R", shape=(2, 3))
    for refused in (sp.slogdet, sp.selected_inverse, sp.cholesky):
        with pytest.raises(GraphValueError, match="expected a square matrix, found 2 by 3"):
            refused(R)
        with pytest.raises(GraphTypeError, match="expected a sparse matrix"):
            refused(at.dmatrix("D"))
    with pytest.raises(GraphTypeError, match="expected a real matrix"):
        sp.selected_inverse(sp.csr_matrix("C", dtype="complex128"))
    with pytest.raises(GraphTypeError, match="b must be a vector or a matrix"):
        sp.precision_draws(A, 1.0)
    f = aot.function([A], sp.slogdet(A).logabsdet)
    for run in (f, f.reference):
        with pytest.raises(ValueError, match="the matrix must be square: its rows and columns differ"):
            run(ss.csr_matrix((2, 3)))


def test_no_step_of_a_loop_runs_on_stand_ins() -> None:
    """The extents of a loop's results follow from a step on paper, of which no factorisation stays in tensor IR."""
    tau, x0 = at.dscalar("tau"), at.dvector("x0", shape=(9,))
    matrix = sp.mul(sp.as_sparse(poisson(3)), tau)
    steps, _ = aot.scan(
        lambda x: sp.solve(sp.add(matrix, sp.square_diagonal(x**2)), x, "cholesky"), outputs_info=[x0], n_steps=2
    )
    f = aot.function([tau, x0], aot.grad(steps[-1].sum(), tau), name="steps")
    (found,) = interpret(parse_module(f.ir("tensor")), "steps", np.array(2.0), np.ones(9))
    np.testing.assert_allclose(found, f.reference(2.0, np.ones(9)), rtol=1e-12)
