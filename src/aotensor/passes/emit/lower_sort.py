"""Lower `aot.sort`: the kernel of a line (`kernels.sorting`), in chunks of lines or in chunks of a single long line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from xdsl.ir import SSAValue

from aotensor.ir.dialect import SortOp
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.nest.ops import PARALLEL_LINES
from aotensor.ir.scalar_builder import Scalar
from aotensor.kernels import sorting
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.lower_window import STEP, element_dtype
from aotensor.passes.emit.parallel_lines import each_line
from aotensor.passes.kernels.translate import inline_kernel
from aotensor.passes.kernels.values import Vector, allocate_vector
from aotensor.passes.nest.work import rows_of_chunk
from aotensor.passes.target import Target

_MERGE: Final = 2 * STEP
"""The work of moving an element in a merge."""


def lower_sort(b: LoopBuilder, buffers: Buffers, op: SortOp, target: Target) -> None:
    """Sort each line along the axis, stable, nan last, with two lines of scratch."""
    axis, shape = op.axis.value.data, buffers.shape(op.source)
    length, others = shape[axis], [n for d, n in enumerate(shape) if d != axis]
    dtype = element_dtype(op.source, is_unsigned=op.unsigned is not None)
    source, values, permutation = (buffers.buffer(x) for x in (op.source, op.values, op.permutation))
    is_cut = PARALLEL_LINES in op.attributes and not others
    size = rows_of_chunk(b, length, _MERGE, target.chunk_work, target.most_chunks, target.row_group) if is_cut else 0
    if isinstance(size, int) and isinstance(length, int) and size >= length:
        is_cut = False

    def begin() -> Callable[[list[Scalar]], None]:
        scratch = allocate_vector(b, dtype, length), allocate_vector(b, "int64", length)

        def sort(where: list[Scalar]) -> None:
            def line(buffer: SSAValue, dtype: str) -> Vector:
                return Vector(buffer, dtype, lambda k: [*where[:axis], k, *where[axis:]])

            lines = line(source, dtype), (line(values, dtype), line(permutation, "int64")), scratch
            if is_cut:
                rounds = ((target.most_chunks - 1).bit_length() + 1) // 2
                inline_kernel(b, sorting.sort_on_cores, *lines, length, size, rounds)
            else:
                inline_kernel(b, sorting.sort_chunk, *lines, 0, length)

        return sort

    each_line(b, op, target, others, length * (STEP * sorting.LARGEST // 2), begin)
