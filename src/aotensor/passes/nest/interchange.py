"""Interchange the loops of each statement so that the innermost loop has unit stride.

    nest.for %j in %m {                                   nest.for %i in %n {
      nest.for %i in %n {                          →        nest.for %j in %m {
        nest.do(%x = %X[%i, %j]) -> (%y[%i, %j]) …            nest.do(%x = %X[%i, %j]) -> (%y[%i, %j]) …

A dim weighs more the farther to the right it is in the subscripts of the operands, with operands of high rank first;
the heaviest dim becomes the innermost loop. The loop over the entries of a slice stays inside the loop over slices.
"""

from __future__ import annotations

from itertools import pairwise

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from aotensor.ir.context import functions_of
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp
from aotensor.ir.nest.tree import perfect_nest
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied


@ir_pass("interchange", level="nest", topic="loops")
def interchange(module: ModuleOp) -> None:
    """Interchanges the loops of a statement so that the innermost is contiguous."""
    for function in functions_of(module):
        for root in list(function.body.block.ops):
            if isinstance(root, LoopOp):
                _order(root)


def _order(root: LoopOp) -> None:
    loops, statement = perfect_nest(root)
    if not isinstance(statement, DoOp):
        return
    free = [loop for loop in loops if isinstance(loop, ForOp) and not _is_divided(loop, loops)]
    weights = {loop: _weight(loop.counter, statement) for loop in free}
    fixed = [loop for loop in loops if loop not in weights]  # loops over slices and entries stay outermost
    wanted = fixed + sorted(free, key=lambda loop: weights[loop])
    if wanted != loops:
        applied("interchanged the loops of {}: the innermost loop is contiguous", statement)
        reorder(loops, wanted)


def _is_divided(loop: LoopOp, loops: list[LoopOp]) -> bool:
    return any(isinstance(other, EntriesOp) and other.slice is loop.counter for other in loops)


def _weight(counter: SSAValue, statement: DoOp) -> float:
    """The weight of a loop counter: larger, the farther right it is in subscripts; operands of high rank dominate."""
    weight = 0.0
    for _, subscripts in (*statement.reads, *statement.writes):
        if counter in subscripts:
            rank, position = len(subscripts), subscripts.index(counter)
            weight += 16.0**rank * 4.0 ** -(rank - 1 - position)
    return weight


def reorder(loops: list[LoopOp], wanted: list[LoopOp]) -> None:
    """Permute the loops of a perfect nest into the `wanted` order."""
    root, innermost = loops[0], loops[-1]
    parent, before = root.parent, root.next_op
    assert parent is not None
    held = [innermost.body.block.detach_op(op) for op in list(innermost.body.block.ops)]
    for inner, outer in pairwise(reversed(loops)):
        outer.body.block.detach_op(inner)
    parent.detach_op(root)
    if before is None:
        parent.add_op(wanted[0])
    else:
        parent.insert_op_before(wanted[0], before)
    for outer, inner in pairwise(wanted):
        outer.body.block.add_op(inner)
    wanted[-1].body.block.add_ops(held)
