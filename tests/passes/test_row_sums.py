"""Sums over the entries of several rows at once: rows of equal and of other lengths, short and long, and the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss
from scipy.special import expit
from switches import OPTIONS

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
import aotensor_runtime
from aotensor.codegen.machine import Machine
from aotensor.driver.recipe import Options, lower, make_library, stage_text

COLUMNS = 240
LENGTHS: dict[str, Callable[[int], list[int]]] = {
    "none": lambda n: [0] * n,
    "one each": lambda n: [1] * n,
    "five each": lambda n: [5] * n,
    "a vector each": lambda n: [8] * n,
    "two vectors and more": lambda n: [19] * n,
    "all lengths": lambda n: [(7 * i) % 21 for i in range(n)],
    "long ones of equal length": lambda n: [129] * n,
    "a border": lambda n: [5 if i % 11 else 4 for i in range(n)],
    "equal after the first": lambda n: [3 if i else 17 for i in range(n)],
    "long ones between": lambda n: [i % 7 if i % 10 else 230 for i in range(n)],
    "long ones": lambda n: [140 + i for i in range(n)],
    "just as many as are kept": lambda n: [128 + (-1) ** i for i in range(n)],
    "equal but the last": lambda n: [3 if i + 1 < n else 0 for i in range(n)],
}


def matrix(lengths: list[int], columns: int, dtype: str, seed: int = 0) -> Any:
    """Rows of these lengths, at distinct columns in order."""
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=int)])
    rows = [np.sort(rng.choice(columns, size=n, replace=False)) for n in lengths]
    indices = np.concatenate([*rows, np.zeros(0, int)])
    made = ss.csr_matrix((rng.normal(size=indptr[-1]), indices, indptr), shape=(len(lengths), columns))
    made.indices, made.indptr = made.indices.astype(dtype), made.indptr.astype(dtype)
    return made


def product() -> aot.Function:
    A, x = sp.csr_matrix("A", shape=("n", "p")), at.vector("x", shape=("p",))
    return aot.function([A, x], {"y": A @ x, "squares": (A @ x) ** 2}, name="product")


def logistic() -> aot.Function:
    """Its sums over rows stand in a loop over a block of rows."""
    A, w = sp.csr_matrix("A", shape=("n", "p")), at.vector("w", shape=("p",))
    loss = at.softplus(A @ w).sum()
    return aot.function([A, w], {"loss": loss, "gradient": aot.grad(loss, w)}, name="logistic")


@pytest.fixture(scope="module", params=[False, True], ids=["fast gathers", "slow gathers"])
def calls(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """Both programs for this machine, as if it had such gathers."""
    options = Options(facts=replace(Machine.host().facts, has_slow_gathers=request.param))
    path = tmp_path_factory.mktemp("rows") / "librows.so"
    path.write_bytes(make_library(lower([product(), logistic()], options, texts=()), "rows").shared())
    library = aotensor_runtime.load(path)
    return library.product, library.logistic


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_rows_of_any_length(lengths: str, dtype: str, calls: tuple[Any, Any]) -> None:
    multiply, model = calls
    for n in (0, 1, 7, 8, 9, 24, 37):
        A = matrix(LENGTHS[lengths](n), COLUMNS, dtype)
        x = np.random.default_rng(1).normal(size=COLUMNS)
        expected, found = A @ x, multiply(A, x)
        np.testing.assert_allclose(found["y"], expected, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(found["squares"], expected**2, rtol=1e-12, atol=1e-13)
        found = model(A, x)
        np.testing.assert_allclose(found["loss"], np.logaddexp(0, expected).sum(), rtol=1e-12)
        np.testing.assert_allclose(found["gradient"], A.T @ expit(expected), rtol=1e-12, atol=1e-13)


def test_the_same_bits_on_any_number_of_threads(tmp_path: Path) -> None:
    """Rows by a power law, enough of them for several chunks."""
    rng = np.random.default_rng(3)
    lengths = np.minimum((3 * rng.pareto(1.2, size=20000)).astype(int), COLUMNS).tolist()
    A, x = matrix(lengths, COLUMNS, "int32"), rng.normal(size=COLUMNS)
    call = aot.compile(product(), tmp_path).load().product
    one = call(A, x, num_threads=1)
    np.testing.assert_allclose(one["y"], A @ x, rtol=1e-11, atol=1e-12)
    for threads in (2, 3, 7):
        other = call(A, x, num_threads=threads)
        assert all(one[name].tobytes() == other[name].tobytes() for name in one)


@pytest.mark.parametrize("program", [product, logistic])
def test_programs_go_by_rows(program: Callable[[], aot.Function]) -> None:
    text = stage_text([program()], "nest", OPTIONS)
    assert " rows 8 " in text and " terms 128 " in text
