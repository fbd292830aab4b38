"""References of the derivatives of J_v(x) in its order v, which SciPy lacks: by series and integrals over x > 0.

    x ≤ 2√(v + 1)        (x/2)ᵛ/Γ(v + 1)·Σ (−x²/4)ᵏ/(k!·(v + 1)ₖ), DLMF 10.2.2, differentiated term by term
    x > 100, x > 2v²     Hankel's expansion, DLMF 10.17.3, of complex order: derivatives by Cauchy's integral
    v ≥ x > 2√(v + 1)    Debye's contour, DLMF 10.9.17: 1/π·∫₀^π Im((−t)ⁿ·(τ′ + i))·e^{x·sinh t − v·t} dθ, t = τ + iθ
    60 − v < x > v ≥ 0   the real part of Hankel's function by its contour over the saddle iβ, v = x·cos β, DLMF 10.9.18
    others               Schläfli's integrals, DLMF 10.9.6

Along Debye's contour x·cosh τ·sin θ = v·θ, so the exponent is real and small results have all digits.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, factorial
from typing import Any, Final

import numpy as np

from aotensor.core.types import Array
from aotensor.ops.elementwise.parametric.bessel_reference import FAR, hankel
from aotensor.ops.elementwise.parametric.quadrature import (
    by_circle,
    derivative_of_exponential,
    integral_from_end,
)
from aotensor.ops.elementwise.scipy_reference import scipy_special

_TERMS: Final = 60
"""Terms of the power series: those of x² = 4(v + 1) fall below 1e-17 before."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_PHASE: Final = 30.0
"""Radians that a panel of Gauss's rule with 24 nodes integrates to rounding."""
_FAST: Final = 60.0
"""Largest v + x for which the wave is computed by Schläfli's integral."""
_SLOW: Final = 3e4
"""Largest |v| + x for which Schläfli's integral is computed: it has 0.1·(|v| + x) panels."""
_FALL: Final = 45.0
"""Exponent of e at which an integrand has no digits of the integral left."""


def in_order(n: int, v: Array, x: Array) -> Array:
    """∂ⁿ/∂vⁿ J_v(x) for n > 0 and 0 < x < ∞; nan for v < −½ where |v| + x is beyond 3e4 and x is below 2v².

    v, x: float64, of one shape
    """
    found = np.full(v.shape, np.nan)
    is_far = (x > FAR) & (x > 2 * v * v)
    is_near = ~is_far & (v >= -0.5) & (x <= 2 * np.sqrt(np.maximum(v, -0.5) + 1))
    is_high = ~is_far & ~is_near & (v >= x)
    is_wave = ~(is_far | is_near | is_high) & (v >= 0) & (v + x > _FAST)
    is_slow = ~(is_far | is_near | is_high | is_wave) & (np.abs(v) + x <= _SLOW)
    forms = (
        (is_far, _far), (is_near, _by_powers), (is_high, _by_debye), (is_wave, _by_saddle), (is_slow, _by_schlaefli)
    )  # fmt: skip
    for holds, form in forms:
        if holds.any():
            found[holds] = form(n, v[holds], x[holds])
    return found


def _far(n: int, v: Array, x: Array) -> Array:
    return by_circle(lambda u: hankel(u, x), n, v, 0.5)


def first_term(n: int, v: Array, x: Array) -> Array:
    """∂ⁿ/∂vⁿ of (x/2)ᵛ/Γ(v + 1) for x > 0."""
    half, polygamma = x / 2, scipy_special("polygamma")
    logarithm = np.log(half)
    main = half**v * scipy_special("rgamma")(v + 1)
    main = np.where(v > 100, np.exp(v * logarithm - scipy_special("gammaln")(v + 1)), main)
    if n:
        slopes: dict[tuple[int, ...], Any] = {
            (k,): (logarithm if k == 1 else 0.0) - polygamma(k - 1, v + 1) for k in range(1, n + 1)
        }
        main = np.where(main == 0, 0.0, main * derivative_of_exponential((n,), slopes))
    return np.asarray(main)


def _by_powers(n: int, v: Array, x: Array) -> Array:
    """The product of the first term and Σ (−x²/4)ᵏ/(k!·(v + 1)ₖ), whose Taylor coefficients in v are sums."""
    square = x * x / 4
    term = [np.ones_like(v), *(np.zeros_like(v) for _ in range(n))]
    total = list(term)
    for k in range(1, _TERMS):
        inverse = 1 / (v + k)
        for m in range(n + 1):  # the quotient by v + k, coefficient by coefficient
            term[m] = (term[m] * (-square / k) - (term[m - 1] if m else 0.0)) * inverse
        total = [one + two for one, two in zip(total, term, strict=True)]
    parts = [comb(n, m) * factorial(m) * total[m] * first_term(n - m, v, x) for m in range(n + 1)]
    return np.asarray(sum(parts))


def _by_debye(n: int, v: Array, x: Array) -> Array:
    v, x = v[:, None], x[:, None]
    excess = (v - x) / x

    def integrand(s: Array) -> Any:
        angle = np.pi * s / (1 + s)
        sine, cosine, rest = np.sin(angle), np.cos(angle), _sine_defect(angle)
        above = (excess * angle + rest) / sine  # cosh τ − 1
        sinh = np.sqrt(above * (above + 2))
        height = np.arcsinh(sinh)
        slope = (1 + excess) * (2 * angle * np.sin(angle / 2) ** 2 - rest) / (sine * sine * sinh)
        exponent = x * (_sinh_excess(height, sinh) * cosine - height * (excess + 2 * np.sin(angle / 2) ** 2))
        weight = ((-(height + 1j * angle)) ** n * (slope + 1j)).imag
        return weight * np.exp(exponent) / (1 + s) ** 2

    width = 1 / (np.sqrt(x * np.sqrt(excess * (excess + 2))) + np.cbrt(x))
    return integral_from_end(integrand, np.minimum(width / np.pi, 1.0)[:, 0])


def _by_saddle(n: int, v: Array, x: Array) -> Array:
    """The real part of e^{iψ}/(πi)·∫ (−t)ⁿ·e^{E(t − iβ)} dt with E(d) = i·x·sin β·(cosh d − 1) + v·(sinh d − d).

    From −∞ to ∞ + πi, at 45° over the saddle; ψ = x·sin β − v·β.
    """
    wide = x.astype(np.longdouble)  # ψ may be thousands of radians
    height = np.sqrt(wide - v) * np.sqrt(wide + v)
    beta = 2 * np.arcsin(np.sqrt((wide - v) / (2 * wide)))
    phase = height - v * beta
    turn = np.asarray(np.cos(phase), np.float64) + 1j * np.asarray(np.sin(phase), np.float64)
    sine, angle = np.asarray(height, np.float64), np.asarray(beta, np.float64)
    scale = 1 / (np.sqrt(sine) + np.cbrt(x))
    sides = []
    for sign, room in ((1, np.pi - angle[:, None]), (-1, angle[:, None])):

        def integrand(s: Array, sign: int = sign, room: Array = room) -> Any:
            d = sign * (s + 1j * room * s / (s + room))
            exponent = 2j * sine[:, None] * np.sinh(d / 2) ** 2 + v[:, None] * _sinh_excess(d, np.sinh(d))
            slope = sign * (1 + 1j * (room / (s + room)) ** 2)
            return (-(1j * angle[:, None] + d)) ** n * np.exp(exponent) * slope

        sides.append(integral_from_end(integrand, scale, fineness=4))
    return np.asarray(np.real(turn / (1j * np.pi) * (sides[0] - sides[1])))


def _sine_defect(angle: Array) -> Array:
    """θ − sin θ."""
    square = np.where(angle < 1, angle * angle, 0.0)
    series = sum((-1) ** k * square**k / factorial(2 * k + 3) for k in range(9))
    return np.where(angle < 1, angle**3 * series, angle - np.sin(angle))


def _sinh_excess(x: Array, sinh: Array) -> Array:
    """sinh x − x, of real or complex x."""
    is_small = np.abs(x) < 1
    square = np.where(is_small, x * x, 0.0)
    series = sum(square**k / factorial(2 * k + 3) for k in range(9))
    return np.where(is_small, x**3 * series, sinh - x)


def _by_schlaefli(n: int, v: Array, x: Array) -> Array:
    """1/π·∫₀^π cos(vτ − x·sin τ) dτ − sin(vπ)/π·∫₀^∞ e^{−x·sinh t − v·t} dt, differentiated under the integrals."""

    def wave(t: Array) -> Array:
        wide = t.astype(np.longdouble)  # phases of thousands of radians
        phase = wide * v[:, None] - np.sin(wide) * x[:, None]
        turned = (np.cos, lambda u: -np.sin(u), lambda u: -np.cos(u), np.sin)[n % 4](phase)
        return np.asarray(t**n * turned, np.float64)

    count = int(np.max(np.pi * (np.abs(v) + x)) / _PHASE) + 2
    total = _panels(wave, np.zeros_like(v), np.full_like(v, np.pi), count) / np.pi
    with np.errstate(over="ignore"):
        peak = np.arccosh(np.maximum(-v / x, 1.0))
        fall = _FALL / np.maximum(np.abs(v), x)
        low = np.maximum(peak - _FALL / np.maximum(np.abs(v), 1e-2) - np.sqrt(2 * fall) - 1, 0.0)
        low = np.where(peak > 0, low, 0.0)
        high = peak + np.log1p(fall) + np.sqrt(2 * fall) + np.cbrt(6 * fall)

    def tail(m: int) -> Callable[[Array], Any]:
        return lambda t: (-t) ** m * np.exp(-x[:, None] * np.sinh(t) - v[:, None] * t)

    for m in range(n + 1):
        k = n - m
        turned = _sine_of_pi(v + k / 2) * np.pi ** (k - 1)
        part = comb(n, m) * turned * (_panels(tail(m), low, peak, 40) + _panels(tail(m), peak, high, 40))
        total = total - np.where(turned == 0, 0.0, part)
    return total


def _sine_of_pi(v: Array) -> Array:
    """sin(πv), 0 for whole numbers."""
    rest = np.fmod(v, 2)
    return np.where(np.floor(v) == v, 0.0, np.sin(np.pi * rest))


def _panels(function: Callable[[Array], Any], low: Array, high: Array, count: int) -> Array:
    """∫ f from low to high by Gauss's rule on panels of equal width.   f: (…, nodes) → (…, nodes)"""
    half = (high - low) / (2 * count)
    total = np.zeros_like(low)
    for k in range(count):
        middle = low + (2 * k + 1) * half
        total = total + np.sum(function(middle[:, None] + half[:, None] * _NODES) * _WEIGHTS, axis=-1)
    return total * half
