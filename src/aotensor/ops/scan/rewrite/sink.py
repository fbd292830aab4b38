"""Sink work that no later step needs out of a loop, and do it for all steps at once.

    total ↦ total + aₜᵀ·bₜ        →    a, b stacked;  total₀ + aᵀ·b
    y = scan(… V·hₜ …)            →    h stacked;  h·Vᵀ

The sums of a backward loop over outer products are the gradients of weights: one large product is many times faster
than one small product per step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from aotensor.graph.op import Apply
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import toposort
from aotensor.ops.contract import Contract
from aotensor.ops.create import is_zeros
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.scan.layout import Results
from aotensor.ops.scan.rewrite.draft import Draft
from aotensor.ops.scan.rewrite.hoist import (
    body_nodes,
    can_be_batched,
    depends_only_on,
    for_all_rows,
    highest_rank,
    read_rows,
)
from aotensor.ops.scan.rewrite.product import STEP, contracted
from aotensor.ops.scan.rewrite.sums import accumulators, is_product, product_of, summand
from aotensor.ops.shape.axes import DimShuffle


class Sinking:
    """The work that is sunk out of a loop. The constructor changes the draft; `finished` gives the original outputs."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._nodes = body_nodes(draft)
        self._fixed = depends_only_on(self._nodes, draft.slots.constants)
        self._stacked: dict[Variable, None] = {}
        self._sums = accumulators(draft, self._nodes)
        self._moved = self._choose_terms()
        self._sunk = self._choose_mapped()
        self._states, self._mapped = len(draft.made.states), list(draft.made.mapped)
        self._news, self._is_stacked = list(draft.made.states), list(draft.is_stacked)
        self._kept = self._change_draft()

    def finished(self, results: Results[Variable], columns: Mapping[Variable, Variable]) -> Results[Variable]:
        """The outputs of the original loop, from those of the smaller one.

        columns: values of the body → all their rows, for the mapped outputs of the smaller loop.
        """
        draft = self._draft
        steps = results.last if results.last is not None else draft.given.n_steps
        columns = dict(columns)
        for k, x in zip(self._kept, results.states, strict=True):
            if self._is_stacked[k]:
                columns.setdefault(self._news[k], x)
        values = dict(zip(self._kept, results.states, strict=True))
        states = []
        for k in range(self._states):
            terms = [self._total(term, columns, steps) for term in self._moved.get(k, [])]
            states.append(_add_terms(values[k] if k in values else self._initial[k], terms))
        sunk = for_all_rows(draft, self._sunk, {x: columns[x] for x in self._stacked if x in columns}, steps)
        behind = dict(zip(self._sunk, sunk, strict=True))
        return Results(states, [behind[x] if x in behind else columns[x] for x in self._mapped], results.last)

    # --- what moves ---

    def _choose_terms(self) -> dict[int, list[Variable]]:
        """State → the terms of its sum over steps that are computed after the loop."""
        moved: dict[int, list[Variable]] = {}
        for k, terms in self._sums.items():
            for term in terms:
                if is_product(term):
                    moved.setdefault(k, []).append(term)
                    self._stack(term.owner.inputs)  # type: ignore[union-attr]
        for k, terms in self._sums.items():
            there = {*self._stacked, *self._draft.slots.sequences, *self._draft.made.mapped}
            moved.setdefault(k, []).extend(x for x in terms if summand(x) in there and x not in moved.get(k, []))
        return {k: terms for k, terms in moved.items() if terms}

    def _stack(self, values: Sequence[Variable]) -> None:
        there = {*self._draft.slots.sequences, *self._fixed}
        self._stacked.update((x, None) for x in values if x not in there and not isinstance(x, Constant))

    def _choose_mapped(self) -> list[Variable]:
        """Mapped values that are products with an invariant operand, and values computed from such products."""
        draft = self._draft
        needed = [*draft.made.states, *([] if draft.made.last is None else [draft.made.last])]
        inside = {x for node in toposort(needed, stop=draft.slots.flat()) for x in node.outputs} | set(needed)
        eligible: dict[Variable, frozenset[Variable]] = {}
        limit = highest_rank(draft)
        for node in self._nodes:
            moving = [x for x in node.inputs if x not in self._fixed and not isinstance(x, Constant)]
            if node.outputs[0] in inside or node.outputs[0] in self._fixed or not can_be_batched(node, moving, limit):
                continue
            parts = frozenset[Variable]().union(*(eligible.get(x, frozenset([x])) for x in moving))
            is_first = isinstance(node.op, Contract) and len(moving) == 1
            if is_first or (isinstance(node.op, Elementwise) and any(x in eligible for x in moving)):
                eligible[node.outputs[0]] = parts
        chosen: list[Variable] = []
        rows = {*draft.slots.sequences, *draft.made.mapped, *self._stacked}
        rows.update(x for x, on in zip(draft.made.states, draft.is_stacked, strict=True) if on)
        for x in draft.made.mapped:
            new = [part for part in draft_order(self._nodes, draft, eligible.get(x, frozenset())) if part not in rows]
            if x in eligible and x not in chosen and all(part.ndim <= x.ndim for part in new) and len(new) <= 1:
                chosen.append(x)
                self._stack(draft_order(self._nodes, draft, eligible[x]))
        return chosen

    # --- the loop without it ---

    def _change_draft(self) -> list[int]:
        """Remove the sunk work from the draft and stack its operands; returns the positions of the remaining states."""
        draft, stays = self._draft, []
        self._initial = [_single_row(x) if k in self._moved else x for k, x in enumerate(draft.given.initial)]
        for k in range(self._states):
            rest = [x for x in self._sums.get(k, []) if x not in self._moved.get(k, [])]
            if k not in self._moved:
                stays.append(k)
            elif rest:
                stays.append(k)
                draft.made.states[k] = add(draft.slots.taps[k][0], *rest)
        draft.keep_states(stays)
        stacked = [x for x, on in zip(draft.made.states, draft.is_stacked, strict=True) if on]
        columns = [x for x in draft.made.mapped if x not in self._sunk]
        draft.made.mapped = list(dict.fromkeys([*columns, *(x for x in self._stacked if x not in stacked)]))
        return stays

    def _total(self, term: Variable, columns: Mapping[Variable, Variable], steps: Variable) -> Variable:
        """The sum of a term over all steps."""
        if not is_product(term):
            return _sum_of_rows(term, self._rows_of(summand(term), columns, steps))
        spec, (x, y) = product_of(term)
        operands, out = spec.split("->")
        left, right = operands.split(",")
        rows = [self._rows_of(one, columns, steps) for one in (x, y)]
        is_row = [new.ndim > one.ndim for new, one in zip(rows, (x, y), strict=True)]
        if not all(is_row):
            sums = [sum_over(new, axis=0) if on else new for new, on in zip(rows, is_row, strict=True)]
            return contracted(spec, *sums)
        return contracted(f"{STEP}{left},{STEP}{right}->{out}", *rows)

    def _rows_of(self, x: Variable, columns: Mapping[Variable, Variable], steps: Variable) -> Variable:
        """All rows of a value of the body, or the value itself if it is loop-invariant."""
        draft = self._draft
        if x in columns:
            return columns[x]
        if x in draft.slots.sequences:
            return read_rows(draft.given.sequences[draft.slots.sequences.index(x)], steps)
        return draft.outside(x)


def _single_row(initial: Variable) -> Variable:
    """The single row of an initial value."""
    node = initial.owner
    if node is not None and isinstance(node.op, DimShuffle) and node.op.pattern == (None, *range(initial.ndim - 1)):
        return node.inputs[0]
    return initial[-1]


def _add_terms(start: Variable, terms: Sequence[Variable]) -> Variable:
    """start + Σ terms, skipping a start of zeros."""
    summands = [cast(term, start.dtype) for term in terms]
    if summands and is_zeros(start):
        return add(*summands) if len(summands) > 1 else summands[0]
    return add(start, *summands) if summands else start


def draft_order(nodes: Sequence[Apply], draft: Draft, chosen: Collection[Variable]) -> list[Variable]:
    """The nodes of the body that compute the chosen values, in the order of evaluation."""
    return [x for x in [*draft.slots.flat(), *(x for node in nodes for x in node.outputs)] if x in chosen]


def _sum_of_rows(term: Variable, rows: Variable) -> Variable:
    axes = [axis + 1 for axis in term.owner.op.axes] if summand(term) is not term else []  # type: ignore[union-attr]
    return sum_over(rows, axis=(0, *axes))
