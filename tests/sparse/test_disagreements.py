"""Where the sources of the sparse specification disagree: what holds here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.gradient import grad

M = ss.csr_matrix(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]]))
W = np.arange(10.0, 70.0, 10.0).reshape(2, 3)
A = sp.csr_matrix("A", dtype="float64", shape=(2, 3))
B = sp.csr_matrix("B", dtype="float64", shape=(2, 3))
d = at.dmatrix("d", shape=(2, 3))


def _slope(expression: Any, wrt: Any, *values: Any, inputs: Any = (A,)) -> Any:
    """The compiled gradient of Σ expression∘W, as a dense array."""
    dense = expression.toarray() if getattr(expression, "is_sparse", False) else expression
    found = aot.function(list(inputs), grad((dense * W).sum(), wrt), name="slope", on_unused_input="ignore")(*values)
    return found.toarray() if ss.issparse(found) else found


@pytest.mark.shows("sparse/14-sampling_dot")
def test_sampling_dot_has_gradients_for_all_three() -> None:
    left, right = at.dmatrix("l", shape=(2, 2)), at.dmatrix("r", shape=(3, 2))
    x, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    cost = sp.sp_sum(sp.sampling_dot(left, right, A))
    for_left, for_right, for_pattern = aot.function([left, right, A], grad(cost, [left, right, A]), name="s")(x, y, M)
    np.testing.assert_allclose(for_left, M @ y)
    np.testing.assert_allclose(for_right, M.T @ x)
    assert ss.issparse(for_pattern), "structured"
    np.testing.assert_allclose(for_pattern.toarray(), (x @ y.T) * (M.toarray() != 0))


@pytest.mark.shows("sparse/14-neg-sub")
def test_neg_and_sub_are_regular() -> None:
    """Where the cotangent has entries outside of the pattern, they stay: here that of a regular sum."""
    for expression in (-A, B - A):
        cost = sp.sp_sum(expression, sparse_grad=False)
        found = aot.function([A, B], grad(cost, A), name="r", on_unused_input="ignore")(M, M)
        np.testing.assert_allclose(found.toarray() if ss.issparse(found) else found, -np.ones((2, 3)))


@pytest.mark.shows("sparse/14-add", "sparse/14-dense-operand")
def test_add_is_structured_beside_a_dense_operand_only() -> None:
    regular = aot.function([A, B], grad(sp.sp_sum(A + B), A), name="both_sparse", on_unused_input="ignore")(M, M)
    np.testing.assert_allclose(regular.toarray() if ss.issparse(regular) else regular, np.ones((2, 3)))
    for expression in (A + d, A - d, d + A, d - A):
        assert not expression.is_sparse
    np.testing.assert_allclose(_slope(A + d, A, M, W, inputs=(A, d)), W * (M.toarray() != 0))
    np.testing.assert_allclose(_slope(A + d, d, M, W, inputs=(A, d)), W)


@pytest.mark.shows("sparse/14-sp_sum", "sparse/14-sp_sum-default")
def test_sums_are_of_rank_0_or_1_and_regular_by_default() -> None:
    assert [sp.sp_sum(A, axis=axis).ndim for axis in (None, 0, 1)] == [0, 1, 1]
    by_default = aot.function([A], grad(sp.sp_sum(A), A), name="regular", on_unused_input="ignore")(M)
    np.testing.assert_allclose(by_default.toarray() if ss.issparse(by_default) else by_default, np.ones((2, 3)))
    structured = aot.function([A], grad(sp.sp_sum(A, sparse_grad=True), A), name="structured")(M)
    np.testing.assert_allclose(structured.toarray(), M.toarray() != 0)


@pytest.mark.shows("sparse/14-scale")
def test_gradients_of_scales_are_masked() -> None:
    c, r = at.dvector("c", shape=(3,)), at.dvector("r", shape=(2,))
    C, R = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0])
    mask = M.toarray() != 0
    np.testing.assert_allclose(_slope(sp.col_scale(A, c), A, M, C, inputs=(A, c)), W * C * mask)
    np.testing.assert_allclose(_slope(sp.row_scale(A, r), A, M, R, inputs=(A, r)), W * R[:, None] * mask)
    np.testing.assert_allclose(_slope(sp.col_scale(A, c), c, M, C, inputs=(A, c)), (W * M.toarray()).sum(0))


@pytest.mark.shows("sparse/14-true_dot")
def test_true_dot_takes_the_dense_operand_first() -> None:
    e = at.dmatrix("e", shape=(4, 2))
    E = np.arange(8.0).reshape(4, 2)
    product = sp.true_dot(e, A)
    assert product.is_sparse
    np.testing.assert_allclose(aot.function([e, A], product, name="first")(E, M).toarray(), E @ M.toarray())


@pytest.mark.shows("sparse/14-list")
def test_the_names_of_the_rows_are_there() -> None:
    names = """
    CSM CSC CSR csm_properties csm_data csm_indices csm_indptr csm_shape sp_ones_like sp_zeros_like
    square_diagonal construct_sparse_from_list ensure_sorted_indices remove0 clean dense_from_sparse
    csr_from_dense csc_from_dense bcast wcast icast lcast fcast dcast cast transpose neg eq neq lt gt le ge add
    add_s_s add_s_d add_s_s_data structured_add_s_v sub mul mul_s_s mul_s_d mul_s_v col_scale row_scale
    structured_sigmoid structured_exp structured_log structured_pow structured_minimum structured_maximum
    structured_add sin arcsin tan arctan sinh arcsinh tanh arctanh rad2deg deg2rad rint ceil floor trunc sign
    log1p expm1 sqr sqrt dot structured_dot structured_dot_grad true_dot sampling_dot usmm get_item_scalar
    get_item_2d get_item_list get_item_2lists diag hstack vstack block_diag sp_sum poisson multinomial
    csr_fbinomial csr_dbinomial csc_fbinomial csc_dbinomial sparse_grad sparse_random_inputs verify_grad_sparse
    as_sparse_variable as_sparse_or_tensor_variable constant shared
    """
    assert [name for name in names.split() if not hasattr(sp, name)] == []
