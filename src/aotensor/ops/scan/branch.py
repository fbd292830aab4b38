"""Branch: one of two subgraphs, of which only the chosen one is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Apply, Op, null_gradient
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable
from aotensor.ops.scan.layout import common_dims, fitted


@dataclass(frozen=True)
class Branch(Op):
    """The outputs of `then` where the condition holds, else those of `otherwise`: condition, *captured → *outputs.

    Both subgraphs take all captured values, and their outputs have the same dtypes and ranks.
    """

    name: ClassVar[str] = "branch"
    then: Subgraph = field(repr=False)
    otherwise: Subgraph = field(repr=False)

    def infer_type(self, condition: TensorType, *captured: TensorType) -> tuple[TensorType, ...]:
        if (condition.dtype, condition.rank) != ("bool", 0):
            raise GraphTypeError(f"a condition is a bool scalar, not {condition}")
        for side in (self.then, self.otherwise):
            for position, (slot, type) in enumerate(zip(side.inputs, captured, strict=True)):
                fitted(f"captured value {position}", slot, type)
        pairs = zip(self.then.outputs, self.otherwise.outputs, strict=True)
        return tuple(either(one.tensor_type, other.tensor_type) for one, other in pairs)

    def reference(self, condition: Array, *captured: Array) -> tuple[Array, ...]:
        return tuple((self.then if condition else self.otherwise).evaluate(captured))

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        return [null_gradient(self, k, x, "not implemented") for k, x in enumerate(inputs)]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        return [null_gradient(self, k, x, "not implemented") for k, x in enumerate(outputs)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        sides = list(zip(self.then.influences, self.otherwise.influences, strict=True))
        rows = [[position in one | other for one, other in sides] for position in range(len(node.inputs) - 1)]
        return [[False] * len(node.outputs), *rows]

    def lower(self, b: TensorBuilder, *inputs: Tensor) -> tuple[Tensor, ...]:
        return b.branch(self, inputs)


def either(one: TensorType, other: TensorType) -> TensorType:
    """The type of a value that is one of two.   Raises: GraphValueError if they differ in dtype or rank."""
    if (one.dtype, one.rank) != (other.dtype, other.rank):
        raise GraphValueError(f"one branch gives {one}, the other {other}")
    return TensorType(one.dtype, common_dims(one.shape, other.shape))
