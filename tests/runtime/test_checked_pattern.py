"""CheckedPattern: the same results as the matrix, without a second look at its indices; and what it refuses."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss
from sparse_harness import sparse_library

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
import aotensor_runtime as runtime
from aotensor.codegen.library import write_library

X = np.arange(1.0, 6.0)
DENSE = np.array([[0.0, 1, 0, 2, 0], [0, 0, 0, 0, 0], [3, 0, 4, 0, 5], [0, 0, 6, 0, 0]])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_library(sparse_library(), tmp_path_factory.mktemp("matrices"))[0]


@pytest.fixture(params=["extension", "ctypes", "descriptors"])
def lib(request: pytest.FixtureRequest, path: Path, monkeypatch: pytest.MonkeyPatch) -> runtime.Library:
    """The library, called by each way: with the C extension where it is installed, without, and by descriptors."""
    if request.param != "extension":
        monkeypatch.setattr("aotensor_runtime.extension._module", None)
    if request.param == "descriptors":
        monkeypatch.setattr("aotensor_runtime.call.probe", lambda: None)
    return runtime.load(path)


def _swapped(matrix: runtime.CheckedPattern) -> runtime.CheckedPattern:
    """The matrix, with two indices of a row exchanged after the check."""
    matrix.indices.flags.writeable = True
    matrix.indices[:2] = matrix.indices[1::-1].copy()
    return matrix


def test_results_are_those_of_the_matrix(lib: runtime.Library) -> None:
    for given in (ss.csr_matrix(DENSE), ss.csr_array(DENSE), ss.csr_matrix((0, 5)), ss.csr_matrix((3, 5))):
        checked = runtime.CheckedPattern(given)
        np.testing.assert_array_equal(lib.product(checked, X), given @ X)
        np.testing.assert_array_equal(lib.product(x=X, A=checked), given @ X)
        out = np.full(given.shape[0], np.nan)
        assert lib.product(checked, X, out=out) is out
        np.testing.assert_array_equal(out, given @ X)
        result = lib.twice(checked)
        assert type(result["S"]) is type(given)
        np.testing.assert_array_equal(result["S"].toarray(), 2 * given.toarray())


def test_indices_are_not_looked_at_again(lib: runtime.Library) -> None:
    """Without a check nobody notices that entries are not in order: they stay as they are."""
    given = ss.csr_matrix(DENSE)
    unordered = _swapped(runtime.CheckedPattern(given))
    assert lib.twice(unordered)["S"].indices.tolist() == [3, 1, 0, 2, 4, 2]
    assert lib.twice(unordered.to_scipy())["S"].indices.tolist() == [1, 3, 0, 2, 4, 2]
    assert lib.product(unordered, [1, 2, 3, 4, 5]).tolist() == [8.0, 0, 40, 18]  # converted


def test_the_pattern_is_fixed_and_the_values_are_shared(lib: runtime.Library) -> None:
    given = ss.csr_matrix(DENSE)
    checked = runtime.CheckedPattern(given)
    with pytest.raises(ValueError, match="read-only"):
        checked.indices[0] = 2
    given.indices[0] = 4  # of the matrix, not of the copy
    given.data[0] = 10.0
    np.testing.assert_array_equal(lib.product(checked, X), [10 * 2 + 2 * 4, 0, 3 + 12 + 25, 18])
    other = checked.with_data(-given.data)
    np.testing.assert_array_equal(lib.product(other, X), -lib.product(checked, X))
    assert other.indices is checked.indices and type(other) is runtime.CheckedPattern
    bound = lib.product.bind(A=checked, x=X)
    assert bound.inputs["A"].indices is checked.indices and bound.inputs["A"].data is given.data
    given.data[:] = 1.0
    np.testing.assert_array_equal(bound(), [2 + 4, 0, 1 + 3 + 5, 3])


def test_other_formats_and_dtypes_are_converted(lib: runtime.Library) -> None:
    for given in (ss.csc_matrix(DENSE), ss.csr_matrix(DENSE.astype("f4")), ss.bsr_matrix(DENSE, blocksize=(2, 1))):
        checked = runtime.CheckedPattern(given)
        np.testing.assert_array_equal(lib.product(checked, X), DENSE @ X)
    wide = ss.csr_matrix(DENSE)
    wide.indices, wide.indptr = wide.indices.astype("i8"), wide.indptr.astype("i8")
    np.testing.assert_array_equal(lib.product(runtime.CheckedPattern(wide), X), DENSE @ X)
    wide.indices, wide.indptr = wide.indices.astype("u4")[[1, 0, 2, 3, 4, 5]], wide.indptr.astype("u4")
    with pytest.raises(ValueError, match="out of order"):
        runtime.CheckedPattern(wide)
    with pytest.raises(TypeError, match="A has another format"):
        lib.product.bind(A=runtime.CheckedPattern(ss.csc_matrix(DENSE)), x=X)


def test_unused_space_after_the_last_entry() -> None:
    given = ss.csr_matrix(DENSE)
    given.data, given.indices = np.append(given.data, [7.0, 8]), np.append(given.indices, [99, -1]).astype("i4")
    checked = runtime.CheckedPattern(given)
    assert checked.data.tolist() == [1, 2, 3, 4, 5, 6] and checked.data.base is given.data
    np.testing.assert_array_equal(checked.to_scipy().toarray(), DENSE)


def test_pickles_are_checked_again() -> None:
    checked = runtime.CheckedPattern(ss.csc_array(DENSE))
    again = pickle.loads(pickle.dumps(checked))
    assert type(again) is runtime.CheckedPattern and not again.indptr.flags.writeable
    np.testing.assert_array_equal(again.to_scipy().toarray(), DENSE)
    with pytest.raises(ValueError, match="out of order"):
        pickle.loads(pickle.dumps(_swapped(runtime.CheckedPattern(ss.csr_matrix(DENSE)))))


def _changed(part: str, place: int, value: int) -> Any:
    given = ss.csr_matrix(DENSE)
    getattr(given, part)[place] = value
    return given


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (DENSE, TypeError, "expected a sparse matrix in format csr, csc or bsr, found ndarray"),
        (ss.coo_matrix(DENSE), TypeError, "found a matrix in format coo"),
        (_changed("indices", 2, 5), IndexError, "the matrix has index 5, but its extent is 5"),
        (_changed("indices", 2, -1), IndexError, "the matrix has index -1"),
        (_changed("indices", 0, 3), ValueError, "entries out of order or twice"),
        (_changed("indptr", 0, 1), ValueError, "indptr does not ascend from 0 at 5 positions"),
        (_changed("indptr", 2, 9), ValueError, "indptr does not ascend"),
        (_changed("indptr", -1, 9), ValueError, "there are 6 indices, but indptr ends with 9"),
    ],
)
def test_errors(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as found:
        runtime.CheckedPattern(given)
    assert isinstance(found.value, runtime.AotensorError)


@pytest.mark.parametrize("data", [np.ones(5), np.ones((6, 1)), np.array(["a"] * 6), "abc", None])
def test_values_of_another_number(data: Any) -> None:
    with pytest.raises(TypeError):
        runtime.CheckedPattern(ss.csr_matrix(DENSE)).with_data(data)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
def test_a_checking_build_checks_again(form: str, tmp_path: Path) -> None:
    """A pattern that was changed after its check is an error of a library of --check, also where it is bound."""
    types = {"csr": sp.csr_matrix, "csc": sp.csc_matrix}
    A = types[form]("A", shape=("n", "p")) if form in types else sp.bsr_matrix("A", shape=("n", "p"), blocksize=(1, 1))
    x = at.vector("x", shape=("p",))
    f = aot.function([A, x], A @ x, name="f")
    kind = getattr(ss, f"{form}_matrix")
    given = kind(DENSE, blocksize=(1, 1)) if form == "bsr" else kind(DENSE)
    checked = runtime.CheckedPattern(given)
    np.testing.assert_array_equal(f.reference(checked, X), DENSE @ X)
    strict = aot.compile(f, tmp_path, check=True).load().f
    bound = strict.bind(A=checked, x=X)
    np.testing.assert_array_equal(strict(checked, X), DENSE @ X)
    np.testing.assert_array_equal(bound(), DENSE @ X)
    checked.indices.flags.writeable = True
    checked.indices[0] = 77
    for call in (lambda: strict(checked, X), bound):
        with pytest.raises(IndexError, match=r"f: A: (row|column) 0 has (row|column) 77"):
            call()
