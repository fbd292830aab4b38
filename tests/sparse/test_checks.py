"""Helpers for tests of derivatives, and tables of which a few rows are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GradientError, GraphTypeError
from aotensor.gradient import verify_grad

FORMATS = pytest.mark.parametrize("format", ["csr", "csc"])


@pytest.mark.shows("sparse/12-testing")
@FORMATS
def test_random_inputs(format: str) -> None:
    rng = np.random.default_rng(0)
    variables, data = sp.sparse_random_inputs(format, (30, 20), n=3, p=0.25, rng=rng)
    assert [x.type for x in variables] == [sp.SparseTensorType(format, "float64")] * 3
    assert all(x.format == format and x.shape == (30, 20) and x.dtype == "float64" for x in data)
    assert 300 < sum(x.nnz for x in data) < 600
    _, (ints,) = sp.sparse_random_inputs(format, (30, 20), out_dtype="int8", gap=(3, 7), rng=rng)
    assert ints.dtype == "int8"
    assert set(ints.data.tolist()) == {3, 4, 5, 6}
    _, (zero,) = sp.sparse_random_inputs(format, (5, 5), gap=(1.0, 2.0), explicit_zero=True, rng=rng)
    assert (zero.data == 0).sum() == 1
    _, (unsorted,) = sp.sparse_random_inputs(format, (9, 9), p=0.9, unsorted_indices=True, rng=rng)
    assert not unsorted.has_sorted_indices
    tidy = unsorted.copy()
    tidy.sort_indices()
    np.testing.assert_array_equal(tidy.toarray(), unsorted.toarray())
    _, (empty,) = sp.sparse_random_inputs(format, (0, 4), unsorted_indices=True)
    assert empty.shape == (0, 4)


@pytest.mark.shows("sparse/12-testing", "sparse/7-dot")
@FORMATS
def test_verify_grad_sparse(format: str) -> None:
    _, (x, y) = sp.sparse_random_inputs(format, (4, 4), n=2, rng=np.random.default_rng(1))
    dense = np.arange(12.0).reshape(4, 3)
    sp.verify_grad_sparse(sp.dot, [x, dense])
    sp.verify_grad_sparse(sp.dot, [x, dense], structured=True)
    sp.verify_grad_sparse(lambda a, b: a[::-1] + b, [x, y])
    sp.verify_grad_sparse(sp.structured_exp, [x], structured=True)
    with pytest.raises(GradientError):
        sp.verify_grad_sparse(sp.structured_dot, [x, dense])  # its gradient is no true one


@pytest.mark.shows("sparse/12-testing")
@FORMATS
def test_verify_grad_varies_stored_values(format: str) -> None:
    _, (x,) = sp.sparse_random_inputs(format, (4, 4), explicit_zero=True, rng=np.random.default_rng(1))
    verify_grad(lambda a, v: sp.structured_dot(a * 2.0, v), [x, np.ones((4, 2))])
    verify_grad(lambda a: a[1:, [0, 3, 3]], [x], mode="FAST_RUN")


@pytest.mark.shows("sparse/12-sparse_grad")
def test_the_gradient_of_a_table_is_sparse() -> None:
    """Rows 2, 0, 2 and −1 of a table: the gradient stores them, twice the one that comes twice."""
    table, rows = at.dmatrix("table"), at.lvector("rows")
    read = sp.sparse_grad(table[rows])
    derivative = aot.grad((read**2).sum(), table)
    assert derivative.is_sparse
    assert derivative.format == "csc"
    f = aot.function([table, rows], [read, derivative])
    values, places = np.arange(1.0, 9.0).reshape(4, 2), [2, 0, 2, -1]
    expected = np.array([[2.0, 4.0], [0.0, 0.0], [20.0, 24.0], [14.0, 16.0]])
    for found in (f(values, places), f.reference(values, places)):
        np.testing.assert_array_equal(found[0], values[places])
        np.testing.assert_array_equal(found[1].toarray(), expected)
        found[1].sum_duplicates()
        assert found[1].nnz == 6
    verify_grad(lambda w: sp.sparse_grad(w[[2, 0, 2]]) ** 2, [values])
    second = aot.grad((aot.grad((read**3).sum(), table) * 1.0).sum(), table)
    found = aot.function([table, rows], sp.dense_from_sparse(second) if second.is_sparse else second)(values, [1, 1])
    np.testing.assert_array_equal(found, [[0, 0], [36, 48], [0, 0], [0, 0]])


@pytest.mark.shows("sparse/12-sparse_grad")
@pytest.mark.parametrize(
    "made",
    [
        lambda w: w,
        lambda w: w[1:],
        lambda w: w[[0, 1], [1, 0]],
        lambda w: w[:, [0, 1]],
        lambda w: w[[[0, 1]]],
        lambda w: w[0][[0, 1]],
    ],
)
def test_sparse_grad_is_of_rows_alone(made: Any) -> None:
    with pytest.raises(GraphTypeError, match=r"expected x\[rows\]"):
        sp.sparse_grad(made(at.dmatrix("w")))


def test_unknown_names_of_the_package() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sp.nothing  # noqa: B018
