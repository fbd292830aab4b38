"""log and its family.

All of them write the argument as 2ⁿ·(1 + f) with 1 + f near 1 and add n·ln 2, in two parts, to log(1 + f):
    float64: with s = f/(2 + f), log(1 + f) = 2·artanh s = f − (f²/2 − s·(f²/2 + s²·P(s²))), the form in which the
             largest terms are exact (Sun Microsystems' fdlibm, 1993); relative error of 2·s + s³·P: 2**-59
    float32: log(1 + f) = f − f²/2 + f³·P(f); relative error 2**-27
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from aotensor.passes.scalar_math.exponential import LN2_PARTS, exp_and_complement, exp_of_negative
from aotensor.passes.scalar_math.value import Value, fma, polynomial, where

_TAIL: Final = {
    "float32": (
        0.3333321511745453, -0.24999797344207764, 0.2001044899225235, -0.16680581867694855, 0.14005182683467865,
        -0.1218206137418747, 0.13987894356250763, -0.12904556095600128,
    ),
    "float64": (
        0.6666666666666734, 0.3999999999941653, 0.2857142874207065, 0.22222198599237483, 0.18183563217997364,
        0.1531407400839699, 0.1479575484297891,
    ),
}  # fmt: skip
# 1 + f is between this and its double
_LOWEST: Final = {"float32": 2.0 / 3.0, "float64": math.sqrt(0.5)}
# 1/ln 2 and 1/ln 10 with 21 bits (float32: 12) and the remainder; log10(2) with 42 bits (15) and the remainder
_INVERSE_LN2: Final = {
    "float32": (1.4423828125, 0.00031222839606925845),
    "float64": (1.4426946640014648, 3.768874985636099e-07),
}
_INVERSE_LN10: Final = {
    "float32": (0.4342041015625, 9.038033749675378e-05),
    "float64": (0.4342944622039795, 1.9699272335463627e-08),
}
_LOG10_2: Final = {
    "float32": (0.301025390625, 4.605039066518657e-06),
    "float64": (0.30102999566395283, 2.8363394551044964e-14),
}


@dataclass(frozen=True, slots=True)
class Split:
    """The argument of a logarithm, split as 2**n·(1 + f)."""

    n: Value
    f: Value

    def series(self) -> tuple[Value, Value, Value]:
        """h, a and b of log(1 + f) = f − h + a·b, where h = f²/2 and a·b is of third order."""
        f = self.f
        square = f * f
        half_square = 0.5 * square
        if not f.is_double:
            return half_square, square * f, polynomial(f, _TAIL["float32"])
        s = f / (f + 2.0)
        z = s * s
        return half_square, s, fma(z, polynomial(z, _TAIL["float64"]), half_square)

    def log(self) -> Value:
        """The natural logarithm of the split number."""
        high, low = LN2_PARTS[self.f.dtype]
        half_square, a, b = self.series()
        return fma(self.n, high, self.f - (half_square - fma(a, b, self.n * low)))

    def log_to_base(self, inverse: tuple[float, float], log_of_two: tuple[float, float]) -> Value:
        """The logarithm of the split number to a base, from 1/log(base) and log_base(2), each in two parts.

        The first parts of 1/log(base) and of f − f²/2 have few enough bits that their product is exact.
        """
        half_square, a, b = self.series()
        head = (self.f - half_square).truncated()
        tail = fma(a, b, (self.f - head) - half_square)
        first, second = inverse
        product, rest = head * first, fma(head, second, tail * (first + second))
        whole = self.n * log_of_two[0]
        total = whole + product
        return total + (fma(self.n, log_of_two[1], rest) + ((whole - total) + product))


def split(x: Value, *, is_normal: bool = False) -> Split:
    """Split a positive x into 2**n·(1 + f).   is_normal: x is known not to be subnormal"""
    form = x.format
    bias: Value | float = _units(x) + form.bias
    if not is_normal:
        lift = form.fraction_bits + 2
        is_small = x < form.smallest_normal
        bias = where(is_small, x.like(_units(x) + form.bias + lift), bias)
        x = where(is_small, x * 2.0**lift, x)
    pattern = _shifted_pattern(x)
    fraction = (pattern & form.fraction_mask) + form.pattern(_LOWEST[x.dtype])
    return Split(_exponent(pattern, x, bias), fraction.bitcast(x.dtype) - 1.0)


def split_of_successor(x: Value) -> Split:
    """Split 1 + x into 2**n·(1 + f), for x > −1, with one rounding in f = 2**-n·x + (2**-n − 1).

    The computation uses 4·2**-n and ¼·x, which neither overflow nor underflow where it matters.
    """
    form = x.format
    quarter = 0.25 * x
    pattern = _shifted_pattern(fma(x, 0.25, 0.25))
    n = _exponent(pattern, x, _units(x) + form.bias - 2.0)
    four_inverse = (x.like(0.0).bits() + (2 * form.bias << form.fraction_bits)) - (pattern & ~form.fraction_mask)
    scale = four_inverse.bitcast(x.dtype)
    return Split(n, fma(scale, quarter, fma(scale, 0.25, -1.0)))


def _shifted_pattern(x: Value) -> Value:
    """A bit pattern whose exponent field is that of 2**n, for a normal x = 2**n·(1 + f)."""
    return x.bits() + (x.format.one_bits - x.format.pattern(_LOWEST[x.dtype]))


def _units(x: Value) -> float:
    """A float of the format of x whose last bit has the value 1."""
    return 2.0**x.format.fraction_bits


def _exponent(pattern: Value, x: Value, bias: Value | float) -> Value:
    """The exponent field as a float, minus `bias` − _units(x)."""
    field = pattern >> x.format.fraction_bits
    return (field | x.format.pattern(_units(x))).bitcast(x.dtype) - bias


def _with_pole(result: Value, x: Value, pole: float) -> Value:
    """The result for x > pole, −∞ for x = pole, nan for x < pole and for nan."""
    return where(x > pole, result, where(x.eq(pole), x.like(-math.inf), math.nan))


def log(x: Value) -> Value:
    """Natural logarithm. Bound: 2 ulp."""
    return _with_pole(where(x.eq(math.inf), x, split(x).log()), x, 0.0)


def log2(x: Value) -> Value:
    """Logarithm to base 2, exact for powers of 2. Bound: 1 ulp."""
    result = split(x).log_to_base(_INVERSE_LN2[x.dtype], (1.0, 0.0))
    return _with_pole(where(x.eq(math.inf), x, result), x, 0.0)


def log10(x: Value) -> Value:
    """Logarithm to base 10. Bound: 1 ulp."""
    result = split(x).log_to_base(_INVERSE_LN10[x.dtype], _LOG10_2[x.dtype])
    return _with_pole(where(x.eq(math.inf), x, result), x, 0.0)


def log1p(x: Value) -> Value:
    """log(1 + x), with 1 + x split before it is rounded. Bound: 2 ulp."""
    is_fixed = (abs(x) < x.format.tiny) | x.eq(math.inf)
    return _with_pole(where(is_fixed, x, split_of_successor(x).log()), x, -1.0)


def softplus(x: Value) -> Value:
    """log(1 + e**x) = max(x, 0) + log(1 + t) with t = e**-|x|. Bound: 2 ulp."""
    t = exp_of_negative(-abs(x))
    doubles = t > 2.0 * _LOWEST[x.dtype] - 1.0
    n = where(doubles, x.like(1.0), 0.0)
    f = where(doubles, fma(t, 0.5, -0.5), t)
    return where(x > 0.0, x, 0.0) + Split(n, f).log()


def log1mexp(x: Value) -> Value:
    """log(1 − e**x) for x ≤ 0: of −expm1(x) near 0, of 1 + (−e**x) elsewhere. Bound: 3 ulp.

    The rounding error of 1 − e**x is added to f.
    """
    power, complement = exp_and_complement(x)
    is_near = x > -math.log(2.0)
    argument = where(is_near, complement, 1.0 - power)
    parts = split(argument)
    lacking = where(is_near, x.like(0.0), (1.0 - argument) - power)
    lacking = where(argument < _LOWEST[x.dtype], lacking + lacking, lacking)
    return _with_pole(Split(parts.n, parts.f + lacking).log(), -x, 0.0)
