"""Sums of chunks that are added up behind the loop over chunks, the first of which adds to the sum itself.

nest.for %c in %n step %s cores {
  %v = nest.value init %zero first %g                       %g in the first chunk
  …  nest.do … -> (%s = %v[%j])                             its share
  nest.for %j in (%c = 0 ? 0 : %p) { nest.do(%v[%j]) -> (%u[%c / %s, %j]) }
}
nest.for %k = 1 to %chunks { nest.for %j in %p { nest.do(%u[%k, %j]) -> (%s = %g[%j]) } }
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from aotensor.ir.nest.loops import ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp, ValueOp
from aotensor.ir.nest.tree import loops_around


@dataclass(frozen=True)
class PartialSums:
    """held: what a chunk adds to. copy: leaves that in parts. add: adds the parts to the total. loop: over chunks."""

    held: SSAValue
    total: SSAValue
    parts: SSAValue
    copy: DoOp
    add: DoOp
    loop: ForOp


def partial_sums(function: func.FuncOp) -> list[PartialSums]:
    """The sums of a function that are made so; what looks otherwise is left out."""
    values = [op for op in function.walk() if isinstance(op, ValueOp) and op.first is not None]
    return [found for value in values if (found := _found(value)) is not None]


def _found(value: ValueOp) -> PartialSums | None:
    loop = value.parent_op()
    copy = _only([op for op in _users(value.result) if value.result not in op.outputs])
    if not isinstance(loop, ForOp) or loop.step is None or copy is None or len(copy.outputs) != 1 or not _copies(copy):
        return None
    parts = copy.outputs[0]
    add = _only([op for op in _users(parts) if op is not copy])
    if add is None or list(add.outputs) != [value.first] or list(add.inputs) != [parts]:
        return None
    assert value.first is not None
    inside = loops_around(copy)[len(loops_around(value)) :]
    if not inside or not isinstance(inside[0], ForOp) or _behind_first(inside[0], loop) is None:
        return None
    return PartialSums(value.result, value.first, parts, copy, add, loop)


def _users(x: SSAValue) -> list[DoOp]:
    found: dict[Operation, None] = {}
    for use in x.uses:
        if isinstance(use.operation, DoOp):
            found[use.operation] = None
    return [op for op in found if isinstance(op, DoOp)]


def _only(ops: list[DoOp]) -> DoOp | None:
    return ops[0] if len(ops) == 1 else None


def _copies(op: DoOp) -> bool:
    last = op.body.block.last_op
    return last is op.body.block.first_op and last is not None and tuple(last.operands) == op.body.block.args[:1]


def _behind_first(inner: ForOp, chunks: LoopOp) -> SSAValue | None:
    """The extent of a loop that has no iterations in the first chunk."""
    choice = inner.upper.owner
    if not inner.is_whole or not isinstance(choice, arith.SelectOp):
        return None
    test = choice.cond.owner
    if not isinstance(test, arith.CmpiOp) or test.predicate.value.data != 0:
        return None
    if test.lhs is not chunks.counter or not (_is_zero(test.rhs) and _is_zero(choice.lhs)):
        return None
    return choice.rhs


def extent_behind_first(sums: PartialSums) -> SSAValue:
    """The extent of the first axis of what is copied."""
    inner = loops_around(sums.copy)[len(loops_around(sums.held.owner)) :]  # type: ignore[arg-type]
    assert isinstance(inner[0], ForOp)
    found = _behind_first(inner[0], sums.loop)
    assert found is not None
    return found


def _is_zero(x: SSAValue) -> bool:
    op = x.owner
    return isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr) and op.value.value.data == 0
