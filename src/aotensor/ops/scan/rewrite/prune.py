"""Remove unused outputs, states and inputs of loops.

h, s = scan((f, g), x, y, h0, s0)       h = scan(f, x, h0)                     s, y unused
h = scan(f, x, h0); h[-1]          →    h = scan(f, x, h0), the last value only
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set

from aotensor.graph.op import Apply
from aotensor.graph.passes.remarks import applied
from aotensor.graph.passes.run import graph_pass
from aotensor.graph.site import variables_at
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort
from aotensor.ops.index import Subtensor
from aotensor.ops.scan.branch import IfElse
from aotensor.ops.scan.extents import rebuilt
from aotensor.ops.scan.layout import Results
from aotensor.ops.scan.op import Scan
from aotensor.ops.scan.rewrite.draft import Draft
from aotensor.ops.window import Position


@graph_pass("dce", topic="loops", is_free=True, for_loops=True)
def prune_loops(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """Removes unused states and results of loops; a state of which only the last value is used is not stacked."""
    nodes = toposort(outputs, stop=stop)
    readers = _readers(nodes, outputs)
    always = evaluated_always(outputs)
    known: dict[Variable, Variable] = {}
    for node in nodes:
        if not any(x in readers for x in node.outputs):
            continue
        if isinstance(node.op, Scan):
            with variables_at(node.outputs[0].site):
                made = _pruned(node, readers, known, always)
            _report(node, made)
            known.update(made)
        elif not is_last_row(node) or node.inputs[0] not in known or known[node.inputs[0]].ndim == node.inputs[0].ndim:
            known.update(rebuilt(node, known))
        else:
            with variables_at(node.outputs[0].site):
                known[node.outputs[0]] = _rest(node, known)
    return [known.get(x, x) for x in outputs]


def _report(node: Apply, made: Mapping[Variable, Variable]) -> None:
    """Record a remark on values that a loop no longer computes."""
    dropped = len(node.outputs) - len(made)
    if dropped:
        applied("loop {}: removed {} unused results", node, dropped)
    for x, new in made.items():
        if new.ndim < x.ndim:
            applied("kept only the last value of {}: no operation reads the others", x)


def _readers(nodes: Sequence[Apply], outputs: Sequence[Variable]) -> dict[Variable, list[Apply | None]]:
    """For each value that is needed, the nodes that read it; None stands for the caller."""
    readers: dict[Variable, list[Apply | None]] = {}
    for x in outputs:
        readers.setdefault(x, []).append(None)
    for node in reversed(nodes):
        if not any(x in readers for x in node.outputs):
            continue
        needed = _needed_inputs(node, readers) if isinstance(node.op, Scan) else node.inputs
        for x in needed:
            readers.setdefault(x, []).append(node)
    return readers


def _needed_inputs(node: Apply, readers: Mapping[Variable, object]) -> list[Variable]:
    draft = Draft.from_node(node, {})
    states, slots = _live(draft, draft.op.results(node.outputs), readers)
    return [
        draft.given.n_steps,
        *(x for x, slot in zip(draft.given.sequences, draft.slots.sequences, strict=True) if slot in slots),
        *(x for k, x in enumerate(draft.given.initial) if k in states),
        *(x for x, slot in zip(draft.given.constants, draft.slots.constants, strict=True) if slot in slots),
    ]


def _live(
    draft: Draft, results: Results[Variable], readers: Mapping[Variable, object]
) -> tuple[set[int], set[Variable]]:
    """(positions of the states that are needed, inputs of the body that are needed)."""
    owner = {slot: k for k, taps in enumerate(draft.slots.taps) for slot in taps}
    states = {k for k, x in enumerate(results.states) if x in readers}
    fixed = [new for new, x in zip(draft.made.mapped, results.mapped, strict=True) if x in readers]
    fixed += [] if draft.made.last is None else [draft.made.last]
    while True:
        targets = [*fixed, *(draft.made.states[k] for k in sorted(states))]
        read = {x for node in toposort(targets, stop=draft.op.body.inputs) for x in node.inputs} | set(targets)
        wider = states | {k for slot, k in owner.items() if slot in read}
        if wider == states:
            return states, read & set(draft.op.body.inputs)
        states = wider


def evaluated_always(outputs: Sequence[Variable]) -> set[Apply]:
    """The nodes that are computed whatever branch of an `ifelse` is chosen."""
    found: set[Apply] = set()
    pending = [x.owner for x in outputs]
    while pending:
        node = pending.pop()
        if node is not None and node not in found:
            found.add(node)
            needed = node.inputs[:1] if isinstance(node.op, IfElse) else node.inputs
            pending += [x.owner for x in needed]
    return found


def _pruned(
    node: Apply,
    readers: Mapping[Variable, Sequence[Apply | None]],
    known: Mapping[Variable, Variable],
    always: Set[Apply],
) -> dict[Variable, Variable]:
    """Output → its replacement in a smaller loop; a state of which only the last row is read is not stacked.

    Such a loop raises an error for no steps. So last rows read in a branch count only if nothing else needs the loop.
    """
    draft = Draft.from_node(node, known)
    outputs = draft.op.results(node.outputs)
    states, slots = _live(draft, outputs, readers)
    kept = sorted(states)
    draft.keep_states(kept)
    needed = [x for x in node.outputs if x in readers]
    is_for_last_rows = all(reader is not None and is_last_row(reader) for x in needed for reader in readers[x])
    at_end = [
        _is_read_at_end(x, node, readers) and (is_for_last_rows or always >= {*readers.get(x, ())})
        for x in (outputs.states[k] for k in kept)
    ]
    became_last = [
        on and last and outputs.states[k] in readers for k, on, last in zip(kept, draft.is_stacked, at_end, strict=True)
    ]
    draft.needs_step |= any(became_last)
    draft.is_stacked = [on and not last for on, last in zip(draft.is_stacked, at_end, strict=True)]
    columns = _columns(draft, outputs, readers)
    draft.made.mapped = list(columns)
    _keep(draft.given.sequences, draft.slots.sequences, slots)
    _keep(draft.given.constants, draft.slots.constants, slots)
    results = draft.finished()
    made = dict(zip(columns, results.mapped, strict=True))
    found = {outputs.states[k]: x for k, x in zip(kept, results.states, strict=True)}
    old = draft.op.results(draft.op.body.outputs).mapped
    found.update((x, made[new]) for x, new in zip(outputs.mapped, old, strict=True) if x in readers)
    if outputs.last is not None and results.last is not None:
        found[outputs.last] = results.last
    return found


def _columns(draft: Draft, outputs: Results[Variable], readers: Mapping[Variable, object]) -> dict[Variable, None]:
    """The mapped values of the body that are read, without duplicates."""
    return {new: None for new, x in zip(draft.made.mapped, outputs.mapped, strict=True) if x in readers}


def _keep(wholes: list[Variable], slots: list[Variable], used: Collection[Variable]) -> None:
    pairs = [pair for pair in zip(wholes, slots, strict=True) if pair[1] in used]
    wholes[:], slots[:] = [x for x, _ in pairs], [slot for _, slot in pairs]


def _is_read_at_end(x: Variable, node: Apply, readers: Mapping[Variable, Sequence[Apply | None]]) -> bool:
    """Is at most the last row of x read, and are rows in the order of the steps?"""
    assert isinstance(node.op, Scan)
    return (
        not node.op.is_reversed and all(reader is not None and is_last_row(reader) for reader in readers.get(x, ()))
    ) or x not in readers


def is_last_row(node: Apply) -> bool:
    """Does the node read x[-1], or a part of it?"""
    op = node.op
    return isinstance(op, Subtensor) and bool(op.entries) and op.entries[0] == Position(-1)


def _rest(node: Apply, known: Mapping[Variable, Variable]) -> Variable:
    """The replacement of a node that reads x[-1, rest], for an x of which only the last row is kept."""
    assert isinstance(node.op, Subtensor)
    x, *symbols = (known.get(one, one) for one in node.inputs)
    return rest_of_last_row(node, x, symbols)


def rest_of_last_row(node: Apply, row: Variable, symbols: Sequence[Variable]) -> Variable:
    """The part x[-1, rest] that a node reads, taken from the last row of x.   symbols: the node's inputs other than
    x
    """
    entries = node.op.entries[1:]  # type: ignore[attr-defined]
    return Subtensor(entries)(row, *symbols) if entries else row
