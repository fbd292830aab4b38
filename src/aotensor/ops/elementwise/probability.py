"""Inverse and scaled error functions, gamma and beta functions: composed of the basic special functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from math import pi, sqrt
from typing import Any

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.core.types import Array
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise
from aotensor.ops.elementwise.elementary import exp
from aotensor.ops.elementwise.scipy_reference import scipy_special
from aotensor.ops.elementwise.special import psi

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


def _polynomial(s: ScalarBuilder, coefficients: Sequence[float], x: Any) -> Scalar:
    """Horner's rule, lowest power first."""
    result = s.constant(coefficients[-1], x.dtype)
    for coefficient in reversed(coefficients[:-1]):
        result = s.add(s.mul(result, x), s.constant(coefficient, x.dtype))
    return result


def _quotient(s: ScalarBuilder, table: tuple[Sequence[float], Sequence[float]], x: Any, shift: float) -> Scalar:
    moved = s.sub(x, s.constant(shift, x.dtype))
    return s.div(_polynomial(s, table[0], moved), _polynomial(s, table[1], moved))


def _normal_quantile(s: ScalarBuilder, q: Any, r: Any) -> Scalar:
    """The z ≥ 0 with Φ(z) = 1/2 + q, where q ≥ 0 and the tail r = 1/2 − q are both given exactly."""
    bound = s.constant(0.425, q.dtype)
    centre = s.mul(q, _quotient(s, _CENTRE, s.sub(s.mul(bound, bound), s.mul(q, q)), 0.0))
    far = s.math("sqrt", s.neg(s.math("log", r)))
    near_tail, far_tail = _quotient(s, _TAIL, far, 1.6), _quotient(s, _FAR_TAIL, far, 5.0)
    tail = s.select(s.compare("le", far, s.constant(5.0, q.dtype)), near_tail, far_tail)
    infinite = s.constant(np.inf, q.dtype)
    tail = s.select(s.compare("eq", r, s.constant(0.0, q.dtype)), infinite, tail)
    return s.select(s.compare("le", q, bound), centre, tail)


def _emit_erfinv(s: ScalarBuilder, x: Any) -> Scalar:
    """±z/√2 with q = |x|/2 and r = (1 − |x|)/2; the logarithm makes it nan outside."""
    half, size = s.constant(0.5, x.dtype), s.abs(x)
    tail = s.mul(half, s.sub(s.constant(1.0, x.dtype), size))
    z = _normal_quantile(s, s.mul(half, size), tail)
    return s.math2("copysign", s.mul(z, s.constant(sqrt(0.5), x.dtype)), x)


def _emit_erfcinv(s: ScalarBuilder, x: Any) -> Scalar:
    """±z/√2 with q = |1 − x|/2 and the smaller one of x/2 and 1 − x/2 as tail."""
    half, one = s.constant(0.5, x.dtype), s.constant(1.0, x.dtype)
    centred = s.mul(half, s.sub(one, x))
    lower = s.mul(half, x)
    z = _normal_quantile(s, s.abs(centred), s.minimum(lower, s.sub(one, lower)))
    return s.math2("copysign", s.mul(z, s.constant(sqrt(0.5), x.dtype)), centred)


erfinv = elementwise(
    "erfinv",
    "The x with erf x = y; ±inf at ±1, nan outside.",
    scipy_special("erfinv"),
    _emit_erfinv,
    (lambda g, x, y: g * exp(y * y) * (_ROOT_PI / 2),),
)
erfcinv = elementwise(
    "erfcinv",
    "The x with erfc x = y; inf at 0, −inf at 2, nan outside.",
    scipy_special("erfcinv"),
    _emit_erfcinv,
    (lambda g, x, y: -g * exp(y * y) * (_ROOT_PI / 2),),
)

_FRACTION_FROM = 4.0
_FRACTION_TERMS = 20
"""Terms of Laplace's continued fraction of erfcx that leave no error beyond rounding from 4 on."""


def _emit_erfcx(s: ScalarBuilder, x: Any) -> Scalar:
    """e^{x²}·erfc x up to 4, beyond that 1/√π/(x + (1/2)/(x + 1/(x + (3/2)/(x + …)))).   Source: DLMF 7.9.1."""
    product = s.mul(s.math("exp", s.mul(x, x)), s.special("erfc", x))
    far = s.div(s.constant(1 / _ROOT_PI, x.dtype), _fractions(s, x, 0)[0])
    return s.select(s.compare("gt", x, s.constant(_FRACTION_FROM, x.dtype)), far, product)


def _fractions(s: ScalarBuilder, x: Any, count: int) -> list[Scalar]:
    """fₖ = x + ((k + 1)/2)/fₖ₊₁ for k = 0 … count."""
    found = [x]
    for k in range(_FRACTION_TERMS + max(count - 2, 0), 0, -1):
        found.append(s.add(x, s.div(s.constant(k / 2, x.dtype), found[-1])))
    return found[::-1]


def _emit_derivative_of_erfcx(order: int, s: ScalarBuilder, x: Any) -> Scalar:
    """Dₙ = 2x·Dₙ₋₁ + 2(n − 1)·Dₙ₋₂ up to 4, beyond that −n·Dₙ₋₁/fₙ.   Source: DLMF 7.18.6, 7.18.7, 7.18.13."""
    two_x, fractions = s.mul(s.constant(2.0, x.dtype), x), _fractions(s, x, order)
    far = s.div(s.constant(1 / _ROOT_PI, x.dtype), fractions[0])
    near = s.mul(s.math("exp", s.mul(x, x)), s.special("erfc", x))
    before = s.constant(0.0, x.dtype)
    for n in range(1, order + 1):
        rest = s.mul(s.constant(2.0 * (n - 1), x.dtype), before) if n > 1 else s.constant(-2 / _ROOT_PI, x.dtype)
        before, near = near, s.add(s.mul(two_x, near), rest)
        far = s.div(s.mul(s.constant(-float(n), x.dtype), far), fractions[n])
    return s.select(s.compare("gt", x, s.constant(_FRACTION_FROM, x.dtype)), far, near)


def _reference_of_derivative(order: int, x: Array) -> Array:
    wide = x.astype(np.float64)
    fractions = [wide]
    for k in range(_FRACTION_TERMS + order, 0, -1):
        fractions.append(wide + k / 2 / fractions[-1])
    near = far = scipy_special("erfcx")(wide)
    before = np.zeros(())
    for n in range(1, order + 1):
        rest = 2.0 * (n - 1) * before if n > 1 else -2 / _ROOT_PI
        before, near = near, 2 * wide * near + rest
        far = -n * far / fractions[-1 - n]
    return np.asarray(np.where(wide > _FRACTION_FROM, far, near), x.dtype)


@cache
def _derivative_of_erfcx(order: int) -> Elementwise:
    """∂ⁿ/∂xⁿ of e^{x²}·erfc x without the difference 2xy − 2/√π, which cancels for large x."""
    return Elementwise(
        Row(
            "erfcx_derivative",
            "a derivative of e^{x²}·erfc x",
            partial(_reference_of_derivative, order),
            partial(_emit_derivative_of_erfcx, order),
            (lambda g, x, y: g * _derivative_of_erfcx(order + 1)(x),),
            parameters=(("order", order),),
        )
    )


MAKERS["erfcx_derivative"] = _derivative_of_erfcx

erfcx = elementwise(
    "erfcx",
    "e^{x²}·erfc x without overflow for large x; inf for very negative x.",
    scipy_special("erfcx"),
    _emit_erfcx,
    (lambda g, x, y: g * _derivative_of_erfcx(1)(x),),
)


def _is_gamma_negative(s: ScalarBuilder, x: Any) -> Scalar:
    """Γ(x) < 0: below 0 where ⌊x⌋ is odd."""
    halved = s.mul(s.constant(0.5, x.dtype), s.math("floor", x))
    is_odd = s.compare("ne", halved, s.math("floor", halved))
    return s.and_(s.compare("lt", x, s.constant(0.0, x.dtype)), is_odd)


def _emit_gamma(s: ScalarBuilder, x: Any) -> Scalar:
    """±e^{ln |Γ(x)|}; nan at negative integers and −inf, ±inf at ±0."""
    zero, one = s.constant(0.0, x.dtype), s.constant(1.0, x.dtype)
    size = s.math("exp", s.special("gammaln", x))
    signed = s.select(_is_gamma_negative(s, x), s.neg(size), size)
    is_pole = s.and_(s.compare("lt", x, zero), s.compare("eq", s.math("floor", x), x))
    signed = s.select(is_pole, s.constant(np.nan, x.dtype), signed)
    return s.select(s.compare("eq", x, zero), s.div(one, x), signed)


gamma = elementwise(
    "gamma",
    "Γ(x); nan at −1, −2, …, ±inf at ±0, inf beyond 171.6 in float64.",
    scipy_special("gamma"),
    _emit_gamma,
    (lambda g, x, y: g * y * psi(x),),
)


def _emit_betaln(s: ScalarBuilder, a: Any, b: Any) -> Scalar:
    separate = s.add(s.special("gammaln", a), s.special("gammaln", b))
    return s.sub(separate, s.special("gammaln", s.add(a, b)))


def _emit_beta(s: ScalarBuilder, a: Any, b: Any) -> Scalar:
    size = s.math("exp", _emit_betaln(s, a, b))
    numerator = s.xor(_is_gamma_negative(s, a), _is_gamma_negative(s, b))
    return s.select(s.xor(numerator, _is_gamma_negative(s, s.add(a, b))), s.neg(size), size)


betaln = elementwise(
    "betaln",
    "ln |B(a, b)|, from three logarithms of Γ.",
    scipy_special("betaln"),
    _emit_betaln,
    (lambda g, a, b, y: g * (psi(a) - psi(a + b)), lambda g, a, b, y: g * (psi(b) - psi(a + b))),
)
beta = elementwise(
    "beta",
    "B(a, b) = Γ(a)·Γ(b)/Γ(a + b), from three logarithms of Γ.",
    scipy_special("beta"),
    _emit_beta,
    (lambda g, a, b, y: g * y * (psi(a) - psi(a + b)), lambda g, a, b, y: g * y * (psi(b) - psi(a + b))),
)


# --- normal distribution ---------------------------------------------------------------------------------------------


def _emit_log_ndtr(s: ScalarBuilder, x: Any) -> Scalar:
    """ln(erfcx(−x/√2)/2) − x²/2 below −1, ln(erfc(−x/√2)/2) up to 0, ln(1 − erfc(x/√2)/2) above."""
    half = s.constant(0.5, x.dtype)
    z = s.mul(x, s.constant(sqrt(0.5), x.dtype))
    scaled = s.math("log", s.mul(half, _emit_erfcx(s, s.neg(z))))
    far = s.sub(scaled, s.mul(half, s.mul(x, x)))
    middle = s.math("log", s.mul(half, s.special("erfc", s.neg(z))))
    above = s.math("log1p", s.neg(s.mul(half, s.special("erfc", z))))
    is_far = s.compare("lt", x, s.constant(-1.0, x.dtype))
    is_above = s.compare("gt", x, s.constant(0.0, x.dtype))
    return s.select(is_far, far, s.select(is_above, above, middle))


log_ndtr = elementwise(
    "log_ndtr",
    "ln Φ(x) of the normal distribution, also far to the left, where Φ underflows.",
    scipy_special("log_ndtr"),
    _emit_log_ndtr,
    (lambda g, x, y: g * (sqrt(2 / pi) / erfcx(x * -sqrt(0.5))),),
)


def _emit_ndtri(s: ScalarBuilder, p: Any) -> Scalar:
    """±z from |p − ½| and the smaller one of p and 1 − p; the logarithm makes it nan outside."""
    centred = s.sub(p, s.constant(0.5, p.dtype))
    tail = s.minimum(p, s.sub(s.constant(1.0, p.dtype), p))
    return s.math2("copysign", _normal_quantile(s, s.abs(centred), tail), centred)


ndtri = elementwise(
    "ndtri",
    "The x with Φ(x) = p; ∓inf at 0 and 1, nan outside.",
    scipy_special("ndtri"),
    _emit_ndtri,
    (lambda g, p, y: g * exp(0.5 * y * y) * sqrt(2 * pi),),
)
