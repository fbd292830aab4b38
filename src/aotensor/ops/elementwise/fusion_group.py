"""A group of elementwise ops as one op, the result of the pass `fuse-elementwise`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar

from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.graph.op import Op
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable


@frozen_dataclass
class Fused(Op):
    """The outputs of a graph of `Elementwise` ops, all of one shape, whose intermediate values are never stored.

    Created for compilation, after all derivatives; its rules are those of the ops in it.
    """

    takes_half: ClassVar[bool] = True
    body: Subgraph = field(repr=False)

    name = "fused"

    def infer_type(self, *types: TensorType) -> tuple[TensorType, ...]:
        return tuple(x.tensor_type for x in self.body.outputs)

    def reference(self, *inputs: Array) -> Any:
        return tuple(self.body.evaluate(inputs))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return self.body.inlined(inputs)

    def lower(self, b: TensorBuilder, *inputs: Tensor) -> tuple[Tensor, ...]:
        return b.fused(self.body, inputs)
