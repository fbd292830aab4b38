"""Sparse solutions and log determinants with their gradients against sparsax: CHOLMOD and KLU inside JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_direct import poisson

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at

jax = pytest.importorskip("jax", reason="no jax: pip install 'aotensor[jax]'")
sparsax = pytest.importorskip("sparsax", reason="no sparsax: pip install sparsax")
RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    with jax.enable_x64(True):
        yield


@pytest.mark.shows("sparse/15-slogdet", "sparse/15-selected_inverse")
def test_field_and_its_gradient() -> None:
    """½·log|A| − ½·bᵀ·A⁻¹·b, by the entries and by b."""
    matrix = poisson(12)
    n, (rows, columns) = matrix.shape[0], matrix.tocoo().coords
    entries, b = 1.5 * matrix.data, RNG.normal(size=n)

    def density(data: Any, right: Any) -> Any:
        solved = sparsax.solve(rows, columns, data, right)
        return 0.5 * sparsax.logdet(rows, columns, data, n=n) - 0.5 * right @ solved

    data, right = at.dvector("data"), at.vector("right", dtype="float64", shape=(n,))
    factor = sp.cholesky(sp.CSR(data, matrix.indices, matrix.indptr, matrix.shape))
    value = 0.5 * factor.slogdet().logabsdet - 0.5 * (right * factor.solve(right)).sum()
    inverse = sp.csm_data(factor.selected_inverse())
    f = aot.function([data, right], [value, *aot.grad(value, [data, right]), inverse])
    expected, (by_data, by_right) = jax.value_and_grad(density, argnums=(0, 1))(entries, b)
    found = f(entries, b)
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    np.testing.assert_allclose(found[2], by_right, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found[3], sparsax.selinv(rows, columns, entries, n=n), rtol=1e-10)
    # of a pair of entries across the diagonal sparsax reads the upper one: its derivative is that of both
    total = [np.zeros((n, n)) for _ in range(2)]
    for sums, values in zip(total, (found[1], by_data), strict=True):
        np.add.at(sums, (np.minimum(rows, columns), np.maximum(rows, columns)), np.asarray(values))
    np.testing.assert_allclose(*total, rtol=1e-9, atol=1e-12)


def test_general_matrices() -> None:
    """I − ρ·W with unequal weights: a solution by LU, by the entries and by b."""
    matrix = poisson(10)
    n, (rows, columns) = matrix.shape[0], matrix.tocoo().coords
    entries = np.where(rows == columns, 1.0, -0.2 * RNG.random(matrix.nnz))
    b, weights = RNG.normal(size=n), RNG.normal(size=n)

    def solved(data: Any, right: Any) -> Any:
        return weights @ sparsax.lu_solve(rows, columns, data, right)

    data, right = at.dvector("data"), at.vector("right", dtype="float64", shape=(n,))
    x = sp.spsolve(sp.CSR(data, matrix.indices, matrix.indptr, matrix.shape), right)
    value = (weights * x).sum()
    f = aot.function([data, right], [value, *aot.grad(value, [data, right])])
    expected, gradients = jax.value_and_grad(solved, argnums=(0, 1))(entries, b)
    for found, other in zip(f(entries, b), [expected, *gradients], strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-9, atol=1e-11)
