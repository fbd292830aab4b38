"""The run-time check that a solver has converged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphConvergenceError, GraphLinAlgError
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable
from aotensor.ops.create import zeros
from aotensor.ops.linear import LinearOp
from aotensor.ops.reduce.extremum import max as max_of
from aotensor.ops.shape.join import join
from aotensor.solutions.results import REASONS, Ending


@frozen_dataclass
class Demand(LinearOp):
    """(x, status) → x; a status other than CONVERGED is an error at run time that says why the search ended."""

    name: ClassVar[str] = "demand"
    notation: ClassVar[str] = "{0}"
    solver: str

    def infer_type(self, x: TensorType, status: TensorType) -> TensorType:
        return x

    def reference(self, x: Array, status: Array) -> Array:
        for reason in REASONS:
            if status == reason:
                raise (GraphLinAlgError if reason == Ending.SINGULAR else GraphConvergenceError)(self._message(reason))
        return np.array(x)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return cotangent

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        x, status = inputs
        if is_batched[1]:  # of no samples, none has failed
            status = max_of(join(0, status, zeros([1], status.dtype)))
        return self.apply(x, status).outputs

    def lower(self, b: TensorBuilder, x: Tensor, status: Tensor) -> Tensor:
        v = b.scalars
        found = b.item(status)
        for reason in REASONS:
            is_other = v.compare("ne", found, v.constant(int(reason), "int64"))
            kind = "linalg" if reason == Ending.SINGULAR else "convergence"
            b.check(is_other, self._message(reason), kind=kind)
        return x

    def _message(self, reason: Ending) -> str:
        return f"{self.solver}: {REASONS[reason]}"


def check_converged(solver: str, x: Variable, status: Variable) -> Variable:
    """x, after a run-time check that the solver of that name has converged."""
    return Demand(solver)(x, status)  # type: ignore[no-any-return]
