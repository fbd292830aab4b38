"""Cut loops into chunks of iterations that may run on several cores, with sums of their own.

    %z = nest.value init %zero                    %zs = nest.value[%chunks]
    nest.for %i in %n {                           nest.for %c in %n step %rows cores {
      nest.do … -> (%s = %z[])                      %zc = nest.value init %zero
    }                                               nest.for %i = %c to %end { nest.do … -> (%s = %zc[]) }
                                             →      nest.do(%v = %zc[]) -> (%zs[%c / %rows])
                                                  }
                                                  nest.for %k in %chunks { nest.do(%v = %zs[%k]) -> (%s = %z[]) }

Where a chunk begins depends on extents alone, and the sums of the chunks are added in order: the result is the same to
the last bit, whoever runs the chunks. A chunk is so much work that waking another core for it pays; a loop of less work
is one chunk. What cannot be proved to keep apart stays as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Final

from xdsl.builder import Builder
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import CumulateOp, RecurOp, ReshapeOp, SortOp
from aotensor.ir.dialect_sparse import PatternOp
from aotensor.ir.extents import sources
from aotensor.ir.index_builder import Extent, IndexBuilder
from aotensor.ir.location import LocatedBuilder, builder_at_end, builder_before, locate
from aotensor.ir.nest.loops import ForOp, LoopOp
from aotensor.ir.nest.ops import MATRICES, ON_CORES, DoOp, PrefetchOp, ValueOp, YieldOp
from aotensor.ir.nest.strides import stride_along
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.nest.tree import axis_of, gathers, is_register, known_extent, statements
from aotensor.ir.scalar_builder import CONTRACT, Scalar
from aotensor.passes.gemm.note_cores import note_cores
from aotensor.passes.nest.jam import is_reassociable
from aotensor.passes.nest.work import UNIT, elements, quotient, rows_of_chunk, work_of_iteration
from aotensor.passes.remarks import applied, missed
from aotensor.passes.target import Target

_NOTHING: Final[Mapping[type[Operation], float]] = {
    arith.AddfOp: 0.0, arith.MulfOp: 1.0, arith.MaximumfOp: float("-inf"), arith.MinimumfOp: float("inf"),
    arith.AddiOp: 0, arith.MuliOp: 1, arith.OrIOp: 0, arith.XOrIOp: 0, arith.AndIOp: -1,
}  # fmt: skip
"""What changes nothing, by the operation that combines; of comparisons of integers it depends on their width."""
_ORDERS: Final = (arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp)
_BY_ROWS: Final = ("product_rows", "product_values", "product_left")  # kinds of `aot.pattern` that write row by row
CHUNKS: Final = "chunks"
"""Attribute of the operation that counts the chunks of a loop."""
CHUNK_SIZE: Final = "chunk_size"
"""Attribute of the operation that says how many iterations one has."""


def parallelize(module: ModuleOp, target: Target) -> None:
    """Cut the outermost loops of every function; where they have few iterations, or may not be cut, those inside."""
    for function in functions_of(module):
        if not function.sym_name.data.endswith(".extents"):
            for op in list(function.body.block.ops):
                note_cores(op, target)
                if isinstance(op, ForOp):
                    _cut(op, target)
                elif _goes_by_lines(op):
                    op.attributes[ON_CORES] = UnitAttr()
                    applied("several cores may take the lines, rows or parts of {}", op)


def _goes_by_lines(op: Operation) -> bool:
    """Does an operation work on lines, or on rows of a matrix, each by itself? A sort does on parts of one line."""
    has_lines = MATRICES in op.attributes or isinstance(op, CumulateOp | RecurOp | SortOp | tensor.InsertSliceOp)
    kind = op.operands[0].type if has_lines else None
    is_deep = isinstance(kind, TensorType) and kind.get_num_dims() > 1 + (MATRICES in op.attributes)
    return is_deep or isinstance(op, SortOp) or (isinstance(op, PatternOp) and op.kind.data in _BY_ROWS)


def _cut(loop: ForOp, target: Target) -> None:
    extent = known_extent(loop)
    if extent is None or extent >= target.fewest_iterations:
        found = _sums(loop) if loop.lower is None else "it is a part of another one"
        if not isinstance(found, str):
            chunks = _Chunks(loop, target, found)
            if not chunks.is_little():
                chunks.build()
            return
        missed("the loop of {} runs on one core: {}", loop, found)
    if loop.step is None and loop.properties.keys().isdisjoint(("jam", "lanes", "rows")):
        for op in list(loop.body.block.ops):
            if isinstance(op, ForOp):
                _cut(op, target)


# --- what keeps iterations apart -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sum:
    """A value from outside of a loop that its statements update, by an operation that takes terms in any order."""

    value: ValueOp
    combine: Operation

    @property
    def kind(self) -> TensorType[Attribute]:
        kind = self.value.result.type
        assert isinstance(kind, TensorType)
        return kind

    @property
    def is_number(self) -> bool:
        return is_register(self.value.result)


def _sums(loop: ForOp) -> list[_Sum] | str:
    """What iterations of a loop add to together, if they are apart in all else; otherwise what keeps them together."""
    if any(isinstance(op, ValueOp) and not _has_known_size(op) for op in loop.walk()):
        return "it needs memory whose size depends on values"
    if loop.number("lanes") > 1 and loop.masked is None:
        return "it is a vector"
    found: dict[SSAValue, _Sum] = {}
    owned: dict[SSAValue, list[Sequence[Subscript]]] = defaultdict(list)
    for statement in statements(loop):
        for number, (x, subscripts) in enumerate(statement.writes):
            root = _memory(x)
            if isinstance(root.owner, Operation) and loop.is_ancestor(root.owner):
                continue  # each iteration has its own
            if statement.scatter is None and _goes_along(subscripts, loop):
                owned[root].append(subscripts)
                continue
            combine = _combination(statement, number)
            if combine is None or not isinstance(x.owner, ValueOp) or x.owner.lanes is not None:
                return f"iterations write to the same elements of a {_kind(x)}"
            if x in found and type(found[x].combine) is not type(combine):
                return f"a {_kind(x)} is updated in several ways"
            found[x] = _Sum(x.owner, combine)
    for statement in statements(loop):
        for x, read in _reads(statement):
            root = _memory(x)
            if root in owned and (read is None or any(not _meet_only(read, one, loop) for one in owned[root])):
                return "an iteration reads what another one writes"
    return list(found.values())


def _reads(statement: DoOp) -> Iterator[tuple[SSAValue, Sequence[Subscript] | None]]:
    yield from statement.reads
    yield from ((x, None) for x in gathers(statement))


def _meet_only(read: Sequence[Subscript], written: Sequence[Subscript], loop: LoopOp) -> bool:
    """Do two accesses meet in equal iterations only?"""
    along = axis_of(written, loop)
    return read == written or (along is not None and along == axis_of(read, loop))


def _goes_along(subscripts: Sequence[Subscript], loop: LoopOp) -> bool:
    """Does an access meet other elements at each iteration?"""
    return axis_of(subscripts, loop) is not None or any(stride_along(x, loop.counter) for x in subscripts)


def _memory(x: SSAValue) -> SSAValue:
    """The value whose memory another one takes, or is a view of."""
    while True:
        if isinstance(x.owner, ReshapeOp):
            x = x.owner.source
        elif isinstance(x.owner, ValueOp) and x.owner.over is not None:
            x = x.owner.over
        else:
            return x


def _has_known_size(value: ValueOp) -> bool:
    """Does the size of a value follow from the extents of arguments?"""
    if is_register(value.result):
        return True
    for x in sources(value.sizes, tensor.DimOp):
        if not isinstance(x.owner, Operation) or not (
            x.owner.name.startswith("arith.")
            or (isinstance(x.owner, tensor.DimOp) and not isinstance(x.owner.source.owner, Operation))
        ):
            return False
    return True


def _combination(statement: DoOp, number: int) -> Operation | None:
    """The operation by which a statement updates what it writes, if it takes terms in any order."""
    last = statement.body.block.last_op
    assert isinstance(last, YieldOp)
    combine, held = last.values[number].owner, statement.body.block.args[len(statement.inputs) + number]
    if not isinstance(combine, Operation) or (type(combine) not in _NOTHING and not isinstance(combine, _ORDERS)):
        return None
    if held not in combine.operands or not held.has_one_use() or not is_reassociable(statement):
        return None
    return combine


def _kind(x: SSAValue) -> str:
    return "number" if is_register(x) else "tensor"


# --- chunks ----------------------------------------------------------------------------------------------------------


class _Chunks:
    """A loop on its way to chunks."""

    def __init__(self, loop: ForOp, target: Target, sums: Sequence[_Sum]) -> None:
        self.loop, self.target, self.sums = loop, target, sums
        self.before = builder_before(loop)
        self.b = IndexBuilder(self.before, CONTRACT)
        self.work: Extent = work_of_iteration(self.b, loop)

    def is_little(self) -> bool:
        """Is all of the loop known to be too little work for two cores?"""
        extent = known_extent(self.loop)
        if extent is None or not isinstance(self.work, int) or extent * self.work >= 2 * self.target.chunk_work:
            return False
        missed("the loop of {} runs on one core: {} iterations are little work", self.loop, extent)
        return True

    def build(self) -> None:
        """Put the chunks in place of the loop."""
        loop, b = self.loop, self.b
        rows = self._rows()
        self._report()
        size = b.index(rows).ssa
        if isinstance(size.owner, arith.MuliOp):
            size.owner.attributes[CHUNK_SIZE] = UnitAttr()
        count = self._count(rows) if self.sums else size
        self.one = b.index(1).ssa
        parts = [self.before.insert(_part(sum, count)).result for sum in self.sums]
        outer = Block(arg_types=[IndexType()])
        chunks = ForOp(loop.upper, outer, step=size)
        chunks.schedule(cores=True)
        self.before.insert(chunks)
        self._fill(outer.args[0], size, parts, builder_at_end(outer, loop.location))
        behind = LocatedBuilder(InsertPoint.after(chunks), loop.location)
        made = [chunks, *(self._combined(sum, part, count) for sum, part in zip(self.sums, parts, strict=True))]
        behind.insert(made[1:])
        for op in made:
            locate(op, loop.location)

    def _report(self) -> None:
        """From which size on there are two chunks."""
        if any(not sum.is_number for sum in self.sums):
            tensors = [sum.value.result for sum in self.sums if not sum.is_number]
            what = "the loop of {} runs on several cores if a {} of its own for each chunk is next to nothing beside it"
            applied(what, self.loop, tensors[0], size=tensors)
        elif isinstance(self.work, int):
            least = -(-2 * self.target.chunk_work // max(self.work, 1))
            applied("the loop of {} runs on several cores from {} iterations on", self.loop, least)
        else:
            least = round(2 * self.target.chunk_work * UNIT * 1e6)
            applied("the loop of {} runs on several cores from about {} microseconds of work on", self.loop, least)

    def _count(self, rows: Extent) -> SSAValue:
        """How many chunks there are."""
        count = self.b.index(quotient(self.b, self.b.iadd(self._extent(), self.b.isub(rows, 1)), rows)).ssa
        if isinstance(count.owner, arith.DivSIOp):
            count.owner.attributes[CHUNKS] = UnitAttr()
        return count

    def _extent(self) -> Extent:
        return self.b.as_extent(Scalar(self.loop.upper, "index"))

    def _rows(self) -> Extent:
        """Iterations of a chunk: enough work, an even number of chunks of equal length, in whole groups."""
        loop, b, target = self.loop, self.b, self.target
        tensors = [elements(b, sum.value.result) for sum in self.sums if not sum.is_number]
        most: Extent = target.most_chunks
        if tensors and target.sum_work:  # every chunk but the first fills, keeps and adds as much
            once = b.imax(b.imul(reduce(b.iadd, tensors), target.sum_work), 1)
            whole = b.imul(self._extent(), self.work)
            most = b.imin(b.iadd(quotient(b, whole, once), 1), most)
        group: Extent = target.chunk_group if is_innermost(loop) else target.row_group
        group = group if loop.step is None else b.as_extent(Scalar(loop.step, "index"))
        return rows_of_chunk(b, self._extent(), self.work, target.chunk_work, most, group)

    def _fill(self, start: SSAValue, size: SSAValue, parts: Sequence[SSAValue], inside: LocatedBuilder) -> None:
        """The body of the loop over chunks: the loop, from where the chunk begins to where it ends."""
        loop = self.loop
        end = inside.insert(arith.AddiOp(start, size)).result
        end = inside.insert(arith.MinSIOp(end, loop.upper)).result
        number = inside.insert(arith.DivUIOp(start, size)).result if parts else start
        own = [self._begin(inside, sum) for sum in self.sums]
        assert loop.parent is not None
        inside.insert(loop.parent.detach_op(loop))
        loop.set_bounds(end, start)
        if not self.sums:
            return
        zero = inside.insert(arith.ConstantOp(IntegerAttr(0, IndexType()))).result
        is_first = inside.insert(arith.CmpiOp(start, zero, "eq")).result
        for sum, part, mine in zip(self.sums, parts, own, strict=True):
            _redirect(loop, sum.value.result, mine)
            _nest(inside, sum, partial(_keep, mine, part, number), None if sum.is_number else (zero, is_first))

    def _begin(self, inside: LocatedBuilder, sum: _Sum) -> SSAValue:
        """What a chunk adds to: a number or buffer of its own, which begins with what adds nothing.

        The first chunk adds to the sum itself: one chunk is the loop that it was.
        """
        nothing = inside.insert(arith.ConstantOp(_neutral(sum))).result
        first = None if sum.is_number else sum.value.result
        return inside.insert(ValueOp(sum.value.sizes, sum.kind, nothing, first=first)).result

    def _combined(self, sum: _Sum, part: SSAValue, count: SSAValue) -> ForOp:
        """The loop that adds the parts of the chunks, one after the other."""
        outer = Block(arg_types=[IndexType()])
        kind, (chunk,) = sum.kind.element_type, outer.args

        def add(at: list[SSAValue]) -> DoOp:
            body = Block(arg_types=[kind, kind])
            op = type(sum.combine).create(
                operands=body.args[::-1], result_types=[kind], properties=dict(sum.combine.properties)
            )
            body.add_ops([op, YieldOp(op.results[0])])
            return DoOp([(part, [chunk, *at])], [(sum.value.result, list(at))], Region(body))

        _nest(builder_at_end(outer, self.loop.location), sum, add)
        if sum.is_number:
            return ForOp(count, outer)
        return ForOp(count, outer, lower=self.one)


def is_innermost(loop: LoopOp) -> bool:
    """Does a loop hold no other one?"""
    return not any(isinstance(op, LoopOp) for op in loop.body.block.ops)


def _part(sum: _Sum, count: SSAValue) -> ValueOp:
    """Memory for the parts of all chunks."""
    return ValueOp([count, *sum.value.sizes], TensorType(sum.kind.element_type, [DYNAMIC_INDEX, *sum.kind.get_shape()]))


def _redirect(loop: LoopOp, old: SSAValue, new: SSAValue) -> None:
    """Let the statements of a loop write to another value, and fetch it early."""
    for op in loop.walk():
        if isinstance(op, DoOp) and old in op.outputs:
            op.set_accesses(op.reads, [(new if x is old else x, where) for x, where in op.writes])
        elif isinstance(op, PrefetchOp) and op.tensor is old:
            op.operands[0] = new


def _nest(
    b: Builder,
    sum: _Sum,
    make: Callable[[list[SSAValue]], DoOp],
    unless: tuple[SSAValue, SSAValue] | None = None,
) -> None:
    """A statement for each element of a sum.   unless: 0, and a condition under which there is nothing to do"""
    sizes = iter(sum.value.sizes)
    uppers = [
        next(sizes) if n == DYNAMIC_INDEX else b.insert(arith.ConstantOp(IntegerAttr(n, IndexType()))).result
        for n in sum.kind.get_shape()
    ]
    if unless is not None:
        zero, condition = unless
        uppers[0] = b.insert(arith.SelectOp(condition, zero, uppers[0])).result
    blocks = [Block(arg_types=[IndexType()]) for _ in uppers]
    op: Operation = make([block.args[0] for block in blocks])
    for upper, block in zip(reversed(uppers), reversed(blocks), strict=True):
        block.add_op(op)
        op = ForOp(upper, block)
    b.insert(op)


def _keep(own: SSAValue, part: SSAValue, number: SSAValue, at: list[SSAValue]) -> DoOp:
    """Copy an element of what a chunk has added to, to the part of that number."""
    assert isinstance(own.type, TensorType)
    body = Block(arg_types=[own.type.element_type] * 2)
    body.add_op(YieldOp(body.args[0]))
    return DoOp([(own, list(at))], [(part, [number, *at])], Region(body))


def _neutral(sum: _Sum) -> FloatAttr[AnyFloat] | IntegerAttr[IntegerType]:
    """What adds nothing to a sum."""
    kind = sum.kind.element_type
    if isinstance(kind, AnyFloat):
        return FloatAttr(_NOTHING[type(sum.combine)], kind)
    assert isinstance(kind, IntegerType)
    bits = kind.width.data
    limits: dict[type[Operation], int] = {
        arith.MaxSIOp: -(1 << bits - 1), arith.MinSIOp: (1 << bits - 1) - 1, arith.MaxUIOp: 0, arith.MinUIOp: -1,
    }  # fmt: skip
    number = limits.get(type(sum.combine))
    return IntegerAttr(int(_NOTHING[type(sum.combine)]) if number is None else number, kind)
