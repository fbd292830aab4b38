"""log|Γ| and its derivatives ψ and ψ′ in float64; float32 goes by float64.

For z ≥ 8 they are Stirling's series with minimax coefficients. Smaller arguments are raised by 8 with the recurrence,
whose eight terms are quotients of polynomials with integer coefficients; negative ones are reflected.
Source: NIST Digital Library of Mathematical Functions, 5.5, 5.11 and 5.15.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from aotensor.passes.scalar_math.logarithm import split
from aotensor.passes.scalar_math.value import Value, fma, polynomial, where

_SHIFT: Final = 8
# z·(log Γ(z) − (z − ½)·log z + z − ½·log 2π), z²·(log z − 1/(2z) − ψ(z)) and z³·(ψ′(z) − 1/z − 1/(2z²)) in powers of
# 1/z² for z ≥ 8, relative errors 2**-51, 2**-47 and 2**-44
_LOG_GAMMA: Final = (
    0.0833333333333333, -0.0027777777776148115, 0.000793650668633953, -0.0005952032019781785, 0.000837325679103786,
    -0.001653646824000604,
)  # fmt: skip
_PSI: Final = (
    0.08333333333333288, -0.008333333331226022, 0.0039682523715481935, -0.004166222751331127, 0.007519460011654625,
    -0.01772066483136327,
)  # fmt: skip
_TRI_GAMMA: Final = (
    0.16666666666666052, -0.03333333330470196, 0.023809502122253603, -0.03332729578238774, 0.07498956778484787,
    -0.2068053320538126,
)  # fmt: skip
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
    """Coefficients of Π (a + k), lowest first."""
    coefficients = [1]
    for root in roots:
        coefficients = [root * low + high for low, high in zip([*coefficients, 0], [0, *coefficients], strict=True)]
    return coefficients


# Π (a + k) for k = 1 ... 7, and the numerators of Σ 1/(a + k) and Σ 1/(a + k)²
_RAISED: Final = tuple(range(1, _SHIFT))
_PRODUCT: Final = tuple(float(c) for c in _expanded(_RAISED))
_SUM: Final = tuple(i * c for i, c in enumerate(_PRODUCT))[1:]
_SUM_OF_SQUARES: Final = tuple(
    float(sum(column))
    for column in zip(*(_expanded(tuple(j for j in _RAISED if j != k) * 2) for k in _RAISED), strict=True)
)


@dataclass(frozen=True, slots=True)
class _Argument:
    """|x| and what the three functions make of it."""

    size: Value
    is_raised: Value
    z: Value  # at least 8
    inverse: Value  # 1/z
    log_z: Value
    fraction: Value  # |x| minus the nearest integer

    @staticmethod
    def of(x: Value) -> _Argument:
        size = abs(x)
        is_raised = size < float(_SHIFT)
        z = where(is_raised, size + float(_SHIFT), size)
        fraction = where(size < 2.0**52, size - ((size + 2.0**52) - 2.0**52), 0.0)
        return _Argument(size, is_raised, z, 1.0 / z, split(z, is_normal=True).log(), fraction)

    def sin_pi(self) -> Value:
        """sin(π·fraction)."""
        return self.fraction * polynomial(self.fraction * self.fraction, _SIN_PI)


def _is_negative(x: Value) -> Value:
    """Whether the sign bit is set."""
    return (x.bits() >> 63).ne(0)


def gammaln(x: Value) -> Value:
    """log|Γ(x)|: +∞ at the poles, and as SciPy has it −∞ for −∞. Error: 1e-14 of the larger of 1 and the result.

    With S Stirling's series and P the product of the recurrence, log Γ(a) = S(z) − log(a·P), and
    log|Γ(−a)| = −S(z) − log(sin(πa)/(π·P)); for a ≥ 8 without P, and with a·sin(πa) for sin(πa).
    """
    wide = x.cast("float64")
    a = _Argument.of(wide)
    constant = 0.5 * math.log(2.0 * math.pi) - 0.5
    series = a.inverse * polynomial(a.inverse * a.inverse, _LOG_GAMMA)
    stirling = fma(a.z - 0.5, a.log_z - 1.0, series + constant)
    # a negative number as small as that has the logarithm of its size, like a positive one
    is_reflected = wide < -(2.0**-60)
    product = where(a.is_raised, polynomial(a.size, _PRODUCT), 1.0)
    sine = abs(a.sin_pi()) * (1.0 / math.pi) * where(a.is_raised, a.size.like(1.0), a.size)
    argument = where(is_reflected, sine / product, where(a.is_raised, a.size, 1.0) * product)
    result = where(is_reflected, -stirling, stirling) - split(argument).log()
    result = where(argument.eq(0.0), argument.like(math.inf), result)
    return where(a.size.eq(math.inf), wide, result).cast(x.dtype)


def psi(x: Value) -> Value:
    """ψ(x) = Γ′(x)/Γ(x): ∓∞ at ±0 and nan at negative integers. Error: 1e-14 of the larger of 1 and the result.

    ψ(a) = S(z) − Σ 1/(a + k), and ψ(−a) = ψ(a) + 1/a + π·cot(πa).
    """
    wide = x.cast("float64")
    a, is_reflected = _Argument.of(wide), _is_negative(wide)
    square = a.inverse * a.inverse
    series = a.log_z - fma(a.inverse, 0.5, square * polynomial(square, _PSI))
    product, numerator = polynomial(a.size, _PRODUCT), polynomial(a.size, _SUM)
    above = where(is_reflected, numerator, fma(a.size, numerator, product))
    below = where(is_reflected, product, a.size * product)
    above = where(a.is_raised, above, where(is_reflected, above.like(-1.0), 0.0))
    regular = series - above / where(a.is_raised, below, a.size)
    cotangent = math.pi * polynomial(a.fraction * a.fraction, _COS_PI) / a.sin_pi()
    is_pole = a.fraction.eq(0.0) & (a.size >= 1.0)
    reflected = where(is_pole, cotangent.like(math.nan), regular + cotangent)
    result = where(is_reflected, reflected, where(wide.eq(math.inf), wide, regular))
    return result.cast(x.dtype)


def tri_gamma(x: Value) -> Value:
    """ψ′(x): +∞ at the poles. Error: 1e-14 of the larger of 1 and the result.

    ψ′(a) = S(z) + Σ 1/(a + k)², and ψ′(−a) = (π/sin πa)² + 1/a² − ψ′(a).
    """
    wide = x.cast("float64")
    a, is_reflected = _Argument.of(wide), _is_negative(wide)
    square = a.inverse * a.inverse
    series = a.inverse * (1.0 + fma(a.inverse, 0.5, square * polynomial(square, _TRI_GAMMA)))
    size_squared = a.size * a.size
    product, numerator = polynomial(a.size, _PRODUCT), polynomial(a.size, _SUM_OF_SQUARES)
    product_squared = product * product
    above = where(is_reflected, numerator, fma(size_squared, numerator, product_squared))
    below = where(is_reflected, product_squared, size_squared * product_squared)
    above = where(a.is_raised, above, where(is_reflected, above.like(-1.0), 0.0))
    regular = series + above / where(a.is_raised, below, size_squared)
    ratio = math.pi / a.sin_pi()
    return where(is_reflected, ratio * ratio - regular, regular).cast(x.dtype)
