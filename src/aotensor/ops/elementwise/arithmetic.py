"""Arithmetic: sums, products, quotients, signs, extrema."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import Elementwise, Routes, elementwise, selection_partials
from aotensor.ops.elementwise.compare import ge, isnan, le, or_
from aotensor.ops.elementwise.signatures import counting, last, numeric, quotient, signed

_MAX_UNROLLED_POWER = 16
"""Largest literal exponent that is expanded to multiplications, which all round once."""


def _times_the_others(g: Variable, position: int, inputs: list[Variable], y: Variable) -> Variable:
    return mul(g, *(x for k, x in enumerate(inputs) if k != position))


identity = elementwise(
    "identity",
    "x as a new variable.",
    np.array,
    lambda s, x: x,
    (lambda g, x, y: g,),
    numeric,
    analytic=np.array,
    numpy=("positive", "copy"),
    notation="{0}",
)
second = elementwise(
    "second",
    "b repeated to the common shape of a and b; also `fill`. No gradient but zero flows to a.",
    lambda a, b: np.broadcast_arrays(a, b)[1].copy(),
    lambda s, a, b: b,
    (None, lambda g, a, b, y: g),
    last,
    analytic=lambda a, b: np.broadcast_arrays(a, b)[1].copy(),
)
fill = second

add = elementwise(
    "add",
    "x + y + …; integers wrap, bool adds as `or`.",
    lambda *xs: reduce(np.add, xs),
    lambda s, *xs: reduce(operator.add, xs),
    lambda g, position, inputs, y: g,
    numeric,
    analytic=lambda *xs: reduce(np.add, xs),
    numpy="add",
    operator="+",
)
sub = elementwise(
    "sub",
    "x − y; integers wrap.",
    np.subtract,
    lambda s, x, y: x - y,
    (lambda g, a, b, y: g, lambda g, a, b, y: -g),
    signed,
    analytic=np.subtract,
    numpy="subtract",
    operator="-",
)
mul: Elementwise = elementwise(
    "mul",
    "x · y · …; integers wrap, bool multiplies as `and`.",
    lambda *xs: reduce(np.multiply, xs),
    lambda s, *xs: reduce(operator.mul, xs),
    _times_the_others,
    numeric,
    analytic=lambda *xs: reduce(np.multiply, xs),
    numpy="multiply",
    operator="*",
)
true_div = elementwise(
    "true_div",
    "x / y by IEEE: 1/0 is inf, 0/0 is nan. Integers give float64.",
    np.true_divide,
    lambda s, x, y: x / y,
    (lambda g, a, b, y: g / b, lambda g, a, b, y: -g * y / b),
    quotient,
    analytic=np.true_divide,
    numpy="divide",
    operator="/",
)
neg = elementwise(
    "neg",
    "−x; integers wrap, bool is refused.",
    np.negative,
    lambda s, x: -x,
    (lambda g, x, y: -g,),
    signed,
    analytic=np.negative,
    numpy="negative",
    method="__neg__",
    notation="-",
)
reciprocal = elementwise(
    "reciprocal",
    "1/x in floating point; ±inf at ±0.",
    np.reciprocal,
    lambda s, x: 1 / x,
    (lambda g, x, y: -g * sqr(y),),
    analytic=np.reciprocal,
    numpy="reciprocal",
    method="reciprocal",
)
sqr: Elementwise = elementwise(
    "sqr",
    "x²; integers wrap.",
    np.square,
    lambda s, x: x * x,
    (lambda g, x, y: 2 * g * x,),
    numeric,
    analytic=np.square,
    numpy="square",
    method=("sqr", "square"),
)
square = sqr


# --- integer division ------------------------------------------------------------------------------------------------


def _safe_divisor(s: ScalarBuilder, y: Scalar) -> Scalar:
    """Emit y, with the divisors 0 and −1 replaced by 1: the machine's integer division may trap on them."""
    one = s.constant(1, y.dtype)
    trap = s.compare("eq", y, s.constant(0, y.dtype))
    if dtypes.is_signed(y.dtype):
        trap |= s.compare("eq", y, s.constant(-1, y.dtype))
    return s.select(trap, one, y)


def _signs_differ(s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    zero = s.constant(0, x.dtype)
    return (x < zero) ^ (y < zero)


def _emit_mod(s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """Emit x − y·⌊x/y⌋, with the sign of y: the truncated remainder, plus y if its sign is wrong."""
    zero = s.constant(0, x.dtype)
    is_float = dtypes.is_float(x.dtype)
    rest = x % (y if is_float else _safe_divisor(s, y))
    is_off = s.compare("ne", rest, zero) & _signs_differ(s, rest, y)
    rest = s.select(is_off, rest + y, rest)
    if is_float:
        return s.select(s.compare("eq", rest, zero), s.math2("copysign", zero, y), rest)
    return s.select(s.compare("eq", y, zero), zero, rest)


def _emit_whole_int_div(s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """Emit ⌊x/y⌋ of integers; 0 for y = 0, and the wrapped −x for y = −1."""
    zero, one = s.constant(0, x.dtype), s.constant(1, x.dtype)
    safe = _safe_divisor(s, y)
    result = x / safe
    if dtypes.is_signed(x.dtype):
        rest = x % safe
        is_off = s.compare("ne", rest, zero) & _signs_differ(s, rest, y)
        result = s.select(is_off, result - one, result)
        result = s.select(s.compare("eq", y, s.constant(-1, y.dtype)), -x, result)
    return s.select(s.compare("eq", y, zero), zero, result)


def _emit_float_int_div(s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """Emit ⌊x/y⌋ of floats from the exact remainder, as NumPy defines it; ±inf or nan for y = 0."""
    zero, one, half = (s.constant(value, x.dtype) for value in (0.0, 1.0, 0.5))
    rest = x % y
    ratio = (x - rest) / y
    is_off = s.compare("ne", rest, zero) & _signs_differ(s, rest, y)
    ratio = s.select(is_off, ratio - one, ratio)
    whole = s.math("floor", ratio)
    whole = s.select(ratio - whole > half, whole + one, whole)
    whole = s.select(s.compare("eq", ratio, zero), s.math2("copysign", zero, x / y), whole)
    return s.select(s.compare("eq", y, zero), x / y, whole)


int_div = elementwise(
    "int_div",
    "⌊x/y⌋. Integers: 0 for y = 0. Floats: ±inf or nan for y = 0. Derivatives are 0.",
    np.floor_divide,
    lambda s, x, y: (_emit_float_int_div if dtypes.is_float(x.dtype) else _emit_whole_int_div)(s, x, y),
    (None, None),
    counting,
    numpy="floor_divide",
    operator="//",
)
floor_div = int_div
mod = elementwise(
    "mod",
    "x − y·⌊x/y⌋, with the sign of y. For y = 0: integers 0, floats nan.",
    np.mod,
    _emit_mod,
    (lambda g, a, b, y: g, lambda g, a, b, y: -g * int_div(a, b)),
    counting,
    numpy="remainder",
    operator="%",
)


def _whole_quotient(x: Any, y: Any) -> Any:
    """x/y rounded toward zero, for integer arrays: ⌊|x|/|y|⌋ with a sign, from the exact remainder."""
    rest = np.fmod(x, y)
    if rest.dtype.kind in "iu":
        return np.floor_divide(x - rest, y)
    ratio = (x - rest) / y
    return np.where(y == 0, x / y, np.where(ratio == 0, np.copysign(0, x / y), np.rint(ratio)))


def _emit_trunc_div(s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """Emit C's quotient for integers; for floats the exact multiple of y, divided and rounded to an integer."""
    zero = s.constant(0, x.dtype)
    is_zero = s.compare("eq", y, zero)
    if dtypes.is_float(x.dtype):
        ratio = (x - x % y) / y
        signed_zero = s.math2("copysign", zero, x / y)
        whole = s.select(s.compare("eq", ratio, zero), signed_zero, s.math("rint", ratio))
        return s.select(is_zero, x / y, whole)
    result = x / _safe_divisor(s, y)
    if dtypes.is_signed(x.dtype):
        result = s.select(s.compare("eq", y, s.constant(-1, y.dtype)), -x, result)
    return s.select(is_zero, zero, result)


def _emit_fmod(s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """Emit C's remainder of x by y; the result keeps the sign of x, also for −0."""
    if dtypes.is_float(x.dtype):
        return x % y
    zero = s.constant(0, x.dtype)
    return s.select(s.compare("eq", y, zero), zero, x % _safe_divisor(s, y))


trunc_div = elementwise(
    "trunc_div",
    "x/y rounded toward zero, as C divides integers. Integers: 0 for y = 0. Floats: ±inf or nan for y = 0. "
    "Derivatives are 0.",
    _whole_quotient,
    _emit_trunc_div,
    (None, None),
    counting,
)
fmod = elementwise(
    "fmod",
    "x − y·trunc(x/y), exact, with the sign of x, as C's `fmod` and `%`. For y = 0: integers 0, floats nan.",
    np.fmod,
    _emit_fmod,
    (lambda g, a, b, y: g, lambda g, a, b, y: -g * trunc_div(a, b)),
    counting,
    numpy="fmod",
)


# --- signs and extrema -----------------------------------------------------------------------------------------------


def _emit_sign(s: ScalarBuilder, x: Scalar) -> Scalar:
    zero, one, minus = s.constant(0, x.dtype), s.constant(1, x.dtype), -s.constant(1, x.dtype)
    negative = s.select(x < zero, minus, s.select(s.compare("eq", x, zero), zero, x))
    return s.select(x > zero, one, negative)


abs = elementwise(
    "abs",
    "|x|; the derivative at 0 is 0.",
    np.abs,
    lambda s, x: s.abs(x),
    (lambda g, x, y: g * sign(x),),
    numeric,
    numpy="absolute",
    method=("abs", "__abs__"),
)
sign: Elementwise = elementwise(
    "sign",
    "−1, 0 or 1; nan stays nan, bool is refused. Also `sgn`.",
    np.sign,
    _emit_sign,
    (None,),
    signed,
    numpy="sign",
    method="sign",
)
sgn = sign


def _by(better: Elementwise) -> Routes:
    """Derivative routes of maximum and minimum: the cotangent goes to the first operand if it wins, ties, or is nan."""

    def routes(a: Variable, b: Variable) -> tuple[tuple[Variable, bool] | None, ...]:
        leads = better(a, b)
        leads = or_(leads, isnan(a)) if dtypes.is_float(a.dtype) else leads
        return (leads, True), (leads, False)

    return routes


maximum = elementwise(
    "maximum",
    "The larger one, nan if either is nan. A tie sends the derivative to x, a nan sends it to the nan.",
    np.maximum,
    lambda s, x, y: s.maximum(x, y),
    selection_partials(_by(ge), 2),
    numeric,
    routes=_by(ge),
    numpy="maximum",
)
minimum = elementwise(
    "minimum",
    "The smaller one, nan if either is nan. A tie sends the derivative to x, a nan sends it to the nan.",
    np.minimum,
    lambda s, x, y: s.minimum(x, y),
    selection_partials(_by(le), 2),
    numeric,
    routes=_by(le),
    numpy="minimum",
)


@coerced
def relu(x: Any) -> Variable:
    """max(x, 0); the derivative at 0 is 1, nan stays nan."""
    return maximum(x, 0)
