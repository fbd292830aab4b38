"""The modified Bessel functions I_v and K_v of real order and their derivatives in the order, in float64.

    v² + x² ≥ 40²      both by Debye's expansions
    otherwise          I_v = (x/2)ᵛ/Γ(v + 1)·Σ (x²/4)ᵏ/(k!·(v + 1)ₖ), DLMF 10.25.2
                       K_v = e^{−x − E}·½·∫ e^{−w·(cosh u − 1) − v·(sinh u − u)} du over the real line, by
                       the trapezoidal rule: 10.32.9 about its saddle
    |v| < ½, x < 40    K_v = ∫ cosh(v·u)·e^{−x·cosh u} du from 0 on, 10.32.9, by the same rule
    v < 0              I_v = I₋ᵥ + 2/π·sin(π·|v|)·K_v and K_v = K₋ᵥ                                    DLMF 10.27

Source: NIST Digital Library of Mathematical Functions, chapter 10; Trefethen & Weideman (2014), "The exponentially
convergent trapezoidal rule".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from aotensor.passes.scalar_math.parametric import debye
from aotensor.passes.scalar_math.parametric.control import Item, branch, repeat, sum_terms
from aotensor.passes.scalar_math.parametric.gamma_parts import (
    exponential_times,
    floor,
    is_gamma_negative,
    log_gamma_of_successor,
)
from aotensor.passes.scalar_math.parametric.jet import Index, Jet, choose
from aotensor.passes.scalar_math.value import Value, where

_EVEN_BELOW: Final = 0.5
"""Bound on |v| below which K is an integral over cosh(v·u): for small v both sides of the saddle cancel in
derivatives."""


def iv(v: Value, x: Value, order: int = 0, order_x: int = 0) -> Value:
    """I_v(x), or a derivative in v and x; for x < 0 only for integer v, else nan.

    Bound: relative error 1e-14·(1 + |ln I_v|); first derivatives 1e-12·(1 + |ln|), second ones 1e-11.
    """
    return _first_kind(v, x, order, order_x, is_scaled=False)


def ive(v: Value, x: Value, order: int = 0, order_x: int = 0) -> Value:
    """e^{−|x|}·I_v(x), or a derivative in v and x."""
    return _first_kind(v, x, order, order_x, is_scaled=True)


def kv(v: Value, x: Value, order: int = 0, order_x: int = 0) -> Value:
    """K_v(x), or a derivative in v and x: ±∞ at x = 0, nan below.

    Bound: relative error 1e-14·(1 + |ln K_v|); first derivatives 1e-12·(1 + |ln|), second ones 1e-11.
    """
    return _second_kind(v, x, order, order_x, is_scaled=False)


def kve(v: Value, x: Value, order: int = 0, order_x: int = 0) -> Value:
    """eˣ·K_v(x), or a derivative in v and x."""
    return _second_kind(v, x, order, order_x, is_scaled=True)


def is_whole(v: Value) -> Value:
    """Is v an integer?"""
    return floor(v).eq(v)


def is_odd(v: Value) -> Value:
    """Is an integer v odd?"""
    half = v * 0.5
    return floor(half).ne(half)


def _operands(v: Value, x: Value, order: int, order_x: int) -> tuple[Jet, Jet]:
    """v, and x as a function of its relative change ε, x·(1 + ε): these derivatives neither overflow nor underflow."""
    own, point = Jet.parameters([v, x], (order, order_x))
    return own, point if not order_x else Jet(point.top, {**point.parts, (0, 1): x})


@dataclass(frozen=True)
class _Units:
    """Converts derivatives in relative changes of x to derivatives in x: by a factor x⁻ʲ, or a term of the exponent."""

    term: Value | None
    factor: Value | None

    @staticmethod
    def from_argument(x: Value, order: int) -> _Units:
        if not order:
            return _Units(None, None)
        factor = inverse = 1.0 / x
        for _ in range(order - 1):
            factor = factor * inverse
        is_far = (x < 1e-100) | (x > 1e100)
        return _Units(where(is_far, x.call("log") * -float(order), 0.0), where(is_far, 1.0, factor))

    def times(self, exponent: Jet, factor: Jet) -> Jet:
        """e^exponent·factor in units of x."""
        if self.term is None or self.factor is None:
            return exponential_times(exponent, factor)
        return exponential_times(exponent + self.term, factor) * self.factor


def _second_kind(v: Value, x: Value, order: int, order_x: int, is_scaled: bool) -> Value:
    is_inside = (x > 0.0) & (x < math.inf) & (abs(v) < math.inf)
    point = where(is_inside, x, 1.0)
    own, at = _operands(where(is_inside, v, 0.0), point, order, order_x)
    mirrored = choose(v < 0.0, -own, own)
    units = _Units.from_argument(point, order_x)
    shift = at.constant(0.0) if is_scaled else -at
    found = _mirrored_second_kind(mirrored, at, shift, None, units).derivative
    # the derivatives of an even function of v
    infinite = where(v < 0.0, (-1.0) ** (order + order_x) * math.inf, x.like((-1.0) ** order_x * math.inf))
    if order or order_x:  # beyond the largest number or below the smallest one, where coefficients are ∞ − ∞ or 0·∞
        found = where(found.ne(found), where(point > abs(v), 0.0, infinite), found)
    at_zero = where(v.eq(0.0), 0.0, infinite) if order % 2 else infinite
    # as in SciPy, nan at ∞ for the scaled function
    at_infinity = where(x.eq(math.inf), x.like(math.nan if is_scaled else 0.0), math.nan)
    outside = where(x.eq(0.0), at_zero, at_infinity)
    return where(is_inside, found, where(abs(v) < math.inf, outside, math.nan))


def _mirrored_second_kind(v: Jet, x: Jet, shift: Jet, factor: Jet | None, units: _Units) -> Jet:
    """factor·e^{x + shift}·K_v(x) for v ≥ 0 and x > 0."""
    w = debye.hypotenuse(v, x)

    def by_debye() -> Jet:
        return (debye.series(v, w, -1.0) * (math.sqrt(math.pi * 0.5) / w.sqrt())).dense()

    def far() -> Jet:
        integral = branch(w.value >= debye.FROM, by_debye, lambda: _integral(v, w, x).dense())
        return units.times(shift - debye.exponent(v, w, x), integral if factor is None else integral * factor).dense()

    def near() -> Jet:
        integral = _even_integral(v, x)
        return units.times(shift, integral if factor is None else integral * factor).dense()

    return branch((v.value < _EVEN_BELOW) & (x.value < debye.FROM), near, far)


def _even_integral(v: Jet, x: Jet) -> Jet:
    """eˣ·K_v(x) = ∫₀^∞ cosh(v·u)·e^{−x·(cosh u − 1)} du, whose odd derivatives in v are small for small v."""
    step = _step(x.value)
    growth = step.call("exp")

    def goes_on(k: Value, power: Value, total: Jet, term: Jet) -> Value:
        found = k < 2.0
        for index, part in term.parts.items():
            found = found | (abs(part) > abs(total.parts[index]) * 2.0**-54)
        return found & (power < 1e308)

    def again(k: Value, power: Value, total: Jet, term: Jet) -> Sequence[Item]:
        weight = (x * ((power - 1.0) * (0.5 / power - 0.5))).exp()
        following = ((v * (k * step)).compose(even) * weight).dense()
        return k + 1.0, power * growth, (total + following).dense(), following

    def even(u: Value) -> Iterable[Value]:
        for k in range(v.order + 1):
            yield u.call("sinh" if k % 2 else "cosh") * (1.0 / math.factorial(k))

    first = v.constant(0.5).dense()
    total = repeat((step.like(1.0), growth, first, first), goes_on, again)[2]
    assert isinstance(total, Jet)
    return total * step


def _step(w: Value) -> Value:
    """The step of the trapezoidal rule that leaves an error of 1e-17 for w ≤ 40."""
    return 9.0 / (38.0 + 1.1 * w)


def _integral(v: Jet, w: Jet, x: Jet) -> Jet:
    """½·∫ e^{−w·(cosh u − 1) − v·(sinh u − u)} du by the trapezoidal rule, with an error of 1e-17 for w ≤ 40."""
    step = _step(w.value)
    growth = step.call("exp")

    # w − v, the growth rate of the exponent on the left
    rest = x / (w + v) * x

    def goes_on(k: Value, power: Value, total: Jet, term: Jet) -> Value:
        found = k < 2.0
        for index, part in term.parts.items():
            found = found | (abs(part) > abs(total.parts[index]) * 2.0**-54)
        return found & (power < 1e300)

    def again(k: Value, power: Value, total: Jet, term: Jet) -> Sequence[Item]:
        inverse, u = 1.0 / power, k * step
        even = (power - 1.0) * (0.5 - 0.5 * inverse)
        right = w * even + v * ((power - inverse) * 0.5 - u)
        left = rest * even + v * ((inverse - 1.0) + u)
        pair = ((-right).exp() + (-left).exp()).dense()
        return k + 1.0, power * growth, (total + pair).dense(), pair

    one = v.constant(1.0).dense()
    total = repeat((step.like(1.0), growth, one, one), goes_on, again)[2]
    assert isinstance(total, Jet)
    return total * (0.5 * step)


def _first_kind(v: Value, x: Value, order: int, order_x: int, is_scaled: bool) -> Value:
    size, whole = abs(x), is_whole(v)
    is_inside = (size > 0.0) & (size < math.inf) & (abs(v) < math.inf) & ((x > 0.0) | whole)
    point = where(is_inside, size, 1.0)
    own, at = _operands(where(is_inside, v, 1.0), point, order, order_x)
    units = _Units.from_argument(point, order_x)
    found = branch(
        (v < 0.0) & (~whole if not order else v.eq(v)),
        lambda: _negative_order(own, at, is_scaled, units).dense(),
        lambda: _mirrored_first_kind(choose(v < 0.0, -own, own), at, is_scaled, units).dense(),
    ).derivative
    if order or order_x:
        # beyond the smallest number or the largest one, where coefficients are 0·∞ or ∞ − ∞
        is_lost = found.ne(found)
        found = where(is_lost & (v > point), x.like(0.0), found)
        if not is_scaled:
            infinite = where(v < 0.0, x.like(math.inf), (-1.0) ** order * math.inf)
            found = where(is_lost & (abs(v) <= point), infinite, found)
    if order:
        found = where(x < 0.0, math.nan, found)
    else:
        found = where((x < 0.0) & (is_odd(v) ^ v.like(float(order_x % 2)).ne(0.0)), -found, found)
    at_zero = _at_zero(v, whole, order, order_x, is_scaled)
    has_limit = x.eq(0.0) & v.eq(v) & (abs(v) < math.inf)
    if not order and not is_scaled:
        at_zero = where(v.eq(math.inf) & (x.eq(x)), 0.0, at_zero)
        has_limit = has_limit | (v.eq(math.inf) & (size < math.inf))
    return where(is_inside, found, where(has_limit, at_zero, math.nan))


def _at_zero(v: Value, whole: Value, order: int, order_x: int, is_scaled: bool) -> Value:
    """A derivative of I_v at x = 0. If `is_scaled`, a derivative of e^{−|x|}·I_v, which has a kink there."""
    if order:
        infinite = v.like((-1.0) ** order * math.inf)
        return where(v > float(order_x), v.like(0.0), where(v.eq(float(order_x)), infinite, math.nan))
    if not order_x:
        without = math.nan if is_scaled else math.inf
        return where(v.eq(0.0), v.like(1.0), where((v > 0.0) | whole, v.like(0.0), without))
    # I = (x/2)ᵛ/Γ(v + 1) + …
    pole = where(is_gamma_negative(v + (1.0 - order_x)), v.like(-math.inf), math.inf)
    found = where((v > float(order_x)) | whole, v.like(0.0), pole)
    for k in range(order_x // 2 + 1):
        own = order_x - 2 * k
        size = math.factorial(order_x) / (2.0**order_x * math.factorial(k) * math.factorial(own + k))
        found = where(abs(v).eq(float(own)), size, found)
    return found


def _mirrored_first_kind(v: Jet, x: Jet, is_scaled: bool, units: _Units) -> Jet:
    """I_v(x), or e^{−x}·I_v(x), for v ≥ 0 and x > 0."""

    def by_debye() -> Jet:
        w = debye.hypotenuse(v, x)
        exponent = debye.exponent(v, w, x)
        series = debye.series(v, w, 1.0) / (w * (2.0 * math.pi)).sqrt()
        return units.times(exponent if is_scaled else exponent + x, series).dense()

    def by_powers() -> Jet:
        half = x * 0.5
        square = half * half
        series = sum_terms(v.constant(1.0), lambda k: square / ((v + k) * k))
        exponent = v * _log_of_half(x) - log_gamma_of_successor(v)
        return units.times(exponent, series * (-x).exp() if is_scaled else series).dense()

    is_far = v.value * v.value + x.value * x.value >= debye.FROM**2
    return branch(is_far, by_debye, by_powers)


def _log_of_half(x: Jet) -> Jet:
    """ln(x/2) for x·(1 + ε), whose derivatives are constants."""
    value = x.value
    found: dict[Index, Value] = {(0, 0): (value * 0.5).call("log")}
    for j in range(1, x.top[1] + 1):
        found[0, j] = value.like((-1.0) ** (j + 1) / j)
    return Jet(x.top, found)


def _negative_order(v: Jet, x: Jet, is_scaled: bool, units: _Units) -> Jet:
    """I_v(x), or e^{−x}·I_v(x), for v < 0."""
    mirrored = -v
    sine = sine_pi(mirrored) * (2.0 / math.pi)
    other = _mirrored_second_kind(mirrored, x, x * (-2.0 if is_scaled else -1.0), sine, units)
    return _mirrored_first_kind(mirrored, x, is_scaled, units) + other


def sine_pi(v: Jet) -> Jet:
    """sin(π·v), exactly 0 for integer v."""
    return v.compose(lambda u: _sine_series(u, v.order, 0))


def cosine_pi(v: Jet) -> Jet:
    """cos(π·v)."""
    return v.compose(lambda u: _sine_series(u, v.order, 1))


def _sine_series(v: Value, order: int, shift: int) -> Iterable[Value]:
    """The Taylor coefficients of sin(πv), or of cos(πv) for shift 1."""
    nearest = floor(v + 0.5)
    angle = (v - nearest) * math.pi
    sine, cosine = angle.call("sin"), angle.call("cos")
    sign = where(is_odd(nearest), v.like(-1.0), 1.0)
    parts = (sign * sine, sign * cosine, -(sign * sine), -(sign * cosine))
    for k in range(order + 1):
        yield parts[(k + shift) % 4] * (math.pi**k / math.factorial(k))
