"""Split a loop into chunks with private partial sums, which are added in order after the loop."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Final

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, ModuleOp, TensorType, UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.ir.index_builder import Extent, IndexBuilder, end_of_block
from aotensor.ir.location import LocatedBuilder, builder_at_end, builder_before, locate
from aotensor.ir.nest.chunks import ChunkSizeOp, ChunksOp
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import BalanceOp, DoOp, PrefetchOp, ValueOp, YieldOp
from aotensor.ir.nest.tree import known_extent, statements
from aotensor.ir.scalar_builder import CONTRACT, Scalar, ScalarBuilder
from aotensor.ir.types import element_bytes
from aotensor.ir.upstream import walk
from aotensor.passes.nest.cores.sums import Sum, neutral
from aotensor.passes.nest.work import UNIT, elements, extent, quotient, rows_of_chunk, work_of_iteration
from aotensor.passes.remarks import applied, missed
from aotensor.passes.target import Target

CHUNKS: Final = "chunks"
"""Name of the attribute on the operation that computes the number of chunks of a loop."""
CHUNK_SIZE: Final = "chunk_size"
"""Name of the attribute on the operation that computes the iterations per chunk."""
_ADDED: Final = 7
"""Work per element of adding a partial sum to the total."""


class Chunks:
    """Rewrites a loop into a parallel loop over chunks of its iterations."""

    def __init__(self, loop: ForOp, target: Target, sums: Sequence[Sum]) -> None:
        self.loop, self.target, self.sums = loop, target, sums
        self.before = builder_before(loop)
        self.b = IndexBuilder(self.before, CONTRACT)
        with self.b.active():
            self.work: Extent = work_of_iteration(self.b, loop)
        self.least = target.fill_work if _is_fill(loop) else target.chunk_work

    def is_little(self) -> bool:
        """True if two cores are known not to pay for the work of the whole loop; then a remark is written."""
        extent = known_extent(self.loop)
        least = 2 * self.least
        if extent is None or not isinstance(self.work, int) or extent * self.work >= least:
            return False
        hint = f"about {least // max(extent * self.work, 1) + 1} times the work, or a batch"
        missed("loop {} not parallelized: {} iterations do not amortise a second core", self.loop, extent, hint=hint)
        return True

    def build(self) -> None:
        """Replace the loop by a loop over chunks."""
        loop, b = self.loop, self.b
        with b.active():
            rows = self._rows()
        self._report()
        size = b.index(rows).ssa
        count = self._count(rows) if self.sums else size
        self.one = b.index(1).ssa
        indptr = _indptr_of(loop)
        balance = None if indptr is None else (b.index(self._group()).ssa, indptr)
        parts = [self.before.insert(_part(sum, count)).result for sum in self.sums]
        outer = Block(arg_types=[IndexType()])
        chunks = ForOp(loop.upper, outer, step=size)
        chunks.reschedule(cores=True)
        self.before.insert(chunks)
        self._fill(outer.args[0], size, parts, balance, builder_at_end(outer, loop.location))
        self.b = IndexBuilder(LocatedBuilder(InsertPoint.before(chunks), loop.location), CONTRACT)
        behind = LocatedBuilder(InsertPoint.after(chunks), loop.location)
        groups: dict[object, list[tuple[Sum, SSAValue]]] = {}
        for pair in zip(self.sums, parts, strict=True):
            groups.setdefault(_group_of(pair[0]), []).append(pair)
        made = [chunks, *(self._combined(group, count) for group in groups.values())]
        behind.insert(made[1:])
        for op in made:
            locate(op, loop.location)

    def _report(self) -> None:
        """Write the remark on the number of iterations, or the work, from which the loop has two chunks."""
        if any(not sum.is_number for sum in self.sums):
            tensors = [sum.value.result for sum in self.sums if not sum.is_number]
            what = "parallelized loop {}, where its work amortises another private copy of {}"
            applied(what, self.loop, tensors[0], size=tensors)
        elif isinstance(self.work, int):
            least = -(-2 * self.least // max(self.work, 1))
            applied("parallelized loop {}, from {} iterations on", self.loop, least)
        else:
            least = round(2 * self.least * UNIT * 1e6)
            applied("parallelized loop {}, from about {} microseconds of work on", self.loop, least)

    def _count(self, rows: Extent) -> SSAValue:
        """The number of chunks: ⌈extent / rows⌉."""
        extent, b = self._extent(), self.b
        if isinstance(extent, int) and isinstance(rows, int):
            return b.index(-(-extent // rows)).ssa
        return b.emit(ChunksOp(b.index(extent).ssa, b.index(rows).ssa), "index").ssa

    def _extent(self) -> Extent:
        return self.b.as_extent(Scalar(self.loop.upper, "index"))

    def _rows(self) -> Extent:
        """Iterations per chunk: enough work each, an even number of chunks of equal length, a multiple of the group."""
        b, target = self.b, self.target
        most: Extent = target.most_chunks
        if target.sum_work and any(not sum.is_number for sum in self.sums):
            most = b.imin(self._chunks_of_sums(), most)
        return _size(b, self._extent(), self.work, self.least, most, self._group())

    def _chunks_of_sums(self) -> Extent:
        """The largest profitable number of chunks, if each chunk but the first fills and adds private tensors.

        With two chunks, one core loses a few percent and two cores halve the time; with more than two, one core
        loses almost nothing.
        """
        b, target = self.b, self.target
        tensors = [sum.value.result for sum in self.sums if not sum.is_number]
        counts = [elements(b, x) for x in tensors]
        count = reduce(operator.add, counts)
        whole, pair = self._extent() * self.work, self._work_of_pair(counts)
        # May overflow to 0, but only for extents that no allocatable tensor has.
        two, more = (quotient(b, whole, b.imax(count * n, 1)) for n in (pair, target.sum_work))
        return b.imax(more, b.imin(two, 1)) + 1

    def _work_of_pair(self, counts: Sequence[Extent]) -> Extent:
        """Work per element of the sums from which a second chunk pays.

        counts: number of elements of each summed tensor.
        """
        b, target = self.b, self.target
        kinds = [sum.kind.element_type for sum in self.sums if not sum.is_number]
        if all(sum.is_scattered and sum.kind.get_num_dims() == 1 for sum in self.sums if not sum.is_number):
            return target.pair_work  # scattered elements: with far memory the scatter takes longer, too
        size = reduce(operator.add, (n * element_bytes(kind) for n, kind in zip(counts, kinds, strict=True)))
        if isinstance(size, int):
            return target.pair_work if size <= target.near_bytes else target.far_pair_work
        is_near = b.index(size) <= target.near_bytes
        return b.as_extent(b.select(is_near, b.index(target.pair_work), b.index(target.far_pair_work)))

    def _group(self) -> Extent:
        """The group size: chunk sizes are multiples of this number of iterations."""
        loop, target = self.loop, self.target
        if loop.step is not None:
            return self.b.as_extent(Scalar(loop.step, "index"))
        if _is_innermost(loop):
            return target.chunk_group
        is_much = isinstance(self.work, int) and self.work >= target.step_work
        is_alone = not loop.schedule.is_grouped
        return 1 if is_much and is_alone else target.row_group  # a few samples, each an image

    def _fill(
        self,
        start: SSAValue,
        size: SSAValue,
        parts: Sequence[SSAValue],
        balance: tuple[SSAValue, SSAValue] | None,
        inside: LocatedBuilder,
    ) -> None:
        """Build the body of the loop over chunks: the original loop, from the start of the chunk to its end.

        balance: the group size of rows, and the indptr of compressed rows whose entries are divided evenly among
        chunks.
        """
        loop = self.loop
        end = end_of_block(inside, start, size, loop.upper)
        number = start
        if parts:
            number = ScalarBuilder(inside).unsigned_div(Scalar(start, "index"), Scalar(size, "index")).ssa
        own = [self._begin(inside, sum, (part, number)) for sum, part in zip(self.sums, parts, strict=True)]
        begin = start
        if balance is not None:
            begin, end = (inside.insert(BalanceOp(x, loop.upper, size, *balance)).result for x in (start, end))
        assert loop.parent is not None
        inside.insert(loop.parent.detach_op(loop))
        loop.set_bounds(end, begin)
        for sum, part, mine in zip(self.sums, parts, own, strict=True):
            _redirect(loop, sum.value.result, mine)
            if sum.is_number:
                inside.insert(_store_partial(mine, part, number))

    def _begin(self, inside: LocatedBuilder, sum: Sum, row: tuple[SSAValue, SSAValue]) -> SSAValue:
        """Declare the accumulator of a chunk: a private number, or its row of the partial sums, initially neutral.

        The first chunk adds to the sum itself, so that a single chunk is the original loop.
        """
        nothing = inside.insert(arith.ConstantOp(neutral(sum))).result
        if sum.is_number:
            own = ValueOp(sum.value.sizes, sum.kind, nothing)
        else:
            own = ValueOp(sum.value.sizes, sum.kind, nothing, first=sum.value.result, row=row)
        own.location = sum.value.location
        return inside.insert(own).result

    def _combined(self, group: Sequence[tuple[Sum, SSAValue]], count: SSAValue) -> ForOp:
        """Build the loop that adds the chunks' partial sums in order; that of a tensor with many elements is parallel
        over these.

        group: one sum, or several sums of numbers, each with its partial sums.
        """
        outer = Block(arg_types=[IndexType()])
        for sum, part in group:
            _nest(builder_at_end(outer, self.loop.location), sum, partial(_addition, sum, part, outer.args[0]))
        sum, _ = group[0]
        if sum.is_number:
            return ForOp(count, outer)
        added = ForOp(count, outer, lower=self.one)
        return self._on_cores(added, sum, count) if sum.is_scattered else added

    def _on_cores(self, added: ForOp, sum: Sum, count: SSAValue) -> ForOp:
        """Parallelize the loop that adds partial sums over blocks of its elements.

        for %k … { for %j in %n { … } }  →  for %c in %n step %s cores { for %k … { for %j = %c to %c + %s { … } } }
        """
        along = added.body.block.last_op
        assert isinstance(along, ForOp)
        b, target = self.b, self.target
        n = extent(b, sum.value.result, 0)
        assert n is not None
        with b.active():
            rows = quotient(b, elements(b, sum.value.result), b.imax(n, 1))
            work = b.as_extent(Scalar(count, "index")) * (rows * _ADDED)
            group = target.chunk_group if _is_innermost(along) else target.row_group
            size = b.index(_size(b, n, work, target.chunk_work, target.most_chunks, group)).ssa
        upper = b.index(n).ssa
        block = Block(arg_types=[IndexType()])
        start = block.args[0]
        inside = builder_at_end(block, self.loop.location)
        end = end_of_block(inside, start, size, upper)
        chunks = ForOp(upper, block, step=size)
        chunks.reschedule(cores=True)
        inside.insert(added)
        along.set_bounds(end, start)
        return chunks


def _size(b: IndexBuilder, count: Extent, work: Extent, least: int, most: Extent, group: Extent) -> Extent:
    """Iterations per chunk, see `rows_of_chunk`: a number if all arguments are known, else `nest.chunk_size`."""
    operands = (count, work, most, group)
    if all(isinstance(n, int) for n in operands):
        return rows_of_chunk(b, count, work, least, most, group)
    return b.emit(ChunkSizeOp(least, *(b.index(n).ssa for n in operands)), "index")


def write_chunks(module: ModuleOp) -> None:
    """Replace `nest.chunk_size` and `nest.chunks` by their arithmetic, and mark the operations of that arithmetic."""
    for op in [x for x in walk(module) if isinstance(x, ChunkSizeOp | ChunksOp)]:
        b = IndexBuilder(builder_before(op), CONTRACT)
        with b.active():
            extent, *rest = (b.as_extent(Scalar(x, "index")) for x in op.operands)
            if isinstance(op, ChunksOp):
                found = quotient(b, extent + (rest[0] - 1), rest[0])
                kind: type[Operation] = arith.DivSIOp
            else:
                found = rows_of_chunk(b, extent, rest[0], op.least.value.data, rest[1], rest[2])
                kind = arith.MuliOp
        x = b.index(found).ssa
        if isinstance(x.owner, kind):
            x.owner.attributes[CHUNKS if isinstance(op, ChunksOp) else CHUNK_SIZE] = UnitAttr()
        op.result.replace_all_uses_with(x)
        op.detach()  # type: ignore[no-untyped-call]
        op.erase()


def _indptr_of(loop: ForOp) -> SSAValue | None:
    """The indptr of the slices whose entries a loop's iterations visit; None for a loop over anything else."""
    for op in walk(loop):
        if not isinstance(op, EntriesOp):
            continue
        rows = op.slice.block.parent_op() if isinstance(op.slice, BlockArgument) else None
        is_row = rows is loop or (isinstance(rows, ForOp) and rows.lower is loop.counter)
        made_by = op.indptr.owner
        if is_row and not (isinstance(made_by, Operation) and loop.is_ancestor(made_by)):
            return op.indptr
    return None


def _is_innermost(loop: LoopOp) -> bool:
    """Does a loop contain no other loop?"""
    return not any(isinstance(op, LoopOp) for op in loop.body.block.ops)


def _is_fill(loop: ForOp) -> bool:
    """Does a loop only write loop-invariant values?"""
    return all(not op.inputs and op.body.block.first_op is op.body.block.last_op for op in statements(loop))


def _part(sum: Sum, count: SSAValue) -> ValueOp:
    """Declare memory for the partial sums of all chunks, one row per chunk."""
    kind = TensorType(sum.kind.element_type, [DYNAMIC_INDEX, *sum.kind.get_shape()])
    parts = ValueOp([count, *sum.value.sizes], kind)
    parts.location = sum.value.location
    return parts


def _redirect(loop: LoopOp, old: SSAValue, new: SSAValue) -> None:
    """Replace value `old` by `new` in the writes and prefetches inside a loop."""
    for op in walk(loop):
        if isinstance(op, DoOp) and old in op.outputs:
            op.set_accesses(op.reads, [(new if x is old else x, where) for x, where in op.writes])
        elif isinstance(op, PrefetchOp) and op.tensor is old:
            op.operands[0] = new


def _nest(b: Builder, sum: Sum, make: Callable[[list[SSAValue]], DoOp]) -> None:
    """Build a loop nest over all elements of a sum, around a statement that `make` builds."""
    sizes = iter(sum.value.sizes)
    uppers = [
        next(sizes) if n == DYNAMIC_INDEX else b.insert(arith.ConstantOp(IntegerAttr(n, IndexType()))).result
        for n in sum.kind.get_shape()
    ]
    blocks = [Block(arg_types=[IndexType()]) for _ in uppers]
    op: Operation = make([block.args[0] for block in blocks])
    for upper, block in zip(reversed(uppers), reversed(blocks), strict=True):
        block.add_op(op)
        op = ForOp(upper, block)
    b.insert(op)


def _group_of(sum: Sum) -> object:
    """A key that is equal for sums whose partial sums one loop adds: sums of floats of one type. Such a loop is scalar
    (`vectorizer-hints`), so each sum has the same order as in a loop of its own; products and maxima are vectors.
    """
    if sum.is_number and isinstance(sum.combine, arith.AddfOp):
        return sum.kind, sum.combine.fastmath
    return sum.value


def _addition(sum: Sum, part: SSAValue, chunk: SSAValue, at: list[SSAValue]) -> DoOp:
    """Build the statement that adds an element of a chunk's partial sum to the total."""
    kind = sum.kind.element_type
    body = Block(arg_types=[kind, kind])
    op = type(sum.combine).create(
        operands=body.args[::-1], result_types=[kind], properties=dict(sum.combine.properties)
    )
    body.add_ops([op, YieldOp(op.results[0])])
    return DoOp([(part, [chunk, *at])], [(sum.value.result, list(at))], Region(body))


def _store_partial(own: SSAValue, part: SSAValue, number: SSAValue) -> DoOp:
    """Build the statement that stores the number accumulated by a chunk as the chunk's partial sum."""
    assert isinstance(own.type, TensorType)
    body = Block(arg_types=[own.type.element_type] * 2)
    body.add_op(YieldOp(body.args[0]))
    return DoOp([(own, [])], [(part, [number])], Region(body))
