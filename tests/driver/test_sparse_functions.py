"""Functions of sparse matrices, compiled: what goes in, what comes out, what is refused, and state between calls."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss
from hypothesis import given, settings
from hypothesis import strategies as st

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import DisagreementError, GraphTypeError
from aotensor_runtime.vectors import replay

FORMATS = ("csr", "csc")


def weighted(form: str, index_dtype: str = "int32", dtype: str = "float64") -> aot.Function:
    """y = A @ x, twice A in its own dtype, and its stored values."""
    A = sp.matrix(form, "A", dtype=dtype, shape=("n", "p"), index_dtype=index_dtype)
    x = at.vector("x", dtype=dtype, shape=("p",))
    outputs = {"y": sp.dot(A, x), "S": A * at.constant(2, dtype=dtype), "v": sp.csm_data(A)}
    return aot.function([A, x], outputs, name=f"weighted_{form}_{index_dtype}_{dtype}")


COMPILED = {(form, width): weighted(form, width) for form in FORMATS for width in ("int32", "int64")}


def random_matrix(form: str, rng: np.random.Generator, rows: int = 6, columns: int = 4) -> Any:
    return ss.random(rows, columns, 0.4, format=form, random_state=rng)


@pytest.mark.shows("sparse/0-formats")
@pytest.mark.shows("sparse/0-scipy-arrays")
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("given_form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("family", ["matrix", "array"])
def test_every_class_of_scipy(form: str, given_form: str, family: str, rng: np.random.Generator) -> None:
    A, x = random_matrix(form, rng), rng.normal(size=4)
    found = COMPILED[form, "int32"](getattr(ss, f"{given_form}_{family}")(A), x)
    np.testing.assert_allclose(found["y"], A @ x, rtol=1e-14)
    assert type(found["S"]).__name__ == f"{form}_{family}"
    assert abs(found["S"] - 2 * A).max() == 0


@pytest.mark.shows("sparse/0-index-dtype")
@pytest.mark.parametrize("form", FORMATS)
def test_index_dtypes(form: str, rng: np.random.Generator) -> None:
    A, x = random_matrix(form, rng), rng.normal(size=4)
    for width in ("int32", "int64"):
        for given_width in ("int32", "int64"):
            A.indices, A.indptr = A.indices.astype(given_width), A.indptr.astype(given_width)
            found = COMPILED[form, width](A, x)
            np.testing.assert_allclose(found["y"], A @ x, rtol=1e-14)
            assert found["S"].indices.dtype == found["S"].indptr.dtype == width
            assert A.indices.dtype == given_width


@pytest.mark.shows("sparse/0-value-dtypes")
@pytest.mark.parametrize("dtype", [*sp.int_dtypes, *sp.uint_dtypes, *sp.float_dtypes])
def test_value_dtypes(dtype: str, rng: np.random.Generator) -> None:
    f = weighted("csr", dtype=dtype)
    A = (random_matrix("csr", rng) * 9).astype(dtype)
    x = rng.integers(0, 3, 4).astype(dtype)
    found = f(A, x)
    assert found["S"].dtype == found["v"].dtype == dtype
    np.testing.assert_allclose(found["y"], A @ x, rtol=1e-6)  # float32
    assert abs(found["S"] - (2 * A).astype(dtype)).max() == 0


@pytest.mark.shows("sparse/0-empty")
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("shape", [(0, 4), (5, 0), (0, 0), (5, 4)])
def test_empty(form: str, shape: tuple[int, int]) -> None:
    A = ss.csr_matrix(shape).asformat(form)
    found = COMPILED[form, "int32"](A, np.ones(shape[1]))
    assert found["y"].tolist() == [0.0] * shape[0]
    assert found["S"].shape == shape and found["S"].nnz == 0 and found["v"].shape == (0,)


@st.composite
def scrambled(draw: st.DrawFn) -> tuple[Any, np.ndarray[Any, Any]]:
    """A CSR matrix of whole numbers with entries in any order, also repeated; and its dense value."""
    rows, columns = draw(st.integers(0, 6)), draw(st.integers(1, 5))
    lengths = draw(st.lists(st.integers(0, 7), min_size=rows, max_size=rows))
    count = sum(lengths)
    indices = draw(st.lists(st.integers(0, columns - 1), min_size=count, max_size=count))
    data = draw(st.lists(st.integers(-5, 5), min_size=count, max_size=count))
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype("i4")
    A = ss.csr_matrix((np.array(data, float), np.array(indices, "i4"), indptr), shape=(rows, columns))
    return A, A.toarray()


@pytest.mark.shows("sparse/0-unsorted")
@pytest.mark.shows("sparse/0-duplicates")
@pytest.mark.shows("sparse/0-explicit-zeros")
@pytest.mark.shows("sparse/0-not-mutated")
@settings(deadline=None, max_examples=150)
@given(scrambled(), st.sampled_from(["int32", "int64"]))
def test_entries_in_any_order(given_: tuple[Any, np.ndarray[Any, Any]], width: str) -> None:
    A, dense = given_
    before = [A.data.copy(), A.indices.copy(), A.indptr.copy()]
    x = np.arange(1.0, A.shape[1] + 1)
    found = COMPILED["csr", width](A, x)
    np.testing.assert_array_equal(found["y"], dense @ x)
    merged = A.copy()
    merged.sum_duplicates()
    assert found["S"].indices.tolist() == merged.indices.tolist()
    assert found["S"].indptr.tolist() == merged.indptr.tolist()
    np.testing.assert_array_equal(found["v"], merged.data)  # a sum that is 0 is a stored entry
    for old, new in zip(before, (A.data, A.indices, A.indptr), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.shows("sparse/0-out-of-range")
@settings(deadline=None, max_examples=300)
@given(st.data())
def test_any_damage_is_refused_or_harmless(data: st.DataObject) -> None:
    """Whatever stands in indices and indptr: either it is a matrix, and the result is right, or it is refused."""
    A, _ = data.draw(scrambled())
    which = data.draw(st.sampled_from(["indices", "indptr"]))
    array = getattr(A, which)
    if len(array) == 0:
        return
    place = data.draw(st.integers(0, len(array) - 1))
    array[place] = data.draw(st.one_of(st.integers(-3, 12), st.sampled_from([2**31 - 1, -(2**31), 2**30])))
    x = np.arange(1.0, A.shape[1] + 1)
    is_matrix = (
        A.indptr[0] == 0
        and np.all(np.diff(A.indptr.astype(int)) >= 0)
        and A.indptr[-1] <= len(A.indices)
        and bool(np.all((A.indices[: A.indptr[-1]] >= 0) & (A.indices[: A.indptr[-1]] < A.shape[1])))
    )
    if is_matrix:
        np.testing.assert_array_equal(COMPILED["csr", "int32"](A, x)["y"], A.toarray() @ x)
    else:
        with pytest.raises((ValueError, IndexError), match=r"weighted_csr_int32_float64: .*A"):
            COMPILED["csr", "int32"](A, x)


def test_reference_and_compiled_agree(rng: np.random.Generator) -> None:
    A, x = random_matrix("csr", rng), rng.normal(size=4)
    f = COMPILED["csr", "int32"]
    found, expected = f(A, x), f.reference(A, x)
    assert type(found["S"]) is type(expected["S"])
    np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-14)


@pytest.mark.parametrize("form", FORMATS)
def test_verify(form: str) -> None:
    report = COMPILED[form, "int32"].verify()
    assert report, str(report)
    assert {(g.output, g.input) for g in report.gradients} == {
        ("y", "A_data"), ("y", "x"), ("S", "A_data"), ("v", "A_data"),
    }  # fmt: skip
    assert all(g.verdict.value == "right" for g in report.gradients)


def test_debug_mode(rng: np.random.Generator) -> None:
    A = sp.csr_matrix("A")
    f = aot.function([A], {"S": A * 3, "total": sp.sp_sum(A)}, mode="DEBUG_MODE")
    given_ = random_matrix("csr", rng)
    assert abs(f(given_)["S"] - 3 * given_).max() == 0
    f.results["total"] = f.results["total"] * 2  # a reference that is another function
    with pytest.raises(DisagreementError, match="total"):
        f(given_)


@pytest.fixture
def first() -> Any:
    return ss.csr_matrix(np.array([[1.0, 0, 2], [0, 3, 0]]))


@pytest.mark.shows("sparse/1-shared")
def test_shared_matrices(first: Any, tmp_path: Path) -> None:
    W = sp.shared(first, name="W")
    x = at.vector("x", shape=(3,))
    step = aot.function([x], sp.dot(W, x), updates={W: W * x}, name="step")
    peek = aot.function([], W, name="peek")
    lib = aot.compile([step, peek], tmp_path, name="both").load()
    for _ in range(2):
        np.testing.assert_array_equal(step(np.array([1.0, 2, 3])), W_before(first) @ [1, 2, 3])
        np.testing.assert_array_equal(lib.step(np.array([1.0, 2, 3])), W_before(first) @ [1, 2, 3])
        first = first.multiply([[1, 2, 3]]).tocsr()
        assert abs(W.get_value() - first).max() == 0 and abs(peek() - first).max() == 0
        assert abs(lib.peek() - first).max() == 0 and abs(lib.step.state["W"] - first).max() == 0
    twin = pickle.loads(pickle.dumps(lib))
    assert abs(twin.peek() - first).max() == 0
    other = ss.random(2, 3, 1.0, format="csc", random_state=1)
    W.set_value(other)
    lib.peek.state["W"] = other
    assert abs(peek() - other).max() == 0 and abs(lib.step.state["W"] - other).max() == 0
    assert [x.problem for x in replay(lib)] == [None] * 4


def W_before(x: Any) -> np.ndarray[Any, Any]:
    """The dense value."""
    dense: np.ndarray[Any, Any] = x.toarray()
    return dense


def test_updates_change_the_number_of_entries() -> None:
    W = sp.shared(ss.csr_matrix(np.array([[1.0, 0, 2], [0, 3, 0]])), name="W")
    f = aot.function([], sp.sp_sum(W), updates={W: W[:, 1:]}, name="shrink")
    assert [float(f()) for _ in range(3)] == [6, 5, 2]
    assert W.get_value().shape == (2, 0)


def test_updates_keep_format_and_indices(first: Any) -> None:
    W = sp.shared(first, name="W")
    for value in (W.T, at.matrix("d"), sp.cast(W, "float32")):
        with pytest.raises(GraphTypeError, match="the update of W"):
            aot.function([], updates={W: value})
    aot.function([], updates={W: ss.csr_matrix((2, 2))})()
    assert W.get_value().shape == (2, 2)


def test_values_that_follow_each_other_are_bound_once(rng: np.random.Generator) -> None:
    A, x = random_matrix("csr", rng), rng.normal(size=4)
    f = COMPILED["csr", "int32"]
    f(A, x)
    assert f._compiled is not None
    bound = f._compiled.bind(A=A, x=x)
    result = bound()
    for _ in range(3):
        A.data *= 1.5
        bound()
        np.testing.assert_allclose(result["y"], A @ x, rtol=1e-14)
        np.testing.assert_allclose(result["S"].data, 2 * A.data)


@pytest.mark.shows("sparse/0-index-dtype")
def test_extents_beyond_32_bits(rng: np.random.Generator) -> None:
    """Columns that only 64 bits count, in any order and repeated."""
    A = sp.csr_matrix("A", index_dtype="int64")
    f = aot.function([A], [sp.csm_data(A), sp.csm_indices(A), sp.csm_indptr(A)], name="wide")
    columns = rng.choice(rng.integers(0, 2**40, 20), 300)
    data = rng.integers(-9, 9, 300).astype(float)
    given_ = ss.csr_matrix((data, columns, np.array([0, 100, 100, 300])), shape=(3, 2**40))
    expected = given_.copy()
    expected.sum_duplicates()
    for x, y in zip(f(given_), (expected.data, expected.indices, expected.indptr), strict=True):
        np.testing.assert_array_equal(x, y)
    given_.indices[7] = 2**40
    with pytest.raises(IndexError, match="row 0 has column 1099511627776, but there are 1099511627776 columns"):
        f(given_)
