"""Vectorize sums over the entries of slices across slices: each vector lane sums one slice.

    nest.for %i in %n {                                     nest.for %i in %n rows 8 {
      nest.entries %p of %i in %indptr {                      nest.entries %p of %i in %indptr terms 1024 {
        nest.do(%a = %data[%p], …) -> (%s = %y[]) … }   →       … }
      …                                                       …

Rows of sparse matrices are short. One by one, each would cost a test for emptiness and a horizontal sum; a step with an
empty mask does not load, and three rounds of shuffles reduce eight sums at once. Masked-off lanes load 0, so terms must
be 0 there: only ·, + and − of entries are accepted. Other statements of the loop run on vectors of slices.

Where gathers are slow, short rows avoid partly filled ones (`emit/row_sums.py` has the algorithms): rows of equal
length use a scalar loop over entries, whose trip count the processor predicts, and for rows of unequal length all terms
are computed before they are added, as if the rows were one. Longer rows, with a mean of more than 16 entries, use
vectors along the entries: as scalar loops, rows of 50 took 1.2 times as long, and rows of about 24 with precomputed
terms 1.16 times (Zen 4, x in the second level cache). The lengths of the eight rows alone decide.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import Float64Type, ModuleOp
from xdsl.ir import Operation, SSAValue

from aotensor.ir.context import functions_of
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp, ValueOp, YieldOp
from aotensor.ir.nest.strides import is_contiguous, stride_along
from aotensor.ir.nest.tree import is_register, known_extent
from aotensor.ir.types import f64, i32, i64
from aotensor.ir.upstream import walk
from aotensor.passes.nest.unroll_and_jam import is_reassociable
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.target import Target

LARGEST_BODY: Final = 40  # operations apart from the sums
_BILINEAR: Final = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.NegfOp)
_CASTS: Final = (arith.ExtSIOp, arith.IndexCastOp)


@ir_pass(
    "vectorize-rows", level="nest", topic="vectors", former="row-vectors", unless=("checks", "no-vectors", "scalar")
)
def vectorize_rows(module: ModuleOp, target: Target) -> None:
    """Vectorizes sums over the entries of short rows across rows, one row per lane, on targets with masked vectors.
    Where gathers are slow, short rows of equal length use a scalar loop, and other short rows store their terms
    first.
    """
    if not target.has_masks:
        return
    rows = target.lanes(64)
    for function in functions_of(module):
        for loop in [op for op in walk(function) if isinstance(op, ForOp)]:
            entries = _sums(loop, rows) if loop.step is None else None
            if entries is not None:
                applied("vectorized the sums of {} across rows (width: {})" + _algorithm_text(target), loop, rows)
                loop.reschedule(rows=rows)
                entries.reschedule(terms=_most_terms(target))
            elif any(isinstance(op, EntriesOp) for op in loop.body.block.ops):
                hint = "use float64 operands, and only the product in the expression"
                missed("{} not vectorized across rows: it is not a sum of products in float64", loop, hint=hint)


def _algorithm_text(target: Target) -> str:
    return "; short rows use a scalar loop or stored terms" if target.has_slow_gathers else ""


def _most_terms(target: Target) -> int:
    """The number of terms that may be buffered before they are added; 1 for none."""
    return target.row_terms if target.has_slow_gathers else 1


def _sums(loop: ForOp, rows: int) -> EntriesOp | None:
    """The only loop over entries in a loop over slices, if it only sums and the rest is plain arithmetic; else None."""
    extent, held = known_extent(loop), list(loop.body.block.ops)
    entries = [op for op in held if isinstance(op, LoopOp)]
    if (extent is not None and extent < rows) or len(entries) != 1:
        return None
    (inner,) = entries
    if not isinstance(inner, EntriesOp) or inner.slice is not loop.counter:
        return None
    beside = [op for op in held if isinstance(op, DoOp)]
    registers = [op for op in held if isinstance(op, ValueOp) and is_register(op.result)]
    positions = [op for op in held if isinstance(op, (arith.AddiOp, arith.SubiOp))]
    size = sum(len(list(op.body.block.ops)) for op in beside)
    if len(beside) + len(registers) + len(positions) + 1 != len(held) or size > LARGEST_BODY:
        return None
    fits = all(_is_plain(op, loop) for op in beside) and _Terms(inner, loop).are_zero_outside()
    return inner if fits else None


def _is_plain(statement: DoOp, loop: ForOp) -> bool:
    """True for float64 arithmetic on operands that are contiguous along slices, or invariant."""
    if statement.scatter is not None or any(x.type != f64 for x in statement.body.block.args):
        return False
    if not all(is_contiguous(subscripts, loop.counter) for _, subscripts in (*statement.reads, *statement.writes)):
        return False
    for x, subscripts in statement.writes:
        is_sum = isinstance(x.owner, ValueOp) and is_register(x) and not loop.is_ancestor(x.owner)
        if is_sum and not adds(statement):
            return False
        if not is_register(x) and not any(stride_along(i, loop.counter) for i in subscripts):
            return False
    return all(isinstance(op, (*_BILINEAR, arith.DivfOp, arith.ConstantOp, YieldOp)) for op in statement.body.block.ops)


def adds(statement: DoOp) -> bool:
    """Does a statement add to its output, with permission to reassociate?"""
    last, held = statement.body.block.last_op, statement.body.block.args[-1]
    assert isinstance(last, YieldOp)
    total = last.values[0].owner
    is_sum = isinstance(total, arith.AddfOp) and held in total.operands and held.has_one_use()
    return is_sum and len(statement.outputs) == 1 and is_reassociable(statement)


class _Terms:
    """Classifies the values in a loop over entries: does a value vary by entry, or is it the same for a whole slice?"""

    def __init__(self, entries: EntriesOp, rows: ForOp) -> None:
        self.entries, self.rows = entries, rows
        self.by_entry: dict[SSAValue, bool] = {}

    def are_zero_outside(self) -> bool:
        """True if the loop only computes float64 sums whose terms are 0 where entries are 0."""
        held = list(self.entries.body.block.ops)
        if not all(isinstance(op, DoOp) or (isinstance(op, ValueOp) and is_register(op.result)) for op in held):
            return False
        statements = [op for op in held if isinstance(op, DoOp)]
        has_sum = any(self._is_outer(op.outputs[0]) for op in statements)
        return has_sum and all(self._is_known_statement(op) for op in statements)

    def _is_outer(self, x: SSAValue) -> bool:
        return isinstance(x.owner, ValueOp) and not self.entries.is_ancestor(x.owner)

    def _is_known_statement(self, s: DoOp) -> bool:
        if s.scatter is not None or len(s.outputs) != 1 or not is_register(s.outputs[0]):
            return False
        if not all(self._note(s, k) for k in range(len(s.inputs))):
            return False
        (x,) = s.outputs
        if self._is_outer(x) and not self._is_sum(s, x):
            return False
        last = s.body.block.last_op
        assert isinstance(last, YieldOp)
        for op in s.body.block.ops:
            if op is not last and not self._is_known(op):
                return False
        self.by_entry[x] = self.by_entry.get(last.values[0], False)
        return True

    def _note(self, s: DoOp, number: int) -> bool:
        """Record whether an operand varies by entry; False if its entries are not contiguous in memory."""
        x, subscripts = s.reads[number]
        argument = s.body.block.args[number]
        if is_register(x):
            self.by_entry[argument] = self.by_entry.get(x, False)
            return True
        strides = [stride_along(i, self.entries.counter) for i in subscripts]
        self.by_entry[argument] = any(strides)
        return not any(strides) or (not any(strides[:-1]) and strides[-1] == 1 and argument.type in (f64, i32, i64))

    def _is_sum(self, s: DoOp, x: SSAValue) -> bool:
        """Is x a register of the loop over slices that sums terms by entry?"""
        held = s.body.block.args[-1]
        self.by_entry[held] = True
        is_inside = isinstance(x.owner, ValueOp) and x.owner.parent is self.rows.body.block
        return isinstance(held.type, Float64Type) and adds(s) and is_inside

    def _is_known(self, op: Operation) -> bool:
        found = [self._varies(x) for x in op.operands]
        by_entry = any(found)
        match op:
            case tensor.ExtractOp():
                is_fit = found[-1] and not any(found[1:-1]) and op.result.type == f64
            case arith.ConstantOp():
                is_fit = True
            case _:
                is_fit = isinstance(op, (*_BILINEAR, *_CASTS)) and all(x == by_entry for x in found)
        self.by_entry[op.results[0]] = by_entry
        return is_fit and (op.results[0].type == f64 or not isinstance(op, _BILINEAR))

    def _varies(self, x: SSAValue) -> bool:
        """Does x vary by entry? The loop's counter itself does."""
        return x is self.entries.counter or self.by_entry.get(x, False)
