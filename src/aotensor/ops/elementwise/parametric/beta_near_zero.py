"""Reference of the derivatives of I_x(a, b) in its parameters for small a, where its integral from 0 is 1/a long.

    I_x(a, b) = xᵃ·D·b/(a + b)·Σ a/(a + n)·(1 − b)ₙ·xⁿ/n!,   D = Γ(1 + a + b)/(Γ(1 + a)·Γ(1 + b))

for x ≤ ½, and an integral from there on. Each factor is a polynomial in small changes of a and b, truncated behind the
wanted orders: arrays whose first two axes are the powers of these changes. Source: DLMF 8.17.7, 15.2.1.
"""

from __future__ import annotations

from math import comb, factorial
from typing import Any, Final

import numpy as np

from aotensor.core.types import Array
from aotensor.ops.elementwise.parametric.quadrature import (
    derivative_of_exponential,
    growth_of_polygamma,
    mean,
)
from aotensor.ops.elementwise.scipy_reference import scipy_special

_TERMS: Final = 64
"""Terms of the series at x = ½: the next is 2⁻⁶⁴ of the first."""


def from_zero(i: int, j: int, a: Array, b: Array, x: Array) -> Array:
    """∂ⁱ⁺ʲ/∂aⁱ∂bʲ of I_x(a, b) for 0 < x ≤ ½, a < 1 and b·x < 1.   a, b, x: of one shape"""
    shape, orders = (i + 1, j + 1), [(p, q) for p in range(i + 1) for q in range(j + 1)]
    power, gamma, quotient, series = (np.zeros((*shape, *x.shape)) for _ in range(4))
    logarithm, total, polygamma = np.log(x), a + b, scipy_special("polygamma")
    slopes: dict[tuple[int, ...], Any] = {}
    for p, q in orders[1:]:
        if p and q:
            slopes[p, q] = polygamma(p + q - 1, 1 + total)
        else:
            slopes[p, q] = growth_of_polygamma(p - 1, 1 + a, b) if p else growth_of_polygamma(q - 1, 1 + b, a)
    own = np.exp(a * mean(scipy_special("psi"), 1 + b, a) - scipy_special("gammaln")(1 + a))
    for p, q in orders:
        power[p, q] = x**a * logarithm**p / factorial(p) if not q else 0.0
        gamma[p, q] = own * derivative_of_exponential((p, q), slopes) / (factorial(p) * factorial(q))
        if p + q:
            straight, swapped = (comb(p + q - 1, p - 1) if p else 0), comb(p + q - 1, p)
            quotient[p, q] = (b * straight - a * swapped) / total * (-1 / total) ** (p + q)
    quotient[0, 0] = b / total
    series[0, 0] = 1.0
    rising = np.zeros((j + 1, *x.shape))  # (1 − b)ₙ·xⁿ/n!, by powers of the change of b
    rising[0] = 1.0
    for n in range(1, _TERMS):
        lower = np.concatenate([np.zeros((1, *x.shape)), rising[:-1]])
        rising = ((n - b) * rising - lower) * (x / n)
        for p in range(i + 1):
            series[p] += (a / (a + n) if not p else -n * (-1 / (a + n)) ** p / (a + n)) * rising
    found = _times(_times(power, gamma), _times(quotient, series))[i, j]
    return np.asarray(found * (factorial(i) * factorial(j)))


def _times(one: Array, two: Array) -> Array:
    """The product of two truncated polynomials."""
    found = np.zeros_like(one)
    for p, q in np.ndindex(*one.shape[:2]):
        for r, s in np.ndindex(p + 1, q + 1):
            found[p, q] += one[r, s] * two[p - r, q - s]
    return found
