"""Vectorize innermost loops with much arithmetic; the last vector is masked.

    nest.for %i in %n parallel {                      nest.for %i in %n lanes 8 parallel masked {
      nest.do(%x = %X[%i]) -> (%y[%i]) { … }    →       nest.do(%x = %X[%i]) -> (%y[%i]) { … }

LLVM vectorizes a short body by itself, and chooses an interleave count. Its time grows faster than the body, though:
half of the time for a loop of 2000 operations. Here elementary functions are called once per vector, where LLVM would
inline a copy of each into the loop.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float32Type, Float64Type, ModuleOp
from xdsl.ir import Attribute, Operation

from aotensor.ir.context import functions_of
from aotensor.ir.nest.loops import ForOp
from aotensor.ir.nest.ops import DoOp, ValueOp, YieldOp
from aotensor.ir.nest.strides import is_contiguous, stride_along
from aotensor.ir.nest.tree import is_register, known_extent
from aotensor.ir.upstream import walk
from aotensor.passes.exponentials import function_of
from aotensor.passes.nest.vectorize_rows import adds
from aotensor.passes.registry import Option, ir_pass
from aotensor.passes.remarks import applied
from aotensor.passes.scalar_math.table import is_straight
from aotensor.passes.target import Target

SMALLEST_BODY: Final = 600  # operations; above it LLVM's vectorizer takes longer than its compilation
FUNCTION_SIZE: Final = 30  # operations of an elementary function
PLAIN: Final = (
    arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.NegfOp, arith.MaximumfOp, arith.MinimumfOp,
    arith.CmpfOp, arith.SelectOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.ConstantOp, math.AbsFOp, math.SqrtOp,
    math.FloorOp, math.CeilOp, math.TruncOp, math.RoundEvenOp, math.CopySignOp, YieldOp,
)  # fmt: skip


@ir_pass(
    "vectorize",
    level="nest",
    topic="vectors",
    unless=("checks", "no-vectors", "scalar"),
    options={
        "interleave": Option(
            2,
            16,
            "interleaved vectors in loops with many operations, a power of two from 2 to 16; "
            "by default 4 with elementary functions, else 2",
            ("interleave", "interleave_plain"),
            is_power=True,
        )
    },
)
def vectorize(module: ModuleOp, target: Target) -> None:
    """Vectorizes loops with long bodies itself, several vectors at a time with a masked remainder: LLVM would take
    long. Elementary functions are called on vectors. On targets with masked vectors.
    """
    if not target.has_masks:
        return
    for function in functions_of(module):
        for loop in [op for op in walk(function) if isinstance(op, ForOp)]:
            kind = lane_type(loop)
            if kind is not None and known_extent(loop) is None:
                _schedule(loop, kind, target)


def _schedule(loop: ForOp, kind: Float32Type | Float64Type, target: Target) -> None:
    """Set the lanes of a loop with a large body; interleave vectors, since functions are dependence chains."""
    held = [op for statement in loop.body.block.ops if isinstance(statement, DoOp) for op in statement.body.block.ops]
    functions = sum(not isinstance(op, PLAIN) for op in held)
    if len(held) + FUNCTION_SIZE * functions >= SMALLEST_BODY:
        vectors = target.interleave if functions else target.interleave_plain
        lanes = vectors * target.lanes(kind.bitwidth)
        loop.reschedule(lanes=lanes, masked=True)
        applied("vectorized loop {} (width: {}), with a masked remainder", loop, lanes)


def lane_type(loop: ForOp) -> Float32Type | Float64Type | None:
    """The element type of a loop's lanes; None if the loop, at its whole range, cannot run on vectors as it is."""
    if not loop.is_whole or loop.schedule.lanes > 1:
        return None
    return lanes_of(loop)


def lanes_of(loop: ForOp) -> Float32Type | Float64Type | None:
    """The element type of a loop's lanes, for any range and vector length; None if it cannot be vectorized."""
    held = list(loop.body.block.ops)
    if not loop.schedule.parallel or loop.schedule.jam > 1 or loop.schedule.rows > 1:
        return None
    if not all(isinstance(op, DoOp) or (isinstance(op, ValueOp) and is_register(op.result)) for op in held):
        return None
    statements = [op for op in held if isinstance(op, DoOp)]
    kinds: set[Attribute] = {x.type for op in statements for x in op.body.block.args}
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    fits = isinstance(kind, Float32Type | Float64Type) and all(_is_vectorizable(op, loop) for op in statements)
    return kind if fits else None  # type: ignore[return-value]


def _is_vectorizable(statement: DoOp, loop: ForOp) -> bool:
    """Are all operands of a statement contiguous along the loop or invariant, and is its body vectorizable?"""
    if statement.scatter is not None:
        return False
    if not all(is_contiguous(subscripts, loop.counter) for _, subscripts in (*statement.reads, *statement.writes)):
        return False
    for x, subscripts in statement.writes:
        is_sum = is_register(x) and isinstance(x.owner, ValueOp) and not loop.is_ancestor(x.owner)
        if is_sum and not adds(statement):
            return False
        if not is_register(x) and stride_along(subscripts[-1], loop.counter) != 1:
            return False
    return all(_is_vector_operation(op, loop) for op in statement.body.block.ops)


def _is_vector_operation(op: Operation, loop: ForOp) -> bool:
    """Does an operation have a vector form: an instruction, or a function of vectors?"""
    if any(x is loop.counter for x in op.operands):
        return False
    if isinstance(op, PLAIN):
        return True
    symbol = function_of(op)
    return symbol is not None and is_straight(symbol)
