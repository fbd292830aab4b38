"""Kernels of running sums and recurrences as plain Python, with checked positions, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from aotensor.kernels import running
from aotensor.kernels.language import Bounded

RNG = np.random.default_rng(11)
SPECIAL = [0.0, -0.0, np.inf, 1.0, np.nan, -np.inf] * 4


def _unset(n: int) -> Bounded[float]:
    """A vector of n elements that are not written yet."""
    return Bounded([None] * n)  # type: ignore[list-item]


@pytest.mark.parametrize("n", [*range(18), 40])
def test_one_line(n: int) -> None:
    x, c = RNG.normal(size=n), RNG.normal(size=n)
    sums, products, again, states = (_unset(n) for _ in range(4))
    running.accumulate(Bounded(x.tolist()), sums, 0.0, n, True)
    running.accumulate(Bounded(x.tolist()), products, 1.0, n, False)
    total = running.sum_part(Bounded(x.tolist()), again, 0, n, 0.0, True, True)
    running.recur(Bounded(x.tolist()), Bounded(c.tolist()), states, n)
    np.testing.assert_array_equal(sums, np.cumsum(x))
    np.testing.assert_array_equal(products, np.cumprod(x))
    np.testing.assert_allclose(again, np.cumsum(x), rtol=1e-12, atol=1e-13)
    assert total == (again[n - 1] if n else 0.0)
    expected = np.zeros(n)
    for k in range(n):
        expected[k] = x[k] * (expected[k - 1] if k else 0.0) + c[k]
    np.testing.assert_allclose(states, expected, rtol=1e-15)


@pytest.mark.parametrize(("block", "size"), [(40, 8), (16, 16), (24, 8), (200, 16)])
@pytest.mark.parametrize("n", [0, 1, 8, 39, 100])
def test_a_line_in_chunks(n: int, block: int, size: int) -> None:
    x = np.abs(RNG.normal(size=n))
    y, totals = _unset(n), _unset(1 + -(-block // size))
    running.sum_line(Bounded(x.tolist()), y, totals, n, block, size)
    np.testing.assert_allclose(y, np.cumsum(x), rtol=1e-13)
    assert list(y) == sorted(y)


def test_special_values() -> None:
    y = _unset(len(SPECIAL))
    running.sum_part(Bounded(SPECIAL), y, 0, len(SPECIAL), 0.0, True, True)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(y, np.cumsum(SPECIAL))
