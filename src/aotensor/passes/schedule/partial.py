"""Match partial sums of chunks that are added after the loop over chunks; the first chunk adds to the total itself.

nest.for %c in %n step %s cores {
  %v = nest.value init %zero first %g part %u number %c / %s    %g in the first chunk, then a row of %u
  …  nest.do … -> (%s = %v[%j])                                 partial sum
}
nest.for %k = 1 to %chunks { nest.for %j in %p { nest.do(%u[%k, %j]) -> (%s = %g[%j]) } }
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import SSAValue

from aotensor.ir.nest.loops import ForOp
from aotensor.ir.nest.ops import DoOp, ValueOp
from aotensor.ir.upstream import walk


@dataclass(frozen=True)
class PartialSums:
    """A sum that chunks accumulate partially. held: a chunk's accumulator. loop: the loop over chunks.

    add: the statement that adds the partial sums to the total.
    """

    held: SSAValue
    total: SSAValue
    parts: SSAValue
    number: SSAValue
    add: DoOp
    loop: ForOp


def partial_sums(function: func.FuncOp) -> list[PartialSums]:
    """Match all sums of a function that have partial sums of this form."""
    values = [op for op in walk(function) if isinstance(op, ValueOp) and op.first is not None]
    return [found for value in values if (found := _found(value)) is not None]


def _found(value: ValueOp) -> PartialSums | None:
    loop, parts, number, total = value.parent_op(), value.part, value.number, value.first
    if not isinstance(loop, ForOp) or loop.step is None or parts is None or number is None or total is None:
        return None
    if any(isinstance(use.operation, DoOp) and value.result not in use.operation.outputs for use in value.result.uses):
        return None
    adds = {use.operation for use in parts.uses if use.operation is not value}
    if len(adds) != 1:
        return None
    add = adds.pop()
    if not isinstance(add, DoOp) or list(add.outputs) != [total] or list(add.inputs) != [parts]:
        return None
    return PartialSums(value.result, total, parts, number, add, loop)
