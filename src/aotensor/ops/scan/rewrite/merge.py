"""Merge loops that compute the same states.

    h = scan(f, x, h0)               h, s = scan((f, g), x, h0)
    s = scan(g of f, x, h0)    →

So the loop of a gradient, which stores more than the user's, and that of a tangent, which computes more, cost
one pass over the steps. States are equal if they start from the same values and their steps are equal as long as the
states are: the coarsest partition for which that holds is found by refinement.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Final

from aotensor.graph.op import Apply
from aotensor.graph.passes.remarks import applied, missed
from aotensor.graph.passes.run import graph_pass
from aotensor.graph.site import variables_at
from aotensor.graph.unify import Numbering, unify
from aotensor.graph.variable import Variable
from aotensor.graph.walk import replace, toposort
from aotensor.ops.scan.cost import is_cheap
from aotensor.ops.scan.extents import rebuilt
from aotensor.ops.scan.layout import Operands, Results, Slots
from aotensor.ops.scan.rewrite.draft import Draft, is_loop

_ALLOWS: Final = {
    "their trip counts may differ": "give their sequences one named dim, or one n_steps",
    "their directions or stop conditions differ": "use one direction and one kind of condition",
}
"""The reason why two loops cannot be merged → a hint."""


@graph_pass("merge-loops", topic="loops", is_free=True, for_loops=True)
def merge_loops(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """Fuses `scan` loops over the same steps, such as those of a value, its gradient and a Hessian product."""
    found = list(outputs)
    while True:
        nodes = toposort(found, stop=stop)
        loops, before = [node for node in nodes if is_loop(node)], _loops_before(nodes, stop)
        mapping = _first_merger(loops, before)
        if not mapping:
            for first, second in pairwise(loops):
                reason = _merge_obstacle(first, second, before)
                missed("loops {} and {} not merged: {}", first, second, reason, hint=_ALLOWS.get(reason, ""))
            return found
        found = unify(replace(found, {old: new for old, new in mapping.items() if old not in stop}), stop)


def _loops_before(nodes: Sequence[Apply], stop: Collection[Variable]) -> dict[Apply, int]:
    """Node, of a list in topological order → the loops that it depends on, and itself, one bit each."""
    blocked, found, loops = set(stop), dict[Apply, int](), 0
    for node in nodes:
        before = 0
        for x in node.inputs:
            if x.owner is not None and x not in blocked:
                before |= found[x.owner]
        if is_loop(node):
            before |= 1 << loops
            loops += 1
        found[node] = before
    return found


def _first_merger(loops: Sequence[Apply], before: Mapping[Apply, int]) -> dict[Variable, Variable]:
    for (number, first), (_, second) in combinations(enumerate(loops), 2):
        if _is_candidate(first, second) and not before[second] >> number & 1:
            mapping = _merged(first, second)
            if mapping:
                applied("merged loops {} and {}: they share operations", first, second)
                return mapping
    return {}


def _is_candidate(first: Apply, second: Apply) -> bool:
    one, other = first.op, second.op
    same = first.inputs[0] is second.inputs[0]
    return same and all(
        getattr(one, name) == getattr(other, name)
        for name in ("is_reversed", "has_condition", "is_frugal", "pads", "keeps_rows")
    )


def _merge_obstacle(first: Apply, second: Apply, before: Mapping[Apply, int]) -> str:
    """The reason why two loops cannot be merged."""
    if first.inputs[0] is not second.inputs[0]:
        return "their trip counts may differ"
    if before[first] & ~before[second] == 0:
        return "the second loop reads results of the first"
    return "they share no operation" if _is_candidate(first, second) else "their directions or stop conditions differ"


def _merged(first: Apply, second: Apply) -> dict[Variable, Variable]:
    """Output of either loop → output of the merged one; empty if they share no work, or stop differently."""
    drafts = [Draft.from_node(first, {}), Draft.from_node(second, {})]
    classes, numbers = _partition(drafts, [first, second])
    if not _share_work(drafts, [first, second], classes, numbers):
        return {}
    ends = {numbers.number_of(draft.made.last) for draft in drafts if draft.made.last is not None}
    if len(ends) > 1:
        return {}
    with variables_at(first.outputs[0].site):
        return _build_merged(drafts, [first, second], classes, numbers)


def _partition(drafts: Sequence[Draft], nodes: Sequence[Apply]) -> tuple[list[list[int]], Numbering]:
    """(class of each state of each loop, numbering of the bodies' values under these classes); equal classes are
    equal states.
    """
    keys: list[list[Hashable]] = [
        [(initial, taps) for initial, taps in zip(draft.given.initial, draft.taps, strict=True)] for draft in drafts
    ]
    classes, count = _numbered(keys), 0
    while True:
        numbers = Numbering(_input_keys(drafts, classes))
        for node in nodes:
            for inner in node.op.body.nodes:  # type: ignore[attr-defined]
                numbers.add(inner)
        keys = [
            [(old, numbers.number_of(new)) for old, new in zip(group, draft.made.states, strict=True)]
            for group, draft in zip(classes, drafts, strict=True)
        ]
        refined = _numbered(keys)
        found = len({one for group in refined for one in group})
        if found == count:
            return classes, numbers
        classes, count = refined, found


def _numbered(keys: Sequence[Sequence[Hashable]]) -> list[list[int]]:
    numbers: dict[Hashable, int] = {}
    return [[numbers.setdefault(key, len(numbers)) for key in group] for group in keys]


def _input_keys(drafts: Sequence[Draft], classes: Sequence[Sequence[int]]) -> dict[Variable, Hashable]:
    """Key of each input of the bodies: the sequence, the non-sequence, or the state's class and the tap."""
    found: dict[Variable, Hashable] = {}
    for draft, group in zip(drafts, classes, strict=True):
        for kind, slots, wholes in (
            ("row", draft.slots.sequences, draft.given.sequences),
            ("fixed", draft.slots.constants, draft.given.constants),
        ):
            found.update((slot, (kind, whole, slot.type)) for slot, whole in zip(slots, wholes, strict=True))
        for state, slots, taps in zip(group, draft.slots.taps, draft.taps, strict=True):
            found.update((slot, ("tap", state, lag, slot.type)) for slot, lag in zip(slots, taps, strict=True))
    return found


def _share_work(
    drafts: Sequence[Draft], nodes: Sequence[Apply], classes: Sequence[Sequence[int]], numbers: Numbering
) -> bool:
    """Do the loops share a state, or a value that is not cheap?"""
    if set(classes[0]) & set(classes[1]):
        return True
    costly = [
        {numbers.number_of(x) for inner in node.op.body.nodes if not is_cheap(inner.op) for x in inner.outputs}  # type: ignore[attr-defined]
        for node in nodes
    ]
    return bool(costly[0] & costly[1])


def _build_merged(
    drafts: Sequence[Draft], nodes: Sequence[Apply], classes: Sequence[Sequence[int]], numbers: Numbering
) -> dict[Variable, Variable]:
    """The merged loop. A state is carried twice if one loop stacks all values and the other keeps the last one."""
    whole = Draft(
        drafts[0].op,
        Operands(drafts[0].given.n_steps, [], [], []),
        Slots([], [], []),
        Results([], [], None),
        [],
        [],
        any(draft.needs_step for draft in drafts),
    )
    known: dict[Variable, Variable] = {}
    by_number: dict[int, Variable] = {}
    positions: dict[tuple[int, bool], int] = {}
    columns: dict[int, int] = {}
    wanted: list[tuple[Variable, str, int]] = []
    for draft, group in zip(drafts, classes, strict=True):
        _adopt_inputs(whole, draft, group, positions, by_number, numbers, known)
    for node in nodes:
        for inner in node.op.body.nodes:  # type: ignore[attr-defined]
            new = rebuilt(inner, known)
            for x in inner.outputs:
                known[x] = by_number.setdefault(numbers.number_of(x), new.get(x, x))
    for node, draft, group in zip(nodes, drafts, classes, strict=True):
        outputs = draft.op.results(node.outputs)
        for x, state, stacked in zip(outputs.states, group, draft.is_stacked, strict=True):
            wanted.append((x, "states", positions[state, stacked]))
        for x, value in zip(outputs.mapped, draft.made.mapped, strict=True):
            number = numbers.number_of(value)
            if number not in columns:
                columns[number] = len(whole.made.mapped)
                whole.made.mapped.append(known.get(value, value))
            wanted.append((x, "mapped", columns[number]))
    _adopt_states(whole, drafts, classes, positions, known)
    results = whole.finished()
    mapping = {x: getattr(results, kind)[position] for x, kind, position in wanted}
    if results.last is not None:
        mapping.update((node.outputs[-1], results.last) for node in nodes)
    return mapping


def _adopt_inputs(
    whole: Draft,
    draft: Draft,
    group: Sequence[int],
    positions: dict[tuple[int, bool], int],
    by_number: dict[int, Variable],
    numbers: Numbering,
    known: dict[Variable, Variable],
) -> None:
    """Add a loop's inputs that the merged loop lacks to it; their symbols are added to `known` and `by_number`."""
    for slots, wholes, all_slots, all_wholes in (
        (draft.slots.sequences, draft.given.sequences, whole.slots.sequences, whole.given.sequences),
        (draft.slots.constants, draft.given.constants, whole.slots.constants, whole.given.constants),
    ):
        for slot, x in zip(slots, wholes, strict=True):
            if numbers.number_of(slot) not in by_number:
                by_number[numbers.number_of(slot)] = slot
                all_slots.append(slot)
                all_wholes.append(x)
            known[slot] = by_number[numbers.number_of(slot)]
    parts = zip(group, draft.is_stacked, draft.taps, draft.slots.taps, draft.given.initial, strict=True)
    for state, stacked, taps, slots, initial in parts:
        if (state, stacked) not in positions:
            positions[state, stacked] = len(whole.taps)
            is_copy = (state, not stacked) in positions
            own = [Variable(slot.type, name=slot.name) for slot in slots] if is_copy else slots
            whole.taps.append(taps)
            whole.is_stacked.append(stacked)
            whole.slots.taps.append(list(own))
            whole.given.initial.append(initial)
        for slot in slots:
            known[slot] = by_number.setdefault(numbers.number_of(slot), slot)


def _adopt_states(
    whole: Draft,
    drafts: Sequence[Draft],
    classes: Sequence[Sequence[int]],
    positions: dict[tuple[int, bool], int],
    known: dict[Variable, Variable],
) -> None:
    """Set the new values of the merged loop's states, and its stop condition."""
    news: dict[int, Variable] = {}
    for draft, group in zip(drafts, classes, strict=True):
        for state, stacked, new in zip(group, draft.is_stacked, draft.made.states, strict=True):
            news.setdefault(positions[state, stacked], known.get(new, new))
    whole.made.states = [news[position] for position in range(len(news))]
    last = drafts[0].made.last
    whole.made.last = None if last is None else known.get(last, last)
