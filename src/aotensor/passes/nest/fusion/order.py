"""The order in which `fuse` visits the statements of a block: program order, unless that prevents fusion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from aotensor.ir.dialect import CheckOp
from aotensor.ir.nest.loops import LoopOp
from aotensor.ir.nest.ops import DoOp, ValueOp
from aotensor.ir.nest.tree import is_tensor, is_updated, perfect_nest, range_of, sole_writer, used_values


@dataclass(eq=False)
class Item:
    """An operation of a block, with the declarations of the values that it writes, until `fuse` assigns it a slot.

    loops: the loops of its nest, the outermost first. needs: the outside values that it uses.
    """

    root: Operation
    position: int
    statement: DoOp | None = None
    loops: list[LoopOp] = field(default_factory=list)
    declarations: list[ValueOp] = field(default_factory=list)
    needs: dict[SSAValue, None] = field(default_factory=dict)
    is_part: bool = False
    """Does another statement write to the same value?"""
    is_deferred: bool = False
    """Moved to its first reader: it may join a loop that it shares no operand with."""
    reader: Item | None = None
    """The first item that needs a deferred statement."""

    @property
    def makes(self) -> Sequence[SSAValue]:
        return self.statement.outputs if self.statement is not None else self.root.results


def items_of(block: Block) -> list[Item]:
    """The items of a block: its operations, each with the declarations of the values that it writes."""
    items: list[Item] = []
    first: dict[SSAValue, Item] = {}
    """Value → the item that writes it, or its first part."""
    for position, op in enumerate(block.ops):
        if not isinstance(op, func.ReturnOp):
            loops, inner = perfect_nest(op)
            item = Item(op, position, inner if isinstance(inner, DoOp) else None, loops, needs=used_values(op))
            items.append(item)
            for x in item.makes if item.statement is not None else ():
                first.setdefault(x, item)
                item.is_part = item.is_part or sole_writer(x) is None
    for item in items:
        if isinstance(item.root, ValueOp) and (writer := first.get(item.root.result)) is not None:
            writer.declarations.append(item.root)
            writer.needs.update(dict.fromkeys(item.root.operands))
    return [item for item in items if not (isinstance(item.root, ValueOp) and item.root.result in first)]


def sink_to_readers(items: Sequence[Item]) -> list[Item]:
    """Reorder items so that elementwise statements of function inputs come right before their first reader.

    There they can join the loop that the reader will join; earlier, they would open a loop of their own.
    """
    order: list[Item] = []
    maker: dict[SSAValue, Item] = {x: item for item in items for x in item.makes}
    waiting: set[Item] = set()
    ordered: set[Item] = set()

    def release(wanted: Iterable[Item], reader: Item | None = None) -> None:
        """Append the waiting statements that a reader needs, each after the statements that it needs itself."""
        pending, found = [item for item in wanted if item in waiting], set[Item]()
        while pending:
            item = pending.pop()
            if item not in found:
                found.add(item)
                pending.extend(maker[x] for x in item.needs if x in maker and maker[x] in waiting)
        waiting.difference_update(found)
        for item in found:
            item.reader = reader
        order.extend(_joined_last(sorted(found, key=lambda item: item.position), reader, maker))

    for item in items:
        sources = [maker[x] for x in item.needs if x in maker]
        is_elementwise = item.statement is not None and not item.is_part and not any(map(is_updated, item.makes))
        if is_elementwise and ordered.isdisjoint(sources):
            item.is_deferred = True
            waiting.add(item)
            continue
        release(sources, item)
        order.append(item)
        if item.statement is not None:
            ordered.add(item)
    release(list(waiting))
    return order


def operands_first(items: list[Item]) -> list[Item]:
    """Reorder items so that a cheap operand of a reader precedes an operand whose nest has the reader's loops.

    Then the reader may join the loops of that nest: one sweep over a matrix instead of two with a vector between them.
    Statements that were deferred to their readers are not moved again, and neither are numbers: the first of two loops
    does not wait for a number, and leaves a row in cache for the second.
    """
    order, place = list(items), {item: k for k, item in enumerate(items)}
    maker: dict[SSAValue, Item] = {x: item for item in items for x in item.makes}
    for reader in items:
        if reader.statement is None or not reader.loops:
            continue
        sources = [maker[x] for x in reader.needs if x in maker]
        like = [item for item in sources if _ranges(item) == _ranges(reader)]
        for item in sources if like else ():
            first = min(place[x] for x in like)
            is_less = not item.is_deferred and 0 < len(item.loops) < len(reader.loops)
            if is_less and place[item] > first and (chain := _movable_chain(item, first, place, maker)):
                order = [*order[:first], *chain, *(x for x in order[first:] if x not in chain)]
                place = {x: k for k, x in enumerate(order)}
    return order


def _ranges(item: Item) -> list[object]:
    return [range_of(loop) for loop in item.loops]


def _movable_chain(
    item: Item, first: int, place: Mapping[Item, int], maker: Mapping[SSAValue, Item]
) -> dict[Item, None]:
    """The item and all items from place `first` on that it needs, in order; empty if one of them must not move."""
    chain, pending = set[Item](), [item]
    while pending:
        one = pending.pop()
        if one in chain or place[one] < first:
            continue
        is_free = one.statement is not None and not one.is_part and not any(map(is_updated, one.makes))
        if len(one.loops) > len(item.loops) or not (is_free or (one.statement is None and is_scalar(one.root))):
            return {}
        chain.add(one)
        pending += [maker[x] for x in one.needs if x in maker]
    return dict.fromkeys(sorted(chain, key=lambda one: place[one]))


def _joined_last(items: Sequence[Item], reader: Item | None, maker: Mapping[SSAValue, Item]) -> list[Item]:
    """Reorder items: those with the reader's outermost loop, and items that need their results, come last.

    A reader cannot join a loop that precedes the producer of one of its operands.
    """
    if reader is None or not reader.loops:
        return list(items)
    outermost, joined = range_of(reader.loops[0]), set[Item]()
    for item in items:
        if any(range_of(loop) == outermost for loop in item.loops) or any(maker.get(x) in joined for x in item.needs):
            joined.add(item)
    return sorted(items, key=lambda item: item in joined)


def is_scalar(op: Operation) -> bool:
    """Is the operation scalar arithmetic, to be placed right after its operands?

    Checks are not: they keep program order.
    """
    return not isinstance(op, CheckOp | LoopOp | DoOp) and not any(map(is_tensor, op.results))
