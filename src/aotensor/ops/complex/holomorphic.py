"""Mark a complex value as a holomorphic function of others, if the graph of its parts does not show it.

y = view(y', z₁, …)      y′, marked as depending on z₁, … only, each real or complex, holomorphically
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from aotensor.core.frozen import frozen_dataclass
from aotensor.graph.op import Apply, disconnected
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.gradient_control import ViewOp


@frozen_dataclass
class HolomorphicView(ViewOp):
    """x itself, marked as a holomorphic function of the further inputs: every path to x passes through one of them."""

    name: ClassVar[str] = "holomorphic_view"
    notation: ClassVar[str] = "{0}"
    takes_complex: ClassVar[bool] = True
    is_holomorphic: ClassVar[bool] = True

    def is_faithful(self) -> bool:
        return True

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [cotangents[0], *(disconnected() for _ in inputs[1:])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [tangents[0]]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        return self.apply(*inputs).outputs


def holomorphic_in(x: Variable, *origins: Variable) -> Variable:
    """x, marked as a holomorphic function of `origins`."""
    return HolomorphicView().apply(x, *origins).outputs[0]
