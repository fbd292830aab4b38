"""Least squares with sparse Jacobians: SciPy's solution, the dense one's derivatives, wrong use."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphValueError

N = 6


def residuals(x: Any, p: Any, np: Any = at) -> Any:
    """Neighbours that differ by a smooth amount, with an anchor at both ends: 2n − 1 residuals, two variables each."""
    bends = x[1:] - p * np.sin(x[:-1])
    return at.join(0, bends, x - 1.0) if np is at else np.concatenate([bends, x - 1.0])


def program(count: int = 4, **options: Any) -> aot.Function:
    p = at.scalar("p")
    found = at.optimize.least_squares(lambda x: residuals(x, p), np.full(N, 0.5), **options)
    cost = (found.solution**2).sum()
    slope = aot.grad(cost, p)
    return aot.function([p], [found.solution, slope, aot.grad(slope, p), found.success][:count], name="f")


def test_the_solution_is_scipys_and_derivatives_are_the_dense_ones() -> None:
    pattern = scipy.sparse.vstack([scipy.sparse.eye(N - 1, N, 1) + scipy.sparse.eye(N - 1, N), scipy.sparse.eye(N)])
    dense, sparse = program(), program(2, jacobian="sparse")
    wanted = scipy.optimize.least_squares(lambda x: residuals(x, 0.7, np), np.full(N, 0.5), xtol=1e-15, ftol=1e-15)
    by_dense = dense.reference(0.7)
    np.testing.assert_allclose(by_dense[0], wanted.x, rtol=1e-7)
    assert by_dense[3]
    library = aot.compile(sparse, tempfile.mkdtemp()).load()
    for found in (library.f(0.7), program(jac_sparsity=pattern).reference(0.7)):
        for value, expected in zip(found, by_dense, strict=False):
            np.testing.assert_allclose(value, expected, rtol=1e-7)


def test_a_singular_problem_has_no_success() -> None:
    x0 = at.vector("x0", shape=(3,))
    found = at.optimize.least_squares(lambda x: x[:2] * 0.0 + np.inf, x0, jacobian="sparse")
    assert not aot.function([x0], found.success).reference(np.ones(3))


def test_wrong_use() -> None:
    x, fun = at.vector("x"), lambda x: x[:1] - 1.0
    with pytest.raises(GraphValueError, match="a sparse Jacobian needs the extents of x0"):
        at.optimize.least_squares(fun, x, jacobian="sparse")
    with pytest.raises(GraphValueError, match=r"jac_sparsity must have the shape \(1, 3\), not \(3, 3\)"):
        at.optimize.least_squares(fun, np.ones(3), jac_sparsity=scipy.sparse.eye(3))
    with pytest.raises(GraphValueError, match=r'jacobian=.sparse. needs method "lm", not .trf.'):
        at.optimize.least_squares(fun, np.ones(3), method="trf", jacobian="sparse")
    with pytest.raises(GraphValueError, match="least_squares: jacobian must be one of"):
        at.optimize.least_squares(fun, np.ones(3), jacobian="matrix-free")
