"""Kernels of patterns as plain Python, with checked positions, against SciPy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.sparse as sp
from aotensor.graph.sparse_type import scipy_sparse
from aotensor.kernels import pattern_products, patterns
from aotensor.kernels.language import Bounded, run_kernel
from aotensor.kernels.patterns import Pattern

ss: Any = scipy_sparse()
SHAPES = [(0, 0), (1, 1), (5, 7), (9, 200), (30, 130)]


def _matrix(rows: int, columns: int, seed: int) -> Any:
    made = ss.random(rows, columns, 0.2, "csr", random_state=seed)
    made.sort_indices()
    return made


def _pattern(x: Any) -> Pattern:
    indices, indptr = Bounded(x.indices.tolist()), Bounded(x.indptr.tolist())
    return Pattern(indices, indptr, len(x.indptr) - 1, len(x.indices))


def _ints(n: int) -> Any:
    return np.full(n, -9)


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_transpose(rows: int, columns: int) -> None:
    x = _matrix(rows, columns, 1)
    permutation, slices, starts = _ints(x.nnz), _ints(x.nnz), _ints(columns + 1)
    run_kernel(patterns.transpose, _pattern(x), columns, permutation, slices, starts)
    y = x.T.tocsr()
    y.sort_indices()
    np.testing.assert_array_equal(starts, y.indptr)
    np.testing.assert_array_equal(slices, y.indices)
    np.testing.assert_array_equal(x.data[permutation], y.data)


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_two_patterns(rows: int, columns: int) -> None:
    x, y = (_matrix(rows, columns, seed) for seed in (2, 3))
    p, q = _pattern(x), _pattern(y)
    ones = [ss.csr_matrix((np.ones(m.nnz), m.indices, m.indptr), m.shape) for m in (x, y)]

    found = _ints(x.nnz)
    run_kernel(patterns.positions, p, q, columns, found)
    is_there = found >= 0
    entries = x.tocoo()
    assert is_there.sum() == (ones[0].multiply(ones[1])).nnz
    np.testing.assert_array_equal(y.data[found[is_there]], y.toarray()[entries.row, entries.col][is_there])

    indices, indptr, in_p, in_q = _ints(x.nnz + 1), _ints(rows + 1), _ints(x.nnz + 1), _ints(x.nnz + 1)
    run_kernel(patterns.intersection, p, q, columns, indices, indptr, in_p, in_q)
    both, n = ones[0].multiply(ones[1]).tocsr(), int(indptr[-1])
    both.sort_indices()
    np.testing.assert_array_equal(indptr, both.indptr)
    np.testing.assert_array_equal(indices[:n], both.indices)
    np.testing.assert_array_equal(x.indices[in_p[:n]], y.indices[in_q[:n]])

    size = x.nnz + y.nnz + 1
    indices, indptr, in_p, in_q = _ints(size), _ints(rows + 1), _ints(size), _ints(size)
    slots = _ints(x.nnz), _ints(y.nnz)
    run_kernel(patterns.union, p, q, indices, indptr, *slots, in_p, in_q)
    either = ones[0] + ones[1]
    either.sort_indices()
    np.testing.assert_array_equal(indptr, either.indptr)
    np.testing.assert_array_equal(indices[: either.nnz], either.indices)
    for own, positions, matrix in zip(slots, (in_p, in_q), (x, y), strict=True):
        np.testing.assert_array_equal(positions[own], np.arange(matrix.nnz))
        assert (positions[: either.nnz] >= 0).sum() == matrix.nnz


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_products(rows: int, columns: int) -> None:
    x, y = _matrix(rows, rows, 4), _matrix(rows, columns, 5)
    p, q = _pattern(x), _pattern(y)
    product = (x @ y).tocsr()
    product.sort_indices()
    indptr, room, indices = _ints(rows + 1), _ints(1), _ints(product.nnz)
    run_kernel(patterns.product_room, p, y.indptr, columns, room)
    assert room[0] >= product.nnz
    run_kernel(pattern_products.count_rows, p, q, columns, indptr)
    np.testing.assert_array_equal(indptr, product.indptr)
    many = (columns + 63) // 64
    run_kernel(pattern_products.sorted_rows, p, q, many, (many + 63) // 64, indices, indptr)
    np.testing.assert_array_equal(indptr, product.indptr)
    np.testing.assert_array_equal(indices, product.indices)

    _check_filled_rows(x, y)
    c, workspace, z = _pattern(product), np.zeros(columns), np.zeros(product.nnz)
    for i in range(rows):
        run_kernel(pattern_products.product_row, i, p, q, c, x.data, y.data, z, workspace)
    np.testing.assert_allclose(z, product.data, rtol=1e-12)

    writer, left, right = np.full(columns, -1), np.zeros(x.nnz), np.zeros(y.nnz)
    for i in range(rows):
        run_kernel(pattern_products.left_row, i, p, q, c, z, y.data, left, workspace, writer, False)
    writer[:] = -1
    for i in range(rows):
        run_kernel(pattern_products.right_row, i, p, q, c, x.data, z, right, workspace, writer, False)
    for values, matrix, whole in ((left, x, product @ y.T), (right, y, x.T @ product)):
        entries = matrix.tocoo()
        np.testing.assert_allclose(values, whole.toarray()[entries.row, entries.col], rtol=1e-12, atol=1e-14)


def _check_filled_rows(x: Any, y: Any) -> list[int]:
    """Compare a product that is filled row by row with SciPy's; return what its last row tells the next."""
    product = x @ y
    indptr, unsorted, data = product.indptr, _ints(product.nnz), np.zeros(product.nnz)
    marks, past, p, q = np.full(y.shape[1], -1), [0, 0, 0], _pattern(x), _pattern(y)
    pattern_products.begin_rows(past)
    for i in range(x.shape[0]):
        row = p, q, x.data, y.data, indptr, True, False, marks, past, unsorted, data, None
        run_kernel(pattern_products.filled_row, i, *row)
    found = ss.csr_matrix((data, unsorted, indptr), product.shape)
    np.testing.assert_allclose(found.toarray(), product.toarray(), rtol=1e-12)
    return past


def _regular() -> dict[str, Any]:
    """Square matrices by what `filled_row` finds out about them."""
    line = ss.diags_array([-1.0, 2.0, -1.5], offsets=[-1, 0, 1], shape=(14, 14))  # type: ignore[list-item]
    steps = (np.arange(210) * 89 % 210, np.arange(211))
    return {
        "a grid": ss.csr_matrix(ss.kronsum(line, line)),
        "rows far apart": ss.csr_matrix((1.0 + np.arange(210), *steps), (210, 210)),
        "irregular rows": ss.random(200, 200, 0.06, "csr", random_state=6),
    }


@pytest.mark.parametrize(("kind", "is_irregular", "is_far"), [
    ("a grid", False, False), ("rows far apart", False, True), ("irregular rows", True, False),
])  # fmt: skip
def test_products_of_regular_rows(kind: str, is_irregular: bool, is_far: bool) -> None:
    """Rows are looked at now and then, which decides about branches and prefetches, not about the result."""
    x = _regular()[kind]
    *_, excess, far = _check_filled_rows(x, x)
    assert (excess > 0, far) == (is_irregular, is_far)
    product, indptr, far_rows = x @ x, _ints(x.shape[0] + 1), [1]
    run_kernel(pattern_products.count_rows, _pattern(x), _pattern(x), x.shape[1], indptr)
    np.testing.assert_array_equal(indptr, product.indptr)
    seen = np.full(x.shape[1], -1)
    for i in range(x.shape[0]):
        run_kernel(pattern_products.note_length, i, _pattern(x), _pattern(x), seen, far_rows, indptr)
    np.testing.assert_array_equal(indptr[:-1], np.diff(product.indptr))
    assert far_rows == [is_far]


@pytest.mark.parametrize("kind", ["a grid", "rows far apart", "irregular rows"])
def test_compiled_products_of_regular_rows(kind: str) -> None:
    """All ways to fill a row give the same bits, zeros with their signs, and SciPy's values."""
    x, y = sp.csr_matrix("x"), sp.csr_matrix("y")
    f, regular = aot.function([x, y], sp.true_dot(x, y)), _regular()[kind]
    entries = (f(regular, regular)).nnz
    assert entries == (abs(regular) @ abs(regular)).nnz
    regular.data *= np.resize([-0.0, 1.0, -2.0, 3.0, 0.0, 4.0, -5.0], regular.nnz)
    order = np.random.default_rng(0).permutation(regular.shape[0])
    one, other = f(regular, regular), f(regular[order], regular)
    assert one.nnz == other.nnz == entries  # SciPy leaves zeros out
    np.testing.assert_allclose(one.toarray(), (regular @ regular).toarray(), rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(one[order].data.view("int64"), other.data.view("int64"))


def test_results_that_nobody_uses_are_not_computed() -> None:
    """The transpose keeps its permutation, its indptr and the positions of following entries, but no indices."""
    x = sp.csr_matrix("x", shape=("m", "n"))
    data, _, _, _ = sp.csm_properties(x.tocsc())
    assert len(set(re.findall(r"scope = \d+", aot.function([x], data).ir("loops")))) == 3
