"""Sums over the entries of several slices at once: a vector for each slice, whose lanes are added in pairs at the end.

if the slices are `regular` and have as many entries each: for each of the 8 slices, entry by entry
else, for each of them: a vector of its sums, under a mask
  p = indptr[i]:  v = data[p …]·x[indices[p …]]
  while (p += 8) < indptr[i + 1]: v += …                             (rare)
y[i …] = lanes of the 8 vectors, added in pairs:

a0 a1 a2 a3     a0+a1 b0+b1 a2+a3 b2+b3     a b
b0 b1 b2 b3  →                           →           (here for two slices of four lanes)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseArrayBase, VectorType, i1, i64
from xdsl.ir import Attribute, SSAValue

from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.nest.loops import EntriesOp
from aotensor.ir.scalar_builder import NO_FAST_MATH, Scalar
from aotensor.ir.types import f64
from aotensor.passes.emit.frame import Frame, Lanes

if TYPE_CHECKING:
    from aotensor.passes.emit.tree import TreeEmitter


def emit_row_sums(tree: TreeEmitter, loop: EntriesOp, frame: Frame, sums: Sequence[SSAValue], count: int) -> None:
    """The loops over the entries of `count` slices; the registers `sums` hold a vector of their sums afterwards."""
    b = tree.b
    first, indptr = Scalar(frame.value(loop.slice), "index"), tree.memory.buffer(loop.indptr)
    ends = [b.position(indptr, b.add(first, b.index(r)) if r else first) for r in range(count + 1)]
    kind = VectorType(f64, [count])

    def by_vectors() -> list[Scalar]:
        rows = [_row(tree, loop, frame, sums, pair, kind) for pair in pairwise(ends)]
        return [Scalar(_add_lanes(b, list(vectors), count), "raw") for vectors in zip(*rows, strict=True)]

    def one_by_one() -> list[Scalar]:
        slices = [b.add(first, b.index(r)) if r else first for r in range(count)]
        rows = [_entries(tree, loop, frame, sums, at, pair) for at, pair in zip(slices, pairwise(ends), strict=True)]
        return [_vector_of(b, numbers, kind) for numbers in zip(*rows, strict=True)]

    if loop.regular is None:
        totals = by_vectors()
    else:
        totals = b.branch(_have_equal_lengths(b, indptr, first, count), one_by_one, by_vectors)
    for x, total in zip(sums, totals, strict=True):
        holder = frame.holder(x)
        start = holder.registers[x]
        assert start is not None
        begin = b.emit(vector.BroadcastOp(start, kind), "raw").ssa
        holder.registers[x] = b.emit(arith.AddfOp(begin, total.ssa, NO_FAST_MATH), "raw").ssa


def _have_equal_lengths(b: LoopBuilder, indptr: SSAValue, first: Scalar, count: int) -> Scalar:
    """Have so many slices as many entries each?"""
    starts, ends = (b.load_vector(indptr, [at], count, None).ssa for at in (first, b.add(first, b.index(1))))
    lengths = b.emit(arith.SubiOp(ends, starts), "raw").ssa
    assert isinstance(lengths.type, VectorType)
    element = lengths.type.element_type
    one = b.emit(vector.ExtractOp(lengths, [0], element), "raw").ssa
    equal = b.emit(vector.BroadcastOp(one, lengths.type), "raw").ssa
    differences = b.emit(arith.XOrIOp(lengths, equal), "raw").ssa
    properties: dict[str, Attribute] = {"kind": vector.CombiningKindAttr(vector.CombiningKindFlag.OR)}
    found = b.emit(
        vector.ReductionOp.create(operands=[differences], result_types=[element], properties=properties), "raw"
    )
    return b.emit(arith.CmpiOp(found.ssa, b.zero(element).ssa, "eq"), "bool")


def _entries(
    tree: TreeEmitter,
    loop: EntriesOp,
    frame: Frame,
    sums: Sequence[SSAValue],
    slice: Scalar,
    ends: tuple[Scalar, Scalar],
) -> list[Scalar]:
    """The sums of one slice, entry by entry."""

    def step(p: Scalar, carried: list[Scalar]) -> list[Scalar]:
        inner = Frame(frame, {loop.slice: slice.ssa, loop.counter: p.ssa})
        inner.registers.update((x, value.ssa) for x, value in zip(sums, carried, strict=True))
        tree.emit(loop.body.block.ops, [inner])
        return [Scalar(inner.registers[x], "raw") for x in sums]  # type: ignore[arg-type]

    return tree.b.loop(*ends, [tree.b.zero(f64)] * len(sums), step, is_vectorisable=False, is_unrolled=False)


def _vector_of(b: LoopBuilder, numbers: Sequence[Scalar], kind: VectorType[Attribute]) -> Scalar:
    """The vector that has these numbers in its lanes."""
    made = b.zero_vector(kind)
    for lane, x in enumerate(numbers):
        made = b.emit(vector.InsertOp(x.ssa, made, [lane]), "raw").ssa
    return Scalar(made, "raw")


def _row(
    tree: TreeEmitter,
    loop: EntriesOp,
    frame: Frame,
    sums: Sequence[SSAValue],
    ends: tuple[Scalar, Scalar],
    kind: VectorType[Attribute],
) -> list[SSAValue]:
    """A vector for each sum of one slice, whose lanes are still to be added."""
    b, (low, high) = tree.b, ends
    (count,) = kind.get_shape()

    def step(p: Scalar, carried: list[Scalar]) -> list[Scalar]:
        mask = b.emit(vector.CreateMaskOp([b.sub(high, p).ssa], VectorType(i1, [count])), "raw").ssa
        inner = frame.inside({loop.counter: p.ssa}, Lanes(loop.counter, count, mask))
        inner.registers.update((x, value.ssa) for x, value in zip(sums, carried, strict=True))
        tree.emit(loop.body.block.ops, [inner])
        return [Scalar(inner.registers[x], "raw") for x in sums]  # type: ignore[arg-type]

    begun = step(low, [Scalar(b.zero_vector(kind), "raw")] * len(sums))
    found = b.loop(b.iadd(low, count), high, begun, step, count, is_vectorisable=False, is_unrolled=False)
    return [x.ssa for x in found]


def _add_lanes(b: LoopBuilder, rows: list[SSAValue], n: int) -> SSAValue:
    """The sum over the lanes of each vector, in the lane of its number."""
    neighbours = [[k + odd + n * second for k in range(0, n, 2) for second in (0, 1)] for odd in (0, 1)]
    halves = [[k + j for k in range(start, 2 * n, 4) for j in (0, 1)] for start in (0, 2)]
    orders = neighbours
    while len(rows) > 1:
        rows = [_add_shuffled(b, x, y, orders, n) for x, y in zip(rows[::2], rows[1::2], strict=True)]
        orders = halves
    return rows[0]


def _add_shuffled(b: LoopBuilder, x: SSAValue, y: SSAValue, orders: Sequence[Sequence[int]], n: int) -> SSAValue:
    kind = VectorType(f64, [n])
    parts = [
        b.emit(vector.ShuffleOp(x, y, DenseArrayBase.from_list(i64, order), result_type=kind), "raw").ssa
        for order in orders
    ]
    return b.emit(arith.AddfOp(parts[0], parts[1], NO_FAST_MATH), "raw").ssa
