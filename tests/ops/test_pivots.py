"""Pivots that a caller gives are rows of the matrix: LAPACK, and our own code, would write elsewhere otherwise."""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest
import scipy.linalg

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphIndexError
from aotensor_runtime.errors import ArgumentIndexError

RNG: Final = np.random.default_rng(4)


@pytest.mark.parametrize("pivot", [-1, 3, 2**31 - 1, -(2**31)])
def test_pivots_of_a_caller_are_checked(pivot: int) -> None:
    lu, p, b = at.matrix("lu"), at.vector("p", dtype="int32"), at.vector("b")
    given = [RNG.normal(size=(3, 3)), np.array([1, 1, 2], "int32"), np.arange(3.0)]
    for trans in (0, 1):
        f = aot.function([lu, p, b], at.lu_solve((lu, p), b, trans), name="f")
        wanted = scipy.linalg.lu_solve((given[0], given[1]), given[2], trans)
        for call, error in ((f.reference, GraphIndexError), (f, ArgumentIndexError)):
            np.testing.assert_allclose(call(*given), wanted, rtol=1e-12)
            with pytest.raises(error, match=f"pivot {pivot} is not one of 3 rows"):
                call(given[0], np.array([1, pivot, 2], "int32"), given[2])


def test_pivots_of_matrices_without_numbers() -> None:
    a = at.tensor3("a")
    f = aot.function([a], at.lu_solve(at.lu_factor(a), at.ones((3,)), b_ndim=1), name="f")
    for call in (f.reference, f):
        assert not np.isfinite(call(np.full((2, 3, 3), np.nan))).any()
        assert np.shape(call(np.zeros((0, 3, 3)))) == (0, 3)
