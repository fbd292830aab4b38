"""Arithmetic, elementary and special functions, comparison, choice, conversion."""

from __future__ import annotations

from typing import Any

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.extension import dtypes
from aotensor.importers.lax.table import Context, Equation, enter_functions, is_literal, rule


def _is_integer(x: at.Variable) -> bool:
    return x.dtype in dtypes.INTEGERS


def _divided(x: at.Variable, y: at.Variable) -> at.Variable:
    """x/y; integers are rounded toward zero, and give all bits set where y is 0."""
    if not _is_integer(x):
        return at.true_div(x, y)
    return at.switch(at.eq(y, 0), at.invert(at.zeros_like(x)), at.trunc_div(x, y))


def _remainder(x: at.Variable, y: at.Variable) -> at.Variable:
    """The remainder as by C's fmod and %; x where an integer y is 0."""
    found = at.fmod(x, y)
    return at.switch(at.eq(y, 0), x, found) if _is_integer(x) else found


def _power(x: at.Variable, y: at.Variable) -> at.Variable:
    """xʸ; an integer to a negative power is 1/x⁻ʸ rounded toward zero: 0, except for x = 1 and −1."""
    y = at.cast(y, x.dtype)
    if not _is_integer(x) or not dtypes.is_signed(x.dtype):
        return at.pow(x, y)
    unit = at.switch(at.eq(x, -1), at.switch(at.eq(y & 1, 0), 1, -1), at.cast(at.eq(x, 1), x.dtype))
    return at.switch(at.lt(y, 0), unit, at.pow(x, at.maximum(y, 0)))


def _chosen(which: at.Variable, *cases: at.Variable) -> at.Variable:
    """Select the case with a given number; a bool counts as 0 or 1."""
    if which.dtype == "bool":
        return at.switch(which, cases[-1], cases[0])
    found = cases[-1]
    for number in range(len(cases) - 2, -1, -1):
        found = at.switch(at.le(which, number), cases[number], found)
    return found


def _clamped(low: at.Variable, x: at.Variable, high: at.Variable) -> at.Variable:
    return at.minimum(at.maximum(x, low), high)


def _larger(x: at.Variable, y: at.Variable) -> at.Variable:
    """The maximum; of complex numbers the one with the larger real part, then imaginary part."""
    return _first_if(_is_larger(x, y), x, y) if dtypes.is_complex(x.dtype) else at.maximum(x, y)


def _smaller(x: at.Variable, y: at.Variable) -> at.Variable:
    """The minimum; of complex numbers the one with the smaller real part, then imaginary part."""
    return _first_if(_is_larger(y, x), x, y) if dtypes.is_complex(x.dtype) else at.minimum(x, y)


def _is_larger(x: at.Variable, y: at.Variable) -> at.Variable:
    is_tie = at.eq(at.real(x), at.real(y))
    return at.switch(is_tie, at.gt(at.imag(x), at.imag(y)), at.gt(at.real(x), at.real(y)))


def _first_if(condition: at.Variable, x: at.Variable, y: at.Variable) -> at.Variable:
    """x where the condition holds, else y; equal operands have half of the derivative each, as in JAX."""
    return at.switch(at.eq(x, y), 0.5 * x + 0.5 * y, at.switch(condition, x, y))


def _logistic(x: at.Variable) -> at.Variable:
    return at.reciprocal(1 + at.exp(-x)) if dtypes.is_complex(x.dtype) else at.sigmoid(x)


def _gammainc_slope(a: at.Variable, x: at.Variable) -> at.Variable:
    """∂/∂a of the regularised lower incomplete gamma function."""
    found: at.Variable = aot.grad(at.sum(at.gammainc(a, x)), a)
    return found


enter_functions({
    "abs": at.abs, "acos": at.arccos, "acosh": at.arccosh, "add": at.add, "add_any": at.add, "asin": at.arcsin,
    "asinh": at.arcsinh, "atan": at.arctan, "atan2": at.arctan2, "atanh": at.arctanh,
    "bessel_i0e": lambda x: at.ive(0, x), "bessel_i1e": lambda x: at.ive(1, x), "cbrt": at.cbrt, "ceil": at.ceil,
    "clamp": _clamped, "complex": at.complex, "conj": at.conj, "cos": at.cos, "cosh": at.cosh, "digamma": at.digamma,
    "div": _divided, "eq": at.eq, "erf": at.erf, "erf_inv": at.erfinv, "erfc": at.erfc, "exp": at.exp, "exp2": at.exp2,
    "expm1": at.expm1, "floor": at.floor, "ge": at.ge, "gt": at.gt, "igamma": at.gammainc, "igammac": at.gammaincc,
    "igamma_grad_a": _gammainc_slope, "imag": at.imag, "is_finite": at.isfinite, "le": at.le, "lgamma": at.gammaln,
    "log": at.log, "log1p": at.log1p, "logistic": _logistic, "lt": at.lt, "max": _larger, "min": _smaller,
    "mul": at.mul, "ne": at.neq, "neg": at.neg, "pow": _power, "real": at.real,
    "regularized_incomplete_beta": at.betainc, "rem": _remainder, "rsqrt": lambda x: at.reciprocal(at.sqrt(x)),
    "select_n": _chosen, "sign": at.sign, "sin": at.sin, "sinh": at.sinh, "sqrt": at.sqrt, "square": at.sqr,
    "sub": at.sub, "tan": at.tan, "tanh": at.tanh,
})  # fmt: skip


@rule("integer_pow")
def _integer_pow(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    exponent: int = equation.params["y"]
    return at.reciprocal(at.pow(x, -exponent)) if exponent < 0 else at.pow(x, exponent)


def _is_other_order(equation: Equation) -> str:
    order = equation.invars[0]
    is_number = is_literal(order) and float(order.val).is_integer()
    return "" if is_number else "its order is not a constant integer"


@rule("polygamma", check=_is_other_order, note="of an order that is a constant integer")
def _polygamma(context: Context, equation: Equation, order: at.Variable, x: at.Variable) -> at.Variable:
    number: Any = equation.invars[0].val
    return at.polygamma(int(number), x)


@rule("round")
def _round(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    is_to_even = int(equation.params["rounding_method"]) == 1
    return at.round_half_to_even(x) if is_to_even else at.round_half_away_from_zero(x)


@rule("convert_element_type", note="floats to integers saturate, as XLA's on a CPU")
def _convert(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    wanted = np.dtype(equation.params["new_dtype"])
    return at.real(x) if dtypes.is_complex(x.dtype) and wanted.kind != "c" else x


def _is_less_precise(equation: Equation) -> str:
    bits = {"float32": (8, 23), "float64": (11, 52)}.get(str(equation.invars[0].aval.dtype))
    asked = (equation.params["exponent_bits"], equation.params["mantissa_bits"])
    is_as_precise = bits is not None and asked[0] >= bits[0] and asked[1] >= bits[1]
    return "" if is_as_precise else "rounding to fewer bits than the dtype has is not supported"


@rule("reduce_precision", check=_is_less_precise, note="where it asks for the precision of the operand")
def _reduce_precision(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    return x
