"""Matrices of one pattern, data (samples, nnz): products and solutions by `vectorize_graph`, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from test_solve import lopsided, poisson

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.graph.vectorize import vectorize_graph

LOPSIDED, POSITIVE = lopsided(9).sorted_indices(), poisson(3).sorted_indices()
PROGRAMS: dict[str, tuple[Any, Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "dot": (LOPSIDED, sp.dot, lambda a, b: a @ b),
    "transposed dot": (LOPSIDED, lambda A, b: sp.dot(A.T, b), lambda a, b: a.T @ b),
    "direct": (LOPSIDED, sp.spsolve, np.linalg.solve),
    "cholesky": (POSITIVE, lambda A, b: sp.solve(A, b, "cholesky"), np.linalg.solve),
    "triangle": (LOPSIDED, sp.spsolve_triangular, lambda a, b: np.linalg.solve(np.tril(a), b)),
}


@pytest.mark.shows("sparse/15-batches")
def test_samples_share_a_pattern() -> None:
    """Values and gradients of the sum of squares, all programs in one library, beside those of one sample."""
    b, expected, outputs, inputs = at.dmatrix("b"), [], [], []
    right = np.random.default_rng(0).normal(size=(4, 9))
    values: list[np.ndarray] = []
    for name, (matrix, program, dense) in PROGRAMS.items():
        data, row, side = at.dmatrix(name.replace(" ", "_")), at.dvector("row"), at.dvector("side")
        A = sp.CSR(row, matrix.indices, matrix.indptr, np.array(matrix.shape))
        x = vectorize_graph(program(A, side), {row: data, side: b})
        outputs += [x, *aot.grad((x**2).sum(), [data, b])]
        inputs.append(data)
        values.append(matrix.data * np.linspace(1, 2, 4)[:, None])
        one = aot.function([row, side], [program(A, side), *aot.grad((program(A, side) ** 2).sum(), [row, side])])
        alone = [one.reference(v, r) for v, r in zip(values[-1], right, strict=True)]
        expected += [np.stack(parts) for parts in zip(*alone, strict=True)]
        whole = matrix.copy()
        for v, r, found in zip(values[-1], right, alone, strict=True):
            whole.data = v
            np.testing.assert_allclose(found[0], dense(whole.toarray(), r), rtol=1e-11, atol=1e-12)
    f = aot.function([*inputs, b], outputs, name="batches")
    for run in (f, f.reference):
        for found, known in zip(run(*values, right), expected, strict=True):
            np.testing.assert_allclose(found, known, rtol=1e-10, atol=1e-11)


def test_one_singular_matrix_of_a_batch_is_an_error() -> None:
    row, data = at.dvector("row"), at.dmatrix("data")
    A = sp.CSR(row, np.array([0, 1]), np.array([0, 1, 2]), np.array([2, 2]))
    f = aot.function([data], vectorize_graph(sp.spsolve(A, np.ones(2)), {row: data}))
    np.testing.assert_allclose(f(np.array([[1.0, 2.0], [4.0, 5.0]])), [[1.0, 0.5], [0.25, 0.2]])
    with pytest.raises(np.linalg.LinAlgError, match="no pivot in row 3"):
        f(np.array([[1.0, 2.0], [4.0, 0.0]]))


def test_sparse_results_are_dense_batches() -> None:
    """With several new axes, and beside a result that is the same for all samples."""
    row, data, more = at.dvector("row"), at.dmatrix("data"), at.dtensor3("more")
    matrix = LOPSIDED
    A = sp.CSR(row, matrix.indices, matrix.indptr, np.array(matrix.shape))
    same = sp.as_sparse(matrix)
    results = [2.0 * A, sp.tril(A), A.T, same]
    found = vectorize_graph(results, {row: data})
    entries = vectorize_graph(sp.csm_data(sp.tril(A)), {row: data})
    assert [x.ndim for x in found] == [3, 3, 3, 2] and found[3] is same
    twice = vectorize_graph(sp.structured_sin(A), {row: more})
    slope = aot.grad((found[0] ** 2).sum(), data)
    f = aot.function([data, more], [*found[:3], entries, twice, slope], name="dense_batches")
    values = matrix.data * np.linspace(1, 2, 6).reshape(2, 3, 1)
    dense = np.stack([scipy.sparse.csr_matrix((v, matrix.indices, matrix.indptr)).toarray() for v in values[0]])
    for run in (f, f.reference):
        doubled, lower, turned, stored, sines, back = run(values[0], values)
        np.testing.assert_allclose(doubled, 2 * dense)
        np.testing.assert_allclose(lower, np.tril(dense))
        np.testing.assert_allclose(turned, dense.transpose(0, 2, 1))
        np.testing.assert_allclose(stored.sum(axis=1), np.tril(dense).sum(axis=(1, 2)))
        np.testing.assert_allclose(sines[0], np.sin(dense))
        np.testing.assert_allclose(back, 8 * values[0])
