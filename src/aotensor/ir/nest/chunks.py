"""Chunk sizes: operations that divide a loop among cores by the loop's work, instead of arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import I64, IndexType, IntegerAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class ChunkSizeOp(IRDLOperation):
    """Iterations per chunk: whole groups, such that the number of chunks is even, or one; each has enough work.

    extent: number of iterations. work: work per iteration. most: maximum number of chunks. group: chunks are multiples
    of this number of iterations. least: minimum work per chunk. The formula is `chunk_number`.
    """

    name = "nest.chunk_size"
    extent = operand_def(IndexType)
    work = operand_def(IndexType)
    most = operand_def(IndexType)
    group = operand_def(IndexType)
    least = prop_def(IntegerAttr[I64])
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$extent `work` $work `least` $least `most` $most `group` $group attr-dict"

    def __init__(self, least: int, *operands: SSAValue) -> None:
        """Create the operation. operands: extent, work, most, group. least: minimum work per chunk."""
        super().__init__(
            operands=list(operands),
            result_types=[IndexType()],
            properties={"least": IntegerAttr(least, i64)},
        )


@irdl_op_definition
class ChunksOp(IRDLOperation):
    """The number of chunks: ⌈extent / size⌉."""

    name = "nest.chunks"
    extent = operand_def(IndexType)
    size = operand_def(IndexType)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$extent `by` $size attr-dict"

    def __init__(self, extent: SSAValue, size: SSAValue) -> None:
        super().__init__(operands=[extent, size], result_types=[IndexType()])


KEYS: Final = ("work", "least", "most", "group")
"""The arguments of `chunk_size` in a table of sizes, after the extent."""


def chunk_number(op: ChunkSizeOp | ChunksOp, operands: Sequence[int]) -> int:
    """The integer that an operation of this module computes from integer operands."""
    if isinstance(op, ChunksOp):
        extent, size = operands
        return -(-extent // size)
    extent, work, most, group = operands
    chunks = max(min(extent * work // (2 * op.least.value.data), most // 2) * 2, 1)
    rows = max(-(-extent // chunks), 1)
    return -(-rows // group) * group
