"""Outputs that are right alone are right together: they share loops, buffers and slots of memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.gradient import Rop, grad


def _dense(x: Any) -> Array:
    return np.asarray(x.toarray() if ss.issparse(x) else x)


def _check(f: aot.Function, *arguments: Any) -> None:
    for found, expected in zip(f(*arguments), f.reference(*arguments), strict=True):
        np.testing.assert_allclose(_dense(found), _dense(expected), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n", [7, 8, 9, 15, 16, 17, 24, 33])
def test_a_derivative_and_a_tangent_of_a_sampled_product(n: int, rng: np.random.Generator) -> None:
    """A value that is multiplied in place must be so once, not once for each tile of columns."""
    A, E, W, T = sp.csr_matrix("A"), *(at.matrix(name) for name in "EWT")
    S = sp.dense_from_sparse(sp.sampling_dot(E, E, A))
    f = aot.function([A, E, W, T], [grad((S * W).sum(), A), Rop(S, E, T)], name="sampled")
    a = ss.random(n, n, 0.5, format="csr", random_state=1)
    e, w, t = rng.normal(size=(3, n, n))
    _check(f, a, e, w, t)
    pattern = a.toarray() != 0
    np.testing.assert_allclose(f(a, e, w, t)[0].toarray(), (e @ e.T) * w * pattern, rtol=1e-12, atol=1e-13)


def test_a_derivative_and_a_tangent_of_stacked_matrices(rng: np.random.Generator) -> None:
    """A buffer that two values share is made by the first of them, whose extents are known then."""
    d, i, p, s = at.vector("d"), at.ivector("i"), at.ivector("p"), at.tensor("s", dtype="int64", shape=(2,))
    W, t = at.matrix("W"), at.vector("t")
    x = sp.CSC(d, i, p, s)
    D = sp.dense_from_sparse(sp.vstack([x, x]))
    f = aot.function([d, i, p, s, W, t], [grad((D * W).sum(), d), Rop(D, d, t)], name="stacked")
    m = ss.random(9, 7, 0.4, format="csc", random_state=1)
    _check(f, m.data, m.indices, m.indptr, np.array(m.shape), rng.normal(size=(18, 7)), rng.normal(size=m.nnz))


def test_a_factorisation_beside_an_extent_that_depends_on_values(rng: np.random.Generator) -> None:
    x, v = at.matrix("x"), at.vector("v")
    L = at.linalg.cholesky(x)
    f = aot.function([x, v], [L, v[v > 0], x[x > 0.5]], name="beside")
    a = np.eye(5) + 0.1
    values = rng.normal(size=20)
    _check(f, a, values)
    extents = f.ir("loops").split("@beside.extents")[1].split("func.func")[0]
    assert "aot_lapack" not in extents, "an extent that has nothing to do with the factorisation waits for it"
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        f(-a, values)


def test_an_extent_that_depends_on_a_factorisation(rng: np.random.Generator) -> None:
    x = at.matrix("x")
    L = at.linalg.cholesky(x)
    f = aot.function([x], [L[L > 0.5], at.linalg.inv(x)], name="chosen")
    m = rng.normal(size=(40, 40))
    _check(f, m @ m.T + np.eye(40))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        f(-np.eye(3))


def factored(name: str) -> aot.Function:
    """Factors of a batch: two of these have equal loops, which are one function of a library."""
    a = at.tensor("a", dtype="float64", shape=("k", "n", "n"))
    return aot.function([a], [at.cholesky(a), a @ a], name=name)


def test_functions_with_merged_loops_know_what_they_call(tmp_path: Path) -> None:
    library = aot.compile([factored("f"), factored("g")], tmp_path, opt_level=0).load()
    a = np.eye(40) * 40 + np.ones((8, 40, 40))
    for function in (library.g, library.f):
        assert function.spec.lapack == ("dpotrf",)
        lower, product = function(a)
        np.testing.assert_allclose(lower, np.linalg.cholesky(a), rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(product, a @ a, rtol=1e-13)
