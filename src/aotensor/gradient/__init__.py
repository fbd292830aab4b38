"""Gradients of symbolic programs: users' names.

`grad` and `Lop` sweep backwards over pullbacks, `Rop` forwards over pushforwards, `jacobian` and `hessian` for all rows
at once; they give graphs again, which are differentiated and compiled like any other.
"""

from __future__ import annotations

from aotensor.errors import DisconnectedInputError, GradientError, NullTypeGradError
from aotensor.gradient import sparse_checks as _sparse_checks  # noqa: F401  (aotensor.sparse finds it by name)
from aotensor.gradient import subgraphs as _subgraphs  # noqa: F401  (ops find it by name)
from aotensor.gradient.forward import Rop, hessian_vector_product, pushforward
from aotensor.gradient.jacobians import hessian, jacobian
from aotensor.gradient.numeric import numeric_grad, verify_grad
from aotensor.gradient.options import as_list_or_tuple, format_as
from aotensor.gradient.placeholders import disconnected_type, null_type
from aotensor.gradient.reverse import Lop, grad, grad_sources_inputs, pullback, subgraph_grad
from aotensor.graph.placeholder import DisconnectedType, NullType
from aotensor.ops.gradient_control import (
    ConsiderConstant,
    DisconnectedGrad,
    GradClip,
    GradScale,
    UndefinedGrad,
    ZeroGrad,
    consider_constant,
    consider_constant_,
    disconnected_grad,
    disconnected_grad_,
    grad_clip,
    grad_not_implemented,
    grad_scale,
    grad_undefined,
    undefined_grad,
    undefined_grad_,
    zero_grad,
    zero_grad_,
)

__all__ = [
    "ConsiderConstant",
    "DisconnectedGrad",
    "DisconnectedInputError",
    "DisconnectedType",
    "GradClip",
    "GradScale",
    "GradientError",
    "Lop",
    "NullType",
    "NullTypeGradError",
    "Rop",
    "UndefinedGrad",
    "ZeroGrad",
    "as_list_or_tuple",
    "consider_constant",
    "consider_constant_",
    "disconnected_grad",
    "disconnected_grad_",
    "disconnected_type",
    "format_as",
    "grad",
    "grad_clip",
    "grad_not_implemented",
    "grad_scale",
    "grad_sources_inputs",
    "grad_undefined",
    "hessian",
    "hessian_vector_product",
    "jacobian",
    "null_type",
    "numeric_grad",
    "pullback",
    "pushforward",
    "subgraph_grad",
    "undefined_grad",
    "undefined_grad_",
    "verify_grad",
    "zero_grad",
    "zero_grad_",
]
