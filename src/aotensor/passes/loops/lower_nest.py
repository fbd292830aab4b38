"""Emit a fused loop nest: registers for what flows inside, iter_args for reductions, rows unrolled and jammed.

Unroll-and-jam (Callahan, Carr & Kennedy 1988): four iterations of a loop advance together through the inner loops, so
that what the inner loops reuse (the vector of a matrix-vector product, the accumulator of its transpose) is loaded
once for the four.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import tensor
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.verbs import Extent
from aotensor.passes.loops.block_rows import block_size
from aotensor.passes.loops.collapse import Buffers, Collapse
from aotensor.passes.loops.fuse_loops import Leaf, Loop, Node
from aotensor.passes.loops.lower_rows import RowVectors, rows_of
from aotensor.passes.loops.lower_tiles import ColumnTiles
from aotensor.passes.loops.lower_window import verb_dtype
from aotensor.passes.loops.slices import SliceExtent
from aotensor.passes.loops.statements import Statement, position_of
from aotensor.passes.loops.storage import Result, Storage
from aotensor.passes.target import Target

LARGEST_JAMMED_BODY: Final = 40  # operations
LONG_SLICE: Final = 256  # entries: blocks of 16 slices


@dataclass
class Instance:
    """One iteration under construction: its loop counters and the values it has in registers.

    Jammed iterations are several instances; accumulators that they hand on to each other stand in `shared`.
    """

    counters: dict[Loop, Scalar]
    values: dict[SSAValue, Scalar]
    shared: dict[SSAValue, Scalar] | None = None

    def accumulator(self, x: SSAValue) -> Scalar:
        return self.shared[x] if self.shared is not None and x in self.shared else self.values[x]

    def accumulate(self, x: SSAValue, value: Scalar) -> None:
        if self.shared is not None and x in self.shared:
            self.shared[x] = value
        else:
            self.values[x] = value


class NestEmitter:
    """Emits loops and statements at the insertion point of a builder."""

    def __init__(self, b: LoopBuilder, storage: Storage, buffers: Buffers, target: Target) -> None:
        self.b = b
        self.target = target
        self.storage = storage
        self.buffers = buffers
        #: where the loops over the rows of one block begin and end
        self.ranges: dict[Loop, tuple[Extent, Extent]] = {}
        self.collapse = Collapse(b, buffers, storage)

    def emit(self, nodes: Sequence[Node], instances: Sequence[Instance]) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                self._emit_loop(node, instances)
            elif isinstance(node, Leaf):
                for instance in instances:
                    self._emit_leaf(node.statement, instance)

    # --- loops ---------------------------------------------------------------------------------------------------

    def _emit_loop(self, loop: Loop, instances: Sequence[Instance]) -> None:
        if isinstance(loop.extent, SliceExtent) and len(instances) > 1:
            RowVectors(self, loop, loop.extent).emit(instances)
            return
        starting = [r for r in self.results_in(loop) if r.is_reduction and self.reduction_loop(r) is loop]
        for result in starting:
            for instance in instances:
                self._start(result, instance)
        if isinstance(loop.extent, SliceExtent):
            self._emit_entries(loop, loop.extent, instances)
        else:
            self._emit_whole(loop, instances)
        for result in starting:
            for instance in instances:
                if result.in_register and result.has_memory:
                    self._store(result, instance, instance.accumulator(result.value))

    def _emit_entries(self, loop: Loop, extent: SliceExtent, instances: Sequence[Instance]) -> None:
        """The loop over the entries of one slice."""
        (instance,) = instances
        slice = instance.counters[self.storage.slices_around(loop)]
        indptr = self.buffers.buffer(extent.indptr)
        low, high = (self.b.position(indptr, at) for at in (slice, self.b.add(slice, self.b.index(1))))
        tiles = ColumnTiles.of(self, loop)
        if tiles is not None:
            tiles.emit(instance, low, high)
        elif self._is_worth_jamming(loop, high):
            self._emit_jammed(loop, instances, low, high, self.target.jam)
        else:
            self._emit_range(loop, instances, low, high, 1)

    def emit_entries_of(
        self,
        loop: Loop,
        instance: Instance,
        low: Extent,
        high: Extent,
        columns: Loop,
        range: tuple[Extent, Extent],
    ) -> None:
        """The entries low … high, in some columns only."""
        self.ranges[columns] = range
        self._emit_range(loop, [instance], low, high, 1)
        del self.ranges[columns]

    def inside(self, instance: Instance, loop: Loop, counter: Scalar) -> Instance:
        """An iteration of a loop within an instance."""
        return Instance({**instance.counters, loop: counter}, dict(instance.values), instance.shared)

    def _emit_whole(self, loop: Loop, instances: Sequence[Instance]) -> None:
        extent = self.buffers.resolve(loop.extent)
        if loop.is_over_blocks:
            self._emit_range(loop, instances, 0, extent, block_size(self.b, self._inner_extent(loop), self.target))
        elif loop not in self.ranges and (chain := self.collapse.chain(loop)):
            with self.collapse.over(chain) as total:
                self._emit_range(loop, instances, 0, total, 1)
        elif len(instances) == 1 and self._is_worth_jamming(loop, extent):
            self._emit_jammed(loop, instances, *self.ranges.get(loop, (0, extent)), self.target.jam)
        elif len(instances) == 1 and self.target.has_masks and RowVectors.fit(self, loop, extent):
            self._emit_jammed(loop, instances, *self.ranges.get(loop, (0, extent)), rows_of(self.target))
        else:
            self._emit_range(loop, instances, *self.ranges.get(loop, (0, extent)), 1)

    def _inner_extent(self, loop: Loop) -> Extent:
        """Extent of the first loop inside the phases of a loop over blocks; slices count as long, for small blocks."""
        inner = next(node for phase in loop.phases for node in phase.body if isinstance(node, Loop))
        return LONG_SLICE if isinstance(inner.extent, SliceExtent) else self.buffers.resolve(inner.extent)

    def _emit_jammed(self, loop: Loop, instances: Sequence[Instance], low: Extent, high: Extent, jam: int) -> None:
        """`jam` iterations at once, then one by one what is left."""
        whole = self.b.iadd(low, self.b.imul(self.b.ifloordiv(self.b.isub(high, low), jam), jam))
        self._emit_range(loop, instances, low, whole, jam, jam=jam)
        self._emit_range(loop, instances, whole, high, 1)

    def _emit_range(
        self, loop: Loop, instances: Sequence[Instance], start: Extent, stop: Extent, step: Extent, jam: int = 1
    ) -> None:
        carried = [r.value for r in self._carried(loop)]
        common = [x for x in carried if instances[0].shared is not None and x in instances[0].shared]
        own = [x for x in carried if x not in common]
        slots = [(instances[0], x) for x in common] + [(i, x) for i in instances for x in own]

        def body(counter: Scalar, arguments: list[Scalar]) -> list[Scalar]:
            bound = dict.fromkeys(self.collapse.active or [loop], counter)
            inner = [Instance({**i.counters, **bound}, dict(i.values), i.shared) for i in instances]
            for (outer, x), argument in zip(slots, arguments, strict=True):
                inner[_index(instances, outer)].accumulate(x, argument)
            if jam > 1:
                inner = self._jammed(loop, inner[0], jam, carried)
            if loop.is_over_blocks:
                end = self.b.imin(self.b.iadd(counter, step), stop)
                self.ranges.update((phase, (counter, end)) for phase in loop.phases)
            self.emit(self.collapse.active[-1].body if self.collapse.active else loop.body, inner)
            return [inner[_index(instances, outer)].accumulator(x) for outer, x in slots]

        initial = [i.accumulator(x) for i, x in slots]
        is_short = isinstance(loop.extent, SliceExtent)
        results = self.b.loop(start, stop, initial, body, step, is_parallel=self._is_parallel(loop), is_short=is_short)
        for (instance, x), value in zip(slots, results, strict=True):
            instance.accumulate(x, value)

    def _is_parallel(self, loop: Loop) -> bool:
        """True for an innermost loop in which each iteration has places in memory of its own.

        Statements meet in a loop only where an iteration reads what the same iteration has made; what is left to look
        for are sums over the loop that are kept in memory.
        """
        loops = self.collapse.active or [loop]
        if not all(isinstance(node, Leaf) for node in loops[-1].body):
            return False
        return all(
            s.binds(map, each.dims[s]) or self.storage.results[x].is_reduction_in_register
            for each in loops for s in each.dims for x, map in s.writes
        )  # fmt: skip

    def _jammed(self, loop: Loop, first: Instance, jam: int, carried: Sequence[SSAValue]) -> list[Instance]:
        shared = {x: first.accumulator(x) for x in carried}
        counter = first.counters[loop]
        instances = []
        for row in range(jam):
            here = counter if row == 0 else self.b.add(counter, self.b.index(row))
            instances.append(Instance({**first.counters, loop: here}, dict(first.values), shared))
        return instances

    def _start(self, result: Result, instance: Instance) -> None:
        """Set an accumulator to its start value: a register, or the part of a buffer that the inner loops fill."""
        start = result.statement.start_of(result.value)
        assert start is not None
        value = self.buffers.scalar(start)
        if result.in_register:
            instance.accumulate(result.value, value)
            return
        if result.statement.form.scatter is not None:
            target = self.buffers.buffer(result.value)
            self.b.nest(self.buffers.shape(result.value), lambda at: self.b.store(value, target, at))
            return
        write = result.statement.write_map(result.value)
        path = self.storage.paths[result.statement]
        inner = [
            (loop, position)
            for loop in path[result.complete :]
            if (position := position_of(write, loop.dims[result.statement])) is not None
        ]
        extents = [self.buffers.resolve(loop.extent) for loop, _ in inner]

        def fill(counters: list[Scalar]) -> None:
            bound = {loop: c for (loop, _), c in zip(inner, counters, strict=True)}
            self._store(result, Instance({**instance.counters, **bound}, {}), value)

        self.b.nest(extents, fill)

    def results_in(self, loop: Loop) -> Iterator[Result]:
        for statement in loop.dims:
            for x, _ in statement.writes:
                yield self.storage.results[x]

    def reduction_loop(self, result: Result) -> Loop:
        return self.storage.paths[result.statement][result.complete]

    def _carried(self, loop: Loop) -> list[Result]:
        """Register accumulators that a loop hands from one iteration to the next."""
        return [
            r for r in self.results_in(loop)
            if r.is_reduction and r.in_register and loop in self.storage.paths[r.statement][r.complete :]
        ]  # fmt: skip

    # --- unroll and jam ------------------------------------------------------------------------------------------

    def _is_worth_jamming(self, loop: Loop, extent: Extent) -> bool:
        if isinstance(extent, int) and extent < 2 * self.target.jam:
            return False
        inner = [node for node in loop.body if isinstance(node, Loop)]
        if any(isinstance(node.extent, SliceExtent) for node in inner) or any(s.form.scatter for s in loop.dims):
            return False  # slices differ in their numbers of entries; sums may meet in one place
        if not inner or any(isinstance(child, Loop) for node in inner for child in node.body):
            return False
        size = sum(len(list(s.body.ops)) for node in inner for s in node.dims)
        if size > LARGEST_JAMMED_BODY or self.has_row_buffer(loop) or not self._reuses(loop, inner):
            return False
        # a sum over both loops would be taken in another order
        through = {r.value for r in self._carried(loop)} & {r.value for n in inner for r in self._carried(n)}
        return all(self.storage.results[x].statement.is_reassociable for x in through)

    def has_row_buffer(self, loop: Loop) -> bool:
        """True if some buffer holds one iteration of this loop only: jammed iterations would share it."""
        return any(
            (r.has_memory or not r.in_register) and loop in self.storage.paths[r.statement][: r.shared]
            for r in self.results_in(loop)
        )

    def _reuses(self, loop: Loop, inner: Sequence[Loop]) -> bool:
        """True if an inner loop touches memory that does not depend on `loop`."""
        return any(
            position_of(m, loop.dims[s]) is None and position_of(m, node.dims[s]) is not None
            for node in inner for s in node.dims for m in s.maps
        )  # fmt: skip

    # --- statements ----------------------------------------------------------------------------------------------

    def _emit_leaf(self, statement: Statement, instance: Instance) -> None:
        counters = self.counters_of(statement, instance)
        mapping: dict[SSAValue, SSAValue] = {}
        arguments = statement.body.args
        for argument, (x, m) in zip(arguments, statement.reads, strict=False):
            mapping[argument] = self.read(statement, x, m, counters, instance).ssa
        if statement.form.scatter is not None:
            self._emit_scattered(statement, counters, mapping)
            return
        for argument, (x, _) in zip(arguments[len(statement.reads) :], statement.writes, strict=True):
            if argument.uses:
                mapping[argument] = self._read_accumulator(self.storage.results[x], instance).ssa
        yielded = self._copy_body(statement, counters, mapping)
        for (x, _), value in zip(statement.writes, yielded, strict=True):
            self._write(self.storage.results[x], instance, value)

    def _emit_scattered(
        self, statement: Statement, counters: dict[int, Scalar], mapping: dict[SSAValue, SSAValue]
    ) -> None:
        """A term that goes where one of the inputs says."""
        ((x, map),) = statement.writes
        where = [self.place_of(statement, mapping), *(_index_of(e, counters) for e in map.results[1:])]
        buffer = self.buffers.buffer(x)
        mapping[statement.body.args[2]] = self.b.fetch(buffer, where, "raw").ssa
        (total,) = self._copy_body(statement, counters, mapping)
        self.b.store(total, buffer, where)

    def place_of(self, statement: Statement, mapping: dict[SSAValue, SSAValue]) -> Scalar:
        """Where along the first axis a term goes."""
        return self.b.cast(Scalar(mapping[statement.body.args[1]], verb_dtype(statement.form.inputs[1])), "index")

    def counters_of(self, statement: Statement, instance: Instance) -> dict[int, Scalar]:
        """The counters of the loops around a statement that have begun, by dim."""
        path = self.storage.paths[statement]
        return {loop.dims[statement]: instance.counters[loop] for loop in path if loop in instance.counters}

    def read(
        self, statement: Statement, x: SSAValue, map: AffineMap, counters: dict[int, Scalar], instance: Instance
    ) -> Scalar:
        result = self.storage.results.get(x)
        if result is not None and x in instance.values and result.in_register:
            return instance.values[x]
        return self.b.fetch(*self.element_of(statement, x, map, counters), "raw")

    def element_of(
        self, statement: Statement, x: SSAValue, map: AffineMap, counters: dict[int, Scalar]
    ) -> tuple[SSAValue, list[Extent]]:
        """Where an operand lies in memory."""
        result = self.storage.results.get(x)
        kept = self.storage.kept_positions(result) if result is not None else range(len(map.results))
        return self._element(statement, self.buffers.buffer(x), [map.results[p] for p in kept], counters)

    def _read_accumulator(self, result: Result, instance: Instance) -> Scalar:
        if result.in_register:
            return instance.accumulator(result.value)
        buffer, where = self.place(result, instance)
        return self.b.fetch(buffer, where, "raw")

    def _write(self, result: Result, instance: Instance, value: Scalar) -> None:
        if result.is_reduction and result.in_register:
            instance.accumulate(result.value, value)
            return
        if result.in_register:
            instance.values[result.value] = value
        if result.has_memory or not result.in_register:
            self._store(result, instance, value)

    def _store(self, result: Result, instance: Instance, value: Scalar) -> None:
        self.b.store(value, *self.place(result, instance))

    def place(self, result: Result, instance: Instance) -> tuple[SSAValue, list[Extent]]:
        """Where one element of a result lies."""
        statement = result.statement
        counters = {loop.dims[statement]: c for loop, c in instance.counters.items() if statement in loop.dims}
        write = statement.write_map(result.value)
        expressions = [write.results[p] for p in self.storage.kept_positions(result)]
        return self._element(statement, self.buffers.buffer(result.value), expressions, counters)

    def _element(
        self, statement: Statement, buffer: SSAValue, expressions: Sequence[AffineExpr], counters: dict[int, Scalar]
    ) -> tuple[SSAValue, list[Extent]]:
        view, expressions = self.collapse.element(statement, buffer, expressions)
        return view, [_index_of(e, counters) for e in expressions]

    def _copy_body(
        self, statement: Statement, counters: dict[int, Scalar], mapping: dict[SSAValue, SSAValue]
    ) -> list[Scalar]:
        for op in statement.body.ops:
            match op:
                case linalg.IndexOp():
                    mapping[op.result] = counters[op.dim.value.data].ssa
                case tensor.ExtractOp():
                    where = [Scalar(self.mapped(i, mapping), "index") for i in op.indices]
                    mapping[op.result] = self.b.fetch(self.buffers.buffer(op.tensor), where, "raw").ssa
                case linalg.YieldOp():
                    return [Scalar(self.mapped(x, mapping), "raw") for x in op.operands]
                case _:
                    self._copy(op, mapping)
        raise AssertionError("a body without linalg.yield")

    def _copy(self, op: Operation, mapping: dict[SSAValue, SSAValue]) -> None:
        copy = op.clone({x: self.mapped(x, mapping) for x in op.operands})
        self.b.builder.insert(copy)
        mapping.update(zip(op.results, copy.results, strict=True))

    def mapped(self, x: SSAValue, mapping: dict[SSAValue, SSAValue]) -> SSAValue:
        """What stands for a value of a body or of the function."""
        found = mapping.get(x)
        return self.buffers.scalar(x).ssa if found is None else found


def _index(instances: Sequence[Instance], wanted: Instance) -> int:
    return next(i for i, instance in enumerate(instances) if instance is wanted)


def _index_of(expression: object, counters: dict[int, Scalar]) -> Extent:
    if isinstance(expression, AffineDimExpr):
        return counters[expression.position]
    assert isinstance(expression, AffineConstantExpr), f"{expression} is no projected permutation"
    return expression.value
