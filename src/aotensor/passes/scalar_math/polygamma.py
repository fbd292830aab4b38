"""ψ⁽ⁿ⁾ for n = 2 … 8 in float64; float32 uses float64.

ψ⁽ⁿ⁾(x) = (−1)ⁿ⁺¹·n!·ζ(n + 1, x), and the Hurwitz zeta function is a sum of positive terms plus the Euler-Maclaurin
expansion of the remainder. Negative arguments are reflected: (−1)ⁿ·ψ⁽ⁿ⁾(1 − x) − ψ⁽ⁿ⁾(x) is the n-th derivative of
π·cot πx. Source: NIST Digital Library of Mathematical Functions, 5.15 and 25.11.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from aotensor.passes.scalar_math.gamma import cot_pi
from aotensor.passes.scalar_math.value import Value, polynomial, where

ORDERS: Final = range(2, 9)
"""Orders that have a function: the number of terms grows with the order."""
_BERNOULLI: Final = tuple(
    Fraction(*pair)
    for pair in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798))
)
"""B₂, B₄, …: enough for arguments above 10 + 2n."""


def function_of_order(order: int) -> Callable[[Value], Value]:
    """Return x ↦ ψ⁽ⁿ⁾(x): ±∞ at the poles as in SciPy.

    Bound: 10 ulp for x > 0; below, 5e-15 of the terms of the reflection.
    """

    def polygamma(x: Value) -> Value:
        wide = x.cast("float64")
        is_reflected = wide < 0.0
        value = _positive(order, where(is_reflected, 1.0 - wide, wide))
        cotangent, is_pole = cot_pi(wide)
        # of one parity and one sign: no 0·∞ or ∞ − ∞ where powers of the cotangent overflow
        coefficients = _cotangent_derivatives(order)[(order + 1) % 2 :: 2]
        derivative = polynomial(cotangent * cotangent, coefficients)
        derivative = derivative if order % 2 else derivative * cotangent
        reflected = (-1.0) ** order * value - math.pi ** (order + 1) * derivative
        reflected = where(is_pole, reflected.like((-1.0) ** (order + 1) * math.inf), reflected)
        return where(is_reflected, reflected, value).cast(x.dtype)

    polygamma.__name__ = f"polygamma_{order}"
    return polygamma


def _positive(order: int, a: Value) -> Value:
    """ψ⁽ⁿ⁾(a) for a ≥ 0."""
    s, shift = order + 1, 10 + 2 * order
    is_raised = a < float(shift)
    inverse = 1.0 / where(is_raised, a + float(shift), a)
    rest = [
        float(b * Fraction(math.perm(s + 2 * j - 2, 2 * j - 1), math.factorial(2 * j)))
        for j, b in enumerate(_BERNOULLI, start=1)
    ]
    tail = _power(inverse, s - 1) * (1.0 / (s - 1) + inverse * (0.5 + inverse * polynomial(inverse * inverse, rest)))
    head = a.like(0.0)
    for k in reversed(range(shift)):
        head = head + _power(1.0 / (a + float(k)), s)
    return (-1.0) ** (order + 1) * math.factorial(order) * (tail + where(is_raised, head, 0.0))


def _power(x: Value, exponent: int) -> Value:
    """x to an integer power ≥ 1, by squaring."""
    result = x
    for bit in f"{exponent:b}"[1:]:
        result = result * result * x if bit == "1" else result * result
    return result


def _cotangent_derivatives(order: int) -> list[float]:
    """Coefficients of the n-th derivative of cot as a polynomial in c = cot: P′ ↦ −(1 + c²)·P′."""
    coefficients = [0, 1]
    for _ in range(order):
        derivative = [k * c for k, c in enumerate(coefficients)][1:]
        coefficients = [0] * (len(derivative) + 2)
        for k, c in enumerate(derivative):
            coefficients[k] -= c
            coefficients[k + 2] -= c
    return [float(c) for c in coefficients]
