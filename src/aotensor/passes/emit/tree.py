"""Emit loops and statements of a nest as loops over buffers: registers become loop-carried values.

    %z = nest.value init %zero : tensor<f64>         %z = scf.for %k = … iter_args(%s = %zero) {
    nest.for %k in %p {                        →       …
      nest.do(…) -> (%s = %z[]) { … } }                scf.yield %t }

No decisions are made here: nesting, jamming and placement of values are written in the nest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Protocol

from xdsl.dialects import arith, func, tensor, vector
from xdsl.dialects.builtin import TensorType, VectorType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from aotensor.ir.dialect import ExtractIfOp, ReshapeOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import BalanceOp, DoOp, PrefetchOp, ValueOp, YieldOp
from aotensor.ir.nest.strides import stride_along
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.nest.tree import is_register, known_number, streams
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import element_bytes
from aotensor.ir.upstream import walk
from aotensor.passes.emit.balance import balanced_row
from aotensor.passes.emit.frame import Frame, Lanes
from aotensor.passes.emit.row_sums import emit_row_sums
from aotensor.passes.scalar_math.table import vector_symbol

_LINE: Final = 64
"""Bytes of a cache line."""
_SLICE: Final = 16
"""Prefetched entries per slice: two cache lines of 8-byte elements, one of 4-byte elements."""


class Memory(Protocol):
    """The interface of the function emitter that the tree emitter uses: buffers, declarations and extents."""

    def buffer(self, x: SSAValue) -> SSAValue: ...
    def buffer_in(self, frame: Frame, x: SSAValue) -> SSAValue: ...
    def declare(self, value: ValueOp, frame: Frame) -> None: ...
    def view(self, op: ReshapeOp, frame: Frame) -> None: ...
    def extent(self, op: tensor.DimOp) -> Extent: ...


class TreeEmitter:
    """Emits the loops and statements of a nest at the insertion point of a builder."""

    def __init__(self, b: LoopBuilder, memory: Memory) -> None:
        self.b, self.memory = b, memory

    def emit(self, ops: Iterable[Operation], frames: Sequence[Frame]) -> None:
        """Emit operations in order, for several iterations that advance together (one frame each)."""
        for op in ops:
            self.b.use_location_of(op)
            if isinstance(op, LoopOp):
                self._loop(op, frames)
                continue
            for frame in frames:
                match op:
                    case ValueOp():
                        self._declare(op, frame)
                    case DoOp():
                        self._statement(op, frame)
                    case ReshapeOp():
                        self.memory.view(op, frame)
                    case PrefetchOp():
                        where: list[Extent] = [Scalar(frame.value(i), "index") for i in op.subscripts]
                        self.b.prefetch(self.memory.buffer_in(frame, op.tensor), where, is_write=True)
                    case BalanceOp():
                        frame.values[op.result] = self._balanced(op, frame).ssa
                    case tensor.ExtractOp():
                        frame.values[op.result] = self._gather(op, frame, {})
                    case tensor.DimOp():
                        frame.values[op.result] = self.b.index(self.memory.extent(op)).ssa
                    case _:
                        self._copy(op, frame, frame.values)

    def _declare(self, op: ValueOp, frame: Frame) -> None:
        if is_register(op.result):
            init = None if op.init is None else frame.value(op.init)
            if init is not None and op.lanes is not None:
                init = self._broadcast(init, op.lanes.value.data, frame)
            frame.registers[op.result] = init
        else:
            self.memory.declare(op, frame)

    def _balanced(self, op: BalanceOp, frame: Frame) -> Scalar:
        row, extent, size, group = (self._extent(x, frame) for x in (op.row, op.extent, op.size, op.group))
        return balanced_row(self.b, row, extent, size, group, self.memory.buffer(op.indptr))

    # --- loops ---------------------------------------------------------------------------------------------------

    def _loop(self, loop: LoopOp, frames: Sequence[Frame]) -> None:
        lanes_around = frames[0].lanes
        if isinstance(loop, EntriesOp) and lanes_around is not None:
            emit_row_sums(self, loop, frames[0], _updated(loop), lanes_around.count)
            return
        low, high, step = self._bounds(loop, frames[0])
        if isinstance(loop, EntriesOp) and loop.schedule.ahead > 1:
            self._prefetch(loop, low)
        if loop.schedule.cores:
            (frame,) = frames
            body = loop.body.block.ops
            self.b.parallel(high, step, lambda start: self.emit(body, [frame.inside({loop.counter: start.ssa})]))
            return
        rows = loop.schedule.rows
        if rows > 1:
            whole = low + (high - low) // rows * rows
            self._range(loop, frames, low, whole, rows, lanes=rows)
            self._range(loop, frames, whole, high, 1)
            return
        jam, lanes = loop.schedule.jam, loop.schedule.lanes
        if lanes > 1 and loop.schedule.masked and _is_one_vector(loop, lanes):
            self._one_vector(loop, frames, 0, lanes, self._mask(self.b.index(high), lanes))
            return
        if lanes > 1 and loop.schedule.masked:
            self._range(loop, frames, low, high, lanes, lanes=lanes, is_masked=True)
            return
        if lanes > 1:
            assert isinstance(low, int) and high == low + lanes, "a loop of several vectors"
            self._one_vector(loop, frames, low, lanes)
            return
        if jam == 1:
            self._range(loop, frames, low, high, step)
            return
        whole = low + (high - low) // jam * jam
        self._range(loop, frames, low, whole, jam, jam)
        self._range(loop, frames, whole, high, 1)

    def _prefetch(self, loop: EntriesOp, first: Extent) -> None:
        """Prefetch operands of a later slice. first: number of the first entry of the current slice."""
        for x in streams(loop):
            assert isinstance(x.type, TensorType)
            line = max(_LINE // element_bytes(x.type.element_type), 1)
            for k in range(0, _SLICE, line):
                self.b.prefetch(self.memory.buffer(x), [first + (loop.schedule.ahead + k)])

    def _one_vector(
        self, loop: LoopOp, frames: Sequence[Frame], first: int, lanes: int, mask: SSAValue | None = None
    ) -> None:
        """Emit all iterations as the lanes of one vector; sums into scalars start at 0 and are reduced at the end.

        mask: the active lanes, only for a loop without sums into scalars.
        """
        sums = [
            (holder, x, _value_in_frame(holder, x))
            for holder, x in _carried_registers(loop, frames)
            if not _is_vector(x)
        ]
        assert mask is None or not sums, "lanes that are not there would be added"
        for holder, x, old in sums:
            holder.registers[x] = self.b.zero_vector(_vector(old.ssa.type, lanes))
        start, vectors = self.b.index(first).ssa, Lanes(loop.counter, lanes, mask)
        self.emit(loop.body.block.ops, [frame.inside({loop.counter: start}, vectors) for frame in frames])
        for holder, x, old in sums:
            holder.registers[x] = self.b.add_lanes(_value_in_frame(holder, x).ssa, old.ssa)

    def _bounds(self, loop: LoopOp, frame: Frame) -> tuple[Extent, Extent, Extent]:
        """The lower bound, the upper bound and the step of a loop."""
        if isinstance(loop, EntriesOp):
            slice, indptr = Scalar(frame.value(loop.slice), "index"), self.memory.buffer(loop.indptr)
            return self.b.position(indptr, slice), self.b.position(indptr, slice + 1), 1
        assert isinstance(loop, ForOp)
        low = 0 if loop.lower is None else self._extent(loop.lower, frame)
        step = 1 if loop.step is None else self._extent(loop.step, frame)
        return low, self._extent(loop.upper, frame), step

    def _extent(self, x: SSAValue, frame: Frame) -> Extent:
        return self.b.as_extent(Scalar(frame.value(x), "index"))

    def _range(
        self,
        loop: LoopOp,
        frames: Sequence[Frame],
        low: Extent,
        high: Extent,
        step: Extent,
        jam: int = 1,
        lanes: int = 1,
        is_masked: bool = False,
    ) -> None:
        """Emit iterations from low to high: one by one, `jam` at once, or as vector lanes.

        is_masked: a vector may exceed the last iteration; its extra lanes keep the sums as they are.
        """
        carried = _carried_registers(loop, frames)
        before = [_value_in_frame(holder, x) for holder, x in carried]

        def body(counter: Scalar, values: list[Scalar]) -> list[Scalar]:
            for (holder, x), value in zip(carried, values, strict=True):
                holder.registers[x] = value.ssa
            rows = [counter + row if row else counter for row in range(jam)]
            mask = self._mask(self.b.index(high) - counter, lanes) if is_masked else None
            vectors = Lanes(loop.counter, lanes, mask) if lanes > 1 else None
            self.emit(loop.body.block.ops, [f.inside({loop.counter: row.ssa}, vectors) for f in frames for row in rows])
            after = [_value_in_frame(holder, x) for holder, x in carried]
            if mask is None:
                return after
            kept = zip(after, values, strict=True)
            return [self.b.select(Scalar(mask, "raw"), new, old) for new, old in kept]

        initial = before
        if lanes > 1:
            initial = [Scalar(self.b.zero_vector(_vector(x.ssa.type, lanes)), "raw") for x in before]
        results = self.b.loop(
            low, high, initial, body, step, is_vectorisable=not is_masked, attributes=loop.schedule.attributes
        )
        for (holder, x), old, value in zip(carried, before, results, strict=True):
            holder.registers[x] = value.ssa if lanes == 1 else self.b.add_lanes(value.ssa, old.ssa)

    def _mask(self, count: Scalar, lanes: int) -> SSAValue:
        """The mask of the first `count` lanes."""
        return self.b.emit(vector.CreateMaskOp([count.ssa], _vector(i1, lanes)), "raw").ssa

    # --- statements ----------------------------------------------------------------------------------------------

    def _statement(self, op: DoOp, frame: Frame) -> None:
        values: dict[SSAValue, SSAValue] = {}
        arguments, writes = op.body.block.args, op.writes
        for argument, (x, subscripts) in zip(arguments, op.reads, strict=False):
            values[argument] = self._read(x, subscripts, frame)
        if op.scatter is not None:
            at = self.b.as_index(values[arguments[op.scatter.value.data]]).ssa
            frame, writes = frame.inside({at: at}), [(x, [at, *subscripts[1:]]) for x, subscripts in writes]
        for argument, (x, subscripts) in zip(arguments[len(op.inputs) :], writes, strict=True):
            if argument.uses:
                values[argument] = self._read(x, subscripts, frame)
        for inner in op.body.block.ops:
            match inner:
                case YieldOp():
                    for (x, subscripts), value in zip(writes, inner.values, strict=True):
                        self._write(x, subscripts, _value(value, values, frame), frame)
                case tensor.ExtractOp():
                    values[inner.result] = self._gather(inner, frame, values)
                case ExtractIfOp():
                    values[inner.result] = self._read_if(inner, frame, values)
                case _:
                    self._copy(inner, frame, values)

    def _address(
        self, x: SSAValue, subscripts: Sequence[Subscript], frame: Frame
    ) -> tuple[SSAValue, list[Extent], bool]:
        """The buffer and indices of an element, and whether vector lanes are contiguous from there."""
        where: list[Extent] = [i if isinstance(i, int) else Scalar(frame.value(i), "index") for i in subscripts]
        lanes = frame.lanes
        is_vector = lanes is not None and any(stride_along(i, lanes.counter) != 0 for i in subscripts)
        return self.memory.buffer_in(frame, x), self._wrapped_indices(x, where), is_vector

    def _wrapped_indices(self, x: SSAValue, where: list[Extent]) -> list[Extent]:
        """The indices of an element in a folded buffer, which holds the last rows only: the row modulo their number."""
        if not isinstance(x.owner, ValueOp) or x.owner.folded is None:
            return where
        assert isinstance(x.type, TensorType)
        last = self.b.index(x.type.get_shape()[0] - 1)
        return [self.b.index(where[0]) & last, *where[1:]]

    def _read(self, x: SSAValue, subscripts: Sequence[Subscript], frame: Frame) -> SSAValue:
        if is_register(x):
            return _value_in_frame(frame.holder_of(x), x).ssa
        buffer, where, is_vector = self._address(x, subscripts, frame)
        if not is_vector:
            return self.b.fetch(buffer, where, "raw").ssa
        assert frame.lanes is not None
        return self.b.load_vector(buffer, where, frame.lanes.count, frame.lanes.mask).ssa

    def _write(self, x: SSAValue, subscripts: Sequence[Subscript], value: SSAValue, frame: Frame) -> None:
        if is_register(x):
            assert isinstance(x.owner, ValueOp)
            wide = value if x.owner.lanes is None else self._broadcast(value, x.owner.lanes.value.data, frame)
            frame.holder_of(x).registers[x] = wide
            return
        buffer, where, is_vector = self._address(x, subscripts, frame)
        if not is_vector:
            self.b.store(Scalar(value, "raw"), buffer, where)
            return
        assert frame.lanes is not None
        self.b.store_vector(self._broadcast(value, frame.lanes.count, frame), buffer, where, frame.lanes.mask)

    def _gather(self, op: tensor.ExtractOp, frame: Frame, values: dict[SSAValue, SSAValue]) -> SSAValue:
        """Load an element at indices that a body computes."""
        buffer, lanes = self.memory.buffer_in(frame, op.tensor), frame.lanes
        found = [_value(i, values, frame) for i in op.indices]
        where = self._wrapped_indices(op.tensor, [Scalar(i, "index") for i in found])
        if lanes is not None and isinstance(found[-1].type, VectorType):
            return self.b.gather(buffer, where[:-1], found[-1], lanes.mask).ssa
        if lanes is not None and stride_along(op.indices[-1], lanes.counter) == 1:
            return self.b.load_vector(buffer, where, lanes.count, lanes.mask).ssa
        return self.b.fetch(buffer, where, "raw").ssa

    def _read_if(self, op: ExtractIfOp, frame: Frame, values: dict[SSAValue, SSAValue]) -> SSAValue:
        """Load an element if a condition holds, otherwise use a default."""
        assert frame.lanes is None, "a read under a condition has no vectors"
        buffer = self.memory.buffer_in(frame, op.tensor)
        condition, otherwise, *where = (_value(x, values, frame) for x in (op.condition, op.otherwise, *op.indices))
        (found,) = self.b.branch(
            Scalar(condition, "bool"),
            lambda: [
                self.b.fetch(buffer, self._wrapped_indices(op.tensor, [Scalar(i, "index") for i in where]), "raw")
            ],
            lambda: [Scalar(otherwise, "raw")],
        )
        return found.ssa

    def _copy(self, op: Operation, frame: Frame, values: dict[SSAValue, SSAValue]) -> None:
        """Emit a scalar operation with emitted operands; as a vector operation if an operand is a vector."""
        operands = [_value(x, values, frame) for x in op.operands]
        kind = next((x.type for x in operands if isinstance(x.type, VectorType)), None)
        copy: Operation
        if kind is None:
            copy = _on(op, operands, None)
        else:
            (lanes,) = kind.get_shape()
            if isinstance(op, arith.ExtSIOp | arith.IndexCastOp):
                values[op.results[0]] = operands[0]  # a gather accepts positions of any integer type
                return
            wide = [self._broadcast(x, lanes, frame) for x in operands]
            if isinstance(op, func.CallOp):
                symbol = vector_symbol(op.callee.root_reference.data, lanes)
                copy = func.CallOp(symbol, wide, [_vector(x.type, lanes) for x in op.results])
                copy.location = op.location
            else:
                copy = _on(op, wide, lanes)
        self.b.builder.insert(copy)
        values.update(zip(op.results, copy.results, strict=True))

    def _broadcast(self, x: SSAValue, lanes: int, frame: Frame) -> SSAValue:
        """Broadcast a scalar to a vector; a vector is returned unchanged."""
        if isinstance(x.type, VectorType):
            return x
        if (x, lanes) not in frame.vectors:
            frame.vectors[x, lanes] = self.b.emit(vector.BroadcastOp(x, _vector(x.type, lanes)), "raw").ssa
        return frame.vectors[x, lanes]


def _is_one_vector(loop: LoopOp, lanes: int) -> bool:
    """Is the trip count of a loop min(n, lanes)?"""
    bound = loop.upper.owner if isinstance(loop, ForOp) and loop.lower is None else None
    return isinstance(bound, arith.MinSIOp) and known_number(bound.rhs) == lanes


def _on(op: Operation, operands: Sequence[SSAValue], lanes: int | None) -> Operation:
    """A copy of an operation with other operands. lanes: vector length of its results, None for scalars."""
    if op.regions:  # a scalar loop
        assert lanes is None
        return op.clone(dict(zip(op.operands, operands, strict=True)))
    types = [x.type if lanes is None else _vector(x.type, lanes) for x in op.results]
    made = type(op).create(
        operands=operands, result_types=types, properties=dict(op.properties), attributes=dict(op.attributes)
    )
    made.location = op.location
    return made


@lru_cache(256)
def _vector(element: Attribute, lanes: int) -> VectorType[Attribute]:
    return VectorType(element, [lanes])


def _value_in_frame(holder: Frame, x: SSAValue) -> Scalar:
    value = holder.registers[x]
    assert value is not None, "a register is read before it is written"
    return Scalar(value, "raw")


def _value(x: SSAValue, values: Mapping[SSAValue, SSAValue], frame: Frame) -> SSAValue:
    """The emitted value of a value of a statement's body, or of the enclosing nest."""
    found = values.get(x)
    return frame.value(x) if found is None else found


def _carried_registers(loop: LoopOp, frames: Sequence[Frame]) -> list[tuple[Frame, SSAValue]]:
    """The registers that a loop carries, with the frames that hold them."""
    return list(dict.fromkeys((frame.holder_of(x), x) for x in _updated(loop) for frame in frames))


def _is_vector(x: SSAValue) -> bool:
    """Does a register hold a vector?"""
    return isinstance(x.owner, ValueOp) and x.owner.lanes is not None


def _updated(loop: LoopOp) -> list[SSAValue]:
    """The registers declared outside of a loop that its statements update."""
    written = (x for op in walk(loop) if isinstance(op, DoOp) for x in op.outputs if is_register(x))
    return [x for x in dict.fromkeys(written) if isinstance(x.owner, ValueOp) and not loop.is_ancestor(x.owner)]
