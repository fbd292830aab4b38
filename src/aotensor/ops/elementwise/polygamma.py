"""The derivatives of ψ, of any order."""

from __future__ import annotations

from functools import cache
from math import factorial
from typing import Any

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.core.types import Array
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import null_gradient
from aotensor.graph.variable import Constant, Variable, as_tensor
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row
from aotensor.ops.elementwise.scipy_reference import scipy_special
from aotensor.ops.elementwise.signatures import floating
from aotensor.ops.elementwise.special import psi, reflected_polygamma, tri_gamma

_LARGEST_UNROLLED = 8
"""Largest order with its own function; higher ones are loops."""
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)


def _reference(n: Array, x: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.where(n < 0, np.nan, scipy_special("polygamma")(np.maximum(n, 0), x)).astype(x.dtype)


@cache
def _static_order(n: int) -> Elementwise:
    """The op x ↦ ψ⁽ⁿ⁾(x) for a static n ≥ 2."""

    def emit(s: ScalarBuilder, x: Scalar) -> Scalar:
        if n <= _LARGEST_UNROLLED:
            return s.special(f"polygamma_{n}", x)
        return _emit(s, s.constant(n, "int64"), x)

    return Elementwise(
        Row(
            "polygamma",
            "ψ⁽ⁿ⁾(x)",
            lambda x: reflected_polygamma(n, x).astype(x.dtype),
            emit,
            (lambda g, x, y: g * _static_order(n + 1)(x),),
            floating,
            parameters=(("order", n),),
        )
    )


MAKERS["polygamma"] = _static_order


def _orders_and_arguments(n: str, x: str) -> tuple[tuple[str, ...], str]:
    if n not in dtypes.INTEGERS:
        raise GraphTypeError(f"the order must be an integer, not {n}", hint="cast it")
    common = dtypes.float_of(x)
    return ("int64", common), common


def _emit(s: ScalarBuilder, n: Scalar, x: Scalar) -> Scalar:
    """Emit ψ⁽ⁿ⁾(x) = (−1)ⁿ⁺¹·n!·ζ(n + 1, x): a sum up to an argument above 10 + 2n, then Euler-Maclaurin; ψ for n =
    0.

    The number of steps is the distance of x to that bound.
    """
    one, two = s.constant(1.0, "float64"), s.constant(2.0, "float64")
    wide, order = s.cast(x, "float64"), s.cast(n, "float64")
    exponent = -(order + one)
    bound = s.constant(10.0, "float64") + two * order

    def goes_on(v: ScalarBuilder, a: Scalar, total: Scalar, exponent: Scalar, bound: Scalar) -> Scalar:
        is_pole = v.compare("eq", a, v.math("floor", a))
        is_pole &= a <= 0.0
        return (a < bound) & ~is_pole

    def step(v: ScalarBuilder, a: Any, total: Any, exponent: Any, bound: Any) -> list[Any]:
        return [a + 1.0, total + v.math2("pow", a, exponent)]

    start = [wide, s.constant(0.0, "float64")]
    a, head = s.iterate(start, [exponent, bound], goes_on, step)
    inverse = one / a
    square = inverse * inverse
    tail = one / order + 0.5 * inverse
    rising = (order + one) * square  # (n + 1)…(n + 2j − 1)·a⁻²ʲ
    for j, number in enumerate(_BERNOULLI, start=1):
        tail += rising * (number / factorial(2 * j))
        following = [order + float(2 * j + k) for k in (0, 1)]
        rising = rising * square * (following[0] * following[1])
    zeta = head + s.math2("pow", a, -order) * tail
    size = s.math("exp", s.special("gammaln", order + one)) * zeta
    is_even = s.compare("eq", n & 1, s.constant(0, "int64"))
    signed = s.select(is_even, -size, size)
    is_pole = (a <= 0.0) & s.compare("eq", a, s.math("floor", a))
    infinite = s.constant(np.inf, "float64")
    signed = s.select(is_pole, s.select(is_even, -infinite, infinite), signed)
    signed = s.select(s.compare("eq", n, s.constant(0, "int64")), s.special("psi", wide), signed)
    signed = s.select(n < 0, s.constant(np.nan, "float64"), signed)
    return s.cast(signed, x.dtype)


def _no_derivative(g: Variable, n: Variable, x: Variable, y: Variable) -> Variable:
    return null_gradient(_any_order, 0, n, "undefined", "it counts derivatives")


_any_order: Elementwise = Elementwise(
    Row(
        "polygamma",
        "ψ⁽ⁿ⁾(x)",
        _reference,
        _emit,
        (_no_derivative, lambda g, n, x, y: g * _any_order(n + 1, x)),
        _orders_and_arguments,
        weak_from=1,
    )
)


@coerced
def polygamma(n: Any, x: Any) -> Variable:
    """ψ⁽ⁿ⁾(x), the n-th derivative of ψ = (ln Γ)′; ±inf at 0, −1, −2, … as SciPy has it.   n, x broadcast → floating

    n: an integer, or a tensor of integers, in which a negative number gives nan. Known orders up to 8 are straight-line
    code; others need as many steps as x is below 10 + 2n. Differentiable in x to any order; n has no derivative.

    Raises: GraphTypeError for a non-integer order, GraphValueError for a negative number as order.
    """
    known = n.data if isinstance(n, Constant) else n
    if isinstance(known, int | np.integer) or (isinstance(known, np.ndarray) and known.ndim == 0):
        if isinstance(known, bool | np.bool_) or not np.issubdtype(np.asarray(known).dtype, np.integer):
            raise GraphTypeError(f"polygamma: the order must be an integer, not {known!r:.40}")
        order = int(known)
        if order < 0:
            raise GraphValueError(
                f"polygamma: order {order} is negative", hint="0 is ψ itself, gammaln is the one before"
            )
        return (psi, tri_gamma)[order](x) if order < 2 else _static_order(order)(x)
    orders = as_tensor(n)
    if orders.dtype not in dtypes.INTEGERS:
        raise GraphTypeError("polygamma: the order must be an integer", lines=[orders.describe()], hint="cast it")
    return _any_order(orders, x)
