"""The pullback of a loop: a loop over the same rows in the other direction.

For each state and each step k = 1, 2, … that it looks back, the backward loop carries the partial sum of the
cotangent of the value k steps earlier; for each non-sequence the sum of its cotangents. Forward values that the steps
need are stored by the forward loop or recomputed, as `recover` decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace as changed
from functools import cached_property
from typing import TYPE_CHECKING, Any

from aotensor.core import dtypes
from aotensor.core.types import TensorType
from aotensor.graph.op import connected, disconnected, has_value, is_null
from aotensor.graph.operations import sweeps
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable, Variables, constant
from aotensor.graph.walk import leaves
from aotensor.ops.create import alloc, is_zeros, zeros_like
from aotensor.ops.elementwise.arithmetic import add, minimum
from aotensor.ops.elementwise.compare import le, switch
from aotensor.ops.index import IncSubtensor
from aotensor.ops.linear import zero_gradient
from aotensor.ops.scan.extents import spans
from aotensor.ops.scan.recover import ForwardValues, RecoveredTerms, recover
from aotensor.ops.shape.axes import shape_padleft
from aotensor.ops.shape.extents import extent_of, shape_i
from aotensor.ops.shape.join import concatenate
from aotensor.ops.updates import set_subtensor
from aotensor.ops.window import Position

if TYPE_CHECKING:
    from aotensor.ops.scan.op import Scan


def pull_back_loop(op: Scan, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
    """One cotangent per input of a loop, as `Op.pullback` wants them."""
    given = connected(cotangents)
    found = _Pullback(op, inputs, outputs, given).terms()
    reached = set().union(*(source for k, source in enumerate(op.influences()) if k in given))
    missing = [zero_gradient(x) if k in reached else disconnected() for k, x in enumerate(inputs)]
    return [found.get(k, term) if k in reached else term for k, term in enumerate(missing)]


class _Pullback:
    def __init__(self, op: Scan, inputs: Variables, outputs: Variables, cotangents: Mapping[int, Variable]) -> None:
        self.op, self.inputs, self.outputs = op, inputs, outputs
        self.given = op.operands(inputs)
        self.positions = op.operands(range(len(inputs)))
        self.slots = op.slots(op.body.inputs)
        self.made = op.results(op.body.outputs)
        self.cotangents = op.results([cotangents.get(k) for k in range(len(outputs))])
        self.nulls: dict[int, Variable] = {}

    def terms(self) -> dict[int, Variable]:
        """Cotangents of the loop's inputs by position; inputs without a cotangent are missing."""
        if not self._active and not self._mapped:
            return {}
        pulled = self._pull_body()
        terms = self._backward(pulled) if pulled else {}
        return {**terms, **self.nulls}

    # --- the body ---

    @cached_property
    def _mapped(self) -> list[int]:
        """The mapped values that have a cotangent."""
        pairs = zip(self.made.mapped, self.cotangents.mapped, strict=True)
        return [k for k, (x, ct) in enumerate(pairs) if _is_float(x) and ct is not None]

    @cached_property
    def _active(self) -> list[int]:
        """The states that have a cotangent in some step."""
        floats = {k for k, x in enumerate(self.made.states) if _is_float(x)}
        active = {k for k in floats if self.cotangents.states[k] is not None}
        influences = self.op.results(self.op.body.influences)
        slots = self.op.slots(range(len(self.op.body.inputs)))
        is_growing = True
        while is_growing:
            read = set().union(*(influences.states[k] for k in active), *(influences.mapped[k] for k in self._mapped))
            wider = active | {k for k in floats if read & set(slots.taps[k])}
            is_growing, active = wider != active, wider
        return sorted(active)

    @cached_property
    def _symbols(self) -> tuple[dict[int, Variable], dict[int, Variable]]:
        """A symbol for the cotangent of each active state and each mapped value in one step."""
        states = {k: Variable(self.made.states[k].tensor_type) for k in self._active}
        return states, {k: Variable(self.made.mapped[k].tensor_type) for k in self._mapped}

    def _pull_body(self) -> dict[Variable, Variable]:
        """Input of the body → its cotangent in one step. Null cotangents are removed, with all inputs that they
        reach.
        """
        states, mapped = self._symbols
        outputs = [*(self.made.states[k] for k in states), *(self.made.mapped[k] for k in mapped)]
        taps = [slot for k in states for slot in self.slots.taps[k]]
        wrt = list(dict.fromkeys([*self.slots.sequences, *taps, *self.slots.constants]))
        found = dict(zip(wrt, sweeps.pulled_terms(outputs, wrt, [*states.values(), *mapped.values()]), strict=True))
        self._set_nulls({x: term for x, term in found.items() if is_null(term)})
        return {x: term for x, term in found.items() if has_value(term)}

    def _set_nulls(self, nulls: dict[Variable, Variable]) -> None:
        """Mark the cotangents of all inputs that influence, in earlier steps, a tap with a null cotangent as null."""
        owner = {slot: k for k in self._active for slot in self.slots.taps[k]}
        sources = self.op.influences()
        for x, null in nulls.items():
            if x in owner:
                reached = sources[owner[x]]
            else:
                pairs = zip(
                    [*self.slots.sequences, *self.slots.constants],
                    [*self.positions.sequences, *self.positions.constants],
                    strict=True,
                )
                reached = {position for slot, position in pairs if slot is x}
            self.nulls.update(dict.fromkeys(reached, null))

    # --- the loop ---

    def _backward(self, pulled: dict[Variable, Variable]) -> dict[int, Variable]:
        op, (states, mapped) = self.op, self._symbols
        pending = {k: [Variable(symbol.tensor_type) for _ in range(op.depths[k])] for k, symbol in states.items()}
        given = {k: ct for k, ct in enumerate(self.cotangents.mapped) if ct is not None}
        rows = [(given[k], symbol) for k, symbol in mapped.items()]
        totals = {symbol: pending[k][0] for k, symbol in states.items()}
        for k, symbol in states.items():
            ct = self.cotangents.states[k]
            if op.is_stacked[k] and self._last_row(k) is None and ct is not None:
                row = Variable(symbol.tensor_type)
                rows.append((ct, row))
                totals[symbol] = add(pending[k][0], row)
        recovered = recover(self._forward(), list(pulled.values()), {**totals, **{x: x for x in mapped.values()}})
        stored, n_steps = self._store(recovered)
        rows += stored
        term = dict(zip(pulled, recovered.terms, strict=True))
        return self._run(_Rows(self, n_steps), rows, pending, term, recovered)

    def _forward(self) -> ForwardValues:
        stacked = [x for x, on in zip(self.made.states, self.op.is_stacked, strict=True) if on]
        there = {*stacked, *self.made.mapped}
        inputs, again = self.op.body.inputs, self.op.is_frugal
        return ForwardValues(inputs, self.slots.constants, self.slots.sequences, there, again)

    def _store(self, recovered: RecoveredTerms) -> tuple[list[tuple[Variable, Variable]], Variable]:
        """(sequence, its symbol) for each stored value, and the number of steps; from a loop that stores them all."""
        op, made = self.op, self.made
        there: dict[Variable, int] = {}
        for k, x in enumerate([*made.states, *made.mapped]):
            if k >= len(made.states) or op.is_stacked[k]:
                there.setdefault(x, k)
        new = [x for x in recovered.saved if x not in there]
        outputs = self.outputs
        if new:
            body = Subgraph(op.body.inputs, tuple(changed(made, mapped=[*made.mapped, *new]).flat()))
            keeps_rows = op.has_condition and op.is_frugal
            storing = changed(op, body=body, mapped=op.mapped + len(new), keeps_rows=keeps_rows)
            outputs = storing.apply(*self.inputs).outputs
            there.update({x: len(made.states) + op.mapped + k for k, x in enumerate(new)})
        rows = [(outputs[there[x]], symbol) for x, symbol in recovered.saved.items()]
        return rows, outputs[-1] if op.has_condition else self.given.n_steps

    def _run(
        self,
        window: _Rows,
        rows: list[tuple[Variable, Variable]],
        pending: dict[int, list[Variable]],
        term: dict[Variable, Variable],
        recovered: RecoveredTerms,
    ) -> dict[int, Variable]:
        """Run the backward loop, and return cotangents of the loop's inputs by position."""
        slots, op = self.slots, self.op
        summed = [(k, x, Variable(TensorType(term[x].dtype, x.tensor_type.shape))) for k, x in self._summed(term)]
        mapped = [(k, x) for k, x in enumerate(slots.sequences) if x in term]
        news = [new for k in pending for new in self._shifted(k, pending[k], term)]
        body_outputs = [*news, *(add(total, term[x]) for _, x, total in summed), *(term[x] for _, x in mapped)]
        state_slots = [*(x for one in pending.values() for x in one), *(total for *_, total in summed)]
        used = set(leaves(body_outputs))
        rows = [pair for pair in rows if pair[1] in used]
        rows += [(x, slot) for x, slot in zip(self.given.sequences, slots.sequences, strict=True) if slot in used]
        fixed = [(x, slot) for x, slot in zip(self.given.constants, slots.constants, strict=True) if slot in used]
        fixed += [(self._extent(*key), slot) for key, slot in recovered.extents.items() if slot in used]
        body = Subgraph((*(s for _, s in rows), *state_slots, *(s for _, s in fixed)), tuple(body_outputs))
        initial = [x for k in pending for x in self._last_cotangents(k)]
        initial += [zeros_like(self.given.constants[k], total.dtype) for k, _, total in summed]
        backward = changed(
            op,
            body=body,
            sequences=len(rows),
            taps=((-1,),) * len(state_slots),
            is_stacked=(False,) * len(state_slots),
            mapped=len(mapped),
            has_condition=False,
            keeps_rows=False,
            is_reversed=not op.is_reversed,
            truncate=-1,
        )
        operands = [
            window.count,
            *(window.rows_of(x) for x, _ in rows),
            *map(shape_padleft, initial),
            *(x for x, _ in fixed),
        ]
        results = iter(backward.apply(*operands).outputs)
        return self._collected(window, pending, summed, mapped, results)

    def _summed(self, term: dict[Variable, Variable]) -> list[tuple[int, Variable]]:
        return [(k, x) for k, x in enumerate(self.slots.constants) if x in term]

    def _collected(
        self,
        window: _Rows,
        pending: dict[int, list[Variable]],
        summed: Sequence[tuple[int, Variable, Variable]],
        mapped: Sequence[tuple[int, Variable]],
        results: Iterator[Variable],
    ) -> dict[int, Variable]:
        terms: dict[int, Variable] = {}
        for k, parts in pending.items():
            oldest_first = [shape_padleft(next(results)) for _ in parts][::-1]
            whole = concatenate(oldest_first, 0) if len(parts) > 1 else oldest_first[0]
            terms[self.positions.initial[k]] = window.initial_cotangent(whole)
        for k, *_ in summed:
            terms[self.positions.constants[k]] = next(results)
        for k, _ in mapped:
            terms[self.positions.sequences[k]] = window.sequence_cotangent(next(results), self.given.sequences[k])
        return terms

    def _shifted(self, k: int, pending: Sequence[Variable], term: dict[Variable, Variable]) -> list[Variable]:
        """The cotangents that are carried to the next iteration of the pullback, one step earlier."""
        taps = dict(zip(self.op.taps[k], self.slots.taps[k], strict=True))
        news: list[Variable] = []
        for back, old in enumerate(pending, 1):
            slot = taps.get(-back)
            parts = [pending[back]] if back < len(pending) else []
            parts += [term[slot]] if slot is not None and slot in term else []
            news.append(add(*parts) if len(parts) == 2 else parts[0] if parts else zeros_like(old))
        return news

    def _last_cotangents(self, k: int) -> list[Variable]:
        """Initial values of the backward loop for state k: the cotangent of its last value, if that is an output,
        else zeros.
        """
        zeros = _zero_row(self.given.initial[k])
        cotangent = self.cotangents.states[k]
        last = self._last_row(k) if self.op.is_stacked[k] else cotangent
        return [zeros if last is None else last, *([zeros] * (self.op.depths[k] - 1))]

    def _last_row(self, k: int) -> Variable | None:
        """The cotangent of the last row of a stacked state, if the other rows have cotangents of zeros by
        construction.
        """
        cotangent = self.cotangents.states[k]
        node = None if cotangent is None else cotangent.owner
        if node is None or not isinstance(node.op, IncSubtensor):
            return None
        whole, row = node.inputs[:2]
        is_last = node.op.entries == (Position(0 if self.op.is_reversed else -1),)
        return row if is_last and is_zeros(whole) and row.ndim == whole.ndim - 1 else None

    def _extent(self, slot: Variable, axis: int) -> Variable:
        """The extent of an input of the body along an axis, as a value outside of the loop."""
        for x, one in zip(self.given.constants, self.slots.constants, strict=True):
            if one is slot:
                return shape_i(x, axis)
        wholes = [
            *self.given.sequences,
            *(x for x, taps in zip(self.given.initial, self.op.taps, strict=True) for _ in taps),
        ]
        inner = [*self.slots.sequences, *(tap for taps in self.slots.taps for tap in taps)]
        return shape_i(wholes[inner.index(slot)], axis + 1)


class _Rows:
    """The rows over which the backward loop runs: all, or the last ones where the gradient is truncated."""

    def __init__(self, pullback: _Pullback, n_steps: Variable) -> None:
        op = pullback.op
        self.n_steps, self.is_cut, self.is_low = n_steps, op.truncate >= 0, op.is_reversed
        self.count: Variable = minimum(n_steps, constant(op.truncate, dtype="int64")) if self.is_cut else n_steps

    def rows_of(self, x: Variable) -> Variable:
        """The rows of a sequence that the backward loop reads."""
        if not self.is_cut:
            return x
        return x[: self.count] if self.is_low else self._last(x)

    def _last(self, x: Variable) -> Variable:
        return x[self.n_steps - self.count : self.n_steps]

    def sequence_cotangent(self, term: Variable, like: Variable) -> Variable:
        """The cotangent of a sequence: `term` for the rows that the backward loop reads, zeros for the others."""
        if not self.is_cut and spans(self.n_steps, like):
            return term
        shape: list[Any] = [extent_of(like, 0), *(extent_of(term, axis) for axis in range(1, term.ndim))]
        zeros = alloc(constant(0, dtype=term.dtype), shape)
        rows = zeros[: self.count] if self.is_low or not self.is_cut else self._last(zeros)
        return set_subtensor(rows, term)

    def initial_cotangent(self, term: Variable) -> Variable:
        """The cotangent of an initial value: zeros if a truncated backward loop does not reach the first step."""
        if not self.is_cut:
            return term
        return switch(le(self.n_steps, self.count), term, zeros_like(term))


def _is_float(x: Variable) -> bool:
    return dtypes.is_float(x.dtype)


def _zero_row(initial: Variable) -> Variable:
    """Zeros in the shape of one row of a state's initial value."""
    dims: list[Any] = [extent_of(initial, axis) for axis in range(1, initial.ndim)]
    return alloc(constant(0, dtype=initial.dtype), dims)
