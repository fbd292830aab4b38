"""Choices between values become branches that compute the chosen values alone.

ifelse(c, f(x), g(x))     →     branch(c, x ↦ f(x), x ↦ g(x), x)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from aotensor.graph.op import Apply
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Constant, Variable, made_at
from aotensor.graph.walk import replace, toposort
from aotensor.ops.scan.branch import Branch, IfElse
from aotensor.ops.scan.extents import rebuilt

Place: TypeAlias = "tuple[Apply, bool] | None"
"""The choice, and the side of it, that alone needs a node; None for one that is needed in any case."""


def sink_into_branches(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """The graph with every choice as a branch, into which go the nodes that only this side of it needs.

    Choices inside of branches stay as they are: they are rewritten with the bodies.
    """
    nodes = toposort(outputs, stop=stop)
    places = _places(nodes, outputs)
    known: dict[Variable, Variable] = {}
    for node in nodes:
        if places[node] is not None:
            continue
        if isinstance(node.op, IfElse):
            with made_at(node.outputs[0].site):
                known.update(zip(node.outputs, _branch(node, places, known), strict=True))
        else:
            known.update(rebuilt(node, known))
    return [known.get(x, x) for x in outputs]


def _places(nodes: Sequence[Apply], outputs: Sequence[Variable]) -> dict[Apply, Place]:
    needed: dict[Variable, set[Place]] = {x: {None} for x in outputs}
    places: dict[Apply, Place] = {}
    for node in reversed(nodes):
        found = set[Place]().union(*(needed.get(x, set()) for x in node.outputs))
        places[node] = found.pop() if len(found) == 1 else None
        for position, x in enumerate(node.inputs):
            inner = places[node]
            if inner is None and isinstance(node.op, IfElse) and position > 0:
                inner = (node, position <= node.op.count)
            needed.setdefault(x, set()).add(inner)
    return places


def _branch(node: Apply, places: dict[Apply, Place], known: dict[Variable, Variable]) -> Sequence[Variable]:
    """The branch for a choice."""
    assert isinstance(node.op, IfElse)
    condition, *values = node.inputs
    sides = [(values[: node.op.count], True), (values[node.op.count :], False)]
    read = [x for side, is_then in sides for x in _captured(side, (node, is_then), places)]
    slots = {x: Variable(x.tensor_type, name=x.name) for x in dict.fromkeys(read)}
    bodies = [Subgraph(tuple(slots.values()), tuple(replace(side, slots))) for side, _ in sides]
    return Branch(*bodies).apply(known.get(condition, condition), *(known.get(x, x) for x in slots)).outputs


def _captured(values: Sequence[Variable], place: Place, places: dict[Apply, Place]) -> list[Variable]:
    """What the nodes of one side read from outside, and values that are made outside."""
    pending, found, done = list(values), dict[Variable, None](), set[Variable]()
    while pending:
        x = pending.pop()
        if x in done or isinstance(x, Constant):
            continue
        done.add(x)
        if x.owner is not None and places.get(x.owner) == place:
            pending.extend(x.owner.inputs)
        else:
            found[x] = None
    return list(found)
