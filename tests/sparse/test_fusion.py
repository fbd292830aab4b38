"""What works entry by entry shares loops: seen in the loop IR, and in the values."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.driver.recipe import Options, stage_text
from aotensor.gradient import grad
from aotensor.graph.passes.pipeline import pipeline_of

FORMATS = ("csr", "csc")


def _symbol(format: str) -> Any:
    return sp.matrix(format, "A", dtype="float64", shape=("m", "n"))


def _matrix(format: str, rows: int = 17, columns: int = 11) -> Any:
    found = ss.random(rows, columns, 0.3, format=format, random_state=5)
    found.sort_indices()
    return found


def _whole_loops(f: aot.Function) -> str:
    return stage_text([f], "loops", Options(pipeline=pipeline_of(None, ["parallelize"])))


def _loops(f: aot.Function) -> int:
    """How many loops the kernel has, before they are cut into chunks."""
    text = _whole_loops(f)
    kernel = text[text.index(f"@{f.name}.kernel") :]
    return len(re.findall(r"scf\.for", kernel[: kernel.index("func.return")]))


@pytest.mark.shows("sparse/13-fused-chains")
@pytest.mark.parametrize("format", FORMATS)
def test_a_chain_of_functions_is_one_loop(format: str) -> None:
    A, M = _symbol(format), _matrix(format)
    f = aot.function([A], sp.structured_exp(sp.sin(A) * 2.0), name="chain")
    assert _loops(f) <= 3, "one over the values, and copies of indices and indptr to the result"
    found = f(M)
    assert (found.indices == M.indices).all()
    np.testing.assert_allclose(found.data, np.exp(2 * np.sin(M.data)))


@pytest.mark.parametrize("columns", [1, 7, 8, 19, 32])
@pytest.mark.parametrize("format", FORMATS)
def test_products_go_by_blocks_of_columns(format: str, columns: int, rng: np.random.Generator) -> None:
    """Whole vectors of columns and what is left, forward and transposed, in both float dtypes."""
    M, X, Y = _matrix(format), rng.normal(size=(11, columns)), rng.normal(size=(17, columns))
    for dtype, rtol in (("float64", 1e-12), ("float32", 1e-4)):
        A = sp.matrix(format, "A", dtype=dtype, shape=("m", "n"))
        x, y = at.matrix("x", dtype=dtype, shape=("n", "k")), at.matrix("y", dtype=dtype, shape=("m", "k"))
        f = aot.function([A, x, y], [sp.structured_dot(A, x), sp.structured_dot(A.T, y)], name="both")
        forward, transposed = f(M.astype(dtype), X.astype(dtype), Y.astype(dtype))
        np.testing.assert_allclose(forward, M @ X, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(transposed, M.T @ Y, rtol=rtol, atol=rtol)


def test_a_residual_and_its_gradient_are_one_pass() -> None:
    A, x, b = _symbol("csr"), at.vector("x", shape=("n",)), at.vector("b", shape=("m",))
    loss = ((A @ x - b) ** 2).sum()
    f = aot.function([A, x, b], {"loss": loss, "derivative": grad(loss, x)}, name="residual")
    assert _loops(f) == 4, "zeros of the derivative, rows, entries of a row for the product, and for the derivative"
    M, v, w = _matrix("csr"), np.arange(11.0), np.arange(17.0)
    found = f(M, v, w)
    np.testing.assert_allclose(found["loss"], ((M @ v - w) ** 2).sum())
    np.testing.assert_allclose(found["derivative"], 2 * M.T @ (M @ v - w))


@pytest.mark.shows("sparse/13-in-place")
def test_a_sum_begins_in_the_operand_that_is_free(rng: np.random.Generator) -> None:
    """z = exp(w) is read nowhere else: A + z is computed in its place, without a buffer for z."""
    A, w = _symbol("csr"), at.matrix("w", shape=("m", "n"))
    f = aot.function([A, w], at.exp(w) + A.toarray(), name="sum")
    text = _whole_loops(f)
    assert len(re.findall(r"memref\.(alloc|view)", text[text.index("@sum.kernel") :].split("func.func")[0])) <= 1
    M, W = _matrix("csr"), rng.normal(size=(17, 11))
    np.testing.assert_allclose(f(M, W), np.exp(W) + M.toarray())


@pytest.mark.shows("sparse/13-data-kernels")
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "float32", "float64"])
def test_products_with_dense_values_run_over_the_data(format: str, dtype: str) -> None:
    M = (_matrix(format) * 10).astype(dtype)
    D, v = np.arange(17 * 11).reshape(17, 11).astype(dtype), np.arange(11).astype(dtype)
    A = sp.matrix(format, "A", dtype=dtype, shape=("m", "n"))
    d, c = at.matrix("d", dtype=dtype, shape=("m", "n")), at.vector("c", dtype=dtype, shape=("n",))
    f = aot.function([A, d, c], [sp.mul_s_d(A, d), sp.mul_s_v(A, c), sp.structured_add_s_v(A, c)], name="over_data")
    by_matrix, by_vector, added = f(M, D, v)
    assert all((x.indices == M.indices).all() and x.format == format for x in (by_matrix, by_vector, added))
    np.testing.assert_allclose(by_matrix.toarray(), M.toarray() * D)
    np.testing.assert_allclose(by_vector.toarray(), M.toarray() * v)
    stored = M.copy()
    stored.data = np.ones_like(M.data)
    np.testing.assert_allclose(added.toarray(), M.toarray() + stored.toarray() * v)
