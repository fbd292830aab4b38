"""CSM and its gradient, rows at given places, and clean matrices, against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import Lop, Rop, grad

FORMATS = pytest.mark.parametrize("format", ["csr", "csc"])
GOOD: dict[str, Any] = {
    "data": [1.0, 2.0, 3.0], "indices": [2, 0, 2], "indptr": [0, 1, 3], "shape": (2, 3)
}  # fmt: skip


def unsorted(format: str) -> Any:
    """2×3 (csr) or 3×2 (csc) with an unsorted slice, an entry that is there twice, and a stored zero."""
    kind = {"csr": scipy.sparse.csr_matrix, "csc": scipy.sparse.csc_matrix}[format]
    shape = (2, 3) if format == "csr" else (3, 2)
    return kind((np.array([1.0, 0.0, 2.0, 4.0]), np.array([1, 2, 0, 2]), np.array([0, 1, 4])), shape=shape)


def made(format: str) -> Any:
    """The same as a variable."""
    m = unsorted(format)
    return sp.CSM(format)(m.data, m.indices, m.indptr, m.shape)


@pytest.mark.shows("sparse/2-CSM")
@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"data": [[1.0]]}, GraphTypeError, "vector of data"),
        ({"indices": [0.0, 1.0, 2.0]}, GraphTypeError, "integers for indices"),
        ({"indptr": [[0, 1, 3]]}, GraphTypeError, "integers for indptr"),
        ({"shape": (2, 3, 1)}, GraphValueError, "must have 2 elements, found 3"),
        ({"data": [1.0, 2.0]}, GraphValueError, "2 values, but 3 indices"),
        ({"indptr": [0, 3]}, GraphValueError, "indptr has 2"),
        ({"indptr": [0, 1, 4]}, GraphValueError, "indptr does not increase"),
        ({"indptr": [0, 4, 3]}, GraphValueError, "indptr does not increase"),
        ({"indptr": [1, 1, 3]}, GraphValueError, "indptr does not increase"),
        ({"indices": [2, 0, 3]}, GraphValueError, "index 3"),
        ({"indices": [2, 0, -1]}, GraphValueError, "index -1"),
    ],
)
def test_csm_refuses_what_is_no_matrix(wrong: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sp.CSR(*{**GOOD, **wrong}.values()).eval()


@pytest.mark.shows("sparse/2-CSM")
def test_csm_refuses_a_shape_of_another_length_at_the_call() -> None:
    data, shape = at.dvector("data"), at.ivector("shape")
    f = aot.function([data, shape], sp.CSR(data, [0, 1], [0, 1, 2], shape))
    for call in (f, f.reference):
        with pytest.raises(ValueError, match="extents"):
            call(np.ones(2), np.array([2, 2, 2], "int32"))


@FORMATS
@pytest.mark.shows("sparse/2-CSM", "sparse/0-unsorted", "sparse/0-duplicates", "sparse/0-explicit-zeros")
def test_csm_keeps_the_order_of_entries(format: str) -> None:
    assert sp.CSM("csr") == sp.CSR != sp.CSC
    with pytest.raises(GraphValueError, match="coo"):
        sp.CSM("coo")
    value, m = made(format).eval(), unsorted(format)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(value, part), getattr(m, part))


@pytest.mark.shows("sparse/2-CSM", "sparse/0-duplicates")
def test_the_gradient_of_csm_counts_each_entry_once() -> None:
    """[1, 1, 5] for two entries at a place with weight 1 and one with weight 5."""
    data = at.vector("data")
    x = sp.CSR(data, [1, 1, 0], [0, 2, 3], (2, 2))
    for dense in (x.toarray(), sp.dense_from_sparse(x, structured=False)):
        derivative = grad((dense * np.array([[0.0, 1.0], [5.0, 0.0]])).sum(), data)
        np.testing.assert_array_equal(derivative.eval({data: np.ones(3)}), [1, 1, 5])


@pytest.mark.shows("sparse/0-duplicates")
def test_compiled_tangents_of_data_have_the_shares_of_the_reference() -> None:
    """A tangent (10, 20) at a place with two entries is 30 there, and each of them has half of it."""
    data, change = at.vector("data"), at.vector("change")
    x, t = (sp.CSR(v, [1, 1, 2], [0, 2, 3, 3], (3, 4)) for v in (data, change))
    f = aot.function([data, change], Rop(sp.csm_data(x), x, sp.neg(sp.neg(t))), on_unused_input="ignore", name="shares")
    np.testing.assert_array_equal(f.reference(np.ones(3), [10.0, 20, 30]), [15, 15, 30])
    np.testing.assert_array_equal(f(np.ones(3), [10.0, 20, 30]), [15, 15, 30])


@pytest.mark.shows("sparse/2-CSM", "sparse/2-CSMGrad")
def test_the_gradient_of_csm_takes_a_sparser_cotangent() -> None:
    data = at.vector("data")
    x = sp.CSR(data, [2, 0, 1], [0, 2, 3], (2, 3))
    g = scipy.sparse.csr_matrix(np.array([[7.0, 0, 0], [0, 0, 9.0]]))
    np.testing.assert_array_equal(Lop(x, data, sp.constant(g)).eval({data: np.ones(3)}), [0, 7, 0])
    vectors = [at.vector(), *(at.vector(dtype="int32") for _ in range(3))]
    derivative = sp.csm_grad(*vectors, g.data, g.indices, g.indptr, g.shape)
    values = dict(
        zip(vectors, (np.ones(3), *(np.array(v, "int32") for v in ([2, 0, 1], [0, 2, 3], (2, 3)))), strict=True)
    )
    np.testing.assert_array_equal(derivative.eval(values), [0, 7, 0])
    assert sp.csm_grad == sp.CSMGrad()
    with pytest.raises(aot.errors.DisconnectedInputError):
        grad(derivative.sum(), vectors[0])


@FORMATS
@pytest.mark.shows("sparse/2-csm_properties")
def test_csm_properties(format: str) -> None:
    x = sp.matrix(format, "x")
    data, *rest = sp.csm_properties(x)
    assert sp.csm_properties == sp.CSMProperties()
    assert [part.dtype for part in rest] == ["int32"] * 3
    m = scipy.sparse.random(3, 4, 0.5, format, rng=np.random.default_rng(1))
    weights = np.arange(1.0, m.nnz + 1)
    derivative = grad((data * weights).sum(), x)
    value, tangent = aot.function([x], [derivative, Rop(data, x, x)], on_unused_input="ignore").reference(m)
    assert value.format == format
    np.testing.assert_array_equal(value.data, weights)
    np.testing.assert_array_equal(value.indices, m.indices)
    np.testing.assert_array_equal(tangent, m.data)


@pytest.mark.shows("sparse/2-construct_sparse_from_list", "sparse/14-construct", "sparse/0-out-of-range")
def test_construct_sparse_from_list() -> None:
    template, values, rows = at.matrix("t", dtype="int8"), at.matrix("v", dtype="float32"), at.ivector("rows")
    x = sp.construct_sparse_from_list(template, values, rows)
    assert (x.format, x.dtype, x.type.is_canonical) == ("csc", "float32", False)
    f = aot.function([template, values, rows], x)
    found = f.reference(
        np.zeros((4, 2), "int8"), np.array([[1, 2], [0, 3], [5, 6]], "float32"), np.array([3, 0, 3], "int32")
    )
    np.testing.assert_array_equal(found.toarray(), [[0, 3], [0, 0], [0, 0], [6, 8]])
    assert found.nnz == 6
    with pytest.raises(GraphValueError, match="index 4"):
        f.reference(np.zeros((4, 2), "int8"), np.ones((1, 2), "float32"), np.array([4], "int32"))
    with pytest.raises(GraphValueError, match="index -1"):
        f.reference(np.zeros((4, 2), "int8"), np.ones((1, 2), "float32"), np.array([-1], "int32"))
    with pytest.raises(GraphValueError, match="values has 1 rows, but ilist has 2"):
        f.reference(np.zeros((4, 2), "int8"), np.ones((1, 2), "float32"), np.array([0, 1], "int32"))
    cotangent = np.arange(8.0, dtype="float32").reshape(4, 2)
    derivative = grad((sp.dense_from_sparse(x, structured=False) * cotangent).sum(), values)
    arguments = {
        template: np.zeros((4, 2), "int8"),
        values: np.ones((2, 2), "float32"),
        rows: np.array([3, 3], "int32"),
    }
    np.testing.assert_array_equal(derivative.eval(arguments), [[6, 7], [6, 7]])
    with pytest.raises(aot.errors.DisconnectedInputError):
        grad(x.toarray().sum(), template)
    for wrong in (
        (values[0], values, rows),
        (template, values[0], rows),
        (template, values, values),
        (x, values, rows),
    ):
        with pytest.raises(GraphTypeError):
            sp.construct_sparse_from_list(*wrong)
    with pytest.raises(GraphValueError, match="differ: 2 and 3"):
        sp.construct_sparse_from_list(np.zeros((4, 2)), np.zeros((1, 3)), [0])


@FORMATS
@pytest.mark.shows("sparse/2-ensure_sorted_indices", "sparse/2-remove0", "sparse/2-clean", "sparse/0-not-mutated")
def test_clean_matrices(format: str) -> None:
    x, given = made(format), unsorted(format)
    ordered, nonzero, cleaned = (op(x) for op in (sp.ensure_sorted_indices, sp.remove0, sp.clean))
    assert [y.eval().indices.tolist() for y in (ordered, nonzero, cleaned)] == [[1, 0, 2, 2], [1, 0, 2], [1, 0, 2]]
    for y in (ordered, nonzero, cleaned):
        np.testing.assert_array_equal(y.eval().toarray(), given.toarray())
        assert y.format == format
    assert given.nnz == 4
    assert cleaned.type.is_canonical
    assert not nonzero.type.is_canonical
    known = sp.matrix(format)
    assert sp.ensure_sorted_indices(known) is known
    assert (sp.eliminate_zeros, sp.EliminateZeros) == (sp.remove0, sp.Remove0)
    assert sp.Remove0(inplace=True)(x).eval().nnz == sp.EnsureSortedIndices(inplace=True)(x).eval().nnz - 1


@FORMATS
@pytest.mark.shows("sparse/2-remove0", "sparse/2-clean")
def test_gradients_of_clean_matrices_are_regular(format: str) -> None:
    x, ct = sp.matrix(format, "x"), at.matrix("ct")
    m = scipy.sparse.csr_matrix(np.array([[0.0, 1.0], [2.0, 0.0]])).asformat(format)
    m.data[0] = 0
    weights = np.arange(4.0).reshape(2, 2)
    for op in (sp.remove0, sp.clean, sp.EnsureSortedIndices(), sp.csr_from_dense, sp.csc_from_dense):
        y = op(x)
        if y is x:
            continue
        pulled, pushed = aot.function([x, ct], [Lop(y, x, ct), Rop(y, x, ct)], on_unused_input="ignore").reference(
            m, weights
        )
        np.testing.assert_array_equal(pulled, weights)
        np.testing.assert_array_equal(pushed, weights)
