"""Quantiles of the gamma and the beta distribution: inverses in the last operand, whose derivatives are implicit.

With F(θ, y) = p the derivatives of y are 1/f(θ, y) in p and −∂F/∂θ(θ, y)/f(θ, y) in a parameter, f being the density.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import MAKERS, Elementwise, elementwise
from aotensor.ops.elementwise.compare import and_, eq, gt, lt, or_, switch
from aotensor.ops.elementwise.elementary import inside
from aotensor.ops.elementwise.parametric.quadrature import emitter_of_orders
from aotensor.ops.elementwise.scipy_reference import scipy_special


def _outside(operands: Sequence[Variable]) -> Variable:
    """Is a point outside of the domain, where derivatives are nan?"""
    *shapes, p = operands
    found = or_(lt(p, 0), gt(p, 1))
    for shape in shapes:
        found = or_(found, lt(shape, 0))
    return found


def _gamma_quantile(name: str, doc: str, distribution: str) -> Elementwise:
    sign = -1 if distribution == "gammaincc" else 1

    def in_shape(g: Variable, a: Variable, p: Variable, y: Variable) -> Variable:
        slope = MAKERS[distribution](1)(a, y) / MAKERS["gamma_density"]()(a, y)
        return inside(_outside((a, p)), g, -sign * g * switch(_is_end(p), 0.0, slope))

    def in_probability(g: Variable, a: Variable, p: Variable, y: Variable) -> Variable:
        return inside(_outside((a, p)), g, sign * g / MAKERS["gamma_density"]()(a, y))

    return elementwise(name, doc, scipy_special(name), emitter_of_orders(name), (in_shape, in_probability), scipy=name)


def _is_end(p: Variable) -> Variable:
    """Is p an end of its range, where quantiles do not change?"""
    return or_(eq(p, 0), eq(p, 1))


gammaincinv = _gamma_quantile(
    "gammaincinv",
    "The x with P(a, x) = p; 0 for p = 0, ∞ for p = 1, nan for a < 0 and p outside of 0 … 1. Differentiable in both to "
    "any order.",
    "gammainc",
)
gammainccinv = _gamma_quantile(
    "gammainccinv",
    "The x with Q(a, x) = q; ∞ for q = 0, 0 for q = 1, nan for a < 0 and q outside of 0 … 1. Differentiable in both to "
    "any order.",
    "gammaincc",
)


def _beta_slope(position: int) -> Any:
    """∂x/∂a, ∂x/∂b or ∂x/∂p; near 1 those of I⁻¹(b, a, 1 − p) = 1 − x, which is accurate where x is not."""

    def partial(g: Variable, a: Variable, b: Variable, p: Variable, y: Variable) -> Variable:
        is_high = and_(gt(p, 0.5), gt(y, 0.9))
        # for the others, operands whose quantile needs no iteration
        mirrored = betaincinv(switch(is_high, b, 1.0), switch(is_high, a, 1.0), switch(is_high, 1 - p, 1e-300))
        own, other, point = switch(is_high, b, a), switch(is_high, a, b), switch(is_high, mirrored, y)
        slope = 1 / MAKERS["beta_density"]()(own, other, point)
        if position < 2:
            first, second = (MAKERS["betainc"](*orders)(own, other, point) for orders in ((1, 0), (0, 1)))
            straight, swapped = (first, second) if position == 0 else (second, first)
            slope = switch(_is_end(p), 0.0, switch(is_high, swapped, -straight) * slope)
        return inside(_outside((a, b, p)), g, g * slope)

    return partial


betaincinv: Elementwise = elementwise(
    "betaincinv",
    "The x with I_x(a, b) = p; nan for a ≤ 0, b ≤ 0 and p outside of 0 … 1. Differentiable in all three to any order.",
    scipy_special("betaincinv"),
    emitter_of_orders("betaincinv"),
    tuple(_beta_slope(position) for position in range(3)),
    scipy="betaincinv",
)
