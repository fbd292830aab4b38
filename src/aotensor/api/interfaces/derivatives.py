"""Optional derivatives of interfaces."""

from __future__ import annotations

from typing import Final

from aotensor.errors import MissingRuleError, NullTypeGradError, UnsupportedError
from aotensor.gradient import Rop, jacobian
from aotensor.graph.variable import Variable

NO_DERIVATIVE: Final = (MissingRuleError, NullTypeGradError, UnsupportedError)
"""What differentiating raises where an op has no derivative."""


def second_derivatives(
    value: Variable, gradient: Variable, q: Variable, v: Variable
) -> tuple[Variable, Variable] | None:
    """The Hessian of a scalar and its product with v, from the gradient; None if an op has no second derivative."""
    try:
        product = Rop(gradient, q, v, disconnected_outputs="ignore")
        return jacobian(gradient, q, disconnected_inputs="ignore"), product
    except NO_DERIVATIVE:
        return None
