"""Large sparse constants: everything about the loop over their rows is a number when it is shared out to cores."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sps
import aotensor.tensor as at


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("density", [1e-2, 1e-5])
def test_products_with_a_constant_matrix(format: str, density: float, rng: np.random.Generator) -> None:
    matrix = scipy.sparse.random_array((2000, 3000), density=density, format=format, rng=rng)
    a, x, y = sps.as_sparse(matrix), at.tensor("x", dtype="float64", shape=(3000,)), at.matrix("y", shape=(3000, 5))
    cost = at.sum((a @ x) ** 2)
    f = aot.function([x, y], [a @ x, a @ y, cost, aot.grad(cost, x)], name="products")
    v, w = rng.normal(size=3000), rng.normal(size=(3000, 5))
    wanted = [matrix @ v, matrix @ w, ((matrix @ v) ** 2).sum(), 2 * matrix.T @ (matrix @ v)]
    for threads in (1, 2, 3):
        for found, expected in zip(f(v, w, num_threads=threads), wanted, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
