"""arcsin, arccos, arctan and arctan2. float32 uses float64 with shorter polynomials."""

from __future__ import annotations

import math
from typing import Final

from aotensor.passes.scalar_math.value import Value, fma, polynomial, where

# (arctan t / t − 1)/t² in powers of t² for t ≤ tan(π/8), relative errors 2**-30 and 2**-59
_ARCTAN: Final = {
    "float32": (
        -0.3333331518889925, 0.19998471525420974, -0.14243533487512205, 0.10593814622616937, -0.060782234294058164,
    ),
    "float64": (
        -0.333333333333332, 0.1999999999995368, -0.14285714280200898, 0.11111110783584338, -0.09090897760681262,
        0.07692060273873459, -0.06663104887535874, 0.05847896939806095, -0.050393466522401204, 0.03806582506598073,
        -0.017908812890364004,
    ),
}  # fmt: skip
# (arcsin s / s − 1)/s² in powers of s² for s ≤ ½, relative errors 2**-32 and 2**-56
_ARCSIN: Final = {
    "float32": (
        0.1666665999143111, 0.07500504177093278, 0.044516956575386235, 0.031807706290223094, 0.014438653410425066,
        0.037516378045235575,
    ),
    "float64": (
        0.16666666666665408, 0.0750000000033715, 0.04464285682822607, 0.030381959140582327, 0.02237175797820875,
        0.017359705655477866, 0.01388522835399145, 0.012169248721009943, 0.006527850424788876, 0.019528524141191845,
        -0.01622454866673158, 0.0319124080783409,
    ),
}  # fmt: skip
# π as the nearest float64, and the remainder
_PI: Final = (math.pi, 1.2246467991473532e-16)
_TAN_PI_8: Final = 0.41421356237309503


def arctan(x: Value) -> Value:
    """Inverse tangent. Bound: 2 ulp."""
    size = abs(x).cast("float64")
    return _angle(size, size.like(1.0), x.dtype).cast(x.dtype).with_sign_of(x)


def arctan2(y: Value, x: Value) -> Value:
    """Angle of the point (x, y), in (−π, π], with the signed zeros and infinities of C99. Bound: 2 ulp."""
    height, width = abs(y).cast("float64"), abs(x).cast("float64")
    is_infinite = (height.eq(math.inf)) | (width.eq(math.inf))
    height, width = (
        where(is_infinite, where(side.eq(math.inf), side.like(1.0), where(side.eq(side), side.like(0.0), side)), side)
        for side in (height, width)
    )
    if x.is_double:
        is_large = (height > 2.0**1000) | (width > 2.0**1000)
        is_small = (height < 2.0**-900) & (width < 2.0**-900)
        scale = where(is_large, height.like(2.0**-60), where(is_small, height.like(2.0**60), 1.0))
        height, width = height * scale, width * scale
    width_or_one = where(height.eq(0.0) & width.eq(0.0), width.like(1.0), width)
    angle = _angle(height, width_or_one, x.dtype)
    is_left = (x.bits() >> (x.format.fraction_bits + x.format.exponent_bits)).ne(0)
    angle = where(is_left, _PI[0] - (angle - _PI[1]), angle)
    return angle.cast(x.dtype).with_sign_of(y)


def _angle(height: Value, width: Value, precision: str) -> Value:
    """arctan(height/width) in [0, π/2], in float64, from arctan of a number below tan(π/8) and a multiple of π/4."""
    is_low, is_high = height <= width * _TAN_PI_8, width <= height * _TAN_PI_8
    above = where(is_low, height, where(is_high, -width, height - width))
    below = where(is_low, width, where(is_high, height, height + width))
    t = above / below
    base, lacking = (where(is_low, t.like(0.0), where(is_high, t.like(0.5 * part), 0.25 * part)) for part in _PI)
    z = t * t
    return base + (t + fma(t * z, polynomial(z, _ARCTAN[precision]), lacking))


def arcsin(x: Value) -> Value:
    """Inverse sine: of s = |x| ≤ ½, and π/2 − 2·arcsin(s) with s² = (1 − |x|)/2 above. Bound: 3 ulp."""
    is_outer, inner = _arcsin_of_half(abs(x).cast("float64"), x.dtype)
    outer = 0.5 * _PI[0] - (2.0 * inner - 0.5 * _PI[1])
    return where(is_outer, outer, inner).cast(x.dtype).with_sign_of(x)


def arccos(x: Value) -> Value:
    """Inverse cosine: π/2 − arcsin(x), or 2·arcsin(s), π − 2·arcsin(s) for |x| > ½. Bound: 2 ulp."""
    wide = x.cast("float64")
    is_outer, inner = _arcsin_of_half(abs(wide), x.dtype)
    middle = 0.5 * _PI[0] - (inner.with_sign_of(wide) - 0.5 * _PI[1])
    outer = where(wide > 0.0, 2.0 * inner, _PI[0] - (2.0 * inner - _PI[1]))
    return where(is_outer, outer, middle).cast(x.dtype)


def _arcsin_of_half(size: Value, precision: str) -> tuple[Value, Value]:
    """(whether size > ½; arcsin(s) for s = size, or for s = √((1 − size)/2) if size > ½); nan for size > 1."""
    is_outer = size > 0.5
    z = where(is_outer, (1.0 - size) * 0.5, size * size)
    s = where(is_outer, z.sqrt(), size)
    return is_outer, fma(s * z, polynomial(z, _ARCSIN[precision]), s)
