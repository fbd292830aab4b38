"""sin, cos and tan, and their common reduction of an angle to [−π/4, π/4].

For angles below 2**21, n·π/2 is subtracted in four parts; the first three have 32 bits, so that every product is exact
(Cody & Waite, 1980); the rounding errors of the subtractions are kept. Larger angles are multiplied by the bits of
1/(2π) that matter for their exponent, in 128-bit fixed point (M. Payne & R. Hanek, Radian reduction for trigonometric
functions, 1983). That needs about a hundred operations and is in a branch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from aotensor.passes.scalar_math.value import FORMATS, Value, fma, polynomial, rarely, where

_NEAR_LIMIT: Final = 2.0**21
_HALF_PI: Final = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32)
# (sin r / r − 1)/r² in powers of r², relative errors 2**-28 and 2**-58
_SIN: Final = {
    "float32": (
        -0.16666654609600384, 0.008332160764454847, -0.00019515283532068703,
    ),
    "float64": (
        -0.1666666666666663, 0.00833333333332184, -0.00019841269829358354, 2.755731353839151e-06,
        -2.5050734361341008e-08, 1.5895431234883125e-10,
    ),
}  # fmt: skip
# (cos r − 1)/r² in powers of r², relative errors 2**-34 and 2**-64
_COS: Final = {
    "float32": (
        -0.4999999969448619, 0.04166662035727292, -0.0013886681641901663, 2.4383566391879297e-05,
    ),
    "float64": (
        -0.5, 0.041666666666666595, -0.0013888888888873342, 2.4801587289002154e-05, -2.755731421708486e-07,
        2.0875705405365416e-09, -1.1358749864430208e-11,
    ),
}  # fmt: skip
# 1/(2π) in words of 64 bits after 31 zero bits: what frac(x/(2π)) needs for x = m·2**(e − 52) with e ≥ 21
_INVERSE_TURN: Final = tuple(
    int("28be60db9391054a7f09d5f47d4d377036d8a5664f10e4107f9458eaf7aef1586dc91b8e909374b801924bba82746487"
        "3f877ac72c4a69cfba208d7d4baed1213a671c09ad17df904e64758e60d4ce7d272117e2ef7e4a0ec7fe25fff7816603"
        "fbcbc462d6829b47db4d9fb3c9f2c26dd3d18fd9a797fa8b5d49eeb1faf97c5ecf41ce7de294a4ba9afed7ec47e35742"
        "1580cc11bf1edaea", 16) >> 31 + 1216 - 64 * (k + 1) & 2**64 - 1
    for k in range(19)
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Angle:
    """A reduced angle: x = n·π/2 + (r + low) with |r| ≤ π/4, in float64. `low` is below half an ulp of r."""

    r: Value
    low: Value
    n: Value  # uint64; only the last two bits count

    def sine(self, precision: str) -> Value:
        """sin(r + low) of the reduced angle."""
        r = self.r
        z = r * r
        return r + fma(r * z, polynomial(z, _SIN[precision]), self.low)

    def cosine(self, precision: str) -> Value:
        """cos(r + low) of the reduced angle."""
        z = self.r * self.r
        return 1.0 + fma(-self.r, self.low, z * polynomial(z, _COS[precision]))


def reduce_angle(x: Value) -> Angle:
    """Reduce any float64 angle x; an infinite x gives r = nan."""
    shifted = fma(x, 2.0 / math.pi, x.format.round_shift)
    n = shifted - x.format.round_shift
    first, second, third, fourth = _HALF_PI
    r0 = fma(n, -first, x)
    r1 = fma(n, -second, r0)
    r2 = fma(n, -third, r1)
    lost = fma(n, -second, r0 - r1) + fma(n, -third, r1 - r2)
    low = fma(n, -fourth, lost)
    size = abs(x)
    is_far = (size >= _NEAR_LIMIT) & (size < math.inf)
    return Angle(*rarely(is_far, _far_angle, x, (r2, low, shifted.bits())))


def _far_angle(x: Value) -> tuple[Value, ...]:
    """(r, 0, n): decode the one float that `far_angle` returns."""
    packed = x.call("far_angle").bits()
    n = ((packed >> 52 & 0x7FF) - _EXPONENT_BASE) >> _SPREAD
    return (packed - (n << 52 + _SPREAD)).bitcast("float64"), x.like(0.0), n


_SPREAD: Final = 6  # r has 2**6 exponents at most: no float64 is nearer than 2**-62 to a multiple of π/2
_EXPONENT_BASE: Final = 1023 - 63


def far_angle(x: Value) -> Value:
    """Reduce a large angle x = n·π/2 + r, 2**21 ≤ |x| < ∞: return r with (n mod 4)·64 added to its exponent field.

    frac(x/(2π)) is computed as a product of integers, 53 bits of x by 192 bits of 1/(2π); 128 bits are kept.
    """
    bits = x.bits()
    shift = (bits >> 52 & 0x7FF) - (1023 + 21)
    significand = bits & FORMATS["float64"].fraction_mask | 1 << 52
    high, low = _fraction_product(significand, *_window(shift))
    # quarter turns, to nearest; the rest is a signed fraction of a turn
    rounded = high + (1 << 61)
    n, rest = rounded >> 62, (rounded & (1 << 62) - 1) - (1 << 61)
    is_negative = rest >= 1 << 63
    flip = where(is_negative, rest.like(-1), 0)
    r = _turns_to_radians(rest ^ flip, low ^ flip)
    # an odd function: both r and n change sign with x
    sign = (bits ^ flip) & 1 << 63
    n = where((bits >> 63).ne(0), 0 - n, n) & 3
    return ((r.bits() | sign) + (n << 52 + _SPREAD)).bitcast("float64")


def _window(shift: Value) -> tuple[Value, Value, Value]:
    """Load 192 bits of 1/(2π), from bit `shift` of the padded constant on."""
    words = [shift.like(word) for word in _INVERSE_TURN]
    for power, count in ((3, 11), (2, 7), (1, 5), (0, 4)):
        is_set = (shift & 64 << power).ne(0)
        words = [where(is_set, words[i + (1 << power)], words[i]) for i in range(count)]
    offset = shift & 63
    rest = 63 - offset
    first, second, third = ((a << offset) | (b >> 1 >> rest) for a, b in pairwise(words))
    return first, second, third


def _fraction_product(x: Value, first: Value, second: Value, third: Value) -> tuple[Value, Value]:
    """The 128 highest bits of the lower 192 bits of x·(first, second, third)."""
    high, low = _wide_product(x, second)
    carried, _ = _wide_product(x, third)
    low = low + carried
    return x * first + high + where(low < carried, low.like(1), 0), low


def _wide_product(x: Value, y: Value) -> tuple[Value, Value]:
    """The high and the low word of the product of two 64-bit words, from products of 32-bit halves."""
    mask = 2**32 - 1
    x0, x1, y0, y1 = x & mask, x >> 32, y & mask, y >> 32
    low, cross, other, high = x0 * y0, x1 * y0, x0 * y1, x1 * y1
    middle = (low >> 32) + (cross & mask) + (other & mask)
    return high + (cross >> 32) + (other >> 32) + (middle >> 32), (middle << 32) | (low & mask)


def _turns_to_radians(high: Value, low: Value) -> Value:
    """2π·(high·2**-64 + low·2**-128) with a relative error below 2**-52, for high < 2**61."""
    unit = 2.0**52
    chunks = (high >> 9, (high & 2**9 - 1) << 43 | low >> 21, (low & 2**21 - 1) << 31)
    a, b, c = (
        ((chunk | FORMATS["float64"].pattern(unit)).bitcast("float64") - unit) * scale
        for chunk, scale in zip(chunks, (2.0**-55, 2.0**-107, 2.0**-159), strict=True)
    )
    whole = a + b
    rest = (a - whole) + b + c
    head = (whole.bits() & ~(2**27 - 1)).bitcast("float64")
    tail = (whole - head) + rest
    # 2π with 26 bits, and the remainder
    return head * 6.283185243606567 + fma(head, 6.357301909411278e-08, tail * (2.0 * math.pi))


def _trigonometric(x: Value, *, is_cosine: bool) -> Value:
    wide = x.cast("float64")
    angle = reduce_angle(wide)
    n = angle.n + 1 if is_cosine else angle.n
    chosen = where((n & 1).eq(0), angle.sine(x.dtype), angle.cosine(x.dtype))
    result = (chosen.bits() ^ (n & 2) << 62).bitcast("float64").cast(x.dtype)
    return result if is_cosine else where(abs(x) < x.format.tiny, x, result)


def sin(x: Value) -> Value:
    """Sine; float32 uses float64. Bound: 2 ulp."""
    return _trigonometric(x, is_cosine=False)


def cos(x: Value) -> Value:
    """Cosine; float32 uses float64. Bound: 2 ulp."""
    return _trigonometric(x, is_cosine=True)


def tan(x: Value) -> Value:
    """sin/cos of the reduced angle, or −cos/sin in odd quadrants; float32 uses float64. Bound: 4 ulp."""
    angle = reduce_angle(x.cast("float64"))
    is_even = (angle.n & 1).eq(0)
    sine, cosine = angle.sine(x.dtype), angle.cosine(x.dtype)
    result = where(is_even, sine, -cosine) / where(is_even, cosine, sine)
    return where(abs(x) < x.format.tiny, x, result.cast(x.dtype))
