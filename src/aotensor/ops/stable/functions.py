"""Stable replacements of formulas that overflow or cancel, in values or in derivatives."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.core.types import Array
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row
from aotensor.ops.elementwise.compare import gt, lt, switch
from aotensor.ops.elementwise.elementary import exp, log, tanh
from aotensor.ops.elementwise.special import log1mexp, softplus

_FAINT: Final = -37.0
"""Below it eˣ/2 is less than half an ulp of 1: ln(1 − e^(−e^x)) = x − eˣ/2 and ln ln(1 + eˣ) = x − eˣ/2."""


def _reference_log_cosh(x: Array) -> Array:
    size = np.abs(x)
    near = np.log1p(2 * np.square(np.sinh(np.minimum(size, 1) / 2)))
    return np.asarray(np.where(size < 1, near, size + np.log1p(np.exp(-2 * size)) - math.log(2)), x.dtype)


def _emit_log_cosh(s: ScalarBuilder, x: Any) -> Scalar:
    """Emit log cosh x: log1p(2·sinh²(x/2)) near 0, |x| + log1p(e^{−2|x|}) − ln 2 elsewhere."""
    one, two = s.constant(1.0, x.dtype), s.constant(2.0, x.dtype)
    size = s.abs(x)
    half = s.math("sinh", s.constant(0.5, x.dtype) * s.minimum(size, one))
    near = s.math("log1p", two * (half * half))
    far = s.math("log1p", s.math("exp", -2.0 * size))
    far = size - math.log(2) + far
    return s.select(size < one, near, far)


log_cosh: Final = Elementwise(
    Row(
        "log_cosh",
        "ln cosh x without overflow, and exact near 0",
        _reference_log_cosh,
        _emit_log_cosh,
        (lambda g, x, y: g * tanh(x),),
        analytic=lambda x: np.log(np.cosh(x)),
        notation="log(cosh({0}))",
    )
)
sech: Final = Elementwise(
    Row(
        "sech",
        "1/cosh x, whose derivative is made of itself: sinh/cosh² is ∞/∞ far out",
        lambda x: 1 / np.cosh(x),
        lambda s, x: s.constant(1.0, x.dtype) / s.math("cosh", x),
        (lambda g, x, y: -g * y * tanh(x),),
        analytic=lambda x: 1 / np.cosh(x),
        notation="(1 / cosh({0}))",
    )
)
csch: Final = Elementwise(
    Row(
        "csch",
        "1/sinh x, whose derivative is made of itself: cosh/sinh² is ∞/∞ far out",
        lambda x: 1 / np.sinh(x),
        lambda s, x: s.constant(1.0, x.dtype) / s.math("sinh", x),
        (lambda g, x, y: -g * y / tanh(x),),
        analytic=lambda x: 1 / np.sinh(x),
        notation="(1 / sinh({0}))",
    )
)


@cache
def gompertz(power: int) -> Elementwise:
    """The op e^{n·x − eˣ}; its derivatives are sums of ops of this kind, where products of eˣ and e^(−eˣ) would be
    ∞·0.
    """

    def emit(s: ScalarBuilder, x: Any) -> Scalar:
        exponent = s.math("exp", x)
        return s.math("exp", s.constant(float(power), x.dtype) * x - exponent)

    def slope(g: Variable, x: Variable, y: Variable) -> Variable:
        return g * (power * y - gompertz(power + 1)(x)) if power else -g * gompertz(1)(x)

    return Elementwise(
        Row(
            "gompertz",
            "e^{n·x − eˣ}",
            lambda x: np.exp(power * x - np.exp(x)),
            emit,
            (slope,),
            parameters=(("power", power),),
            analytic=lambda x: np.exp(power * x - np.exp(x)),
            notation="grad(exp(-exp({0})))",
        )
    )


MAKERS["gompertz"] = gompertz


_HUGE: Final = 2.0**54
"""Above it ln(1 + x²) is 2·ln(1 + |x|) to an ulp, where x² may overflow."""


@cache
def log1p_square(order: int = 0) -> Elementwise:
    """The op ln(1 + x²), or its n-th derivative 2·(−1)ⁿ⁻¹·(n − 1)!·Re (x + i)⁻ⁿ, without underflow for large x."""

    def reference(x: Array) -> Array:
        if not order:
            is_huge = np.abs(x) > _HUGE
            return np.asarray(np.where(is_huge, 2.0, 1.0) * np.log1p(np.where(is_huge, np.abs(x), x * x)), x.dtype)
        is_huge = np.abs(x) > _HUGE
        below = 1 + np.square(np.where(is_huge, 1, x))
        re = np.where(is_huge, 1, x) / np.where(is_huge, x, below)
        w = re - 1j * np.where(is_huge, re * re, 1 / below)
        return np.asarray(_factor(order) * np.real(w**order), x.dtype)

    return Elementwise(
        Row(
            "log1p_square",
            "ln(1 + x²) without overflow, or a derivative of it",
            reference,
            lambda s, x: _emit_derivative(s, x, order) if order else _emit_log1p_square(s, x),
            (lambda g, x, y: g * log1p_square(order + 1)(x),),
            parameters=(("order", order),),
            analytic=None if order else lambda x: np.log(1 + x * x),
            notation="log1p(({0})**2)",
        )
    )


MAKERS["log1p_square"] = log1p_square


def _factor(order: int) -> float:
    return (2.0 if order % 2 else -2.0) * math.factorial(order - 1)


def _emit_log1p_square(s: ScalarBuilder, x: Any) -> Scalar:
    one, two = s.constant(1.0, x.dtype), s.constant(2.0, x.dtype)
    size = s.abs(x)
    is_huge = size > _HUGE
    return s.select(is_huge, two, one) * s.math("log1p", s.select(is_huge, size, x * x))


def _emit_derivative(s: ScalarBuilder, x: Any, order: int) -> Scalar:
    """Emit the real part of a power of 1/(x + i) = (x − i)/(1 + x²), which is 1/x − i/x² for large x."""
    one = s.constant(1.0, x.dtype)
    is_huge = s.abs(x) > _HUGE
    below = one + x * x
    re = s.select(is_huge, one, x) / s.select(is_huge, x, below)
    if order == 1:
        return s.constant(_factor(order), x.dtype) * re
    im = -s.select(is_huge, re * re, one / below)
    a, b = re, im
    for _ in range(order - 1):
        a, b = a * re - b * im, a * im + b * re
    return s.constant(_factor(order), x.dtype) * a


def log_of_gompertz_rest(v: Variable) -> Variable:
    """ln(1 − e^(−eᵛ)), accurate also where eᵛ or e^(−eᵛ) underflows."""
    is_faint, is_full = lt(v, _FAINT), gt(v, 7)
    middle = switch(is_faint, 0, switch(is_full, 0, v))
    return switch(is_faint, v - 0.5 * exp(switch(is_faint, v, 0)), switch(is_full, 0, log1mexp(-exp(middle))))


def log_of_softplus(v: Variable) -> Variable:
    """ln ln(1 + eᵛ), accurate also where eᵛ underflows."""
    is_faint = lt(v, _FAINT)
    return switch(is_faint, v - 0.5 * exp(switch(is_faint, v, 0)), log(softplus(switch(is_faint, 0, v))))
