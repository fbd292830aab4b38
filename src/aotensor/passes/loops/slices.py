"""Operations on compressed axes as statements of a loop nest, and which other statements run entry by entry with them.

    %m = linalg.generic … ins(%data, %g)                 for i:
    %y = aot.segment_sum %m by %indptr         →           for p = indptr[i] … indptr[i + 1]:
                                                             y[i] += data[p]·g[p]

A slice dim (i) and an entry dim (p) belong together: the entries of all slices, one after the other, are all entries.
A statement over entries alone gets a slice dim that none of its operands has, and can then share both loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from aotensor.ir.dialect_sparse import ExpandSlicesOp, SegmentSumOp, SumAtOp

if TYPE_CHECKING:
    from aotensor.passes.loops.statements import ExtentKey, Extents, Statement

CompressedOp: TypeAlias = SegmentSumOp | ExpandSlicesOp | SumAtOp


@dataclass(frozen=True)
class SliceExtent:
    """The extent of a loop over the entries of one slice, which `indptr` says."""

    indptr: SSAValue


@dataclass(frozen=True)
class Slices:
    """The two dims of a statement that run over the slices, and over the entries of a slice."""

    slice: int
    entry: int
    indptr: SSAValue


@dataclass(frozen=True)
class Form:
    """What a fused operation is: operands by map, the dims, and what happens to the elements.

    inputs, starts: read, and begun with. scatter: the input that says where along the first axis of the result a term
    goes, if the result has no dim for it.
    """

    inputs: tuple[SSAValue, ...]
    starts: tuple[SSAValue, ...]
    maps: tuple[AffineMap, ...]
    is_reduction: tuple[bool, ...]
    body: Block
    scatter: SSAValue | None = None


def form_of(op: linalg.GenericOp | CompressedOp) -> Form:
    """The statement form of an operation. Dims of ours: slice, entry, then the axes behind; of aot.sum_at no slice."""
    if isinstance(op, linalg.GenericOp):
        kinds = tuple(t.data == IteratorType.REDUCTION for t in op.iterator_types)
        maps = tuple(m.data for m in op.indexing_maps)
        return Form(tuple(op.inputs), tuple(op.outputs), maps, kinds, op.body.block)
    assert isinstance(op.source.type, TensorType)
    behind = len(op.source.type.get_shape()) - 1
    if isinstance(op, SumAtOp):
        rest = range(1, behind + 1)
        maps = (*_maps(behind + 1, [0, *rest], [0]), _scattered(behind + 1, rest))
        kinds = (True, *[False] * behind)
        return Form((op.source, op.indices), (op.init,), maps, kinds, _adding(op, 2), scatter=op.indices)
    rest = range(2, behind + 2)
    by_slice, by_entry = [0, *rest], [1, *rest]
    if isinstance(op, ExpandSlicesOp):
        maps = _maps(behind + 2, by_slice, by_entry)
        return Form((op.source,), (op.into,), maps, (False,) * (behind + 2), _passing(op))
    maps = _maps(behind + 2, by_entry, by_slice)
    return Form((op.source,), (op.init,), maps, (False, True, *[False] * behind), _adding(op, 1))


def slices_of(op: Operation) -> Slices | None:
    """The slices that an operation names itself."""
    return Slices(0, 1, op.indptr) if isinstance(op, SegmentSumOp | ExpandSlicesOp) else None


def _maps(dims: int, *results: Sequence[int]) -> tuple[AffineMap, ...]:
    return tuple(AffineMap(dims, 0, tuple(AffineExpr.dimension(d) for d in found)) for found in results)


def _scattered(dims: int, rest: Sequence[int]) -> AffineMap:
    """The map of a result whose first index comes from memory; 0 stands for it."""
    return AffineMap(dims, 0, (AffineExpr.constant(0), *(AffineExpr.dimension(d) for d in rest)))


def _adding(op: SegmentSumOp | SumAtOp, inputs: int) -> Block:
    """accumulator + first input"""
    assert isinstance(op.source.type, TensorType)
    element = op.source.type.element_type
    types = [element] * (inputs + 1)
    if isinstance(op, SumAtOp):
        assert isinstance(op.indices.type, TensorType)
        types[1] = op.indices.type.element_type
    block = Block(arg_types=types)
    b = Builder(InsertPoint.at_end(block))
    value, accumulator = block.args[0], block.args[-1]
    is_float = isinstance(element, AnyFloat)
    total = b.insert(arith.AddfOp(accumulator, value, op.fastmath) if is_float else arith.AddiOp(accumulator, value))
    b.insert(linalg.YieldOp(total.result))
    return block


def _passing(op: ExpandSlicesOp) -> Block:
    assert isinstance(op.source.type, TensorType)
    block = Block(arg_types=[op.source.type.element_type] * 2)
    block.add_op(linalg.YieldOp(block.args[0]))
    return block


def spread_slices(statements: Sequence[Statement], extents: Extents) -> None:
    """Give slices to the statements over entries that feed operations on slices, or are fed by them.

    Where the same entries are divided in several ways, the first one holds.
    """
    divided: dict[ExtentKey, tuple[SSAValue, ExtentKey]] = {}
    for s in statements:
        if s.slices is not None:
            divided.setdefault(_entries_of(s, extents), (s.slices.indptr, s.extents[s.slices.slice]))
    if not divided:
        return
    made = {x: (s, s.entry_axis(map)) for s in statements for x, map in s.writes}
    pending = [s for s in statements if s.slices is not None]
    neighbours: dict[Statement, list[Statement]] = {s: [] for s in statements}
    for s in statements:
        for x, map in s.reads:
            maker, axis = made.get(x, (None, None))
            if maker is not None and axis is not None and axis == s.entry_axis(map):  # entry by entry, not by slice
                neighbours[s].append(maker)
                neighbours[maker].append(s)
    while pending:
        for s in neighbours[pending.pop()]:
            outermost = s.order[0]
            if s.slices is None and s.extents[outermost] in divided:
                indptr, count = divided[s.extents[outermost]]
                needed = [indptr, count] if isinstance(count, SSAValue) else [indptr]
                if all(is_known_before(x, s.op) for x in needed):  # else they may be made of what the statement gives
                    s.divide(indptr, count)
                    pending.append(s)


def is_known_before(x: SSAValue, op: Operation) -> bool:
    """Does a value stand in front of an operation of the same block?"""
    return not isinstance(x.owner, Operation) or x.owner.is_before_in_block(op)


def _entries_of(s: Statement, extents: Extents) -> ExtentKey:
    """How many entries the slices of an operation have together."""
    of = s.op.source if isinstance(s.op, SegmentSumOp) else s.op.results[0]
    return extents.shape(of)[0]
