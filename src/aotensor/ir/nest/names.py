"""Names of loops: `n`, `n.1`, `n.blocks`, `entries`. A loop has the same name in texts, schedules and remarks."""

from __future__ import annotations

from typing import Final

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, SSAValue

from aotensor.ir.nest.expressions import dims_of
from aotensor.ir.nest.loops import ForOp, LoopOp
from aotensor.ir.nest.ops import BalanceOp
from aotensor.ir.upstream import walk

COUNTER: Final = "i."
"""The counter of loop `n` is `%i.n` in texts."""


def loop_names(function: func.FuncOp) -> dict[LoopOp, str]:
    """Map each loop of a function to its name, in the order of the text.

    A loop is named after the dim that it iterates over, `n`, and further ones `n.1`, `n.2`; a loop over blocks of a dim
    is `n.blocks`, one over chunks for several cores `n.chunks`, and one over stored entries `entries`. `i` is a loop
    over an extent whose name is missing or not an identifier of MLIR.
    """
    dims, counts = dims_of(function), dict[str, int]()
    entry = function.body.block
    found: dict[LoopOp, str] = {}
    bases: dict[LoopOp, str] = {}

    def dim(x: SSAValue) -> str | None:
        """The name of an extent n; for the end of a block, min(i + size, n), the name of n."""
        op = x.owner
        if isinstance(op, arith.MinSIOp):
            return next((name for y in op.operands if (name := dim(y)) is not None), None)
        if not isinstance(op, tensor.DimOp) or not isinstance(op.source, BlockArgument) or op.source.block is not entry:
            return None
        axis = op.index.owner
        is_known = isinstance(axis, arith.ConstantOp) and isinstance(axis.value, IntegerAttr)
        name = dims.get((op.source.index, axis.value.value.data)) if is_known else None  # type: ignore[union-attr]
        return name if name is not None and name.isascii() and name.isidentifier() else None

    for op in walk(function):
        if isinstance(op, LoopOp):
            around = _divided(op.lower) if isinstance(op, ForOp) else None
            base = "entries" if not isinstance(op, ForOp) else bases[around] if around else dim(op.upper) or "i"
            bases[op] = base
            if isinstance(op, ForOp) and op.step is not None:
                base += ".chunks" if op.schedule.cores else ".blocks"
            count = counts[base] = counts.get(base, -1) + 1
            found[op] = f"{base}.{count}" if count else base
    return found


def _divided(lower: SSAValue | None) -> ForOp | None:
    """The loop over blocks whose counter is the start `lower` of a block; None if `lower` is not such a start."""
    if isinstance(lower, BlockArgument):
        loop = lower.block.parent_op()
        return loop if isinstance(loop, ForOp) and loop.step is not None else None
    op = None if lower is None else lower.owner
    if isinstance(op, BalanceOp):
        return _divided(op.row)
    if isinstance(op, arith.MaxSIOp | arith.AddiOp | arith.SubiOp):
        return next((loop for x in op.operands if (loop := _divided(x)) is not None), None)
    return None
