"""Turn choices between values into branches that compute the chosen values only.

ifelse(c, f(x), g(x))     →     branch(c, x ↦ f(x), x ↦ g(x), x)

Values that several choices by one condition need on one side, such as a value and its gradient, are outputs of the
first branch; its other side returns empty tensors, which are never read. Transposes of constants are not among them:
each branch has its own, which is read in place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from aotensor.graph.op import Apply
from aotensor.graph.passes.remarks import applied, missed
from aotensor.graph.passes.run import graph_pass
from aotensor.graph.site import variables_at
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import replace, toposort
from aotensor.ops.create import zeros
from aotensor.ops.scan.branch import Branch, IfElse
from aotensor.ops.scan.extents import rebuilt
from aotensor.ops.shape.axes import DimShuffle

Target: TypeAlias = "tuple[Apply, bool] | None"
"""The choice, and its side, that a node is sunk into; None for a node that is always computed."""


@graph_pass("sink-into-branches", topic="loops", for_loops=True)
def sink_into_branches(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """Sinks operations into the only branch that uses them.

    Choices inside of branches are not changed here: they are rewritten with the bodies.
    """
    outputs = _remove_decided_choices(outputs, stop)
    nodes = toposort(outputs, stop=stop)
    targets = _targets(nodes, outputs)
    exports = _exports(nodes, targets)
    known: dict[Variable, Variable] = {}
    for node in nodes:
        if targets[node] is not None:
            continue
        if isinstance(node.op, IfElse):
            with variables_at(node.outputs[0].site):
                known.update(_Sinking(node, targets, exports, known).made())
            _report(node, targets)
        else:
            known.update(rebuilt(node, known))
    return [known.get(x, x) for x in outputs]


def _report(choice: Apply, targets: Mapping[Apply, Target]) -> None:
    """Record a remark on operations that move to one side of a choice."""
    moved = [node for node, target in targets.items() if target is not None and target[0] is choice]
    if moved:
        applied("sank {} into one branch of {}, with {} more operations", moved[-1], choice, len(moved) - 1)
    else:
        hint = "compute work that only one side reads inside of it"
        missed(
            "nothing sunk into the branches of {}: other operations use both sides, or the branches hold them",
            choice,
            hint=hint,
        )


def _remove_decided_choices(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """The graph without choices that an enclosing choice by the same condition decides."""
    nodes = toposort(outputs, stop=stop)
    targets = _targets(nodes, outputs)
    known: dict[Variable, Variable] = {}
    for node in nodes:
        target = targets[node]
        if target is not None and isinstance(node.op, IfElse) and node.inputs[0] is target[0].inputs[0]:
            values = node.inputs[1 : 1 + node.op.count] if target[1] else node.inputs[1 + node.op.count :]
            known.update(zip(node.outputs, (known.get(x, x) for x in values), strict=True))
        else:
            known.update(rebuilt(node, known))
    return [known.get(x, x) for x in outputs]


def _targets(nodes: Sequence[Apply], outputs: Sequence[Variable]) -> dict[Apply, Target]:
    """The target of every node: if all its readers are on one side of one condition, the first such choice."""
    order = {node: k for k, node in enumerate(nodes)}
    needed: dict[Variable, set[Target]] = {x: {None} for x in outputs}
    targets: dict[Apply, Target] = {}
    for node in reversed(nodes):
        found = set[Target]().union(*(needed.get(x, set()) for x in node.outputs))
        inside = [target for target in found if target is not None]
        sides = {(choice.inputs[0], is_then) for choice, is_then in inside}
        reads_matrix = any(x.is_sparse for x in node.inputs)  # a body has no matrix inputs: its vectors are captured
        is_sunk = len(inside) == len(found) and len(sides) == 1 and not reads_matrix
        targets[node] = min(inside, key=lambda target: order[target[0]]) if is_sunk else None
        for position, x in enumerate(node.inputs):
            needed.setdefault(x, set()).add(_target_of_input(node, position, targets))
    return targets


def _target_of_input(node: Apply, position: int, targets: dict[Apply, Target]) -> Target:
    """The side of a choice on which an input of a node is needed, if the node is its only reader."""
    target = targets[node]
    if target is None and isinstance(node.op, IfElse) and position > 0:
        return node, position <= node.op.count
    return target


def _exports(nodes: Sequence[Apply], targets: dict[Apply, Target]) -> dict[tuple[Apply, bool], list[Variable]]:
    """Values that the sides of a choice compute and that are needed outside of the side."""
    found: dict[tuple[Apply, bool], dict[Variable, None]] = {}
    for node in nodes:
        for position, x in enumerate(node.inputs):
            home = targets.get(x.owner) if x.owner is not None and not _is_constant_view(x) else None
            if home is not None and home != _target_of_input(node, position, targets):
                found.setdefault(home, {})[x] = None
    return {target: list(values) for target, values in found.items()}


@dataclass
class _Sinking:
    """Builds the branch for a choice."""

    node: Apply
    targets: dict[Apply, Target]
    exports: dict[tuple[Apply, bool], list[Variable]]
    known: dict[Variable, Variable]
    count: int = field(init=False)

    def __post_init__(self) -> None:
        assert isinstance(self.node.op, IfElse)
        self.count = self.node.op.count

    def made(self) -> dict[Variable, Variable]:
        """The values that the branch returns: the outputs of the choice, then its exports."""
        condition, *values = self.node.inputs
        then, otherwise = (self.exports.get((self.node, is_then), []) for is_then in (True, False))
        sides = [[*values[: self.count], *then], [*values[self.count :], *otherwise]]
        read = [x for side, is_then in zip(sides, (True, False), strict=True) for x in self._captured(side, is_then)]
        slots = {x: Variable(self._now(x).tensor_type, name=x.name) for x in dict.fromkeys(read)}
        inside, outside = (replace(side, slots) for side in sides)
        bodies = (
            [*inside, *map(_empty, otherwise)],
            [*outside[: self.count], *map(_empty, then), *outside[self.count :]],
        )
        one, other = (Subgraph(tuple(slots.values()), tuple(body)) for body in bodies)
        branch = Branch(one, other)
        found = branch.apply(self._now(condition), *map(self._now, slots)).outputs
        return dict(zip([*self.node.outputs, *then, *otherwise], found, strict=True))

    def _now(self, x: Variable) -> Variable:
        return self.known.get(x, x)

    def _captured(self, values: Sequence[Variable], is_then: bool) -> list[Variable]:
        """The outer values that the nodes of one side read."""
        pending, found, done = list(values), dict[Variable, None](), set[Variable]()
        while pending:
            x = pending.pop()
            if x in done or isinstance(x, Constant):
                continue
            done.add(x)
            if x.owner is not None and (self.targets.get(x.owner) == (self.node, is_then) or _is_constant_view(x)):
                pending.extend(x.owner.inputs)
            else:
                found[x] = None
        return list(found)


def _is_constant_view(x: Variable) -> bool:
    """Whether x is a constant with its axes in another order."""
    while x.owner is not None and isinstance(x.owner.op, DimShuffle):
        x = x.owner.inputs[0]
    return isinstance(x, Constant)


def _empty(x: Variable) -> Variable:
    """Zeros with the dtype and rank of x: unknown dims have extent 0."""
    return zeros([dim if isinstance(dim, int) else 0 for dim in x.tensor_type.shape], x.dtype)
