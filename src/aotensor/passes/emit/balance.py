"""Balance chunks of compressed rows by their number of entries.

    weight(i) = indptr[i] + i                        a row counts as one more entry
    share     = row · (weight(n) / n)                in integers, the mean with 16 fractional bits
    weight(row) ≈ share ? row : the first i with weight(i) ≥ share, as a multiple of the group

A chunk keeps its equal-rows start if that is close enough, which costs one lookup, so that matrices of equal rows pay
nothing. The slack of an eighth of a chunk is less than a chunk, so starts ascend in the order of the chunks. Products
stay in 64 bits below 2^47 rows and entries, which is more than processors can address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects import scf
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar

BALANCED: Final = "balanced"
"""Attribute of the `scf.if` that computes the start of a chunk; its then-branch keeps the equal-rows start."""
_ONE: Final = 1 << 16
"""The fixed-point representation of a mean of one entry."""
_SLACK: Final = 8
"""Chunks may miss their share by 1/_SLACK of a chunk."""


def balanced_row(b: LoopBuilder, row: Extent, extent: Extent, size: Extent, group: Extent, indptr: SSAValue) -> Scalar:
    """The start of the chunk that would start at `row` if all rows had equally many entries.

    The arguments are those of `nest.balance`.
    """

    def weight(i: Extent) -> Extent:
        return b.iadd(b.position(indptr, i), i)

    mean = b.ifloordiv(b.imul(weight(extent), _ONE), extent)
    share = b.ifloordiv(b.imul(row, mean), _ONE)
    slack = b.ifloordiv(b.imul(size, mean), _ONE * _SLACK)
    miss = b.isub(weight(row), share)
    is_near = b.compare("le", b.index(b.imax(miss, b.isub(0, miss))), b.index(slack))
    is_right = b.or_(b.compare("eq", b.index(row), b.index(extent)), is_near)

    def search() -> Sequence[Scalar]:
        def goes_on(bounds: list[Scalar]) -> Scalar:
            return b.compare("lt", *bounds)

        def halve(bounds: list[Scalar]) -> Sequence[Scalar]:
            low, high = bounds
            middle = b.index(b.ifloordiv(b.iadd(low, high), 2))
            is_below = b.compare("lt", b.index(weight(middle)), b.index(share))
            return [b.select(is_below, b.index(b.iadd(middle, 1)), low), b.select(is_below, high, middle)]

        found, _ = b.loop_while([b.index(0), b.index(extent)], goes_on, halve)
        return [b.index(b.imul(b.ifloordiv(found, group), group))]

    (result,) = b.branch(is_right, lambda: [b.index(row)], search)
    assert isinstance(result.ssa.owner, scf.IfOp)
    result.ssa.owner.attributes[BALANCED] = UnitAttr()
    return result
