"""Diagonals of sparse matrices, and sparse matrices of diagonals, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import AotensorError, GraphTypeError, GraphValueError
from aotensor.gradient import Lop, Rop, grad

FORMATS = pytest.mark.parametrize("format", ["csr", "csc"])


@FORMATS
@pytest.mark.parametrize("k", [0, 1, -2, 7])
@pytest.mark.shows("sparse/8-diag")
def test_diag(format: str, k: int, rng: np.random.Generator) -> None:
    """Also of a matrix without known extents; the gradient has the format of x and is regular."""
    m = scipy.sparse.random(4, 6, 0.4, format, rng=rng)
    x, ct = sp.matrix(format, "x"), at.vector("ct")
    y = sp.diag(x, k)
    pulled = Lop(y, x, ct)
    assert (pulled.format, y.type) == (format, at.TensorType("float64", (None,)))
    weights = rng.normal(size=len(m.diagonal(k)))
    value, derivative, pushed = aot.function([x, ct], [y, pulled, Rop(y, x, x)]).reference(m, weights)
    np.testing.assert_array_equal(value, m.diagonal(k))
    np.testing.assert_array_equal(pushed, m.diagonal(k))
    expected = np.zeros((4, 6))
    for i in range(len(weights)):
        expected[i + max(-k, 0), i + max(k, 0)] = weights[i]
    np.testing.assert_array_equal(derivative.toarray(), expected)


def test_the_length_of_a_diagonal_is_known_where_it_can_be() -> None:
    assert sp.csr_matrix(shape=(4, 6)).diagonal(3).type.shape == (3,)
    assert sp.csr_matrix(shape=(4, 6)).diagonal(-4).type.shape == (0,)
    assert sp.csc_matrix(shape=("n", "n")).diagonal().type.shape == ("n",)
    assert sp.csc_matrix(shape=("n", "m")).diagonal().type.shape == (None,)
    assert sp.Diag(1) == sp.csr_matrix().diagonal(1).owner.op != sp.Diag()


@pytest.mark.shows("sparse/10-others", "sparse/12-densify")
def test_trace() -> None:
    x = sp.csr_matrix("x", dtype="int8")
    total = x.trace()
    assert total.dtype == "int64"
    assert aot.function([x], total).reference(scipy.sparse.csr_matrix(np.full((2, 3), 100, "int8"))) == 200
    with pytest.raises(GraphTypeError, match="sparse matrix"):
        sp.diag(at.matrix())
    with pytest.raises(GraphTypeError, match="k must be an int"):
        sp.diag(x, 1.0)


@FORMATS
@pytest.mark.shows("sparse/2-square_diagonal")
def test_square_diagonal(format: str) -> None:
    v = at.vector("v", shape=(3,), dtype="float32")
    x = sp.square_diagonal(v, format=format)
    assert str(x.type) == f"{format} float32[3, 3]"
    weights = np.arange(9.0, dtype="float32").reshape(3, 3)
    derivative = grad((sp.dense_from_sparse(x, structured=False) * weights).sum(), v)
    value, pulled = aot.function([v], [x, derivative]).reference(np.array([1, 0, -2], "float32"))
    assert (value.nnz, value.format) == (3, format)
    np.testing.assert_array_equal(value.toarray(), np.diag([1.0, 0.0, -2.0]))
    np.testing.assert_array_equal(pulled, [0, 4, 8])
    assert sp.square_diagonal(v).format == "csc"
    with pytest.raises(GraphTypeError, match="vector"):
        sp.square_diagonal(at.matrix())
    with pytest.raises(GraphValueError, match="bsr"):
        sp.square_diagonal(v, "bsr")


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_triangles(format: str) -> None:
    """As SciPy: entries and stored zeros on one side of a diagonal, in the format of the matrix."""
    value = scipy.sparse.random(6, 8, 0.5, format, random_state=0)
    value.data[::3] = 0
    A = sp.matrix(format, "A", "float64")
    offsets = (-9, -2, 0, 3, 2**30)
    f = aot.function([A], [triangle(A, k) for triangle in (sp.tril, sp.triu) for k in offsets])
    expected = [triangle(value, k, format) for triangle in (scipy.sparse.tril, scipy.sparse.triu) for k in offsets]
    for call in (f, f.reference):
        for found, one in zip(call(value), expected, strict=True):
            one.sort_indices()
            assert found.format == format and found.shape == one.shape
            assert [x.tolist() for x in (found.data, found.indices, found.indptr)] == [
                x.tolist() for x in (one.data, one.indices, one.indptr)
            ]
    blocks = sp.matrix("bsr", "B", "float64", blocksize=(2, 2))
    assert sp.tril(blocks).type.format == "csr"
    for wrong in (at.matrix("D"), np.ones((2, 2))):
        with pytest.raises(GraphTypeError, match="expected a sparse matrix"):
            sp.tril(wrong)
    with pytest.raises(AotensorError):
        sp.triu(A, 0.5)
