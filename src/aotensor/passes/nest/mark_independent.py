"""Mark innermost loops whose iterations do not conflict in memory, so that they may run in any order.

    nest.for %k in %p {                                     nest.for %k in %p parallel {
      nest.do(%x = %X[%i, %k]) -> (%s = %g[%k]) …     →       nest.do(%x = %X[%i, %k]) -> (%s = %g[%k]) …

Each iteration writes its own elements, or adds to registers. An iteration does not read results of another one, because
statements only share a loop if iteration t reads values that iteration t has made.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from aotensor.ir.context import functions_of
from aotensor.ir.nest.loops import EntriesOp, LoopOp
from aotensor.ir.nest.ops import DoOp
from aotensor.ir.nest.tree import is_injective, is_register
from aotensor.ir.upstream import walk
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed


@ir_pass("mark-independent", level="nest", topic="cores", former="mark-parallel")
def mark_independent(module: ModuleOp) -> None:
    """Marks innermost loops whose iterations are independent."""
    for function in functions_of(module):
        for loop in [op for op in walk(function) if isinstance(op, LoopOp)]:
            is_apart = is_parallel(loop)
            loop.reschedule(parallel=is_apart, short=isinstance(loop, EntriesOp))
            if is_apart:
                applied("loop {} marked independent: its iterations may run in any order", loop)
            elif (writer := _innermost_writer(loop)) is not None:
                hint = "use positions that cannot be equal: a slice instead of index arrays"
                missed(
                    "loop {} not marked independent: {} may write one element in two iterations",
                    loop,
                    writer,
                    hint=hint,
                )


def is_parallel(loop: LoopOp) -> bool:
    """Is a loop innermost, and do its iterations write distinct elements or add to registers?"""
    if any(isinstance(op, LoopOp) for op in loop.body.block.ops):
        return False
    return all(
        op.scatter is None and (is_register(x) or is_injective(subscripts, loop))
        for op in loop.body.block.ops if isinstance(op, DoOp) for x, subscripts in op.writes
    )  # fmt: skip


def _innermost_writer(loop: LoopOp) -> DoOp | None:
    """The first memory-writing statement that keeps an innermost loop sequential; None if there is none."""
    if any(isinstance(op, LoopOp) for op in loop.body.block.ops):
        return None
    statements = (op for op in loop.body.block.ops if isinstance(op, DoOp))
    return next((op for op in statements if any(not is_register(x) for x in op.outputs)), None)
