"""The run-time check that an iteration has converged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphLinAlgError
from aotensor.graph.variable import Variable
from aotensor.ops.batching import TrailingOp
from aotensor.ops.linear import LinearOp


@frozen_dataclass
class Converged(TrailingOp, LinearOp):
    """(x, bool scalar) → x; a LinAlgError with `message` at run time unless the scalar is true."""

    name: ClassVar[str] = "converged"
    notation: ClassVar[str] = "{0}"
    message: str

    def infer_type(self, x: TensorType, is_done: TensorType) -> TensorType:
        return x

    def reference(self, x: Array, is_done: Array) -> Array:
        if not is_done:
            raise GraphLinAlgError(self.message)
        return x

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return cotangent

    def lower(self, b: TensorBuilder, x: Tensor, is_done: Tensor) -> Tensor:
        b.check(b.item(is_done), self.message, kind="linalg")
        return x
