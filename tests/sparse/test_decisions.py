"""Where sources disagree about sparse matrices: what holds here, on the worked example."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at

M = csr_matrix(np.array([[0, 1, 0], [2, 0, 3]], dtype=float))
D = np.arange(1.0, 7.0).reshape(2, 3)
STORED = M.toarray() != 0


def _dense(x: Any) -> Any:
    return x.toarray() if hasattr(x, "toarray") else x


def _values(inputs: Any, outputs: Any, *values: Any) -> list[Any]:
    """Compiled results as dense arrays, which are those of the reference."""
    f = aot.function(inputs, list(outputs))
    found = [_dense(x) for x in f(*values)]
    for one, expected in zip(found, f.reference(*values), strict=True):
        np.testing.assert_allclose(one, _dense(expected), rtol=1e-12)
    return found


@pytest.mark.shows("sparse/14-sampling_dot")
def test_sampling_dot_has_three_gradients() -> None:
    d, e, p = at.dmatrix("d"), at.dmatrix("e"), sp.csr_matrix("p")
    left, right = D[:, :2], np.array([[1.0, 0], [0, 1], [1, 1]])
    derivatives = aot.grad(sp.sp_sum(sp.sampling_dot(d, e, p)), [d, e, p])
    assert [x.is_sparse for x in derivatives] == [False, False, True]
    for_d, for_e, for_p = _values([d, e, p], derivatives, left, right, M)
    np.testing.assert_allclose(for_d, M.toarray() @ right)
    np.testing.assert_allclose(for_e, M.toarray().T @ left)
    np.testing.assert_allclose(for_p, np.where(STORED, left @ right.T, 0))


@pytest.mark.shows("sparse/14-neg-sub", "sparse/14-add", "sparse/14-dense-operand")
def test_sums_and_differences() -> None:
    """Regular for sparse operands, also where the other one has entries; dense and structured beside a dense one."""
    x, y, d = sp.csr_matrix("x"), sp.csr_matrix("y"), at.dmatrix("d")
    other = csr_matrix(np.array([[4.0, 0, 5], [0, 0, 6]]))
    weighted = [(sp.dense_from_sparse(z) * D).sum() for z in (x + y, x - y, -y)]
    derivatives = [aot.grad(weighted[0], x), aot.grad(weighted[1], y), aot.grad(weighted[2], y)]
    either = STORED | (other.toarray() != 0)
    found = _values([x, y], derivatives, M, other)
    for one, sign, pattern in zip(found, (1, -1, -1), (either, either, other.toarray() != 0), strict=True):
        np.testing.assert_allclose(one, np.where(pattern, sign * D, 0))
    assert not (x + d).is_sparse
    assert not (x - d).is_sparse
    assert not (d - x).is_sparse
    beside, _ = _values([x, d], [aot.grad(((x + d) * D).sum(), x), x + d], M, D)
    np.testing.assert_allclose(beside, np.where(STORED, D, 0))


@pytest.mark.shows("sparse/14-sp_sum", "sparse/14-sp_sum-default")
def test_sums_have_rank_0_or_1_and_a_regular_gradient() -> None:
    x = sp.csr_matrix("x", shape=(2, 3))
    assert [sp.sp_sum(x, axis=axis).ndim for axis in (None, 0, 1)] == [0, 1, 1]
    regular, structured = aot.grad(sp.sp_sum(x), x), aot.grad(sp.sp_sum(x, sparse_grad=True), x)
    found = _values([x], [sp.sp_sum(x) + 0, regular, structured], M)
    np.testing.assert_allclose(found[1], np.ones((2, 3)))
    np.testing.assert_allclose(found[2], STORED)


@pytest.mark.shows("sparse/14-scale")
@pytest.mark.parametrize(("scale", "length"), [(sp.col_scale, 3), (sp.row_scale, 2)])
def test_gradients_of_scales_stay_on_the_pattern(scale: Any, length: int) -> None:
    x, v = sp.csr_matrix("x"), at.dvector("v")
    weights = np.arange(1.0, length + 1)
    derivatives = aot.grad((sp.DenseFromSparse(structured=False)(scale(x, v)) * D).sum(), [x, v])
    for_x, for_v = _values([x, v], derivatives, M, weights)
    along = weights if length == 3 else weights[:, None]
    np.testing.assert_allclose(for_x, np.where(STORED, D * along, 0))
    np.testing.assert_allclose(for_v, (M.toarray() * D).sum(axis=0 if length == 3 else 1))


@pytest.mark.shows("sparse/14-true_dot")
def test_true_dot_takes_the_dense_operand_first() -> None:
    x, d = sp.csr_matrix("x"), at.dmatrix("d")
    product = sp.true_dot(d, x)
    assert product.is_sparse
    (found,) = _values([d, x], [product], D.T, M)
    np.testing.assert_allclose(found, D.T @ M.toarray())


@pytest.mark.shows("sparse/13-conj")
def test_conj_of_a_real_matrix_is_the_matrix() -> None:
    x = sp.csc_matrix("x")
    assert sp.conj(x) is x
    assert x.conj() is x


@pytest.mark.shows("sparse/13-add_s_d", "sparse/0-duplicates")
def test_entries_for_one_place_accumulate_in_a_dense_sum() -> None:
    data, d = at.dvector("data"), at.dmatrix("d")
    x = sp.CSR(data, [2, 0, 2], [0, 3, 3], (2, 3))
    (found,) = _values([data, d], [sp.add(x, d)], np.array([1.0, 2.0, 4.0]), D)
    np.testing.assert_allclose(found, D + np.array([[2, 0, 5], [0, 0, 0]]))


@pytest.mark.shows("sparse/0-module-import")
@pytest.mark.parametrize(
    "text", ["import aotensor; aotensor.sparse.csr_matrix", "import aotensor.sparse as sp; sp.CSR"]
)
def test_sparse_is_there_with_and_without_its_own_import(text: str) -> None:
    assert subprocess.run([sys.executable, "-c", text], check=False).returncode == 0


@pytest.mark.shows("sparse/14-list")
def test_what_is_listed_is_callable_or_a_list() -> None:
    assert all(callable(getattr(sp, name)) or isinstance(getattr(sp, name), list) for name in sp.__all__)
