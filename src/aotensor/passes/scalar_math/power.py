"""Powers: x**y in more than double precision for float64 and through float64 for float32, and the cube root."""

from __future__ import annotations

import math
from typing import Final

from aotensor.passes.scalar_math.exponential import exp2_split, power_of_two, reduce_exponent
from aotensor.passes.scalar_math.logarithm import Split, split
from aotensor.passes.scalar_math.value import Value, at_least, at_most, fma, polynomial, where

# (3·artanh(s)/s − 3 − s²)/s⁴ in powers of s² up to (√2 − 1)²/(√2 + 1)², relative error 2**-54
_LOG_TAIL: Final = (
    0.6, 0.4285714285715074, 0.33333333328758225, 0.2727272827750549, 0.2307681606740288, 0.2000606325189491,
    0.17463011681903634, 0.18528827626514222,
)  # fmt: skip
# 2·artanh(s)/(s·ln 2) in powers of s² on the same interval, relative error 2**-38
_LOG2_SINGLE: Final = (
    2.885390081790087, 0.9617966733414363, 0.5770835849982269, 0.4116727181911665, 0.34073010819310884,
)  # fmt: skip
# (2**y − 1)/y for |y| ≤ ½, error 2**-29
_EXP2_SINGLE: Final = (
    0.693147202852057, 0.2402264791189022, 0.05550332473016268, 0.009618437494919065, 0.0013398874119913355,
    0.00015353334876258364,
)  # fmt: skip
# (1 + f)**-⅓ for √½ ≤ 1 + f ≤ √2, relative errors 2**-12 and 2**-17
_INVERSE_CBRT: Final = {
    "float32": (
        0.9997786348980691, -0.33466994780997034, 0.23772118430216327, -0.15853974168410065,
    ),
    "float64": (
        1.0000038469028913, -0.33326098014956657, 0.2216051048424146, -0.17581850375671074, 0.1604171563855707,
        -0.1080643291253794,
    ),
}  # fmt: skip
_CBRT_2: Final = 1.2599210498948732
# 2/(3·ln 2): the first part has 26 bits
_SCALE: Final = (0.9617966860532761, 7.872699542894897e-09)


def pow(x: Value, y: Value) -> Value:
    """x**y, with all special cases of C99 (Annex F). Bound: 2 ulp.

    |x|**y = 2**(y·log₂|x|). In float64 the logarithm and the product have about 68 bits.
    """
    size = abs(x)
    power = _power_double(size, y) if x.is_double else _power_single(size, y)
    return _with_sign(x, y, power)


def _with_sign(x: Value, y: Value, power: Value) -> Value:
    """x**y from |x|**y: odd powers have the sign of x, non-integer powers of negative numbers are nan."""
    form, size = x.format, abs(y)
    unit = 2.0**form.fraction_bits
    is_integer = (size >= unit) | ((size + unit) - unit).eq(size)
    is_even = (size >= 2.0 * unit) | ((size + 2.0 * unit) - 2.0 * unit).eq(size)
    sign_bit = 1 << form.fraction_bits + form.exponent_bits
    sign = where(is_integer & ~is_even, x.bits() & sign_bit, 0)
    result = (power.bits() | sign).bitcast(x.dtype)
    has_no_value = (x < 0.0) & (x > -math.inf) & ~is_integer & (size < math.inf)
    result = where(has_no_value | x.ne(x) | y.ne(y), x.like(math.nan), result)
    return where(y.eq(0.0) | x.eq(1.0), x.like(1.0), result)


def _power_single(x: Value, y: Value) -> Value:
    """x**y for x ≥ 0 in float32, computed in float64 with an error of 2**-30."""
    wide = x.cast("float64")
    parts = split(wide, is_normal=True)
    s = parts.f / (parts.f + 2.0)
    logarithm = fma(s, polynomial(s * s, _LOG2_SINGLE), parts.n)
    logarithm = _at_the_ends(wide, logarithm)
    exponent = y.cast("float64") * logarithm
    exponent = at_most(200.0, at_least(-200.0, exponent))
    n_bits, rest = reduce_exponent(where(x.eq(1.0), 0.0, exponent))
    root = fma(rest, polynomial(rest, _EXP2_SINGLE), 1.0)
    return (root.bits() + (n_bits << 52)).bitcast("float64").cast(x.dtype)


def _at_the_ends(x: Value, logarithm: Value) -> Value:
    """`logarithm` of x, or its limits −∞ for x = 0 and ∞ for x = ∞."""
    return where(x.eq(0.0), x.like(-math.inf), where(x.eq(math.inf), x, logarithm))


def _power_double(x: Value, y: Value) -> Value:
    """x**y for x ≥ 0 in float64, with y·log₂ x in two parts if it is finite and not huge."""
    parts = split(x)
    high, low = _log2(parts)
    y_high = y.truncated()
    product = y_high * high
    rest = fma(y, low, (y - y_high) * high)
    plain = where(x.eq(1.0), 0.0, y * _at_the_ends(x, high))
    is_moderate = (abs(plain) < 1100.0) & x.ne(1.0)
    return exp2_split(where(is_moderate, product, plain), where(is_moderate, rest, 0.0))


def _log2(parts: Split) -> tuple[Value, Value]:
    """log₂ of 2**n·(1 + f) as the sum of a number with 26 bits and a small remainder, with an error of about 2**-66.

    log(1 + f) = ⅔·s·(3 + s² + s⁴·R(s²)) with s = f/(2 + f); s and the sum are computed in two parts, as in the pow of
    Sun Microsystems' fdlibm (1993), without its table.
    """
    f = parts.f
    divisor = f + 2.0
    inverse = 1.0 / divisor
    s = f * inverse
    s_high = s.truncated()
    divisor_high = divisor.truncated()
    divisor_low = f - (divisor_high - 2.0)
    # f − s_high·divisor is exact: each product has at most 52 bits
    s_low = ((f - s_high * divisor_high) - s_high * divisor_low) * inverse
    square = s * s
    tail = fma(square * square, polynomial(square, _LOG_TAIL), s_low * (s_high + s))
    square_high = s_high * s_high
    sum_high = (square_high + 3.0 + tail).truncated()
    sum_low = tail - ((sum_high - 3.0) - square_high)
    head, rest = s_high * sum_high, fma(s_low, sum_high, sum_low * s)
    product_high = (head + rest).truncated()
    product_low = rest - (product_high - head)
    scale_high, scale_low = _SCALE
    z_high = product_high * scale_high
    z_low = fma(product_high, scale_low, product_low * (scale_high + scale_low))
    high = ((z_high + z_low) + parts.n).truncated()
    return high, z_low - ((high - parts.n) - z_high)


def cbrt(x: Value) -> Value:
    """Cube root; float32 uses float64. Bound: 1 ulp.

    |x| = 8**q·m with m in [√½/2, 2·√2]. y ≈ m**-⅓ is refined by one step of third order of Halley's method, which
    needs no division, and m·y² by one of Newton's.
    """
    size = abs(x).cast("float64")
    parts = split(size, is_normal=not x.is_double)
    shifted = fma(parts.n, 1.0 / 3.0, size.format.round_shift)
    remainder = fma(shifted - size.format.round_shift, -3.0, parts.n)
    f = parts.f
    m, start = f + 1.0, polynomial(f, _INVERSE_CBRT[x.dtype])
    below, above = remainder < 0.0, remainder > 0.0
    m = m * where(below, m.like(0.5), where(above, m.like(2.0), 1.0))
    y = start * where(below, m.like(_CBRT_2), where(above, m.like(1.0 / _CBRT_2), 1.0))
    h = 1.0 - m * y * y * y
    y = fma(y * h, fma(h, 2.0 / 9.0, 1.0 / 3.0), y)
    root = m * (y * y)
    if x.is_double:
        root = fma(m - root * root * root, y * y * (1.0 / 3.0), root)
    result = (root * power_of_two(shifted.bits(), root)).cast(x.dtype).with_sign_of(x)
    return where((abs(x) > 0.0) & (abs(x) < math.inf), result, x)
