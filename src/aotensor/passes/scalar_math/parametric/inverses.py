"""Quantiles of the gamma and the beta distribution: inverses of P, Q and I in float64.

With the tail t at most ½, ln t(x) = ln p is solved by Newton's method in ln x, or in ln(x/(1 − x)): the densities in
these variables are log-concave, so that the logarithm of each tail is concave and the method converges from every
start, monotonically after the first step. A step multiplies x, which therefore keeps all digits. Source: Gil, Segura &
Temme (2012), "Efficient and accurate algorithms for the computation and inversion of the incomplete gamma function
ratios", for the starts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from aotensor.passes.scalar_math.parametric.control import branch, repeat
from aotensor.passes.scalar_math.value import Value, polynomial, where

_STEPS: Final = 200.0
_CLOSE: Final = 1e-7
"""Below this size, a step that is larger than half the one before is rounding noise."""
_TINY: Final = 1e-300
_NEAR: Final = 1e-17
"""Below this distance from an end, one power of the distance is the tail."""


def gammaincinv(a: Value, p: Value) -> Value:
    """The x with P(a, x) = p: 0 for p = 0, ∞ for p = 1; nan for a < 0 and p outside 0 … 1, and for a = 0 or ∞.

    Bound: relative error 1e-15·(4 + (2 + |ln p|)/a); the last term is the effect of some ulp of p.
    """
    return _gamma_quantile(a, p, 1.0 - p, p <= 0.5)


def gammainccinv(a: Value, q: Value) -> Value:
    """The x with Q(a, x) = q: ∞ for q = 0, 0 for q = 1; nan for a < 0 and q outside 0 … 1, and for a = 0 or ∞."""
    return _gamma_quantile(a, 1.0 - q, q, q >= 0.5)


def betaincinv(a: Value, b: Value, p: Value) -> Value:
    """The x with I_x(a, b) = p; nan for a ≤ 0, b ≤ 0 and p outside 0 … 1.

    Bound: relative error 1e-15·(8 + (2 + |ln p|)/a) of x for p ≤ ½, otherwise of 1 − x with b in place of a.
    """
    is_inside = (a > 0.0) & (b > 0.0) & (p > 0.0) & (p < 1.0) & (a < math.inf) & (b < math.inf)
    is_low = p <= 0.5
    own, other = where(is_inside, where(is_low, a, b), 1.0), where(is_inside, where(is_low, b, a), 1.0)
    tail = where(is_inside, where(is_low, p, 1.0 - p), 0.5)
    odds = _beta_odds(own, other, tail)
    is_proper = (a > 0.0) & (b > 0.0) & (p >= 0.0) & (p <= 1.0)
    is_far = (a.eq(math.inf) | b.eq(math.inf)) & ~(a.eq(math.inf) & b.eq(math.inf))
    limit = where(p.eq(0.0) | p.eq(1.0), p, where(is_far, where(a < b, a.like(0.0), 1.0), math.nan))
    # the odds are infinite where the smaller of x and 1 − x underflows
    found = where(is_low & (odds > 1.0), 1.0 / (1.0 + 1.0 / odds), where(is_low, odds, 1.0) / (1.0 + odds))
    return where(is_inside, found, where(is_proper, limit, math.nan))


def _beta_odds(a: Value, b: Value, tail: Value) -> Value:
    """x/(1 − x) for I_x(a, b) = tail ≤ ½."""

    def value_of(odds: Value) -> tuple[Value, Value]:
        x, y = odds / (1.0 + odds), 1.0 / (1.0 + odds)
        value = a.call("betainc", b, x)
        # where x rounds to 1, use the complement
        is_end = (odds > 1e3) & (value > 1e-3)
        value = branch(is_end, lambda: 1.0 - b.call("betainc", a, y), lambda: value)
        density = branch(odds < 1.0, lambda: a.call("beta_density", b, x), lambda: b.call("beta_density", a, y))
        return value, density * y * x

    # (1 − t)ᵇ⁻¹ ≤ 2 up to ½, which bounds x from below; the logarithm of the odds is about normal
    exponent = tail.call("log") + _log_scaled(a, b)
    near_zero = (exponent / a).call("exp")
    near_one = (((-tail).call("log1p") + _log_scaled(b, a)) / b).call("exp")
    bound = (exponent - where(b < 1.0, b.like(math.log(2.0)), 0.0)) / a
    bound = where(bound < -math.log(2.0), bound, -math.log(2.0)).call("exp")
    least = bound / (1.0 - bound)
    smallest = 0.5 * _NEAR / (1.0 + b)  # x is larger, if near_zero is not x
    least = where(least < smallest, smallest, least)
    spread = (1.0 / a + 1.0 / b).sqrt()
    normal = a / b * (_normal_quantile(tail) * spread).call("exp")
    start = where((spread < 1.0) & (normal > least), normal, least)
    return branch(
        near_zero * (1.0 + b) < _NEAR,
        lambda: near_zero,
        lambda: branch(
            near_one * (1.0 + a) < _NEAR,
            lambda: 1.0 / near_one,
            lambda: _newton(start, tail, value_of, least, a.like(math.inf), 0.5 * spread),
        ),
    )


def _log_scaled(a: Value, b: Value) -> Value:
    """ln(a·B(a, b)); for small a and b, where ln a and ln B cancel, by Γ at 1 + a, 1 + b and 1 + a + b."""
    is_small = (a < 1.0) & (b < 1.0)

    def small() -> Value:
        both, first, second = (((x + 1.0).call("gammaln_apart")) for x in (a + b, a, b))
        return (a / b).call("log1p") + (first + second - both)

    return branch(is_small, small, lambda: a.call("log") + a.call("betaln_apart", b))


def _normal_quantile(tail: Value) -> Value:
    """The z ≤ 0 with Φ(z) = tail ≤ ½, to 4.5e-4, as a starting value.   Source: Abramowitz & Stegun, 26.2.23"""
    far = (tail.call("log") * -2.0).sqrt()
    above, below = (2.515517, 0.802853, 0.010328), (1.0, 1.432788, 0.189269, 0.001308)
    return polynomial(far, above) / polynomial(far, below) - far


def _gamma_quantile(a: Value, p: Value, q: Value, is_low: Value) -> Value:
    """The x with P = p, computed from the smaller of p and q = 1 − p."""
    is_inside = (a > 0.0) & (p >= 0.0) & (q >= 0.0) & (where(is_low, p, q) > 0.0) & (a < math.inf)
    shape, tail = where(is_inside, a, 1.0), where(is_inside, where(is_low, p, q), 0.5)
    lower = where(is_inside, p, 0.5)
    # P ≤ xᵃ/Γ(a + 1) bounds x from below; Wilson and Hilferty: the cube root of x/a is about normal
    growth = (shape + 1.0).call("gammaln_apart")
    bound = ((where(is_low, tail.call("log"), where(lower > 0.0, lower, 1.0).call("log")) + growth) / shape).call("exp")
    root = 1.0 / (9.0 * shape)
    z = _normal_quantile(tail)
    cube = 1.0 - root + where(is_low, z, -z) * root.sqrt()
    is_cubic = (cube > 0.1) & (shape > 0.5)
    cubic = shape * cube * cube * cube
    start = where(is_cubic & ((cubic > bound) | ~is_low), cubic, bound)

    def value_of(x: Value) -> tuple[Value, Value]:
        value = branch(is_low, lambda: shape.call("gammainc", x), lambda: shape.call("gammaincc", x))
        slope = x * shape.call("gamma_density", x)
        return value, where(is_low, slope, -slope)

    blind = 1.0 / (1.0 + shape).sqrt()
    largest = where(is_low, shape.like(math.inf), 4.0 * blind)
    least = where(is_low, bound, 0.0)
    found = branch(
        bound < 1e-17,
        lambda: bound,
        lambda: _newton(start, tail, value_of, least, largest, where(is_low, blind, -blind)),
    )
    is_proper = (a >= 0.0) & (p >= 0.0) & (q >= 0.0) & (a < math.inf)
    outside = where(p.eq(0.0), a.like(0.0), where(q.eq(0.0), a.like(math.inf), math.nan))
    return where(is_inside, found, where(is_proper, outside, math.nan))


def _newton(
    start: Value,
    tail: Value,
    value_of: Callable[[Value], tuple[Value, Value]],
    least: Value,
    largest: Value,
    blind: Value,
) -> Value:
    """The x with t(x) = tail, by Newton's method.

    value_of: x ↦ t and its derivative in ln x. least: lower bound on x. largest: bound on a step in ln x. blind: the
    step where t underflows.
    """

    def goes_on(k: Value, x: Value, step: Value, before: Value) -> Value:
        is_far = abs(step) > _CLOSE
        is_falling = (abs(step) > 2.0**-54) & (abs(step) < 0.5 * abs(before))
        return (is_far | is_falling) & (k < _STEPS)

    def again(k: Value, x: Value, step: Value, before: Value) -> tuple[Value, ...]:
        value, slope = value_of(x)
        # (ln tail − ln t)·t/t′, where the logarithm of a quotient near 1 is exact
        distance = (tail - value) / value
        is_near = abs(distance) < 0.5
        logarithm = branch(
            is_near,
            lambda: where(is_near, distance, 0.0).call("log1p"),
            lambda: tail.call("log") - value.call("log"),
        )
        newton = logarithm * value / slope
        newton = where(newton > largest, largest, where(newton < -largest, -largest, newton))
        newton = where(value < _TINY, blind, newton)
        following = x * newton.call("exp")
        return k + 1.0, where(following < least, least, following), newton, step

    first = start.like(math.inf)
    found = repeat((start.like(0.0), start, first, first), goes_on, again)[1]
    assert isinstance(found, Value)
    return found
