"""Quantiles of the gamma and the beta distribution: inverses in the last operand, whose derivatives are implicit.

With F(θ, y) = p the derivatives of y are 1/f(θ, y) in p and −∂F/∂θ(θ, y)/f(θ, y) in a parameter, f being the density.
"""

from __future__ import annotations

from typing import Any

from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import MAKERS, Elementwise, elementwise
from aotensor.ops.elementwise.compare import eq, gt, lt, or_, switch
from aotensor.ops.elementwise.elementary import inside
from aotensor.ops.elementwise.parametric.quadrature import of_orders
from aotensor.ops.elementwise.scipy_reference import scipy_special


def _quantile(name: str, doc: str, distribution: str, density: str, parameters: int) -> Elementwise:
    sign = -1 if distribution == "gammaincc" else 1

    def outside(operands: tuple[Variable, ...]) -> Variable:
        *shapes, p = operands
        found = or_(lt(p, 0), gt(p, 1))
        for shape in shapes:
            found = or_(found, lt(shape, 0))
        return found

    def in_parameter(position: int) -> Any:
        orders = [int(k == position) for k in range(parameters)]

        def partial(g: Variable, *operands_and_y: Variable) -> Variable:
            *operands, y = operands_and_y
            *shapes, p = operands
            slope = MAKERS[distribution](*orders)(*shapes, y) / MAKERS[density]()(*shapes, y)
            is_end = or_(eq(p, 0), eq(p, 1))  # the ends stay where they are
            return inside(outside(tuple(operands)), g, -sign * g * switch(is_end, 0.0, slope))

        return partial

    def in_probability(g: Variable, *operands_and_y: Variable) -> Variable:
        *operands, y = operands_and_y
        return inside(outside(tuple(operands)), g, sign * g / MAKERS[density]()(*operands[:-1], y))

    partials = (*(in_parameter(k) for k in range(parameters)), in_probability)
    return elementwise(name, doc, scipy_special(name), of_orders(name), partials)


gammaincinv = _quantile(
    "gammaincinv",
    "The x with P(a, x) = p; 0 for p = 0, ∞ for p = 1, nan for a < 0 and p outside of 0 … 1. Differentiable in both to "
    "any order.",
    "gammainc",
    "gamma_density",
    1,
)
gammainccinv = _quantile(
    "gammainccinv",
    "The x with Q(a, x) = q; ∞ for q = 0, 0 for q = 1, nan for a < 0 and q outside of 0 … 1. Differentiable in both to "
    "any order.",
    "gammaincc",
    "gamma_density",
    1,
)
betaincinv = _quantile(
    "betaincinv",
    "The x with I_x(a, b) = p; nan for a ≤ 0, b ≤ 0 and p outside of 0 … 1. Differentiable in all three to any order.",
    "betainc",
    "beta_density",
    2,
)
