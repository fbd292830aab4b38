"""Extents beyond int32: indices of 64 bits as in SciPy where the types say so, else an error that names the extent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import AotensorError
from aotensor.graph.sparse_type import SparseTensorType
from aotensor.sparse.checks import LARGEST, check_countable

WIDE = 2**30 + 5
HUGE = 2**33


def two(columns: int, last: int, format: str = "csr") -> Any:
    """2 × columns with two entries, or its transpose as csc."""
    vectors = np.array([1.5, -2.0]), np.array([3, last]), np.array([0, 1, 2])
    shape = (2, columns)
    return ss.csr_matrix(vectors, shape) if format == "csr" else ss.csc_matrix(vectors, shape[::-1])


def symbol(format: str, index_dtype: str | None = None, shape: Any = (None, None)) -> Any:
    return SparseTensorType(format, "float64", shape, index_dtype=index_dtype)("A")


def diagonal_blocks(x: Any, count: int) -> Any:
    """What scipy.sparse.block_diag is to give, whose 32-bit coordinates overflow."""
    indices = np.concatenate([x.indices.astype("int64") + k * x.shape[1] for k in range(count)])
    data, indptr = np.tile(x.data, count), np.arange(2 * count + 1)
    return ss.csr_matrix((data, indices, indptr), (count * x.shape[0], count * x.shape[1]))


STACKS: list[tuple[str, Callable[[Any], Any], Callable[[Any], Any], str]] = [
    ("csr", lambda x: sp.hstack([x, x, x], "csr"), lambda x: ss.hstack([x, x, x], "csr"), "hstack has {} columns"),
    ("csc", lambda x: sp.vstack([x, x, x], "csc"), lambda x: ss.vstack([x, x, x], "csc"), "vstack has {} rows"),
    (
        "csr", lambda x: sp.block_diag(x, x, x, format="csr"), lambda x: diagonal_blocks(x, 3),
        "block_diag has {} columns",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("format", "ours", "theirs", "text"), STACKS, ids=["hstack", "vstack", "block_diag"])
def test_stacks(format: str, ours: Any, theirs: Any, text: str) -> None:
    value = two(WIDE, WIDE - 1, format)
    narrow, wide = symbol(format), symbol(format, "int64")
    static = ours(symbol(format, shape=value.shape))
    assert static.type.index_dtype == "int64"
    refused = aot.function([narrow], ours(narrow), name="narrow")
    whole = aot.function([wide], ours(wide), name="wide")
    expected = theirs(value)
    assert expected.indices.dtype == "int64"
    for call in (whole, whole.reference):
        found = call(value)
        assert found.shape == expected.shape and found.indices.dtype == "int64"
        assert found.indices.tolist() == expected.indices.tolist() and found.data.tolist() == expected.data.tolist()
    for call in (refused, refused.reference):
        with pytest.raises(AotensorError, match=text.format(3 * WIDE) + ", more than int32 indices can count"):
            call(value)
    half = two(LARGEST // 3, LARGEST // 3 - 1, format)  # the largest that fits
    assert refused(half).indices.tolist() == refused.reference(half).indices.tolist() == theirs(half).indices.tolist()


def test_shape_vector() -> None:
    narrow, wide = symbol("csr"), symbol("csr", "int64")
    value = two(HUGE, 5)
    f = aot.function([narrow], sp.csm_shape(narrow))
    g = aot.function([wide], [sp.csm_shape(wide), wide.shape[1]])
    for call in (f, f.reference):
        with pytest.raises(AotensorError, match=f"an extent of {HUGE}, more than int32 indices can count"):
            call(value)
        assert call(two(LARGEST, 5)).tolist() == [2, LARGEST]
    for call in (g, g.reference):
        assert [np.asarray(x).tolist() for x in call(value)] == [[2, HUGE], HUGE]


def test_far_diagonals() -> None:
    narrow, wide = symbol("csr"), symbol("csr", "int64")
    value = two(HUGE, HUGE - 1)
    f = aot.function([wide], [sp.diag(wide, HUGE - 2), aot.grad(sp.diag(wide, HUGE - 2).sum(), wide)])
    g = aot.function([narrow], [sp.diag(narrow, HUGE - 2)])
    h = aot.function([narrow], aot.grad(sp.diag(narrow, HUGE - 2).sum(), narrow))
    for call in (f, f.reference):
        found, slope = call(value)
        assert found.tolist() == [0.0, -2.0]
        assert slope.tocoo().col.tolist() == [HUGE - 2, HUGE - 1] and slope.data.tolist() == [1, 1]
    for call in (g, g.reference):
        assert call(two(HUGE, 5))[0].tolist() == [0, 0]
    for call in (h, h.reference):
        with pytest.raises(AotensorError, match=rf"{HUGE} rows or columns, more than int32|of {HUGE - 1}"):
            call(two(HUGE, 5))


def test_values_that_do_not_fit_a_type() -> None:
    x = symbol("csr")
    f = aot.function([x], x * 2.0)
    for call in (f, f.reference):
        with pytest.raises(AotensorError, match="int32"):
            call(two(HUGE, HUGE - 1))
        assert call(two(HUGE, 5)).indices.tolist() == [3, 5]


def test_counts() -> None:
    """Numbers of entries that no memory here could hold, as scalars."""
    n = at.lscalar("n")
    f = aot.function([n], check_countable(n + 0, n, "int32", "this has {found} entries"))
    for call in (f, f.reference):
        assert call(LARGEST) == LARGEST
        with pytest.raises(AotensorError, match="this has 2147483648 entries, more than int32 indices can count"):
            call(LARGEST + 1)
    assert check_countable(n, n, "int64", "") is n
    with pytest.raises(AotensorError, match="2147483648 entries"):
        check_countable(n, LARGEST + 1, "int32", "{found} entries")
