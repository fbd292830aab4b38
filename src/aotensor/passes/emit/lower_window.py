"""Lower the tensor operations that are not linalg.generic: slices, scatters, masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from xdsl.dialects import tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerType,
    TensorType,
)
from xdsl.ir import SSAValue

from aotensor.ir.dialect_sparse import NonzeroOp, ScatterOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import DTYPE_OF_FLOAT
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.parallel_lines import each_element
from aotensor.passes.target import Target

STEP: Final = 8
"""The work of a step along a line, in the unit of `nest.work`."""


def lower_insert(b: LoopBuilder, buffers: Buffers, op: tensor.InsertSliceOp, target: Target) -> None:
    """Emit result = dest with a strided slice replaced by source; reuses dest's buffer where nothing else needs it."""
    result = _copy_of_dest(b, buffers, op, target)
    starts, steps = (
        _mixed_extents(buffers, static, dynamic)
        for static, dynamic in ((op.static_offsets, op.offsets), (op.static_strides, op.strides))
    )
    source = buffers.buffer(op.source)

    def move(where: list[Scalar]) -> None:
        at = [s + i * k for s, i, k in zip(starts, where, steps, strict=True)]
        b.store(b.fetch(source, where, "raw"), result, at)

    each_element(b, op, target, buffers.shape(op.source), move)


def _copy_of_dest(b: LoopBuilder, buffers: Buffers, op: tensor.InsertSliceOp | ScatterOp, target: Target) -> SSAValue:
    """Return the buffer of the result, initialized with a copy of dest."""
    result, dest = buffers.buffer(op.result), buffers.buffer(op.dest)
    if result is not dest:

        def move(where: list[Scalar]) -> None:
            b.store(b.fetch(dest, where, "raw"), result, where)

        each_element(b, op, target, buffers.shape(op.dest), move)
    return result


def lower_scatter(b: LoopBuilder, buffers: Buffers, op: ScatterOp, target: Target) -> None:
    """Emit result = dest with source put to, or added at, the given indices; in C order, one by one."""
    result, source = _copy_of_dest(b, buffers, op, target), buffers.buffer(op.source)
    axes, start = op.axes.get_values(), op.start.value.data
    extents, shape = buffers.shape(op.dest), buffers.shape(op.source)
    end = start + len(shape) - len(extents) + len(axes)
    dtype = element_dtype(op.dest)

    def scatter(outer: list[Scalar]) -> None:
        named = {
            axis: _index(b, buffers, index, outer[start:end], extents[axis])
            for axis, index in zip(axes, op.indices, strict=True)
        }

        def move(inner: list[Scalar]) -> None:
            others = iter([*outer[:start], *inner])
            where = [named[axis] if axis in named else next(others) for axis in range(len(extents))]
            value = b.fetch(source, [*outer, *inner], dtype)
            if op.kind.data == "add":
                value = b.fetch(result, where, dtype) + value
            b.store(value, result, where)

        b.nest(shape[end:], move)

    b.nest(shape[:end], scatter, is_vectorisable=False)  # indices may repeat


def _index(b: LoopBuilder, buffers: Buffers, indices: SSAValue, counters: list[Scalar], extent: Extent) -> Scalar:
    """One of the scatter's indices, counted from the start of the axis; indices broadcast along extents of 1."""
    shape = buffers.shape(indices)
    own = counters[len(counters) - len(shape) :]
    at: list[Extent] = [0 if n == 1 else counter for n, counter in zip(shape, own, strict=True)]
    found = b.cast(b.fetch(buffers.buffer(indices), at, element_dtype(indices)), "index")
    return b.select(found < 0, found + extent, found)


def _mixed_extents(buffers: Buffers, static: DenseArrayBase[Any], dynamic: Sequence[SSAValue]) -> list[Extent]:
    values = iter(dynamic)
    return [buffers.scalar(next(values)) if n == DYNAMIC_INDEX else int(n) for n in static.get_values()]


def lower_nonzero(b: LoopBuilder, buffers: Buffers, op: NonzeroOp) -> None:
    """Emit positions[axis][p] = the coordinate of true element number p along each axis; one counting sweep in C order.

    p = 0; for i: for j:  if p < count: rows[p], columns[p] = i, j;  p += mask[i, j]

    The position stored for a false element is overwritten by the next true one. A branch on the mask itself would be
    mispredicted often; the branch on the count has one direction until the last true element.
    """
    count = b.index(buffers.scalar(op.count))
    shape, source = buffers.shape(op.source), buffers.buffer(op.source)
    targets = [buffers.buffer(x) for x in op.positions]

    def over(counters: list[Scalar], position: Scalar) -> Scalar:
        if len(counters) < len(shape):
            (after,) = b.loop(
                0, shape[len(counters)], [position], lambda k, carried: [over([*counters, k], *carried)],
                is_vectorisable=False,
            )  # fmt: skip
            return after
        is_set = b.fetch(source, counters, "bool")

        def store() -> Sequence[Scalar]:
            for counter, target in zip(counters, targets, strict=True):
                b.store(b.cast(counter, "int64"), target, [position])
            return ()

        b.branch(position < count, store, lambda: ())
        return position + b.cast(is_set, "index")

    over([], b.index(0))


def element_dtype(x: SSAValue, is_unsigned: bool = False) -> str:
    """The builder's dtype of a tensor's elements, whose IR type does not record signedness."""
    assert isinstance(x.type, TensorType)
    match x.type.element_type:
        case kind if kind in DTYPE_OF_FLOAT:
            return DTYPE_OF_FLOAT[kind]
        case IntegerType() as kind:
            if kind.width.data == 1:
                return "bool"
            return f"{'uint' if is_unsigned else 'int'}{kind.width.data}"
        case kind:
            assert isinstance(kind, IndexType)
            return "index"
