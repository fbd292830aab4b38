"""Functions of sparse matrices against SciPy: conversions, transposes, and what a variable says of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError
from aotensor.gradient import Lop, Rop, grad

M = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
FORMATS = pytest.mark.parametrize("format", ["csr", "csc"])


def stored(format: str, dtype: str = "float64") -> Any:
    """M with a stored zero at (0, 2)."""
    matrix = scipy.sparse.coo_matrix(([1.0, 0.0, 2.0, 3.0], ([0, 0, 1, 1], [1, 2, 0, 2])), shape=(2, 3))
    return matrix.asformat(format).astype(dtype)


@FORMATS
@pytest.mark.shows("sparse/3-dense_from_sparse", "sparse/3-toarray")
def test_dense_from_sparse(format: str) -> None:
    x = sp.matrix(format, "x", shape=(2, 3))
    weights = np.arange(6.0).reshape(2, 3)
    structured = grad((x.toarray() * weights).sum(), x)
    regular = grad((sp.dense_from_sparse(x, structured=False) * weights).sum(), x)
    assert structured.type == x.type
    assert regular.type == x.type
    found, everywhere, dense = aot.function([x], [structured, regular, x.todense()]).reference(stored(format))
    assert found.format == format
    np.testing.assert_array_equal(found.toarray(), weights * [[0, 1, 1], [1, 0, 1]])
    assert found.nnz == 4
    assert everywhere.nnz == 6
    np.testing.assert_array_equal(everywhere.toarray(), weights)
    np.testing.assert_array_equal(dense, M)
    assert sp.DenseFromSparse() == sp.DenseFromSparse(structured=True) != sp.DenseFromSparse(structured=False)
    d = at.matrix("d")
    assert sp.dense_from_sparse(d) is d


def test_integers_have_a_zero_gradient() -> None:
    x = sp.csr_matrix("x", dtype="int32")
    derivative = grad(x.toarray().astype("float64").sum(), x)
    assert (derivative.dtype, derivative.format) == ("float64", "csr")
    assert aot.function([x], derivative, on_unused_input="ignore").reference(stored("csr", "int32")).nnz == 0


@FORMATS
@pytest.mark.shows("sparse/4-transpose")
def test_transpose(format: str) -> None:
    x = sp.matrix(format, "x", shape=(2, "n"), dtype="float32", index_dtype="int64")
    y = x.T
    assert (y.format, y.type.shape, y.dtype, y.type.index_dtype) == (
        {"csr": "csc", "csc": "csr"}[format],
        ("n", 2),
        "float32",
        "int64",
    )
    assert y.T is x
    assert sp.transpose(x).owner.op == sp.Transpose() == x.transpose().owner.op
    dense = np.arange(6.0, dtype="float32").reshape(3, 2)
    pulled = Lop(y, x, at.as_tensor_variable(dense))
    value, pulled_value, pushed = aot.function([x], [y, pulled, Rop(y, x, x)]).reference(stored(format, "float32"))
    np.testing.assert_array_equal(value.toarray(), M.T)
    np.testing.assert_array_equal(pulled_value, dense.T)
    np.testing.assert_array_equal(pushed.toarray(), M.T)


@pytest.mark.shows("sparse/3-csr_from_dense", "sparse/14-from_dense")
def test_from_dense() -> None:
    d = at.matrix("d", shape=(2, 3))
    x = sp.csc_from_dense(d)
    assert str(x.type) == "csc float64[2, 3]"
    assert sp.SparseFromDense("csc") == x.owner.op != sp.csc_from_dense(d, structured=True).owner.op
    weights = np.arange(6.0).reshape(2, 3)
    derivatives = [
        grad((sp.dense_from_sparse(y, structured=False) * weights).sum(), d) for y in (x, sp.csc_from_dense(d, True))
    ]
    regular, structured = aot.function([d], derivatives, on_unused_input="ignore").reference(M)
    np.testing.assert_array_equal(regular, weights)
    np.testing.assert_array_equal(structured, weights * (M != 0))
    assert sp.csr_from_dense([[0, 2]]).eval().nnz == 1
    with pytest.raises(GraphTypeError, match="rank 2"):
        sp.csr_from_dense(at.tensor3())
    with pytest.raises(GraphTypeError, match="bool"):
        sp.csr_from_dense(at.matrix(dtype="bool"))


@FORMATS
@pytest.mark.shows("sparse/2-csm_parts", "sparse/2-sp_ones_like", "sparse/2-sp_zeros_like")
def test_pieces_and_what_is_like_a_matrix(format: str) -> None:
    x = sp.matrix(format, "x")
    parts = [sp.csm_data(x), sp.csm_indices(x), sp.csm_indptr(x), sp.csm_shape(x)]
    assert [part.dtype for part in parts] == ["float64", "int32", "int32", "int32"]
    ones, zeros = sp.sp_ones_like(x), x.zeros_like("float32")
    m = stored(format)
    *found, shape, one, zero, extents, size = aot.function([x], [*parts, ones, zeros, x.shape, x.size]).reference(m)
    for array, expected in zip(found, (m.data, m.indices, m.indptr), strict=True):
        np.testing.assert_array_equal(array, expected)
    np.testing.assert_array_equal(shape, [2, 3])
    np.testing.assert_array_equal(extents, [2, 3])
    assert (size, one.nnz, zero.nnz, zero.dtype, zero.shape) == (4, 4, 0, "float32", (2, 3))
    np.testing.assert_array_equal(one.data, np.ones(4))
    assert one.format == zero.format == format
    for unconnected in (ones, zeros):
        with pytest.raises(aot.errors.DisconnectedInputError):
            grad(unconnected.toarray().sum(), x)


CASTS = [
    (sp.bcast, "int8"), (sp.wcast, "int16"), (sp.icast, "int32"), (sp.lcast, "int64"), (sp.fcast, "float32"),
    (sp.dcast, "float64"),
]  # fmt: skip


@FORMATS
@pytest.mark.shows("sparse/3-casts", "sparse/3-cast")
def test_casts(format: str) -> None:
    x = sp.matrix(format, "x", shape=(2, 3))
    results = [cast(x) for cast, _ in CASTS]
    assert [str(y.type) for y in results] == [f"{format} {dtype}[2, 3]" for _, dtype in CASTS]
    for (_, dtype), value in zip(CASTS, aot.function([x], results).reference(stored(format)), strict=True):
        assert (value.dtype, value.nnz) == (dtype, 4)
        np.testing.assert_array_equal(value.toarray(), M.astype(dtype))
    assert sp.cast(x, "float64") is x is x.astype("floatX") is at.cast(x, "float64")
    derivatives = [grad(y.toarray().sum().astype("float64"), x) for y in results]
    sizes = aot.function([x], derivatives, on_unused_input="ignore").reference(stored(format))
    assert [size.toarray().any() for size in sizes] == [False] * 4 + [True] * 2
    for complex_cast, dtype in ((sp.ccast, "complex64"), (sp.zcast, "complex128")):
        whole = complex_cast(x)
        assert str(whole.type) == f"{format} {dtype}[2, 3]"
        found, slope = aot.function([x], [whole, grad((whole.toarray() * 2j).imag.sum(), x)]).reference(stored(format))
        np.testing.assert_array_equal(found.toarray(), M.astype(dtype))
        np.testing.assert_array_equal(slope.data, [2.0] * 4)
        with pytest.raises(GraphTypeError, match="would drop the imaginary parts"):
            sp.dcast(whole)
    with pytest.raises(GraphTypeError, match="bool"):
        sp.cast(x, "bool")


@FORMATS
@pytest.mark.shows("sparse/3-csr_from_dense")
def test_from_dense_changes_the_format_of_a_sparse_matrix(format: str) -> None:
    """All entries stay, stored zeros too; the gradient goes back as it came."""
    x = sp.matrix(format, "x", shape=(2, "n"))
    same, other = (
        (sp.csr_from_dense(x), sp.csc_from_dense(x))
        if format == "csr"
        else (sp.csc_from_dense(x), sp.csr_from_dense(x))
    )
    assert same is x
    assert (other.format, other.type.shape) == ({"csr": "csc", "csc": "csr"}[format], (2, "n"))
    dense = np.arange(6.0).reshape(2, 3)
    results = [other, Lop(other, x, at.as_tensor_variable(dense)), Rop(other, x, at.as_tensor_variable(dense))]
    value, pulled, pushed = aot.function([x], results).reference(stored(format))
    assert (value.nnz, value.format) == (4, other.format)
    np.testing.assert_array_equal(value.toarray(), M)
    np.testing.assert_array_equal(pulled, dense)
    np.testing.assert_array_equal(pushed, dense)
    assert sp.csc_from_dense(stored(format)).eval().format == "csc"


@pytest.mark.shows("sparse/13-clean-up", "sparse/13-dense-of-sparse", "sparse/13-csm-pair")
def test_what_cancels() -> None:
    x, d = sp.csr_matrix("x", dtype="float32"), at.matrix("d")
    assert x.T.T is x
    assert x.astype("float64").astype("float32") is x
    assert sp.csr_matrix().astype("float32").astype("float64").owner.op == sp.Cast("float64")
    text = aot.function([d], sp.csc_from_dense(d).toarray() + 1).ir("tensor-opt")
    assert "nonzero" not in text
    assert "sum_at" not in text
    parts = sp.csm_properties(sp.CSR(at.vector("v"), [0, 1], [0, 1, 2], (2, 2)))
    made = aot.function([parts[0].owner.inputs[0].owner.inputs[0]], parts[0] * 2)
    np.testing.assert_array_equal(made(np.array([1.0, 2.0])), [2, 4])
    with pytest.raises(ValueError, match="data and indices"):
        made(np.ones(3))


@FORMATS
@pytest.mark.shows("sparse/12-members", "sparse/12-densify")
def test_members(format: str) -> None:
    x = sp.matrix(format, "x", shape=("n", 3))
    y = x.copy(name="y")
    assert (y.name, y.type, y is not x) == ("y", x.type, True)
    assert (x.ndim, x.dtype, x.format, x.shape.dtype, x.size.dtype) == (2, "float64", format, "int64", "int64")
    values = [y, x.shape, x.size, x.ones_like("int8"), x.zeros_like(), grad(y.toarray().sum(), x)]
    m = stored(format)
    copied, shape, size, ones, zeros, derivative = aot.function([x], values).reference(m)
    np.testing.assert_array_equal(copied.toarray(), M)
    assert (shape.tolist(), size, ones.dtype, ones.nnz, zeros.nnz, derivative.nnz) == ([2, 3], 4, "int8", 4, 0, 4)
    with pytest.raises(GraphTypeError, match="ambiguous"):
        len(x)
    with pytest.raises(GraphTypeError, match="cannot be iterated over its rows"):
        iter(x)
    with pytest.raises(GraphTypeError):
        bool(x)


@FORMATS
def test_compiled_conversions(format: str) -> None:
    """Sparse arguments and results of a library."""
    x, d = sp.matrix(format, "x"), at.matrix("d")
    other = sp.csc_from_dense(x) if format == "csr" else sp.csr_from_dense(x)
    results = [
        *(x.toarray(), x.T, other, x.astype("float32"), sp.csr_from_dense(d), sp.diag(x), sp.remove0(x), x.size),
        *(sp.hstack([x, x.copy()]), sp.square_diagonal(sp.diag(x)), x.zeros_like(), sp.sp_ones_like(x)),
    ]
    f = aot.function([x, d], results)
    m = stored(format)
    for found, expected in zip(f(m, M), f.reference(m, M), strict=True):
        assert getattr(found, "format", "") == getattr(expected, "format", "")
        assert found.dtype == expected.dtype
        parts = [(found, expected)] if isinstance(expected, np.ndarray) else [
            (getattr(found, part), getattr(expected, part)) for part in ("data", "indices", "indptr")
        ]  # fmt: skip
        for one, two in parts:
            np.testing.assert_array_equal(one, two)
