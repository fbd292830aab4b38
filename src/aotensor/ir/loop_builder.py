"""The builder of loops: scf and memref on top of scalar operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    UnitAttr,
    VectorType,
)
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.ir.index_builder import Extent, IndexBuilder
from aotensor.ir.location import LocatedBuilder
from aotensor.ir.scalar_builder import CONTRACT, Scalar
from aotensor.ir.types import SEGMENTS, segment_sizes
from aotensor.ir.upstream import GatherOp, ParallelOp, PrefetchOp, ReduceOp

STACK_ALIGNMENT: Final = 64
"""Bytes: those of a cache line, and of the longest vector."""


class LoopBuilder(IndexBuilder):
    """Builds loop IR; the insertion point moves into a loop while its body is built."""

    def __init__(self, builder: Builder, fastmath: arith.FastMathFlagsAttr = CONTRACT) -> None:
        super().__init__(builder, fastmath)
        self.bounds: dict[SSAValue, Extent] = {}
        """Extents that differ between chunks → their upper bound, which buffers are allocated for."""
        self._is_on_cores = False

    def use_location_of(self, op: Operation | BlockArgument) -> None:
        """Give everything that is built from now on the location of `op`."""
        if isinstance(self.builder, LocatedBuilder):
            self.builder.location = op.location

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Context manager: build at the end of `block`. Index values built inside are not reused outside."""
        point, numbered = self.builder.insertion_point, dict(self._numbered)
        self.builder.insertion_point = InsertPoint.at_end(block)
        try:
            yield
        finally:
            self.builder.insertion_point, self._numbered = point, numbered

    def loop(
        self,
        start: Extent,
        stop: Extent,
        carried: Sequence[Scalar],
        body: Callable[[Scalar, list[Scalar]], Sequence[Scalar]],
        step: Extent = 1,
        is_vectorisable: bool = True,
        is_unrolled: bool = True,
        attributes: Iterable[str] = (),
    ) -> list[Scalar]:
        """Build a loop: for i = start … stop by step: carried = body(i, carried). Returns the final carried values.

        is_vectorisable, is_unrolled: LLVM may vectorise, or unroll, the loop. attributes: further ones, such as
        `parallel_accesses`: no iteration accesses memory that another one writes.
        """
        low, high, stride = (self.index(n) for n in (start, stop, step))
        block = Block(arg_types=[low.ssa.type, *(c.ssa.type for c in carried)])
        with self.inside(block):
            counter = Scalar(block.args[0], "index")
            results = body(counter, [Scalar(a, c.dtype) for a, c in zip(block.args[1:], carried, strict=True)])
            self.builder.insert(scf.YieldOp.create(operands=[r.ssa for r in results]))
        op = scf.ForOp.create(
            operands=[low.ssa, high.ssa, stride.ssa, *(c.ssa for c in carried)],
            result_types=[c.ssa.type for c in carried],
            regions=[Region(block)],
        )
        if not is_vectorisable:
            op.attributes["novector"] = UnitAttr()
        if not is_unrolled:
            op.attributes["nounroll"] = UnitAttr()
        op.attributes.update((name, UnitAttr()) for name in attributes)
        self.builder.insert(op)
        return [Scalar(r, c.dtype) for r, c in zip(op.results, carried, strict=True)]

    def parallel(self, stop: Extent, step: Extent, body: Callable[[Scalar], None]) -> None:
        """Build a parallel loop: body(i) for i = 0 … stop by step, in any order and on several cores.

        Inside another parallel loop, the loop is sequential.
        """
        if self._is_on_cores:

            def alone(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                body(i)
                return ()

            self.loop(0, stop, (), alone, step, is_vectorisable=False, is_unrolled=False)
            return
        self._is_on_cores = True
        block = Block(arg_types=[self.index(0).ssa.type])
        low, high, stride = (self.index(n).ssa for n in (0, stop, step))
        with self.inside(block):
            body(Scalar(block.args[0], "index"))
            self.builder.insert(ReduceOp())
        self._is_on_cores = False
        self.builder.insert(ParallelOp(low, high, stride, Region(block)))

    def loop_while(
        self,
        carried: Sequence[Scalar],
        goes_on: Callable[[list[Scalar]], Scalar],
        body: Callable[[list[Scalar]], Sequence[Scalar]],
    ) -> list[Scalar]:
        """Build a loop: while goes_on(carried): carried = body(carried). Returns the final carried values."""
        kinds = [c.ssa.type for c in carried]
        before, after = Block(arg_types=kinds), Block(arg_types=kinds)
        for block, make in ((before, goes_on), (after, body)):
            values = [Scalar(a, c.dtype) for a, c in zip(block.args, carried, strict=True)]
            with self.inside(block):
                made = make(values)
                if isinstance(made, Scalar):
                    self.builder.insert(scf.ConditionOp(made.ssa, *block.args))
                else:
                    self.builder.insert(scf.YieldOp(*(r.ssa for r in made)))
        op = scf.WhileOp([c.ssa for c in carried], kinds, [before], [after])
        self.builder.insert(op)
        return [Scalar(r, c.dtype) for r, c in zip(op.results, carried, strict=True)]

    def nest(
        self, extents: Sequence[Extent], body: Callable[[list[Scalar]], None], is_vectorisable: bool = True
    ) -> None:
        """Build a perfect nest of loops without carried values; `body` gets the counters, outermost first."""

        def at(depth: int, counters: list[Scalar]) -> None:
            if depth == len(extents):
                body(counters)
                return

            def step(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                at(depth + 1, [*counters, i])
                return ()

            self.loop(0, extents[depth], (), step, is_vectorisable=is_vectorisable)

        at(0, [])

    def branch(
        self, condition: Scalar, then: Callable[[], Sequence[Scalar]], otherwise: Callable[[], Sequence[Scalar]]
    ) -> list[Scalar]:
        """Build a branch: if condition: then() else: otherwise(). Returns the results of the branch taken."""
        return self.begin_branch(condition)(then(), otherwise)

    def begin_branch(
        self, condition: Scalar
    ) -> Callable[[Sequence[Scalar], Callable[[], Sequence[Scalar]]], list[Scalar]]:
        """Begin a branch: what is built from now on happens if the condition holds.

        Returns a function that ends it: from the results, and a function that builds the other side and returns its
        results, it makes those of the branch taken.
        """
        then, otherwise = Block(), Block()
        opened = ExitStack()
        opened.enter_context(self.inside(then))

        def end(results: Sequence[Scalar], build_other: Callable[[], Sequence[Scalar]]) -> list[Scalar]:
            self.builder.insert(scf.YieldOp.create(operands=[r.ssa for r in results]))
            opened.close()
            with self.inside(otherwise):
                others = build_other()
                self.builder.insert(scf.YieldOp.create(operands=[r.ssa for r in others]))
            types, regions = [r.ssa.type for r in others], [Region(then), Region(otherwise)]
            op = scf.IfOp.create(operands=[condition.ssa], result_types=types, regions=regions)
            self.builder.insert(op)
            return [Scalar(r, old.dtype) for r, old in zip(op.results, others, strict=True)]

        return end

    def zero(self, kind: Attribute) -> Scalar:
        """The constant 0 of an element type."""
        if isinstance(kind, AnyFloat):
            return self.make(arith.ConstantOp, (), "raw", kind, {"value": FloatAttr(0.0, kind)})
        assert isinstance(kind, IntegerType | IndexType)
        return self.make(arith.ConstantOp, (), "raw", kind, {"value": IntegerAttr(0, kind)})

    # --- buffers -------------------------------------------------------------------------------------------------

    def allocate(self, element: Attribute, extents: Sequence[Extent]) -> SSAValue:
        """Allocate a buffer in row-major order; plan-memory assigns its offset."""
        if any(isinstance(n, Scalar) and n.ssa in self.bounds for n in extents):
            most = [self.bounds.get(n.ssa, n) if isinstance(n, Scalar) else n for n in extents]
            return self.reinterpret(self.allocate(element, most), extents)
        dynamic = [n.ssa for n in extents if isinstance(n, Scalar)]
        shape = [n if isinstance(n, int) else DYNAMIC_INDEX for n in extents]
        op = memref.AllocOp.create(
            operands=dynamic,
            result_types=[MemRefType(element, shape)],
            properties={SEGMENTS: segment_sizes(len(dynamic), 0)},
        )
        self.builder.insert(op)
        return op.memref

    def on_stack(self, kind: MemRefType[Any]) -> SSAValue:
        """Allocate a buffer of a static type on the stack, for the time of the function or of the chunk of a loop."""
        op = memref.AllocaOp.get(kind.element_type, STACK_ALIGNMENT, kind.get_shape())
        self.builder.insert(op)
        return op.memref

    def fetch(self, buffer: SSAValue, indices: Sequence[Extent], dtype: str) -> Scalar:
        """Load buffer[indices] as a scalar of `dtype`."""
        assert isinstance(buffer.type, MemRefType)
        where = [self.index(i).ssa for i in indices]
        return self.make(memref.LoadOp, (buffer, *where), dtype, buffer.type.element_type)

    def store(self, value: Scalar, buffer: SSAValue, indices: Sequence[Extent]) -> None:
        """Store buffer[indices] = value."""
        where = [self.index(i).ssa for i in indices]
        self.builder.insert(memref.StoreOp.create(operands=(value.ssa, buffer, *where)))

    def load_vector(self, buffer: SSAValue, indices: Sequence[Extent], lanes: int, mask: SSAValue | None) -> Scalar:
        """Load adjacent elements along the last axis; masked-off lanes are 0, and not read."""
        where = [self.index(i).ssa for i in indices]
        assert isinstance(buffer.type, MemRefType)
        kind = VectorType(buffer.type.element_type, [lanes])
        if mask is None:
            return self.make(vector.LoadOp, (buffer, *where), "raw", kind)
        return self.emit(vector.MaskedLoadOp(buffer, where, mask, self.zero_vector(kind)), "raw")

    def store_vector(self, value: SSAValue, buffer: SSAValue, indices: Sequence[Extent], mask: SSAValue | None) -> None:
        """Store adjacent elements along the last axis, in the lanes of the mask."""
        where = [self.index(i).ssa for i in indices]
        if mask is None:
            self.builder.insert(vector.StoreOp.create(operands=(value, buffer, *where)))
        else:
            self.builder.insert(vector.MaskedStoreOp(buffer, where, mask, value))

    def gather(self, buffer: SSAValue, indices: Sequence[Extent], last: SSAValue, mask: SSAValue | None) -> Scalar:
        """Load buffer[indices, last[lane]] for every lane of the mask; 0 in the other lanes."""
        assert isinstance(buffer.type, MemRefType) and isinstance(last.type, VectorType)
        lanes = last.type.get_shape()
        if mask is None:
            every = self.constant(True, "bool").ssa
            mask = self.emit(vector.BroadcastOp(every, VectorType(every.type, lanes)), "raw").ssa
        start = [*(self.index(i).ssa for i in indices), self.index(0).ssa]
        nothing = self.zero_vector(VectorType(buffer.type.element_type, lanes))
        return self.emit(GatherOp(buffer, start, last, mask, nothing), "raw")

    def add_lanes(self, x: SSAValue, start: SSAValue) -> SSAValue:
        """The sum of `start` and all lanes of x, in any order."""
        properties: dict[str, Attribute] = {
            "kind": vector.CombiningKindAttr(vector.CombiningKindFlag.ADD),
            "fastmath": arith.FastMathFlagsAttr([FastMathFlag.REASSOC]),
        }
        op = vector.ReductionOp.create(operands=[x, start], result_types=[start.type], properties=properties)
        return self.emit(op, "raw").ssa

    def zero_vector(self, kind: VectorType[Attribute]) -> SSAValue:
        """A vector of zeros."""
        return self.emit(vector.BroadcastOp(self.zero(kind.element_type).ssa, kind), "raw").ssa

    def position(self, positions: SSAValue, at: Extent) -> Scalar:
        """An element of a vector of int32 or int64 positions, as an index."""
        return self.as_index(self.fetch(positions, [at], "raw").ssa)

    def prefetch(self, buffer: SSAValue, indices: Sequence[Extent], is_write: bool = False) -> None:
        """Prefetch buffer[indices]; the indices may be out of bounds."""
        self.builder.insert(PrefetchOp(buffer, [self.index(i).ssa for i in indices], is_write))

    def extent_of(self, buffer: SSAValue, axis: int) -> Extent:
        """The extent of a buffer along an axis."""
        assert isinstance(buffer.type, MemRefType)
        static = buffer.type.get_shape()[axis]
        if static != DYNAMIC_INDEX:
            return int(static)
        while isinstance(buffer.owner, arith.SelectOp):
            buffer = buffer.owner.lhs
        view = buffer.owner
        if isinstance(view, memref.ReinterpretCastOp):
            position = list(view.static_sizes.get_values()[:axis]).count(DYNAMIC_INDEX)
            return Scalar(view.sizes[position], "index")
        key = ("extent", buffer, axis)
        return self._once(key, lambda: self.make(memref.DimOp, (buffer, self.index(axis).ssa), "index", IndexType()))

    # --- views ---------------------------------------------------------------------------------------------------

    def reinterpret(self, buffer: SSAValue, extents: Sequence[Extent]) -> SSAValue:
        """A view of a contiguous buffer with another shape."""
        choice = buffer.owner
        if isinstance(choice, arith.SelectOp):
            sides = [self.reinterpret(x, extents) for x in (choice.lhs, choice.rhs)]
            return self.choose(Scalar(choice.cond, "bool"), *sides)
        root, offset = origin(buffer)
        return self._view(root, offset, extents, is_row=isinstance(offset, Scalar))

    def row(self, buffer: SSAValue, number: Extent, extents: Sequence[Extent]) -> SSAValue:
        """A view of the contiguous row buffer[number], with the given extents."""
        return self._from_row(buffer, number, extents, extents)

    def part(self, buffer: SSAValue, start: Extent, extents: Sequence[Extent]) -> SSAValue:
        """A view of the contiguous rows buffer[start : start + extents[0]], with the given extents."""
        return self._from_row(buffer, start, extents[1:], extents)

    def _from_row(self, buffer: SSAValue, start: Extent, row: Sequence[Extent], extents: Sequence[Extent]) -> SSAValue:
        """A view that begins at row `start` of a buffer. row: extents of a row; extents: extents of the view."""
        choice = buffer.owner
        if isinstance(choice, arith.SelectOp):
            sides = [self._from_row(x, start, row, extents) for x in (choice.lhs, choice.rhs)]
            return self.choose(Scalar(choice.cond, "bool"), *sides)
        root, offset = origin(buffer)
        step: Extent = 1
        for n in row:
            step = self.imul(step, n)
        return self._view(root, self.iadd(offset, self.imul(self.index(start), step)), extents, is_row=True)

    def own_buffer(self, buffer: SSAValue, extents: Sequence[Extent]) -> SSAValue:
        """The buffer itself, or a new one of its shape if it is a row: library kernels accept only whole buffers."""
        kind = buffer.type
        assert isinstance(kind, MemRefType)
        return buffer if isinstance(kind.layout, NoneAttr) else self.allocate(kind.element_type, extents)

    def copy(self, source: SSAValue, target: SSAValue, extents: Sequence[Extent]) -> None:
        """Emit target[...] = source[...]; emit nothing if they are the same buffer."""
        if source is not target:
            self.nest(extents, lambda at: self.store(self.fetch(source, at, "raw"), target, at))

    def choose(self, condition: Scalar, x: SSAValue, y: SSAValue) -> SSAValue:
        """Select one of two buffers of equal shape. If one is a row of another buffer, both are viewed as rows.

        Their types may differ in static extents: the buffer of an output often has none.
        """
        if x.type != y.type:
            assert isinstance(x.type, MemRefType)
            pairs = ((self.extent_of(x, axis), self.extent_of(y, axis)) for axis in range(len(x.type.get_shape())))
            extents = [one if isinstance(one, int) else other for one, other in pairs]
            x, y = self._as_row(x, extents), self._as_row(y, extents)
        return self.make(arith.SelectOp, (condition.ssa, x, y), "raw", x.type).ssa

    def _as_row(self, buffer: SSAValue, extents: Sequence[Extent]) -> SSAValue:
        """View a buffer as a row with these extents; a buffer that is such a row is returned unchanged."""
        assert isinstance(buffer.type, MemRefType)
        known = tuple(n if isinstance(n, int) else DYNAMIC_INDEX for n in extents)
        is_row = not isinstance(buffer.type.layout, NoneAttr)
        return buffer if is_row and buffer.type.get_shape() == known else self.row(buffer, 0, extents)

    def _view(self, root: SSAValue, offset: Extent, extents: Sequence[Extent], is_row: bool) -> SSAValue:
        assert isinstance(root.type, MemRefType)
        shape = [n if isinstance(n, int) else DYNAMIC_INDEX for n in extents]
        strides: list[Extent] = []
        running: Extent = 1
        for n in reversed(extents):
            strides.insert(0, running)
            running = self.imul(running, n)
        element = root.type.element_type
        kind: MemRefType[Attribute] = MemRefType(element, shape)
        if is_row:
            known = [n if isinstance(n, int) else None for n in strides]
            kind = MemRefType(element, shape, StridedLayoutAttr(known, None))
            offset = self.index(offset)
        first, sizes, steps = (
            [n.ssa if isinstance(n, Scalar) else n for n in ns] for ns in ([offset], extents, strides)
        )
        op = memref.ReinterpretCastOp.from_dynamic(root, first, sizes, steps, kind)
        self.builder.insert(op)
        result: SSAValue = op.result
        return result


def origin(buffer: SSAValue) -> tuple[SSAValue, Extent]:
    """(parent buffer, start of the row in elements); (buffer, 0) if it is not a row."""
    view = buffer.owner
    if isinstance(view, memref.ReinterpretCastOp) and view.offsets:
        return view.source, Scalar(view.offsets[0], "index")
    return buffer, 0


def memref_type_of(element: Attribute, shape: Sequence[int | None]) -> MemRefType[Attribute]:
    """The type memref<...> with this shape and element type, in row-major order."""
    return MemRefType(element, [DYNAMIC_INDEX if n is None else n for n in shape])
