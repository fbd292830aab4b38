"""sinh and cosh from the exponential, and the inverse hyperbolic functions from the logarithm of 1 + u."""

from __future__ import annotations

import math
from typing import Final

from aotensor.passes.scalar_math.exponential import power_of_two, reduce
from aotensor.passes.scalar_math.logarithm import log1p
from aotensor.passes.scalar_math.value import Value, at_most, fma, where

# above it sinh and cosh are infinite, while a quarter of the exponential is finite
_OVERFLOW: Final = {"float32": 89.7, "float64": 710.7}
# above it 1 + x² rounds to x² and log(1 + x) to log x; its square is finite in both formats
_LARGE: Final = 2.0**60


def sinh(x: Value) -> Value:
    """½·(e + e/(e + 1)) with e = expm1(|x|), kept as ¼·e against overflow, and the sign of x. Bound: 3 ulp."""
    reduced = reduce(at_most(_OVERFLOW[x.dtype], abs(x)))
    quarter = reduced.scaled_expm1(power_of_two(reduced.n_bits, x, offset=-2), 0.25)
    half = quarter + quarter / fma(quarter, 4.0, 1.0)
    return where(abs(x) < x.format.tiny, x, (half + half).with_sign_of(x))


def cosh(x: Value) -> Value:
    """2·(a + 1/(16·a)) with a = ¼·e**|x|. Bound: 2 ulp."""
    reduced = reduce(at_most(_OVERFLOW[x.dtype], abs(x)))
    quarter = (reduced.expm1() + 1.0) * power_of_two(reduced.n_bits, x, offset=-2)
    half = quarter + 0.0625 / quarter
    return half + half


def arcsinh(x: Value) -> Value:
    """log(1 + u) with u = |x| + x²/(1 + √(1 + x²)), or log|x| + log 2, and the sign of x. Bound: 3 ulp."""
    size = abs(x)
    square = size * size
    is_large = size > _LARGE
    u = size + square / (1.0 + (1.0 + square).sqrt())
    return _log1p_or_large(is_large, u, size).with_sign_of(x)


def arccosh(x: Value) -> Value:
    """log(1 + u) with u = t + √(2t + t²) and t = x − 1, or log x + log 2. Bound: 3 ulp."""
    t = x - 1.0
    u = t + fma(t, t, t + t).sqrt()
    return where(x >= 1.0, _log1p_or_large(x > _LARGE, u, x), math.nan)


def _log1p_or_large(is_large: Value, u: Value, x: Value) -> Value:
    """log(1 + u), or log(2·x) where x is large."""
    return log1p(where(is_large, x, u)) + where(is_large, x.like(math.log(2.0)), 0.0)


def arctanh(x: Value) -> Value:
    """½·log(1 + 2|x|/(1 − |x|)), and the sign of x. Bound: 3 ulp."""
    size = abs(x)
    return (0.5 * log1p((size + size) / (1.0 - size))).with_sign_of(x)
