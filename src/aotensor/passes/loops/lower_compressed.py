"""Loops of the operations on compressed axes, where they stand alone."""

from __future__ import annotations

from xdsl.ir import SSAValue

from aotensor.ir.dialect_sparse import ExpandSlicesOp, SegmentSumOp, SumAtOp
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.loops.collapse import Buffers
from aotensor.passes.loops.lower_window import verb_dtype


def lower_compressed(b: LoopBuilder, buffers: Buffers, op: SegmentSumOp | ExpandSlicesOp | SumAtOp) -> None:
    """One operation on its own: for each slice its entries, for each entry the axes behind."""
    target, source = buffers.buffer(op.result), buffers.buffer(op.source)
    dtype, inner = verb_dtype(op.result), buffers.shape(op.result)[1:]
    if isinstance(op, ExpandSlicesOp):
        steering = buffers.buffer(op.indptr)
        extent = buffers.shape(op.source)[0]
    else:
        init = buffers.buffer(op.init)
        b.nest(buffers.shape(op.result), lambda at: b.store(b.fetch(init, at, "raw"), target, at))
        steering = buffers.buffer(op.indices if isinstance(op, SumAtOp) else op.indptr)
        extent = buffers.shape(op.source if isinstance(op, SumAtOp) else op.result)[0]

    def add(to: Scalar, entry: Scalar) -> None:
        def step(rest: list[Scalar]) -> None:
            value = b.add(b.fetch(target, [to, *rest], dtype), b.fetch(source, [entry, *rest], dtype))
            b.store(value, target, [to, *rest])

        b.nest(inner, step)

    def entries(i: Scalar, _: list[Scalar]) -> list[Scalar]:
        low, high = (slice_start(b, steering, at) for at in (i, b.add(i, b.index(1))))

        def entry(p: Scalar, _: list[Scalar]) -> list[Scalar]:
            if isinstance(op, ExpandSlicesOp):
                b.nest(inner, lambda rest: b.store(b.fetch(source, [i, *rest], "raw"), target, [p, *rest]))
            else:
                add(i, p)
            return []

        return b.loop(low, high, [], entry)

    def place(p: Scalar, _: list[Scalar]) -> list[Scalar]:
        add(slice_start(b, steering, p), p)
        return []

    b.loop(0, extent, [], place if isinstance(op, SumAtOp) else entries, is_vectorisable=False)


def slice_start(b: LoopBuilder, indptr: SSAValue, at: Scalar) -> Scalar:
    """An element of an index vector as an index."""
    return b.cast(b.fetch(indptr, [at], verb_dtype_of_buffer(indptr)), "index")


def verb_dtype_of_buffer(buffer: SSAValue) -> str:
    """int32 or int64, by the width of the elements."""
    return f"int{buffer.type.element_type.width.data}"  # type: ignore[attr-defined]
