"""Products of a sparse matrix with a dense one, a block of columns at a time: vectors of columns stay in registers.

    for p = indptr[i] … indptr[i + 1]:            for block of columns:
      for j: y[i,j] += data[p]·x[indices[p],j]  →     v = 0
                                                      for p: v += data[p]·x[indices[p], block]
                                                      y[i, block] = v

Without, every entry loads and stores a whole row of the result. What is left of the columns goes one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from xdsl.dialects import arith, tensor, vector
from xdsl.dialects.builtin import Float32Type, Float64Type, MemRefType, VectorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.verbs import Extent
from aotensor.passes.loops.fuse_loops import Leaf, Loop
from aotensor.passes.loops.statements import Statement, position_of
from aotensor.passes.loops.storage import Result, Storage

if TYPE_CHECKING:
    from aotensor.passes.loops.lower_nest import Instance, NestEmitter

VECTORS: Final = (2, 1)  # of columns in a block, the wide blocks first
_ELEMENTWISE: Final = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.NegfOp)
_POSITIONS: Final = (arith.IndexCastOp, arith.ExtSIOp, arith.AddiOp, arith.MuliOp, arith.ConstantOp)


class ColumnTiles:
    """A loop over entries with one loop over columns inside, as tiles."""

    def __init__(self, nest: NestEmitter, loop: Loop, columns: Loop) -> None:
        self.nest, self.loop, self.columns = nest, loop, columns
        self.b: LoopBuilder = nest.b
        self.storage: Storage = nest.storage
        self.sums = [r for r in nest.results_in(columns) if r.is_reduction and r.statement.form.scatter is None]
        kind = _element_of(self.storage, columns)
        assert kind is not None
        self.kind = kind
        self.lanes = nest.target.lanes(kind.bitwidth)

    @classmethod
    def of(cls, nest: NestEmitter, loop: Loop) -> ColumnTiles | None:
        """The tiles of a loop over entries, None if it is not of this kind."""
        inner = [node for node in loop.body if isinstance(node, Loop)]
        if len(inner) != 1 or not all(isinstance(node, Leaf) for node in inner[0].body):
            return None
        columns = inner[0]
        before = [node.statement for node in loop.body if isinstance(node, Leaf)]
        if any(nest.storage.results[x].is_reduction for s in before for x, _ in s.writes):
            return None  # it would be summed once for each block
        if any(nest.storage.overwrites_operand(s) for s in before):
            return None  # the second block would read what the first one has made of it
        if loop.body[-1] is not columns or _element_of(nest.storage, columns) is None:
            return None
        if not all(_goes_by_vectors(s, columns.dims[s], nest.storage) for s in columns.dims):
            return None
        return cls(nest, loop, columns)

    def emit(self, instance: Instance, low: Extent, high: Extent) -> None:
        """All columns of the entries low … high."""
        start: Extent = 0
        extent = self.nest.buffers.resolve(self.columns.extent)
        for count in VECTORS:
            width = count * self.lanes
            whole = self.b.iadd(start, self.b.imul(self.b.ifloordiv(self.b.isub(extent, start), width), width))

            def block(at: Scalar, _: list[Scalar], count: int = count) -> Sequence[Scalar]:
                self._emit_block(instance, low, high, at, count)
                return ()

            self.b.loop(start, whole, (), block, width, is_vectorisable=False)
            start = whole
        self.nest.emit_entries_of(self.loop, instance, low, high, self.columns, (start, extent))

    def _emit_block(self, instance: Instance, low: Extent, high: Extent, at: Scalar, count: int) -> None:
        columns = [self.b.add(at, self.b.index(v * self.lanes)) if v else at for v in range(count)]
        slots = [(r, v) for r in self.sums for v in range(count)]
        initial = [self._spread(self._start(r)) for r, _ in slots]

        def entry(p: Scalar, carried: list[Scalar]) -> list[Scalar]:
            inner = self.nest.inside(instance, self.loop, p)
            for node in self.loop.body:
                if isinstance(node, Leaf):
                    self.nest.emit([node], [inner])
            sums = dict(zip(slots, carried, strict=True))
            self._prefetch_rows(p, columns)
            for v, j in enumerate(columns):
                values: dict[SSAValue, Scalar] = {}
                for node in self.columns.body:
                    assert isinstance(node, Leaf)
                    self._emit_statement(node.statement, inner, j, v, values, sums)
            return [sums[slot] for slot in slots]

        totals = self.b.loop(low, high, initial, entry, is_vectorisable=False)
        for (r, v), total in zip(slots, totals, strict=True):
            self._write(r.statement, r.value, r.statement.write_map(r.value), instance, columns[v], total)

    def _prefetch_rows(self, p: Scalar, columns: Sequence[Scalar]) -> None:
        """Fetch what a later entry adds to: rows that are scattered in memory come late otherwise."""
        for s in self.columns.dims:
            indices = s.form.scatter
            if indices is None or indices in self.storage.results:
                continue
            positions = self.nest.buffers.buffer(indices)
            last = self.b.isub(self.b.extent_of(positions, 0), 1)
            later = self.b.index(self.b.imin(self.b.iadd(p, self.nest.target.prefetch_distance), last))
            row = self.b.position(positions, later)
            for j in columns:
                self.b.prefetch(self.nest.buffers.buffer(s.op.results[0]), [row, j], is_write=True)

    def _start(self, r: Result) -> Scalar:
        start = r.statement.start_of(r.value)
        assert start is not None
        return self.nest.buffers.scalar(start)

    def _emit_statement(
        self,
        s: Statement,
        instance: Instance,
        j: Scalar,
        v: int,
        values: dict[SSAValue, Scalar],
        sums: dict[tuple[Result, int], Scalar],
    ) -> None:
        arguments, (result, written) = s.body.args, s.writes[0]
        counters = {**self.nest.counters_of(s, instance), self.columns.dims[s]: j}
        mapping: dict[SSAValue, SSAValue] = {}
        for argument, (x, map) in zip(arguments, s.reads, strict=False):
            mapping[argument] = self._read(s, x, map, counters, instance, values).ssa
        r = self.storage.results[result]
        place: Scalar | None = None
        if s.form.scatter is not None:
            place = self.nest.place_of(s, mapping)
        if r.is_reduction:
            held = self._load(r.value, [place, j]) if place is not None else sums[r, v]
            mapping[arguments[-1]] = held.ssa
        total = self._copy_body(s, mapping, counters)
        if place is not None:
            self._store(total, r.value, [place, j])
        elif r.is_reduction:
            sums[r, v] = total
        else:
            values[result] = total
            if r.has_memory or not r.in_register:
                self._write(s, result, written, instance, j, total)

    def _read(
        self,
        s: Statement,
        x: SSAValue,
        map: AffineMap,
        counters: dict[int, Scalar],
        instance: Instance,
        values: dict[SSAValue, Scalar],
    ) -> Scalar:
        """One operand: a vector of columns, or a scalar that they share."""
        if x in values:
            return values[x]
        column = self.columns.dims[s]
        if position_of(map, column) is None:
            return self.nest.read(s, x, map, counters, instance)
        buffer, where = self.nest.element_of(s, x, map, counters)
        return self._vector(buffer, where)

    def _copy_body(self, s: Statement, mapping: dict[SSAValue, SSAValue], counters: dict[int, Scalar]) -> Scalar:
        """The body on vectors; what does not depend on the column stays scalar."""
        for op in s.body.ops:
            match op:
                case linalg.IndexOp():
                    mapping[op.result] = counters[op.dim.value.data].ssa
                case tensor.ExtractOp():
                    where: list[Extent] = [Scalar(self.nest.mapped(i, mapping), "index") for i in op.indices]
                    buffer = self.nest.buffers.buffer(op.tensor)
                    by_column = _is_column(op.indices[-1], self.columns.dims[s])
                    found = self._vector(buffer, where) if by_column else self.b.fetch(buffer, where, "raw")
                    mapping[op.result] = found.ssa
                case linalg.YieldOp():
                    return self._spread(Scalar(self.nest.mapped(op.operands[0], mapping), "raw"))
                case _:
                    self._copy(op, mapping)
        raise AssertionError("a body without linalg.yield")

    def _copy(self, op: Operation, mapping: dict[SSAValue, SSAValue]) -> None:
        operands = [self.nest.mapped(x, mapping) for x in op.operands]
        if any(isinstance(x.type, VectorType) for x in operands):
            operands = [self._spread(Scalar(x, "raw")).ssa for x in operands]
            copy = op.clone(dict(zip(op.operands, operands, strict=True)))
            copy.results[0]._type = operands[0].type
        else:
            copy = op.clone(dict(zip(op.operands, operands, strict=True)))
        self.b.builder.insert(copy)
        mapping.update(zip(op.results, copy.results, strict=True))

    # --- vectors -------------------------------------------------------------------------------------------------

    def _spread(self, x: Scalar) -> Scalar:
        if isinstance(x.ssa.type, VectorType):
            return x
        return self.b.emit(vector.BroadcastOp(x.ssa, self._type()), "raw")

    def _type(self) -> VectorType[Attribute]:
        return VectorType(self.kind, [self.lanes])

    def _vector(self, buffer: SSAValue, where: Sequence[Extent]) -> Scalar:
        assert isinstance(buffer.type, MemRefType)
        return self.b.emit(vector.LoadOp(buffer, [self.b.index(i).ssa for i in where], self._type()), "raw")

    def _load(self, x: SSAValue, where: Sequence[Extent]) -> Scalar:
        return self._vector(self.nest.buffers.buffer(x), where)

    def _store(self, value: Scalar, x: SSAValue, where: Sequence[Extent]) -> None:
        buffer = self.nest.buffers.buffer(x)
        self.b.builder.insert(vector.StoreOp(value.ssa, buffer, [self.b.index(i).ssa for i in where]))

    def _write(self, s: Statement, x: SSAValue, map: AffineMap, instance: Instance, j: Scalar, value: Scalar) -> None:
        counters = {**self.nest.counters_of(s, instance), self.columns.dims[s]: j}
        buffer, where = self.nest.element_of(s, x, map, counters)
        self.b.builder.insert(vector.StoreOp(value.ssa, buffer, [self.b.index(i).ssa for i in where]))


def _element_of(storage: Storage, columns: Loop) -> Float32Type | Float64Type | None:
    """The one floating type of all that is computed column by column."""
    kinds = {s.body.args[-1].type for s in columns.dims}
    kind = next(iter(kinds))
    return kind if len(kinds) == 1 and isinstance(kind, Float32Type | Float64Type) else None


def _goes_by_vectors(s: Statement, column: int, storage: Storage) -> bool:
    """True if columns are neighbours in all that the statement touches, and its body is arithmetic."""
    if len(s.writes) != 1:
        return False
    result, written = s.writes[0]
    for _, map in (*s.reads, *s.writes):
        position = position_of(map, column)
        if position is not None and position != len(map.results) - 1:
            return False
    r = storage.results[result]
    if position_of(written, column) is None or (r.is_reduction and r.in_register):
        return False
    if len(written.results) - 1 not in storage.kept_positions(r) and not r.in_register:
        return False
    return all(_is_plain(op, column) for op in s.body.ops)


def _is_plain(op: Operation, column: int) -> bool:
    match op:
        case tensor.ExtractOp():
            *others, last = op.indices
            return all(not _depends_on_column(x, column) for x in others) and (
                _is_column(last, column) or not _depends_on_column(last, column)
            )
        case linalg.IndexOp() | linalg.YieldOp():
            return True
        case _:
            return isinstance(op, (*_ELEMENTWISE, *_POSITIONS))


def _is_column(x: SSAValue, column: int) -> bool:
    return isinstance(x.owner, linalg.IndexOp) and x.owner.dim.value.data == column


def _depends_on_column(x: SSAValue, column: int) -> bool:
    if _is_column(x, column):
        return True
    return isinstance(x.owner, Operation) and any(_depends_on_column(y, column) for y in x.owner.operands)
