"""Fetch what is read along the entries of slices some slices ahead, where these add to elements at positions.

    nest.for %i in %n {                                  nest.for %i in %n {
      nest.entries %p of %i in %indptr {                   nest.entries %p of %i in %indptr ahead 128 {
        nest.do(%v, %at = %indices[%p])                      nest.do(%v, %at = %indices[%p])
          -> (%s = %y[scatter %at]) … }             →          -> (%s = %y[scatter %at]) … }

The processor fetches what is read in order, but no further than to the end of a page of 4096 bytes, which data of eight
bytes reach after 512 entries; and the lines that are added to are many, and take turns with those of the streams. The
emitter fetches for each slice as much of a stream as 16 entries have: an instruction for a line of the cache. Longer
slices are fetched in part. Loops that only read, and those with a loop for each entry, gain nothing.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from aotensor.ir.context import functions_of
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp
from aotensor.passes.remarks import applied, missed
from aotensor.passes.target import Target


def fetch_ahead(module: ModuleOp, target: Target) -> None:
    """Mark the loops of every function that do."""
    for function in functions_of(module):
        for loop in [op for op in function.walk() if isinstance(op, EntriesOp)]:
            around, held = loop.parent_op(), list(loop.body.block.ops)
            if not isinstance(around, ForOp) or loop.slice is not around.counter or _is_second(loop):
                continue
            if not any(isinstance(op, DoOp) and op.scatter is not None for op in loop.walk()):
                continue
            if any(isinstance(op, LoopOp) for op in held):
                missed("what {} reads along the entries is not fetched ahead: each entry is a loop", loop)
            else:
                applied("what {} reads along the entries is fetched {} entries ahead", loop, target.entries_ahead)
                loop.schedule(ahead=target.entries_ahead)


def _is_second(loop: EntriesOp) -> bool:
    """Does another loop go over the same entries in front, and bring them?"""
    op = loop.prev_op
    while op is not None:
        if isinstance(op, EntriesOp) and op.slice is loop.slice and op.indptr is loop.indptr:
            return True
        op = op.prev_op
    return False
