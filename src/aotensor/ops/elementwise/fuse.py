"""The pass `fuse-elementwise`: fuse elementwise ops that feed each other into one.

    a = exp(x); b = a * y; c = b + a        →        c = fused(x, y) { exp, mul, add }

Later passes then see one statement instead of many, so their cost grows with the number of loops of a program
and not with its arithmetic. An op is fused into the readers of its result where all iterate over the same elements.
No value is computed twice, and no value with other readers moves.

Ops may be joined if no path leads out of their group and back into it. As in typed fusion (Kennedy & McKinley 1993)
each has a level, which grows along every edge that leaves elementwise ops of one shape: those of one level cannot reach
each other through others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aotensor.core import dtypes
from aotensor.core.types import Dim, dim_name
from aotensor.graph.expression import expression_of
from aotensor.graph.op import Apply
from aotensor.graph.passes.remarks import Size, applied, listener
from aotensor.graph.passes.run import graph_pass
from aotensor.graph.site import replacement_site, variables_at
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.elementwise.fusion_group import Fused


@graph_pass("fuse-elementwise", topic="loops", bodies_first=True)
def fuse_elementwise(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """Groups connected elementwise ops into one `fused` op with a body, so that the cost of later levels grows with
    the loops of a program, not with its arithmetic.
    """
    fusion = _Fusion(outputs, stop)
    groups = fusion.groups()
    return _rebuilt(outputs, fusion, groups) if groups else list(outputs)


@dataclass(eq=False)
class _Node:
    """A node of the graph. is_fusible: may it join a group? level: see the module. needs, readers: adjacent nodes"""

    apply: Apply
    is_fusible: bool
    broadcastable: tuple[bool, ...]
    level: int = 0
    needs: list[_Node] = field(default_factory=list)
    readers: list[_Node] = field(default_factory=list)

    @property
    def result(self) -> Variable:
        return self.apply.outputs[0]


@dataclass(eq=False)
class _Group:
    """A group of nodes that is replaced by one node, in the order of the graph."""

    members: list[_Node]


class _Partition:
    """Union-find: disjoint sets of nodes."""

    def __init__(self, nodes: Iterable[_Node]) -> None:
        self._above = {node: node for node in nodes}

    def root(self, node: _Node) -> _Node:
        """The representative of a node's set."""
        above = self._above
        while above[node] is not node:
            above[node] = node = above[above[node]]
        return node

    def join(self, a: _Node, b: _Node) -> None:
        self._above[self.root(b)] = self.root(a)


class _Fusion:
    """The search for groups in one graph."""

    def __init__(self, outputs: Sequence[Variable], stop: Collection[Variable]) -> None:
        self.stop = set(stop)
        self.nodes: dict[Apply, _Node] = {}
        self.wanted = set(outputs)
        for apply in toposort(outputs, self.stop):
            is_fusible = _is_fusible(apply)
            self.nodes[apply] = node = _Node(apply, is_fusible, apply.outputs[0].broadcastable if is_fusible else ())
            for x in dict.fromkeys(apply.inputs):
                maker = self.nodes.get(x.owner) if x.owner is not None and x not in self.stop else None
                if maker is not None:
                    node.needs.append(maker)
                    maker.readers.append(node)
                    leaves = maker.is_fusible and not _reads_in_step(maker, node)
                    node.level = max(node.level, maker.level + leaves)

    def groups(self) -> list[_Group]:
        """Groups of at least two members."""
        members = [node for node in self.nodes.values() if node.is_fusible]
        joined, shaped = _Partition(members), _Partition(members)
        other: list[tuple[_Node, _Node]] = []
        for node in members:
            in_step = [reader for reader in node.readers if _reads_in_step(node, reader)]
            for reader in in_step:
                shaped.join(node, reader)
            close = [reader for reader in in_step if reader.level == node.level]
            if len(close) == len(node.readers) and node.result not in self.wanted:
                for reader in close:
                    joined.join(node, reader)
            else:
                other += [(node, reader) for reader in close]
        for cycle in _between_cycles([(joined.root(a), joined.root(b)) for a, b in other], shaped.root):
            for node in cycle[1:]:
                joined.join(cycle[0], node)
        found: dict[_Node, _Group] = defaultdict(lambda: _Group([]))
        for node in members:
            found[joined.root(node)].members.append(node)
        groups = [group for group in found.values() if len(group.members) > 1]
        if listener() is not None:
            shapes = _shapes(members, shaped.root)
            for group in groups:
                _note(group, shapes[shaped.root(group.members[0])])
        return groups


def _is_fusible(apply: Apply) -> bool:
    """Is the op elementwise arithmetic with a result of rank at least 1? A scalar has no loop to fuse into."""
    return isinstance(apply.op, Elementwise) and apply.op.row.guard is None and apply.outputs[0].ndim > 0


def _reads_in_step(maker: _Node, reader: _Node) -> bool:
    """Does an elementwise op read of another one's result exactly the element that it computes?"""
    return maker.is_fusible and reader.is_fusible and maker.broadcastable == reader.broadcastable


def _between_cycles(edges: Sequence[tuple[_Node, _Node]], shape_of: Callable[[_Node], _Node]) -> list[list[_Node]]:
    """Nodes on a cycle, or on a path between cycles, in lists by shape and level."""
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
        found[shape_of(node), node.level].append(node)
    return list(found.values())


# --- sizes -----------------------------------------------------------------------------------------------------------


def _note(group: _Group, dims: Sequence[Dim]) -> None:
    *others, last = (node.apply for node in group.members)
    for one in others:
        size = _bytes(one.outputs[0], dims)
        applied("fused {} into the elementwise operation {}", one, last, size=size)


def _shapes(members: Sequence[_Node], shape_of: Callable[[_Node], _Node]) -> dict[_Node, list[Dim]]:
    """The dims of each shape, from the types of all results and inputs that have the shape."""
    found: dict[_Node, list[Dim]] = {}
    for node in members:
        dims = found.setdefault(shape_of(node), [None] * node.result.ndim)
        for x in (node.result, *node.apply.inputs):
            if None in dims and x.broadcastable == node.broadcastable:
                known = x.tensor_type.shape
                if x.owner is None:
                    known = tuple(dim_name(expression_of(x), axis, dim) or dim for axis, dim in enumerate(known))
                dims[:] = [own if own is not None else other for own, other in zip(dims, known, strict=True)]
    return found


def _bytes(x: Variable, dims: Sequence[Dim]) -> Size:
    """The bytes of a tensor with these dims, as a formula; empty if one is unknown."""
    if None in dims:
        return ()
    return ((dtypes.itemsize(x.dtype), tuple(map(str, dims))),)


# --- the graph anew --------------------------------------------------------------------------------------------------


def _rebuilt(outputs: Sequence[Variable], fusion: _Fusion, groups: Sequence[_Group]) -> list[Variable]:
    """The graph, with one `Fused` node in place of each group."""
    group_of = {node: group for group in groups for node in group.members}
    known: dict[Variable, Variable] = {}
    for unit in _ordered(fusion, group_of):
        if isinstance(unit, _Node):
            made = unit.apply.on([known.get(x, x) for x in unit.apply.inputs])
            known.update(zip(unit.apply.outputs, made.outputs, strict=True))
        else:
            inside = set(unit.members)
            given = dict.fromkeys(x for node in unit.members for x in node.apply.inputs if _is_given(x, fusion, inside))
            wanted = [node.result for node in unit.members if _is_wanted(node, fusion, inside)]
            with variables_at(replacement_site(unit.members[-1].apply)):
                made = Fused(Subgraph(tuple(given), tuple(wanted))).apply(*(known.get(x, x) for x in given))
            for old, new in zip(wanted, made.outputs, strict=True):
                new.name, new.origins = old.name, old.origins
                known[old] = new
    return [known.get(x, x) for x in outputs]


def _is_given(x: Variable, fusion: _Fusion, inside: set[_Node]) -> bool:
    """Is an input of a group member computed outside of the group?"""
    return x.owner is None or x in fusion.stop or fusion.nodes[x.owner] not in inside


def _is_wanted(node: _Node, fusion: _Fusion, inside: set[_Node]) -> bool:
    """Is the result of a group member used outside of the group?"""
    return node.result in fusion.wanted or any(reader not in inside for reader in node.readers)


def _ordered(fusion: _Fusion, group_of: Mapping[_Node, _Group]) -> Iterator[_Node | _Group]:
    """Nodes and groups in topological order, each at its last member or its first use."""
    seen: set[_Node | _Group] = set()
    for node in fusion.nodes.values():
        unit = group_of.get(node, node)
        if isinstance(unit, _Group) and node is not unit.members[-1]:
            continue
        pending = [(unit, iter(_needs(unit)))] if unit not in seen else []
        seen.add(unit)
        while pending:
            item, needs = pending[-1]
            needed = next(needs, None)
            if needed is None:
                pending.pop()
                yield item
                continue
            other = group_of.get(needed, needed)
            if other not in seen:
                seen.add(other)
                pending.append((other, iter(_needs(other))))


def _needs(unit: _Node | _Group) -> list[_Node]:
    if isinstance(unit, _Node):
        return unit.needs
    inside = set(unit.members)
    return [node for node in dict.fromkeys(n for m in unit.members for n in m.needs) if node not in inside]
