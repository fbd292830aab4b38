"""Tile products of a sparse matrix with a dense one over columns: vectors of columns stay in registers.

    for p of i:                                       for block of columns:
      for j: y[i,j] += data[p]·x[indices[p],j]  →       v = 0                                     (a vector register)
                                                        for p of i: v += data[p]·x[indices[p], block]
                                                        y[i, block] = v

Without tiling, every entry loads and stores a whole row of the result. The remaining columns use one masked vector, a
single remaining column a sum over the entries; without masks the remaining columns use scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.builder import Builder
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.ir.context import functions_of
from aotensor.ir.location import builder_at_end, builder_before, locate
from aotensor.ir.nest.loops import EntriesOp, ForOp
from aotensor.ir.nest.ops import DoOp, PrefetchOp, ValueOp, YieldOp
from aotensor.ir.nest.strides import is_contiguous, stride_along
from aotensor.ir.nest.tree import is_register, known_number
from aotensor.ir.scalar_builder import Scalar, ScalarBuilder
from aotensor.ir.upstream import walk
from aotensor.passes.registry import Option, ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.target import Target

VECTORS: Final = (2, 1)  # vectors per block of columns, widest block first
_ELEMENTWISE: Final = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.NegfOp)
_POSITIONS: Final = (arith.IndexCastOp, arith.ExtSIOp, arith.AddiOp, arith.MuliOp, arith.ConstantOp)


@ir_pass(
    "tile-columns",
    level="nest",
    topic="vectors",
    unless=("checks", "no-vectors", "scalar"),
    options={
        "prefetch-distance": Option(
            0, 1 << 20, "prefetch distance in stored entries; 0 disables prefetching", ("prefetch_distance",)
        )
    },
)
def tile_columns(module: ModuleOp, target: Target) -> None:
    """Tiles products of a sparse and a dense matrix over columns: a block of columns stays in vector registers for
    all entries of a row, with a masked remainder.
    """
    for function in functions_of(module):
        for loop in [op for op in walk(function) if isinstance(op, EntriesOp)]:
            columns = _columns(loop)
            if columns is None and isinstance(loop.body.block.last_op, ForOp):
                missed(
                    "{} not tiled over columns: dtypes differ, columns are strided, or another sum shares its loop",
                    loop,
                    hint="use operands of one dtype in C order, and a statement of its own for the sum",
                )
            if columns is not None:
                applied(
                    "tiled {} over columns: a block of columns stays in vector registers for all entries of a row", loop
                )
                _Tiling(loop, columns, target).run()


def _columns(loop: EntriesOp) -> ForOp | None:
    """The loop over columns inside a loop over entries, if it can be vectorized; else None."""
    held = list(loop.body.block.ops)
    columns = held[-1] if held else None
    if not isinstance(columns, ForOp) or not columns.is_whole:
        return None
    if not all(isinstance(op, DoOp) or (isinstance(op, ValueOp) and is_register(op.result)) for op in held[:-1]):
        return None
    inner = list(columns.body.block.ops)
    if not all(isinstance(op, DoOp) or (isinstance(op, ValueOp) and is_register(op.result)) for op in inner):
        return None
    before = [op for op in held if isinstance(op, DoOp)]
    if any(_is_sum(x, loop) or op.scatter is not None for op in before for x in op.outputs):
        return None  # each block would add it again
    statements = [op for op in inner if isinstance(op, DoOp)]
    kinds = {x.type for op in statements for x in op.body.block.args[len(op.inputs) :]}
    if len(kinds) != 1 or not isinstance(next(iter(kinds)), Float32Type | Float64Type):
        return None
    return columns if all(_is_vectorizable(op, columns) for op in statements) else None


def _is_sum(x: SSAValue, loop: EntriesOp | ForOp) -> bool:
    """Is a value a register that is declared outside of a loop?"""
    return isinstance(x.owner, ValueOp) and is_register(x) and not loop.is_ancestor(x.owner)


def _is_vectorizable(statement: DoOp, columns: ForOp) -> bool:
    """True if all operands of a statement are contiguous along the columns, and its body is arithmetic."""
    if len(statement.outputs) != 1:
        return False
    counter = columns.counter
    if not all(is_contiguous(subscripts, counter) for _, subscripts in (*statement.reads, *statement.writes)):
        return False
    ((x, written),) = statement.writes
    fits = columns.is_ancestor(x.owner) if is_register(x) else stride_along(written[-1], counter) == 1
    return fits and all(_is_plain(op, counter) for op in statement.body.block.ops)


def _is_plain(op: Operation, counter: SSAValue) -> bool:
    match op:
        case tensor.ExtractOp():
            *others, last = op.indices
            return all(stride_along(x, counter) == 0 for x in others) and stride_along(last, counter) in (0, 1)
        case YieldOp():
            return True
        case _:
            uses_counter = any(x is counter for x in op.operands)
            return isinstance(op, (*_ELEMENTWISE, *_POSITIONS)) and not uses_counter


class _Tiling:
    """Rewrites a loop over entries that contains a loop over columns into loops over blocks of columns.

    sums: statements whose accumulator does not depend on the entry, with the loop that initializes it.
    """

    def __init__(self, loop: EntriesOp, columns: ForOp, target: Target) -> None:
        self.loop, self.columns, self.target = loop, columns, target
        self.statements = [op for op in columns.body.block.ops if isinstance(op, DoOp)]
        kind = self.statements[0].body.block.args[-1].type
        assert isinstance(kind, Float32Type | Float64Type)
        self.kind, self.lanes = kind, target.lanes(kind.bitwidth)
        self.sums = [op for op in self.statements if self._is_sum(op)]
        self.fills = {op: self._fill_of(op) for op in self.sums}
        self.b = builder_before(loop)
        self.numbers: dict[int, SSAValue] = {}

    def run(self) -> None:
        assert self.loop.parent is not None
        if self._masks_the_rest():
            self._all_columns()
            return
        start: SSAValue | None = None
        for count in VECTORS:
            width = self._number(count * self.lanes)
            behind = self._whole(start, width)
            self._blocks(start, behind, count)
            start = behind
        assert start is not None
        for fill in dict.fromkeys(self.fills.values()):
            self._rest(fill, start)
        self._rest(self.columns, start)

    def _masks_the_rest(self) -> bool:
        """Are the remaining columns covered by a mask?

        Only for sums: a scatter would load and store under a mask per entry.
        """
        return self.target.has_masks and all(op.scatter is None for op in self.statements)

    def _all_columns(self) -> None:
        """Build blocks of two vectors; a last block of one or two vectors covers the remaining columns under a mask.

        A single remaining column becomes a sum over the entries, vectorized along the entries.
        """
        extent, wide = self.columns.upper, 2 * self.lanes
        known = known_number(extent)
        start = self._whole(None, self._number(wide))
        self._blocks(None, start, 2)
        left = None if known is None else known % wide
        if left is None or left > self.lanes:
            more = self._sum(extent, self._number(self.lanes - 1))
            behind = self._whole(start, self._number(wide), more)  # blocks wider than one vector
            self._blocks(start, behind, 2, is_masked=True)
            start = behind
        if left is None or left == 1:
            last = self._behind_single_column(start)
            block = Block(arg_types=[IndexType()])
            self._column(builder_at_end(block, self.loop.location), block.args[0])
            self.b.insert(ForOp(last, block, lower=start))
            start = last
        if left is None or 1 < left <= self.lanes:
            self._blocks(start, extent, 1, is_masked=left != self.lanes)
        parent = self.loop.parent
        assert parent is not None
        for loop in (self.loop, *dict.fromkeys(self.fills.values())):
            parent.erase_op(loop)

    def _behind_single_column(self, start: SSAValue) -> SSAValue:
        """start + 1 if exactly one column is left, else start.

        With left = extent − start it is start + max(min(left, 1), 0)·max(2 − left, 0); `left` may be −7 after a masked
        block.
        """
        with ScalarBuilder(self.b).active() as s:
            left = Scalar(self.columns.upper, "index") - Scalar(start, "index")
            one, two, zero = (Scalar(self._number(n), "index") for n in (1, 2, 0))
            alone = s.maximum(s.minimum(left, one), zero) * s.maximum(two - left, zero)
            return (Scalar(start, "index") + alone).ssa

    def _sum(self, x: SSAValue, y: SSAValue, b: Builder | None = None) -> SSAValue:
        """x + y, by default before the loop."""
        with ScalarBuilder(b or self.b).active():
            return (Scalar(x, "index") + Scalar(y, "index")).ssa

    def _blocks(self, start: SSAValue | None, end: SSAValue, count: int, is_masked: bool = False) -> None:
        """Build the loop over blocks of `count` vectors.

        is_masked: does the last vector hold only the remaining columns?
        """
        block = Block(arg_types=[IndexType()])
        self._block(builder_at_end(block, self.loop.location), block.args[0], count, is_masked)
        self.b.insert(ForOp(end, block, lower=start, step=self._number(count * self.lanes)))

    def _is_sum(self, statement: DoOp) -> bool:
        ((x, subscripts),) = statement.writes
        goes_on = all(stride_along(i, self.loop.counter) == 0 for i in subscripts)
        return statement.scatter is None and not is_register(x) and goes_on

    def _fill_of(self, statement: DoOp) -> ForOp:
        """The loop over columns that initializes the accumulator of a statement."""
        (x,) = statement.outputs
        for use in x.uses:
            fill = use.operation.parent_op()
            is_fill = isinstance(use.operation, DoOp) and not use.operation.inputs and use.operation is not statement
            if is_fill and isinstance(fill, ForOp) and fill.parent is self.loop.parent:
                return fill
        raise AssertionError("a sum that nothing fills in front of the entries")

    def _number(self, n: int) -> SSAValue:
        if n not in self.numbers:
            self.numbers[n] = self.b.insert(arith.ConstantOp(IntegerAttr(n, IndexType()))).result
        return self.numbers[n]

    def _whole(self, start: SSAValue | None, width: SSAValue, extent: SSAValue | None = None) -> SSAValue:
        """The first column after all whole blocks of `width` columns from `start` on.

        extent: end of the columns, by default all.
        """
        end, step = Scalar(self.columns.upper if extent is None else extent, "index"), Scalar(width, "index")
        with ScalarBuilder(self.b).active():
            if start is None:
                return (end / step * step).ssa
            first = Scalar(start, "index")
            return (first + (end - first) / step * step).ssa

    def _rest(self, loop: ForOp, start: SSAValue) -> None:
        """Restrict a loop over columns to the remaining ones, from `start` on."""
        body = loop.detach_region(loop.body)
        parent = loop.parent
        assert parent is not None
        rest = ForOp(loop.upper, body, lower=start)
        rest.location = loop.location
        parent.insert_op_before(rest, loop if loop is self.columns else self.loop)
        loop.add_region(Region(Block(arg_types=[IndexType()])))
        parent.erase_op(loop)

    # --- one block -----------------------------------------------------------------------------------------------

    def _block(self, b: Builder, at: SSAValue, count: int, is_masked: bool) -> None:
        """Build the loop over all entries for `count` vectors of columns from `at` on.

        is_masked: may the last vector be partial?
        """
        columns, lanes = [at], [self._number(self.lanes)] * count
        for v in range(1, count):
            columns.append(self._sum(at, self._number(v * self.lanes), b))
        if is_masked:
            with ScalarBuilder(b).active() as s:
                left = Scalar(self.columns.upper, "index") - Scalar(columns[-1], "index")
                lanes[-1] = s.minimum(left, Scalar(lanes[-1], "index")).ssa
        totals: dict[tuple[DoOp, int], SSAValue] = {}
        for op in self.sums:
            init = self._start(op)
            for v in range(count):
                declared = ValueOp([], TensorType(self.kind, [self.lanes]), init, lanes=self.lanes)
                totals[op, v] = b.insert(declared).result
        body = Block(arg_types=[IndexType()])
        inner = builder_at_end(body, self.loop.location)
        values: dict[SSAValue, SSAValue] = {self.loop.counter: body.args[0]}
        for held in list(self.loop.body.block.ops)[:-1]:
            inner.insert(held.clone(values))
        self._prefetch(inner, body.args[0], columns)
        for v, column in enumerate(columns):
            inner.insert(self._vector(dict(values), column, lanes[v], {op: totals[op, v] for op in self.sums}))
        b.insert(EntriesOp(self.loop.slice, self.loop.indptr, body))
        for (op, v), total in totals.items():
            b.insert(self._store(op, total, columns[v], lanes[v]))

    def _column(self, b: Builder, at: SSAValue) -> None:
        """Build the loop over all entries for one column."""
        totals = {op: b.insert(ValueOp([], TensorType(self.kind, []), self._start(op))).result for op in self.sums}
        body = Block(arg_types=[IndexType()])
        values: dict[SSAValue, SSAValue] = {self.loop.counter: body.args[0], self.columns.counter: at}
        for op in (*list(self.loop.body.block.ops)[:-1], *self.columns.body.block.ops):
            copy: Operation = op.clone(values)
            if isinstance(op, DoOp) and isinstance(copy, DoOp) and op in totals:
                copy.set_accesses(copy.reads, [(totals[op], [])])
            body.add_op(copy)
        b.insert(EntriesOp(self.loop.slice, self.loop.indptr, body))
        for op, total in totals.items():
            b.insert(self._write(op, (total, []), at))

    def _write(self, statement: DoOp, total: tuple[SSAValue, list[SSAValue]], column: SSAValue) -> DoOp:
        """Build the statement that stores a sum at a column of the original output."""
        ((x, subscripts),) = statement.writes
        body = Block(arg_types=[self.kind] * 2)
        body.add_op(YieldOp(body.args[0]))
        return DoOp([total], [(x, [column if i is self.columns.counter else i for i in subscripts])], Region(body))

    def _start(self, statement: DoOp) -> SSAValue:
        fill = self.fills[statement].body.block.first_op
        assert isinstance(fill, DoOp) and isinstance(fill.body.block.last_op, YieldOp)
        return fill.body.block.last_op.values[0]

    def _vector(
        self, values: dict[SSAValue, SSAValue], column: SSAValue, lanes: SSAValue, totals: dict[DoOp, SSAValue]
    ) -> ForOp:
        """Build the loop over lanes that executes the statements for one vector of columns."""
        block = Block(arg_types=[IndexType()])
        lane = block.args[0]
        values[self.columns.counter] = self._sum(column, lane, Builder(InsertPoint.at_end(block)))
        for op in self.columns.body.block.ops:
            copy: Operation = op.clone(values)
            if isinstance(op, DoOp) and isinstance(copy, DoOp) and op in totals:
                copy.set_accesses(copy.reads, [(totals[op], [lane])])
            block.add_op(copy)
        loop = ForOp(lanes, block)
        loop.reschedule(lanes=self.lanes, masked=lanes is not self._number(self.lanes))
        locate(loop, self.columns.location)
        return loop

    def _store(self, statement: DoOp, total: SSAValue, column: SSAValue, lanes: SSAValue) -> ForOp:
        """Build the loop over lanes that stores a vector of sums."""
        block = Block(arg_types=[IndexType()])
        index = self._sum(column, block.args[0], Builder(InsertPoint.at_end(block)))
        block.add_op(self._write(statement, (total, [block.args[0]]), index))
        loop = ForOp(lanes, block)
        loop.reschedule(lanes=self.lanes, masked=lanes is not self._number(self.lanes))
        locate(loop, statement.location)
        return loop

    def _prefetch(self, b: Builder, entry: SSAValue, columns: Sequence[SSAValue]) -> None:
        """Prefetch the rows to which a later entry adds: they are scattered in memory."""
        for op in self.statements:
            if op.scatter is None or not self.target.prefetch_distance:
                continue
            indices = op.inputs[op.scatter.value.data]
            if isinstance(indices.owner, ValueOp):
                continue
            zero = self._number(0)
            with ScalarBuilder(b).active() as s:
                count = s.emit(tensor.DimOp(indices, zero), "index")
                last = count - Scalar(self._number(1), "index")
                later = Scalar(entry, "index") + Scalar(self._number(self.target.prefetch_distance), "index")
                assert isinstance(indices.type, TensorType)
                where = [s.minimum(later, last).ssa]
                row = s.as_index(s.emit(tensor.ExtractOp(indices, where, indices.type.element_type), "raw").ssa).ssa
            for column in columns:
                b.insert(PrefetchOp(op.outputs[0], [row, column]))
