"""log|Γ| and its derivatives ψ and ψ′ in float64; float32 uses float64.

For z ≥ 8 they are Stirling's series with minimax coefficients. Smaller arguments of ψ and ψ′ are raised by 8 with the
recurrence, whose eight terms are quotients of polynomials with integer coefficients; those of log Γ are reduced to 1.25
… 2.5, where log Γ(2 + s)/s is a polynomial, and those of ψ near its zero to 1 … 2, where ψ divided by the distance from
the zero is a polynomial, for a small relative error. Negative arguments are reflected.
Source: NIST Digital Library of Mathematical Functions, 5.5, 5.11 and 5.15; polynomials by interpolation with mpmath.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from aotensor.passes.scalar_math.logarithm import split
from aotensor.passes.scalar_math.value import Value, fma, polynomial, where

SHIFT: Final = 8
# z·(log Γ(z) − (z − ½)·log z + z − ½·log 2π), z²·(log z − 1/(2z) − ψ(z)) and z³·(ψ′(z) − 1/z − 1/(2z²)) in powers of
# 1/z² for z ≥ 8, relative errors 2**-51, 2**-47 and 2**-44
_LOG_GAMMA: Final = (
    0.0833333333333333, -0.0027777777776148115, 0.000793650668633953, -0.0005952032019781785, 0.000837325679103786,
    -0.001653646824000604,
)  # fmt: skip
PSI: Final = (
    0.08333333333333288, -0.008333333331226022, 0.0039682523715481935, -0.004166222751331127, 0.007519460011654625,
    -0.01772066483136327,
)  # fmt: skip
TRI_GAMMA: Final = (
    0.16666666666666052, -0.03333333330470196, 0.023809502122253603, -0.03332729578238774, 0.07498956778484787,
    -0.2068053320538126,
)  # fmt: skip
# log Γ(2 + s)/s in powers of s for −¾ ≤ s ≤ ½, and ψ(x)/(x − x₀) in powers of x − 3/2 for 1 ≤ x ≤ 2, relative errors
# 2**-57 and 2**-55; x₀ = 1.4616… in two parts
LOG_GAMMA_NEAR_2: Final = (
    0.42278433509846713, 0.3224670334241132, -0.06735230105319819, 0.020580808427788703, -0.007385551028663193,
    0.002890510330482064, -0.0011927539122376619, 0.0005096695320648715, -0.00022315474408602818,
    9.945740198894934e-05, -4.4926464931326535e-05, 2.0508175353649692e-05, -9.43727020655551e-06,
    4.370089307840295e-06, -2.052482416724873e-06, 9.670254916827003e-07, -4.018330416059452e-07,
    2.0758927598859588e-07, -1.9264000508094273e-07, 6.2426286817793866e-09, 5.025731736555141e-08,
    7.558472696788447e-08,
)  # fmt: skip
_PSI_BY_DISTANCE: Final = (
    0.951055876031833, -0.4236274212814605, 0.2405424842407742, -0.14840492305390884, 0.09498872445494122,
    -0.061922133273064534, 0.04076083381242074, -0.02697579675613825, 0.0179072524394512, -0.011908218001568644,
    0.007926944646403797, -0.005279964873257405, 0.003519006401502276, -0.002345267632540769, 0.0015566317474486838,
    -0.0010376374098418604, 0.0007233266279287554, -0.0004821990530566789, 0.0002272331660987376,
    -0.00015148586836773365, 0.00025968482126430747, -0.00017312261802727394,
)  # fmt: skip
_PSI_ZERO: Final = (1.4616321449683622, 9.549995429965697e-17)
# sin(πt)/t and cos(πt) in powers of t² for |t| ≤ ½, errors 2**-52 and 2**-57
_SIN_PI: Final = (
    3.1415926535897927, -5.167712780049703, 2.550164039856438, -0.5992645286914806, 0.08214587724606305,
    -0.007370354862847291, 0.00046595874781519707, -2.1100481650976692e-05,
)  # fmt: skip
_COS_PI: Final = (
    1.0, -4.934802200544677, 4.058712126416504, -1.3352627688431515, 0.23533063011950456, -0.025806888616588683,
    0.0019295555693002917, -0.00010456454329137384, 4.147312337327891e-06,
)  # fmt: skip


def _expanded(roots: tuple[int, ...]) -> list[int]:
    """Coefficients of Π (a + k) over the given k, lowest power of a first."""
    coefficients = [1]
    for root in roots:
        coefficients = [root * low + high for low, high in zip([*coefficients, 0], [0, *coefficients], strict=True)]
    return coefficients


# Π (a + k) for k = 1 ... 7, and the numerators of Σ 1/(a + k) and Σ 1/(a + k)²
_RAISED: Final = tuple(range(1, SHIFT))
_PRODUCT: Final = tuple(float(c) for c in _expanded(_RAISED))
_SUM: Final = tuple(i * c for i, c in enumerate(_PRODUCT))[1:]
_SUM_OF_SQUARES: Final = tuple(
    float(sum(column))
    for column in zip(*(_expanded(tuple(j for j in _RAISED if j != k) * 2) for k in _RAISED), strict=True)
)


@dataclass(frozen=True, slots=True)
class _Argument:
    """The absolute value of an argument x, and intermediate values that log|Γ|, ψ and ψ′ share."""

    size: Value
    is_raised: Value
    z: Value  # at least 8
    inverse: Value  # 1/z
    log_z: Value
    fraction: Value  # |x| minus the nearest integer

    @staticmethod
    def from_value(x: Value) -> _Argument:
        size = abs(x)
        is_raised = size < float(SHIFT)
        z = where(is_raised, size + float(SHIFT), size)
        fraction = where(size < 2.0**52, size - ((size + 2.0**52) - 2.0**52), 0.0)
        return _Argument(size, is_raised, z, 1.0 / z, split(z, is_normal=True).log(), fraction)

    @staticmethod
    def fraction_sine(size: Value) -> Value:
        """sin(π·size), up to the sign."""
        fraction = where(size < 2.0**52, size - ((size + 2.0**52) - 2.0**52), 0.0)
        return _sin_pi(fraction)

    def sin_pi(self) -> Value:
        """sin(π·fraction)."""
        return _sin_pi(self.fraction)


def _sin_pi(fraction: Value) -> Value:
    return fraction * polynomial(fraction * fraction, _SIN_PI)


def cot_pi(x: Value) -> tuple[Value, Value]:
    """(cot πx, whether x is an integer, where cot πx is undefined)."""
    size = abs(x)
    fraction = where(size < 2.0**52, size - ((size + 2.0**52) - 2.0**52), 0.0)
    cotangent = polynomial(fraction * fraction, _COS_PI) / _sin_pi(fraction)
    return where(x < 0.0, -cotangent, cotangent), fraction.eq(0.0)


def _is_negative(x: Value) -> Value:
    """Is the sign bit of x set?"""
    return (x.bits() >> 63).ne(0)


def gammaln(x: Value) -> Value:
    """log|Γ(x)|: +∞ at the poles, and −∞ for −∞ as in SciPy.

    Bound: 4 ulp for x > 0; below, where there is a zero between any two poles, 1e-15 of log Γ(|x|) and of |log x|. With
    s the distance from the nearest of 1 (0 for x < ½) and 2, or below 8 of another number of a half to the next,

        log Γ(x) = log Γ(2 + s) − log x(1 + x)      x < ½          log Γ(2 + s) + log (x − 1)…(2 + s)      2.5 ≤ x < 8
                 = log Γ(2 + s) − log x             x < 1.25       Stirling's series                      8 ≤ x

    and log|Γ(−a)| = −log Γ(a) − log(a·|sin πa|/π).
    """
    return gammaln_in_parts(x.cast("float64"))[0].cast(x.dtype)


def gammaln_in_parts(wide: Value) -> tuple[Value, Value, Value]:
    """log|Γ(x)|, and for x ≥ 8 its components log x and the remainder of Stirling's series."""
    size = abs(wide)
    # for tiny negative x, log|Γ(x)| equals that of |x|
    is_reflected = wide < -(2.0**-60)
    positive, log, series = _log_gamma(size)
    sine = abs(_Argument.fraction_sine(size))
    reflected = -positive - split(sine * (1.0 / math.pi) * where(size < 2.0**52, size, 1.0)).log()
    reflected = where(sine.eq(0.0), reflected.like(math.inf), reflected)
    result = where(is_reflected, reflected, where(size.eq(0.0), size.like(math.inf), positive))
    return where(size.eq(math.inf), wide, result), log, series


def _log_gamma(x: Value) -> tuple[Value, Value, Value]:
    """log Γ(x) for x > 0, and its components for x ≥ 8, as in `gammaln_in_parts`."""
    is_low, is_below, is_far = x < 0.5, x < 1.25, x >= float(SHIFT)
    product, s = x.like(1.0), x - 2.0
    for k in range(1, SHIFT - 1):  # subtract 1 while it is above 2.5
        is_above = x >= k + 1.5
        product, s = where(is_above, product * (x - float(k)), product), where(is_above, x - (k + 2.0), s)
    s = where(is_low, x, where(is_below, x - 1.0, s))
    near = s * polynomial(s, LOG_GAMMA_NEAR_2)
    factor = where(is_low, x * (x + 1.0), where(is_below, x, product))
    log = split(where(is_far, x, factor)).log()
    inverse = 1.0 / x
    series = inverse * polynomial(inverse * inverse, _LOG_GAMMA)
    far = fma(x - 0.5, log - 1.0, series + (0.5 * math.log(2.0 * math.pi) - 0.5))
    return where(is_far, far, where(is_below, near - log, near + log)), log, series


def psi(x: Value) -> Value:
    """ψ(x) = Γ′(x)/Γ(x): ∓∞ at ±0 and nan at negative integers.

    Bound: 4 ulp for x > 0, also at the zero 1.4616…; below, where there is a zero between any two poles, 1e-15 of
    ψ(|x|), 1/|x| and the cotangent. ψ(a) = S(z) − Σ 1/(a + k), near the zero by its distance, and
    ψ(−a) = ψ(a) + 1/a + π·cot(πa).
    """
    wide = x.cast("float64")
    found = psi_by_series(wide)
    return where((wide < 4.0) & ~_is_negative(wide), _psi_below_4(wide), found).cast(x.dtype)


def psi_by_series(wide: Value) -> Value:
    """ψ(x) as a plain sum, which loses digits near the zero."""
    a, is_reflected = _Argument.from_value(wide), _is_negative(wide)
    square = a.inverse * a.inverse
    series = a.log_z - fma(a.inverse, 0.5, square * polynomial(square, PSI))
    product, numerator = polynomial(a.size, _PRODUCT), polynomial(a.size, _SUM)
    above = where(is_reflected, numerator, fma(a.size, numerator, product))
    below = where(is_reflected, product, a.size * product)
    above = where(a.is_raised, above, where(is_reflected, above.like(-1.0), 0.0))
    regular = series - above / where(a.is_raised, below, a.size)
    cotangent = math.pi * polynomial(a.fraction * a.fraction, _COS_PI) / a.sin_pi()
    is_pole = a.fraction.eq(0.0) & (a.size >= 1.0)
    reflected = where(is_pole, cotangent.like(math.nan), regular + cotangent)
    return where(is_reflected, reflected, where(wide.eq(math.inf), wide, regular))


def _psi_below_4(x: Value) -> Value:
    """ψ(x) for 0 < x < 4: ψ(y) for the y between 1 and 2 at an integer distance, plus the terms of the recurrence."""
    is_low, is_above, is_high = x < 1.0, x >= 2.0, x >= 3.0
    one, two = x - 1.0, x - 2.0
    y = where(is_low, x + 1.0, where(is_high, two, where(is_above, one, x)))
    distance = (y - _PSI_ZERO[0]) - _PSI_ZERO[1]
    middle = distance * polynomial(y - 1.5, _PSI_BY_DISTANCE)
    numerator = where(is_high, one + two, 1.0)
    step = numerator / where(is_low, -x, where(is_high, one * two, where(is_above, one, 1.0)))
    return where(is_low | is_above, middle + step, middle)


def tri_gamma(x: Value) -> Value:
    """ψ′(x): +∞ at the poles. Error: 1e-14 of the larger of 1 and the result.

    ψ′(a) = S(z) + Σ 1/(a + k)², and ψ′(−a) = (π/sin πa)² + 1/a² − ψ′(a).
    """
    wide = x.cast("float64")
    a, is_reflected = _Argument.from_value(wide), _is_negative(wide)
    square = a.inverse * a.inverse
    series = a.inverse * (1.0 + fma(a.inverse, 0.5, square * polynomial(square, TRI_GAMMA)))
    size_squared = a.size * a.size
    product, numerator = polynomial(a.size, _PRODUCT), polynomial(a.size, _SUM_OF_SQUARES)
    product_squared = product * product
    above = where(is_reflected, numerator, fma(size_squared, numerator, product_squared))
    below = where(is_reflected, product_squared, size_squared * product_squared)
    above = where(a.is_raised, above, where(is_reflected, above.like(-1.0), 0.0))
    regular = series + above / where(a.is_raised, below, size_squared)
    ratio = math.pi / a.sin_pi()
    return where(is_reflected, ratio * ratio - regular, regular).cast(x.dtype)
