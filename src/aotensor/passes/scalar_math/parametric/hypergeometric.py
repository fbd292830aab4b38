"""Gauss's hypergeometric function F(a, b; c; z) and its derivatives in all operands, in float64, for real z ≤ 1.

    |z| ≤ ½     the power series 15.2.1 of DLMF; for integer a ≤ 0 or b ≤ 0 it is finite, and used for every z
    z < 1       Taylor's expansions of the solution of the differential equation 15.10.1, from −½ or ½ on by steps of
                half the distance to the nearest singularity, 0 or 1: about 3·log₂|z| or log₂(1/(1 − z)) of them, of 60
                terms; there are no special cases for integer a − b or c − a − b
    z = 1       Γ(c)·Γ(c − a − b)/(Γ(c − a)·Γ(c − b)), 15.4.20, for c − a − b > 0

Derivatives in z are F again: (a)ₗ·(b)ₗ/(c)ₗ·F(a + l, b + l; c + l; z), 15.5.2.
Source: NIST Digital Library of Mathematical Functions, chapter 15; Pearson, Olver & Porter (2017), "Numerical methods
for the computation of the confluent and Gauss hypergeometric functions", section 4.8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from aotensor.passes.scalar_math.parametric.control import Item, branch, repeat, sum_terms
from aotensor.passes.scalar_math.parametric.gamma_parts import floor, is_gamma_negative
from aotensor.passes.scalar_math.parametric.jet import Jet
from aotensor.passes.scalar_math.value import Value, where

_SERIES_WITHIN: Final = 0.5
_NEGLIGIBLE: Final = 2.0**-56


def hyp2f1(
    a: Value, b: Value, c: Value, z: Value, order_a: int = 0, order_b: int = 0, order_c: int = 0, order_z: int = 0
) -> Value:
    """F(a, b; c; z), or a derivative; ∞ for z > 1 and for integer c ≤ 0, unless the series ends before.

    Bound for |a|, |b|, |c| ≤ 6: 1e-12 of the larger of the result and the largest term of the series; first derivatives
    1e-11 of that, second ones 1e-10. At z = 1 there are only values, and for z > 1 only derivatives in z.
    """
    p, q, r = Jet.parameters([a, b, c], (order_a, order_b, order_c))
    factor = p.constant(1.0)
    for k in range(order_z):
        factor = factor * (p + float(k)) * (q + float(k)) / (r + float(k))
    p, q, r = p + float(order_z), q + float(order_z), r + float(order_z)
    is_value = not (order_a or order_b or order_c or order_z)
    is_ended = (_ends(p.value) | _ends(q.value)) & (z >= 1.0)
    if order_a or order_b or order_c:  # a polynomial has no singularity there
        is_ended = is_ended & z.ne(z)
    is_inside = is_ended | ((z < 1.0) & (z > -math.inf))
    point = where(is_inside, z, 0.0)
    found = branch(
        is_ended | (abs(point) <= _SERIES_WITHIN),
        lambda: _by_powers(p, q, r, point).dense(),
        lambda: _by_steps(p, q, r, point).dense(),
    )
    regular = (factor * found).derivative
    outside = where(z.eq(1.0), _at_one(a, b, c), where(z > 1.0, z.like(math.inf), math.nan))
    if is_value:
        is_pole = _ends(c) & ~(_ends(a) & (a >= c)) & ~(_ends(b) & (b >= c)) & z.ne(0.0) & z.eq(z)
        outside, is_inside = where(is_pole, math.inf, outside), is_inside & ~is_pole
        regular = where(z.eq(0.0), 1.0, regular)
    else:
        outside = where(factor.value.eq(0.0) & (z >= 1.0), z.like(0.0), math.nan)
    is_known = a.eq(a) & b.eq(b) & c.eq(c)
    return where(is_known, where(is_inside, regular, outside), math.nan)


def _ends(x: Value) -> Value:
    """Is x an integer ≤ 0, so that the power series is finite?"""
    return (x <= 0.0) & floor(x).eq(x)


def _by_powers(a: Jet, b: Jet, c: Jet, z: Value) -> Jet:
    return sum_terms(a.constant(1.0), lambda k: (a + (k - 1.0)) * (b + (k - 1.0)) / ((c + (k - 1.0)) * k) * z)


def _by_steps(a: Jet, b: Jet, c: Jet, z: Value) -> Jet:
    """F(z) for z < −½ or ½ < z < 1, by Taylor steps."""
    start = where(z < 0.0, z.like(-_SERIES_WITHIN), _SERIES_WITHIN)
    value = _by_powers(a, b, c, start)
    slope = a * b / c * _by_powers(a + 1.0, b + 1.0, c + 1.0, start)

    def advance(here: Value, value: Jet, slope: Jet) -> Sequence[Item]:
        reach = where(here < 0.0, here * 0.5, (1.0 - here) * 0.5)
        following = here + reach
        is_last = where(here < 0.0, following <= z, following >= z)
        following = where(is_last, z, following)
        return following, *_taylor(a, b, c, here, following - here, value, slope)

    found = repeat((start, value.dense(), slope.dense()), lambda here, *_: here.ne(z), advance)[1]
    assert isinstance(found, Jet)
    return found


def _taylor(a: Jet, b: Jet, c: Jet, here: Value, step: Value, value: Jet, slope: Jet) -> tuple[Jet, Jet]:
    """F and F′ at z = here + step from their values at z = here.

    By z(1 − z)·F″ + (c − (a + b + 1)·z)·F′ − a·b·F = 0, term by term.
    """
    inverse = 1.0 / (here * (1.0 - here))
    linear = c - (a + b + 1.0) * here

    def goes_on(n: Value, total: Jet, change: Jet, one: Jet, two: Jet) -> Value:
        found = n < 2.0
        for index in total.parts:
            size = (abs(total.parts[index]) + abs(total.parts[(0,) * len(a.top)])) * _NEGLIGIBLE
            found = found | (abs(one.parts[index]) > size) | (abs(two.parts[index]) > size)
        return found & (n < 1e4)

    def again(n: Value, total: Jet, change: Jet, one: Jet, two: Jet) -> Sequence[Item]:
        # one and two are the terms of orders n and n + 1
        three = (a + n) * (b + n) * one * (step * step) - (linear + (1.0 - 2.0 * here) * n) * two * (step * (n + 1.0))
        three = three * (inverse / ((n + 1.0) * (n + 2.0)))
        return n + 1.0, (total + two).dense(), (change + two * (n + 1.0)).dense(), two, three.dense()

    zero = a.constant(0.0).dense()
    start = (step.like(0.0), value, zero, value, (slope * step).dense())
    _, total, change, *_ = repeat(start, goes_on, again)
    assert isinstance(total, Jet)
    assert isinstance(change, Jet)
    return total, change / step


def _at_one(a: Value, b: Value, c: Value) -> Value:
    rest = c - a - b
    logarithm = c.call("gammaln_apart") + rest.call("gammaln_apart")
    logarithm = logarithm - (c - a).call("gammaln_apart") - (c - b).call("gammaln_apart")
    is_negative = is_gamma_negative(c) ^ is_gamma_negative(c - a) ^ is_gamma_negative(c - b)
    size = logarithm.call("exp")
    return where(rest > 0.0, where(is_negative, -size, size), math.inf)
