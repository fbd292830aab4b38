"""Groups of loops that read each other step by step: a loop, its backward loop, and the loops of their derivatives."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from aotensor.graph.op import Apply
from aotensor.graph.passes.remarks import applied
from aotensor.graph.site import variables_at
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import toposort
from aotensor.ops.scan.extents import rebuilt
from aotensor.ops.scan.op import Scan
from aotensor.ops.scan.rewrite.prune import evaluated_always, is_last_row


@dataclass
class Group:
    """Loops of one trip count, each after those that it reads.

    dropped: their stacked values that nothing but sequences of loops of the group reads, and nodes that read the last
    row of a state. last_rows: these nodes.
    """

    loops: list[Apply] = field(default_factory=list)
    dropped: dict[Variable, None] = field(default_factory=dict)
    last_rows: dict[Apply, None] = field(default_factory=dict)

    @property
    def ends(self) -> set[Apply | None]:
        """The loops whose last state is read, so that they have a last step."""
        return {node.inputs[0].owner for node in self.last_rows}


def groups_of(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Group]:
    """The groups of a graph; loops that read no other loops, and are read by none, belong to no group."""
    nodes = toposort(outputs, stop=stop)
    readers = readers_of(nodes, outputs)
    always = evaluated_always(outputs)
    owners: dict[Apply, Group] = {}
    for node in nodes:
        if not is_candidate(node):
            continue
        owners[node] = Group([node])
        for x in stacked_outputs(node):
            found = readers.get(x, [])
            rows = [one for one in found if one is not None and _reads_rows(one, x)]
            last = [one for one in found if one not in rows and one is not None and _reads_last(one, x, always)]
            if rows and len(rows) + len(last) == len(found):
                owners[node].dropped[x] = None
                owners[node].last_rows.update(dict.fromkeys(last))
    for node in nodes:
        if node not in owners:
            continue
        for x in node.op.operands(node.inputs).sequences:  # type: ignore[attr-defined]
            producer = x.owner
            if producer in owners and x in owners[producer].dropped and owners[producer] is not owners[node]:
                first, second = owners[producer], owners[node]
                merged = Group(
                    [*first.loops, *second.loops],
                    {**first.dropped, **second.dropped},
                    {**first.last_rows, **second.last_rows},
                )
                owners.update(dict.fromkeys(merged.loops, merged))
    groups = {id(group): group for group in owners.values() if group.dropped}
    order = {node: position for position, node in enumerate(nodes)}
    for group in groups.values():
        group.loops.sort(key=order.__getitem__)
    return list(groups.values())


def is_candidate(node: Apply) -> bool:
    """Can the loop be divided into segments? Not if it may stop early, or is a segment already."""
    return isinstance(node.op, Scan) and not node.op.has_condition and not node.op.is_segment


def stacked_outputs(node: Apply) -> list[Variable]:
    """The outputs of a loop that have a row for each step."""
    op = node.op
    assert isinstance(op, Scan)
    made = op.results(node.outputs)
    return [*(x for x, on in zip(made.states, op.is_stacked, strict=True) if on), *made.mapped]


def readers_of(nodes: Sequence[Apply], outputs: Sequence[Variable]) -> dict[Variable, list[Apply | None]]:
    """The nodes that read each value; None stands for the caller."""
    readers: dict[Variable, list[Apply | None]] = {x: [None] for x in outputs}
    for node in nodes:
        for x in dict.fromkeys(node.inputs):
            readers.setdefault(x, []).append(node)
    return readers


def _reads_rows(node: Apply, x: Variable) -> bool:
    """Does a loop read a value of another one as a sequence alone, and run over the same steps?"""
    if not is_candidate(node) or x.owner is None:
        return False
    given = node.op.operands(node.inputs)  # type: ignore[attr-defined]
    others = [given.n_steps, *given.initial, *given.constants]
    return x not in others and _trip_count(node.inputs[0]) == _trip_count(x.owner.inputs[0])


def _reads_last(node: Apply, x: Variable, always: Collection[Apply]) -> bool:
    """Does a node read the last value of a state only? Such reads raise an error if there are no steps."""
    producer = x.owner
    assert producer is not None and isinstance(producer.op, Scan)
    is_there = node in always or _has_steps(producer.inputs[0])
    is_state = x.index < len(producer.op.taps) and not producer.op.is_reversed
    return is_there and is_state and is_last_row(node) and x not in node.inputs[1:]


def _has_steps(n: Variable) -> bool:
    return isinstance(n, Constant) and int(n.data) > 0


def _trip_count(n: Variable) -> Hashable:
    return int(n.data) if isinstance(n, Constant) else n


def without_conditions(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """The graph with each loop that may stop, and whose rows other loops read, as two: one that counts its steps, and
    one that repeats these without the condition.
    """
    nodes = toposort(outputs, stop=stop)
    readers = readers_of(nodes, outputs)
    known: dict[Variable, Variable] = {}
    for node in nodes:
        new = rebuilt(node, known)
        known.update(new)
        op = node.op
        if not isinstance(op, Scan) or not op.has_condition or op.is_segment:
            continue
        count = node.outputs[-1]
        rows = [x for x in stacked_outputs(node) if _is_read_by_loops(x, count, readers)]
        if rows:
            with variables_at(node.outputs[0].site):
                known.update(_recomputed_rows(node, known, rows))
    return [known.get(x, x) for x in outputs]


def _is_read_by_loops(x: Variable, count: Variable, readers: dict[Variable, list[Apply | None]]) -> bool:
    found = readers.get(x, [])
    return bool(found) and all(
        one is not None and is_candidate(one) and one.inputs[0] is count and x in one.op.operands(one.inputs).sequences  # type: ignore[attr-defined]
        for one in found
    )


def _recomputed_rows(
    node: Apply, known: dict[Variable, Variable], rows: Sequence[Variable]
) -> dict[Variable, Variable]:
    """Stacked value that other loops read → the same value, from a loop without condition over the same number of
    steps.
    """
    op = node.op
    assert isinstance(op, Scan)
    made = op.results(op.body.outputs)
    outputs = [known.get(x, x) for x in node.outputs]
    given = op.operands([known.get(x, x) for x in node.inputs])
    again = replace(
        op,
        body=Subgraph(op.body.inputs, (*made.states, *made.mapped)),
        has_condition=False,
        needs_step=False,
        pads=False,
        keeps_rows=False,
    )
    found = again.apply(outputs[-1], *given.flat()[1:]).outputs
    return {x: found[x.index] for x in rows}


EVERY: Final = "stores states every "
STEPS: Final = " steps"


def report_segments(loop: Apply, lengths: Sequence[int], dropped: int) -> None:
    """Record a remark on the values of a loop's steps that are no longer stored.   dropped: their number"""
    shown, count = " and ".join(map(str, lengths)), len(lengths)
    applied(
        f"loop {{}}: {EVERY}{{}}{STEPS} instead of {{}} values of each step; {{}} more forward "
        f"pass{'es' * (count > 1)}",
        loop, shown, dropped, count,
    )  # fmt: skip
