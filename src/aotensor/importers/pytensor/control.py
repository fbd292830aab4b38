"""Branches, inner graphs, ops that control derivatives, and checks with an exception of the user's choice."""

from __future__ import annotations

from typing import Any, Final

import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.gradient import consider_constant_, disconnected_grad_, grad_clip, grad_scale, undefined_grad_, zero_grad_
from aotensor.importers.base import Unsuited
from aotensor.importers.check import checked, printable
from aotensor.importers.pytensor.rules import Walk, as_bool, rows, rule
from aotensor.importers.pytensor.values import is_sparse, is_tensor

MESSAGES: Final[dict[str, type[Exception]]] = {}
"""Message of a check → what PyTensor would raise: calls in its mode raise that."""

rows({
    "ZeroGrad": lambda op, x: zero_grad_(x),
    "ConsiderConstant": lambda op, x: consider_constant_(x),
    "DisconnectedGrad": lambda op, x: disconnected_grad_(x),
    "UndefinedGrad": lambda op, x: undefined_grad_(x),
    "GradClip": lambda op, x: grad_clip(x, op.clip_lower_bound, op.clip_upper_bound),
    "GradScale": lambda op, x: grad_scale(x, op.multiplier),
})  # fmt: skip


@rule("CheckAndRaise")
def check_and_raise(walk: Walk, node: Any, x: Any, *conditions: Any) -> Any:
    """x after a check; if it fails, calls raise a ValueError, in PyTensor's mode the exception of the user's choice."""
    if not conditions:
        return x
    if not is_tensor(node.inputs[0]) and not is_sparse(x):
        raise Unsuited("its operand is not a tensor")
    message = printable(node.op.msg) or "a CheckAndRaise of the graph failed"
    MESSAGES[message] = node.op.exc_type
    values, *pattern = sp.csm_properties(x) if is_sparse(x) else [x]
    found = checked(message, values, *(as_bool(condition) for condition in conditions))
    return {"csr": sp.CSR, "csc": sp.CSC}[x.format](found, *pattern) if pattern else found


@rule("IfElse")
def ifelse(walk: Walk, node: Any, condition: Any, *branches: Any) -> Any:
    """Only the chosen branch is computed."""
    count = node.op.n_outs
    return at.ifelse(as_bool(condition), list(branches[:count]), list(branches[count:]))


@rule("OpFromGraph")
def inner_graph(walk: Walk, node: Any, *inputs: Any) -> list[Any]:
    """The inner graph, in place."""
    op = node.op
    return walk.inner(op.inner_inputs, op.inner_outputs, inputs)
