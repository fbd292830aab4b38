"""The loop verbs: scf and memref on top of the scalar verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, UnitAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.ir.scalar_builder import CONTRACT, Scalar
from aotensor.ir.verbs import Extent, Verbs


class LoopBuilder(Verbs):
    """Builds loop IR; the insertion point moves into a loop while its body is built."""

    def __init__(self, builder: Builder, fastmath: arith.FastMathFlagsAttr = CONTRACT) -> None:
        super().__init__(builder, fastmath)

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Build at the end of `block`. What was numbered outside stays visible, what is made inside is forgotten."""
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
    ) -> list[Scalar]:
        """for i = start … stop by step: carried = body(i, carried).   Returns the carried values after the loop."""
        low, high, stride = (self.index(n) for n in (start, stop, step))
        block = Block(arg_types=[low.ssa.type, *(c.ssa.type for c in carried)])
        with self.inside(block):
            counter = Scalar(block.args[0], "index")
            results = body(counter, [Scalar(a, c.dtype) for a, c in zip(block.args[1:], carried, strict=True)])
            self.builder.insert(scf.YieldOp(*(r.ssa for r in results)))
        op = scf.ForOp(low.ssa, high.ssa, stride.ssa, [c.ssa for c in carried], Region(block))
        if not is_vectorisable:
            op.attributes["novector"] = UnitAttr()
        self.builder.insert(op)
        return [Scalar(r, c.dtype) for r, c in zip(op.results, carried, strict=True)]

    def nest(
        self, extents: Sequence[Extent], body: Callable[[list[Scalar]], None], is_vectorisable: bool = True
    ) -> None:
        """A perfect nest of loops without carried values; `body` gets the counters, outermost first."""

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
        """if condition: then() else: otherwise().   Returns the results of the branch taken."""
        blocks = [Block(), Block()]
        results: Sequence[Scalar] = ()
        for block, make in zip(blocks, (then, otherwise), strict=True):
            with self.inside(block):
                results = make()
                self.builder.insert(scf.YieldOp(*(r.ssa for r in results)))
        op = scf.IfOp(condition.ssa, [r.ssa.type for r in results], Region(blocks[0]), Region(blocks[1]))
        self.builder.insert(op)
        return [Scalar(r, old.dtype) for r, old in zip(op.results, results, strict=True)]

    # --- buffers -------------------------------------------------------------------------------------------------

    def allocate(self, element: Attribute, extents: Sequence[Extent]) -> SSAValue:
        """A buffer in row-major order; plan-memory finds it a place."""
        dynamic = [n.ssa for n in extents if isinstance(n, Scalar)]
        shape = [n if isinstance(n, int) else DYNAMIC_INDEX for n in extents]
        op = memref.AllocOp(dynamic, [], MemRefType(element, shape))
        self.builder.insert(op)
        return op.memref

    def fetch(self, buffer: SSAValue, indices: Sequence[Extent], dtype: str) -> Scalar:
        """buffer[indices]"""
        return self.emit(memref.LoadOp.get(buffer, [self.index(i).ssa for i in indices]), dtype)

    def store(self, value: Scalar, buffer: SSAValue, indices: Sequence[Extent]) -> None:
        """buffer[indices] = value"""
        self.builder.insert(memref.StoreOp.get(value.ssa, buffer, [self.index(i).ssa for i in indices]))

    def extent_of(self, buffer: SSAValue, axis: int) -> Extent:
        """The extent of a buffer along an axis."""
        assert isinstance(buffer.type, MemRefType)
        static = buffer.type.get_shape()[axis]
        if static != DYNAMIC_INDEX:
            return int(static)
        key = ("extent", buffer, axis)
        return self._once(key, lambda: self.emit(memref.DimOp(buffer, self.index(axis).ssa), "index"))

    def reinterpret(self, buffer: SSAValue, extents: Sequence[Extent]) -> SSAValue:
        """The same contiguous buffer under another shape."""
        assert isinstance(buffer.type, MemRefType)
        shape = [n if isinstance(n, int) else None for n in extents]
        element = buffer.type.element_type
        strides: list[Extent] = []
        running: Extent = 1
        for n in reversed(extents):
            strides.insert(0, running)
            running = self.imul(running, n)
        kind = memref_type_of(element, shape)
        op = memref.ReinterpretCastOp.from_dynamic(
            buffer, [0], [n.ssa if isinstance(n, Scalar) else n for n in extents],
            [n.ssa if isinstance(n, Scalar) else n for n in strides], kind,
        )  # fmt: skip
        self.builder.insert(op)
        result: SSAValue = op.result
        return result


def memref_type_of(element: Attribute, shape: Sequence[int | None]) -> MemRefType[Attribute]:
    """memref<shape x element> in row-major order."""
    return MemRefType(element, [DYNAMIC_INDEX if n is None else n for n in shape])
