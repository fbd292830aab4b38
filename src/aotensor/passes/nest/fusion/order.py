"""The order in which `fuse` takes the statements of a block: program order, but for what would keep loops apart."""

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
    """An operation of a block, with the declarations of what it writes, while it looks for its slot.

    loops: of the nest that it is, the outermost first. needs: values that it uses from outside.
    """

    root: Operation
    position: int
    statement: DoOp | None = None
    loops: list[LoopOp] = field(default_factory=list)
    declarations: list[ValueOp] = field(default_factory=list)
    needs: dict[SSAValue, None] = field(default_factory=dict)
    is_part: bool = False
    """Others write to the same value."""
    is_deferred: bool = False
    """Put where it is needed first: it may join a loop that it shares nothing with."""
    reader: Item | None = None
    """Who needs a deferred statement first."""

    @property
    def makes(self) -> Sequence[SSAValue]:
        return self.statement.outputs if self.statement is not None else self.root.results


def items_of(block: Block) -> list[Item]:
    """The operations of a block, each with the declarations of what it writes."""
    items: list[Item] = []
    first: dict[SSAValue, Item] = {}
    """Who writes a value, or its first part."""
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


def deferred(items: Sequence[Item]) -> list[Item]:
    """Items in an order where elementwise statements of plain inputs stand right before their first reader.

    There they find the loop that the reader will join; in front of it they would open a loop of their own.
    """
    order: list[Item] = []
    maker: dict[SSAValue, Item] = {x: item for item in items for x in item.makes}
    waiting: set[Item] = set()
    ordered: set[Item] = set()

    def release(wanted: Iterable[Item], reader: Item | None = None) -> None:
        """Append waiting statements behind those that they need."""
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


def advanced(items: list[Item]) -> list[Item]:
    """Items in an order where what a reader needs beside a nest like its own, and is made of less, comes before that.

    Then the reader may join the loops of the nest: one sweep over a matrix where there were two, with a vector between.
    A deferred statement has its place already. A number between two loops stays there: the first one does not wait for
    it, and leaves a row in cache.
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
    """An item and all that it needs of those from a place on, in their order; nothing where one of them must stay."""
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
    """Statements in program order, but behind the others those that have the reader's outermost loop.

    A reader joins no loop in front of one that makes what it reads.
    """
    if reader is None or not reader.loops:
        return list(items)
    outermost, joined = range_of(reader.loops[0]), set[Item]()
    for item in items:
        if any(range_of(loop) == outermost for loop in item.loops) or any(maker.get(x) in joined for x in item.needs):
            joined.add(item)
    return sorted(items, key=lambda item: item in joined)


def is_scalar(op: Operation) -> bool:
    """Scalar arithmetic, whose position is right behind what it depends on. Checks stay in program order."""
    return not isinstance(op, CheckOp | LoopOp | DoOp) and not any(map(is_tensor, op.results))
