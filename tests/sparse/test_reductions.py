"""Reductions of sparse inputs, against NumPy: reference and compiled."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from agreement import FORMATS, both_ways, stored

import aotensor as aot
import aotensor.sparse as sp
from aotensor.errors import GraphValueError
from aotensor.gradient import grad


@FORMATS
@pytest.mark.shows("sparse/10-sp_sum", "sparse/10-others")
def test_reductions(format: str) -> None:
    x = sp.matrix(format, "x")
    a = stored(format)
    m = a.toarray()
    for axis in (None, 0, 1, -1, (0, 1)):
        for keepdims in (False, True):
            outputs = [getattr(x, kind)(axis=axis, keepdims=keepdims) for kind in ("sum", "mean", "max", "min")]
            for found in both_ways([x], outputs, a):
                for one, kind in zip(found, ("sum", "mean", "max", "min"), strict=True):
                    np.testing.assert_allclose(one, getattr(m, kind)(axis=axis, keepdims=keepdims), rtol=1e-14)
    structured, regular = (grad(sp.sp_sum(x, 0, sparse_grad=flag) @ np.ones(3), x) for flag in (True, False))
    for found, everywhere in both_ways([x], [structured, regular], a):
        assert (found.format, found.nnz) == (format, 4)
        np.testing.assert_array_equal(found.data, np.ones(4))
        assert (everywhere.format, everywhere.nnz) == (format, 6)
        np.testing.assert_array_equal(everywhere.toarray(), np.ones((2, 3)))
    assert sp.SpSum(axis=-1) == sp.SpSum(axis=1, sparse_grad=True) != sp.SpSum(axis=1, sparse_grad=False)
    with pytest.raises(GraphValueError, match="axis"):
        sp.sp_sum(x, 2)
    assert sp.sp_sum(sp.csr_matrix(dtype="uint8")).dtype == "uint64"
    for empty, axis in (((0, 3), None), ((2, 0), 1), ((0, 3), 0)):
        value = scipy.sparse.coo_matrix(empty).asformat(format)
        f = aot.function([x], x.max(axis))
        for call in (f, f.reference):
            with pytest.raises(ValueError, match="empty"):
                call(value)
