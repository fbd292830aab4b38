"""Lower `aot.cumulate` and `aot.recur`: the kernels of a line (`kernels.running`), and the chunks of a long line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from xdsl.ir import SSAValue

from aotensor.ir.dialect import CumulateOp, RecurOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.nest.ops import PARALLEL_LINES
from aotensor.ir.scalar_builder import NO_FAST_MATH, Scalar
from aotensor.kernels import running
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.lower_window import STEP, element_dtype
from aotensor.passes.emit.parallel_lines import each_line
from aotensor.passes.kernels.translate import inline_kernel
from aotensor.passes.kernels.values import Vector, allocate_vector
from aotensor.passes.nest.work import quotient, rows_of_chunk
from aotensor.passes.target import Target

_ADDITION: Final = 4
"""The work per element and pass of a running sum, in the unit of `nest.work`."""
_FEWEST: Final = 4
"""The smallest number of chunks of a line: with two, one core would sum the first while the other one idles."""


def lower_cumulate(b: LoopBuilder, buffers: Buffers, op: CumulateOp, target: Target) -> None:
    """Emit result[…, k, …] = Σ or Π of source[…, 0..k, …], in ascending order unless any order is permitted."""
    n, dtype = buffers.shape(op.source)[op.axis.value.data], element_dtype(op.source)
    is_last, is_sum = op.axis.value.data == len(buffers.shape(op.source)) - 1, op.kind.data == "add"

    def run(x: Vector, y: Vector) -> None:
        first = b.constant(0 if is_sum else 1, dtype)
        if not (op.is_reassociable and is_last):
            inline_kernel(b, running.accumulate, x, y, first, n, is_sum)
            return
        own, b.fastmath = b.fastmath, NO_FAST_MATH
        block = b.imin(n, target.line_elements)
        size = _chunk_size(b, block, target)
        is_short = isinstance(size, int) and isinstance(n, int) and size >= n
        if PARALLEL_LINES not in op.attributes or len(buffers.shape(op.source)) > 1 or is_short:
            inline_kernel(b, running.sum_part, x, y, 0, n, first, True, True)
        else:
            totals = allocate_vector(b, dtype, target.most_chunks)
            inline_kernel(b, running.sum_line, x, y, totals, n, target.line_elements, size)
        b.fastmath = own

    _along_lines(b, buffers, op, target, (op.source, op.result), run)


def lower_recur(b: LoopBuilder, buffers: Buffers, op: RecurOp, target: Target) -> None:
    """Emit result[…, k, …] = factors[…, k, …]·result[…, k − 1, …] + terms[…, k, …], in ascending order."""
    n = buffers.shape(op.terms)[op.axis.value.data]

    def run(*lines: Vector) -> None:
        own, b.fastmath = b.fastmath, op.fastmath
        inline_kernel(b, running.recur, *lines, n)
        b.fastmath = own

    _along_lines(b, buffers, op, target, (op.factors, op.terms, op.result), run)


def _along_lines(
    b: LoopBuilder, buffers: Buffers, op: CumulateOp | RecurOp, target: Target, tensors: Sequence[SSAValue],
    run: Callable[..., None],
) -> None:  # fmt: skip
    """Emit run(*lines of the tensors) for every line along the axis of an operation."""
    axis, shape = op.axis.value.data, buffers.shape(tensors[0])
    held = [(buffers.buffer(x), element_dtype(x)) for x in tensors]  # allocated outside of the loops over lines

    def line(where: list[Scalar]) -> None:
        run(*(Vector(buffer, dtype, lambda k: [*where[:axis], k, *where[axis:]]) for buffer, dtype in held))

    others = [n for d, n in enumerate(shape) if d != axis]
    each_line(b, op, target, others, shape[axis] * STEP, lambda: line)


def _chunk_size(b: LoopBuilder, block: Extent, target: Target) -> Extent:
    """The number of elements per chunk of a block; the whole block if it would have too few chunks."""
    group = running.GROUP
    size = rows_of_chunk(b, block, _ADDITION, target.chunk_work, target.most_chunks, group)
    all_groups = quotient(b, block + (group - 1), group) * group
    if isinstance(block, int) and isinstance(size, int):
        return size if block > (_FEWEST - 1) * size else all_groups
    is_cut = b.index(block) > size * (_FEWEST - 1)
    return b.select(is_cut, b.index(size), b.index(b.imax(all_groups, group)))
