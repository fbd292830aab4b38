"""Branches, inner graphs, and checks with an exception of the user's choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.op import Apply
from aotensor.importers.pytensor.rules import Walk, as_bool, rule, unsupported
from aotensor.importers.pytensor.values import is_tensor

MESSAGES: Final[dict[str, type[Exception]]] = {}
"""Message of a check → what PyTensor would raise: calls in its mode raise that."""


@dataclass(frozen=True)
class Check(aot.Op):
    """x, after a check that all conditions hold.   x, *conditions: bool scalars → x"""

    name: ClassVar[str] = "check"
    is_analytic: ClassVar[bool] = True
    message: str

    def infer_type(self, x: TensorType, *conditions: TensorType) -> TensorType:
        return x

    def reference(self, x: Array, *conditions: Array) -> Array:
        if not all(bool(condition) for condition in conditions):
            raise GraphValueError(self.message)
        return np.array(x)

    def pullback(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        return [cotangents[0], *(aot.gradient.disconnected_type() for _ in inputs[1:])]

    def pushforward(self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        return [tangents[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], *([False] for _ in node.inputs[1:])]

    def lower(self, b: TensorBuilder, x: Tensor, *conditions: Tensor) -> Tensor:
        for condition in conditions:
            b.check(b.item(condition), self.message)
        return x


@rule("CheckAndRaise")
def check_and_raise(walk: Walk, node: Any, x: Any, *conditions: Any) -> Any:
    """The value behind a check. If that fails, calls raise a ValueError, in PyTensor's mode what the user asks for."""
    if not conditions:
        return x
    if not is_tensor(node.inputs[0]):
        raise unsupported(node, "a check on what is no dense tensor")
    message = _printable(node.op.msg) or "a check has failed"
    MESSAGES[message] = node.op.exc_type
    return Check(message)(x, *(as_bool(condition) for condition in conditions))


def _printable(message: str) -> str:
    """A message for the library: braces there stand for numbers."""
    return message.replace("{", "(").replace("}", ")").strip()


@rule("IfElse")
def ifelse(walk: Walk, node: Any, condition: Any, *branches: Any) -> Any:
    """One of two lists of values."""
    count = node.op.n_outs
    return at.ifelse(as_bool(condition), list(branches[:count]), list(branches[count:]))


@rule("OpFromGraph")
def inner_graph(walk: Walk, node: Any, *inputs: Any) -> list[Any]:
    """What an inner graph says, in its place."""
    op = node.op
    return walk.inner(op.inner_inputs, op.inner_outputs, inputs)
