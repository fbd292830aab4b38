"""exp and its family: eˣ, eˣ − 1, and functions of them with one division.

All of them split x = n·ln 2 + r with |r| ≤ ½·ln 2, where n·(high part of ln 2) is exact (W. J. Cody & W. Waite,
Software Manual for the Elementary Functions, 1980), and take e**r − 1 = r + r²·q(r) from a minimax polynomial q
(tools/minimax.py: relative error 2**-55 in float64, 2**-26 in float32).

Where the machine has a table of 16 numbers in registers, e**x is 2**(k/16)·e**r with |r| ≤ ln 2/32, and five terms of
the polynomial suffice instead of ten (P. T. P. Tang, Table-driven implementation of the exponential function, 1989).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from aotensor.passes.scalar_math.value import Value, at_least, at_most, fma, polynomial, where

_INVERSE_LN2: Final = 1.4426950408889634
# ln 2 in two parts, the first short enough that its product with any exponent is exact
LN2_PARTS: Final = {
    "float32": (0.693145751953125, 1.428606765330187e-06),
    "float64": (0.6931471805598903, 5.497923018708371e-14),
}
# (e**r − 1 − r)/r² on |r| ≤ ½·ln 2
_EXPM1_TAIL: Final = {
    "float32": (
        0.4999999701976776, 0.16666539013385773, 0.04166775569319725, 0.008367124944925308, 0.0013835611753165722,
    ),
    "float64": (
        0.5000000000000006, 0.16666666666666588, 0.041666666666574106, 0.008333333333390659, 0.0013888888932181648,
        0.00019841269717645, 2.4801504680289166e-05, 2.7557406905233064e-06, 2.7626236811282683e-07,
        2.5054658248708218e-08,
    ),
}  # fmt: skip
# the same on |r| ≤ ln 2/32, with an error of 2**-56 of e**r
_TAIL_OF_SIXTEENTH: Final = (
    0.49999999999999606, 0.16666666664417926, 0.04166666669309301, 0.008333471922306723, 0.0013888597190379606,
)  # fmt: skip
# the same with an error of 2**-58 of e**r − 1, which 1 − e**x near 0 needs
_CLOSE_TAIL_OF_SIXTEENTH: Final = (
    0.5, 0.16666666666666669, 0.041666666663595475, 0.00833333333299209, 0.0013889063440655327, 0.0001984146378747018,
)  # fmt: skip
# (2**y − 1)/y for |y| ≤ ½
_EXP2_TAIL: Final = {
    "float32": (
        0.6931471824645996, 0.24022594094276428, 0.055503662675619125, 0.009625446982681751, 0.0013387924991548061,
        0.0001333139807684347,
    ),
    "float64": (
        0.6931471805599453, 0.24022650695910172, 0.055504108664824574, 0.009618129107577112, 0.0013333558145567585,
        0.0001540353047877944, 1.52527347378455e-05, 1.3215424526568698e-06, 1.0177656084467898e-07,
        7.075608702261102e-09, 4.519333042127678e-10,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Range:
    """Range of x: outside (lowest, highest) e**x is 0 or infinity; for x > `flat`, 1 + e**-x rounds to 1."""

    lowest: float
    highest: float
    flat: float


_RANGES: Final = {"float32": _Range(-104.0, 89.0, 18.0), "float64": _Range(-746.0, 710.0, 40.0)}


@dataclass(frozen=True, slots=True)
class ReducedArgument:
    """A reduced argument of the exponential: x = n·ln 2 + r."""

    n_bits: Value  # a pattern whose low bits are n in two's complement
    r: Value

    def less(self, amount: Value) -> ReducedArgument:
        """x − amount, for a small amount."""
        return ReducedArgument(self.n_bits, self.r - amount)

    def tail(self) -> Value:
        """e**r − 1 − r."""
        return self.r * self.r * polynomial(self.r, _EXPM1_TAIL[self.r.dtype])

    def expm1(self) -> Value:
        """e**r − 1 with a relative error below 0.8 ulp."""
        return fma(self.r * self.r, polynomial(self.r, _EXPM1_TAIL[self.r.dtype]), self.r)

    def scaled_expm1(self, scale: Value, offset: float) -> Value:
        """scale·e**r − offset, where scale − offset is exact."""
        return fma(scale, self.tail(), fma(scale, self.r, scale - offset))


def reduce(x: Value) -> ReducedArgument:
    """Split x into n·ln 2 + r, for |x| < 2**10 (float32: 2**8); nan propagates to r."""
    shifted = fma(x, _INVERSE_LN2, x.format.round_shift)
    n = shifted - x.format.round_shift
    high, low = LN2_PARTS[x.dtype]
    return ReducedArgument(shifted.bits(), fma(n, -low, fma(n, -high, x)))


def nearest_half(x: Value) -> Value:
    """About n/2, in the low bits of a pattern, for the n of `reduce`."""
    return fma(x, 0.5 * _INVERSE_LN2, x.format.round_shift).bits()


def power_of_two(n_bits: Value, x: Value, offset: int = 0) -> Value:
    """2**(n + offset) of the dtype of x, which must be normal."""
    form = x.format
    return ((n_bits << form.fraction_bits) + (form.bias + offset << form.fraction_bits)).bitcast(x.dtype)


def inverse_power_of_two(n_bits: Value, x: Value) -> Value:
    """2**-n of the dtype of x, which must be normal."""
    return (n_bits.like(x.format.one_bits) - (n_bits << x.format.fraction_bits)).bitcast(x.dtype)


def times_power_of_two(x: Value, n_bits: Value, half: Value) -> Value:
    """x·2**n with one rounding, for half ≈ n/2: 2**n itself may be subnormal or too large."""
    return x * power_of_two(half, x) * power_of_two(n_bits - half, x)


def _exp_by_table(x: Value, *, is_close: bool) -> Value:
    """e**x for |x| < 2**10, as 2**(n/16)·e**r.

    Bound: 1.2 ulp; 0.8 ulp if `is_close`, which uses the power in two parts.
    """
    n_bits, n, r = _sixteenths(x)
    return _power_by_table(n_bits, n, r, is_close=is_close)


def _sixteenths(x: Value) -> tuple[Value, Value, Value]:
    """(n_bits, n, r): x = n·ln 2 + r with n in sixteenths, which the low bits of n_bits count."""
    shift = x.format.round_shift / 16.0
    shifted = fma(x, _INVERSE_LN2, shift)
    n = shifted - shift
    high, low = LN2_PARTS[x.dtype]
    return shifted.bits(), n, fma(n, -low, fma(n, -high, x))


def _power_by_table(n_bits: Value, n: Value, r: Value, *, is_close: bool) -> Value:
    """2**n·e**r for |r| ≤ ln 2/32 and n in sixteenths; the low bits of n_bits count the sixteenths."""
    root = n_bits.sixteenth_power()
    growth = fma(r * r, polynomial(r, _TAIL_OF_SIXTEENTH), r)
    if not is_close:
        return fma(root, growth, root).scaled(n)
    rest = n_bits.rest_of_sixteenth_power()
    return (root + fma(root, growth, rest)).scaled(n)


def exp(x: Value) -> Value:
    """e**x. 2**n is applied in two factors, so that results round once into the subnormal range. Bound: 2 ulp."""
    limits = _RANGES[x.dtype]
    x = at_most(limits.highest, at_least(limits.lowest, x))
    if x.has_tables:
        return _exp_by_table(x, is_close=False)
    reduced, half = reduce(x), nearest_half(x)
    return times_power_of_two(reduced.expm1() + 1.0, reduced.n_bits, half)


@dataclass(frozen=True, slots=True)
class _Decay:
    """e**x for x ≤ 0 as scale·(unit + change): the scale is a power of 2, possibly subnormal, and scale·unit ≤ 1."""

    scale: Value
    unit: Value
    change: Value

    def power(self) -> Value:
        """The exponential e**x of the reduced argument. Bound: 2 ulp."""
        return (self.unit + self.change) * self.scale

    def complement(self) -> Value:
        """The complement 1 − e**x. Where that cancels, 1 − scale·unit is exact. Bound: 2 ulp."""
        return fma(-self.change, self.scale, fma(-self.unit, self.scale, 1.0))


def _decay(x: Value) -> _Decay:
    """Reduce the exponential e**x for x ≤ 0 or nan to a `_Decay`."""
    x = at_least(_RANGES[x.dtype].lowest, x)
    if x.has_tables:
        n_bits, n, r = _sixteenths(x)
        root = n_bits.sixteenth_power()
        growth = fma(r * r, polynomial(r, _CLOSE_TAIL_OF_SIXTEENTH), r)
        return _Decay(x.like(1.0).scaled(n), root, fma(root, growth, n_bits.rest_of_sixteenth_power()))
    reduced, half = reduce(x), nearest_half(x)
    scale = power_of_two(half, x) * power_of_two(reduced.n_bits - half, x)
    return _Decay(scale, x.like(1.0), reduced.expm1())


def exp_of_negative(x: Value) -> Value:
    """e**x for x ≤ 0. Bound: 2 ulp."""
    return _decay(x).power()


def exp_and_complement(x: Value) -> tuple[Value, Value]:
    """e**x and 1 − e**x for x ≤ 0, from one reduction."""
    decay = _decay(x)
    return decay.power(), decay.complement()


def exp_shared(x: Value) -> Value:
    """e**x from the reduction of `expm1_shared`. Bound: 2 ulp."""
    reduced, half = _reduced_in_range(x)
    return times_power_of_two(reduced.expm1() + 1.0, reduced.n_bits, half)


def expm1_shared(x: Value) -> Value:
    """e**x − 1 as in `expm1`, from the reduction of `exp_shared`. Bound: 2 ulp."""
    reduced, _ = _reduced_in_range(x)
    result = reduced.scaled_expm1(power_of_two(reduced.n_bits, x, offset=-1), 0.5)
    return where(abs(x) < x.format.tiny, x, where(x < -_RANGES[x.dtype].flat, x.like(-1.0), result + result))


def _reduced_in_range(x: Value) -> tuple[ReducedArgument, Value]:
    limits = _RANGES[x.dtype]
    x = at_most(limits.highest, at_least(limits.lowest, x))
    return reduce(x), nearest_half(x)


def gauss(x: Value) -> Value:
    """e**(−x²). Bound: 2 ulp."""
    return _exp_of_square(x, 1.0)


def half_gauss(x: Value) -> Value:
    """e**(−x²/2). Bound: 2 ulp."""
    return _exp_of_square(x, 0.5)


def _exp_of_square(x: Value, factor: float) -> Value:
    """e**(−factor·x²), with x² in two parts, since one rounding error of x² is amplified by its size."""
    if not x.is_double:  # its square is exact in float64
        wide = x.cast("float64")
        return exp_of_negative(-factor * (wide * wide)).cast(x.dtype)
    size = at_most((-_RANGES[x.dtype].lowest / factor) ** 0.5 + 1.0, abs(x))
    head = size.truncated()
    square, lacking = factor * (head * head), factor * ((size - head) * (size + head))
    y = -square
    reduced, half = reduce(y), nearest_half(y)
    return times_power_of_two(reduced.less(lacking).expm1() + 1.0, reduced.n_bits, half)


def expm1(x: Value) -> Value:
    """e**x − 1 = 2·(2**(n−1)·(e**r − 1) + (2**(n−1) − ½)); x itself where x² is negligible. Bound: 2 ulp."""
    limits = _RANGES[x.dtype]
    reduced = reduce(at_most(limits.highest, at_least(-limits.flat, x)))
    scale = power_of_two(reduced.n_bits, x, offset=-1)
    result = reduced.scaled_expm1(scale, 0.5)
    return where(abs(x) < x.format.tiny, x, result + result)


def reduce_exponent(x: Value) -> tuple[Value, Value]:
    """Split x = n + y with |y| ≤ ½: return a pattern whose low bits are n in two's complement, and y."""
    shifted = x + x.format.round_shift
    return shifted.bits(), x - (shifted - x.format.round_shift)


def exp2(x: Value) -> Value:
    """2**x. Bound: 2 ulp."""
    return exp2_split(x, x.like(0.0))


def exp2_split(x: Value, low: Value) -> Value:
    """2**(x + low) for a small `low`. Bound: 2 ulp."""
    form = x.format
    x = at_most(form.bias + 2.0, at_least(-form.bias - form.fraction_bits - 2.0, x))
    if x.has_tables:
        shift = form.round_shift / 16.0
        shifted = x + shift
        n = shifted - shift
        return _power_by_table(shifted.bits(), n, ((x - n) + low) * math.log(2.0), is_close=True)
    n_bits, y = reduce_exponent(x)
    half = fma(x, 0.5, form.round_shift).bits()
    y = y + low
    root = fma(y, polynomial(y, _EXP2_TAIL[x.dtype]), 1.0)
    return times_power_of_two(root, n_bits, half)


def tanh(x: Value) -> Value:
    """e/(1 + e) with e = ½·expm1(2·|x|), and the sign of x. Bound: 2 ulp.

    The quotient is computed at e' = (1 + e) − 1, where the denominator is exact; the error of e' is corrected to first
    order, by the derivative 1/(1 + e)² = (1 − e/(1 + e))².
    """
    reduced = reduce(at_most(_RANGES[x.dtype].flat, abs(x) * 2.0))
    scale, tail = power_of_two(reduced.n_bits, x, offset=-1), reduced.tail()
    head = fma(scale, reduced.r, scale - 0.5)
    denominator = fma(scale, tail, head) + 1.0
    numerator = denominator - 1.0
    quotient = numerator / denominator
    missing = fma(scale, tail, head - numerator)
    root = 1.0 - quotient
    return fma(missing, root * root, quotient).with_sign_of(x)


def sigmoid(x: Value) -> Value:
    """1/(1 + e**-x) = 2**-h/(2**-h + 2**(n-h)·e**r) for -x = n·ln 2 + r and h ≈ n/2, which underflows gradually.

    Bound: 2 ulp.
    """
    limits = _RANGES[x.dtype]
    y = at_most(-limits.lowest, at_least(-limits.flat, -x))
    reduced, half = reduce(y), nearest_half(y)
    unit = inverse_power_of_two(half, x)
    scale = power_of_two(reduced.n_bits - half, x)
    return unit / (fma(scale, reduced.expm1(), unit) + scale)


def sigmoid_shared(x: Value) -> Value:
    """sigmoid(x) as 1/(1 + t) for x ≥ 0 and t/(1 + t) below, with the t = e**-|x| of softplus(x). Bound: 2.5 ulp."""
    return _sigmoid_by_decay(x, exp_of_negative(-abs(x)))


def logistic_density(x: Value) -> Value:
    """The derivative s·(1 − s) of s = sigmoid(x), where 1 − s is t·s with t = e**-x for x ≥ 0. Bound: 5 ulp."""
    t = exp_of_negative(-abs(x))
    s = _sigmoid_by_decay(x, t)
    return s * where(x < 0.0, 1.0 - s, t * s)


def _sigmoid_by_decay(x: Value, t: Value) -> Value:
    return where(x < 0.0, t, 1.0) / (t + 1.0)


def tanh_half(x: Value) -> Value:
    """tanh(x/2) = (1 − t)/(1 + t) with the t = e**-|x| of softplus(x), and the sign of x. Bound: 3 ulp."""
    t, complement = exp_and_complement(-abs(x))
    return (complement / (t + 1.0)).with_sign_of(x)


def tanh_shared(x: Value) -> Value:
    """tanh(x) as (1 − t)·(1/(1 + t)) with the t = e**(−2|x|) of `sech_squared`, and the sign of x. Bound: 4 ulp."""
    size = abs(x)
    t, complement = exp_and_complement(-(size + size))
    return (complement * (1.0 / (t + 1.0))).with_sign_of(x)


def sech_squared(x: Value) -> Value:
    """1/cosh²(x) = 4·t/(1 + t)² with t = e**(−2|x|). Bound: 5 ulp."""
    size = abs(x)
    t = exp_of_negative(-(size + size))
    unit = 1.0 / (t + 1.0)
    return (4.0 * t) * unit * unit
