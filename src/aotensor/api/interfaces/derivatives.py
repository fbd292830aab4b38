"""Derivatives that an interface offers where there are some."""

from __future__ import annotations

from aotensor.errors import GradientError, UnsupportedError
from aotensor.gradient import Rop, jacobian
from aotensor.graph.variable import Variable


def second_derivatives(
    value: Variable, gradient: Variable, q: Variable, v: Variable
) -> tuple[Variable, Variable] | None:
    """The Hessian of a scalar and its product with v, of its gradient; None where an op has no such derivative."""
    try:
        product = Rop(gradient, q, v, disconnected_outputs="ignore")
        return jacobian(gradient, q, disconnected_inputs="ignore"), product
    except (GradientError, UnsupportedError):
        return None
