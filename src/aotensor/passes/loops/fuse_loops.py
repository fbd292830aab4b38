"""Decide which statements share loops: the heart of fusion. Nothing is emitted here.

    z[i] = Σ_k X[i,k]·w[k]          for i:
    r[i] = f(z[i], y[i])              z = Σ_k X[i,k]·w[k]        (a register)
    g[k] = Σ_i X[i,k]·r[i]     →      r = f(z, y[i])             (a register)
    l    = Σ_i h(z[i])                for k: g[k] += X[i,k]·r
                                      l += h(z)

Two statements may share a loop of equal extent if every value that flows between them is complete, for one iteration
of that loop, before it is read. The rule is applied from the outermost loop inwards, greedily and in program order,
as in loop fusion by Kennedy & McKinley (1993), with reuse of operands as the profit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation, SSAValue, Use
from xdsl.ir.affine import AffineMap

from aotensor.ir.dialect import CheckOp
from aotensor.passes.loops.contraction import is_library_product
from aotensor.passes.loops.slices import CompressedOp, spread_slices
from aotensor.passes.loops.statements import ExtentKey, Extents, Statement, position_of


@dataclass(eq=False)
class Loop:
    """A loop that some statements share; `dims` says which of its dims each of them runs over.

    phases: for a loop over blocks of iterations, the loops in it that run over one block each; see block_rows.
    """

    extent: ExtentKey
    dims: dict[Statement, int]
    body: list[Node] = field(default_factory=list)
    phases: list[Loop] = field(default_factory=list)

    @property
    def is_over_blocks(self) -> bool:
        return bool(self.phases)


@dataclass(eq=False)
class Leaf:
    """A statement whose dims are all bound by the loops around it."""

    statement: Statement


@dataclass(eq=False)
class Plain:
    """Any other operation, in its place."""

    op: Operation


Node: TypeAlias = Loop | Leaf | Plain


@dataclass(eq=False)
class _Item:
    """A statement or an operation while it looks for its place."""

    op: Operation
    statement: Statement | None
    sizes: Set[SSAValue] = frozenset()  # the extents of its loops and results, where they are computed
    free: tuple[int, ...] = ()  # dims not bound yet, outermost first
    is_deferred: bool = False  # placed where it is needed first: it may join a loop that it shares nothing with


def fuse_loops(function: func.FuncOp, extents: Extents) -> list[Node]:
    """The loop structure of a function at tensor level, in an order that respects every dependence."""
    items: list[_Item] = []
    for op in function.body.block.ops:
        if isinstance(op, func.ReturnOp | tensor.EmptyOp | tensor.SplatOp) and not _is_materialised(op):
            continue
        is_fused = isinstance(op, CompressedOp) or (isinstance(op, linalg.GenericOp) and not is_library_product(op))
        items.append(_Item(op, extents.statement(op) if is_fused else None))
    spread_slices([item.statement for item in items if item.statement is not None], extents)
    for item in items:
        if item.statement is not None:
            item.free = item.statement.order
        item.sizes = _sizes(item, extents)
    return _arrange(items, is_top_level=True)


def _sizes(item: _Item, extents: Extents) -> Set[SSAValue]:
    """Computed extents that an operation is emitted with: those that stand for its own, if checks made some equal."""
    found = [n for x in item.op.results if isinstance(x.type, TensorType) for n in extents.shape(x)]
    if item.statement is not None:
        found += item.statement.extents
    return {n for n in found if isinstance(n, SSAValue)}


def _is_materialised(op: Operation) -> bool:
    """True for an empty or filled tensor that is used as a value, not only as the start of a generic."""
    if isinstance(op, func.ReturnOp):
        return False
    return any(not _is_start(use) for use in op.results[0].uses)


def _is_start(use: Use) -> bool:
    """Is it what the result of a fused operation begins with?"""
    user = use.operation
    if isinstance(user, CompressedOp):
        return use.index == len(user.operands) - 1
    return isinstance(user, linalg.GenericOp) and use.index >= len(user.inputs)


@dataclass(eq=False)
class _Slot:
    """A place in program order: a shared loop under construction, or one operation; then the scalars made of it."""

    node: Node
    members: list[_Item]
    reads: set[SSAValue] = field(default_factory=set)
    tail: list[Node] = field(default_factory=list)


def _arrange(items: Sequence[_Item], is_top_level: bool = False) -> list[Node]:
    slots: list[_Slot] = []
    prologue: list[Node] = []
    place: dict[Operation, int] = {}
    inside_loop: set[Operation] = set()
    barrier = 0
    for item in _deferred(items):
        # a scalar is known behind the slot that it is made of, a statement's result maybe within its loop
        earliest = max([barrier, *(place[d] + (d not in inside_loop) for d in _dependences(item, place))])
        if item.statement is not None and item.free:
            place[item.op] = _join(item, item.statement, slots, earliest)
            inside_loop.add(item.op)
        elif item.statement is None and _is_scalar(item.op):
            earliest = max([earliest, *(place[d] + 1 for d in _dependences(item, place))])
            (slots[earliest - 1].tail if earliest else prologue).append(Plain(item.op))
            place[item.op] = earliest - 1
        else:
            slots.append(_Slot(Leaf(item.statement) if item.statement is not None else Plain(item.op), [item]))
            place[item.op] = len(slots) - 1
        if is_top_level and isinstance(item.op, CheckOp):
            barrier = place[item.op] + 1
    for slot in slots:
        if isinstance(slot.node, Loop):
            slot.node.body = _arrange([_inside(m, slot.node) for m in slot.members])
    return [*prologue, *(node for slot in slots for node in (slot.node, *slot.tail))]


def _deferred(items: Sequence[_Item]) -> list[_Item]:
    """Items in an order where elementwise statements of plain inputs stand right before their first reader.

    There they find the loop that the reader will join; in front of it they would open a loop of their own.
    """
    order: list[_Item] = []
    waiting: dict[Operation, _Item] = {}
    placed: dict[Operation, int] = {}

    def release(op: Operation) -> None:
        """Place a waiting statement behind those that it needs, in program order."""
        wanted, pending = {op}, [op]
        while pending:
            more = _dependences(waiting[pending.pop()], dict.fromkeys(waiting, 0)) - wanted
            wanted |= more
            pending.extend(more)
        for w in [w for w in waiting if w in wanted]:
            order.append(waiting.pop(w))

    for item in items:
        needed = _dependences(item, dict.fromkeys(waiting, 0))
        statement = item.statement
        if statement is not None and not any(statement.is_reduction) and not _dependences(item, placed):
            item.is_deferred = True
            waiting[item.op] = item
            continue
        for op in [w for w in waiting if w in needed]:
            if op in waiting:
                release(op)
        order.append(item)
        if statement is not None:
            placed[item.op] = 0
    for op in list(waiting):
        if op in waiting:
            release(op)
    return order


def _is_scalar(op: Operation) -> bool:
    """Scalar arithmetic, whose place is right behind what it depends on. Checks stay in program order."""
    return not isinstance(op, CheckOp) and not any(isinstance(r.type, TensorType) for r in op.results)


def _inside(item: _Item, loop: Loop) -> _Item:
    assert item.statement is not None
    bound = loop.dims[item.statement]
    return _Item(item.op, item.statement, item.sizes, tuple(d for d in item.free if d != bound))


def _dependences(item: _Item, place: Mapping[Operation, int]) -> Set[Operation]:
    """Placed operations whose results an item uses, in its body too, and for its bounds."""
    op, found = item.op, {n.owner for n in item.sizes if isinstance(n.owner, Operation)}
    if item.statement is not None and item.statement.slices is not None:
        indptr = item.statement.slices.indptr
        found |= {indptr.owner} if isinstance(indptr.owner, Operation) else set()
    for inner in op.walk() if op.regions else (op,):
        for x in inner.operands:
            if isinstance(x.owner, Operation):
                found.add(x.owner)
    for x in op.operands:  # a generic starts from a fill: what the fill is made of counts
        if isinstance(x.owner, tensor.SplatOp | tensor.EmptyOp):
            found.update(y.owner for y in x.owner.operands if isinstance(y.owner, Operation))
    return {d for d in found if d in place}


def _join(item: _Item, statement: Statement, slots: list[_Slot], earliest: int) -> int:
    reads = {x for x, _ in statement.reads}
    for where in range(len(slots) - 1, earliest - 1, -1):
        slot = slots[where]
        if isinstance(slot.node, Loop) and (dim := _common_dim(item, statement, slot, slot.node, reads)) is not None:
            slot.node.dims[statement] = dim
            slot.members.append(item)
            slot.reads |= reads
            return where
    outermost = item.free[0]
    slots.append(_Slot(Loop(statement.extents[outermost], {statement: outermost}), [item], reads))
    return len(slots) - 1


def _common_dim(item: _Item, statement: Statement, slot: _Slot, loop: Loop, reads: Set[SSAValue]) -> int | None:
    """The dim with which a statement may join a loop to its profit, else None."""
    flows = [(m.statement, x) for m in slot.members if m.statement is not None for x in m.op.results if x in reads]
    if any(x in statement.gathers for m in slot.members for x in m.op.results):
        return None
    candidates = [d for d in item.free if statement.extents[d] == loop.extent]
    if statement.slices is not None and statement.slices.slice in item.free:  # a slice stands around its entries
        candidates = [d for d in candidates if d == statement.slices.slice]
    elif len(item.free) > 1:  # the loop along memory stays innermost
        candidates = [d for d in candidates if d != item.free[-1] and not _buries(item, statement, d)]
    for dim in candidates:
        if flows:
            if all(_flows_within(producer, x, loop.dims[producer], statement, dim) for producer, x in flows):
                return dim
        elif item.is_deferred or _shares_operand(statement, dim, loop):
            return dim
    return None


def _buries(item: _Item, statement: Statement, dim: int) -> bool:
    """True if a loop of known, so small extent would come to stand around one of unknown extent.

    Values of the inner loop would then be kept for all its iterations, where those of the small one fit the cache.
    """
    outer = item.free[: item.free.index(dim)]
    return isinstance(statement.extents[dim], int) and any(not isinstance(statement.extents[d], int) for d in outer)


def _flows_within(producer: Statement, x: SSAValue, produced: int, consumer: Statement, dim: int) -> bool:
    """True if iteration t of the loop reads of `x` just what iteration t has completed."""
    bound = _axis_of(producer, producer.write_map(x), produced)
    return bound is not None and all(_axis_of(consumer, m, dim) == bound for m in consumer.read_maps(x))


def _axis_of(statement: Statement, map: AffineMap, dim: int) -> tuple[int, SSAValue | None] | None:
    """Along which axis an operand is bound by a dim; a slice is where its entries are, as this indptr divides them."""
    slices = statement.slices
    if slices is not None and dim == slices.slice and (position := position_of(map, slices.entry)) is not None:
        return position, slices.indptr
    return None if (position := position_of(map, dim)) is None else (position, None)


def _shares_operand(statement: Statement, dim: int, loop: Loop) -> bool:
    """True if some member of the loop reads the same tensor along the same axis."""
    for x, own in statement.reads:
        axis = _axis_of(statement, own, dim)
        if axis is None:
            continue
        for member, bound in loop.dims.items():
            if any(_axis_of(member, m, bound) == axis for m in member.read_maps(x)):
                return True
    return False
