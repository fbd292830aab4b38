"""Complex elementary functions by real functions of the parts: values, with the branch cuts of C99 and NumPy.

A value is a pair (x, y) of real variables; y is None for a real operand, so nothing is multiplied by a zero part. Cuts
are continuous from the side given by the sign of a zero. Errors are a few ulp of the size of the result: a part that
is much smaller than the other has a larger relative error (`log` near 1 and `expm1`, `log1p` near 0 do better).
After W. Kahan, Branch Cuts for Complex Elementary Functions, 1987, and C99, annex G; values at infinities and nan are
the formulas' own, which may differ from that annex.
"""

from __future__ import annotations

from functools import reduce
from math import e
from math import log2 as log2_of
from math import log10 as log10_of
from typing import Any, Final, TypeAlias

import numpy as np

from aotensor.graph.variable import Variable, constant
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.arithmetic import abs, maximum, neg
from aotensor.ops.elementwise.base import Elementwise, Row
from aotensor.ops.elementwise.compare import and_, eq, ge, gt, lt, switch
from aotensor.ops.elementwise.elementary import (
    arcsinh,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    sin,
    sinh,
    sqrt,
    tan,
)
from aotensor.ops.elementwise.points import arctan2, hypot

Number: TypeAlias = tuple[Variable, Variable | None]
"""A complex value by its parts; the imaginary part of a real one is None."""
Pair: TypeAlias = tuple[Variable, Variable]

copysign: Final = Elementwise(
    Row(
        "copysign",
        "|x| with the sign of y, that of a zero included",
        np.copysign,
        lambda s, x, y: s.math2("copysign", x, y),
        (lambda g, x, sign, y: g * _sign_bit(x) * _sign_bit(sign), None),
        notation="(abs({0}) * sign({1}))",
    )
)


def _sign_bit(x: Variable) -> Variable:
    """1 or −1 by the sign bit of x, also for zeros."""
    return copysign(zeros_like(x) + 1, x)


def _im(z: Number) -> Variable:
    return zeros_like(z[0]) if z[1] is None else z[1]


def _literal(value: float, x: Variable) -> Variable:
    """A constant in the dtype of x."""
    return constant(value, dtype=x.dtype)


def add(*terms: Number) -> Pair:
    """The sum of all terms."""
    imaginary = [y for _, y in terms if y is not None]
    return reduce(lambda a, b: a + b, (x for x, _ in terms)), reduce(lambda a, b: a + b, imaginary)


def sub(p: Number, q: Number) -> Pair:
    """p − q."""
    (a, b), (c, d) = p, q
    return a - c, neg(_im(q)) if b is None else b if d is None else b - d


def negative(z: Number) -> Pair:
    """−z."""
    return neg(z[0]), neg(_im(z))


def times(p: Number, q: Number) -> Pair:
    """p·q."""
    (a, b), (c, d) = p, q
    if b is None or d is None:
        return a * c, _im(q) * a if b is None else b * c
    return a * c - b * d, a * d + b * c


def mul(*factors: Number) -> Number:
    """The product of all factors."""
    return reduce(lambda p, q: (p[0] * q[0], None) if p[1] is None and q[1] is None else times(p, q), factors)


def divide(p: Number, q: Number) -> Pair:
    """p/q by R. Smith, 1962, without intermediate overflow, such as of |q|²."""
    (a, b), (c, d) = p, q
    if d is None:
        return a / c, _im(p) / c
    is_wide = ge(abs(c), abs(d))
    large, small = switch(is_wide, c, d), switch(is_wide, d, c)
    is_zero = eq(large, 0)
    ratio = small / switch(is_zero, 1, large)
    scale = switch(is_zero, np.inf, 1 / (large + small * ratio))
    if b is None:
        return switch(is_wide, a, a * ratio) * scale, switch(is_wide, -a * ratio, -a) * scale
    return switch(is_wide, a + b * ratio, a * ratio + b) * scale, switch(is_wide, b - a * ratio, b * ratio - a) * scale


def reciprocal(z: Number) -> Pair:
    """1/z."""
    return divide((zeros_like(z[0]) + 1, None), z)


def square(z: Number) -> Pair:
    """z²."""
    x, y = z[0], _im(z)
    return (x - y) * (x + y), 2 * x * y


def integer_power(z: Number, exponent: int) -> Number:
    """zⁿ for a literal n, by multiplications."""
    bits = f"{max(exponent, -exponent):b}"[1:]
    power = reduce(lambda low, bit: times(square(low), z) if bit == "1" else square(low), bits, z)
    return power if exponent > 0 else reciprocal(power)


def exponential(z: Number) -> Pair:
    """eᶻ; eˣ is applied in two factors where it would overflow alone."""
    x, y = z[0], _im(z)
    bound, step = (700.0, 100.0) if x.dtype == "float64" else (80.0, 20.0)
    is_large = gt(x, bound)
    size = exp(x - switch(is_large, step, _literal(0.0, x)))
    rest = switch(is_large, float(e**step), _literal(1.0, x))
    return size * cos(y) * rest, switch(eq(y, 0), y, size * sin(y) * rest)


def exponential2(z: Number) -> Pair:
    """2ᶻ."""
    x, angle = z[0], _im(z) * log_2
    size = exp2(x)
    return size * cos(angle), switch(eq(angle, 0), angle, size * sin(angle))


log_2: Final = 1 / log2_of(e)


def expm1_of(z: Number) -> Pair:
    """eᶻ − 1, exact near 0."""
    x, y = z[0], _im(z)
    half = sin(y / 2)
    return expm1(x) * cos(y) - 2 * half * half, exp(x) * sin(y)


def log_size(x: Variable, y: Variable) -> Variable:
    """ln |x + iy|: from the distance to 1 near 1, from scaled parts where |x + iy| would overflow or underflow."""
    is_wide = ge(abs(x), abs(y))  # one condition for both, so that derivatives are right where they are equal
    large, small = switch(is_wide, abs(x), abs(y)), switch(is_wide, abs(y), abs(x))
    is_near = and_(gt(large, 0.5), lt(large, 2.0))
    inside = switch(is_near, large, 1.0)
    near = 0.5 * log1p((inside - 1) * (inside + 1) + small * small)
    limits = np.finfo(x.dtype)
    is_huge, is_tiny = gt(large, float(limits.max) / 4), lt(large, float(limits.tiny) * 2.0**60)
    power = switch(is_huge, -2.0, switch(is_tiny, 100.0, _literal(0.0, x)))
    scale = switch(is_huge, 0.25, switch(is_tiny, 2.0**100, _literal(1.0, x)))
    return switch(and_(is_near, lt(small, 2.0)), near, log(hypot(x * scale, y * scale)) - power * log_2)


def logarithm(z: Number) -> Pair:
    """ln z; the cut is the negative real axis."""
    x, y = z[0], _im(z)
    return log_size(x, y), arctan2(y, x)


def logarithm2(z: Number) -> Pair:
    """Logarithm to base 2."""
    return times(logarithm(z), (zeros_like(z[0]) + log2_of(e), None))


def logarithm10(z: Number) -> Pair:
    """Logarithm to base 10."""
    return times(logarithm(z), (zeros_like(z[0]) + log10_of(e), None))


def log1p_of(z: Number) -> Pair:
    """ln(1 + z), exact near 0."""
    x, y = z[0], _im(z)
    is_near = and_(lt(abs(x), 0.5), lt(abs(y), 0.5))
    a, b = switch(is_near, x, 0.0), switch(is_near, y, 0.0)
    return switch(is_near, 0.5 * log1p(a * (2 + a) + b * b), log_size(1 + x, y)), arctan2(y, 1 + x)


def root(z: Number) -> Pair:
    """√z with a real part that is not negative; the cut is the negative real axis."""
    x, y = z[0], _im(z)
    large = maximum(abs(x), abs(y))
    limits = np.finfo(x.dtype)
    is_huge, is_tiny = gt(large, float(limits.max) / 8), lt(large, float(limits.tiny) * 2.0**60)
    scale = switch(is_huge, 0.0625, switch(is_tiny, 2.0**100, _literal(1.0, x)))
    back = switch(is_huge, 4.0, switch(is_tiny, 2.0**-50, _literal(1.0, x)))
    a, b = x * scale, y * scale
    t = sqrt((abs(a) + hypot(a, b)) / 2)
    rest = b / switch(eq(t, 0), 1.0, 2 * t)
    is_right = ge(x, 0)
    return switch(is_right, t, abs(rest)) * back, switch(is_right, switch(eq(t, 0), y, rest), copysign(t, y)) * back


def power(z: Number, w: Number) -> Pair:
    """z^w = exp(w·ln z); 0^w is 1 for w = 0, 0 for a positive real part of w, else nan."""
    a, b = exponential(times(w, logarithm(z)))
    at_zero = and_(eq(z[0], 0), eq(_im(z), 0))
    is_one = and_(eq(w[0], 0), eq(_im(w), 0))
    value = switch(is_one, 1.0, switch(gt(w[0], 0), 0.0, _literal(np.nan, z[0])))
    return switch(at_zero, value, a), switch(at_zero, switch(is_one, 0.0, value), b)


def sine(z: Number) -> Pair:
    """sin z."""
    x, y = z[0], _im(z)
    return sin(x) * cosh(y), cos(x) * sinh(y)


def cosine(z: Number) -> Pair:
    """cos z."""
    x, y = z[0], _im(z)
    return cos(x) * cosh(y), -sin(x) * sinh(y)


def hyperbolic_sine(z: Number) -> Pair:
    """sinh z."""
    x, y = z[0], _im(z)
    return sinh(x) * cos(y), cosh(x) * sin(y)


def hyperbolic_cosine(z: Number) -> Pair:
    """cosh z."""
    x, y = z[0], _im(z)
    return cosh(x) * cos(y), sinh(x) * sin(y)


def hyperbolic_tangent(z: Number) -> Pair:
    """tanh z: Kahan's formula where sinh² x matters, else ±1 and the remaining imaginary part."""
    x, y = z[0], _im(z)
    bound = 19.0 if x.dtype == "float64" else 9.0
    is_far = gt(abs(x), bound)
    inner = switch(is_far, 0.0, x)
    t, s = tan(y), sinh(inner)
    beta, rho = 1 + t * t, sqrt(1 + s * s)
    below = 1 + beta * s * s
    far = 4 * sin(y) * cos(y) * exp(-2 * abs(x))
    return switch(is_far, copysign(zeros_like(x) + 1, x), beta * rho * s / below), switch(is_far, far, t / below)


def _times_i(z: Number) -> Pair:
    """i·z."""
    return neg(_im(z)), z[0]


def _rotated_back(z: Number) -> Pair:
    """−i·z."""
    return _im(z), neg(z[0])


def tangent(z: Number) -> Pair:
    """tan z = −i·tanh(i·z)."""
    return _rotated_back(hyperbolic_tangent(_times_i(z)))


def _roots_of_one_minus_plus(z: Number) -> tuple[Pair, Pair]:
    """(√(1 − z), √(1 + z)), keeping the signs of zeros."""
    x, y = z[0], _im(z)
    return root((1 - x, neg(y))), root((1 + x, y))


def inverse_sine(z: Number) -> Pair:
    """arcsin z; cuts on the real axis beyond ±1."""
    (a, b), (c, d) = _roots_of_one_minus_plus(z)
    return arctan2(z[0], a * c - b * d), arcsinh(a * d - b * c)


def inverse_cosine(z: Number) -> Pair:
    """arccos z; cuts on the real axis beyond ±1."""
    (a, b), (c, d) = _roots_of_one_minus_plus(z)
    return 2 * arctan2(a, c), arcsinh(c * b - d * a)


def inverse_hyperbolic_sine(z: Number) -> Pair:
    """arcsinh z = −i·arcsin(i·z)."""
    return _rotated_back(inverse_sine(_times_i(z)))


def inverse_hyperbolic_cosine(z: Number) -> Pair:
    """arccosh z; the cut is the real axis below 1."""
    x, y = z[0], _im(z)
    (a, b), (c, d) = root((x - 1, y)), root((x + 1, y))
    return arcsinh(a * c + b * d), 2 * arctan2(b, c)


def inverse_hyperbolic_tangent(z: Number) -> Pair:
    """arctanh z, an odd function, on its right half; cuts on the real axis beyond ±1."""
    y = _sign_bit(z[0])
    x, signed = abs(z[0]), _im(z) * y
    gap = 1 - x
    re = 0.25 * log1p(4 * x / (gap * gap + signed * signed))
    im = 0.5 * arctan2(2 * signed, gap * (1 + x) - signed * signed)
    return re * y, im * y


def inverse_tangent(z: Number) -> Pair:
    """arctan z = −i·arctanh(i·z)."""
    return _rotated_back(inverse_hyperbolic_tangent(_times_i(z)))


def direction(z: Number) -> Pair:
    """z/|z|, 0 at 0."""
    x, y = z[0], _im(z)
    size = hypot(x, y)
    safe = switch(eq(size, 0), 1.0, size)
    return x / safe, y / safe


Formula: TypeAlias = Any
"""(*numbers) ↦ number; some accept a literal as well."""
