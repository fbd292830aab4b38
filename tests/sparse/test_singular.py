"""Equations without a solution: nan on demand, in x and its derivatives, and in a batch for that matrix alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.gradient import Rop
from aotensor.graph.sparse_type import scipy_sparse
from aotensor.graph.vectorize import vectorize_graph

ss: Any = scipy_sparse()
SINGULAR = [np.ones((2, 2)), np.zeros((2, 2)), np.array([[1.0, 2.0], [2.0, 4.0]])]
REGULAR = np.array([[2.0, 1.0], [1.0, 3.0]])
SIDE = np.array([1.0, 3.0])


@pytest.mark.shows("sparse/15-solve-nan")
@pytest.mark.parametrize("method", ["direct", "cholesky"])
def test_a_singular_matrix_gives_nan_on_demand(method: str) -> None:
    """And so do both derivatives; the same library solves regular matrices, also of size 0."""
    A, b = sp.csr_matrix("A", dtype="float64"), at.dvector("b")
    x = sp.solve(A, b, method, on_error="nan")
    f = aot.function([A, b], [x, aot.grad(x.sum(), A), Rop(x, b, at.ones_like(b))], name=f"nan_{method}")
    ones = np.linalg.solve(REGULAR, np.ones(2))
    for run in (f, f.reference):
        for matrix in SINGULAR:
            found, for_a, forward = run(ss.csr_matrix(matrix), SIDE)
            assert np.isnan(found).all() and np.isnan(for_a.data).all() and np.isnan(forward).all()
        found, for_a, forward = run(ss.csr_matrix(REGULAR), SIDE)
        np.testing.assert_allclose(REGULAR @ found, SIDE, rtol=1e-14)
        np.testing.assert_allclose(forward, ones, rtol=1e-14)
        np.testing.assert_allclose(for_a.toarray(), -np.outer(ones, found), rtol=1e-13)
        assert run(ss.csr_matrix((0, 0)), np.zeros(0))[0].shape == (0,)


@pytest.mark.shows("sparse/15-solve-nan")
def test_iterations_that_do_not_converge_give_nan_for_that_column() -> None:
    A, b = sp.csr_matrix("A", dtype="float64"), at.dmatrix("b")
    f = aot.function(
        [A, b], [sp.solve(A, b, method, on_error="nan") for method in ("cg", "bicgstab")], name="nan_steps"
    )
    sides = np.array([[1.0, 2.0], [3.0, 2.0]])
    for run in (f, f.reference):
        for found in run(ss.csr_matrix(SINGULAR[0]), sides):
            assert np.isnan(found[:, 0]).all()
            np.testing.assert_allclose(found[:, 1].sum(), 2, rtol=1e-9)  # this side is in the range of the matrix
        for found in run(ss.csr_matrix(REGULAR), sides):
            np.testing.assert_allclose(REGULAR @ found, sides, rtol=1e-9)


@pytest.mark.shows("sparse/15-solve-nan")
def test_a_singular_matrix_of_a_batch_is_nan_alone() -> None:
    data, many = at.dvector("data", shape=(4,)), at.dmatrix("many", shape=(None, 4))
    matrix = sp.CSR(data, np.array([0, 1, 0, 1]), np.array([0, 2, 4]), np.array([2, 2]))
    x = sp.spsolve(matrix, SIDE, on_error="nan")
    rows, slopes = vectorize_graph([x, aot.grad(x.sum(), data)], {data: many})
    f = aot.function([many], [rows, slopes, aot.grad(rows.sum(), many)], name="nan_batch")
    values = np.array([[2.0, 1.0, 1.0, 2.0], [1.0, 1.0, 1.0, 1.0], [3.0, 1.0, 1.0, 1.0]])
    for run in (f, f.reference):
        found, slopes, backward = run(values)
        for k in (0, 2):
            whole = values[k].reshape(2, 2)
            np.testing.assert_allclose(whole @ found[k], SIDE, rtol=1e-13)
            expected = -np.outer(np.linalg.solve(whole.T, np.ones(2)), found[k]).ravel()
            np.testing.assert_allclose(slopes[k], expected, rtol=1e-13, atol=1e-15)
        assert np.isnan(found[1]).all() and np.isnan(slopes[1]).all()
        np.testing.assert_array_equal(backward, slopes)
        assert run(np.zeros((0, 4)))[0].shape == (0, 2)


def test_an_error_is_the_default() -> None:
    A, b = sp.csr_matrix("A", dtype="float64"), at.dvector("b")
    f = aot.function([A, b], [sp.spsolve(A, b), sp.spsolve(A, b, on_error="nan")])
    for run in (f, f.reference):
        with pytest.raises(np.linalg.LinAlgError, match="finds no pivot in row 1"):
            run(ss.csr_matrix(np.ones((2, 2))), SIDE)
    with pytest.raises(GraphValueError, match="solve: on_error must be one of"):
        sp.spsolve(A, b, on_error="ignore")
