"""Merge elementwise operations that feed each other into one operation with one body.

    %a = linalg.generic ins(%x) { … mulf … }            %b = linalg.generic ins(%x, %y) {
    %b = linalg.generic ins(%a, %y) { … addf … }    →     … mulf … addf … }

Later passes then look at one statement where there were many, so what they cost grows with the loops of a program and
not with its arithmetic. An operation joins the reader of its result where all readers go over the same elements: no
value is computed twice, and none that was needed elsewhere moves.

Operations may be merged if no path leads out of their group and back into it. As in typed fusion (Kennedy & McKinley
1993) each has a level, which grows along every edge that leaves elementwise operations over some extents: those of one
level cannot reach each other through others. Between checks only, which guard what stands behind them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import Rewriter

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import CheckOp
from aotensor.ir.location import locate
from aotensor.passes.nest.extents import Extents
from aotensor.passes.remarks import applied


def fuse_elementwise(module: ModuleOp) -> None:
    """Merge the elementwise operations of every function."""
    for function in functions_of(module):
        _Fusion(function).run()


@dataclass(eq=False)
class _Node:
    """An operation of the block. kind: what elementwise operations of one group have in common, None for others.

    needs: who makes what it uses. level: see above. apart: results of others of its kind that it reads elsewhere.
    """

    op: Operation
    kind: object
    level: int = 0
    needs: dict[_Node, None] = field(default_factory=dict)
    apart: set[SSAValue] = field(default_factory=set)


@dataclass(eq=False)
class _Group:
    """Operations that become one, in program order."""

    members: list[_Node]


class _Partition:
    """Disjoint sets of nodes."""

    def __init__(self, nodes: Iterable[_Node]) -> None:
        self._above = {node: node for node in nodes}

    def root(self, node: _Node) -> _Node:
        """The node that stands for the set of another one."""
        above = self._above
        while above[node] is not node:
            above[node] = node = above[above[node]]
        return node

    def join(self, a: _Node, b: _Node) -> None:
        self._above[self.root(b)] = self.root(a)


def _between_cycles(edges: Sequence[tuple[_Node, _Node]]) -> list[list[_Node]]:
    """For each kind and level, the nodes that are on a cycle, or on a path from one to another."""
    following: dict[_Node, set[_Node]] = defaultdict(set)
    preceding: dict[_Node, set[_Node]] = defaultdict(set)
    for a, b in edges:
        if a is not b:
            following[a].add(b)
            preceding[b].add(a)
    left = dict.fromkeys([*following, *preceding])
    for forward, backward in ((following, preceding), (preceding, following)):
        pending = [node for node in left if not backward.get(node)]
        while pending:
            node = pending.pop()
            del left[node]
            for other in forward.pop(node, ()):
                backward[other].discard(node)
                if not backward[other]:
                    pending.append(other)
    found: dict[object, list[_Node]] = defaultdict(list)
    for node in left:
        found[node.kind, node.level].append(node)
    return list(found.values())


class _Fusion:
    """One function on its way."""

    def __init__(self, function: func.FuncOp) -> None:
        self.block = function.body.block
        extents = Extents(function)
        self.nodes: dict[Operation, _Node] = {}
        checks = 0
        for op in self.block.ops:
            checks += isinstance(op, CheckOp)
            kind = None
            if isinstance(op, linalg.GenericOp) and _is_elementwise(op):
                result = op.results[0].type
                assert isinstance(result, TensorType)
                kind = (checks, extents.shape(op.results[0]), tuple(result.get_shape()))
            self.nodes[op] = node = _Node(op, kind)
            if isinstance(op, linalg.GenericOp) and kind is not None:
                maps = op.indexing_maps.data
                node.apart = {x for x, m in zip(op.inputs, maps, strict=False) if m != maps[-1]}
            for x in _used(op):
                maker = self.nodes.get(x.owner) if isinstance(x.owner, Operation) else None
                if maker is not None:
                    node.needs[maker] = None
                    leaves = maker.kind is not None and not _reads_in_step(x, maker, node)
                    node.level = max(node.level, maker.level + leaves)

    def run(self) -> None:
        groups = self._groups()
        if not groups:
            return
        group_of = {node: group for group in groups for node in group.members}
        ordered = self._ordered(group_of)
        for group in groups:
            *others, last = [node.op for node in group.members]
            for op in others:
                applied("{} is computed where {} is, one element after the other", op, last, size=op.results)
        for op in list(self.block.ops):
            self.block.detach_op(op)
        for item in ordered:
            if isinstance(item, _Group):
                merged = _merged([node.op for node in item.members])  # type: ignore[misc]
                self.block.add_op(merged)
                for node in reversed(item.members):
                    node.op.erase()
            else:
                self.block.add_op(item.op)
        for op in reversed(list(self.block.ops)):
            if isinstance(op, tensor.EmptyOp) and not op.tensor.uses:
                Rewriter.erase_op(op)

    def _groups(self) -> list[_Group]:
        """Groups of two members and more."""
        members = [node for node in self.nodes.values() if node.kind is not None]
        joined = _Partition(members)
        other: list[tuple[_Node, _Node]] = []
        for node in members:
            for x in node.op.results:
                readers = [self.nodes[top] for use in x.uses if (top := self._top(use.operation)) in self.nodes]
                close = [reader for reader in readers if reader.level == node.level and _reads_in_step(x, node, reader)]
                if len(close) == len(readers):
                    for reader in close:
                        joined.join(node, reader)
                else:
                    other += [(node, reader) for reader in close]
        for cycle in _between_cycles([(joined.root(a), joined.root(b)) for a, b in other]):
            for node in cycle[1:]:
                joined.join(cycle[0], node)
        found: dict[_Node, _Group] = defaultdict(lambda: _Group([]))
        for node in members:
            found[joined.root(node)].members.append(node)
        return [group for group in found.values() if len(group.members) > 1]

    def _top(self, op: Operation) -> Operation:
        """The operation of the block that another one stands in."""
        while op.parent is not self.block:
            parent = op.parent_op()
            assert parent is not None
            op = parent
        return op

    def _ordered(self, group_of: dict[_Node, _Group]) -> list[_Node | _Group]:
        """Program order, with each group where its last member stands or where it is needed first."""
        order: list[_Node | _Group] = []
        placed: set[_Node | _Group] = set()

        def place(first: _Node | _Group) -> None:
            pending: list[tuple[_Node | _Group, Iterable[_Node]]] = [(first, iter(_needs(first)))]
            begun = {first}
            while pending:
                item, needs = pending[-1]
                needed = next(iter(needs), None)
                if needed is None:
                    pending.pop()
                    placed.add(item)
                    order.append(item)
                    continue
                unit = group_of.get(needed, needed)
                if unit not in placed and unit not in begun:
                    begun.add(unit)
                    pending.append((unit, iter(_needs(unit))))

        for node in self.nodes.values():
            unit = group_of.get(node, node)
            is_due = not isinstance(unit, _Group) or node is unit.members[-1]
            if is_due and unit not in placed:
                place(unit)
        return order


def _is_elementwise(op: linalg.GenericOp) -> bool:
    """Does it compute each element from elements by arithmetic?"""
    outputs, body = op.outputs, op.body.block
    count = len(outputs)
    if any(t.data != IteratorType.PARALLEL for t in op.iterator_types.data):
        return False
    if any(m.data != AffineMap.identity(m.data.num_dims) for m in op.indexing_maps.data[-count:]):
        return False
    if any(x.uses for x in body.args[-count:]) or not all(isinstance(x.owner, tensor.EmptyOp) for x in outputs):
        return False
    return all(
        isinstance(inner, linalg.IndexOp | linalg.YieldOp | func.CallOp) or inner.name.startswith(("arith.", "math."))
        for inner in body.ops
    )


def _used(op: Operation) -> Iterable[SSAValue]:
    """Values that an operation, or what is in it, uses; those of inside too."""
    yield from op.operands
    if op.regions:
        for inner in op.walk():
            yield from inner.operands


def _reads_in_step(x: SSAValue, maker: _Node, reader: _Node) -> bool:
    """Does an elementwise operation read of another one's result just the element that it is computing?"""
    return maker.kind is not None and maker.kind == reader.kind and x not in reader.apart


def _needs(item: _Node | _Group) -> list[_Node]:
    if isinstance(item, _Node):
        return list(item.needs)
    inside = set(item.members)
    return [node for node in dict.fromkeys(n for m in item.members for n in m.needs) if node not in inside]


def _merged(ops: Sequence[linalg.GenericOp]) -> linalg.GenericOp:
    """One operation that does what several did."""
    inside = {result: op for op in ops for result in op.results}
    body = Block()
    inputs: dict[tuple[SSAValue, AffineMapAttr], SSAValue] = {}
    counters: dict[int, SSAValue] = {}
    computed: dict[SSAValue, SSAValue] = {}
    for op in ops:
        block = op.body.block
        for argument, x, m in zip(block.args[: len(op.inputs)], op.inputs, op.indexing_maps.data, strict=False):
            if x in inside:
                value = computed[x]
            elif (x, m) in inputs:
                value = inputs[x, m]
            else:
                value = inputs[x, m] = body.insert_arg(argument.type, len(body.args))
            argument.replace_all_uses_with(value)
        for inner in list(block.ops):
            if isinstance(inner, linalg.YieldOp):
                computed.update(zip(op.results, inner.operands, strict=True))
            elif isinstance(inner, linalg.IndexOp) and (counter := counters.get(inner.dim.value.data)) is not None:
                inner.result.replace_all_uses_with(counter)
            else:
                block.detach_op(inner)
                body.add_op(inner)
                if isinstance(inner, linalg.IndexOp):
                    counters[inner.dim.value.data] = inner.result
    members = set(ops)
    wanted = [x for x in inside if any(_outer(use.operation, members) for use in x.uses)]
    starts = [inside[x].outputs[list(inside[x].results).index(x)] for x in wanted]
    for x in starts:
        assert isinstance(x.type, TensorType)
        body.insert_arg(x.type.element_type, len(body.args))
    body.add_op(linalg.YieldOp(*(computed[x] for x in wanted)))
    rank = len(ops[0].iterator_types)
    identity = AffineMapAttr(AffineMap.identity(rank))
    merged = linalg.GenericOp(
        [x for x, _ in inputs], starts, Region(body), [*(m for _, m in inputs), *[identity] * len(starts)],
        list(ops[0].iterator_types), [x.type for x in starts],
    )  # fmt: skip
    locate(merged, ops[-1].location)
    for x, result in zip(wanted, merged.results, strict=True):
        result.name_hint = x.name_hint
        x.replace_all_uses_with(result)
    return merged


def _outer(op: Operation, members: set[linalg.GenericOp]) -> bool:
    """Is an operation none of the members?  What reads their results inside of a body is none."""
    return op not in members
