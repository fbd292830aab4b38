"""P(a, x) = γ(a, x)/Γ(a), Q = 1 − P and their derivatives in a, in float64.

    x ≤ a, or x ≤ 1.1     P = D·Σ xᵏ/(a + 1)ₖ                        D = xᵃe⁻ˣ/Γ(a + 1), positive terms
    x > a                 Q = a·D/(x + 1 − a − 1·(1 − a)/(x + 3 − a − 2·(2 − a)/(x + 5 − a − …)))
    a > 200, |x/a − 1| < 0.3
                          Temme's expansion, uniform in x/a: ½·erfc(∓η√(a/2)) ∓ e^{−aη²/2}/√(2πa)·Σ Cₖ(η)/aᵏ
    x ≤ 1.1, Q < ½        Q = −expm1(a·ln x − ln Γ(a + 1)) − xᵃ/Γ(a + 1)·a·Σ (−x)ⁿ/(n!·(a + n)), exact for a → 0

The smaller of the two (at most about ½) is computed, and the other one as its complement. Source: NIST Digital Library
of Mathematical Functions, 8.7.1, 8.7.3, 8.9.2 and 8.12; Gil, Segura & Temme (2012), "Efficient and accurate algorithms
for the computation and inversion of the incomplete gamma function ratios".
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from typing import Final

from aotensor.passes.scalar_math.parametric.control import branch, continued_fraction, sum_terms
from aotensor.passes.scalar_math.parametric.gamma_parts import (
    expm1_taylor,
    exponential_over,
    log1p_less,
    log_gamma_of_successor,
    stirling_rest,
)
from aotensor.passes.scalar_math.parametric.jet import Jet, integral
from aotensor.passes.scalar_math.value import Value, where

_TEMME_FROM: Final = 200.0
_TEMME_WITHIN: Final = 0.3
_LARGEST: Final = 2000.0
"""For x above it, the density is 0 for a < 8."""
SMALL: Final = 1.1
"""Largest x > a for which the series in x is used instead of the continued fraction."""


def gammainc(a: Value, x: Value, order: int = 0) -> Value:
    """P(a, x), or its derivative in a of some order.

    1 for a = 0 < x; nan for a < 0, x < 0 and for a = x = 0 or ∞. Bound: see `gammaincc`.
    """
    return _in_domain(a, x, order, is_upper=False)


def gammaincc(a: Value, x: Value, order: int = 0) -> Value:
    """Q(a, x) = 1 − P(a, x), or its derivative in a of some order.

    Bound: relative error 1e-15·(1 + |ln Q|); first derivatives 4e-14·(1 + |ln|), second ones 2e-12, except near a
    zero.
    """
    return _in_domain(a, x, order, is_upper=True)


def _in_domain(a: Value, x: Value, order: int, is_upper: bool) -> Value:
    is_inside = (a >= 0.0) & (x > 0.0) & (a < math.inf) & (x < math.inf)
    safe_a, safe_x = where(is_inside, a, 1.0), where(is_inside, x, 1.0)
    (parameter,) = Jet.parameters([safe_a], (order,))
    regular = ratio(parameter, safe_x, is_upper).derivative
    # at the edges: P(a, 0) = 0 = P(∞, x), P(a, ∞) = 1, with derivatives 0
    is_edge = ((a > 0.0) & x.eq(0.0)) | (a.eq(math.inf) & (x >= 0.0) & (x < math.inf))
    is_far = (a >= 0.0) & (a < math.inf) & x.eq(math.inf)
    low, high = (1.0, 0.0) if is_upper else (0.0, 1.0)
    if order:
        low = high = 0.0
    outside = where(is_edge, a.like(low), where(is_far, a.like(high), math.nan))
    return where(is_inside, regular, outside)


def ratio(a: Jet, x: Value, is_upper: bool) -> Jet:
    """Q if `is_upper`, else P, for a ≥ 0 and x > 0, both finite."""

    def lower(p: Jet) -> Jet:
        return 1.0 - p if is_upper else p

    def upper(q: Jet) -> Jet:
        return q if is_upper else 1.0 - q

    size = a.value
    is_near = (size > _TEMME_FROM) & (abs(x - size) < size * _TEMME_WITHIN)
    # below 1.1 as in Cephes: if P is at most about ½, or a is large enough that Q is well conditioned
    is_long = where(x > 0.5, x * SMALL < size, where(x < 0.5, x, 0.5).call("log") * size < -0.4)
    is_low = where(x > SMALL, x <= size, is_long)
    return branch(
        is_near,
        lambda: _by_temme(a, x, is_upper).dense(),
        lambda: branch(
            is_low,
            lambda: lower(_by_powers(a, x)).dense(),
            lambda: branch(
                x > SMALL,
                lambda: upper(_by_fraction(a, x)).dense(),
                lambda: upper(_near_zero(a, x)).dense(),
            ),
        ),
    )


def length(a: Value, x: Value) -> Value:
    """A number from 0 to 1 that grows with the trip count of the series (x ≤ a) or of the fraction (x > a).

    Fitted to trip counts for a < 30 and x < 40: sorted by it, vectors of 16 lanes take 1.12 of the mean trip count of a
    series and 1.34 of that of a fraction; unsorted 1.67 and 1.84.
    """
    far = a + 20.0
    return where(x > a, far / (far + 2.0 * (x - a + 1.0)), x / (a + 10.0))


def density_factor(a: Jet, x: Value, divisor: Value | None = None) -> Jet:
    """D = xᵃe⁻ˣ/Γ(a + 1) for x > 0, divided by a divisor if there is one: relative error about 2⁻⁵²·(2 + |ln D|)."""
    from_stirling = a.value >= 8.0

    def by_stirling() -> Jet:
        return (exponential_over(_deviation(a, x) - stirling_rest(a), divisor) / (a * (2.0 * math.pi)).sqrt()).dense()

    def by_logarithms() -> Jet:
        point = where(x < _LARGEST, x, _LARGEST)
        half = (point * -0.5).call("exp")
        power = exponential_over(a * point.call("log") - log_gamma_of_successor(a), divisor)
        return (power * half * half).dense()

    return branch(from_stirling, by_stirling, by_logarithms)


def _deviation(a: Jet, x: Value) -> Jet:
    """a·ln(x/a) + a − x, whose derivative in a is ln(x/a)."""
    mu, ratio = (x - a.value) / a.value, x / a.value
    value = a.value * log1p_less(Jet((), {(): mu}), ratio).value
    if not a.order:
        return a.constant(value)
    is_near = (mu >= -0.5) & (mu <= 1.0)
    logarithm = where(is_near, where(is_near, mu, 0.0).call("log1p"), ratio.call("log"))
    return integral(value, a.top, [(a, (-a.log()).with_value(logarithm))])


def gamma_density(a: Value, x: Value, order: int = 0) -> Value:
    """xᵃ⁻¹e⁻ˣ/Γ(a), the derivative of P in x, or its derivative in a of some order; nan for a < 0 or x < 0.

    At x = 0 it is ∞, 1 or 0 for a < 1, a = 1 and a > 1. Bound: relative error 2⁻⁵²·(4 + 2·|ln|).
    """
    is_inside = (a >= 0.0) & (x > 0.0) & (a < math.inf) & (x < math.inf)
    (parameter,) = Jet.parameters([where(is_inside, a, 1.0)], (order,))
    argument = where(is_inside, x, 1.0)
    regular = (density_factor(parameter, argument, argument) * parameter).derivative
    infinite = (-1.0) ** order * math.inf
    at_one = infinite if order else 1.0
    at_zero = where(a < 1.0, a.like(infinite), where(a.eq(1.0), a.like(at_one), 0.0))
    is_end = (a >= 0.0) & (x > 0.0) & (x.eq(math.inf) | a.eq(math.inf))
    outside = where((a > 0.0) & x.eq(0.0), at_zero, where(is_end, a.like(0.0), math.nan))
    return where(is_inside, regular, outside)


def _by_powers(a: Jet, x: Value) -> Jet:
    return density_factor(a, x) * sum_terms(a.constant(1.0), lambda k: x / (a + k))


def _by_fraction(a: Jet, x: Value) -> Jet:
    quotient = fraction(a, x)
    return a * density_factor(a, x) * quotient


def fraction(a: Jet, x: Value) -> Jet:
    """Γ(a, x)/(xᵃe⁻ˣ) for x > 1.1 and x > a."""
    return continued_fraction((x + 1.0) - a, lambda k: (x + 2.0 * k + 1.0) - a, lambda k: (a - k) * k)


def _near_zero(a: Jet, x: Value) -> Jet:
    """Q for x ≤ 1.1 where it is small for small a: the series of P without its first term, which is 1 for a = 0."""
    exponent = a * x.call("log") - log_gamma_of_successor(a)
    less_one = exponent.compose(lambda v: expm1_taylor(v, a.order))
    power = less_one + 1.0
    # tₙ = (−x)ⁿ/n!·1/(a + n): the quotient of two of them
    first = a.constant(-x) / (a + 1.0)
    terms = sum_terms(first, lambda k: (a + k) / (a + (k + 1.0)) * (-x / (k + 1.0)))
    return -less_one - power * (a * terms)


# --- Temme's expansion ------------------------------------------------------------------------------------------------

_POWERS: Final = 20
"""Coefficients of C₀ in powers of η, which is below 0.36: the series converges for |η| < 2√π."""
_ORDERS: Final = 8
"""C₀ … C₇, for a above 200."""


@cache
def _temme_coefficients() -> tuple[tuple[float, ...], ...]:
    """Temme's coefficients Cₖ in powers of η, from Cₖ = (Cₖ₋₁′ + γₖ·(1/μ − C₀ …))/η; see DLMF 8.12.10 to 8.12.12.

    With μ = x/a − 1 = η + η²/3 + …: C₀ = 1/μ − 1/η, and η·Cₖ = Cₖ₋₁′ + γₖ·η/μ, where γₖ makes the right side vanish at
    η = 0.
    """
    count = _POWERS + 2 * _ORDERS + 4
    # μ(η)/η from η = ηₘ: (1 + μ)·η = μ·μ′, coefficient by coefficient
    mu = [Fraction(1)]
    for n in range(1, count):
        # Σ_{i+j=n} mu_i·(j + 1)·mu_j = mu_{n−1}, all factors of η taken out
        known = sum(((n - i + 1) * mu[i] * mu[n - i] for i in range(1, n)), Fraction(0))
        mu.append((mu[n - 1] - known) / (n + 2))
    inverse = [Fraction(1)]  # η/μ
    for n in range(1, count):
        inverse.append(-sum((mu[i] * inverse[n - i] for i in range(1, n + 1)), Fraction(0)))
    rows = [inverse[1:]]
    for _ in range(1, _ORDERS):
        derivative = [i * c for i, c in enumerate(rows[-1])][1:]
        factor = -derivative[0]
        rows.append([d + factor * v for d, v in zip(derivative, inverse, strict=False)][1:])
    return tuple(tuple(float(c) for c in row[: max(_POWERS - 2 * k, 4)]) for k, row in enumerate(rows))


def _by_temme(a: Jet, x: Value, is_upper: bool) -> Jet:
    mu = (x - a) / a
    half_square = -log1p_less(mu, x / a.value)  # η²/2
    eta = mu * _eta_by_mu(mu)
    inverse = 1.0 / a
    series = a.constant(0.0)
    for row in reversed(_temme_coefficients()):
        series = series * inverse + eta.polynomial(row)
    envelope = (a * half_square * -1.0).exp() / (a * (2.0 * math.pi)).sqrt()
    sign = 1.0 if is_upper else -1.0
    argument = eta * (a * 0.5).sqrt() * sign
    return argument.compose(lambda v: _erfc_series(v, a.order)) * 0.5 + envelope * series * sign


def _eta_by_mu(mu: Jet) -> Jet:
    """η/μ = √(2·(μ − ln(1 + μ))/μ²) for |μ| < 0.31, whose power series has no cancellation."""
    return mu.polynomial([2.0 * (-1.0) ** k / (k + 2) for k in range(36)]).sqrt()


def _erfc_series(v: Value, order: int) -> Iterable[Value]:
    """erfc, and its derivatives over factorials: −2/√π·e^{−v²} times Hermite's polynomials."""
    yield v.call("erfc")
    if order:
        y = (v * -v).call("exp") * (-2.0 / math.sqrt(math.pi))
        before, hermite = v.like(0.0), v.like(1.0)
        for k in range(1, order + 1):
            yield y * hermite * (1.0 / math.factorial(k))
            before, hermite = hermite, -2.0 * (v * hermite + (k - 1.0) * before)
