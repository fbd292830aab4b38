"""Debye's expansions of I_v and K_v, uniform in v ≥ 0, for large w = √(v² + x²).

I_v(x) ~ e^{x + E}/√(2πw)·Σ Vₖ(v²/w²)/wᵏ and K_v(x) ~ √(π/(2w))·e^{−x − E}·Σ (−1)ᵏVₖ(v²/w²)/wᵏ with the exponent
E = v²/(w + x) − v·arsinh(v/x), for which Uₖ(p) = pᵏ·Vₖ(p²) of DLMF 10.41.9 and p = v/w.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Final

from aotensor.passes.scalar_math.parametric.jet import Jet
from aotensor.passes.scalar_math.value import where

FROM: Final = 40.0
"""Smallest w for which the truncation error is below 1e-16."""
_TERMS: Final = 15


@cache
def _coefficients() -> tuple[tuple[float, ...], ...]:
    """The polynomials Vₖ as coefficients, from Uₖ₊₁ = p²(1 − p²)/2·Uₖ′ + ⅛·∫₀ᵖ (1 − 5t²)·Uₖ(t) dt, U₀ = 1."""
    rows = [{0: Fraction(1)}]  # Uₖ by powers of p
    for _ in range(_TERMS - 1):
        following: dict[int, Fraction] = {}
        for power, c in rows[-1].items():
            following[power + 1] = following.get(power + 1, Fraction(0)) + c * (
                Fraction(power, 2) + Fraction(1, 8 * (power + 1))
            )
            following[power + 3] = following.get(power + 3, Fraction(0)) - c * (
                Fraction(power, 2) + Fraction(5, 8 * (power + 3))
            )
        rows.append(following)
    return tuple(tuple(float(row[k + 2 * i]) for i in range(k + 1)) for k, row in enumerate(rows))


def hypotenuse(v: Jet, x: Jet) -> Jet:
    """w = √(v² + x²), also where the squares overflow or underflow."""
    size = where(v.value > x.value, v.value, x.value)
    is_small = size < 2.0**-400
    up = where(size > 2.0**400, size.like(2.0**-700), where(is_small, size.like(2.0**700), 1.0))
    down = where(size > 2.0**400, size.like(2.0**700), where(is_small, size.like(2.0**-700), 1.0))
    scaled, other = v * up, x * up
    return (scaled * scaled + other * other).sqrt() * down


def exponent(v: Jet, w: Jet, x: Jet) -> Jet:
    """The exponent E of Debye's expansion, which is at most 0: about −v²/(2x) for small v."""
    rest = v / (w + x) * v
    return rest - v * ((v + rest) / x).log1p()


def series(v: Jet, w: Jet, sign: float) -> Jet:
    """The series Σ signᵏ·Vₖ(v²/w²)/wᵏ of Debye's expansions."""
    ratio, inverse = v / w, sign / w
    square = ratio * ratio
    total = v.constant(0.0)
    for row in reversed(_coefficients()):
        total = total * inverse + square.polynomial(row)
    return total
