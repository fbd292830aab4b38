"""Fuse loops, from the outermost inwards.

    for i: for k: z[i] += X[i,k]·w[k]            for i:
    for i: r[i] = f(z[i], y[i])                    for k: z[i] += X[i,k]·w[k]
    for i: for k: g[k] += X[i,k]·r[i]      →       r[i] = f(z[i], y[i])
    for i: l += h(z[i])                            for k: g[k] += X[i,k]·r[i]
                                                   l += h(z[i])

Two statements may share a loop of equal extent if every value that flows between them is complete, for one iteration of
that loop, before it is read. Statements are visited in program order, and each joins the last loop that it may join
with profit: it reads a result of the loop, or an operand that the loop reads along the same axis. Only without such a
loop does a statement that was deferred to its reader join one that it shares nothing with. A result may be read
at computed indices, if the index along the axis of the loop is the loop's counter, as in y[i, k-1]. Greedy typed fusion
as in Kennedy & McKinley (1993), with reuse of operands as the profit. A loop that adds at positions which it reads, as
in g[p[i]] += …, is not vectorized: statements join it only if they compute less than the shared loop saves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import CheckOp
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.nest.tree import (
    Derivation,
    axis_of,
    gather_accesses,
    gathers,
    gives_positions,
    merged_loops,
    range_of,
    scatters_along,
)
from aotensor.passes.nest.fusion.order import Item, is_scalar, items_of, operands_first, sink_to_readers
from aotensor.passes.nest.work import arithmetic_along
from aotensor.passes.registry import Option, ir_pass
from aotensor.passes.remarks import applied, are_enabled, missed

_PASSING: Final = 2
_READING: Final = 2
_GATHERING: Final = 8
"""Cost, in scalar operations, that a shared loop saves: for an element that is written and read, for one that is
read, and for one at a computed index, which vectors do not make faster."""

_MOST_STREAMS: Final = 32
"""Largest number of tensors in a loop that a statement may join without sharing one. More streams than the processor
prefetches bring nothing, and LLVM's time grows with the square of them: 300 vectors, each with its gradient, took 12
s in one loop."""

Axis: TypeAlias = "tuple[int, Derivation]"
_ALLOWS: Final = {
    "that loop has the largest number of statements": "raise it: --passes ...,fuse{max-statements=64},...",
    "their loops have no common outer extent": "give both an outer axis under one named dim",
    "it gathers from that loop's results": "use slices, or index arrays along other axes than that of the loop",
}
"""Reason why a statement is not fused → hint how to change that; statements that need a complete value have no hint."""


@ir_pass(
    "fuse",
    level="nest",
    topic="loops",
    reference="decisions/0002-fusion-is-a-loop-tree.md",
    options={
        "max-statements": Option(1, 1 << 20, "largest number of statements of a loop into which others are fused"),
        "reorder": Option(
            0, 1, "1, the default: statements may be reordered, so that more of them share loops; 0: program order"
        ),
    },
)
def fuse(module: ModuleOp, max_statements: int | None = None, reorder: int = 1) -> None:
    """Fuses statements with loops of equal extent, if every value between them is complete, for one iteration,
    before it is read, or if they read an operand along the same axis. A scatter is not fused with expensive
    statements. A vector that a sweep over a matrix needs is computed before it, so that both sweeps are one.

    max_statements: of a loop, or None. reorder: may statements leave program order? 0 or 1
    """
    for function in functions_of(module):
        _fuse_block(function.body.block, max_statements, bool(reorder))


@dataclass(eq=False)
class _Slot:
    """A position in the new order: a loop that members share, or one operation; then scalars that use its results.

    shared: for each member, the loop that became the shared one. made: written value → the axes that the loop iterates
    over. along: read tensor → the axes that the loop iterates over. arithmetic, gathers: amounts summed over the
    members. jumps: does a member scatter-add at positions that the loop reads?
    """

    members: list[Item]
    shared: list[LoopOp] = field(default_factory=list)
    made: dict[SSAValue, set[Axis | None]] = field(default_factory=lambda: defaultdict(set))
    along: dict[SSAValue, set[Axis]] = field(default_factory=lambda: defaultdict(set))
    arithmetic: int = 0
    jumps: bool = False
    gathers: int = 0
    tail: list[Operation] = field(default_factory=list)

    @property
    def streams(self) -> int:
        """The number of distinct tensors that the loop reads or writes."""
        return len(self.made.keys() | self.along.keys())

    def add(self, item: Item, loop: LoopOp) -> None:
        assert item.statement is not None
        for x, subscripts in item.statement.writes:
            self.made[x].add(axis_of(subscripts, loop))
        self.members.append(item)
        self.shared.append(loop)
        self.arithmetic += arithmetic_along(item.statement, loop)
        self.gathers += len(gathers(item.statement))
        self.jumps |= _scatters(item.statement, loop)
        for x, subscripts in item.statement.reads:
            if (axis := axis_of(subscripts, loop)) is not None:
                self.along[x].add(axis)


def _fuse_block(block: Block, most: int | None, reorders: bool) -> None:
    is_top_level = isinstance(block.parent_op(), func.FuncOp)
    items = items_of(block)
    prologue, slots = _Arrangement(is_top_level, most).run(
        operands_first(sink_to_readers(items)) if reorders else items
    )
    terminator = block.last_op if is_top_level else None
    for op in list(block.ops):
        if op is not terminator:
            block.detach_op(op)
    ordered: list[Operation] = list(prologue)
    for slot in slots:
        ordered += [declaration for item in slot.members for declaration in item.declarations]
        ordered += [
            merged_loops([item.loops for item in slot.members], slot.shared) if slot.shared else slot.members[0].root,
            *slot.tail,
        ]
    if terminator is None:
        block.add_ops(ordered)
    else:
        block.insert_ops_before(ordered, terminator)
    for slot in slots:
        if slot.shared:
            _fuse_block(slot.shared[0].body.block, most, reorders)


class _Arrangement:
    """The arrangement of a block: the slots to which its items have been assigned."""

    def __init__(self, is_top_level: bool, most: int | None) -> None:
        self.is_top_level, self.most = is_top_level, most
        self.slots: list[_Slot] = []
        self.prologue: list[Operation] = []
        self.slot_of: dict[SSAValue, int] = {}
        self.inside: set[SSAValue] = set()
        """Values that statements make: they may be complete within the loop that makes them."""
        self.readers: dict[SSAValue, list[int]] = defaultdict(list)
        self.by_extent: dict[object, list[int]] = defaultdict(list)
        self.barrier = 0

    def run(self, items: Iterable[Item]) -> tuple[list[Operation], list[_Slot]]:
        for item in items:
            behind = [x for x in item.needs if x in self.slot_of]
            earliest = self._earliest(item)
            if item.reader is not None and item.reader.loops:  # before the reader's loop it would need memory
                earliest = max(earliest, self._earliest(item.reader))
            if item.statement is not None and item.loops:
                where = self._join(item, earliest)
                self.inside.update(item.makes)
            elif item.statement is None and is_scalar(item.root):
                where = max([earliest, *(self.slot_of[x] + 1 for x in behind)]) - 1
                (self.slots[where].tail if where >= 0 else self.prologue).append(item.root)
            else:
                self.slots.append(_Slot([item]))
                where = len(self.slots) - 1
            self.slot_of.update(dict.fromkeys(item.makes, where))
            if self.is_top_level and isinstance(item.root, CheckOp):
                self.barrier = where + 1
        return self.prologue, self.slots

    def _earliest(self, item: Item) -> int:
        """The first slot in which an item may be placed, given the slots of the values that it needs."""
        found = (self.slot_of[x] + (x not in self.inside) for x in item.needs if x in self.slot_of)
        return max([self.barrier, *found])

    def _join(self, item: Item, earliest: int) -> int:
        """Return the slot of a nest: the last one that it may join with profit, or a new one."""
        assert item.statement is not None
        candidates = {self.slot_of[x] for x in item.statement.inputs if x in self.inside}
        gathered = {self.slot_of[x] for x in gathers(item.statement) if x in self.inside}
        candidates.update(slot for x in item.statement.inputs for slot in self.readers[x])
        if item.is_part:
            candidates.update(self.slot_of[x] for x in item.makes if x in self.inside)
        candidates |= gathered
        others: set[int] = set()
        if item.is_deferred:
            others.update(slot for loop in item.loops for slot in self.by_extent[range_of(loop)])
        for where in [*sorted(candidates, reverse=True), *sorted(others - candidates, reverse=True)]:
            if where < earliest:
                continue
            if self.most is not None and len(self.slots[where].members) >= self.most:
                continue
            loop = self._common_loop(item, item.statement, self.slots[where])
            if loop is not None:
                if are_enabled():
                    shared = [
                        x for x in item.statement.inputs if x in self.slots[where].made or x in self.slots[where].along
                    ]
                    first = self.slots[where].members[0].statement
                    message = (
                        "fused {} into the loop of {}: they share operands"
                        if shared
                        else "fused {} into the loop of {}"
                    )
                    applied(message, item.statement, first, size=shared)
                return self._add(item, loop, where)
        if (candidates or others) and are_enabled():
            self._report_not_fused(item, max(candidates | others), earliest)
        self.slots.append(_Slot([]))
        return self._add(item, item.loops[0], len(self.slots) - 1)

    def _report_not_fused(self, item: Item, where: int, earliest: int) -> None:
        """Write the remark that says why a nest does not join the last loop that it shares operands with."""
        slot, statement = self.slots[where], item.statement
        if not slot.members or statement is None:
            return
        reason = "an iteration would read the results of other iterations"
        if self.most is not None and len(slot.members) >= self.most:
            reason = "that loop has the largest number of statements"
        elif where < earliest:
            reason = "it reads a value that is complete only after that loop"
        elif not slot.shared or not _candidates(item.loops, slot.shared[0]):
            reason = "their loops have no common outer extent"
        elif item.is_deferred and slot.streams >= _MOST_STREAMS:
            reason = f"it shares no operand with that loop, which streams {slot.streams} tensors"
        elif not slot.made.keys().isdisjoint(gathers(statement)):
            reason = "it gathers from that loop's results"
        elif any(_needs_vectors(statement, loop, slot) for loop in _candidates(item.loops, slot.shared[0])):
            reason = "one is a scalar scatter, and the other is expensive and vectorized"
        what, hint = "{} not fused with {}: {}", _ALLOWS.get(reason, "")
        missed(what, statement, slot.members[0].root, reason, hint=hint)

    def _add(self, item: Item, loop: LoopOp, where: int) -> int:
        assert item.statement is not None
        slot = self.slots[where]
        if not slot.members:
            self.by_extent[range_of(loop)].append(where)
        slot.add(item, loop)
        for x in item.statement.inputs:
            if not self.readers[x] or self.readers[x][-1] != where:
                self.readers[x].append(where)
        return where

    def _common_loop(self, item: Item, statement: DoOp, slot: _Slot) -> LoopOp | None:
        """The loop of a nest that may become the shared loop of a slot; None if there is none."""
        if not slot.shared:
            return None
        reads: list[tuple[SSAValue, Sequence[Subscript]]] = [*statement.reads, *gather_accesses(statement)]
        flows = [x for x in dict.fromkeys(x for x, _ in reads) if x in slot.made]
        for loop in _candidates(item.loops, slot.shared[0]):
            if _needs_vectors(statement, loop, slot):
                continue
            if flows:
                if all(_access_same_elements(x, slot, reads, loop) for x in flows):
                    return loop
            elif (
                (item.is_deferred and slot.streams < _MOST_STREAMS)
                or _shares_operand(statement, loop, slot)
                or _writes_other_parts(item, statement, loop, slot)
            ):
                return loop
        return None


def _candidates(loops: Sequence[LoopOp], shared: LoopOp) -> list[LoopOp]:
    """The loops of a nest that could become both the loop of a slot and the nest's outermost loop."""
    found = [loop for loop in loops if range_of(loop) == range_of(shared)]
    slices = [loop for loop in loops if any(isinstance(e, EntriesOp) and e.slice is loop.counter for e in loops)]
    if slices:  # the loop over slices encloses the loop over entries
        return [loop for loop in found if loop in slices]
    if len(loops) > 1:  # the loop of unit stride stays innermost
        return [loop for loop in found if loop is not loops[-1] and not _encloses_dynamic_loop(loop, loops)]
    return found


def _encloses_dynamic_loop(loop: LoopOp, loops: Sequence[LoopOp]) -> bool:
    """True if moving the loop outwards would put a loop of known, hence small, extent around one of unknown extent.

    Values of the inner loop would then be kept for all its iterations, while those of the small loop fit in cache.
    """
    return _is_known(loop) and not all(map(_is_known, loops[: loops.index(loop)]))


def _is_known(loop: LoopOp) -> bool:
    return isinstance(loop, ForOp) and isinstance(loop.upper.owner, arith.ConstantOp)


def _access_same_elements(
    x: SSAValue, slot: _Slot, accesses: Iterable[tuple[SSAValue, Sequence[Subscript]]], loop: LoopOp
) -> bool:
    """True if iteration t of the loop accesses exactly the elements of `x` that iteration t of the slot completes."""
    axes = slot.made[x] | {axis_of(at, loop) for y, at in accesses if y is x}
    return len(axes) == 1 and None not in axes


def _writes_other_parts(item: Item, statement: DoOp, loop: LoopOp, slot: _Slot) -> bool:
    """True if a member of the slot writes other parts of the rows that the statement writes."""
    return item.is_part and all(_access_same_elements(x, slot, statement.writes, loop) for x in item.makes)


def _shares_operand(statement: DoOp, loop: LoopOp, slot: _Slot) -> bool:
    """True if a member of the slot reads the same tensor along the same axis."""
    return any(
        x in slot.along and (axis := axis_of(subscripts, loop)) is not None and axis in slot.along[x]
        for x, subscripts in statement.reads
    )


def _scatters(statement: DoOp, loop: LoopOp) -> bool:
    """Does a statement scatter-add at positions read along a loop, or compute such positions?"""
    return scatters_along(statement, loop) or gives_positions(statement)


def _needs_vectors(statement: DoOp, loop: LoopOp, slot: _Slot) -> bool:
    """Would a scatter in the slot or the statement prevent vectorization of the other, at a cost above the saving?"""
    jumps = _scatters(statement, loop)
    if jumps == slot.jumps:
        return False
    work = slot.arithmetic if jumps else arithmetic_along(statement, loop)
    inputs = dict.fromkeys(statement.inputs)
    saved = sum(_PASSING if x in slot.made else _READING for x in inputs if x in slot.made or x in slot.along)
    saved += _GATHERING * (slot.gathers + len(gathers(statement))) + _PASSING * gives_positions(statement)
    return work > saved
