"""I_x(a, b), the regularised incomplete beta function, and its derivatives in a and b, in float64.

    I_x(a, b) = D/(b₀ + a₁/(b₁ + a₂/(b₂ + …))) for x ≤ (a + 1)/(a + b + 2), else 1 − I_{1−x}(b, a), with the even part
    of the fraction 8.17.22 of DLMF: it takes about √max(a, b) steps near the mean of the distribution.
    D = xᵃ(1 − x)ᵇ/B(a, b) = √(ab/(2π(a + b)))·e^{−a·φ(u) − b·φ(v) + r(a + b) − r(a) − r(b)} with φ(u) = u − ln(1 + u),
    u = (xb − (1 − x)a)/a, v = ((1 − x)a − xb)/b and the rest r of Stirling's formula: no term of it cancels another.

Source: NIST Digital Library of Mathematical Functions, 8.17; DiDonato & Morris (1992), "Algorithm 708".
"""

from __future__ import annotations

import math
from typing import Final

from aotensor.passes.scalar_math.parametric.control import branch, continued_fraction, sum_terms
from aotensor.passes.scalar_math.parametric.gamma_parts import (
    expm1_taylor,
    log1p_less,
    log_gamma_growth,
    log_gamma_of_successor,
    stirling_rest,
)
from aotensor.passes.scalar_math.parametric.jet import Jet
from aotensor.passes.scalar_math.value import Value, where

_SMALL: Final = 0.1
"""Largest b for which I is computed as small for b → 0."""


def betainc(a: Value, b: Value, x: Value, order_a: int = 0, order_b: int = 0) -> Value:
    """I_x(a, b), or its derivative in a and b of some orders; nan for a < 0, b < 0 and x outside of 0 … 1.

    With SciPy the limits: 0 at x = 0 and 1 at x = 1; between, 1 for a = 0 or b = ∞, 0 for b = 0 or a = ∞.
    Bound: relative error 1e-15·(4 + |ln I|), 4e-14 where b < ½ and I is the complement of a number near 1. First
    derivatives: 1e-12·(1 + |ln|), second ones 1e-10, while they are not near a zero.
    """
    is_inside = (a > 0.0) & (b > 0.0) & (x > 0.0) & (x < 1.0) & (a < math.inf) & (b < math.inf)
    p, q = Jet.parameters([where(is_inside, a, 1.0), where(is_inside, b, 1.0)], (order_a, order_b))
    regular = _distribution(p, q, where(is_inside, x, 0.5)).derivative
    is_proper = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0)
    is_low, is_high = b.eq(0.0) | a.eq(math.inf), a.eq(0.0) | b.eq(math.inf)
    is_set, is_end = is_proper & ~(is_low & is_high), x.eq(0.0) | x.eq(1.0)
    if order_a or order_b:
        is_far = (a > 0.0) & (b > 0.0)
        limit = where(is_set & is_far, a.like(0.0), math.nan)
    else:
        limit = where(is_end, x, where(is_low, a.like(0.0), 1.0))
        limit = where(is_set, limit, math.nan)
    return where(is_inside, regular, limit)


def beta_density(a: Value, b: Value, x: Value, order_a: int = 0, order_b: int = 0) -> Value:
    """xᵃ⁻¹(1 − x)ᵇ⁻¹/B(a, b), or its derivative in a and b of some orders; nan outside of the domain.

    Bound: relative error 2⁻⁵²·(5 + 2·|ln|).
    """
    is_proper = (a > 0.0) & (b > 0.0) & (a < math.inf) & (b < math.inf)
    is_inside = is_proper & (x > 0.0) & (x < 1.0)
    p, q = Jet.parameters([where(is_inside, a, 1.0), where(is_inside, b, 1.0)], (order_a, order_b))
    y = where(is_inside, x, 0.5)
    regular = (density_factor(p, q, y, 1.0 - y) / y / (1.0 - y)).derivative
    at_zero = _at_end(a, b, order_a, order_b)
    at_one = _at_end(b, a, order_b, order_a)
    outside = where(x.eq(0.0), at_zero, where(x.eq(1.0), at_one, math.nan))
    return where(is_inside, regular, where(is_proper, outside, math.nan))


def _at_end(a: Value, b: Value, order_a: int, order_b: int) -> Value:
    """The density at x = 0, or its derivative: 0 for a > 1; b for a = 1, beyond ∞."""
    infinite = (-1.0) ** order_a * math.inf
    at_one = a.like(infinite) if order_a else b if not order_b else a.like(float(order_b == 1))
    return where(a > 1.0, a.like(0.0), where(a.eq(1.0), at_one, infinite))


def _distribution(a: Jet, b: Jet, x: Value) -> Jet:
    """I_x(a, b) inside of the domain."""
    is_swapped = x > (a.value + 1.0) / (a.value + b.value + 2.0)
    is_small = (b.value <= _SMALL) & (b.value < a.value)
    return branch(
        is_swapped,
        lambda: branch(
            is_small,
            lambda: _near_zero(a, b, 1.0 - x).dense(),
            lambda: (1.0 - _fraction(b, a, 1.0 - x, x)).dense(),
        ),
        lambda: _fraction(a, b, x, 1.0 - x).dense(),
    )


def density_factor(a: Jet, b: Jet, x: Value, y: Value) -> Jet:
    """D = xᵃyᵇ/B(a, b) for x + y = 1, both positive: relative error about 2⁻⁵²·(3 + |ln D|)."""
    total = a + b
    distance = b * x - a * y
    inner = a * log1p_less(distance / a, x * (total / a).value) + b * log1p_less(-distance / b, y * (total / b).value)
    rest = stirling_rest(total) - stirling_rest(a) - stirling_rest(b)
    return (inner + rest).exp() * (a / total * b * (0.5 / math.pi)).sqrt()


def _fraction(a: Jet, b: Jet, x: Value, y: Value) -> Jet:
    """I_x(a, b) for y = 1 − x."""

    excess = a * y - b * x + 1.0

    def below(k: Value) -> Jet:
        inner = (a + k) * (excess + k * (1.0 + y)) / (a + (2.0 * k + 1.0))
        return inner + k + (b - k) * (k * x) / (a + (2.0 * k - 1.0))

    def above(k: Value) -> Jet:
        denominator = a + (2.0 * k - 1.0)
        return (a + (k - 1.0)) / denominator * ((a + b + (k - 1.0)) / denominator) * ((b - k) * (k * x * x))

    return density_factor(a, b, x, y) * continued_fraction(a * excess / (a + 1.0), below, above)


def _near_zero(a: Jet, b: Jet, y: Value) -> Jet:
    """I_{1−y}(a, b) for small b, where it is small: the powers of y in I_y(b, a), without the first: 1 for b = 0.

    −expm1(E) − e^E·b·Σ (1 − a)ₙ·yⁿ/(n!·(b + n)) with E = b·ln y − ln(b·B(a, b)).
    """
    exponent = b * y.call("log") - log_gamma_of_successor(b) + log_gamma_growth(a, b)
    less_one = exponent.compose(lambda v: expm1_taylor(v, a.order))
    first = (1.0 - a) * y / (b + 1.0)
    terms = sum_terms(first, lambda k: (k + 1.0 - a) * ((b + k) / (b + (k + 1.0))) * (y / (k + 1.0)))
    return -less_one - (less_one + 1.0) * (b * terms)
