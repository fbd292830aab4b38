"""Elementwise functions of two sparse matrices, beside NumPy on dense ones: values, patterns, derivatives, refusals."""

from __future__ import annotations

import operator
import time
from typing import Any, Final

import numpy as np
import pytest
import scipy.sparse
from agreement import both_ways, dense

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import grad, verify_grad

INTEGER: Final[list[Any]] = [
    (operator.mod, np.mod, "both"),
    (operator.floordiv, np.floor_divide, "both"),
    (operator.and_, np.bitwise_and, "both"),
    (operator.or_, np.bitwise_or, "either"),
    (operator.xor, np.bitwise_xor, "either"),
    (operator.lshift, lambda a, b: np.left_shift(a, np.abs(b)), "first"),
    (at.maximum, np.maximum, "either"),
    (at.minimum, np.minimum, "either"),
]
"""Function, the same in NumPy, and where a result is stored."""
FLOATING: Final[list[Any]] = [
    (at.maximum, np.maximum, "either"),
    (at.minimum, np.minimum, "either"),
    (at.hypot, np.hypot, "either"),
    (at.arctan2, np.arctan2, "either"),
]


def matrix(seed: int, dtype: str, shape: tuple[int, int] = (5, 7)) -> Any:
    """A random csr matrix that stores a zero."""
    found = scipy.sparse.random(*shape, 0.4, "csr", rng=np.random.default_rng(seed))
    found.data = np.round(found.data * 20 - 10).astype(dtype)
    found.data[:1] = 0
    return found


def stored(x: Any) -> Any:
    return scipy.sparse.csr_matrix((np.ones(x.nnz), x.indices, x.indptr), x.shape).toarray() > 0


def counted(a: Any, b: Any, join: str) -> int:
    """Entries of a join of two csr patterns."""
    return int({"both": stored(a) & stored(b), "either": stored(a) | stored(b), "first": stored(a)}[join].sum())


@pytest.mark.shows("sparse/5-operators", "sparse/0-output-format", "sparse/0-explicit-zeros")
@pytest.mark.parametrize(
    ("formats", "dtype"), [(("csr", "csr"), "int32"), (("csc", "csr"), "int64"), (("csr", "csc"), "float64")]
)
def test_values_and_patterns(formats: tuple[str, str], dtype: str) -> None:
    rows = FLOATING if dtype == "float64" else INTEGER
    x, y = sp.matrix(formats[0], "x", dtype=dtype), sp.matrix(formats[1], "y", dtype=dtype)
    a, b = matrix(1, dtype), abs(matrix(2, dtype))
    a, b = scipy.sparse.csr_matrix(a), scipy.sparse.csr_matrix(b)
    for shape in ((5, 7), (0, 7), (5, 0)):
        first, second = (m if shape == m.shape else scipy.sparse.csr_matrix(shape, dtype=dtype) for m in (a, b))
        outputs = [f(x, y) for f, _, _ in rows]
        assert all(one.format == formats[0] for one in outputs)
        for found in both_ways([x, y], outputs, first.asformat(formats[0]), second.asformat(formats[1])):
            for one, (_, by_numpy, join), out in zip(found, rows, outputs, strict=True):
                with np.errstate(all="ignore"):
                    expected = by_numpy(first.toarray(), second.toarray())
                np.testing.assert_array_max_ulp(one.toarray().astype("f8"), expected.astype("f8"), 2)
                assert (one.format, one.dtype, out.dtype) == (formats[0], expected.dtype, expected.dtype)
                assert one.nnz == counted(first, second, join)


def test_blocks_stay_blocks() -> None:
    x, y = (sp.bsr_matrix(name, dtype="float64", shape=("m", "n"), blocksize=(2, 3)) for name in "xy")
    a, b = (scipy.sparse.bsr_matrix(matrix(seed, "float64", (4, 9)).toarray(), blocksize=(2, 3)) for seed in (3, 4))
    a.data[0] = -1
    for larger, angle in both_ways([x, y], [at.maximum(x, y), at.arctan2(x, y)], a, b):
        assert larger.format == angle.format == "bsr"
        np.testing.assert_array_equal(larger.toarray(), np.maximum(a.toarray(), b.toarray()))
        np.testing.assert_allclose(angle.toarray(), np.arctan2(a.toarray(), b.toarray()), rtol=1e-15)


@pytest.mark.shows("sparse/5-operators")
def test_derivatives_are_on_the_patterns() -> None:
    """First and second ones, at the entries of each operand, beside differences of the dense function."""
    a, b = matrix(5, "float64"), matrix(6, "float64")
    a.data += 0.3
    b.data -= 0.4
    weights = np.arange(35.0).reshape(5, 7) / 10

    def loss(data_a: Any, data_b: Any) -> Any:
        x, y = (sp.CSR(v, m.indices, m.indptr, m.shape) for v, m in ((data_a, a), (data_b, b)))
        mixed = at.hypot(x, y) * weights + at.maximum(x, y) * at.minimum(x, y)
        return sp.sp_sum(mixed, sparse_grad=True) ** 2 / 100

    verify_grad(loss, [a.data, b.data])
    verify_grad(lambda v, w: (grad(loss(v, w), v) ** 2).sum(), [a.data, b.data], rel_tol=1e-4)
    x, y = sp.csr_matrix("x"), sp.csr_matrix("y")
    for of_x, of_y in both_ways([x, y], grad(sp.sp_sum(at.maximum(x, y) * weights), [x, y]), a, b):
        larger = a.toarray() > b.toarray()
        np.testing.assert_allclose(dense(of_x), np.where(larger & stored(a), weights, 0))
        np.testing.assert_allclose(dense(of_y), np.where(~larger & stored(b), weights, 0))


@pytest.mark.shows("sparse/5-operators", "sparse/12-densify")
def test_what_has_no_sparse_value() -> None:
    """f(0, 0) is nan or 1: dense with a warning as an operator, refused as a function; and bad operands."""
    x, y, z = sp.csr_matrix("x"), sp.csr_matrix("y"), sp.csr_matrix("z", dtype="complex128")
    a, b = matrix(1, "float64"), matrix(2, "float64")
    for f, by_numpy in ((operator.mod, np.mod), (operator.floordiv, np.floor_divide), (operator.pow, np.power)):
        with pytest.warns(UserWarning, match="makes the sparse matrix x dense"):
            quotient = f(x, y)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(quotient.eval({x: a, y: b}), by_numpy(a.toarray(), b.toarray()))
    with pytest.raises(GraphTypeError, match="logaddexp is not defined for sparse matrices"):
        at.logaddexp(x, y)
    with pytest.raises(GraphTypeError, match="maximum is not defined for sparse matrices"):
        at.maximum(x, at.matrix("d"))
    with pytest.raises(GraphTypeError, match="maximum is not defined for sparse matrices"):
        at.maximum(z, z)
    with pytest.warns(UserWarning), pytest.raises(GraphTypeError, match="and_: it is not defined for float64"):
        x & y
    with pytest.raises(GraphValueError, match="maximum_s_s: extents 2 and 3 along axis 0 differ"):
        at.maximum(sp.csr_matrix("p", shape=(2, 3)), sp.csr_matrix("q", shape=(3, 3)))
    f = aot.function([x, y], at.maximum(x, y))
    for call in (f, f.reference):
        with pytest.raises(Exception, match="extents"):
            call(a, matrix(2, "float64", (4, 7)))


def test_no_dense_matrix_is_made() -> None:
    """Of a million columns and rows nothing but entries is computed, also of `==` at what is stored."""
    n = 1 << 20
    x, y = (sp.csr_matrix(name, shape=(n, n)) for name in "xy")
    one = scipy.sparse.csr_matrix(([2.0, 3.0], ([5, n - 1], [n - 1, 7])), (n, n))
    larger, differ = aot.function([x, y], [at.maximum(x, y), sp.neq(x, y)])(one, -one.T.tocsr())
    assert (larger.nnz, differ.nnz, larger.max()) == (4, 4, 3)


@pytest.mark.parametrize("columns", [40, 2**24])
def test_products_of_few_entries_do_not_visit_every_column(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorted entries of short rows are compared, others noted: notes for all of 2²⁴ columns take 0.2 s."""
    monkeypatch.setattr("aotensor_runtime.arrays.poison._is_on", False)  # which would write the notes' memory
    a, b = sp.csr_matrix("a"), sp.csr_matrix("b")
    f = aot.function([a, b], a * b)
    rng = np.random.default_rng(0)
    for count in (0, 1, 6, 30):  # of each row; 30 of 40 are noted
        left, right = (
            scipy.sparse.csr_matrix(
                (rng.normal(size=3 * count), np.concatenate([np.sort(rng.choice(40, count, False)) for _ in range(3)]),
                 np.arange(4) * count), shape=(3, columns),
            )
            for _ in range(2)
        )  # fmt: skip
        found, wanted = f(left, right), left.multiply(right).tocsr()
        for name in ("indices", "indptr", "data"):
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
        seconds = []
        for _ in range(3):
            start = time.process_time()
            f(left, right)
            seconds.append(time.process_time() - start)
        assert min(seconds) < 0.1
