"""Components of the gamma and beta densities: parts of ln Γ without cancellation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from aotensor.passes.scalar_math.gamma import LOG_GAMMA_NEAR_2
from aotensor.passes.scalar_math.parametric.control import branch
from aotensor.passes.scalar_math.parametric.jet import Jet
from aotensor.passes.scalar_math.value import Value, polynomial, where

_STIRLING_FROM: Final = 8.0
_STIRLING: Final = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400, 43867 / 244188,
    -174611 / 125400,
)  # fmt: skip
"""B₂ₖ/(2k·(2k − 1)).   Source: DLMF 5.11.1"""
_ARTANH: Final = tuple(1.0 / (2 * k + 3) for k in range(18))


def psi_series(v: Value, order: int) -> Iterable[Value]:
    """ψ(v), ψ′(v)/2, ψ″(v)/6, …: the Taylor coefficients of ln Γ, from the first derivative on."""
    for k in range(1, order + 1):
        name = ("psi", "tri_gamma")[k - 1] if k <= 2 else f"polygamma_{k - 1}"
        yield v.call(f"{name}_apart") * (1.0 / math.factorial(k))


def stirling_rest(a: Jet) -> Jet:
    """ln Γ(a) − (a − ½)·ln a + a − ½·ln 2π for a > 0: between 1/(12a + 1) and 1/(12a) for large a."""

    def far() -> Jet:
        inverse = 1.0 / a
        return (inverse * (inverse * inverse).polynomial(_STIRLING)).dense()

    def near() -> Jet:
        def taylor(v: Value) -> Iterable[Value]:
            yield v.call("gammaln_apart")
            yield from psi_series(v, a.order)

        main = (a - 0.5) * a.log() - a
        return (a.compose(taylor) - main - 0.5 * math.log(2.0 * math.pi)).dense()

    return branch(a.value >= _STIRLING_FROM, far, near)


def log_gamma_of_successor(a: Jet) -> Jet:
    """ln Γ(1 + a) for a ≥ 0, with a small relative error for small a."""

    def taylor(v: Value) -> Iterable[Value]:
        small = where(v < 0.5, v, 0.5)
        near = small * polynomial(small, LOG_GAMMA_NEAR_2) - small.call("log1p")
        yield where(v < 0.5, near, (v + 1.0).call("gammaln_apart"))
        yield from psi_series(v + 1.0, a.order)

    return a.compose(taylor)


def log1p_less(mu: Jet, ratio: Value) -> Jet:
    """ln(1 + μ) − μ, with a small relative error for small μ.   ratio: 1 + μ, where μ may be rounded to −1

    For −½ ≤ μ ≤ 1 it is −μs + 2s³·(1/3 + s²/5 + s⁴/7 + …) with s = μ/(2 + μ).
    """

    def taylor(v: Value) -> Iterable[Value]:
        is_near = (v >= -0.5) & (v <= 1.0)
        near = where(is_near, v, 0.0)
        s = near / (2.0 + near)
        square = s * s
        series = 2.0 * (s * square) * polynomial(square, _ARTANH) - near * s
        yield where(is_near, series, ratio.call("log") - v)
        if mu.order:
            inverse = 1.0 / ratio
            yield -v * inverse
            power = inverse
            for k in range(2, mu.order + 1):
                power = -power * inverse
                yield power * (1.0 / k)

    return mu.compose(taylor)


def log_gamma_growth(a: Jet, b: Jet) -> Jet:
    """ln Γ(a + b) − ln Γ(a) for a > 0 and 0 < b ≤ 0.1, with a small relative error for small b."""
    return log_gamma_growth_above(a, b) - (b / a).log1p()


def log_gamma_growth_above(a: Jet, b: Jet) -> Jet:
    """ln Γ(1 + a + b) − ln Γ(1 + a) for a > 0 and 0 < b ≤ 0.1."""
    return b * mean_of_psi(a, b)


def mean_of_psi(a: Jet | float, b: Jet) -> Jet:
    """(ln Γ(1 + a + b) − ln Γ(1 + a))/b for a ≥ 0 and 0 ≤ b ≤ 0.1: ∫₀¹ ψ(1 + a + s·b) ds by Gauss's rule."""
    return _mean(b * node + (a + 1.0) for node in _GAUSS[0])


def slope_of_mean_of_psi(a: Jet, b: Jet) -> Jet:
    """(`mean_of_psi` for a − `mean_of_psi` for 0)/a, without cancellation for small a."""

    def near() -> Jet:
        """The integral ∫₀¹∫₀¹ ψ′(1 + t·a + s·b) ds dt, for small a and b."""
        inner = [b * node + (a * other + 1.0) for node in _GAUSS[0] for other in _GAUSS[0]]
        weights = [one * two for one in _GAUSS[1] for two in _GAUSS[1]]
        return _mean(inner, weights, 1).dense()

    return branch(a.value < 0.1, near, lambda: ((mean_of_psi(a, b) - mean_of_psi(0.0, b)) / a).dense())


def _mean(points: Iterable[Jet], weights: Sequence[float] | None = None, order: int = 0) -> Jet:
    """Σ weights[i]·ψ⁽ⁿ⁾(points[i]) for n = order, 0 or 1."""
    terms = [
        point.compose(partial(_psi_taylor, count=point.order, order=order)) * weight
        for point, weight in zip(points, weights or _GAUSS[1], strict=True)
    ]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def expm1_quotient(v: Jet) -> Jet:
    """(eᵛ − 1)/v for |v| ≤ ½."""
    return v.polynomial([1.0 / math.factorial(k + 1) for k in range(15)])


_GAUSS: Final = (
    (0.04691007703066802, 0.23076534494715845, 0.5, 0.7692346550528415, 0.9530899229693319),
    (0.11846344252809454, 0.23931433524968326, 0.28444444444444444, 0.23931433524968326, 0.11846344252809454),
)
"""Nodes and weights of five points on (0, 1)."""


def _psi_taylor(v: Value, count: int, order: int) -> Iterable[Value]:
    """ψ⁽ⁿ⁾(v) and `count` derivatives of it over their factorials."""
    for k, term in enumerate(psi_series(v, count + 1 + order), start=1):
        if k > order:
            yield term * float(math.factorial(k) / math.factorial(k - 1 - order))


def expm1_taylor(v: Value, order: int) -> Iterable[Value]:
    """eᵛ − 1 and its derivatives over factorials."""
    yield v.call("expm1")
    if order:
        y = v.call("exp")
        yield from (y * (1.0 / math.factorial(k)) for k in range(1, order + 1))


def exponential_over(exponent: Jet, divisor: Value | None) -> Jet:
    """e^exponent, or e^exponent/divisor, accurate even if only the quotient is a normal number."""
    if divisor is None:
        return exponent.exp()
    one = divisor.like(1.0)
    is_tiny = exponent.value < -600.0
    scaled = (exponent + where(is_tiny, one * 600.0, 0.0)).exp() / divisor
    return scaled * where(is_tiny, one * math.exp(-600.0), 1.0)


def exponential_times(exponent: Jet, factor: Jet) -> Jet:
    """e^exponent·factor: ±∞ or 0 on overflow, not nan, for coefficients that are small or 0."""
    value = exponent.value
    if not exponent.order:
        return exponent.exp() * factor
    capped = where(value < 600.0, value, 600.0)
    growth = (value - capped).call("exp")
    found = exponent.with_value(capped).exp() * factor
    return found.each(lambda part: where(part.eq(0.0), part, part * growth))


def is_gamma_negative(x: Value) -> Value:
    """Is Γ(x) negative? It is for x < 0 where ⌊x⌋ is odd."""
    half = floor(x) * 0.5
    return (x < 0.0) & floor(half).ne(half)


def floor(v: Value) -> Value:
    """⌊v⌋."""
    return v.builder.value(v.builder.math("floor", v))
