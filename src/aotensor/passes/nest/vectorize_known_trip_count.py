"""Vectorize innermost loops of a short, known trip count: full vectors first, then shorter ones for the remainder.

    nest.for %i in %c10 parallel { … }      →      nest.for %i in %c8 lanes 8 parallel { … }
                                                   nest.for %j = %c8 to %c10 lanes 2 parallel { … }

LLVM does not vectorize such short loops. It unrolls them, and if the enclosing loop is long vectorizes that: then the
loop is left to LLVM. If the enclosing loop is short as well, the SLP vectorizer looks for equal adjacent operations,
which finds some of them, at a price. A mask would also cover the remainder, but a load soon after a masked store waits
for memory. A sum over the loop has a partial sum in each lane; as reducing these takes time, it is done only if the
enclosing loop is a sum, too, which LLVM would compute in scalars.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import SSAValue

from aotensor.ir.context import functions_of
from aotensor.ir.location import builder_before
from aotensor.ir.nest.loops import ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp, ValueOp
from aotensor.ir.nest.tree import is_register, known_extent
from aotensor.ir.upstream import walk
from aotensor.passes.nest.vectorize import PLAIN, lane_type
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied
from aotensor.passes.target import Target

LARGEST_BODY: Final = 40  # operations, summed over the vectors, each of which repeats the body


@ir_pass(
    "vectorize-known-trip-count",
    level="nest",
    topic="vectors",
    former="short-vectors",
    unless=("checks", "no-vectors", "scalar"),
)
def vectorize_known_trip_count(module: ModuleOp, target: Target) -> None:
    """Vectorizes inner loops with short static trip counts by one or two vectors, 10 = 8 + 2, unless LLVM
    vectorizes the enclosing loop better.
    """
    for function in functions_of(module):
        for loop in [op for op in walk(function) if isinstance(op, ForOp)]:
            around = loop.parent_op()
            if not isinstance(around, LoopOp) or known_extent(around) is None:
                continue
            kind, extent = lane_type(loop), known_extent(loop)
            if kind is None or extent is None or not _is_plain(loop) or (_sums(loop) and not _sums(around)):
                continue
            widths = short_widths(extent, target.lanes(kind.bitwidth))
            if widths and _size(loop) * len(widths) <= LARGEST_BODY:
                applied("vectorized {1} (trip count: {0}, width: {2})", extent, loop, " and ".join(map(str, widths)))
                _split(loop, widths)


def short_widths(extent: int, lanes: int) -> list[int]:
    """The widths of the one or two vectors that cover an extent, the wider one first.

    Empty if more than two are needed, or the extent is below half a vector.
    """
    if not lanes // 2 <= extent <= 2 * lanes:
        return []
    first = 1 << min(extent, lanes).bit_length() - 1
    rest = extent - first
    return [first, *([rest] if rest else [])] if rest & (rest - 1) == 0 and rest != 1 else []


def _is_plain(loop: ForOp) -> bool:
    """Is every operation of the loop arithmetic that takes one instruction?"""
    statements = [op for op in loop.body.block.ops if isinstance(op, DoOp)]
    return all(isinstance(op, PLAIN) for statement in statements for op in statement.body.block.ops)


def _sums(loop: LoopOp) -> bool:
    """Do statements inside a loop add to a number that is declared outside of it?"""
    written = (x for op in walk(loop) if isinstance(op, DoOp) for x in op.outputs if is_register(x))
    return any(isinstance(x.owner, ValueOp) and not loop.is_ancestor(x.owner) for x in written)


def _size(loop: ForOp) -> int:
    return sum(len(list(op.body.block.ops)) for op in loop.body.block.ops if isinstance(op, DoOp))


def _split(loop: ForOp, widths: list[int]) -> None:
    b, low = builder_before(loop), 0
    start: SSAValue | None = None
    for width in widths:
        low += width
        end = b.insert(arith.ConstantOp(IntegerAttr(low, IndexType()))).result
        part = ForOp(end, loop.body.clone(), lower=start)
        part.reschedule(lanes=width, parallel=True)
        b.insert(part)
        start = end
    block = loop.parent
    assert block is not None
    block.erase_op(loop)
