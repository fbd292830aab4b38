"""Shape cache: values that `@f.extents` computes and passes on to `@f.kernel` (see the pass `reuse-shape-results`).

    @f.extents   %t = memref.alloc(%n) {kept}                   @f.kernel   %t = memref.view %kept0[0][%n]
                 its address and its bytes → %kept[0], %kept[1]

The caller of both functions passes the memory from one to the other, and frees it at the end of the call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Final

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DenseArrayBase, TensorType, UnitAttr, i64
from xdsl.ir import Operation, OpResult, SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder, memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import element_bytes

CACHED: Final = "nest.kept"
"""Attribute of an operation in both functions: for each result the number under which it is kept, or -1."""
NOT_FREED: Final = "kept"
"""Attribute of an allocation whose memory outlives the function."""


def set_kept(op: Operation, numbers: Sequence[int]) -> None:
    """Mark results of an operation as kept for the kernel, under the given numbers; −1: not kept."""
    op.attributes[CACHED] = DenseArrayBase.from_list(i64, numbers)


def kept_results(op: Operation) -> Iterator[tuple[int, SSAValue]]:
    """The results of an operation that are kept for the kernel, with their numbers."""
    numbers = op.attributes.get(CACHED)
    if isinstance(numbers, DenseArrayBase):
        yield from ((int(n), x) for n, x in zip(numbers.get_values(), op.results, strict=True) if n >= 0)


def is_wanted(x: OpResult) -> bool:
    """Is a result used in its function, or kept for the kernel?"""
    return bool(x.uses) or any(result is x for _, result in kept_results(x.op))


def kept_count(function: func.FuncOp) -> int:
    """The number of values that a function keeps for the kernel, or receives as the kernel."""
    return sum(1 for op in function.body.block.ops for _ in kept_results(op))


def keep(
    b: LoopBuilder, tables: Sequence[SSAValue], x: SSAValue, op: Operation, buffer: SSAValue, shape: Sequence[Extent]
) -> SSAValue:
    """Return `buffer`; if its value is kept for the kernel, record its address and size in the table.

    tables: the table alone, or nothing if the function keeps no values.
    """
    for number, result in kept_results(op):
        if result is not x:
            continue
        made = buffer.owner
        assert isinstance(made, memref.AllocOp) and isinstance(x.type, TensorType)
        made.attributes[NOT_FREED] = UnitAttr()
        address = b.emit(memref.ExtractAlignedPointerAsIndexOp.get(buffer), "index")
        (table,), size = tables, reduce(operator.mul, shape, element_bytes(x.type.element_type))
        for slot, value in enumerate((address, b.index(size))):
            b.store(b.cast(value, "int64"), table, [2 * number + slot])
    return buffer


def take(
    b: LoopBuilder, kept: Sequence[SSAValue], op: Operation, shape: Callable[[SSAValue], Sequence[Extent]]
) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The results of an operation that an earlier function has kept, with views of the buffers that hold them."""
    for number, x in kept_results(op):
        assert isinstance(x.type, TensorType)
        extents = shape(x)
        kind = memref_type_of(x.type.element_type, [n if isinstance(n, int) else None for n in extents])
        sizes = [n.ssa for n in extents if isinstance(n, Scalar)]
        yield x, b.emit(memref.ViewOp(kept[number], b.index(0).ssa, sizes, kind), "raw").ssa
