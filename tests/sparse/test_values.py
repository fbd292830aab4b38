"""Values at the edge: mixed dtypes, places that store nothing beside inf and nan, nan that is stored."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at

M = ss.csr_matrix(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]]))


@pytest.mark.shows("sparse/0-promotion")
@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [("int32", "float32", "float64"), ("int8", "float32", "float32"), ("int8", "int32", "int32")],
)
def test_dtypes_meet_as_those_of_dense_tensors(own: str, other: str, expected: str) -> None:
    A, d = sp.csr_matrix("A", dtype=own, shape=(2, 3)), at.matrix("d", dtype=other, shape=(2, 3))
    D = np.arange(6).reshape(2, 3).astype(other)
    f = aot.function([A, d], [A * d, A + d], name="mixed")
    product, total = f(M.astype(own), D)
    assert product.dtype == total.dtype == expected == (at.zeros((2, 3), own) + d).dtype
    np.testing.assert_allclose(product.toarray(), M.toarray() * D)
    np.testing.assert_allclose(total, M.toarray() + D)


@pytest.mark.shows("sparse/0-structural-zeros")
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_stored_is_0_beside_anything(value: float) -> None:
    """In products that keep the pattern, in products of matrices, and in their gradients."""
    A, d, x = sp.csr_matrix("A", shape=(2, 3)), at.dmatrix("d", shape=(2, 3)), at.dvector("x", shape=(3,))
    f = aot.function([A, d, x], [A * d, sp.dot(A, x), aot.grad(sp.sp_sum(A * d), d)], name="nothing")
    D, v = np.where(M.toarray() != 0, 2.0, value), np.array([1.0, value, 1.0])
    product, total, derivative = f(M, D, v)
    np.testing.assert_array_equal(product.toarray(), 2 * M.toarray())
    np.testing.assert_array_equal(total[1], 5.0)
    np.testing.assert_array_equal(derivative, M.toarray())


@pytest.mark.shows("sparse/0-stored-nan")
def test_a_stored_nan_stays() -> None:
    A, d = sp.csr_matrix("A", shape=(2, 3)), at.dmatrix("d", shape=(2, 3))
    D = np.array([[np.nan, -0.0, 1.0], [0.0, 2.0, np.nan]])
    stored = ss.csr_matrix((np.array([0.0, np.nan, 1.0]), [0, 1, 2], [0, 2, 3]), shape=(2, 3))
    cleaned, made = aot.function([A, d], [sp.remove0(A), sp.csr_from_dense(d)], name="keep_nan")(stored, D)
    assert (cleaned.nnz, made.nnz) == (2, 4), "a stored 0 goes, and so does -0.0"
    np.testing.assert_array_equal(cleaned.data, [np.nan, 1.0])
    np.testing.assert_array_equal(made.toarray(), D)
