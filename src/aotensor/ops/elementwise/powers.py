"""Powers: general ones, and by multiplications for a small literal exponent."""

from __future__ import annotations

from functools import cache, reduce
from typing import Any

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.types import Array
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.sparse_type import is_sparse
from aotensor.graph.variable import Constant, Variable, as_tensor
from aotensor.ops.elementwise.arithmetic import reciprocal, second, sqr
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row
from aotensor.ops.elementwise.compare import and_, cast, eq, ge, isnan, or_, switch
from aotensor.ops.elementwise.elementary import log
from aotensor.ops.elementwise.signatures import counting, numeric

_MAX_UNROLLED_POWER = 16
"""Largest literal exponent that is expanded to multiplications, which all round once."""


def _reference_pow(x: Array, y: Array) -> Array:
    if y.dtype.kind in "iu" and np.any(y < 0):
        raise GraphValueError(
            "pow: an integer raised to a negative integer power is not an integer",
            hint="cast the base to a floating dtype",
        )
    return np.asarray(np.power(x, y))


def _check_exponents(b: TensorBuilder, x: Tensor, y: Tensor) -> None:
    _, common = counting(x.dtype, y.dtype)
    if not dtypes.is_signed(common):
        return
    fine = b.map(lambda s, e: s.cast(e, common) >= 0, y, dtype="bool")
    b.check(b.item(b.reduce("and", fine, range(len(y.extents)))), "an integer to a negative integer power")


def _emit_pow(s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """Emit xʸ; for integers by repeated squaring, one step per bit of the exponent, so that the result wraps."""
    if dtypes.is_float(x.dtype):
        return s.math2("pow", x, y)
    bits = 8 * dtypes.itemsize(x.dtype) - (1 if dtypes.is_signed(x.dtype) else 0)
    zero, result, power = s.constant(0, x.dtype), s.constant(1, x.dtype), x
    for bit in range(bits):
        is_set = s.compare("ne", y & (1 << bit), zero)
        result = s.select(is_set, result * power, result)
        power *= power
    return result


_without_derivative = Elementwise(
    Row(
        "held", "x, without a derivative", np.array, lambda s, x: x, (None,), numeric, analytic=np.array, notation="{0}"
    )
)


def _pow_derivative_of_base(g: Variable, a: Variable, b: Variable, y: Variable) -> Variable:
    """The derivative of aᵇ in a, times g: g·b·aᵇ⁻¹, and 0 for b = 0 where a is 0 or nan."""
    derivative = g * b * _pow(a, b - 1)
    if isinstance(b, Constant) and np.all(b.data != 0):
        return derivative
    held, is_constant = _without_derivative(b), and_(eq(b, 0), or_(eq(a, 0), isnan(a)))
    return switch(is_constant, 0, switch(and_(eq(a, 0), ge(b, 0)), g * held * _pow(a, held - 1), derivative))


def _pow_derivative_of_exponent(g: Variable, a: Variable, b: Variable, y: Variable) -> Variable:
    """The derivative of aᵇ in b, times g: g·aᵇ·ln a, and 0 for a = 0, b ≥ 0."""
    return switch(and_(eq(a, 0), ge(b, 0)), 0, g * y * log(a))


_pow = Elementwise(
    Row(
        "pow",
        "xʸ",
        _reference_pow,
        _emit_pow,
        (_pow_derivative_of_base, _pow_derivative_of_exponent),
        counting,
        guard=_check_exponents,
        analytic=np.power,
        notation="**",
    )
)


@cache
def _integer_power(exponent: int) -> Elementwise:
    """The op xⁿ for a literal n, by multiplications."""

    def emit(s: ScalarBuilder, x: Scalar) -> Scalar:
        power = reduce(
            lambda low, bit: low * low * x if bit == "1" else low * low, f"{max(exponent, -exponent):b}"[1:], x
        )
        return power if exponent > 0 else 1 / power

    return Elementwise(
        Row(
            "int_pow",
            "xⁿ for a literal n",
            lambda x: np.power(x, np.asarray(exponent, x.dtype)),
            emit,
            (lambda g, x, y: exponent * g * pow(x, exponent - 1),),
            numeric,
            parameters=(("exponent", exponent),),
            analytic=lambda x: np.power(x, exponent),
        )
    )


MAKERS["int_pow"] = _integer_power


@public(numpy="power", operator="**")
@coerced
def pow(x: Any, y: Any) -> Variable:
    """xʸ.   Integer literals up to ±16 as y use exact forms: x⁰ = 1, x² = x·x. Bool counts as int8.

    Derivatives: y·xʸ⁻¹ (0 at 0⁰) and xʸ·ln x (0 for x = 0, y ≥ 0, and so are all derivatives with respect to y there).

    Raises: GraphValueError for an integer to a negative integer power, when built where y is a literal, else at run
    time.
    """
    exponent = None if is_sparse(x) else _whole_literal(x, y)
    if exponent is None:
        return _pow(x, y)
    base, _ = _pow.convert_inputs([x, y])
    _, common = counting(base.dtype, as_tensor(exponent).dtype) if dtypes.is_discrete(base.dtype) else ((), base.dtype)
    base = cast(base, common)
    if exponent < 0 and dtypes.is_discrete(common):
        raise GraphValueError(
            f"pow: an integer raised to the power {exponent} is not an integer",
            lines=[base.describe()],
            hint="cast the base to a floating dtype",
        )
    match exponent:
        case 0:
            return second(
                base,
                as_tensor(np.ones((), common))
                if dtypes.is_complex(common)
                else 1
                if dtypes.is_float(common)
                else as_tensor(np.ones((), common)),
            )
        case 1:
            return base
        case 2:
            return sqr(base)
        case -1:
            return reciprocal(base)
    return _integer_power(exponent)(base)


def _whole_literal(x: Any, y: Any) -> int | None:
    """The exponent y if it is a small integer literal and x is symbolic; else None."""
    if isinstance(y, bool | np.generic) or not isinstance(y, int | float) or not isinstance(x, Variable):
        return None
    if isinstance(y, float) and not (y.is_integer() and dtypes.is_inexact(x.dtype)):
        return None
    return int(y) if -_MAX_UNROLLED_POWER <= y <= _MAX_UNROLLED_POWER else None


power = pow
