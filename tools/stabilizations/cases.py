"""Formulas that overflow, underflow or cancel: at which points, exact values, and the rewrite rule that stabilises
them.

Each is a function of one real variable, at several points at once; what is reduced has three lines of it in each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import mpmath as mp

import aotensor.tensor as at
from aotensor.graph.variable import Variable
from aotensor.ops.index import Subtensor
from aotensor.ops.integer_indexing import AdvancedSubtensor
from aotensor.ops.linalg.determinant import Determinant
from aotensor.ops.reduce.normalise import Softmax
from aotensor.ops.reduce.sums import Prod, Sum
from aotensor.ops.shape.axes import DimShuffle
from aotensor.ops.shape.broadcast import SpecifyShape
from aotensor.ops.shape.reshape import Reshape

ROOTS, LOGARITHMS = "aotensor.ops.stable.forms:RULES", "aotensor.ops.stable.logarithms:LOGARITHMS"
SLOPES: Final = (1.0, -2.0, 0.5)
PRODUCTS: Final = ("true_div", "mul", "reciprocal")
"""The rule of products, which a quotient or its derivative meets under several names."""


@dataclass(frozen=True)
class Case:
    """formula: of a vector of points. truth: of one number of mpmath. points: hard ones, in float32 up to 1e30.

    table, rule: without this rule, or these, the formula is wrong there. orders: up to which derivative.
    """

    formula: Callable[[Variable], Variable]
    truth: Callable[[Any], Any]
    points: Sequence[float]
    rule: str | type | tuple[str, ...]
    table: str = LOGARITHMS
    orders: int = 2

    @property
    def rules(self) -> tuple[str | type, ...]:
        return self.rule if isinstance(self.rule, tuple) else (self.rule,)


def lines(x: Variable) -> Variable:
    """Three multiples of each point. (n,) → (n, 3)"""
    return x[:, None] * at.constant(SLOPES, dtype=x.dtype)


def scaled(x: Variable) -> Variable:
    """Multiples of a matrix with determinant 5. (n,) → (n, 3, 3)"""
    return x[:, None, None] * at.constant([[2.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 2.0]], dtype=x.dtype)


def of_lines(function: Callable[[list[Any]], Any]) -> Callable[[Any], Any]:
    return lambda x: function([mp.mpf(a) * x for a in SLOPES])


def softmax_of(terms: list[Any], position: int) -> Any:
    return mp.exp(terms[position]) / mp.fsum(map(mp.exp, terms))


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def log_sum(terms: list[Any]) -> Any:
    return mp.log(mp.fsum(map(mp.exp, terms)))


LOG_SUM, FAR = of_lines(log_sum), (-800.0, 800.0)
_SMALL: Final = (1e-8, -1e-4, 0.5, 3.0)
_WIDE: Final = (-1e200, 1e-9, 0.5, 1e10)
CASES: Final[dict[str, Case]] = {
    # --- logarithms --------------------------------------------------------------------------------------------------
    "log(exp(x))": Case(lambda x: at.log(at.exp(x)), lambda x: x, (-800.0, 0.5, 1000.0), "log", ROOTS),
    "log(exp(x)/2)": Case(lambda x: at.log(at.exp(x) / 2), lambda x: x - mp.log(2), FAR, "exp"),
    "log(exp2(x))": Case(lambda x: at.log(at.exp2(x)), lambda x: x * mp.log(2), (-2000.0, 2000.0), "exp2"),
    "log2(exp(x))": Case(lambda x: at.log2(at.exp(x)), lambda x: x / mp.log(2), FAR, "log2", ROOTS),
    "log10(exp(x))": Case(lambda x: at.log10(at.exp(x)), lambda x: x / mp.log(10), FAR, "log10", ROOTS),
    "log(sigmoid(x))": Case(lambda x: at.log(at.sigmoid(x)), lambda x: mp.log(sigmoid(x)), FAR, "sigmoid"),
    "log(1 - sigmoid(x))": Case(
        lambda x: at.log(1 - at.sigmoid(x)), lambda x: mp.log(sigmoid(-x)), (3.0, 800.0), "sub"
    ),
    "log1p(-sigmoid(x))": Case(
        lambda x: at.log1p(-at.sigmoid(x)), lambda x: mp.log(sigmoid(-x)), (3.0, 800.0), "log1p", ROOTS
    ),
    "log(1 + exp(x))": Case(lambda x: at.log(1 + at.exp(x)), lambda x: mp.log(1 + mp.exp(x)), (800.0,), "add"),
    "log1p(exp(x))": Case(lambda x: at.log1p(at.exp(x)), lambda x: mp.log(1 + mp.exp(x)), (800.0,), "log1p", ROOTS),
    "log(1 - exp(x))": Case(lambda x: at.log(1 - at.exp(x)), lambda x: mp.log(-mp.expm1(x)), (-1e-12, -2e-10), "sub"),
    "log(exp(x) - 1)": Case(lambda x: at.log(at.exp(x) - 1), lambda x: mp.log(mp.expm1(x)), (800.0,), "sub"),
    "log(expm1(x))": Case(lambda x: at.log(at.expm1(x)), lambda x: mp.log(mp.expm1(x)), (800.0,), "expm1"),
    "log(-expm1(x))": Case(lambda x: at.log(-at.expm1(x)), lambda x: mp.log(-mp.expm1(x)), (-40.0,), "neg"),
    "log(exp(x) + exp(2x))": Case(
        lambda x: at.log(at.exp(x) + at.exp(2 * x)), lambda x: log_sum([x, 2 * x]), FAR, "add"
    ),
    "log(3 + exp(x))": Case(lambda x: at.log(3 + at.exp(x)), lambda x: mp.log(3 + mp.exp(x)), (1000.0,), "add"),
    "log(exp(x) - exp(x/2))": Case(
        lambda x: at.log(at.exp(x) - at.exp(x / 2)), lambda x: mp.log(mp.exp(x) - mp.exp(x / 2)), (1000.0,), "sub"
    ),
    "log(3 exp(x))": Case(lambda x: at.log(3 * at.exp(x)), lambda x: mp.log(3) + x, FAR, "mul"),
    "log(exp(x)/(2 + x²))": Case(
        lambda x: at.log(at.exp(x) / (2 + x * x)), lambda x: x - mp.log(2 + x * x), FAR, "true_div"
    ),
    "log(1/exp(x))": Case(lambda x: at.log(at.reciprocal(at.exp(x))), lambda x: -x, FAR, "reciprocal"),
    "log(exp(x)²)": Case(lambda x: at.log(at.exp(x) ** 2), lambda x: 2 * x, FAR, "sqr"),
    "log(√exp(x))": Case(lambda x: at.log(at.sqrt(at.exp(x))), lambda x: x / 2, FAR, "sqrt"),
    "log(switch)": Case(
        lambda x: at.log(at.switch(x > 0, at.exp(x), at.exp(2 * x))), lambda x: x if x > 0 else 2 * x, FAR, "switch"
    ),
    "log(erfc(x))": Case(lambda x: at.log(at.erfc(x)), lambda x: mp.log(mp.erfc(x)), (-3.0, 15.0, 30.0), "erfc"),
    "log(1 - erf(x))": Case(lambda x: at.log(1 - at.erf(x)), lambda x: mp.log(mp.erfc(x)), (7.0, 30.0), "sub"),
    "log((1 + erf(x))/2)": Case(
        lambda x: at.log(0.5 * (1 + at.erf(x))), lambda x: mp.log(mp.erfc(-x) / 2), (-30.0, -7.0), "mul"
    ),
    "log(gamma(x))": Case(lambda x: at.log(at.gamma(x)), mp.loggamma, (200.0, 3.5), "gamma"),
    "log(kv(1.5, x))": Case(
        lambda x: at.log(at.kv(1.5, x)), lambda x: mp.log(mp.besselk(1.5, x)), (800.0,), "kv", orders=1
    ),
    "log(Σ exp(x))": Case(lambda x: at.log(at.sum(at.exp(lines(x)), axis=1)), LOG_SUM, FAR, Sum),
    "log(mean(exp(x)))": Case(
        lambda x: at.log(at.mean(at.exp(lines(x)), axis=1)), lambda x: LOG_SUM(x) - mp.log(3), FAR, "true_div"
    ),
    "log(1 + Σ exp(x))": Case(
        lambda x: at.log1p(at.sum(at.exp(lines(x)), axis=1)),
        of_lines(lambda terms: log_sum([mp.mpf(0), *terms])), FAR, "log1p", ROOTS,
    ),
    "log(Π exp(x))": Case(
        lambda x: at.log(at.prod(at.exp(lines(x)), axis=1)), of_lines(mp.fsum), (-900.0, 1000.0), Prod
    ),
    "log(softmax(x))": Case(
        lambda x: at.log(at.softmax(lines(x), axis=1))[:, 1],
        of_lines(lambda terms: terms[1] - log_sum(terms)), FAR, Softmax,
    ),
    "log(softmax(x)[1])": Case(
        lambda x: at.log(at.softmax(lines(x), axis=1)[:, 1]),
        of_lines(lambda terms: terms[1] - log_sum(terms)), FAR, Subtensor,
    ),
    "log(softmax(x)[…, i])": Case(
        lambda x: at.log(at.softmax(lines(x), axis=1)[[0, 1], [1, 1]]),
        of_lines(lambda terms: terms[1] - log_sum(terms)), FAR, AdvancedSubtensor,
    ),
    "log(exp(x)/Σ exp(x))": Case(
        lambda x: at.log(at.exp(lines(x)) / at.exp(lines(x)).sum(axis=1, keepdims=True))[:, 1],
        of_lines(lambda terms: terms[1] - log_sum(terms)), FAR, "true_div",
    ),
    "log(exp(x).T)": Case(lambda x: at.log(at.exp(lines(x)).T)[1], lambda x: -2 * x, FAR, DimShuffle),
    "log(reshape(exp(x)))": Case(
        lambda x: at.log(at.reshape(at.exp(lines(x)), (3 * x.shape[0],)))[1::3], lambda x: -2 * x, FAR, Reshape
    ),
    "log(specify_shape(exp(x)))": Case(
        lambda x: at.log(at.specify_shape(at.exp(x), (2,))), lambda x: x, FAR, SpecifyShape
    ),
    "xlogy(2, exp(x))": Case(lambda x: at.xlogy(2.0, at.exp(x)), lambda x: 2 * x, FAR, "xlogy", ROOTS),
    "log(cosh(x))": Case(
        lambda x: at.log(at.cosh(x)), lambda x: mp.log(mp.cosh(x)), (-1000.0, 1e-4, 1000.0), "cosh"
    ),
    "log(sinh(x))": Case(lambda x: at.log(at.sinh(x)), lambda x: mp.log(mp.sinh(x)), (0.5, 1000.0), "sinh"),
    "log(1 - tanh(x))": Case(lambda x: at.log(1 - at.tanh(x)), lambda x: mp.log(1 - mp.tanh(x)), (-2.0, 30.0), "sub"),
    "log(1 + tanh(x))": Case(lambda x: at.log(1 + at.tanh(x)), lambda x: mp.log(1 + mp.tanh(x)), (-30.0, 2.0), "add"),
    "log(1 - tanh²(x))": Case(
        lambda x: at.log(1 - at.tanh(x) ** 2), lambda x: -2 * mp.log(mp.cosh(x)), (-30.0, 0.5, 30.0), "sub"
    ),
    "log(softplus(x))": Case(
        lambda x: at.log(at.softplus(x)), lambda x: mp.log(mp.log1p(mp.exp(x))), (-800.0, 0.5, 800.0), "softplus",
        orders=1,
    ),
    "log(log1p(exp(x)))": Case(
        lambda x: at.log(at.log1p(at.exp(x))), lambda x: mp.log(mp.log1p(mp.exp(x))), (-800.0, 0.5), "log1p", orders=1
    ),
    "log(-log(sigmoid(x)))": Case(
        lambda x: at.log(-at.log(at.sigmoid(x))), lambda x: mp.log(mp.log1p(mp.exp(-x))), (0.5, 800.0), "neg", orders=1
    ),
    "log(1 - exp(-exp(x)))": Case(
        lambda x: at.log(1 - at.exp(-at.exp(x))), lambda x: mp.log(-mp.expm1(-mp.exp(x))), (-800.0, 0.5, 800.0), "sub",
        orders=1,
    ),
    "log1mexp(-exp(x))": Case(
        lambda x: at.log1mexp(-at.exp(x)), lambda x: mp.log(-mp.expm1(-mp.exp(x))), (-800.0, 0.5, 800.0), "log1mexp",
        ROOTS, 1,
    ),
    "log(i0(x))": Case(lambda x: at.log(at.i0(x)), lambda x: mp.log(mp.besseli(0, x)), (-800.0, 0.5, 800.0), "i0"),
    "log(iv(1.5, x))": Case(
        lambda x: at.log(at.iv(1.5, x)), lambda x: mp.log(mp.besseli(1.5, x)), (0.5, 800.0), "iv", orders=1
    ),
    "log(beta(x, 2x))": Case(
        lambda x: at.log(at.beta(x, 2 * x)), lambda x: mp.log(mp.beta(x, 2 * x)), (0.5, 1e4), "beta"
    ),
    "log(abs(Π x))": Case(
        lambda x: at.log(at.abs(at.prod(lines(x), axis=1))), of_lines(lambda t: sum(mp.log(abs(a)) for a in t)),
        (-1e200, 2.0), "abs",
    ),
    "log(abs(det(x A)))": Case(
        lambda x: at.log(at.abs(at.linalg.det(scaled(x)))), lambda x: 3 * mp.log(x) + mp.log(5), (2.0, 1e120), "abs"
    ),
    "log(det(x A))": Case(
        lambda x: at.log(at.linalg.det(scaled(x))), lambda x: 3 * mp.log(x) + mp.log(5), (2.0, 1e120), Determinant
    ),
    # --- products ----------------------------------------------------------------------------------------------------
    "1/(1 + exp(-x))": Case(lambda x: 1 / (1 + at.exp(-x)), sigmoid, FAR, PRODUCTS, ROOTS),
    "(1 + exp(-x))⁻¹": Case(lambda x: (1 + at.exp(-x)) ** -1, sigmoid, FAR, PRODUCTS, ROOTS),
    "1/(1 + exp(-x))²": Case(lambda x: 1 / (1 + at.exp(-x)) ** 2, lambda x: sigmoid(x) ** 2, FAR, PRODUCTS, ROOTS),
    "exp(x)/(1 + exp(x))": Case(lambda x: at.exp(x) / (1 + at.exp(x)), sigmoid, FAR, "true_div", ROOTS),
    "x/(1 + exp(x))": Case(lambda x: x / (1 + at.exp(x)), lambda x: x * sigmoid(-x), FAR, PRODUCTS, ROOTS),
    "exp(x) sigmoid(-x)": Case(lambda x: at.exp(x) * at.sigmoid(-x), sigmoid, FAR, "mul", ROOTS),
    "exp(x)/Σ exp(x)": Case(
        lambda x: (at.exp(lines(x)) / at.exp(lines(x)).sum(axis=1, keepdims=True))[:, 0],
        of_lines(lambda terms: softmax_of(terms, 0)), FAR, "true_div", ROOTS,
    ),
    "exp(x)/(1 + Σ exp(x))": Case(
        lambda x: at.exp(x) / (1 + at.exp(lines(x)).sum(axis=1)),
        of_lines(lambda terms: softmax_of([*terms, mp.mpf(0)], 0)), FAR, "true_div", ROOTS,
    ),
    "exp(x)/(exp(x) + exp(2x))": Case(
        lambda x: at.exp(x) / (at.exp(x) + at.exp(2 * x)), lambda x: sigmoid(-x), FAR, "true_div", ROOTS
    ),
    "exp(x) exp(-x)": Case(lambda x: at.exp(x) * at.exp(-x), lambda x: x ** 0, FAR, "mul", ROOTS),
    "exp(10x)/exp(9x + 1)": Case(
        lambda x: at.exp(10 * x) / at.exp(9 * x + 1), lambda x: mp.exp(x - 1), (-80.0, 75.0), "true_div", ROOTS
    ),
    "exp(-x²)/erfc(x)": Case(
        lambda x: at.exp(-x * x) / at.erfc(x), lambda x: mp.exp(-x * x) / mp.erfc(x), (15.0, 30.0), "true_div", ROOTS, 1
    ),
    "1/expm1(x)": Case(lambda x: 1 / at.expm1(x), lambda x: 1 / mp.expm1(x), (-30.0, 0.5, 800.0), PRODUCTS, ROOTS),
    "1/(exp(x) - 1)": Case(
        lambda x: 1 / (at.exp(x) - 1), lambda x: 1 / mp.expm1(x), (-30.0, 0.5, 800.0), PRODUCTS, ROOTS
    ),
    "exp(x)/expm1(x)": Case(
        lambda x: at.exp(x) / at.expm1(x), lambda x: -1 / mp.expm1(-x), (-30.0, 0.5, 40.0, 800.0), "true_div", ROOTS
    ),
    "1/(1 - exp(-x))": Case(
        lambda x: 1 / (1 - at.exp(-x)), lambda x: -1 / mp.expm1(-x), (-800.0, 0.5, 30.0), PRODUCTS, ROOTS
    ),
    "1/cosh(x)": Case(lambda x: 1 / at.cosh(x), mp.sech, (-1000.0, 0.5, 400.0), PRODUCTS, ROOTS),
    "1/cosh²(x)": Case(lambda x: 1 / at.cosh(x) ** 2, lambda x: mp.sech(x) ** 2, (-1000.0, 0.5), PRODUCTS, ROOTS),
    "1/sinh(x)": Case(lambda x: 1 / at.sinh(x), mp.csch, (-1000.0, 0.5, 400.0), PRODUCTS, ROOTS),
    "sinh(x)/cosh(x)": Case(lambda x: at.sinh(x) / at.cosh(x), mp.tanh, (-1000.0, 0.5, 30.0), "true_div", ROOTS),
    "tanh(x) by exponentials": Case(
        lambda x: (at.exp(x) - at.exp(-x)) / (at.exp(x) + at.exp(-x)), mp.tanh, (-800.0, 0.5, 30.0), "true_div", ROOTS
    ),
    "sigmoid(x) (1 - sigmoid(x))": Case(
        lambda x: at.sigmoid(x) * (1 - at.sigmoid(x)), lambda x: sigmoid(x) * sigmoid(-x), (-40.0, 0.5, 40.0),
        ("mul", "sub"), ROOTS,
    ),
    # --- quotients that are 0/0 at 0 ----------------------------------------------------------------------------------
    "x/expm1(x)": Case(lambda x: x / at.expm1(x), lambda x: x / mp.expm1(x), _SMALL, "true_div", ROOTS),
    "x/(exp(x) - 1)": Case(lambda x: x / (at.exp(x) - 1), lambda x: x / mp.expm1(x), _SMALL, "true_div", ROOTS),
    "expm1(x)/x": Case(lambda x: at.expm1(x) / x, lambda x: mp.expm1(x) / x, _SMALL, "true_div", ROOTS),
    "log1p(x)/x": Case(
        lambda x: at.log1p(x) / x, lambda x: mp.log1p(x) / x, (1e-8, -1e-3, 0.3, 5.0), "true_div", ROOTS
    ),
    "sin(x)/x": Case(lambda x: at.sin(x) / x, lambda x: mp.sin(x) / x, _SMALL, "true_div", ROOTS),
    "x/sinh(x)": Case(lambda x: x / at.sinh(x), lambda x: x / mp.sinh(x), _SMALL, "true_div", ROOTS),
    "tanh(x)/x": Case(lambda x: at.tanh(x) / x, lambda x: mp.tanh(x) / x, _SMALL, "true_div", ROOTS),
    "arctan(x)/x": Case(lambda x: at.arctan(x) / x, lambda x: mp.atan(x) / x, _SMALL, "true_div", ROOTS),
    "tan(x)/x": Case(lambda x: at.tan(x) / x, lambda x: mp.tan(x) / x, (1e-8, -1e-4, 0.5), "true_div", ROOTS),
    "arcsin(x)/x": Case(lambda x: at.arcsin(x) / x, lambda x: mp.asin(x) / x, (1e-8, -1e-4, 0.5), "true_div", ROOTS),
    "arcsinh(x)/x": Case(lambda x: at.arcsinh(x) / x, lambda x: mp.asinh(x) / x, _SMALL, "true_div", ROOTS),
    "arctanh(x)/x": Case(lambda x: at.arctanh(x) / x, lambda x: mp.atanh(x) / x, (1e-8, -1e-4, 0.5), "true_div", ROOTS),
    "erf(x)/x": Case(lambda x: at.erf(x) / x, lambda x: mp.erf(x) / x, _SMALL, "true_div", ROOTS),
    "(1 - cos(x))/x": Case(
        lambda x: (1 - at.cos(x)) / x, lambda x: (1 - mp.cos(x)) / x, _SMALL, ("sub", "true_div"), ROOTS
    ),
    "(1 - cos(x))/x²": Case(
        lambda x: (1 - at.cos(x)) / x**2, lambda x: (1 - mp.cos(x)) / x**2, _SMALL, ("sub", "true_div"), ROOTS
    ),
    # --- roots -------------------------------------------------------------------------------------------------------
    "√(1 + x²)": Case(lambda x: at.sqrt(1 + x * x), lambda x: mp.sqrt(1 + x * x), _WIDE, "sqrt", ROOTS),
    "(1 + x²)^½": Case(lambda x: (x**2 + 1) ** 0.5, lambda x: mp.sqrt(1 + x * x), _WIDE, "pow", ROOTS),
    "√(1 + x²/4)": Case(lambda x: at.sqrt(1 + x * x / 4), lambda x: mp.sqrt(1 + x * x / 4), _WIDE, "sqrt", ROOTS),
    "x/√(1 + x²)": Case(lambda x: x / at.sqrt(1 + x * x), lambda x: x / mp.sqrt(1 + x * x), _WIDE, "true_div", ROOTS),
    "x (1 + x²)^-½": Case(lambda x: x * (1 + x * x) ** -0.5, lambda x: x / mp.sqrt(1 + x * x), _WIDE, "mul", ROOTS),
    "x/(1 + x²)": Case(lambda x: x / (1 + x * x), lambda x: x / (1 + x * x), _WIDE, "true_div", ROOTS),
    "x²/(1 + x²)": Case(lambda x: x * x / (1 + x * x), lambda x: x * x / (1 + x * x), _WIDE, "true_div", ROOTS),
    "x/(1 + abs(x))": Case(lambda x: x / (1 + at.abs(x)), lambda x: x / (1 + abs(x)), (-0.5, 1e20), "true_div", ROOTS),
    "√(1 + x²) - 1": Case(lambda x: at.sqrt(1 + x * x) - 1, lambda x: mp.sqrt(1 + x * x) - 1, _WIDE, "sub", ROOTS),
    "√(1 + x) - 1": Case(lambda x: at.sqrt(1 + x) - 1, lambda x: mp.sqrt(1 + x) - 1, (1e-12, -0.5, 3.0), "sub", ROOTS),
    "log(x + √(x² + 1))": Case(
        lambda x: at.log(x + at.sqrt(x * x + 1)), mp.asinh, (-1e200, -0.5, 1e-12, 1e200), "log", ROOTS
    ),
    "log(√(x² + 1) - x)": Case(
        lambda x: at.log(at.sqrt(x * x + 1) - x), lambda x: -mp.asinh(x), (-1e200, 1e-12, 1e10), "log", ROOTS
    ),
    "log(x + √(x² - 1))": Case(lambda x: at.log(x + at.sqrt(x * x - 1)), mp.acosh, (1.5, 1e200), "log", ROOTS),
    "log((1 + x)/(1 - x))": Case(
        lambda x: at.log((1 + x) / (1 - x)), lambda x: 2 * mp.atanh(x), (1e-12, -1e-4, 0.5), "log", ROOTS
    ),
    "log((1 - x)/(1 + x))": Case(
        lambda x: at.log((1 - x) / (1 + x)), lambda x: -2 * mp.atanh(x), (1e-12, -1e-4, 0.5), "log", ROOTS
    ),
    "log(sinh(x)/x)": Case(
        lambda x: at.log(at.sinh(x) / x), lambda x: mp.log(mp.sinh(x) / x), (-1000.0, 0.5, 1000.0), "true_div"
    ),
    "log(x/expm1(x))": Case(
        lambda x: at.log(x / at.expm1(x)), lambda x: mp.log(x / mp.expm1(x)), (-1000.0, 0.5, 1000.0), "true_div"
    ),
    # --- others ------------------------------------------------------------------------------------------------------
    "log(1 + x)": Case(lambda x: at.log(1 + x), mp.log1p, (1e-17, -1e-9, 0.5), "log", ROOTS),
    "log(1 - x)": Case(lambda x: at.log(1 - x), lambda x: mp.log1p(-x), (1e-17, -1e-9, 0.5), "log", ROOTS),
    "exp(x) - 1": Case(lambda x: at.exp(x) - 1, mp.expm1, (1e-17, -1e-9, 0.5), "sub", ROOTS),
    "exp(x) - exp(-x)": Case(lambda x: at.exp(x) - at.exp(-x), lambda x: 2 * mp.sinh(x), (1e-12, 0.5), "sub", ROOTS),
    "1 - sigmoid(x)": Case(lambda x: 1 - at.sigmoid(x), lambda x: sigmoid(-x), (-3.0, 40.0), "sub", ROOTS),
    "1 - cos(x)": Case(lambda x: 1 - at.cos(x), lambda x: 1 - mp.cos(x), _SMALL, "sub", ROOTS),
    "cos(x) - 1": Case(lambda x: at.cos(x) - 1, lambda x: mp.cos(x) - 1, _SMALL, "sub", ROOTS),
    "cosh(x) - 1": Case(lambda x: at.cosh(x) - 1, lambda x: mp.cosh(x) - 1, _SMALL, "sub", ROOTS),
    "1 - cos²(x)": Case(lambda x: 1 - at.cos(x) ** 2, lambda x: mp.sin(x) ** 2, _SMALL, "sub", ROOTS),
    "1 - sin²(x)": Case(lambda x: 1 - at.sin(x) ** 2, lambda x: mp.cos(x) ** 2, (1.5707, 0.5), "sub", ROOTS),
    "cosh²(x) - 1": Case(lambda x: at.cosh(x) ** 2 - 1, lambda x: mp.sinh(x) ** 2, _SMALL, "sub", ROOTS),
    "log1p(x²)": Case(lambda x: at.log1p(x**2), lambda x: mp.log1p(x * x), (1e-8, 0.5, 3.0, 1e200), "log1p", ROOTS),
    "log(1 + x²/4)": Case(
        lambda x: at.log(1 + x * x / 4), lambda x: mp.log1p(x * x / 4), (1e-8, 0.5, 3.0, 1e200), "log", ROOTS
    ),
    "exp(log(x))": Case(lambda x: at.exp(at.log(x)), lambda x: x, (0.0, 2.0), "exp", ROOTS),
    "√(x²)": Case(lambda x: at.sqrt(x * x), abs, (-1e200, 1e200), "sqrt", ROOTS),
    "logit(sigmoid(x))": Case(lambda x: at.logit(at.sigmoid(x)), lambda x: x, (-90.0, 90.0), "logit", ROOTS),
    "arctanh(tanh(x))": Case(lambda x: at.arctanh(at.tanh(x)), lambda x: x, (-30.0, 0.5, 30.0), "arctanh", ROOTS),
    "exp(-exp(x))": Case(
        lambda x: at.exp(-at.exp(x)), lambda x: mp.exp(-mp.exp(x)), (-800.0, 0.5, 800.0), ("exp", "mul"), ROOTS
    ),
    "1 - tanh(x)": Case(lambda x: 1 - at.tanh(x), lambda x: 2 * sigmoid(-2 * x), (0.5, 30.0), "sub", ROOTS),
    "1 + tanh(x)": Case(lambda x: 1 + at.tanh(x), lambda x: 2 * sigmoid(2 * x), (-30.0, 0.5), "add", ROOTS),
    "1 - tanh(x) tanh(x)": Case(
        lambda x: 1 - at.tanh(x) * at.tanh(x), lambda x: mp.sech(x) ** 2, (-30.0, 0.5, 30.0), "sub", ROOTS
    ),
    "1 - tanh²(x)": Case(lambda x: 1 - at.tanh(x) ** 2, lambda x: mp.sech(x) ** 2, (-30.0, 0.5, 30.0), "sub", ROOTS),
    "1 - erf(x)": Case(lambda x: 1 - at.erf(x), mp.erfc, (7.0,), "sub", ROOTS, orders=0),
    "erf(x) + 1": Case(lambda x: at.erf(x) + 1, lambda x: mp.erfc(-x), (-7.0,), "add", ROOTS, orders=0),
    "erf(x) - 1": Case(lambda x: at.erf(x) - 1, lambda x: -mp.erfc(x), (7.0,), "sub", ROOTS, orders=0),
    "1 - erfc(x)": Case(lambda x: 1 - at.erfc(x), mp.erf, (1e-20,), "sub", ROOTS, orders=0),
}  # fmt: skip
