"""Types, variables, constants and shared variables of sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError

M = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
CSR = scipy.sparse.csr_matrix(M)
KINDS = ["csr_matrix", "csc_matrix", "coo_matrix", "bsr_matrix", "lil_matrix", "csr_array", "csc_array", "coo_array"]


@pytest.mark.shows("sparse/1-SparseTensorType", "sparse/0-value-dtypes", "sparse/0-index-dtype", "sparse/0-formats")
def test_types() -> None:
    type = sp.SparseTensorType("csr", "float64")
    assert type.shape == (None, None)
    assert type == sp.SparseTensorType("csr", "float64", (None, None), "a name", (False, False))
    assert type != sp.SparseTensorType("csc", "float64") != sp.SparseTensorType("csc", "float32")
    assert type != sp.SparseTensorType("csr", "float64", (2, None))
    assert (type.index_dtype, sp.SparseTensorType("csc", "int8", (2**31, 2)).index_dtype) == ("int32", "int64")
    assert str(type("x").type) == "csr float64[?, ?]"
    for wrong in ({"format": "coo"}, {"format": "bsr"}, {"blocksize": (1, 1)}, {"shape": (2,)}):
        with pytest.raises(GraphValueError):
            sp.SparseTensorType(**{"format": "csr", "dtype": "float64", **wrong})
    for dtype in ("bool", "float16", "bfloat16"):
        with pytest.raises(GraphTypeError, match=dtype):
            sp.SparseTensorType("csr", dtype)


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.shows("sparse/1-filter", "sparse/0-scipy-arrays", "sparse/0-not-mutated")
def test_filter_takes_any_form(format: str) -> None:
    type = sp.SparseTensorType(format, "float64", (2, None))
    exact = CSR.asformat(format)
    assert type.filter(exact) is exact is type.filter(exact, strict=True)
    for kind in KINDS:
        given = getattr(scipy.sparse, kind)(M)
        found = type.filter(given)
        assert (found.__class__, found.dtype) == (exact.__class__, exact.dtype)
        np.testing.assert_array_equal(found.toarray(), M)
    for other in (M, M.tolist(), CSR.astype("int32"), CSR.astype("float32")):
        np.testing.assert_array_equal(type.filter(other).toarray(), M)
        with pytest.raises(GraphTypeError, match="expected a matrix"):
            type.filter(other, strict=True)
    wrong = [CSR.T, M[0], "text", CSR.astype("complex128"), sp.csr_matrix("x"), object()]
    for value in wrong:
        with pytest.raises(GraphTypeError):
            type.filter(value)
    narrow = sp.SparseTensorType(format, "float32")
    with pytest.raises(GraphTypeError, match="without loss"):
        narrow.filter(CSR)
    assert narrow.filter(CSR, allow_downcast=True).dtype == "float32"


@pytest.mark.shows("sparse/0-duplicates", "sparse/0-unsorted", "sparse/0-out-of-range", "sparse/0-not-mutated")
def test_filter_gives_canonical_matrices_and_keeps_its_argument() -> None:
    given = scipy.sparse.csr_matrix(([1.0, 2.0, 4.0], [2, 0, 2], [0, 3]), shape=(1, 3))
    found = sp.SparseTensorType("csr", "float64").filter(given)
    assert (found.indices.tolist(), found.data.tolist()) == ([0, 2], [2, 5])
    assert (given.indices.tolist(), given.data.tolist()) == ([2, 0, 2], [1, 2, 4])
    given.indices[0] = 3
    with pytest.raises(GraphValueError, match="index 3"):
        sp.SparseTensorType("csr", "float64").filter(given)


@pytest.mark.shows("sparse/0-index-dtype")
def test_filter_gives_the_index_dtype() -> None:
    for dtype in ("int32", "int64"):
        found = sp.SparseTensorType("csc", "float64", index_dtype=dtype).filter(CSR)
        assert (found.indices.dtype, found.indptr.dtype) == (dtype, dtype)
        np.testing.assert_array_equal(found.toarray(), M)
    wide = CSR.copy()
    wide.indices, wide.indptr = wide.indices.astype("int64"), wide.indptr.astype("int64")
    assert sp.csr_dmatrix.filter(wide).indices.dtype == "int32"
    assert wide.indices.dtype == "int64"


@pytest.mark.shows("sparse/1-values_eq_approx")
def test_equality_of_values() -> None:
    type = sp.csr_dmatrix
    assert type.values_eq(CSR, CSR.tocsc())
    assert not type.values_eq(CSR, CSR * (1 + 1e-9))
    assert type.values_eq_approx(CSR * 1e9, CSR * 1e9 * (1 + 1e-9))
    assert not type.values_eq_approx(CSR, CSR * 1.001)
    assert not type.values_eq_approx(CSR, CSR.T)
    unknown = CSR * np.nan
    assert type.values_eq(unknown, unknown)
    assert type.values_eq_approx(unknown, unknown)
    assert not type.values_eq_approx(unknown, CSR)


@pytest.mark.shows("sparse/1-matrix", "sparse/1-csc_matrix", "sparse/1-dmatrix", "sparse/1-sparse_formats")
def test_variables() -> None:
    assert str(sp.matrix("csc", "x", shape=("n", 3)).type) == "csc float64[n, 3]"
    assert str(sp.csr_matrix("x", "int8").type) == "csr int8[?, ?]"
    assert str(sp.csc_matrix("x", shape=(2, 3)).type) == "csc float64[2, 3]"
    types = [sp.csc_dmatrix, sp.csr_dmatrix, sp.csc_fmatrix, sp.csr_fmatrix]
    assert [(str(type("x").type), type("x").name) for type in types] == [
        (f"{format} {dtype}[?, ?]", "x") for dtype in ("float64", "float32") for format in ("csc", "csr")
    ]
    assert sp.sparse_formats == ["csc", "csr", "bsr"]
    x = sp.csr_matrix("x")
    assert (x.format, x.ndim, x.dtype) == ("csr", 2, "float64")
    assert isinstance(x, sp.SparseVariable)


@pytest.mark.shows("sparse/0-formats")
def test_other_formats_are_refused_by_name() -> None:
    with pytest.raises(GraphValueError, match="coo"):
        sp.matrix("coo")


@pytest.mark.shows("sparse/1-all_dtypes")
def test_lists_of_dtypes() -> None:
    assert sp.integer_dtypes == sp.int_dtypes + sp.uint_dtypes == sp.discrete_dtypes
    assert sp.continuous_dtypes == sp.float_dtypes + sp.complex_dtypes
    assert sp.all_dtypes == sp.discrete_dtypes + sp.continuous_dtypes
    assert sorted(sp.all_dtypes) == sorted(str(np.dtype(c)) for c in "bhilBHILfdFD")


@pytest.mark.shows("sparse/1-as_sparse_variable", "sparse/0-wrong-kind", "sparse/0-scipy-arrays")
def test_as_sparse() -> None:
    x = sp.csc_matrix("x")
    assert sp.as_sparse_variable is sp.as_sparse
    assert sp.as_sparse(x) is x is sp.as_sparse(x, ndim=2)
    for kind in KINDS:
        found = sp.as_sparse(getattr(scipy.sparse, kind)(M), name="c")
        assert isinstance(found, sp.SparseConstant)
        assert (found.type.shape, found.format, found.name) == (
            (2, 3),
            kind[:3] if kind[:3] in sp.sparse_formats else "csr",
            "c",
        )
    for wrong in (at.matrix("d"), M, 2.0, "text"):
        with pytest.raises(GraphTypeError, match="sparse matrix"):
            sp.as_sparse(wrong)
    with pytest.raises(GraphTypeError, match="rank 2"):
        sp.as_sparse(CSR, ndim=1)


@pytest.mark.shows("sparse/1-as_sparse_or_tensor_variable")
def test_as_sparse_or_tensor() -> None:
    assert sp.as_symbolic is sp.as_sparse_or_tensor_variable
    assert sp.as_symbolic(CSR).format == "csr"
    assert str(sp.as_symbolic(M).type) == "float64[2, 3]"
    x = sp.csr_matrix("x")
    assert sp.as_symbolic(x) is x


@pytest.mark.shows("sparse/1-constant", "sparse/1-variable-classes")
def test_constants() -> None:
    given = CSR.copy()
    one, same = sp.constant(given, "one"), sp.constant(given)
    given.data[0] = 9
    assert (one.name, one.data.data[0]) == ("one", 1)
    assert one.signature() == same.signature() != sp.constant(given).signature()
    assert isinstance(one.signature(), sp.SparseConstantSignature)
    for other in (CSR.astype("float32"), CSR.tocsc(), CSR * (1 + 1e-15)):
        assert one.signature() != sp.constant(other).signature()
    with pytest.raises(GraphTypeError, match="SciPy"):
        sp.constant(M)


@pytest.mark.shows("sparse/1-variable-classes")
def test_equal_constants_are_compiled_as_one() -> None:
    x = at.vector("x", shape=(3,))
    big = scipy.sparse.random(40, 3, 0.5, "csr", rng=np.random.default_rng(1))
    texts = [
        aot.function([x], [(sp.constant(big).toarray() * x).sum() + (sp.constant(other).toarray() * x).sum()]).ir(
            "tensor-opt"
        )
        for other in (big, big * 2)
    ]
    once, twice = (text.count("xf64>") for text in texts)
    assert once < twice


@pytest.mark.shows("sparse/1-shared")
def test_shared() -> None:
    assert sp.sparse_constructor is sp.shared
    given = CSR.copy()
    x, y = sp.shared(given, "x"), sp.shared(given, borrow=True, format="csc")
    assert (str(x.type), x.name, str(y.type)) == ("csr float64[?, ?]", "x", "csc float64[?, ?]")
    assert isinstance(x, sp.SparseTensorSharedVariable)
    given.data[0] = 9
    assert x.get_value().data[0] == 1
    assert sp.shared(given, borrow=True).get_value(borrow=True) is given
    for value in (CSR.T, CSR.tocsc(), M, scipy.sparse.coo_array(M), M.tolist()):
        x.set_value(value)
        assert x.get_value().format == "csr"
    assert x.get_value() is not x.get_value()
    with pytest.raises(GraphTypeError):
        sp.shared(CSR.astype("float32")).set_value(CSR)
    for wrong in (M, at.matrix(), sp.csr_matrix()):
        with pytest.raises(GraphTypeError):
            sp.shared(wrong)
    with pytest.raises(GraphTypeError, match="expected a matrix"):
        sp.shared(CSR, strict=True, format="csc")


@pytest.mark.shows("sparse/1-shared")
def test_the_general_shared_takes_matrices() -> None:
    x = aot.shared(CSR, name="x", shape=(None, 3))
    assert isinstance(x, sp.SparseTensorSharedVariable)
    assert str(x.type) == "csr float64[?, 3]"
    x.set_value(CSR * 2)
    assert x.eval().sum() == 12
    assert type(aot.shared(M)) is type(aot.shared(2.0))


@pytest.mark.shows("sparse/1-layout")
@pytest.mark.parametrize(
    ("format", "expected"), [("csc", [[7, 0, 0], [8, 0, 0], [0, 9, 0]]), ("csr", [[7, 8, 0], [0, 0, 9], [0] * 3])]
)
def test_layout(format: str, expected: Any) -> None:
    x = sp.matrix(format, "x", dtype="int64")
    parts = [sp.csm_data(x), sp.csm_indices(x), sp.csm_indptr(x)]
    made = sp.CSM(format)([7, 8, 9], [0, 1, 2], [0, 2, 3, 3], (3, 3))
    value = made.eval()
    np.testing.assert_array_equal(value.toarray(), expected)
    found = aot.function([x], parts).reference(value.astype("int64"))
    assert [part.tolist() for part in found] == [[7, 8, 9], [0, 1, 2], [0, 2, 3, 3]]
