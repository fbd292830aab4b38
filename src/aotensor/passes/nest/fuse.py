"""Let statements share loops: fusion, from the outermost loop inwards.

    for i: for k: z[i] += X[i,k]·w[k]            for i:
    for i: r[i] = f(z[i], y[i])                    for k: z[i] += X[i,k]·w[k]
    for i: for k: g[k] += X[i,k]·r[i]      →       r[i] = f(z[i], y[i])
    for i: l += h(z[i])                            for k: g[k] += X[i,k]·r[i]
                                                   l += h(z[i])

Two statements may share a loop of equal extent if every value that flows between them is complete, for one iteration
of that loop, before it is read. Statements are taken in program order, and each joins the last loop that it may join to
its profit: it reads what the loop makes, or an operand that the loop reads along the same axis. Greedy typed fusion as
in Kennedy & McKinley (1993), with reuse of operands as the profit. A loop that adds at positions which it reads, as in
g[p[i]] += …, goes element by element: it is shared by what computes less than that saves.
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
    Way,
    axis_of,
    gathers,
    gives_positions,
    merged_loops,
    range_of,
    scatters_along,
)
from aotensor.passes.nest.fusion.order import Item, advanced, deferred, is_scalar, items_of
from aotensor.passes.nest.work import arithmetic_along
from aotensor.passes.remarks import applied, is_heard, missed

_PASSING: Final = 2
_READING: Final = 2
_GATHERING: Final = 8
"""Operations on single numbers that take as long as what a shared loop saves: an element that is written and read, one
that is read, and one at an index that is computed, which vectors do not make faster."""

_MOST_STREAMS: Final = 32
"""Tensors of a loop that what shares none of them may join. More streams than a processor fetches ahead bring nothing,
and LLVM's time grows with the square of them: 300 vectors, each with its gradient, took 12 s in one loop."""

Axis: TypeAlias = "tuple[int, Way]"
_ALLOWS: Final = {
    "that loop has the largest number of statements": "raise it: --passes ...,fuse{max-statements=64},...",
    "their loops have no common outer extent": "give both an outer axis under one named dim",
    "it gathers from that loop's results": "use slices instead of index arrays",
}
"""Why a statement is not fused → what would allow it; what needs a complete value waits for it in any program."""


def fuse(module: ModuleOp, most: int | None = None, reorders: bool = True) -> None:
    """Fuse the loops of every function.

    most: statements of a loop that others join, if there is a limit. reorders: may statements leave program order?
    """
    for function in functions_of(module):
        _fuse_block(function.body.block, most, reorders)


@dataclass(eq=False)
class _Slot:
    """A position in the new order: a loop that its members share, or a single operation; then scalars made of it.

    shared: the loop of each member that became the shared one. made: values, and the numbers of the members that write
    them. along: the tensors that members read, and along which axes the loop goes there. arithmetic, gathers: of
    the members. jumps: does one of them add at positions that the loop reads?
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
        """The number of tensors that the loop goes through."""
        return len(self.made.keys() | self.along.keys())

    def add(self, item: Item, loop: LoopOp) -> None:
        assert item.statement is not None
        for x, subscripts in item.statement.writes:
            self.made[x].add(axis_of(subscripts, loop))
        self.members.append(item)
        self.shared.append(loop)
        self.arithmetic += arithmetic_along(item.statement, loop)
        self.gathers += len(gathers(item.statement))
        self.jumps |= _jumps(item.statement, loop)
        for x, subscripts in item.statement.reads:
            if (axis := axis_of(subscripts, loop)) is not None:
                self.along[x].add(axis)


def _fuse_block(block: Block, most: int | None, reorders: bool) -> None:
    is_top_level = isinstance(block.parent_op(), func.FuncOp)
    items = items_of(block)
    prologue, slots = _Arrangement(is_top_level, most).run(advanced(deferred(items)) if reorders else items)
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
    """The slots that items come to."""

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
            if item.reader is not None and item.reader.loops:  # in front of the reader's loop it would need memory
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
        """The first slot that may hold an item, by what it needs of those that have one."""
        found = (self.slot_of[x] + (x not in self.inside) for x in item.needs if x in self.slot_of)
        return max([self.barrier, *found])

    def _join(self, item: Item, earliest: int) -> int:
        """The slot of a nest: the last one that it may join to its profit, or a new one."""
        assert item.statement is not None
        candidates = {self.slot_of[x] for x in item.statement.inputs if x in self.inside}
        candidates.update(slot for x in item.statement.inputs for slot in self.readers[x])
        if item.is_part:
            candidates.update(self.slot_of[x] for x in item.makes if x in self.inside)
        if item.is_deferred:
            candidates.update(slot for loop in item.loops for slot in self.by_extent[range_of(loop)])
        for where in sorted((slot for slot in candidates if slot >= earliest), reverse=True):
            if self.most is not None and len(self.slots[where].members) >= self.most:
                continue
            loop = self._common_loop(item, item.statement, self.slots[where])
            if loop is not None:
                if is_heard():
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
        if candidates and is_heard():
            self._report_apart(item, max(candidates), earliest)
        self.slots.append(_Slot([]))
        return self._add(item, item.loops[0], len(self.slots) - 1)

    def _report_apart(self, item: Item, where: int, earliest: int) -> None:
        """Say why a nest does not join the last loop that it shares something with."""
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
        """The loop of a nest that may become the shared one of a slot."""
        if not slot.shared or not slot.made.keys().isdisjoint(gathers(statement)):
            return None
        flows = [x for x in dict.fromkeys(statement.inputs) if x in slot.made]
        for loop in _candidates(item.loops, slot.shared[0]):
            if _needs_vectors(statement, loop, slot):
                continue
            if flows:
                if all(_meet_within(x, slot, statement.reads, loop) for x in flows):
                    return loop
            elif (
                (item.is_deferred and slot.streams < _MOST_STREAMS)
                or _shares_operand(statement, loop, slot)
                or _goes_beside(item, statement, loop, slot)
            ):
                return loop
        return None


def _candidates(loops: Sequence[LoopOp], shared: LoopOp) -> list[LoopOp]:
    """Loops of a nest that could become the shared one and outermost."""
    found = [loop for loop in loops if range_of(loop) == range_of(shared)]
    slices = [loop for loop in loops if any(isinstance(e, EntriesOp) and e.slice is loop.counter for e in loops)]
    if slices:  # a slice stands around its entries
        return [loop for loop in found if loop in slices]
    if len(loops) > 1:  # the loop along memory stays innermost
        return [loop for loop in found if loop is not loops[-1] and not _buries(loop, loops)]
    return found


def _buries(loop: LoopOp, loops: Sequence[LoopOp]) -> bool:
    """True if a loop of known, so small extent would come to stand around one of unknown extent.

    Values of the inner loop would then be kept for all its iterations, where those of the small one fit the cache.
    """
    return _is_known(loop) and not all(map(_is_known, loops[: loops.index(loop)]))


def _is_known(loop: LoopOp) -> bool:
    return isinstance(loop, ForOp) and isinstance(loop.upper.owner, arith.ConstantOp)


def _meet_within(
    x: SSAValue, slot: _Slot, accesses: Iterable[tuple[SSAValue, Sequence[Subscript]]], loop: LoopOp
) -> bool:
    """True if iteration t of the loop accesses of `x` just what iteration t of the slot's loop has completed."""
    axes = slot.made[x] | {axis_of(at, loop) for y, at in accesses if y is x}
    return len(axes) == 1 and None not in axes


def _goes_beside(item: Item, statement: DoOp, loop: LoopOp, slot: _Slot) -> bool:
    """True if some member of the slot writes other parts of the same rows."""
    return item.is_part and all(_meet_within(x, slot, statement.writes, loop) for x in item.makes)


def _shares_operand(statement: DoOp, loop: LoopOp, slot: _Slot) -> bool:
    """True if some member of the slot reads the same tensor along the same axis."""
    return any(
        x in slot.along and (axis := axis_of(subscripts, loop)) is not None and axis in slot.along[x]
        for x, subscripts in statement.reads
    )


def _jumps(statement: DoOp, loop: LoopOp) -> bool:
    """Does a statement add at positions that are read along a loop, or make such?"""
    return scatters_along(statement, loop) or gives_positions(statement)


def _needs_vectors(statement: DoOp, loop: LoopOp, slot: _Slot) -> bool:
    """Would one of them go element by element for the sake of the other's positions, and compute too much for that?"""
    jumps = _jumps(statement, loop)
    if jumps == slot.jumps:
        return False
    work = slot.arithmetic if jumps else arithmetic_along(statement, loop)
    inputs = dict.fromkeys(statement.inputs)
    saved = sum(_PASSING if x in slot.made else _READING for x in inputs if x in slot.made or x in slot.along)
    saved += _GATHERING * (slot.gathers + len(gathers(statement))) + _PASSING * gives_positions(statement)
    return work > saved
