"""Programs of many equal loops, whose code the compiler emits once: results beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.recipe import Options, lower
from aotensor.passes.estimate import count_flops


def steps(y: Any, lib: Any, sums: Any, count: int = 12) -> Any:
    """Running sums and elementwise loops that differ in coefficients, among them zeros of both signs."""
    for k in range(count):
        y = sums(lib.tanh(y) * (0.5 + 0.125 * k) - (0.0 if k % 3 else -0.0))
    return y


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("threads", [1, 2])
def test_loops_that_differ_in_coefficients(dtype: str, threads: int) -> None:
    x = at.vector("x", dtype=dtype, shape=("n",))
    f = aot.function([x], steps(x, at, at.cumsum))
    for n in (0, 1, 7, 40, 100_000):
        given = np.random.default_rng(n).normal(size=n).astype(dtype) / (n + 1)
        wanted = steps(given.astype("float64"), np, np.cumsum)
        found = f(given, num_threads=threads)
        largest = np.abs(wanted).max(initial=0)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=largest * (1e-4 if dtype == "float32" else 1e-12))


def test_results_are_those_of_code_that_is_not_shared() -> None:
    x = at.vector("x", dtype="float64", shape=("n",))
    y = steps(x, at, at.cumsum, 3).sum()
    given = np.random.default_rng(3).normal(size=1000)
    shared, apart = (
        aot.function([x], [y, aot.grad(y, x)], disable_passes=left_out) for left_out in ([], ["merge-functions"])
    )
    for one, other in zip(shared(given), apart(given), strict=True):
        assert np.array_equal(one, other)


def test_work_of_equal_loops_is_counted_for_each() -> None:
    def operations(count: int) -> str:
        y, matrix = at.vector("x", dtype="float64", shape=("n",)), at.matrix("A", dtype="float64", shape=("n", "n"))
        inputs = [y, matrix]
        for _ in range(count):
            y = matrix @ y
        module = lower([aot.function(inputs, y, name="f")], Options(), texts=()).module
        return str(count_flops(module, "f.kernel", [("n",), ("n", "n"), ("n",)]))

    assert [operations(k) for k in (2, 6, 12)] == ["4*n*n", "12*n*n", "24*n*n"]
