"""Owen's T(h, a) = 1/(2π)·∫₀ᵃ e^{−h²(1 + t²)/2}/(1 + t²) dt in float64, by Gauss's rule.

For 0 ≤ a ≤ 1 over the part of the range where the exponential is not negligible, at most 9/h; for a > 1 from the tails
of the normal distribution beyond h and ah, T(h, a) = (q(h) + q(ah))/2 − q(h)·q(ah) − T(ah, 1/a), which for small h is
rewritten as ¼ − p(h)·p(ah) − T(ah, 1/a) with p = ½ − q. Source: Patefield & Tandy (2000), "Fast and accurate
calculation of Owen's T function", equations 2 and 3.
"""

from __future__ import annotations

import math
from typing import Final

from aotensor.passes.scalar_math.parametric.gauss import gauss_legendre
from aotensor.passes.scalar_math.value import Value, where

_NODES: Final = 30
_REACH: Final = 9.0
"""For s beyond it, e^{−s²/2} is below half an ulp of the integral."""


def owens_t(h: Value, a: Value) -> Value:
    """T(h, a), odd in a and even in h; nan only for nan.   Bound: relative error 2⁻⁵²·(4 + h²)."""
    height, slope = abs(h), abs(a)
    is_steep = slope > 1.0
    product = where(height.eq(0.0), height, where(slope.eq(0.0), slope, height * slope))
    far = where(is_steep, product, height)
    small = where(is_steep, 1.0 / slope, slope)
    inner = _integral(where(far < 1e3, far, 1e3), small)
    below, beyond = (x * math.sqrt(0.5) for x in (height, product))
    tail, other = below.call("erfc_apart") * 0.5, beyond.call("erfc_apart") * 0.5
    by_tails = 0.5 * (tail + other) - tail * other
    by_centres = 0.25 - below.call("erf_apart") * beyond.call("erf_apart") * 0.25
    whole = where(height < 0.5, by_centres, by_tails)
    result = where(is_steep, whole - inner, inner)
    result = where(h.ne(h) | a.ne(a), h + a, where(height.eq(math.inf), h.like(0.0), result))
    return where(a < 0.0, -result, result)


def _integral(h: Value, a: Value) -> Value:
    """T(h, a) for h ≥ 0 and 0 ≤ a ≤ 1."""
    reach = where(h * a > _REACH, _REACH / where(h > 1.0, h, 1.0), a)
    square, scale = reach * reach, -0.5 * (h * reach) * (h * reach)
    total = h.like(0.0)
    for node, weight in gauss_legendre(_NODES):
        power = node * node
        total = total + weight * (scale * power).call("exp_apart") / (1.0 + square * power)
    return total * reach * (h * h * -0.5).call("exp_apart") * (0.5 / math.pi)
