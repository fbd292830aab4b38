"""Quotients that are 0/0 at 0, f(u)/u and u/f(u): their derivatives are differences of what cancels near 0.

expm1(u)/u    log1p(u)/u    sin(u)/u    sinh(u)/u    tanh(u)/u    arctan(u)/u

Near 0 each is the sum of a power series, and so are its derivatives, of any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import comb, factorial, pi, sqrt
from typing import Any, Final

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.arithmetic import abs as absolute
from aotensor.ops.elementwise.arithmetic import sqr, true_div
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row
from aotensor.ops.elementwise.compare import eq, lt, switch
from aotensor.ops.elementwise.elementary import arcsin, arcsinh, arctan, arctanh, expm1, log1p, sin, sinh, tan, tanh
from aotensor.ops.elementwise.special import bose, erf
from aotensor.ops.stable.functions import csch
from aotensor.ops.stable.match import Look, is_same
from aotensor.ops.stable.products import expm1_of

_TERMS: Final = 40
"""Of a series; those of f(u)/u below an ulp for |u| < radius, and of its first derivatives, are fewer."""


@frozen_dataclass
class _Quotient:
    """A quotient f(u)/u. terms: k ↦ coefficient of uᵏ. radius: the series is used for |u| below it. inverse: u ↦
    1/f(u)
    """

    function: Elementwise
    terms: Callable[[int], Fraction]
    radius: float
    inverse: Callable[[Variable], Variable]


def _odd(k: int, value: Callable[[int], Fraction]) -> Fraction:
    """Coefficient of uᵏ in a series of even powers: value(k/2), or 0 for odd k."""
    return Fraction(0) if k % 2 else value(k // 2)


@cache
def _tanh_terms() -> list[Fraction]:
    """Coefficients of the series of tanh(u)/u = (sinh(u)/u)/cosh(u)."""
    above = [_odd(k, lambda j: Fraction(1, factorial(2 * j + 1))) for k in range(_TERMS)]
    below = [_odd(k, lambda j: Fraction(1, factorial(2 * j))) for k in range(_TERMS)]
    found: list[Fraction] = []
    for k in range(_TERMS):
        found.append(above[k] - sum((below[k - j] * found[j] for j in range(k)), Fraction(0)))
    return found


@cache
def _tan_terms() -> list[Fraction]:
    """Coefficients of the series of tan(u)/u: those of tanh(u)/u with all signs positive."""
    return [abs(c) for c in _tanh_terms()]


def _arcsin_term(j: int) -> Fraction:
    """The coefficient of u²ʲ in the series of arcsin(u)/u."""
    return Fraction(comb(2 * j, j), 4**j * (2 * j + 1))


_QUOTIENTS: Final[Mapping[str, _Quotient]] = {
    "expm1": _Quotient(expm1, lambda k: Fraction(1, factorial(k + 1)), 1.0, lambda u: bose(-u)),
    "log1p": _Quotient(log1p, lambda k: Fraction((-1) ** k, k + 1), 0.25, lambda u: 1 / log1p(u)),
    "sin": _Quotient(
        sin, lambda k: _odd(k, lambda j: Fraction((-1) ** j, factorial(2 * j + 1))), 1.0, lambda u: 1 / sin(u)
    ),
    "sinh": _Quotient(sinh, lambda k: _odd(k, lambda j: Fraction(1, factorial(2 * j + 1))), 1.0, csch),
    "tanh": _Quotient(tanh, lambda k: _tanh_terms()[k], 0.25, lambda u: 1 / tanh(u)),
    "arctan": _Quotient(
        arctan, lambda k: _odd(k, lambda j: Fraction((-1) ** j, 2 * j + 1)), 0.25, lambda u: 1 / arctan(u)
    ),
    "arctanh": _Quotient(arctanh, lambda k: _odd(k, lambda j: Fraction(1, 2 * j + 1)), 0.25, lambda u: 1 / arctanh(u)),
    "arcsin": _Quotient(arcsin, lambda k: _odd(k, _arcsin_term), 0.25, lambda u: 1 / arcsin(u)),
    "arcsinh": _Quotient(
        arcsinh, lambda k: _odd(k, lambda j: (-1) ** j * _arcsin_term(j)), 0.25, lambda u: 1 / arcsinh(u)
    ),
    "tan": _Quotient(tan, lambda k: _tan_terms()[k], 0.25, lambda u: 1 / tan(u)),
    "erf": _Quotient(
        erf,
        lambda k: _odd(k, lambda j: Fraction(2 / sqrt(pi)) * Fraction((-1) ** j, factorial(j) * (2 * j + 1))),
        1.0,
        lambda u: 1 / erf(u),
    ),
}


@cache
def _coefficients(name: str, order: int) -> tuple[float, ...]:
    """Coefficients of the series of a derivative of f(u)/u, as many as matter for |u| < radius."""
    quotient = _QUOTIENTS[name]
    found = [quotient.terms(k) * factorial(k) / factorial(k - order) for k in range(order, _TERMS)]
    sizes = [abs(float(c)) * quotient.radius**k for k, c in enumerate(found)]
    last = max(k for k, size in enumerate(sizes) if size > 1e-18 * max(sizes))
    return tuple(map(float, found[: last + 1]))


@cache
def _series_near(name: str, order: int = 0) -> Elementwise:
    """The derivative of f(u)/u of that order by its series, for u near 0."""
    coefficients = _coefficients(name, order)

    def reference(u: Array) -> Array:
        return np.asarray(np.polynomial.polynomial.polyval(u, coefficients), u.dtype)

    def emit(s: ScalarBuilder, u: Any) -> Scalar:
        total = s.constant(coefficients[-1], u.dtype)
        for c in coefficients[-2::-1]:
            total = total * u + c
        return total

    return Elementwise(
        Row(
            f"{name}_quotient", f"{name}(u)/u near 0, or a derivative of it", reference, emit,
            (lambda g, u, y: g * _series_near(name, order + 1)(u),), parameters=(("order", order),), analytic=reference,
            notation=f"({name}({{0}}) / ({{0}}))",
        )
    )  # fmt: skip


for _name in _QUOTIENTS:
    MAKERS[f"{_name}_quotient"] = lambda order=0, name=_name: _series_near(name, order)


def quotient_form(look: Look, node: Apply) -> Variable | None:
    """f(u)/u and u/f(u), near 0 by their series; at 0 what IEEE makes of 0/0."""
    above, below = node.inputs
    for one, other, is_inverse in ((above, below, False), (below, above, True)):
        found = function_of(look, one)
        if found is None or not is_same(found[1], other):
            continue
        name, u, sign = found
        return switch(eq(u, 0), true_div(above, below), sign * quotient_of(name, u, is_inverse))
    return _versine_quotient(look, above, below)


def quotient_of(name: str, u: Variable, is_inverse: bool = False) -> Variable:
    """f(u)/u, or u/f(u); 1, times a number, at 0."""
    quotient = _QUOTIENTS[name]
    is_near = lt(absolute(u), quotient.radius)
    near, far = switch(is_near, u, 0), switch(is_near, quotient.radius, u)
    series = _series_near(name)(near)
    if is_inverse:
        return switch(is_near, 1 / series, far * quotient.inverse(far))
    return switch(is_near, series, quotient.function(far) / far)


def _versine_quotient(look: Look, above: Variable, below: Variable) -> Variable | None:
    """(1 − cos u)/u = sin(h)·sin(h)/h and (1 − cos u)/u² = ½·(sin(h)/h)², for h = u/2"""
    u = _versine_argument(look, above)
    if u is None:
        return None
    half, square = 0.5 * u, look.square_base(below)
    if is_same(below, u):
        form = sin(half) * quotient_of("sin", half)
    elif square is not None and is_same(square, u):
        form = 0.5 * sqr(quotient_of("sin", half))
    else:
        return None
    return switch(eq(u, 0), true_div(above, below), form)


def _versine_argument(look: Look, x: Variable) -> Variable | None:
    """u where x is 1 − cos u."""
    cosine = look.one_minus(x)
    return None if cosine is None else look.argument(cosine, "cos")


def function_of(look: Look, x: Variable) -> tuple[str, Variable, float] | None:
    """(f, u, sign) if x is ±f(u) for a function f of the table; else None."""
    exponential = expm1_of(look, x)
    if exponential is not None:
        return "expm1", exponential[0], -1.0 if exponential[1] else 1.0
    found = [(name, u) for name in _QUOTIENTS if (u := look.argument(x, name)) is not None]
    return (*found[0], 1.0) if found else None


def is_quotient(look: Look, operands: Sequence[Variable]) -> bool:
    """May the quotient of two values be one of the forms of this module?"""
    return any(function_of(look, x) is not None for x in operands) or _versine_argument(look, operands[0]) is not None
