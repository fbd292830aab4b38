"""Reduce loops: invariant values are computed before the loop, values that no step needs after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from aotensor.graph.op import Apply
from aotensor.graph.passes.remarks import applied
from aotensor.graph.passes.run import graph_pass
from aotensor.graph.site import variables_at
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort
from aotensor.ops.create import alloc
from aotensor.ops.scan.branch import Branch, IfElse
from aotensor.ops.scan.extents import rebuilt
from aotensor.ops.scan.layout import Results
from aotensor.ops.scan.op import Scan
from aotensor.ops.scan.rewrite.draft import Draft
from aotensor.ops.scan.rewrite.hoist import body_nodes, depends_only_on, hoist, read_rows
from aotensor.ops.scan.rewrite.simplify import tidy
from aotensor.ops.scan.rewrite.sink import Sinking
from aotensor.ops.shape.axes import shape_padleft
from aotensor.ops.shape.extents import extents_of

_Change: TypeAlias = Callable[[Draft], list[Variable] | None]
"""A change of a loop; returns replacements of its outputs, or None."""


def has_loops(outputs: Sequence[Variable], stop: Collection[Variable]) -> bool:
    """Is there a loop or a branch in a graph?"""
    return any(isinstance(node.op, Scan | IfElse | Branch) for node in toposort(outputs, stop=stop))


@graph_pass("licm", topic="loops", is_free=True, for_loops=True)
def hoist_from_loops(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """Hoists loop-invariant operations out of loops, and computes operations on sequences alone for all steps at
    once.
    """
    return _each_loop(outputs, stop, _hoist)


@graph_pass("sink", topic="loops", is_free=True, for_loops=True)
def sink_after_loops(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """Moves operations that no later step needs after the loop, for all steps at once: a sum of outer products
    becomes one product.
    """
    return _each_loop(outputs, stop, _sink)


def _each_loop(outputs: Sequence[Variable], stop: Collection[Variable], change: _Change) -> list[Variable]:
    known: dict[Variable, Variable] = {}
    for node in toposort(outputs, stop=stop):
        made = None
        if isinstance(node.op, Scan):
            with variables_at(node.outputs[0].site):
                draft = Draft.from_node(node, known)
                made = change(draft) if _has_static_broadcasts(draft) else None
        known.update(rebuilt(node, known) if made is None else zip(node.outputs, made, strict=True))
    return [known.get(x, x) for x in outputs]


def _hoist(draft: Draft) -> list[Variable]:
    before = body_nodes(draft)
    could = depends_only_on(before, [*draft.slots.sequences, *draft.slots.constants])
    draft.made = draft.results_like(tidy(draft.made.flat(), draft.slots.flat()))
    draft.join_inputs()
    hoist(draft)
    _report("hoisted {} out of the loop, with {} more operations: it is loop-invariant", before, draft, could)
    mapped, copied = list(draft.made.mapped), dict[Variable, Variable]()
    if draft.made.last is None and not draft.op.is_frugal:
        copied = {x: rows for x in mapped if (rows := _all_rows(draft, x)) is not None}
        if copied and len(copied) == len(draft.made.flat()):
            applied("replaced the loop by {} on whole arrays: its steps are independent", mapped[0])
    draft.made.mapped = [x for x in mapped if x not in copied]
    results = _finished(draft)
    columns = copied | dict(zip(draft.made.mapped, results.mapped, strict=True))
    return Results(results.states, [columns[x] for x in mapped], results.last).flat()


def _sink(draft: Draft) -> list[Variable] | None:
    if draft.op.is_frugal:
        return None
    before = body_nodes(draft)
    could = {x for node in before for x in node.outputs}
    behind = Sinking(draft)
    _report("moved {} after the loop, on all steps at once, with {} more operations", before, draft, could)
    results = _finished(draft)
    return behind.finished(results, dict(zip(draft.made.mapped, results.mapped, strict=True))).flat()


def _report(message: str, before: Sequence[Apply], draft: Draft, could: Collection[Variable]) -> None:
    """Record a remark that names an operation moved out of a loop.   before: the operations of the loop before"""
    after = body_nodes(draft)
    rest = Counter(node.op for node in after)
    rest.subtract(node.op for node in before)
    moved = [node for node in before if rest[node.op] < 0 and node.outputs[0] in could]
    if moved and len(before) > len(after):
        applied(message, moved[-1], len(before) - len(after) - 1)


def _finished(draft: Draft) -> Results[Variable]:
    """The outputs of the loop that remains after the rewrite; no outputs if no loop remains."""
    return draft.finished() if draft.made.flat() else Results([], [], None)


def _all_rows(draft: Draft, x: Variable) -> Variable | None:
    """All rows of a mapped value that the loop only copies from its inputs; else None."""
    n_steps = draft.given.n_steps
    if x in draft.slots.sequences:
        return read_rows(draft.given.sequences[draft.slots.sequences.index(x)], n_steps)
    if x in draft.slots.constants:
        whole = draft.outside(x)
        return alloc(shape_padleft(whole), [n_steps, *extents_of(whole)])
    return None


def _has_static_broadcasts(draft: Draft) -> bool:
    """Is each dim of 1 along which the body broadcasts also statically 1 outside of the loop?"""
    slots, given = draft.slots, draft.given
    pairs = [
        (slot.broadcastable, x.broadcastable[1:]) for slot, x in zip(slots.sequences, given.sequences, strict=True)
    ]
    pairs += [(slot.broadcastable, x.broadcastable) for slot, x in zip(slots.constants, given.constants, strict=True)]
    return all(known or not wanted for slot, x in pairs for wanted, known in zip(slot, x, strict=True))
