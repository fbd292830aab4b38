"""All rewrites of loops and branches, in order."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from aotensor.graph.op import Apply
from aotensor.graph.site import made_at
from aotensor.graph.subgraph import with_bodies
from aotensor.graph.unify import unify
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort
from aotensor.ops.create import alloc
from aotensor.ops.scan.branch import Branch, IfElse
from aotensor.ops.scan.extents import rebuilt
from aotensor.ops.scan.layout import Results
from aotensor.ops.scan.op import Scan
from aotensor.ops.scan.rewrite.branches import sink_into_branches
from aotensor.ops.scan.rewrite.draft import Draft
from aotensor.ops.scan.rewrite.hoist import cut, hoist
from aotensor.ops.scan.rewrite.merge import merge_loops
from aotensor.ops.scan.rewrite.prune import prune_loops
from aotensor.ops.scan.rewrite.sink import Sinking
from aotensor.ops.scan.rewrite.tidy import tidy
from aotensor.ops.shape.axes import shape_padleft
from aotensor.ops.shape.extents import extents_of


def rewrite_loops(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """The graph with its loops merged, and reduced to what is read and needs a loop; with branches that are lazy.

    The same inside of their bodies. A graph without loops and branches stays as it is.
    """
    if not any(isinstance(node.op, Scan | IfElse | Branch) for node in toposort(outputs, stop=stop)):
        return list(outputs)
    found = merge_loops(unify(outputs, stop), stop)
    found = prune_loops(found, stop)
    found = unify(tidy(_lightened(found, stop), stop), stop)
    found = sink_into_branches(prune_loops(found, stop), stop)
    return with_bodies(found, stop, lambda body: rewrite_loops(body.outputs, body.inputs))


def _lightened(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """The graph with what need not be in the loops outside of them."""
    known: dict[Variable, Variable] = {}
    for node in toposort(outputs, stop=stop):
        if isinstance(node.op, Scan):
            with made_at(node.outputs[0].site):
                known.update(_light(node, known))
        else:
            known.update(rebuilt(node, known))
    return [known.get(x, x) for x in outputs]


def _light(node: Apply, known: dict[Variable, Variable]) -> dict[Variable, Variable]:
    """Output → what takes its place."""
    draft = Draft.of(node, known)
    if not _knows_its_dims(draft):
        return rebuilt(node, known)
    draft.made = draft.results_like(tidy(draft.made.flat(), draft.slots.flat()))
    draft.join_inputs()
    hoist(draft)
    if draft.op.is_frugal:
        return dict(zip(node.outputs, draft.finished().flat(), strict=True))
    behind = Sinking(draft)
    stacked = list(draft.made.mapped)
    hoist(draft)  # what is stacked for the work behind the loop may not need it either
    columns: dict[Variable, Variable] = {}
    if draft.made.last is None:
        rows = {x: _all_rows(draft, new) for x, new in zip(stacked, draft.made.mapped, strict=True)}
        columns = {x: row for x, row in rows.items() if row is not None}
    inside = [(x, new) for x, new in zip(stacked, draft.made.mapped, strict=True) if x not in columns]
    draft.made.mapped = [new for _, new in inside]
    results = draft.finished() if draft.made.flat() else Results[Variable]([], [], None)
    columns.update((x, row) for (x, _), row in zip(inside, results.mapped, strict=True))
    return dict(zip(node.outputs, behind.finished(results, columns).flat(), strict=True))


def _all_rows(draft: Draft, x: Variable) -> Variable | None:
    """A mapped value that the loop would only copy, without it."""
    n_steps = draft.given.n_steps
    if x in draft.slots.sequences:
        return cut(draft.given.sequences[draft.slots.sequences.index(x)], n_steps)
    if x in draft.slots.constants:
        whole = draft.outside(x)
        return alloc(shape_padleft(whole), [n_steps, *extents_of(whole)])
    return None


def _knows_its_dims(draft: Draft) -> bool:
    """Is a dim of 1, along which the body broadcasts, known to be 1 outside too?"""
    slots, given = draft.slots, draft.given
    pairs = [
        (slot.broadcastable, x.broadcastable[1:]) for slot, x in zip(slots.sequences, given.sequences, strict=True)
    ]
    pairs += [(slot.broadcastable, x.broadcastable) for slot, x in zip(slots.constants, given.constants, strict=True)]
    return all(known or not wanted for slot, x in pairs for wanted, known in zip(slot, x, strict=True))
