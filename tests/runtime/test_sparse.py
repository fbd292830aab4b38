"""Sparse matrices from Python: all classes of SciPy go in unchanged, results come out, errors name the argument."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss
from sparse_harness import sparse_library

import aotensor_runtime as runtime
from aotensor.codegen.library import write_library

X = np.arange(1.0, 6.0)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_library(sparse_library(), tmp_path_factory.mktemp("matrices"))[0]


@pytest.fixture(params=["native", "ctypes"])
def lib(request: pytest.FixtureRequest, path: Path, monkeypatch: pytest.MonkeyPatch) -> runtime.Library:
    """The library, called by both ways."""
    if request.param == "ctypes":
        monkeypatch.setattr("aotensor_runtime.call.probe", lambda: None)
    return runtime.load(path)


def matrix(dtype: str = "float64") -> Any:
    return ss.csr_matrix(np.array([[0, 1, 0, 2, 0], [0, 0, 0, 0, 0], [3, 0, 4, 0, 5], [0, 0, 6, 0, 0]], dtype=dtype))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("family", ["matrix", "array"])
def test_every_class_of_scipy(lib: runtime.Library, form: str, family: str) -> None:
    given = getattr(ss, f"{form}_{family}")(matrix())
    np.testing.assert_array_equal(lib.product(given, X), matrix() @ X)
    result = lib.twice(A=given)
    assert type(result["S"]).__name__ == f"csr_{family}" and result["total"] == 21
    assert abs(result["S"] - 2 * matrix()).max() == 0
    assert given.format == form and abs(given - matrix()).max() == 0


def _snapshot(x: Any) -> list[bytes]:
    return [part.tobytes() for part in (x.data, x.indices, x.indptr)]


def test_what_is_passed_is_never_changed(lib: runtime.Library) -> None:
    data, indices = np.array([1.0, 2, 3, 4, 5]), np.array([3, 0, 3, 1, 1], "i4")
    given = ss.csr_matrix((data, indices, np.array([0, 3, 3, 5], "i4")), shape=(3, 5))
    before, held = _snapshot(given), given.data
    assert lib.stored(given).tolist() == [2, 4, 9]
    assert lib.twice(given)["S"].indices.tolist() == [0, 3, 1]
    np.testing.assert_array_equal(lib.product(given, X), given.toarray() @ X)
    assert _snapshot(given) == before and given.data is held


def test_narrow_dtypes_are_widened(lib: runtime.Library) -> None:
    for dtype in ("float32", "int8", "int32"):
        np.testing.assert_array_equal(lib.product(matrix(dtype), X), matrix() @ X)
    with pytest.raises(TypeError, match=r"weighted: A\.data has dtype float64, expected float32"):
        lib.weighted(1.0, matrix().tocsc())


def test_index_dtypes(lib: runtime.Library) -> None:
    wide = matrix()
    wide.indices, wide.indptr = wide.indices.astype("i8"), wide.indptr.astype("i8")
    np.testing.assert_array_equal(lib.product(wide, X), matrix() @ X)
    assert wide.indices.dtype == "int64"
    wide.indices[2] += 2**40
    with pytest.raises(IndexError, match="A has index 1099511627776, but its extent is 5"):
        lib.product(wide, X)
    with pytest.raises(ValueError, match="A has int64 indices that do not fit int32"):
        lib.product(ss.csr_matrix((np.ones(1), [2**40], [0, 1]), shape=(1, 2**41)), X)
    narrow = ss.random(4, 6, 0.5, format="csc", dtype="f4", random_state=1)
    narrow.indices, narrow.indptr = narrow.indices.astype("i4"), narrow.indptr.astype("i4")
    expected = (np.asarray(narrow.sum(0)).ravel() * np.arange(1, 7)).sum()
    assert lib.weighted(1.0, narrow) == pytest.approx(expected, rel=1e-6)  # sums in float32


def test_room_behind_the_entries_is_not_part_of_a_matrix(lib: runtime.Library) -> None:
    given = matrix()
    given.data, given.indices = np.append(given.data, [7.0, 8]), np.append(given.indices, np.array([99, -1], "i4"))
    np.testing.assert_array_equal(lib.product(given, X), matrix() @ X)
    assert len(given.data) == 8


@pytest.mark.parametrize("shape", [(0, 5), (4, 0), (0, 0), (3, 5)])
def test_empty(lib: runtime.Library, shape: tuple[int, int]) -> None:
    given = ss.csr_matrix(shape)
    assert lib.product(given, np.ones(shape[1])).tolist() == [0.0] * shape[0]
    result = lib.twice(given)
    assert result["S"].shape == shape and result["S"].nnz == 0 and result["total"] == 0
    assert lib.stored(given).shape == (0,)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (np.ones(3), TypeError, "product: A is an array of float64.3., expected a sparse matrix"),
        ([[None]], TypeError, "product: A is list, expected a sparse matrix"),
        ("text", TypeError, "product: A is str, expected a sparse matrix"),
        (np.eye(3, dtype="complex128"), TypeError, "product: A is an array of complex128.3, 3., expected a sparse"),
        (np.ma.array(np.eye(3)), TypeError, "product: A: a masked array has elements without a value"),
        (
            None,
            TypeError,
            "product: A: NoneType None is neither a number nor an array\nhint: pass scipy.sparse.csr_matrix",
        ),
        (ss.coo_array(np.ones(3)), TypeError, "product: A has rank 1, expected 2"),
        (matrix().astype(complex), TypeError, "product: A.data has dtype complex128, expected float64"),
        (ss.csr_matrix((4, 6)), ValueError, "product: dim p of x is 5, but A has p = 6"),
    ],
)
def test_wrong_values(lib: runtime.Library, value: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        lib.product(value, X)


def test_a_matrix_where_an_array_is_expected(lib: runtime.Library) -> None:
    with pytest.raises(TypeError, match="product: x is a sparse matrix, expected an array of dtype float64"):
        lib.product(matrix(), matrix())


def _write(which: str, place: int, value: int) -> Callable[[Any], None]:
    def change(x: Any) -> None:
        getattr(x, which)[place] = value

    return change


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (_write("indices", 1, 10**6), IndexError),
        (_write("indices", 1, -10), IndexError),
        (_write("indptr", 0, 1), ValueError),
        (_write("indptr", 1, 10**6), ValueError),
        (_write("indptr", -1, 10**6), ValueError),
    ],
)
def test_malformed(lib: runtime.Library, form: str, change: Callable[[Any], None], kind: type[Exception]) -> None:
    given = matrix().asformat(form)
    change(given)
    with pytest.raises((ValueError, IndexError), match="product: A") as caught:
        lib.product(given, X)
    assert form != "csr" or isinstance(caught.value, kind)


def test_malformed_coordinates(lib: runtime.Library) -> None:
    given = matrix().tocoo()
    given.row[1] = 10**6
    with pytest.raises(IndexError, match="product: A is malformed"):
        lib.product(given, X)


def test_arrays_of_other_kinds_inside(lib: runtime.Library) -> None:
    given = matrix()
    given.indices = given.indices.astype(float)
    with pytest.raises(TypeError, match="A has indices that are not a vector of integers"):
        lib.product(given, X)
    given = matrix()
    given.indices = given.indices[:-1]
    with pytest.raises(ValueError, match=r"A\.indices is 5"):
        lib.product(given, X)


def test_shared_matrices(lib: runtime.Library, path: Path) -> None:
    first = ss.csr_matrix(np.array([[1.0, 0, 2], [0, 3, 0]]))
    assert abs(lib.drop.state["A"] - first).max() == 0
    assert [int(lib.drop()) for _ in range(5)] == [3, 2, 1, 0, 0]
    assert lib.drop.state["A"].nnz == 0
    given = ss.csc_matrix(np.full((2, 3), 2.0))
    lib.drop.state["A"] = given
    given.data[:] = 7
    twin = pickle.loads(pickle.dumps(lib))
    for one in (lib, twin):
        assert one.drop() == 6
        assert one.drop.state["A"].toarray().tolist() == [[4, 4, 4], [4, 4, 0]]
    assert "csr" in repr(lib.drop.state).lower() or "Row" in repr(lib.drop.state)
    with pytest.raises(ValueError, match="extent 0 of A is 3, expected 2"):
        lib.drop.state["A"] = ss.csr_matrix((3, 3))
        lib.drop()


def test_bound(lib: runtime.Library) -> None:
    given, y = matrix(), np.zeros(4)
    bound = lib.product.bind(A=given, x=X, y=y)
    given.data *= 2
    assert bound() is y
    np.testing.assert_array_equal(y, 2 * matrix() @ X)
    given.indices[0] = 77  # the pattern was copied
    np.testing.assert_array_equal(bound(), 2 * matrix() @ X)
    with pytest.raises(ValueError, match="read-only"):
        bound.inputs["A"].indices[0] = 77
    bound = lib.twice.bind(A=matrix())
    result = bound()
    assert result["S"] is bound.outputs["S"] and abs(result["S"] - 2 * matrix()).max() == 0
    bound.inputs["A"].data[:] = 1
    bound()
    assert result["S"].data.tolist() == [2] * 6


def test_what_cannot_be_bound(lib: runtime.Library) -> None:
    unsorted = ss.csr_matrix((np.ones(2), np.array([1, 0], "i4"), np.array([0, 2], "i4")), shape=(1, 2))
    wrong = matrix()
    wrong.indices[0] = 9
    for given, kind, text in (
        ({"A": unsorted, "x": np.ones(2)}, ValueError, "A has entries out of order or twice"),
        ({"A": matrix().tocsc(), "x": X}, TypeError, "A has another format or dtype"),
        ({"A": wrong, "x": X}, IndexError, "row 0 has column 9"),
        ({"A": matrix(), "x": X[:3]}, ValueError, "dim p of x is 3"),
    ):
        with pytest.raises(kind, match=text):
            lib.product.bind(**given)
    with pytest.raises(TypeError, match="output S is a sparse matrix, whose memory cannot be chosen"):
        lib.twice.bind(A=matrix(), S=matrix())
    with pytest.raises(ValueError, match="the update of A changes its size"):
        lib.drop.bind()


def test_threads(lib: runtime.Library) -> None:
    wrong: list[int] = []

    def work(k: int) -> None:
        given = ss.random(50 + k, 30, 0.2, format="csr", random_state=k)
        for _ in range(50):
            if abs(lib.twice(given)["S"] - 2 * given).max() != 0:
                wrong.append(k)

    threads = [Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_scipy_is_loaded_by_results_only(path: Path) -> None:
    program = f"""
import sys, aotensor_runtime
lib = aotensor_runtime.load({str(path)!r})
assert lib.product.spec.is_sparse
try:
    print(lib.product([[2.0]], [3.0]))
    lib.product([1.0], [1.0])
except TypeError as error:
    print(error)
print([name for name in sys.modules if name.startswith("scipy")])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "[6.]"
    assert done.stdout.splitlines()[1] == "product: A is an array of float64[1], expected a sparse matrix in format csr"
    assert done.stdout.splitlines()[-1] == "[]"
