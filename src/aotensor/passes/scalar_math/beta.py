"""ln B and differences of ψ and ψ′ in float64, without cancellation of large terms; float32 uses float64.

With m the smaller and M the larger operand ln B = ln Γ(m) − (ln Γ(M + m) − ln Γ(M)), and from M = 8 on Stirling's
formula gives the difference as M·(ln(1 + r) − r) − ½·ln(1 + r) + m·ln(M + m) + R(M + m) − R(M), where r = m/M.
ψ(a + b) − ψ(a) for positive operands is a sum of positive terms: with z = a, or a + 8 for a < 8, and w = z + b
    ln(1 + b/z) + (1/z − 1/w)/2 + …  and for a < 8  + b·Σ 1/((a + k)·(a + b + k)), k = 0 … 7
where the remainder of Stirling's series is a divided difference of its polynomial.
Source: NIST Digital Library of Mathematical Functions, 5.5, 5.11 and 5.15; DiDonato & Morris (1992), "Algorithm
708".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aotensor.passes.scalar_math.gamma import PSI, SHIFT, TRI_GAMMA, gammaln_in_parts, psi_by_series, tri_gamma
from aotensor.passes.scalar_math.logarithm import log1p
from aotensor.passes.scalar_math.value import Value, fma, polynomial, where

_ARTANH: Final = (
    0.3333333333333333, 0.20000000000007292, 0.1428571428355438, 0.11111111358713932, 0.09090894718066429,
    0.07692785032479312, 0.06657072104827468, 0.06000536404795356, 0.04400369243072337, 0.08082022805971766,
)  # fmt: skip
"""(artanh s − s)/s³ in powers of s² for s ≤ 1/3, error 2**-52; by interpolation with mpmath."""


def betaln(a: Value, b: Value) -> Value:
    """ln |B(a, b)|, also where logarithms of Γ cancel.   Bound: 1e-15·(4 + |ln Γ(min)|) for positive operands."""
    p, q = a.cast("float64"), b.cast("float64")
    total = p + q
    (of_p, _, rest_p), (of_q, _, rest_q) = gammaln_in_parts(p), gammaln_in_parts(q)
    of_total, log_total, rest_total = gammaln_in_parts(total)
    is_first = p < q
    least, most = where(is_first, p, q), where(is_first, q, p)
    s = least / (most + total)  # of r = m/M that is r/(2 + r)
    ratio = least / most
    square = s * s
    less = fma(2.0 * (s * square), polynomial(square, _ARTANH), -(ratio * s))  # ln(1 + r) − r
    growth = fma(
        least, log_total, fma(most, less, (rest_total - where(is_first, rest_q, rest_p)) - 0.5 * (less + ratio))
    )
    is_far = (least > 0.0) & (most >= float(SHIFT)) & (most < float("inf"))
    return where(is_far, where(is_first, of_p, of_q) - growth, (of_p + of_q) - of_total).cast(a.dtype)


def psi_growth(a: Value, b: Value) -> Value:
    """ψ(a + b) − ψ(a), with a small relative error for positive operands."""
    p, q = a.cast("float64"), b.cast("float64")
    z, is_raised = _shift_up(p)
    w = z + q
    s, t = 1.0 / z, 1.0 / w
    difference = q * t * s  # 1/z − 1/w
    of_squares, _ = _divided(s * s, t * t, PSI)
    # Σ x·P(x) at x = 1/z² and 1/w²
    rest = difference * (s + t) * of_squares
    near = where(is_raised, q / (p + q) / p + _sum_of_inverses(p, q), 0.0)
    positive = log1p(q * s) + fma(difference, 0.5, rest) + near
    is_positive = (p > 0.0) & (q > 0.0) & (w < float("inf"))
    return where(is_positive, positive, psi_by_series(p + q) - psi_by_series(p)).cast(a.dtype)


def tri_gamma_fall(a: Value, b: Value) -> Value:
    """ψ′(a) − ψ′(a + b), with a small relative error for positive operands."""
    p, q = a.cast("float64"), b.cast("float64")
    z, is_raised = _shift_up(p)
    w = z + q
    s, t = 1.0 / z, 1.0 / w
    difference, total = q * t * s, s + t
    of_squares, value = _divided(s * s, t * t, TRI_GAMMA)
    rest = value + t * total * of_squares
    first = q / (p + q) / p * (1.0 / p + 1.0 / (p + q))
    near = where(is_raised, first + q * _sum_of_squares(p, q), 0.0)
    positive = difference * (1.0 + fma(total, 0.5, rest)) + near
    is_positive = (p > 0.0) & (q > 0.0) & (w < float("inf"))
    return where(is_positive, positive, tri_gamma(p) - tri_gamma(p + q)).cast(a.dtype)


def _shift_up(a: Value) -> tuple[Value, Value]:
    """(a, or a + 8 for a < 8; whether 8 was added)."""
    is_raised = a < float(SHIFT)
    return where(is_raised, a + float(SHIFT), a), is_raised


def _divided(x: Value, y: Value, coefficients: Sequence[float]) -> tuple[Value, Value]:
    """The divided difference (x·P(x) − y·P(y))/(x − y), and x·P(x), by Horner's rule."""
    value, slope = x.like(coefficients[-1]), x.like(0.0)
    for c in (*reversed(coefficients[:-1]), 0.0):
        slope = fma(slope, y, value)
        value = fma(value, x, c)
    return slope, value


def _sum_of_inverses(a: Value, b: Value) -> Value:
    """b·Σ 1/((a + k)·(a + b + k)), k = 1 … 7; three pairs of terms share one quotient each."""
    total = a + b
    scale = where(total > 1.0, 1.0 / total, 1.0)  # products of two products do not overflow
    products = [(a + float(k)) * ((total + float(k)) * scale) for k in range(1, SHIFT)]
    found = 1.0 / products[-1]
    for one, two in zip(products[:-1:2], products[1::2], strict=True):
        found = found + (one + two) / (one * two)
    return b * scale * found


def _sum_of_squares(a: Value, b: Value) -> Value:
    """Σ (2a + b + 2k)/((a + k)·(a + b + k))², k = 1 … 7."""
    total = a.like(0.0)
    for k in range(1, SHIFT):
        low, high = 1.0 / (a + float(k)), 1.0 / (a + b + float(k))
        total = total + low * high * (low + high)
    return total
