"""Patterns of compressed matrices, which consist of two buffers of int32 or int64, as operands of kernels."""

from __future__ import annotations

from typing import NamedTuple

from xdsl.ir import SSAValue

from aotensor.ir.dialect_sparse import PatternOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.shape_cache import is_wanted


class PatternOperands(NamedTuple):
    """The pattern of a compressed matrix as an argument of kernels, where it is `kernels.patterns.Pattern`."""

    indices: SSAValue
    indptr: SSAValue
    slices: Extent
    entries: Extent


def pattern_of(b: LoopBuilder, buffers: Buffers, op: PatternOp, first: int) -> PatternOperands:
    """The pattern whose indices and indptr are operands `first` and `first + 1` of an operation."""
    indices, indptr = op.arguments[first : first + 2]
    slices, entries = buffers.shape(indptr)[0] - 1, buffers.shape(indices)[0]
    return PatternOperands(buffers.buffer(indices), buffers.buffer(indptr), slices, entries)


def used_buffers(buffers: Buffers, op: PatternOp, always: int | None = None) -> list[SSAValue | None]:
    """The buffers of an operation's results; None for unused ones except result number `always`."""
    return [buffers.buffer(x) if k == always or is_wanted(x) else None for k, x in enumerate(op.tensors)]
