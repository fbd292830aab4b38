"""Index values of a kernel as formulas: the operations that compute them, whether dims determine them, hoisting, and
sharing of equal ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import memref, tensor
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.ir.extents import AllSources
from aotensor.ir.nest.chunks import ChunkSizeOp, ChunksOp
from aotensor.passes.keys import parts_of


def follows_from_dims(inputs: Sequence[SSAValue]) -> AllSources:
    """A predicate of index values: do they depend on constants and dims of inputs only?

    Dims of outputs may depend on data.
    """

    def may(x: SSAValue) -> bool:
        match x.owner:
            case memref.DimOp():
                return x.owner.source in inputs
            case Operation():
                return x.owner.name.startswith("arith.")
            case _:
                return isinstance(x.type, MemRefType)

    return AllSources(may)


def slice_of(values: Iterable[SSAValue]) -> list[Operation]:
    """The backward slice of some values: the operations that compute them, each after its operands.

    Not recursive: sums can be long chains.
    """
    order: dict[Operation, None] = {}
    pending = [x.owner for x in reversed(list(values))]
    while pending:
        op = pending[-1]
        missing = [] if not isinstance(op, Operation) or op in order else [
            x.owner for x in reversed(op.operands) if isinstance(x.owner, Operation) and x.owner not in order
        ]  # fmt: skip
        if missing:
            pending.extend(missing)
            continue
        pending.pop()
        if isinstance(op, Operation):
            order.setdefault(op)
    return list(order)


def hoist(block: Block, values: Sequence[SSAValue]) -> InsertPoint:
    """Move the operations that compute `values` to the top of a function, one of equal ones; return the insertion point
    after them.

    The operations must be pure: of dims and constants only (`follows_from_dims`).
    """
    last: Operation | None = None
    known: dict[tuple[object, ...], Operation] = {}
    for op in slice_of(values):
        first = known.setdefault((op.name, *parts_of(op, {})), op)
        op.detach()
        if first is not op:
            op.results[0].replace_all_uses_with(first.results[0])
            op.erase()
            continue
        if last is not None:
            block.insert_op_after(op, last)
        elif block.first_op is not None:
            block.insert_op_before(op, block.first_op)
        last = op
    if last is not None:
        return InsertPoint.after(last)
    return InsertPoint.at_start(block)


def share_equal(block: Block) -> None:
    """Keep one of equal index computations of a block: passes on loops build those of each loop anew."""
    known: dict[tuple[object, ...], Operation] = {}
    for op in list(block.ops):
        if not isinstance(op, tensor.DimOp | ChunkSizeOp | ChunksOp) and not op.name.startswith("arith."):
            continue
        if not isinstance(op.results[0].type, IndexType):
            continue
        first = known.setdefault((op.name, *parts_of(op, {})), op)
        if first is not op:
            op.results[0].replace_all_uses_with(first.results[0])
            op.detach()
            op.erase()
