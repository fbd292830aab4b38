"""Sparse matrices whose derivatives are cut, scaled or clipped, as `ops/gradient_control.py` does to dense tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.op import Apply, disconnected
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.gradient_control import GradClip, SteeredView, ViewOp
from aotensor.sparse.arithmetic.structured_functions import structured_maximum, structured_minimum
from aotensor.sparse.op import SparseOp, as_sparse, need_sparse


@frozen_dataclass
class SparseView(SparseOp):
    """x itself, a sparse matrix, with the derivatives of a view of dense tensors: x, *options → x.

    Only stored entries of a cotangent are clipped; others are 0 and stay 0.
    """

    takes_blocks: ClassVar[bool] = True
    view: ViewOp

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the dense op."""
        return self.view.name

    def infer_type(self, x: TensorType, *options: TensorType) -> TensorType:
        for option in options:
            if option.rank != 0:
                raise GraphTypeError(f"the bounds and factors for a sparse matrix must be scalars, not {option}")
        return need_sparse(self, x)

    def reference(self, x: Any, *options: Any) -> Any:
        return x.copy()

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return inputs[:1]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Variables:
        if not isinstance(self.view, GradClip) or not getattr(cotangents[0], "is_sparse", False):
            return self.view.pullback(inputs, outputs, cotangents)
        _, lower, upper = inputs
        found = structured_minimum(structured_maximum(as_sparse(cotangents[0]), lower), upper)
        return [found, disconnected(), disconnected()]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> Variables:
        return self.view.pushforward(inputs, outputs, tangents)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return self.view.connection_pattern(node)

    def is_faithful(self) -> bool:
        return False

    def is_dual(self) -> bool:
        return self.view.is_dual()


def viewed(view: ViewOp, x: Any, *options: Any) -> Variable:
    """Apply an op that changes derivatives of dense tensors, such as GradClip, to a sparse matrix."""
    given = view.nondifferentiable() if isinstance(view, SteeredView) and not options else options
    return SparseView(view)(x, *given)  # type: ignore[no-any-return]
