"""Outline the chunks of parallel loops into functions, which other threads call.

    scf.parallel (%i) = (0) to (%n) step (%k) {          scf.parallel (%i) = (0) to (%n) step (%k) {
      … %x … %t …                                   →      func.call @f.chunk0(%x, %workspace, …, %i)
    }                                                    }

The accumulator of a chunk is selected before the call: in the function it is an argument like others, and does not
alias any. Without this pass such a loop runs on the thread that reaches it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from aotensor.ir.upstream import ParallelOp, walk
from aotensor.passes.emit.balance import BALANCED
from aotensor.passes.memory.plan_memory import LANE
from aotensor.passes.outlining.outline import Outlining
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied


@ir_pass("outline-chunks", level="loops", topic="code")
def outline_chunks(module: ModuleOp) -> None:
    """Outlines the body of each `scf.parallel` into a function that threads call."""
    for kernel in [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]:
        stem, name = kernel.sym_name.data.removesuffix(".kernel"), kernel.sym_name.data
        if kernel.is_declaration or (stem == name and not name.endswith(".extents")):
            continue
        last = kernel
        for number, loop in enumerate([op for op in walk(kernel) if type(op) is ParallelOp]):
            made = _outlined(loop, f"{stem}.chunk{number}")
            if made is None:
                Rewriter.erase_op(loop)
                continue
            module.body.block.insert_op_after(made, last)
            last = made


def _outlined(loop: ParallelOp, symbol: str) -> func.FuncOp | None:
    """The function of a loop's chunks, which the loop calls; None if they do nothing, as where an axis is empty."""
    block = loop.body.block
    *ops, end = block.ops
    head = _head(ops)
    if head.issuperset(ops):
        return None
    given = [*block.args, *(x for op in ops if op in head and _is_first(op) for x in op.results)]
    outlining = Outlining([op for op in ops if op not in head], symbol, given)
    applied("outlined the chunks of {}", loop)
    made = outlining.function([])
    call = func.CallOp(symbol, outlining.arguments, [])
    call.location = loop.location
    block.insert_op_before(call, end)
    return made


def _head(ops: Sequence[Operation]) -> set[Operation]:
    """The operations of a chunk that remain before the call, with the operations that they depend on."""
    head: set[Operation] = set()
    pending = [op for op in ops if _is_first(op)]
    while pending:
        op = pending.pop()
        if op not in head and op in ops:
            head.add(op)
            pending += [x.owner for one in walk(op) for x in one.operands if isinstance(x.owner, Operation)]
    return head


def _is_first(op: Operation) -> bool:
    """Must an operation remain in the caller: is it the lane, a selected buffer, or a bound of the chunk?"""
    return LANE in op.attributes or BALANCED in op.attributes or _is_choice(op)


def _is_choice(op: Operation) -> bool:
    return isinstance(op, arith.SelectOp) and isinstance(op.result.type, MemRefType)
