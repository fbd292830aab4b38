"""Slices of sparse matrices: every form against NumPy, with derivatives, and at the cost of what is stored."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import AotensorError
from aotensor.graph.sparse_type import SparseTensorType

SLICES = [
    np.s_[::-1], np.s_[1:], np.s_[-3:], np.s_[::2], np.s_[7:1:-2], np.s_[3:3], np.s_[-100:100:3], np.s_[5:-20:-1],
    np.s_[2:1], np.s_[-1::-3], np.s_[100::-1], np.s_[: 2**62 : 2**62], np.s_[:: -(2**62)],
]  # fmt: skip
M = ss.random(7, 9, 0.4, "csr", random_state=1)
HUGE = 2**40


def _matrix(format: str, shape: Any = (None, None), index_dtype: str | None = None) -> Any:
    return SparseTensorType(format, "float64", shape, index_dtype=index_dtype)("A")


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("shape", [(7, 9), (None, None)], ids=["static", "unknown"])
def test_every_pair_by_the_reference(format: str, shape: Any) -> None:
    A, value, dense = _matrix(format, shape), M.asformat(format), M.toarray()
    pairs = list(itertools.product(SLICES, SLICES))
    f = aot.function([A], [A[pair] for pair in pairs])
    for pair, found in zip(pairs, f.reference(value), strict=True):
        assert found.shape == dense[pair].shape and found.has_sorted_indices
        assert found.toarray().tolist() == dense[pair].tolist()


def test_compiled_with_derivatives(tmp_path: Path) -> None:
    dense, functions, programs = M.toarray(), [], []
    weights = np.arange(21.0).reshape(7, 3)
    for format, shape, pairs in (
        ("csr", (None, None), [np.s_[::-1, -3:], np.s_[7:1:-2, 5:-20:-1]]),
        ("csc", (7, 9), [np.s_[1:, ::2], np.s_[::2, 100::-3]]),
    ):
        A, D = _matrix(format, shape), at.matrix("D")
        windows = [A[pair] for pair in pairs]
        outputs = [*windows, *(aot.grad(sp.sp_sum(x * x), A) for x in windows)]
        slope = aot.grad((sp.dense_from_sparse(A[::-1, -3:], structured=False) * D).sum(), A)
        functions.append(aot.function([A, D], [*outputs, slope], name=format))
        programs.append((format, pairs))
    library = aot.compile(functions, tmp_path, opt_level=0).load()
    for f, (format, pairs) in zip(functions, programs, strict=True):
        for call in (library.functions[format], f.reference):
            *found, last = call(M.asformat(format), weights)
            for pair, window, slope in zip(pairs, found, found[2:], strict=False):
                expected = np.zeros(dense.shape)
                expected[pair] = 2 * dense[pair]
                assert window.toarray().tolist() == dense[pair].tolist() and window.has_sorted_indices
                np.testing.assert_allclose(slope.toarray() if ss.issparse(slope) else slope, expected)
            expected = np.zeros(dense.shape)
            expected[::-1, -3:] = weights
            np.testing.assert_allclose(last.toarray() if ss.issparse(last) else last, expected)


def test_symbolic_bounds() -> None:
    A = _matrix("csr")
    i, j = at.lscalars("i", "j")
    f = aot.function([A, i, j], [A[i:j], A[:, i:j], A[::-1, i:j:-1]], name="bounds")
    dense, ends = M.toarray(), (-100, -9, -1, 0, 4, 9, 100)
    for a, b in itertools.product(ends, ends):
        expected = dense[a:b], dense[:, a:b], dense[::-1, a:b:-1]
        for call in (f, f.reference) if a in (-9, 4) else (f,):
            for found, window in zip(call(M, a, b), expected, strict=True):
                assert found.shape == window.shape and found.toarray().tolist() == window.tolist()


def test_the_cost_is_that_of_the_entries() -> None:
    """Vectors as long as an axis would have 8 TB."""
    value = ss.csr_matrix((np.array([1.0, 2.0]), np.array([3, HUGE - 2]), np.array([0, 1, 2])), shape=(2, HUGE))
    A = _matrix("csr", index_dtype="int64")
    tail = A[:, -3:]
    f = aot.function(
        [A], [tail, A[:, 1:], A[:, ::-2], A[::-1, 5:HUGE:7], aot.grad(sp.sp_sum(tail * tail), A)], name="wide"
    )
    for call in (f, f.reference):
        found = call(value)
        assert [x.shape[1] for x in found] == [3, HUGE - 1, HUGE // 2, -(-(HUGE - 5) // 7), HUGE]
        assert [x.indices.tolist() for x in found] == [[1], [2, HUGE - 3], [HUGE // 2 - 2], [], [HUGE - 2]]
        assert found[4].data.tolist() == [4.0]


def test_what_is_no_slice() -> None:
    A = _matrix("csr")
    for wrong in (np.s_[::0], np.s_[1.5:], np.s_[: at.vector("v")], np.s_["a":]):
        with pytest.raises(AotensorError):
            A[:, wrong]
