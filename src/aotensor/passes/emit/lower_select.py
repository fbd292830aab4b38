"""Lower `aot.select`: the kernels of a line (`kernels.selection`), for all lines along the last axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aotensor.ir.dialect import SelectOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.nest.ops import BY_BLOCKS
from aotensor.ir.scalar_builder import Scalar
from aotensor.kernels import block_selection, selection
from aotensor.kernels.block_selection import SMALL, WORTH
from aotensor.kernels.selection import BLOCK
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
    is_last, by_blocks = op.kind.data == "last", BY_BLOCKS in op.attributes

    def begin() -> Callable[[list[Scalar]], None]:
        length = n if op.ranks is not None else _most_keys(b, n, many, by_blocks)
        memory = (
            allocate_vector(b, "int64", length + selection.TILE),
            allocate_vector(b, "int64", selection.SAMPLE),
            allocate_vector(b, "index", selection.SAMPLE),
        )
        kept = tuple(allocate_vector(b, kind, length) for kind in ("int64", "index") if op.ranks is None)

        def select(where: list[Scalar]) -> None:
            x, found = (Vector(v, kind, lambda k: [*where, k]) for v, kind in ((source, dtype), (positions, "int64")))
            if op.ranks is not None:
                inline_kernel(b, selection.at_ranks, x, n, buffers.buffer(op.ranks), many, found, memory)
            elif many != 0:
                inline_kernel(b, block_selection.at_one_end, x, n, many, is_last, by_blocks, found, memory, kept)

        return select

    passes = n * (_PASSES * STEP)
    each_line(b, op, target, others, passes if op.ranks is None else passes * many, begin)


def _most_keys(b: LoopBuilder, n: Extent, many: Extent, by_blocks: bool) -> Extent:
    """The largest number of keys that a selection of the first or last few stores."""
    if not by_blocks:
        return n
    blocks = (n + (BLOCK - 1)) // BLOCK
    return b.imax(blocks, b.imin(n, many * max(WORTH * SMALL, BLOCK)))
