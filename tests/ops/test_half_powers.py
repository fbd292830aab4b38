"""Powers with a constant exponent k + 1/2: products and square roots, with the special values of C's pow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

import aotensor as aot
import aotensor.tensor as at

EXPONENTS = (0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5)
"""Those that are rewritten."""
ULPS = 2


def special(dtype: str) -> Any:
    """Zeros, infinities, nan, the ends of the subnormal and normal numbers, and some negative ones."""
    info = np.finfo(dtype)
    sizes = [0.0, np.inf, info.smallest_subnormal, info.tiny * 0.75, info.tiny, info.max, 1.0, 2.0]
    return np.array([*sizes, *(-x for x in sizes), np.nan], dtype)


@pytest.mark.parametrize("fp", ["contract", "strict"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_are_within_two_ulp(dtype: str, fp: Any, tmp_path: Any, rng: np.random.Generator) -> None:
    """Against mpmath, where the power is finite and not 0; and C's special values and signs elsewhere."""
    x = at.vector("x", dtype=dtype)
    f = aot.function([x], [x**k for k in EXPONENTS], name="powers")
    assert "powf" not in f.ir("loops") and "math.sqrt" in f.ir("loops")
    aot.compile(f, tmp_path, fp=fp, threads=False)
    info = np.finfo(dtype)
    spread = np.exp2(rng.uniform(info.minexp - 20, info.maxexp, 60)).astype(dtype)
    values = np.concatenate([special(dtype), spread, rng.uniform(0.1, 10, 60).astype(dtype)])
    for k, found in zip(EXPONENTS, aot.load(tmp_path / "libpowers.so").powers(values), strict=True):
        with np.errstate(all="ignore"):
            right = np.power(values, np.full_like(values, k))  # a scalar 0.5 would be np.sqrt
        regular = np.isfinite(right) & (right != 0)
        np.testing.assert_array_equal(found[~regular], right[~regular])
        np.testing.assert_array_equal(np.signbit(found[~regular & (right == 0)]), np.False_)
        with mp.workprec(200):
            exact = [mpf(float(v)) ** mpf(k) for v in values[regular]]
            size = np.abs(np.spacing(right[regular]))
            errors = [
                abs(mpf(float(a)) - b) / mpf(float(u)) for a, b, u in zip(found[regular], exact, size, strict=True)
            ]
        assert max(errors) <= ULPS


def test_derivatives_at_zero_and_elsewhere() -> None:
    x = at.dvector("x")
    f = aot.function([x], [aot.grad((x**k).sum(), x) for k in (0.5, 1.5, 2.5, -0.5)], name="slopes")
    values = np.array([0.0, 0.25, 3.0, np.inf, np.nan, -1.0])
    with np.errstate(all="ignore"):
        right = [k * np.power(values, k - 1) for k in (0.5, 1.5, 2.5, -0.5)]
    for found, expected in zip(f(values), right, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-15)
