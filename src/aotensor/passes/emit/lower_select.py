"""Lower `aot.select`: the kernels of a line (`kernels.selection`), for all lines along the last axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aotensor.ir.dialect import SelectOp
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.kernels import selection
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.lower_window import STEP, element_dtype
from aotensor.passes.emit.parallel_lines import each_line
from aotensor.passes.kernels.translate import inline_kernel
from aotensor.passes.kernels.values import Vector, allocate_vector
from aotensor.passes.target import Target

_PASSES: Final = 4
"""Work per element, in steps along a line."""


def lower_select(b: LoopBuilder, buffers: Buffers, op: SelectOp, target: Target) -> None:
    """Emit the positions of the elements at the given ranks, or of those at one end, line by line."""
    *others, n = buffers.shape(op.source)
    source, positions = buffers.buffer(op.source), buffers.buffer(op.positions)
    dtype, many = element_dtype(op.source, is_unsigned=op.unsigned is not None), buffers.shape(op.positions)[-1]

    def begin() -> Callable[[list[Scalar]], None]:
        memory = allocate_vector(b, "int64", n), allocate_vector(b, "int64", selection.SAMPLE)

        def select(where: list[Scalar]) -> None:
            x, found = (Vector(v, kind, lambda k: [*where, k]) for v, kind in ((source, dtype), (positions, "int64")))
            if op.ranks is not None:
                inline_kernel(b, selection.at_ranks, x, n, buffers.buffer(op.ranks), many, found, memory)
            elif many != 0:
                inline_kernel(b, selection.at_one_end, x, n, many, op.kind.data == "last", found, memory)

        return select

    passes = b.imul(n, _PASSES * STEP)
    each_line(b, op, target, others, passes if op.ranks is None else b.imul(passes, many), begin)
