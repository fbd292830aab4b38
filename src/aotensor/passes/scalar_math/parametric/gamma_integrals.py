"""γ(k, x) and Γ(k, x), not divided by Γ(k), and their derivatives in k, in float64.

    γ    x ≤ k or x ≤ 1.1           xᵏe⁻ˣ·Σ xⁿ/(k)ₙ₊₁, positive terms
         beyond                     Γ(k) − Γ(k, x), for large k Γ(k)·P(k, x)
    Γ    x > k and x > 1.1          xᵏe⁻ˣ by the fraction 8.9.2 of DLMF
         x ≤ k, 1 ≤ k < 160         Γ(k) − γ(k, x)
         k ≤ 0.1, k·ln x ≥ −0.4     −Γ(1 + k)·L·(eᵏᴸ − 1)/(kL) − xᵏ·Σ (−x)ⁿ/(n!·(k + n)) with L = ln x − ln Γ(1 + k)/k
         otherwise                  Γ(k)·Q(k, x)

Exponents are added before the exponential is computed, so that only results that overflow do. Source: NIST Digital
Library of Mathematical Functions, 8.7 and 8.9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final

from aotensor.passes.scalar_math.parametric.control import branch, sum_terms
from aotensor.passes.scalar_math.parametric.gamma_parts import (
    expm1_quotient,
    exponential_over,
    exponential_times,
    log_gamma_of_successor,
    mean_of_psi,
    psi_series,
)
from aotensor.passes.scalar_math.parametric.incomplete_gamma import SMALL, fraction, ratio
from aotensor.passes.scalar_math.parametric.jet import Jet
from aotensor.passes.scalar_math.value import Value, where

_NEAR_ZERO: Final = 0.1
"""Largest k for which Γ(k, x) is computed without Γ(k)."""
_FINITE: Final = 160.0
"""Bound on k below which Γ, its first derivatives, and their differences are finite."""


def gammal(k: Value, x: Value, order: int = 0) -> Value:
    """γ(k, x) for k ≥ 0 and x ≥ 0, or its derivative in k of some order; ±∞ for k = 0 < x.

    Bound: relative error 1e-15·(4 + |ln γ|); first derivatives 1e-13·(1 + |ln|), second ones 2e-12, except near a
    zero.
    """

    def inner(own: Jet, point: Value) -> Jet:
        return branch(
            (point <= own.value) | (point <= SMALL),
            lambda: _by_powers(own, point).dense(),
            lambda: branch(
                own.value < _FINITE,
                lambda: (_gamma(own) - _power(own, point, fraction(own, point))).dense(),
                lambda: _gamma(own, ratio(own, point, is_upper=False)).dense(),
            ),
        )

    found = _in_domain(k, x, order, inner, nothing=0.0, whole=math.inf)
    return where(k.eq(0.0) & (x > 0.0), k.like((-1.0) ** order * math.inf), found)


def gammau(k: Value, x: Value, order: int = 0) -> Value:
    """Γ(k, x) for k ≥ 0 and x ≥ 0, or its derivative in k of some order; Γ(0, x) = E₁(x).   Bound: as `gammal`"""

    def near_zero(own: Jet, point: Value) -> Jet:
        log_x = point.call("log")
        rest = -mean_of_psi(0.0, own) + log_x
        first = log_gamma_of_successor(own).exp() * (rest * expm1_quotient(own * rest))
        terms = sum_terms(-point / (own + 1.0), lambda n: (own + n) / (own + (n + 1.0)) * (-point / (n + 1.0)))
        return -first - (own * log_x).exp() * terms

    def inner(own: Jet, point: Value) -> Jet:
        is_near = (own.value <= _NEAR_ZERO) & (point.call("log") * own.value >= -0.4)
        is_low = (point <= own.value) & (own.value >= 1.0) & (own.value < _FINITE)
        return branch(
            (point > own.value) & (point > SMALL),
            lambda: _power(own, point, fraction(own, point)).dense(),
            lambda: branch(
                is_low,
                lambda: (_gamma(own) - _by_powers(own, point)).dense(),
                lambda: branch(
                    is_near,
                    lambda: near_zero(own, point).dense(),
                    lambda: _gamma(own, ratio(own, point, is_upper=True)).dense(),
                ),
            ),
        )

    return _in_domain(k, x, order, inner, nothing=math.inf, whole=0.0)


def gamma_power(k: Value, x: Value, order: int = 0) -> Value:
    """xᵏ⁻¹e⁻ˣ, the derivative of γ in x, or its derivative in k of some order, which has a factor (ln x)ⁿ."""
    is_inside = (k >= 0.0) & (x > 0.0) & (k < math.inf) & (x < math.inf)
    own, point = where(is_inside, k, 1.0), where(is_inside, x, 1.0)
    log_x = point.call("log")
    found = exponential_over(Jet((), {(): own * log_x - point}), point).value
    for _ in range(order):
        found = where(found.eq(0.0), found, found * log_x)
    infinite = (-1.0) ** order * math.inf
    at_zero = where(k < 1.0, k.like(infinite), where(k.eq(1.0), k.like(infinite if order else 1.0), 0.0))
    at_infinity = where((k >= 0.0) & (k < math.inf) & x.eq(math.inf), k.like(0.0), math.nan)
    return where(is_inside, found, where((k >= 0.0) & x.eq(0.0), at_zero, at_infinity))


def _power(k: Jet, x: Value, factor: Jet) -> Jet:
    """xᵏe⁻ˣ times a factor."""
    return exponential_times(k * x.call("log") - x, factor)


def _by_powers(k: Jet, x: Value) -> Jet:
    """γ(k, x) by its power series, of positive terms."""
    return _power(k, x, sum_terms(1.0 / k, lambda n: x / (k + n)))


def _gamma(k: Jet, factor: Jet | None = None) -> Jet:
    """Γ(k) for k > 0, times a factor."""

    def taylor(v: Value) -> Iterable[Value]:
        yield v.call("gammaln_apart")
        yield from psi_series(v, k.order)

    return exponential_times(k.compose(taylor), k.constant(1.0) if factor is None else factor)


def _in_domain(
    k: Value, x: Value, order: int, inner: Callable[[Jet, Value], Jet], nothing: float, whole: float
) -> Value:
    """inner(k, x) inside the domain; 0 where x equals `nothing`, and Γ(k) or its derivative where x equals `whole`."""
    is_proper = (k >= 0.0) & (k < math.inf) & (x >= 0.0)
    is_inside = is_proper & (x > 0.0) & (x < math.inf)
    (own,) = Jet.parameters([where(is_inside, k, 1.0)], (order,))

    def outside() -> Value:
        (positive,) = Jet.parameters([where(is_proper & (k > 0.0), k, 1.0)], (order,))
        gamma = _gamma(positive).derivative
        gamma = where(k.eq(0.0), k.like((-1.0) ** order * math.inf), gamma)
        found = where(x.eq(whole), gamma, where(x.eq(nothing), k.like(0.0), math.nan))
        is_defined = is_proper if whole == 0.0 else is_proper & (k + x > 0.0)
        return where(is_defined, found, math.nan)

    return branch(is_inside, lambda: inner(own, where(is_inside, x, 1.0)).derivative, outside)
