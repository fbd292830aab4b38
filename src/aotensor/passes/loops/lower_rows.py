"""Sums over the entries of each row of a sparse matrix, for as many rows at a time as vectors have lanes.

    for i:                                                 for i by 8:
      s = 0                                                  for each of the 8 rows: a vector of its sums, under a mask
      for p = indptr[i] … indptr[i + 1]:                       p = indptr[i]:  v = data[p …]·x[indices[p …]]
        s += data[p]·x[indices[p]]                     →       while (p += 8) < indptr[i + 1]: v += …         (rare)
      y[i] = s                                               y[i …] = lanes of the 8 vectors, added in pairs

Rows of sparse matrices are short. One by one, each would pay for a test whether it is empty and for a sum over lanes;
a step under an empty mask reads nothing, and three rounds of shuffles give eight sums at once:

    a0 a1 a2 a3     a0+a1 b0+b1 a2+a3 b2+b3     a b
    b0 b1 b2 b3  →                           →           (here for two rows of four lanes)

What is read is 0 where the mask is off, and so must be what is added: terms are made of entries by ·, + and − only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from xdsl.dialects import arith, tensor, vector
from xdsl.dialects.builtin import DenseArrayBase, Float64Type, FloatAttr, MemRefType, VectorType, i1, i64
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation, SSAValue

from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import NO_FAST_MATH, Scalar
from aotensor.ir.types import f64, i32
from aotensor.ir.upstream import GatherOp
from aotensor.ir.verbs import Extent
from aotensor.passes.loops.fuse_loops import Leaf, Loop
from aotensor.passes.loops.slices import SliceExtent
from aotensor.passes.loops.statements import Statement, position_of
from aotensor.passes.loops.storage import Result, Storage
from aotensor.passes.target import Target

if TYPE_CHECKING:
    from aotensor.passes.loops.lower_nest import Instance, NestEmitter

LARGEST_BODY: Final = 40  # operations per row
_BILINEAR: Final = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.NegfOp)
_CASTS: Final = (arith.ExtSIOp, arith.IndexCastOp)


def rows_of(target: Target) -> int:
    """Rows that go together: as many as a vector of their sums has lanes."""
    return target.lanes(64)


class RowVectors:
    """The loop over the entries of a row, for the rows of several instances."""

    def __init__(self, nest: NestEmitter, loop: Loop, extent: SliceExtent) -> None:
        self.nest, self.loop, self.extent = nest, loop, extent
        self.b: LoopBuilder = nest.b
        self.storage: Storage = nest.storage
        self.rows = rows_of(nest.target)
        self.sums = [r for r in nest.results_in(loop) if r.is_reduction]

    @staticmethod
    def fit(nest: NestEmitter, rows: Loop, extent: Extent) -> bool:
        """Does a loop over rows have one loop inside, over entries, that only takes sums?"""
        if (
            (isinstance(extent, int) and extent < rows_of(nest.target))
            or nest.has_row_buffer(rows)
            or rows in nest.ranges
        ):
            return False  # in a phase over one block of rows it was measured to gain nothing
        inner = [node for node in rows.body if isinstance(node, Loop)]
        if len(inner) != 1 or not isinstance(inner[0].extent, SliceExtent):
            return False
        (entries,) = inner
        beside = [node.statement for node in rows.body if isinstance(node, Leaf)]
        if any(s.form.scatter for s in rows.dims) or sum(len(list(s.body.ops)) for s in beside) > LARGEST_BODY:
            return False
        is_over_slices = all(s.slices is not None and s.slices.slice == rows.dims[s] for s in entries.dims)
        return is_over_slices and _Terms(nest, entries).are_zero_outside()

    def emit(self, instances: Sequence[Instance]) -> None:
        """All entries of the rows, whose sums are then in registers or in memory."""
        first = instances[0].counters[self.storage.slices_around(self.loop)]
        indptr = self.nest.buffers.buffer(self.extent.indptr)
        ends = [self.b.position(indptr, self.b.add(first, self.b.index(r))) for r in range(self.rows + 1)]
        rows = [self._row(*row) for row in zip(instances, ends[:-1], ends[1:], strict=True)]
        for r, sums in zip(self.sums, zip(*rows, strict=True), strict=True):
            self._give(r, self._add_lanes(list(sums)), instances)

    def _row(self, instance: Instance, low: Scalar, high: Scalar) -> list[Scalar]:
        """A vector for each sum of a row, whose lanes are still to be added."""

        def step(p: Scalar, carried: list[Scalar]) -> list[Scalar]:
            mask = self.b.emit(vector.CreateMaskOp([self.b.sub(high, p).ssa], VectorType(i1, [self.rows])), "raw")
            return _Step(self, self.nest.inside(instance, self.loop, p), mask, carried).run()

        begun = step(low, [self.zeros(f64)] * len(self.sums))
        return self.b.loop(
            self.b.iadd(low, self.rows), high, begun, step, self.rows, is_vectorisable=False, is_unrolled=False
        )  # fmt: skip

    def _add_lanes(self, rows: list[Scalar]) -> Scalar:
        """The sum over the lanes of each vector, in the lane of its number."""
        neighbours = [
            [k + odd + self.rows * second for k in range(0, self.rows, 2) for second in (0, 1)] for odd in (0, 1)
        ]
        halves = [[k + j for k in range(start, 2 * self.rows, 4) for j in (0, 1)] for start in (0, 2)]
        orders = neighbours
        while len(rows) > 1:
            rows = [self._add_shuffled(x, y, orders) for x, y in zip(rows[::2], rows[1::2], strict=True)]
            orders = halves
        return rows[0]

    def _add_shuffled(self, x: Scalar, y: Scalar, orders: Sequence[Sequence[int]]) -> Scalar:
        kind = VectorType(f64, [self.rows])
        parts = [
            self.b.emit(vector.ShuffleOp(x.ssa, y.ssa, DenseArrayBase.from_list(i64, order), result_type=kind), "raw")
            for order in orders
        ]
        return self.b.emit(arith.AddfOp(parts[0].ssa, parts[1].ssa, NO_FAST_MATH), "raw")

    def _give(self, r: Result, totals: Scalar, instances: Sequence[Instance]) -> None:
        """Put the sums of the rows where they are read."""
        start = r.statement.start_of(r.value)
        assert start is not None
        if not _is_zero(start):
            first = self.b.emit(
                vector.BroadcastOp(self.nest.buffers.scalar(start).ssa, VectorType(f64, [self.rows])), "raw"
            )
            totals = self.b.emit(arith.AddfOp(first.ssa, totals.ssa, NO_FAST_MATH), "raw")
        if r.has_memory:
            buffer, where = self.nest.place(r, instances[0])
            self.b.builder.insert(vector.StoreOp(totals.ssa, buffer, [self.b.index(i).ssa for i in where]))
        for number, instance in enumerate(instances):
            total = vector.ExtractOp(totals.ssa, [number], f64)
            instance.values[r.value] = self.b.emit(total, "raw")

    def zeros(self, kind: Attribute) -> Scalar:
        """A vector of zeros."""
        return self.b.emit(vector.BroadcastOp(self.b.zero(kind).ssa, VectorType(kind, [self.rows])), "raw")


class _Step:
    """Up to eight entries of one row."""

    def __init__(self, rows: RowVectors, instance: Instance, mask: Scalar, carried: Sequence[Scalar]) -> None:
        self.rows, self.instance, self.mask = rows, instance, mask
        self.b, self.nest = rows.b, rows.nest
        self.sums = {r.value: total for r, total in zip(rows.sums, carried, strict=True)}
        self.values: dict[SSAValue, SSAValue] = {}

    def run(self) -> list[Scalar]:
        """The sums with these entries."""
        for node in self.rows.loop.body:
            assert isinstance(node, Leaf)
            self._statement(node.statement)
        return [self.sums[r.value] for r in self.rows.sums]

    def _statement(self, s: Statement) -> None:
        counters = self.nest.counters_of(s, self.instance)
        mapping: dict[SSAValue, SSAValue] = {}
        for argument, (x, map) in zip(s.body.args, s.reads, strict=False):
            if x in self.values:
                mapping[argument] = self.values[x]
            elif position_of(map, self.rows.loop.dims[s]) is None:
                mapping[argument] = self.nest.read(s, x, map, counters, self.instance).ssa
            else:
                buffer, where = self.nest.element_of(s, x, map, counters)
                mapping[argument] = self._load(buffer, [self.b.index(i).ssa for i in where])
        ((result, _),) = s.writes
        if result in self.sums:
            mapping[s.body.args[-1]] = self.sums[result].ssa
        made = self._copy_body(s, counters, mapping)
        if result in self.sums:
            self.sums[result] = Scalar(made, "raw")
        else:
            self.values[result] = made

    def _copy_body(self, s: Statement, counters: dict[int, Scalar], mapping: dict[SSAValue, SSAValue]) -> SSAValue:
        for op in s.body.ops:
            match op:
                case tensor.ExtractOp():
                    buffer = self.nest.buffers.buffer(op.tensor)
                    mapping[op.result] = self._gather(buffer, [self.nest.mapped(i, mapping) for i in op.indices])
                case linalg.IndexOp():
                    mapping[op.result] = counters[op.dim.value.data].ssa
                case linalg.YieldOp():
                    return self.nest.mapped(op.operands[0], mapping)
                case _:
                    self._copy(op, mapping)
        raise AssertionError("a body without linalg.yield")

    def _copy(self, op: Operation, mapping: dict[SSAValue, SSAValue]) -> None:
        if isinstance(op, _CASTS) and isinstance(
            (places := self.nest.mapped(op.operands[0], mapping)).type, VectorType
        ):
            mapping[op.results[0]] = places  # a gather takes places of any integer type
            return
        copy = op.clone({x: self.nest.mapped(x, mapping) for x in op.operands})
        if any(isinstance(x.type, VectorType) for x in copy.operands):
            copy.results[0]._type = VectorType(op.results[0].type, [self.rows.rows])
        self.b.builder.insert(copy)
        mapping[op.results[0]] = copy.results[0]

    def _load(self, buffer: SSAValue, where: Sequence[SSAValue]) -> SSAValue:
        assert isinstance(buffer.type, MemRefType)
        nothing = self.rows.zeros(buffer.type.element_type)
        return self.b.emit(vector.MaskedLoadOp(buffer, where, self.mask.ssa, nothing.ssa), "raw").ssa

    def _gather(self, buffer: SSAValue, where: Sequence[SSAValue]) -> SSAValue:
        assert isinstance(buffer.type, MemRefType)
        nothing = self.rows.zeros(buffer.type.element_type)
        *others, last = where
        start = [*others, self.b.index(0).ssa]
        return self.b.emit(GatherOp(buffer, start, last, self.mask.ssa, nothing.ssa), "raw").ssa


class _Terms:
    """What the statements of a loop over entries make: one value for a whole row, or one for each entry."""

    def __init__(self, nest: NestEmitter, loop: Loop) -> None:
        self.nest, self.loop, self.storage = nest, loop, nest.storage
        self.by_entry: dict[SSAValue, bool] = {}

    def are_zero_outside(self) -> bool:
        """True if each sum is one of float64 over terms that are 0 where entries are 0, and nothing else is made."""
        if not all(isinstance(node, Leaf) for node in self.loop.body):
            return False
        statements = [node.statement for node in self.loop.body if isinstance(node, Leaf)]
        has_sum = any(self.storage.results[x].is_reduction for s in statements for x, _ in s.writes)
        return has_sum and all(self._is_plain(s) for s in statements)

    def _is_plain(self, s: Statement) -> bool:
        if len(s.writes) != 1 or not all(self._read(s, k) for k in range(len(s.reads))):
            return False
        ((x, _),) = s.writes
        r = self.storage.results[x]
        if not r.is_reduction and r.in_memory:
            return False
        if r.is_reduction and not self._is_sum(s, r):
            return False
        last = s.body.last_op
        assert last is not None
        for op in s.body.ops:
            if op is not last and not self._is_known(s, op):
                return False
        self.by_entry[x] = self.by_entry.get(last.operands[0], False)
        return True

    def _read(self, s: Statement, number: int) -> bool:
        """Note what an operand is; False if its entries are no neighbours in memory."""
        (x, map), argument = s.reads[number], s.body.args[number]
        position = position_of(map, self.loop.dims[s])
        if x in self.by_entry:
            self.by_entry[argument] = self.by_entry[x]
            return True
        self.by_entry[argument] = position is not None
        r = self.storage.results.get(x)
        kept = self.storage.kept_positions(r) if r is not None else range(len(map.results))
        return position is None or (
            position == len(map.results) - 1 and position in kept and argument.type in (f64, i32, i64)
        )

    def _is_sum(self, s: Statement, r: Result) -> bool:
        """Σ of terms by entry, complete after the loop, whose rows are neighbours in memory."""
        last, held = s.body.last_op, s.body.args[-1]
        assert last is not None
        total = last.operands[0].owner
        if not isinstance(total, arith.AddfOp) or held not in total.operands or not held.has_one_use():
            return False
        write = s.write_map(r.value)
        assert s.slices is not None
        is_row = bool(kept := self.storage.kept_positions(r)) and kept[-1] == position_of(write, s.slices.slice)
        self.by_entry[held] = True
        return (
            isinstance(held.type, Float64Type) and s.is_reassociable and r.in_register
            and self.nest.reduction_loop(r) is self.loop and (is_row or not r.has_memory)
        )  # fmt: skip

    def _is_known(self, s: Statement, op: Operation) -> bool:
        found = [self.by_entry.get(x, False) for x in op.operands]
        by_entry = any(found)
        match op:
            case tensor.ExtractOp():
                is_fit = found[-1] and not any(found[1:-1]) and op.result.type == f64
            case linalg.IndexOp():
                is_fit = op.dim.value.data != self.loop.dims[s]
            case arith.ConstantOp():
                is_fit = True
            case _:
                is_fit = isinstance(op, (*_BILINEAR, *_CASTS)) and all(x == by_entry for x in found)
        self.by_entry[op.results[0]] = by_entry
        return is_fit and (op.results[0].type == f64 or not isinstance(op, _BILINEAR))


def _is_zero(x: SSAValue) -> bool:
    op = x.owner
    return isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr) and op.value.value.data == 0
