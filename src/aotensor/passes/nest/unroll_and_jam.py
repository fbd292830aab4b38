"""Unroll-and-jam: let several iterations of a loop advance together through its inner loops.

    nest.for %i in %n {                        nest.for %i in %n jam 4 {
      nest.for %k in %p { … }           →        nest.for %k in %p { … }
    }                                          }

Operands that the inner loops reuse (the vector of a matrix-vector product, the accumulator of its transpose) are loaded
once for all jammed iterations (Callahan, Carr & Kennedy 1988). Whole nests of loops are jammed as well, if their
extents are known: then the memory of an iteration is known, and each jammed iteration has its own.
"""

from __future__ import annotations

from math import prod
from typing import Final

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType, ModuleOp, TensorType
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import SSAValue

from aotensor.ir.context import functions_of
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp, ValueOp, YieldOp
from aotensor.ir.nest.tree import axis_of, is_register, known_extent, loops_around
from aotensor.ir.upstream import walk
from aotensor.passes.registry import Option, ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.target import Target

LARGEST_BODY: Final = 40  # operations in the inner loops
LARGEST_NEST: Final = 160  # operations in whole inner nests
_ALLOWS: Final = {
    "its trip count is short": "put a longer axis outside, or unroll-and-jam{by=2}",
    "the inner loops are large": "do less work in one iteration",
    "the working set of several iterations exceeds the cache": "use smaller values in one iteration",
    "its iterations share no operand": "use an operand that is the same in all iterations",
}
"""Reason why a loop is not jammed → hint how to change that."""


@ir_pass(
    "unroll-and-jam",
    level="nest",
    topic="loops",
    unless=("scalar",),
    former="jam",
    options={"by": Option(2, 16, "iterations that advance together, 2 to 16", ("jam", "jam_products"))},
)
def unroll_and_jam(module: ModuleOp, target: Target) -> None:
    """Unroll-and-jam: eight iterations if the inner loops are terms of products, `y += a * x`, else four, share
    their loads; also rows with inner nests of static extents, each with memory of its own.
    """
    for function in functions_of(module):
        for loop in [op for op in walk(function) if isinstance(op, LoopOp) and _has_loops(op)]:
            count = _count(loop, target)
            reason = _reason_against(loop, count, target)
            if reason is None:
                applied("unroll-and-jam by {}: loop {}, whose iterations share operands", count, loop)
                loop.reschedule(jam=count)
            else:
                missed("no unroll-and-jam of loop {}: {}", loop, reason, hint=_ALLOWS.get(reason, ""))


def _count(loop: LoopOp, target: Target) -> int:
    """The number of iterations to jam.

    The number is larger for loops that only add products: each row is a stream, and more streams hide the latency of
    memory and sums. If the inner loops compute more, or rows are gathered, it would only raise register pressure.
    """
    extent = known_extent(loop)
    is_long = extent is None or extent >= 2 * target.jam_products
    inner = [op for op in loop.body.block.ops if isinstance(op, LoopOp)]
    is_light = all(_multiplies_and_adds(op) for other in inner for op in other.body.block.ops if isinstance(op, DoOp))
    return target.jam_products if is_long and is_light and not isinstance(loop, EntriesOp) else target.jam


def _multiplies_and_adds(statement: DoOp) -> bool:
    """Is a statement a multiply-add, `y += a * x`?"""
    ops = [op for op in statement.body.block.ops if not isinstance(op, YieldOp)]
    return [type(op) for op in ops] == [arith.MulfOp, arith.AddfOp]


def _reason_against(loop: LoopOp, count: int, target: Target) -> str | None:
    """The reason why a loop cannot be jammed by `count`; None if it can be."""
    extent = known_extent(loop)
    if any(around.schedule.jam > 1 for around in loops_around(loop)):
        return "an enclosing loop is unrolled and jammed"
    if extent is not None and extent < 2 * count:
        return "its trip count is short"
    inner = [op for op in loop.body.block.ops if isinstance(op, LoopOp)]
    if any(isinstance(op, EntriesOp) for op in inner):
        return "the loops inside differ in their lengths"  # slices have different numbers of entries
    if any(_has_loops(op) for op in inner):
        return _reason_against_nests(loop, count, target)
    if any(isinstance(op, ValueOp) and not is_register(op.result) for op in loop.body.block.ops):
        return "each has a buffer of its own"
    statements = [op for op in walk(loop) if isinstance(op, DoOp)]
    if any(op.scatter is not None for op in statements):
        return "several of them may add to the same element"
    inside = [(op, other) for other in inner for op in other.body.block.ops if isinstance(op, DoOp)]
    if sum(len(list(op.body.block.ops)) for op, _ in inside) > LARGEST_BODY:
        return "the inner loops are large"
    if not any(_is_reused(op, loop, other) for op, other in inside):
        return "its iterations share no operand"
    is_exact = all(
        is_reassociable(op) for op, _ in inside for x in op.outputs
        if is_register(x) and isinstance(x.owner, ValueOp) and not loop.is_ancestor(x.owner)
    )  # fmt: skip
    return None if is_exact else "a sum over both loops would be taken in another order"


def _reason_against_nests(loop: LoopOp, count: int, target: Target) -> str | None:
    """The reason why a loop around nested loops cannot be jammed, such as unknown extents; None if it can be."""
    inside = [op for op in walk(loop) if op is not loop]
    inner = [op for op in inside if isinstance(op, LoopOp)]
    if not isinstance(loop, ForOp) or not loop.is_whole or known_extent(loop) is not None:
        return "the loops inside hold loops, and there are not many iterations"
    if any(known_extent(op) is None for op in inner):
        return "the loops inside hold loops, whose extents are not all known"
    statements = [op for op in inside if isinstance(op, DoOp)]
    if any(op.scatter is not None for op in statements):
        return "several of them may add to the same element"
    if sum(len(list(op.body.block.ops)) for op in statements) > LARGEST_NEST:
        return "the inner loops are large"
    sizes = [_bytes(op) for op in inside if isinstance(op, ValueOp)]
    if None in sizes or count * sum(size or 0 for size in sizes) > target.direct_bytes:
        return "the working set of several iterations exceeds the cache"
    innermost = [op for op in inner if not _has_loops(op)]
    if not any(
        _is_reused(op, loop, other) for other in innermost for op in other.body.block.ops if isinstance(op, DoOp)
    ):
        return "its iterations share no operand"
    for op in statements:
        for held, (x, subscripts) in zip(op.body.block.args[len(op.inputs) :], op.writes, strict=True):
            if x.owner in inside or axis_of(subscripts, loop) is not None:
                continue
            if not held.uses:
                return "they write the same elements"
            if not is_reassociable(op):
                return "a sum over both loops would be taken in another order"
    return None


def _bytes(value: ValueOp) -> int | None:
    """The size of a value in bytes; None if its shape is not static."""
    kind = value.result.type
    assert isinstance(kind, TensorType) and isinstance(kind.element_type, FixedBitwidthType)
    return None if DYNAMIC_INDEX in kind.get_shape() else prod(kind.get_shape()) * kind.element_type.size


def _has_loops(loop: LoopOp) -> bool:
    return any(isinstance(op, LoopOp) for op in loop.body.block.ops)


def _is_reused(statement: DoOp, outer: LoopOp, inner: LoopOp) -> bool:
    """True if a statement accesses memory that depends on the inner counter and is invariant in the outer loop."""
    return any(
        inner.counter in subscripts and outer.counter not in subscripts and not is_register(x)
        for x, subscripts in (*statement.reads, *statement.writes)
    )


def is_reassociable(statement: DoOp) -> bool:
    """True if the sums of a statement may be reassociated: floating-point sums need the `reassoc` flag."""
    held: set[SSAValue] = set(statement.body.block.args[len(statement.inputs) :])
    return all(
        FastMathFlag.REASSOC in op.fastmath.data
        for op in statement.body.block.ops
        if isinstance(op, arith.AddfOp | arith.MulfOp) and not held.isdisjoint(op.operands)
    )
