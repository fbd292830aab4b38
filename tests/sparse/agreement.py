"""A sparse program by the reference and by the library, which must agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot

FORMATS = pytest.mark.parametrize("format", ["csr", "csc"])


def stored(format: str = "csr", dtype: str = "float64") -> Any:
    """[[0, 1, 0], [2, 0, 3]] with a stored zero at (0, 2)."""
    matrix = scipy.sparse.coo_matrix(([1.0, 0.0, 2.0, 3.0], ([0, 0, 1, 1], [1, 2, 0, 2])), shape=(2, 3))
    return matrix.asformat(format).astype(dtype)


def both_ways(inputs: list[Any], output: Any, *values: Any) -> list[Any]:
    """The result of the reference, and that of the library, which must agree in kind, type and pattern."""
    f = aot.function(inputs, output, on_unused_input="ignore")
    found = [f.reference(*values), f(*values)]
    for a, b in zip(*(x if isinstance(x, list) else [x] for x in found), strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert scipy.sparse.issparse(a) == scipy.sparse.issparse(b)
        if scipy.sparse.issparse(a):
            assert a.format == b.format
            np.testing.assert_array_equal(a.indices, b.indices)
            np.testing.assert_array_equal(a.indptr, b.indptr)
        np.testing.assert_allclose(dense(a), dense(b), rtol=1e-13, atol=1e-14)
    return found


def dense(x: Any) -> np.ndarray:
    return np.asarray(x.toarray() if scipy.sparse.issparse(x) else x)
