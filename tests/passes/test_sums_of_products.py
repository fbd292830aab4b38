"""Sums taken before products, factors that are read transposed, nests of rows that advance together: values agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from switches import OPTIONS

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.recipe import stage_text
from aotensor.graph.passes.pipeline import pipeline_of

PROGRAMS: dict[str, Callable[[Any, Any, Any], Sequence[Any]]] = {
    "sums of a product": lambda X, Q, m: [-(X[:, None, :, None] * Q[None]).sum(axis=2).sum(axis=0)],
    "with numbers between": lambda X, Q, m: [(3.0 * (X[:, None, :, None] * (0.5 * Q)[None]).sum(axis=2)).sum(axis=0)],
    "all of a product": lambda X, Q, m: [(X[:, None, :, None] * Q[None]).sum()],
    "rows of a matrix product": lambda X, Q, m: [(X @ Q[0]).sum(axis=0), (X @ Q[0].T).sum(axis=0)],
    "the product as well": lambda X, Q, m: [X @ Q[0], (X @ Q[0]).sum(axis=0)],
    "sums alone": lambda X, Q, m: [(X[:, 0, None] * m[None, 0]).sum(), (X[:, :, None] * m[0]).sum(axis=1).sum(axis=0)],
    "short sums": lambda X, Q, m: [whitened(X, Q, m)],
    "value and gradient": lambda X, Q, m: [loss(X, Q, m), *aot.grad(loss(X, Q, m), [Q, m])],
    "every gradient": lambda X, Q, m: aot.grad(loss(X, Q, m), [X, Q, m]),
}


def whitened(X: Any, Q: Any, m: Any) -> Any:
    """Σ_j Q[k, i, j]·(X[n, j] − m[k, j])"""
    return (Q[None] * (X[:, None, :] - m[None])[:, :, None, :]).sum(axis=3)


def loss(X: Any, Q: Any, m: Any) -> Any:
    return at.logsumexp(-0.5 * (whitened(X, Q, m) ** 2).sum(axis=2), axis=1).sum()


def program(name: str, extent: int, dtype: str = "float64", **options: Any) -> aot.Function:
    X, m = at.matrix("X", dtype=dtype, shape=("n", extent)), at.matrix("m", dtype=dtype, shape=(3, extent))
    Q = at.tensor3("Q", dtype=dtype, shape=(3, extent, extent))
    return aot.function([X, Q, m], list(PROGRAMS[name](X, Q, m)), name="f", on_unused_input="ignore", **options)


def arrays(rows: int, extent: int, dtype: str) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(rows)
    return [rng.normal(size=shape).astype(dtype) for shape in ((rows, extent), (3, extent, extent), (3, extent))]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_agree_with_the_reference(name: str, dtype: str) -> None:
    for extent in (1, 3, 10) if dtype == "float64" else (10,):
        f = program(name, extent, dtype)
        for rows in (0, 1, 3, 4, 9):  # none, fewer than advance together, as many, and some left
            inputs = arrays(rows, extent, dtype)
            for found, expected in zip(f(*inputs), f.reference(*inputs), strict=True):
                rtol = 1e-11 if dtype == "float64" else 2e-4
                np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * (1 + rows))


def test_bits_are_the_same_on_any_number_of_threads(tmp_path: Path) -> None:
    call, inputs = aot.compile(program("every gradient", 10), tmp_path).load().f, arrays(4001, 10, "float64")
    one = call(*inputs, num_threads=1)
    for threads in (2, 3):
        for found, expected in zip(call(*inputs, num_threads=threads), one, strict=True):
            assert found.tobytes() == expected.tobytes()


def test_strict_programs_are_left_alone() -> None:
    strict = replace(OPTIONS, fp="strict")
    for name in PROGRAMS:
        text = stage_text([program(name, 10)], "nest", strict)
        for passes in (["factor-sums"], ["transpose-small-operands"]):
            assert stage_text([program(name, 10)], "nest", replace(strict, pipeline=pipeline_of(None, passes))) == text


def test_what_is_not_finite_stays_so() -> None:
    f = program("sums of a product", 10)
    X, Q, m = arrays(5, 10, "float64")
    X[2, 3], X[4, 3], X[1, 7] = np.inf, -np.inf, np.nan
    (found,), (expected,) = f(X, Q, m), f.reference(X, Q, m)
    assert np.array_equal(np.isfinite(found), np.isfinite(expected))


def test_other_numbers_of_rows_may_advance_together_by_hand() -> None:
    f, inputs = program("value and gradient", 10), arrays(13, 10, "float64")
    other = f.with_schedule(f.schedule.jam("n", 3))
    for found, expected in zip(other(*inputs), f.reference(*inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_a_scaled_sum_of_all_products_is_a_number() -> None:
    x, y, t = at.vector("x"), at.vector("y"), at.scalar("t")
    f = aot.function([x, y, t], [at.sum(0.5 * at.outer(x, y)), at.sum(-(t * at.outer(x, y)))])
    found = f(np.array([1.0, 2.0, 3.0]), np.array([0.5, -2.0]), 4.0)
    np.testing.assert_allclose(found, [0.5 * 6.0 * -1.5, -4.0 * 6.0 * -1.5])
