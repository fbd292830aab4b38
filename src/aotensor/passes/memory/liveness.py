"""Where buffers of a function are in use: spans of its operations in program order."""

from __future__ import annotations

from xdsl.dialects import arith, func, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from aotensor.ir.upstream import ParallelOp, walk


def program_order(function: func.FuncOp) -> tuple[dict[Operation, int], dict[Operation, int]]:
    """(position of each operation in program order, position of the last operation inside of each operation)."""
    positions = {op: number for number, op in enumerate(walk(function))}
    ends = dict(positions)
    for op in reversed(list(positions)):
        parent = op.parent_op()
        if parent is not None and parent in ends:
            ends[parent] = max(ends[parent], ends[op])
    return positions, ends


def span_of(op: memref.AllocOp, positions: dict[Operation, int], ends: dict[Operation, int]) -> tuple[int, int]:
    """The first and the last position at which a buffer, or a view of it, may be used."""
    home = op.parent
    first, last = None, positions[op]
    pending: list[SSAValue] = [op.memref]
    while pending:
        for use in pending.pop().uses:
            user = use.operation
            if isinstance(user, memref.ReinterpretCastOp | memref.SubviewOp | memref.CastOp | arith.SelectOp):
                pending.append(user.results[0])
                continue
            outermost = outermost_loop(user, home)
            first = positions[outermost] if first is None else min(first, positions[outermost])
            last = max(last, ends[outermost])
    return (positions[op] if first is None else first, last)


def outermost_loop(user: Operation, home: Block | None) -> Operation:
    """The outermost loop around `user` within the block of the buffer, which is live in all iterations of that loop."""
    result, op = user, user
    while op.parent is not home:
        parent = op.parent_op()
        if parent is None or isinstance(parent, func.FuncOp):
            break
        op = parent
        if isinstance(op, scf.ForOp | scf.WhileOp | ParallelOp):
            result = op
    return result
