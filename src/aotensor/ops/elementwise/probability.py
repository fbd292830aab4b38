"""Inverse and scaled error functions, Γ, the normal distribution: compositions of the basic special functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import pi, sqrt
from typing import Any, Final

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.core.types import Array
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise
from aotensor.ops.elementwise.compare import eq, lt, switch
from aotensor.ops.elementwise.elementary import exp
from aotensor.ops.elementwise.scipy_reference import scipy_special
from aotensor.ops.elementwise.special import half_gauss, psi

_ROOT_PI = sqrt(pi)

# Wichura (1988), algorithm AS 241, PPND16: quotients of polynomials for the normal quantile, lowest power first;
# relative error about 1e-15. Centre: in 0.425² − q²; tails: in √(−ln r) − 1.6 and √(−ln r) − 5.
_CENTRE = (
    (3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
     45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727),
    (1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
     21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610),
)  # fmt: skip
_TAIL = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
     1.27045825245236838258, 0.241780725177450611770, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
     0.148103976427480074590, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
_FAR_TAIL = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 0.296560571828504891230,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 0.599832206555887937690, 0.136929880922735805310, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip


def _polynomial(s: ScalarBuilder, coefficients: Sequence[float], x: Scalar) -> Scalar:
    """Emit a polynomial in x by Horner's rule.   coefficients: lowest power first"""
    result = s.constant(coefficients[-1], x.dtype)
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result


def _quotient(s: ScalarBuilder, table: tuple[Sequence[float], Sequence[float]], x: Scalar, shift: float) -> Scalar:
    moved = x - shift
    return _polynomial(s, table[0], moved) / _polynomial(s, table[1], moved)


def _normal_quantile(s: ScalarBuilder, q: Scalar, r: Scalar) -> Scalar:
    """Emit the z ≥ 0 with Φ(z) = ½ + q, where q ≥ 0 and the tail r = ½ − q are both given exactly."""
    bound = s.constant(0.425, q.dtype)
    centre = q * _quotient(s, _CENTRE, bound * bound - q * q, 0.0)
    far = s.math("sqrt", -s.math("log", r))
    near_tail, far_tail = _quotient(s, _TAIL, far, 1.6), _quotient(s, _FAR_TAIL, far, 5.0)
    tail = s.select(far <= 5.0, near_tail, far_tail)
    infinite = s.constant(np.inf, q.dtype)
    tail = s.select(s.compare("eq", r, s.constant(0.0, q.dtype)), infinite, tail)
    return s.select(q <= bound, centre, tail)


def _emit_erfinv(s: ScalarBuilder, x: Scalar) -> Scalar:
    """Emit erfinv(x) = ±z/√2 from the normal quantile z with q = |x|/2 and r = (1 − |x|)/2; nan outside of [−1, 1]."""
    half, size = s.constant(0.5, x.dtype), s.abs(x)
    tail = half * (1.0 - size)
    z = _normal_quantile(s, half * size, tail)
    return s.math2("copysign", z * sqrt(0.5), x)


def _emit_erfcinv(s: ScalarBuilder, x: Scalar) -> Scalar:
    """Emit erfcinv(x) = ±z/√2 from the normal quantile z with q = |1 − x|/2 and the tail min(x/2, 1 − x/2)."""
    half, one = s.constant(0.5, x.dtype), s.constant(1.0, x.dtype)
    centred = half * (one - x)
    lower = half * x
    z = _normal_quantile(s, s.abs(centred), s.minimum(lower, one - lower))
    return s.math2("copysign", z * sqrt(0.5), centred)


erfinv = elementwise(
    "erfinv",
    "The x with erf x = y; ±inf at ±1, nan outside.",
    scipy_special("erfinv"),
    _emit_erfinv,
    (lambda g, x, y: g * exp(y * y) * (_ROOT_PI / 2),),
    scipy="erfinv",
)
erfcinv = elementwise(
    "erfcinv",
    "The x with erfc x = y; inf at 0, −inf at 2, nan outside.",
    scipy_special("erfcinv"),
    _emit_erfcinv,
    (lambda g, x, y: -g * exp(y * y) * (_ROOT_PI / 2),),
    scipy="erfcinv",
)

# --- e^{x²}·erfc x and its derivatives -------------------------------------------------------------------------------


_FRACTION_FROM: Final = 4.0
_FRACTION_TERMS: Final = 22
"""Terms of the continued fraction for an error below rounding from this x on; shared by all orders."""


def _emit_erfcx_order(order: int) -> Callable[[ScalarBuilder, Any], Scalar]:
    """fₙ = (−1)ⁿ·dⁿ/dxⁿ e^{x²}·erfc x > 0.   Source: DLMF 7.18.4, 7.18.7, 7.9.1.

    fₙ₊₁ = 2n·fₙ₋₁ − 2x·fₙ with f₁ = 2/√π − 2x·f₀; for large x by the fractions rₖ = 1/(x + (k + 1)/2·rₖ₊₁), where
    f₀ = r₀/√π and fₖ = k·rₖ·fₖ₋₁.
    """

    def emit(s: ScalarBuilder, x: Scalar) -> Scalar:
        if order and x.dtype != "float64":
            return s.cast(emit(s, s.cast(x, "float64")), x.dtype)

        def number(value: float) -> Scalar:
            return s.constant(value, x.dtype)

        near = [s.math("exp", x * x) * s.special("erfc", x)]
        for k in range(order):
            before = number(2.0 * k) * near[k - 1] if k else number(2 / _ROOT_PI)
            near.append(before - number(2.0) * (x * near[k]))
        fraction, far = x, number(1 / _ROOT_PI)
        for k in range(_FRACTION_TERMS, 0, -1):
            if k <= order:
                far *= number(float(k)) / fraction
            fraction = x + number(k / 2) / fraction
        far = far / fraction
        return s.select(x > number(_FRACTION_FROM), far, near[-1])

    return emit


def _reference_erfcx_order(order: int) -> Callable[[Array], Array]:
    def reference(x: Array) -> Array:
        z = x.astype(np.float64)
        below = [scipy_special("erfcx")(z)]
        for k in range(order):
            below.append((2.0 * k * below[k - 1] if k else 2 / _ROOT_PI) - 2 * z * below[k])
        z = np.maximum(z, _FRACTION_FROM)
        fraction, far = z, np.full_like(z, 1 / _ROOT_PI)
        for k in range(_FRACTION_TERMS, 0, -1):
            far = far * k / fraction if k <= order else far
            fraction = z + k / 2 / fraction
        return np.asarray(np.where(x > _FRACTION_FROM, far / fraction, below[-1]).astype(x.dtype))

    return reference if order else scipy_special("erfcx")


@cache
def _erfcx_order(order: int) -> Elementwise:
    return Elementwise(
        Row(
            "erfcx_order",
            "(−1)ⁿ times the n-th derivative of erfcx, which is positive",
            _reference_erfcx_order(order),
            _emit_erfcx_order(order),
            (lambda g, x, y: -g * _erfcx_order(order + 1)(x),),
            parameters=(("order", order),),
            notation="grad(erfcx({0}))",
        )
    )


MAKERS["erfcx_order"] = _erfcx_order

erfcx = elementwise(
    "erfcx",
    "e^{x²}·erfc x without overflow for large x; inf for very negative x.",
    scipy_special("erfcx"),
    _emit_erfcx_order(0),
    (lambda g, x, y: -g * _erfcx_order(1)(x),),
    scipy="erfcx",
)


# --- gamma -----------------------------------------------------------------------------------------------------------


def is_gamma_negative(s: ScalarBuilder, x: Scalar) -> Scalar:
    """Emit whether Γ(x) < 0: for x below 0 where ⌊x⌋ is odd."""
    halved = s.constant(0.5, x.dtype) * s.math("floor", x)
    is_odd = s.compare("ne", halved, s.math("floor", halved))
    return (x < 0.0) & is_odd


def _emit_gamma(s: ScalarBuilder, x: Scalar) -> Scalar:
    """Emit Γ(x) = ±e^{ln |Γ(x)|}; nan at negative integers and −inf, ±inf at ±0."""
    zero, one = s.constant(0.0, x.dtype), s.constant(1.0, x.dtype)
    size = s.math("exp", s.special("gammaln", x))
    signed = s.select(is_gamma_negative(s, x), -size, size)
    is_pole = (x < zero) & s.compare("eq", s.math("floor", x), x)
    signed = s.select(is_pole, s.constant(np.nan, x.dtype), signed)
    return s.select(s.compare("eq", x, zero), one / x, signed)


gamma = elementwise(
    "gamma",
    "Γ(x); nan at −1, −2, …, ±inf at ±0, inf beyond 171.6 in float64.",
    scipy_special("gamma"),
    _emit_gamma,
    (lambda g, x, y: g * y * psi(x),),
    scipy="gamma",
)


# --- normal distribution ---------------------------------------------------------------------------------------------


def _emit_log_ndtr(s: ScalarBuilder, x: Scalar) -> Scalar:
    """Emit ln Φ(x): ln(erfcx(−x/√2)/2) − x²/2 below −1, ln(erfc(−x/√2)/2) up to 0, ln(1 − erfc(x/√2)/2) above."""
    half = s.constant(0.5, x.dtype)
    z = x * sqrt(0.5)
    scaled = s.math("log", half * _emit_erfcx_order(0)(s, -z))
    far = scaled - half * (x * x)
    middle = s.math("log", half * s.special("erfc", -z))
    above = s.math("log1p", -(half * s.special("erfc", z)))
    is_far = x < -1.0
    is_above = x > 0.0
    return s.select(is_far, far, s.select(is_above, above, middle))


def _emit_inverse_mills(s: ScalarBuilder, x: Scalar) -> Scalar:
    """Emit φ(x)/Φ(x) = √(2/π)·e^{−x²/2}/erfc(−x/√2); for very negative x by the continued fraction of erfcx."""
    z = x * -sqrt(0.5)
    near = s.special("half_gauss", x) / s.special("erfc", z)
    fraction = z
    for k in range(_FRACTION_TERMS, 0, -1):
        fraction = z + k / 2 / fraction
    far = fraction * sqrt(2)
    is_far = z > _FRACTION_FROM
    return s.select(is_far, far, near * sqrt(2 / pi))


def _reference_inverse_mills(x: Array) -> Array:
    z = x.astype(np.float64)
    right = np.maximum(z, 0)
    above = half_gauss.row.reference(right) * (2 / scipy_special("erfc")(-right * sqrt(0.5)) / sqrt(2 * pi))
    below = sqrt(2 / pi) / scipy_special("erfcx")(np.minimum(z, 0) * -sqrt(0.5))
    return np.asarray(np.where(z > 0, above, below).astype(x.dtype))


def _inverse_mills_slope(g: Variable, x: Variable, y: Variable) -> Variable:
    """The derivative −y·(x + y) of the inverse Mills ratio y, times g, without cancellation in x + y for negative x."""
    is_left = lt(x, 0)
    z = switch(is_left, x * -sqrt(0.5), 0)
    gap = switch(is_left, sqrt(0.5) * (_erfcx_order(1)(z) / erfcx(z)), x + y)
    return switch(eq(y, 0), 0, -g * y * gap)


_inverse_mills: Final = Elementwise(
    Row(
        "inverse_mills",
        "φ(x)/Φ(x) of the normal distribution, the derivative of ln Φ; it neither overflows nor cancels",
        _reference_inverse_mills,
        _emit_inverse_mills,
        (_inverse_mills_slope,),
        notation="grad(log_ndtr({0}))",
    )
)
log_ndtr = elementwise(
    "log_ndtr",
    "ln Φ(x) of the normal distribution, also far to the left, where Φ underflows.",
    scipy_special("log_ndtr"),
    _emit_log_ndtr,
    (lambda g, x, y: g * _inverse_mills(x),),
    scipy="log_ndtr",
)


def _emit_ndtri(s: ScalarBuilder, p: Scalar) -> Scalar:
    """Emit the normal quantile of p: ±z from |p − ½| and min(p, 1 − p); nan outside of [0, 1]."""
    centred = p - 0.5
    tail = s.minimum(p, 1.0 - p)
    return s.math2("copysign", _normal_quantile(s, s.abs(centred), tail), centred)


ndtri = elementwise(
    "ndtri",
    "The x with Φ(x) = p; ∓inf at 0 and 1, nan outside.",
    scipy_special("ndtri"),
    _emit_ndtri,
    (lambda g, p, y: g * exp(0.5 * y * y) * sqrt(2 * pi),),
    scipy="ndtri",
)
