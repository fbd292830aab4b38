"""Overlapped tiling: let sweeps over neighbouring rows follow each other within tiles that stay in cache.

    %v = nest.value[%n, %m]                          nest.for %t in %n step %tile {
    nest.for %i in %n {                                %v = nest.value[%m] folded : tensor<8x?xf64>
      … -> (%v[%i, %j])                                nest.for %s = %t - 1 to %t + %tile + 1 step 6 {
    }                                          →         nest.for %i = %s to %s + 6 { … -> (%v[%i, %j]) }
    nest.for %i in %n {                                  nest.for %i = %s - 1 to %s + 5 {
      %v[%i - 1, %j] … %v[%i + 1, %j] …                    %v[%i - 1, %j] … %v[%i + 1, %j] … -> (%w[%i, %j])
        -> (%w[%i, %j])                                  }
    }                                                } }

Loop skewing (Wolf & Lam, 1991) along rows, with a sliding window of each intermediate value (storage folding, as in
Halide): row i of eight is stored at i modulo 8. Tiles are independent and run on any cores: each also computes the few
rows before and after it that its last sweep depends on (overlapped tiling, Krishnamoorthy et al., 2007); an element
that two tiles compute is the same in both. Tiles are long enough to make this overhead small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import Final, TypeAlias

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Block, SSAValue

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import ExtractIfOp
from aotensor.ir.index_builder import Extent, IndexBuilder
from aotensor.ir.location import builder_at_end, builder_before, locate
from aotensor.ir.nest.loops import ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp, ValueOp
from aotensor.ir.nest.strides import split_by_counter
from aotensor.ir.nest.tree import is_register, statements
from aotensor.ir.scalar_builder import CONTRACT, Scalar
from aotensor.ir.types import element_bytes, index
from aotensor.ir.upstream import walk
from aotensor.passes.nest.work import quotient
from aotensor.passes.registry import Option, ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.target import Target

Read: TypeAlias = tensor.ExtractOp | ExtractIfOp
Bounds: TypeAlias = tuple[int, int]
_FARTHEST: Final = 16
"""Largest distance of rows that a sweep may read: beyond it, most of a tile would be computed twice."""


@ir_pass(
    "overlapped-tiling",
    level="nest",
    topic="loops",
    reference="decisions/0027-sweeps-follow-each-other.md",
    former="tile-sweeps",
    options={
        "together": Option(2, 64, "most loops that are tiled together, 2 to 64", ("sweeps_together",)),
        "window": Option(1, 64, "smallest number of rows of a tile", ("window_rows",)),
    },
)
def overlapped_tiling(module: ModuleOp, target: Target) -> None:
    """Overlapped tiling of up to ten loops over rows that read neighbouring rows of their predecessor (stencil
    sweeps): they follow each other over tiles of rows; a window of the last rows of each intermediate (`folded`)
    stays in the cache; tiles run in parallel.
    """
    for function in functions_of(module):
        for chain in list(_chains(function)):
            groups = -(-len(chain) // target.sweeps_together)
            bounds = [len(chain) * k // groups for k in range(groups + 1)]
            for first, last in pairwise(bounds):
                if last - first > 1 and not _is_small(chain[first:last], target):
                    _Tiling(chain[first:last], target).run()


def _is_small(loops: Sequence[ForOp], target: Target) -> bool:
    """Do the intermediate values of these loops fit in cache without tiling?"""
    sizes = [_bytes(value) for loop in loops[:-1] for value in _values_set_by_row(loop)]
    known = [n for n in sizes if n is not None]
    if len(known) < len(sizes) or 2 * max(known) > target.direct_bytes:
        return False
    missed("sweeps up to {} not tiled: their intermediate values fit the cache", loops[-1])
    return True


def _bytes(value: ValueOp) -> int | None:
    """The size in bytes of a value of static shape; None for a dynamic shape."""
    kind = value.result.type
    assert isinstance(kind, TensorType)
    shape = kind.get_shape()
    return None if DYNAMIC_INDEX in shape else prod(shape) * element_bytes(kind.element_type)


def _chains(function: func.FuncOp) -> Iterator[list[ForOp]]:
    """Chains of loops, in which only the next loop reads the results of a loop, at neighbouring rows."""
    chain: list[ForOp] = []
    for op in function.body.block.ops:
        if isinstance(op, ForOp):
            if chain and _can_be_tiled_with(op, chain[-1]):
                chain.append(op)
                continue
            if len(chain) > 1:
                yield chain
            chain = [op] if _is_sweep(op) else []
        elif not isinstance(op, ValueOp) and not op.name.startswith("arith."):
            if len(chain) > 1:
                yield chain
            chain = []


def _is_sweep(loop: ForOp) -> bool:
    """Can a loop over all rows be run tile by tile, with overlapping tiles?"""
    return loop.is_whole and not loop.schedule.is_grouped and all(
        isinstance(op, LoopOp | ValueOp | DoOp) or op.name.startswith("arith.") or isinstance(op.parent_op(), DoOp)
        for op in walk(loop) if op is not loop
    )  # fmt: skip


def _can_be_tiled_with(loop: ForOp, before: ForOp) -> bool:
    """May a loop be tiled together with the preceding one, and does that save memory traffic?"""
    if not _is_sweep(loop) or loop.upper is not before.upper or _overwrites(loop):
        return False
    values = _values_set_by_row(before)
    if not values or not all(_has_single_reader(value, before, loop) for value in values):
        return False
    reach = _reach_of(values, loop)
    if max(map(abs, reach)) > _FARTHEST:
        missed("{} not tiled with other sweeps: it reads distant rows", loop, size=[values[0].result])
    return 0 < max(map(abs, reach)) <= _FARTHEST  # a loop that reads only its own row is fused instead, if possible


def _reach_of(values: Sequence[ValueOp], loop: ForOp) -> Bounds:
    """The range of row offsets, including 0, at which a loop reads values."""
    found = [_offset_range(i, loop) or (0, 0) for value in values for i in _rows(value.result, loop)]
    return min(low for low, _ in found), max(high for _, high in found)


def _values_set_by_row(loop: ForOp) -> list[ValueOp]:
    """The values declared outside of a loop that it sets row by row; empty if it writes one in another way."""
    found: dict[ValueOp, None] = {}
    for statement in statements(loop):
        for x, subscripts in statement.writes:
            value = x.owner
            if not isinstance(value, ValueOp) or loop.is_ancestor(value):
                continue
            if value.init is not None or statement.scatter is not None or not subscripts or is_register(x):
                return []
            if subscripts[0] is not loop.counter or len(subscripts) == 1:
                return []
            found[value] = None
    return list(found)


def _overwrites(loop: ForOp) -> bool:
    """Does a loop overwrite memory of another value, which an earlier loop may read for another tile?"""
    return any(isinstance(x.owner, ValueOp) and x.owner.over is not None for op in statements(loop) for x in op.outputs)


def _has_single_reader(value: ValueOp, maker: ForOp, reader: ForOp) -> bool:
    """Is `reader` the only other loop that uses a value, at rows near its own row?"""
    if value.output is not None or value.over is not None or value.first is not None:
        return False
    for use in value.result.uses:
        op = use.operation
        inside = op.parent_op() if isinstance(op, Read) else op
        if not isinstance(inside, DoOp) or not (maker.is_ancestor(inside) or reader.is_ancestor(inside)):
            return False
    return all(i is maker.counter for i in _rows(value.result, maker)) and all(
        _offset_range(i, reader) is not None for i in _rows(value.result, reader)
    )


def _rows(x: SSAValue, loop: ForOp) -> list[SSAValue | int]:
    """The row subscripts by which statements of a loop access a value."""
    found: list[SSAValue | int] = []
    for op in statements(loop):
        found += [subscripts[0] for y, subscripts in (*op.reads, *op.writes) if y is x]
        found += [inner.indices[0] for inner in op.body.block.ops if isinstance(inner, Read) and inner.tensor is x]
    return found


def _offset_range(row: SSAValue | int, loop: ForOp) -> Bounds | None:
    """The range of offsets between a row subscript and the loop's own row; None if unknown."""
    found = split_by_counter(row, loop) if isinstance(row, SSAValue) else None
    if found is None:
        return None
    added, subtracted = map(list, found)
    low = high = 0
    for x in list(subtracted):
        other = next((y for y in added if _difference(y, x) is not None), None)
        if other is not None:
            least, most = _difference(other, x) or (0, 0)
            low, high = low + least, high + most
            added.remove(other)
            subtracted.remove(x)
    for sign, xs in ((1, added), (-1, subtracted)):
        for x in xs:
            bounds = _bounds(x)
            if bounds is None:
                return None
            low, high = low + min(sign * n for n in bounds), high + max(sign * n for n in bounds)
    return low, high


def _difference(x: SSAValue, y: SSAValue) -> Bounds | None:
    """Bounds of the difference x − y, if x and y are equal, or constants clamped by the same extent; else None."""
    if x is y:
        return 0, 0
    if isinstance(x.owner, arith.MinSIOp) and isinstance(y.owner, arith.MinSIOp):
        for one, limit in (x.owner.operands, x.owner.operands[::-1]):
            for other, same in (y.owner.operands, y.owner.operands[::-1]):
                a, b = _number(one), _number(other)
                if limit is same and a is not None and b is not None:
                    return min(a - b, 0), max(a - b, 0)
    return None


def _bounds(x: SSAValue) -> Bounds | None:
    """Bounds of an index that depends only on extents and constants."""
    n = _number(x)
    if n is not None:
        return n, n
    if isinstance(x.owner, arith.MinSIOp):  # extents are nonnegative
        for one, other in (x.owner.operands, x.owner.operands[::-1]):
            n = _number(one)
            if n is not None and n >= 0 and isinstance(other.owner, tensor.DimOp):
                return 0, n
    return None


def _number(x: SSAValue) -> int | None:
    """The integer of a constant; None for any other value."""
    op = x.owner
    return op.value.value.data if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr) else None


class _Tiling:
    """Tiles a chain of loops.

    before, behind: numbers of rows that each loop computes before and after a tile. distances: numbers of rows by which
    each loop lags behind the first one.
    """

    def __init__(self, loops: Sequence[ForOp], target: Target) -> None:
        self.loops, self.target = loops, target
        self.values = [*map(_values_set_by_row, loops[:-1]), []]
        self.before, self.behind, self.reaches = [0], [0], [0]
        for values, loop in reversed(list(zip(self.values, loops[1:], strict=False))):
            low, high = _reach_of(values, loop)
            self.before.insert(0, self.before[0] - low)
            self.behind.insert(0, self.behind[0] + high)
            self.reaches.insert(0, high - low)
        self.distances = [self.behind[0] - n for n in self.behind]
        self.window = 1 << (max(self.reaches) + target.window_rows - 1).bit_length()
        self.b = IndexBuilder(builder_before(loops[-1]), CONTRACT)

    def run(self) -> None:
        loops, b, last = self.loops, self.b, self.loops[-1]
        handed_on = [value.result for values in self.values for value in values]
        applied("overlapped {} sweeps up to {}, keeping {} rows of each", len(loops), last,
                self.window, size=handed_on)  # fmt: skip
        with b.active():
            size, zero, upper = b.index(self._rows()), b.index(0), Scalar(last.upper, "index")
        outer = Block(arg_types=[index])
        tiles = ForOp(last.upper, outer, step=size.ssa)
        builder_before(last).insert(tiles)
        start = Scalar(outer.args[0], "index")
        with IndexBuilder(builder_at_end(outer, last.location), CONTRACT).active() as b:
            end = b.imin(start + size, upper)
            lows = [b.imax(start + -n, zero) for n in self.before]
            highs = [b.imin(end + n, upper) for n in self.behind]
            for value in [value for values in self.values for value in values]:
                b.builder.insert(self._use_row_buffer(value))
            step = b.index(self.window - max(self.reaches))
            block = Block(arg_types=[index])
            stop = b.index(end + self.distances[-1]).ssa
            b.builder.insert(ForOp(stop, block, lower=b.index(lows[0]).ssa, step=step.ssa))
        with IndexBuilder(builder_at_end(block, last.location), CONTRACT).active() as b:
            for loop, low, high, distance in zip(loops, lows, highs, self.distances, strict=True):
                first = Scalar(block.args[0], "index") + -distance
                loop.set_bounds(b.index(b.imin(first + step, high)).ssa, b.index(b.imax(first, low)).ssa)
                assert loop.parent is not None
                b.builder.insert(loop.parent.detach_op(loop))
        locate(tiles, last.location)

    def _rows(self) -> Extent:
        """The number of rows per tile: an even number of tiles of equal length, long enough to repeat little work."""
        b, target, halo = self.b, self.target, max(self.before[0] + self.behind[0], 1)
        upper = b.as_extent(Scalar(self.loops[-1].upper, "index"))
        long = quotient(b, upper, 2 * halo * target.tile_per_halo) * 2
        short = quotient(b, upper, 2 * halo * target.least_per_halo) * 2
        count = b.imax(b.imax(long, b.imin(short, target.fewest_tiles)), 1)
        return b.imax(quotient(b, upper + (count - 1), count), 1)

    def _use_row_buffer(self, value: ValueOp) -> ValueOp:
        """Declare a buffer for the last rows of a value, and replace the value by it."""
        kind = value.result.type
        assert isinstance(kind, TensorType) and value.parent is not None
        sizes = list(value.sizes)[int(kind.get_shape()[0] == DYNAMIC_INDEX) :]
        own = ValueOp(sizes, TensorType(kind.element_type, [self.window, *kind.get_shape()[1:]]), is_folded=True)
        own.location = value.location
        own.result.name_hint = value.result.name_hint
        value.result.replace_all_uses_with(own.result)
        value.parent.erase_op(value)
        return own
