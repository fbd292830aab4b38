"""Patterns of sparse outputs that are known without values."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError


def test_a_jacobian_has_a_pattern_of_its_own() -> None:
    x = at.vector("x", shape=(4,))
    slopes = at.jacobian(x[1:] * x[:-1], x, sparse=True)
    f = aot.function([x], {"J": slopes, "K": sp.csc_from_dense(slopes.toarray()), "x2": x * 2}, name="f")
    found = f.pattern("J")
    assert (found.format, found.shape) == ("csr", (3, 4))
    assert np.array_equal(found.toarray(), np.eye(3, 4) + np.eye(3, 4, k=1))
    with pytest.raises(GraphTypeError, match="f: x2 is float64"):
        f.pattern("x2")
    with pytest.raises(GraphValueError, match="f: the pattern of K depends on x"):
        f.pattern("K")
    with pytest.raises(GraphValueError, match="f: there is no output 'L'"):
        f.pattern("L")


def test_a_pattern_of_inputs_depends_on_them() -> None:
    A = sp.csr_matrix("A", dtype="float64", shape=(2, 2))
    with pytest.raises(GraphValueError, match="g: the pattern of out depends on A"):
        aot.function([A], A * 2, name="g").pattern("out")


def test_a_pattern_of_shared_variables_may_change() -> None:
    B = sp.shared(scipy.sparse.identity(3, format="csr"), name="B")
    with pytest.raises(GraphValueError, match="g: the pattern of out depends on B"):
        aot.function([], B * 2, name="g").pattern("out")
