"""Products of a sparse matrix with a dense one, at numbers of columns around the widths of vectors and tiles."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.driver.recipe import Options, lower
from aotensor.gradient import Lop, Rop


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_both_sides_in_both_layouts(format: str, dtype: str, rng: np.random.Generator) -> None:
    """What lies across the columns of a tile must not be read as if it were along them."""
    A, X = sp.matrix(format, "A", dtype=dtype), at.matrix("X", dtype=dtype)
    dense = sp.dense_from_sparse(A)
    f = aot.function([A, X], [dense @ X, X @ dense, dense @ X.T, X.T @ dense, dense.T @ X], name="sides")
    for n in (1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40):
        a = ss.random(n, n, 0.3, format=format, dtype=dtype, random_state=n)
        x = rng.normal(size=(n, n)).astype(dtype)
        m = a.toarray()
        rtol = 1e-5 if dtype == "float32" else 1e-12
        for found, expected in zip(f(a, x), (m @ x, x @ m, m @ x.T, x.T @ m, m.T @ x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


def test_tiles_of_scattered_sums_keep_every_dependence() -> None:
    """A sum that several tiles add to, at indices that are read, is one sum to the verifier."""
    A, X = sp.csr_matrix("A"), at.matrix("X", shape=("n", "n"))
    C, D = at.matrix("C", shape=("n", "n")), at.matrix("D", shape=("n", "n"))
    derivatives = Lop([at.tanh(A @ X)], [X], [C])
    f = aot.function([A, X, C, D], [*derivatives, *Rop(derivatives, [X], [D])], name="curved")
    lower([f], Options(verify=True))


def test_entries_of_rows_in_a_block_keep_every_dependence() -> None:
    """A value of entries is written and read in different phases of one block of rows."""
    x, A = at.vector("x"), sp.csc_matrix("A", shape=(None, 2))
    lower([aot.function([x, A], A * (x[:, None] * at.cos(x)[None, :]), name="scaled")], Options(verify=True))
