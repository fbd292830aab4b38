"""Sums over the entries of rows, eight rows at a time: values for rows of all lengths, and where the form is used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options, stage_text
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.passes.target import Target

FORMATS = ("csr", "csc")
LENGTHS = (0, 1, 7, 8, 9, 40, 0, 16, 0)
WIDE = Options(cpu="sapphirerapids")


def _symbol(format: str, index_dtype: str = "int32") -> Any:
    return sp.matrix(format, "A", dtype="float64", shape=("m", "n"), index_dtype=index_dtype)


def _matrix(format: str, slices: int, others: int, rng: np.random.Generator, index_dtype: str = "int32") -> Any:
    """Rows of a csr matrix, or columns of a csc matrix, of the lengths above in any order."""
    dense = np.zeros((slices, others))
    for row, length in zip(dense, rng.permutation(np.resize(LENGTHS, slices)), strict=True):
        count = min(length, others)
        row[rng.permutation(others)[:count]] = rng.normal(size=count)
    found = ss.csr_matrix(dense) if format == "csr" else ss.csc_matrix(dense.T)
    found.indices, found.indptr = found.indices.astype(index_dtype), found.indptr.astype(index_dtype)
    return found


def _by_rows(A: Any, format: str) -> Any:
    """A, or its transposed, such that its rows are the slices."""
    return A if format == "csr" else A.T


def _masked_reads(*results: Variable, inputs: list[Any], options: Options = WIDE) -> int:
    return stage_text([aot.function(inputs, list(results), name="rows")], "loops", options).count("vector.gather")


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
@pytest.mark.parametrize("format", FORMATS)
def test_rows_of_all_lengths(
    format: str, index_dtype: str, check: bool, rng: np.random.Generator, tmp_path: Path
) -> None:
    A, x, b = _symbol(format, index_dtype), at.vector("x"), at.vector("b")
    product = sp.structured_dot(_by_rows(A, format), x)
    residual = product - b
    functions = [
        aot.function([A, x], product, name="product"),
        aot.function([A, x, b], {"loss": (residual**2).sum(), "residual": residual}, name="loss"),
        aot.function([A, x, b], at.softplus(residual).sum(), name="blocks"),
    ]
    library = aot.compile(functions, tmp_path, name="rows", check=check).load()
    for rows, columns in ((0, 0), (0, 5), (5, 0), (7, 50), (8, 50), (17, 50), (41, 60)):
        M = _matrix(format, rows, columns, rng, index_dtype)
        v, w = rng.normal(size=columns), rng.normal(size=rows)
        wanted = _by_rows(M, format) @ v
        np.testing.assert_allclose(library.product(M, v), wanted, rtol=1e-12, atol=1e-13)
        found = library.loss(M, v, w)
        np.testing.assert_allclose(found["residual"], wanted - w, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(found["loss"], ((wanted - w) ** 2).sum())
        np.testing.assert_allclose(library.blocks(M, v, w), np.logaddexp(wanted - w, 0).sum())


SKEWED = {
    "heavy first": (400, 90, 0, 30, 0, 0, 7, *[1] * 200),
    "heavy last": (*[0] * 100, 3, 2, 90, 500),
    "one": (0, 0, 0, 700),
    "even": (5,) * 203,
    "none": (0,) * 77,
    "short": (3,),
}
"""Lengths of rows."""


@pytest.mark.parametrize("group", [1, 8])
@pytest.mark.parametrize("check", [False, True])
def test_every_row_is_in_one_chunk(group: int, check: bool, rng: np.random.Generator, tmp_path: Path) -> None:
    """Chunks are equal by entries whatever the rows are: results and sums of rows, and products that count them."""
    A, x, y = _symbol("csr"), at.vector("x"), at.vector("y")
    functions = [
        aot.function([A, x], sp.structured_dot(A, x), name="product"),
        aot.function([A, y], sp.structured_dot(A.T, y), name="transposed"),
        aot.function([A], sp.true_dot(A, A.T), name="square"),
    ]
    few = replace(Target(), chunk_work=64, sum_work=0, fewest_iterations=2, chunk_group=group, row_group=group)
    (tmp_path / "librows.so").write_bytes(Build(functions, "rows", Options(check=check, facts=few)).shared)
    library = aot.load(tmp_path / "librows.so")
    for lengths in SKEWED.values():
        indptr = np.r_[0, np.cumsum(lengths)].astype(np.int32)
        indices = np.concatenate([np.sort(rng.permutation(700)[:n]) for n in lengths]).astype(np.int32)
        M = ss.csr_matrix((rng.integers(1, 9, len(indices)).astype(float), indices, indptr), shape=(len(lengths), 700))
        v, w = rng.integers(1, 9, 700).astype(float), rng.integers(1, 9, len(lengths)).astype(float)
        for threads in (1, 3):
            np.testing.assert_array_equal(library.product(M, v, num_threads=threads), M @ v)
            np.testing.assert_array_equal(library.transposed(M, w, num_threads=threads), M.T @ w)
            assert abs(library.square(M, num_threads=threads) - M @ M.T).nnz == 0


@pytest.mark.parametrize("format", FORMATS)
def test_values_that_are_not_finite_stay_in_their_rows(format: str, rng: np.random.Generator) -> None:
    A, x = _symbol(format), at.vector("x")
    f = aot.function([A, x], sp.structured_dot(_by_rows(A, format), x), name="product")
    M, v = _matrix(format, 26, 50, rng), rng.normal(size=50)
    v[[3, 20]] = np.inf, np.nan
    np.testing.assert_allclose(f(M, v), _by_rows(M, format) @ v, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("format", FORMATS)
def test_where_rows_go_eight_at_a_time(format: str) -> None:
    """Eight first steps and loops on machines with masked vectors of 512 bits; all terms where gathers are slow."""
    A, x, b = _symbol(format), at.vector("x"), at.vector("b")
    B = _by_rows(A, format)
    product = sp.structured_dot(B, x)
    slow = Options(cpu="icelake-server", target="x86_64-linux-gnu")
    assert _masked_reads(product, inputs=[A, x]) == 16
    assert _masked_reads(product, inputs=[A, x], options=slow) == 18
    assert _masked_reads(((product - b) ** 2).sum(), inputs=[A, x, b]) == 16
    assert _masked_reads(product, inputs=[A, x], options=Options(cpu="generic", target="x86_64-linux-gnu")) == 0
    assert _masked_reads(product, inputs=[A, x], options=Options(cpu="sapphirerapids", check=True)) == 0
    assert _masked_reads(sp.structured_dot(B.T, b), inputs=[A, b]) == 0, "sums that meet in one element"
    assert _masked_reads(grad(((product - b) ** 2).sum(), x), inputs=[A, x, b]) == 0, "two loops over the entries"


def test_indices_of_32_bits_are_gathered_as_they_are() -> None:
    A, x = _symbol("csr"), at.vector("x")
    f = aot.function([A, x], sp.structured_dot(A, x), name="product")
    text = stage_text([f], "asm", Options(cpu="sapphirerapids", target="x86_64-linux-gnu"))
    assert text.count("vgatherdpd") >= 16 and "vgatherqpd" not in text
