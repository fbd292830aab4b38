"""x[index] of sparse matrices against SciPy: by the reference and compiled, with gradients; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphIndexError, GraphTypeError, UnsupportedIndexError

M = csr_matrix(np.array([[0, 1, 0], [2, 0, 3]], dtype=float))
FORMATS = pytest.mark.parametrize("format", ["csr", "csc"])


def _big(format: str, dtype: str = "float64") -> Any:
    found = random_array((30, 40), density=0.2, rng=np.random.default_rng(3), dtype=np.float64)
    found.data[::5] = 0  # stored zeros stay
    return (found * 100).astype(dtype).asformat(format)


WINDOWS: list[Any] = [
    np.s_[3:20:4, 5:],
    np.s_[::-1, 30:2:-3],
    np.s_[[4, 4, -1, 0]],
    np.s_[2:, [39, 0, 0, 7]],
    np.s_[np.arange(30) % 3 == 0, -5:],
]


@pytest.mark.shows("sparse/8-get_item_2d", "sparse/8-get_item_list", "sparse/0-explicit-zeros", "sparse/13-extents")
@pytest.mark.parametrize(("format", "dtype"), [("csr", "float64"), ("csc", "float32"), ("csr", "int16")])
def test_windows_of_sparse_arguments(format: str, dtype: str) -> None:
    x, value = sp.matrix(format, "x", dtype=dtype), _big(format, dtype)
    f = aot.function([x], [x[index] for index in WINDOWS])
    for found in (f(value), f.reference(value)):
        for one, index in zip(found, WINDOWS, strict=True):
            assert one.format == format
            assert one.dtype == dtype
            np.testing.assert_array_equal(one.toarray(), value.toarray()[index])
    stored = np.ones_like(value.data)
    pattern = type(value)((stored, value.indices, value.indptr), shape=value.shape)
    assert [one.nnz for one in f(value)] == [int(pattern.toarray()[index].sum()) for index in WINDOWS]


@pytest.mark.shows("sparse/8-get_item_scalar", "sparse/8-get_item_2lists")
@FORMATS
def test_elements_of_sparse_arguments(format: str) -> None:
    x, i, r = sp.matrix(format, "x", dtype="float32"), at.scalar("i", dtype="int16"), at.vector("r", dtype="uint8")
    outputs = [x[i, -1], x[np.int64(2), i], x[r, [3, 0, 3]], x[[], []], x[at.constant(_big(format).toarray() > 50)]]
    f = aot.function([x, i, r], outputs)
    value, rows = _big(format, "float32"), np.array([29, 2, 29], "uint8")
    dense = value.toarray()
    wanted = [
        dense[5, -1],
        dense[2, 5],
        dense[rows, [3, 0, 3]],
        np.zeros(0, "float32"),
        dense[_big(format).toarray() > 50],
    ]
    for found in (f(value, np.int16(5), rows), f.reference(value, np.int16(5), rows)):
        for one, expected in zip(found, wanted, strict=True):
            assert one.dtype == "float32"
            np.testing.assert_array_equal(one, expected)


@pytest.mark.shows("sparse/8-get_item_2d", "sparse/8-get_item_list", "sparse/14-slicing", "sparse/0-pushforward")
@FORMATS
def test_gradients_are_those_of_the_dense_matrix(format: str) -> None:
    """Cotangents with entries outside of the pattern reach them: the gradient is regular."""
    x, d = sp.matrix(format, "x"), at.dmatrix("d")
    value = _big(format)
    rng = np.random.default_rng(0)
    outputs, expected = [], []
    for index in WINDOWS:
        weight = rng.normal(size=value.toarray()[index].shape)
        outputs.append(aot.grad((sp.dense_from_sparse(x[index]) * weight).sum(), x).toarray())
        expected.append(aot.grad((d[index] * weight).sum(), d))
    elsewhere = csr_matrix(np.eye(9)).asformat(format)
    outputs.append(aot.grad((sp.structured_dot(x[2:20:2, [1] * 9], sp.constant(elsewhere))).sum(), x).toarray())
    found = aot.function([x], outputs)(value)
    whole = np.zeros(value.shape)
    for index, one, dense in zip(WINDOWS, found, expected, strict=False):
        derivative = dense.eval({d: value.toarray()})
        stored = np.zeros(value.shape, bool)
        stored[value.tocoo().row, value.tocoo().col] = True
        np.testing.assert_allclose(one, np.where(stored, derivative, 0), err_msg=str(index))
    whole[2:20:2, 1] = 9
    assert found[-1].shape == whole.shape


@pytest.mark.shows("sparse/8-get_item_scalar", "sparse/8-get_item_2lists", "sparse/14-slicing")
@FORMATS
def test_gradients_of_elements_reach_places_that_are_not_stored(format: str) -> None:
    x = sp.matrix(format, "x", shape=(2, 3))
    one = aot.grad(5 * x[0, 0], x)
    several = aot.grad((x[[0, 1, 1, 0], [0, 2, 2, 1]] * np.array([1.0, 2.0, 3.0, 4.0])).sum(), x)
    f = aot.function([x], [one, several], on_unused_input="ignore")
    for found in (f(M.asformat(format)), f.reference(M.asformat(format))):
        assert [g.format for g in found] == [format, format]
        np.testing.assert_array_equal(found[0].toarray(), [[5, 0, 0], [0, 0, 0]])
        np.testing.assert_array_equal(found[1].toarray(), [[1, 4, 0], [0, 0, 5]])


@pytest.mark.shows("sparse/8-get_item_list", "sparse/8-get_item_2lists")
@FORMATS
def test_public_functions_accumulate(format: str) -> None:
    """Rows and places that repeat: 2, not 1, and 5, not 3."""
    x, g, v = sp.matrix(format, "x", shape=(2, 3)), sp.matrix(format, "g"), at.dvector("v")
    rows = sp.get_item_list_grad(x, [1, 1, 0], g)
    places = sp.get_item_2lists_grad(x, [1, 1], [2, 2], v)
    f = aot.function(
        [x, g, v], [rows, places, sp.get_item_list(x, [1, 1]), sp.get_item_2d(x, np.s_[:1])], on_unused_input="ignore"
    )
    cotangent = csr_matrix(np.ones((3, 3))).asformat(format)
    for found in (f(M.asformat(format), cotangent, [2.0, 3.0]), f.reference(M.asformat(format), cotangent, [2.0, 3.0])):
        np.testing.assert_array_equal(found[0].toarray(), [[1, 1, 1], [2, 2, 2]])
        np.testing.assert_array_equal(found[1].toarray(), [[0, 0, 0], [0, 0, 5]])
        np.testing.assert_array_equal(found[2].toarray(), [[2, 0, 3], [2, 0, 3]])
        np.testing.assert_array_equal(found[3].toarray(), [[0, 1, 0]])


@pytest.mark.shows("sparse/8-get_item_list")
def test_dtypes_of_gradients_are_those_of_the_matrix() -> None:
    x = sp.csr_matrix("x", dtype="float32")
    assert aot.grad(x[[0, 0]].sum(), x).dtype == "float32"


@pytest.mark.shows("sparse/8-unsupported")
@pytest.mark.parametrize("index", [np.s_[0], np.s_[0, 1:], np.s_[1:, 0], np.s_[0, :], np.s_[[0, 1], 0], np.s_[-1, ...]])
def test_rows_and_columns_alone_are_refused(index: Any) -> None:
    with pytest.raises(UnsupportedIndexError, match=r"use i:i\+1"):
        sp.csr_matrix("x")[index]
    assert issubclass(UnsupportedIndexError, NotImplementedError)


@pytest.mark.shows("sparse/8-get_item_2d", "sparse/0-shape-mismatch", "sparse/0-wrong-kind")
@pytest.mark.parametrize(
    ("index", "error"),
    [
        (np.s_[0, 0, 0], GraphIndexError),
        ((), GraphIndexError),
        (np.s_[..., ...], GraphIndexError),
        (np.s_[None, 0], GraphTypeError),
        (np.s_[1.5, 0], GraphTypeError),
        (np.s_[:1.5], GraphTypeError),
        ([[0, 1], [1, 0]], GraphTypeError),
        (np.s_[5, 0], GraphIndexError),
        (np.s_[0, -4], GraphIndexError),
        (np.s_[[0, 1], [0]], GraphIndexError),
    ],
)
def test_wrong_indices(index: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        sp.csr_matrix("x", shape=(2, 3))[index]


@pytest.mark.shows(
    "sparse/8-get_item_scalar", "sparse/8-get_item_list", "sparse/8-get_item_2lists", "sparse/0-shape-mismatch"
)
def test_wrong_indices_at_the_call() -> None:
    x, i, r, c = sp.csr_matrix("x"), at.lscalar("i"), at.lvector("r"), at.lvector("c")
    f = aot.function([x, i, r, c], [x[i, i], x[r], x[:, c], x[r, c]])
    assert f(M, 1, [0], [2])[0] == 0
    for arguments, error in [((2, [0], [0]), IndexError), ((0, [-3], [0]), IndexError), ((0, [0], [3]), IndexError)]:
        with pytest.raises(error):
            f(M, *arguments)
        with pytest.raises(error):
            f.reference(M, *arguments)
    for run in (f, f.reference):
        with pytest.raises(IndexError, match="lengths of vectors of indices"):
            run(M, 0, [0, 1], [0])


def test_whole_slices_and_ellipsis() -> None:
    x = sp.csc_matrix("x", shape=(2, 3))
    assert x[:] is x
    assert x[:, :] is x
    assert x[...] is x
    assert x[1:, ...].type.shape == (1, 3)
    assert x[..., [0, 2]].type.shape == (2, 2)
    with pytest.raises(GraphTypeError, match="vector of integers"):
        sp.get_item_list(x, 1)


@pytest.mark.shows("sparse/0-empty")
def test_empty_matrices() -> None:
    x = sp.csr_matrix("x")
    f = aot.function([x], [x[::-1, ::-1], x[1:, 1:], x[[]]])
    for shape in [(0, 0), (0, 3), (3, 0), (1, 1)]:
        for found in (f(csr_matrix(shape)), f.reference(csr_matrix(shape))):
            assert [one.shape for one in found] == [shape, (max(shape[0] - 1, 0), max(shape[1] - 1, 0)), (0, shape[1])]


@pytest.mark.shows("sparse/0-formats", "sparse/2-csm_properties")
def test_functions_of_two_formats_are_two_libraries() -> None:
    """Their dense leaves have the same types, and the ops between them are the same."""
    for format in ("csr", "csc"):
        x = sp.matrix(format, "x")
        f = aot.function([x], sp.CSMProperties()(x))
        value = M.asformat(format)
        for found in (f(value), f.reference(value)):
            for one, expected in zip(found, [value.data, value.indices, value.indptr, [2, 3]], strict=True):
                np.testing.assert_array_equal(one, expected)
            assert [one.dtype.name for one in found] == ["float64", "int32", "int32", "int32"]


@pytest.mark.shows("sparse/8-get_item_scalar", "sparse/8-get_item_2d")
def test_positions_come_as_a_pair_too() -> None:
    x = sp.csr_matrix("x")
    f = aot.function([x], [sp.get_item_scalar(x, (1, -1)), sp.get_item_2d(x, (slice(1, 2), slice(1, None)))])
    for place, window in (f(M), f.reference(M)):
        assert place == 3
        np.testing.assert_array_equal(window.toarray(), [[0, 3]])
    for wrong in (1, (1,), (0, 1, 2)):
        with pytest.raises(GraphTypeError, match="two integers"):
            sp.get_item_scalar(x, wrong)


def test_positions_need_no_memory_of_an_axis() -> None:
    """Elements and rows of a matrix with 2**40 columns, counted from both ends, and errors that name the axis."""
    n = 2**40
    wide = csr_matrix(([1.0, 2.0], [5, n - 1], [0, 1, 2]), shape=(2, n))
    x, j, rows = sp.csr_matrix("x", index_dtype="int64"), at.lscalar("j"), at.ivector("rows")
    outputs = [x[0, 5], x[1, -1], x[-1, j], sp.get_item_2lists(x, rows, rows), sp.sp_sum(x[rows])]
    f = aot.function([x, j, rows], outputs, name="f")
    for call in (f, f.reference):
        found = call(wide, n - 1, np.array([0, -1], "int32"))
        assert np.concatenate([np.ravel(y) for y in found]).tolist() == [1, 2, 2, 0, 2, 3]
        for wrong in (n, -n - 1):
            with pytest.raises(IndexError, match=f"index {wrong} is out of range for axis 1 of extent {n}"):
                call(wide, wrong, np.array([0], "int32"))
    with pytest.raises(IndexError, match="index -4 is out of range for axis 0 of extent 3"):
        sp.csr_matrix("A", shape=(3, 2))[[0, -4]]
