"""Balance chunks of compressed rows by their number of entries.

    weight(i) = indptr[i] + i                        a row counts as one more entry
    share     = row · (weight(n) / n)                in integers, the mean with 16 fractional bits
    weight(row) ≈ share ? row : the first i with weight(i) ≥ share, as a multiple of the group

A chunk keeps its equal-rows start if that is close enough, which costs one lookup, so that matrices of equal rows pay
nothing. The slack of an eighth of a chunk is less than a chunk, so starts ascend in the order of the chunks. Products
stay in 64 bits below 2^47 rows and entries, which is more than processors can address.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects import scf
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.kernels.language import Index, Indices
from aotensor.passes.kernels.translate import inline_kernel

BALANCED: Final = "balanced"
"""Attribute of the `scf.if` that computes the start of a chunk; its then-branch keeps the equal-rows start."""
ONE: Final = 1 << 16
"""The fixed-point representation of a mean of one entry."""
SLACK: Final = 8
"""Chunks may miss their share by 1/SLACK of a chunk."""


def balanced_row(b: LoopBuilder, row: Extent, extent: Extent, size: Extent, group: Extent, indptr: SSAValue) -> Scalar:
    """The start of the chunk that would start at `row` if all rows had equally many entries.

    The arguments are those of `nest.balance`.
    """
    (found,) = inline_kernel(b, start_of_chunk, row, extent, size, group, indptr)
    assert isinstance(found, Scalar) and isinstance(found.ssa.owner, scf.IfOp)
    found.ssa.owner.attributes[BALANCED] = UnitAttr()
    return found


def start_of_chunk(row: Index, n: Index, size: Index, group: Index, indptr: Indices) -> Index:
    """The kernel of `balanced_row` for n rows."""
    mean = (indptr[n] + n) * ONE // n
    share = row * mean // ONE
    miss = indptr[row] + row - share
    slack = size * mean // (ONE * SLACK)
    if row == n or max(miss, -miss) <= slack:
        found = row
    else:
        low, high = 0, n
        while low < high:
            middle = (low + high) // 2
            is_below = indptr[middle] + middle < share
            low = middle + 1 if is_below else low
            high = high if is_below else middle
        found = low // group * group
    return found
