"""Prefetch streams that are read along the entries of slices, several slices ahead, where entries scatter-add.

    nest.for %i in %n {                                  nest.for %i in %n {
      nest.entries %p of %i in %indptr {                   nest.entries %p of %i in %indptr ahead 128 {
        nest.do(%v, %at = %indices[%p])                      nest.do(%v, %at = %indices[%p])
          -> (%s = %y[scatter %at]) … }             →          -> (%s = %y[scatter %at]) … }

Hardware prefetches a stream only to the end of a page of 4096 bytes, which data of eight bytes reach after 512 entries;
and the scattered lines are many, and compete with those of the streams. The emitter prefetches for each slice as much
of a stream as 16 entries have: one instruction per cache line. Longer slices are prefetched in part. Prefetching does
not help loops that only read, those with an inner loop per entry, and those that come after another loop over the same
slice, or the same block of slices, which has already loaded the streams.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from aotensor.ir.context import functions_of
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp
from aotensor.ir.upstream import walk
from aotensor.passes.registry import Option, ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.target import Target


@ir_pass(
    "prefetch",
    level="nest",
    topic="memory",
    unless=("scalar",),
    reference="decisions/0048-streams-of-entries-are-fetched-ahead.md",
    former="fetch-ahead",
    options={
        "entries": Option(
            2, 1 << 20, "prefetch distance in stored entries of a compressed matrix, at least 2", ("entries_ahead",)
        )
    },
)
def prefetch(module: ModuleOp, target: Target) -> None:
    """Prefetches the operands of scatters by stored entry (transposed sparse products) some rows ahead."""
    for function in functions_of(module):
        for loop in [op for op in walk(function) if isinstance(op, EntriesOp)]:
            around, held = loop.parent_op(), list(loop.body.block.ops)
            if not isinstance(around, ForOp) or loop.slice is not around.counter or _is_second(loop):
                continue
            if not any(isinstance(op, DoOp) and op.scatter is not None for op in walk(loop)):
                continue
            if any(isinstance(op, LoopOp) for op in held):
                missed("no prefetch for {}: the loop over entries contains a loop", loop)
            else:
                applied("prefetching the operands of {}, {} entries ahead", loop, target.entries_ahead)
                loop.reschedule(ahead=target.entries_ahead)


def _is_second(loop: EntriesOp) -> bool:
    """Has an earlier loop over the same slice, or over its block of slices, already loaded these entries into cache?"""
    around = loop.parent_op()
    assert isinstance(around, ForOp)
    block = around.parent_op()
    slices = [(op, loop.slice) for op in _operations_before(loop)]
    if around.step is None and isinstance(block, ForOp) and block.step is not None and not block.schedule.cores:
        rows = (op for op in _operations_before(around) if isinstance(op, ForOp) and _bounds(op) == _bounds(around))
        slices += [(op, row.counter) for row in rows for op in row.body.block.ops]
    return any(isinstance(op, EntriesOp) and op.slice is slice and op.indptr is loop.indptr for op, slice in slices)


def _bounds(loop: ForOp) -> tuple[SSAValue | None, ...]:
    return loop.lower, loop.upper, loop.step


def _operations_before(op: Operation) -> Iterator[Operation]:
    """Iterate over the operations before `op` in its block, the nearest first."""
    before = op.prev_op
    while before is not None:
        yield before
        before = before.prev_op
