"""Scan. PyTensor's op works on whole buffers that begin with the initial values; here loops stack the outputs of steps.

| kind of output | here |
|---|---|
| sit_sot, mit_sot | a state with taps; the buffer is its first rows, then what the loop stacks |
| nit_sot | an output that is not fed back |
| untraced sit_sot | a state whose last value alone is used, such as that of a generator |
| mit_mot that writes one row per step, the last that it reads | a state, and the rest of the buffer as a sequence |
| mit_mot, any other | a state that is the whole buffer |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aotensor as aot
import aotensor.tensor as at
from aotensor.importers.base import Unsuited
from aotensor.importers.loops import looped
from aotensor.importers.pytensor.rules import Walk, as_bool, rule
from aotensor.importers.pytensor.values import kind_of, number_of


@dataclass
class _Buffer:
    """A mit_mot buffer.   reads, writes: rows relative to the step, from 0; is_plain: as the table says."""

    value: Any
    reads: tuple[int, ...]
    writes: tuple[int, ...]

    @property
    def is_plain(self) -> bool:
        return len(self.writes) == 1 and all(tap <= self.writes[0] for tap in self.reads) and self.lags != ()

    @property
    def lags(self) -> tuple[int, ...]:
        """The reads of rows written by earlier steps, relative to the row being written."""
        return tuple(tap - self.writes[0] for tap in self.reads if tap < self.writes[0])


@rule("Scan")
def scan(walk: Walk, node: Any, n_steps: Any, *outer: Any) -> list[Any]:
    """A loop.   Raises: Unsuited for a buffer in which rows are written that no state can hold"""
    op, info = node.op, node.op.info
    groups = _Arguments(op, outer)
    for inputs in (groups.mit_mot, groups.traced):
        assert all(x.ndim > 0 for x in inputs)
    n = number_of(n_steps)
    buffers = [
        _Buffer(value, *_first_step_rows(reads, writes))
        for value, reads, writes in zip(groups.mit_mot, info.mit_mot_in_slices, info.mit_mot_out_slices, strict=True)
    ]
    if info.as_while and buffers:
        raise Unsuited("loops with a condition and mit-mot outputs are not supported")

    sequences = list(groups.sequences)
    states: list[Any] = []
    for buffer in buffers:
        if buffer.is_plain:
            top = buffer.writes[0]
            first = top + min(buffer.lags)
            states.append(_state(buffer.value[first:top], buffer.lags))
            if top in buffer.reads:
                sequences.append(buffer.value[top:])
        else:
            states.append(buffer.value)
    sequences.append(at.arange(n))
    taps = [tuple(t) for t in (*info.mit_sot_in_slices, *info.sit_sot_in_slices)]
    depths = [-min(t) for t in taps]
    for value, own, depth in zip(groups.traced, taps, depths, strict=True):
        states.append(_state(value[:depth], own))
    states += groups.untraced
    inner = _Inner(op, buffers, taps)

    def step(*given: Any) -> Any:
        rows, rest = list(given[: len(sequences)]), list(given[len(sequences) :])
        arguments = inner.arguments(rows, rest, len(groups.sequences))
        results = walk.inner(op.inner_inputs, op.inner_outputs, [*arguments, *groups.constants])
        outputs = inner.outputs(results, rows[-1], rest)
        return (outputs, aot.until(as_bool(results[-1]))) if info.as_while else outputs

    stacked = [*(buffer.is_plain for buffer in buffers), *[True] * len(taps), *[False] * len(groups.untraced)]
    found = looped(step, sequences, states, len(groups.lengths), n, stacked=stacked, truncate=op.truncate_gradient)
    return _outer(walk, node, groups, buffers, depths, n, found)


def _state(first: Any, taps: Sequence[int]) -> Any:
    """The initial value of a state from its first rows; a single row loses its axis."""
    return first[0] if tuple(taps) == (-1,) else {"initial": first, "taps": sorted(taps)}


def _outer(
    walk: Walk,
    node: Any,
    groups: _Arguments,
    buffers: Sequence[_Buffer],
    depths: Sequence[int],
    n: Any,
    given: Sequence[Any],
) -> list[Any]:
    """The outputs of the op from the outputs of the loop. Short buffers hold the last rows."""
    info, found, results = node.op.info, iter(given), []
    for buffer in buffers:
        rows = next(found)
        if buffer.is_plain:
            top = buffer.writes[0]
            results.append(at.concatenate([buffer.value[:top], rows, buffer.value[top + n :]]))
        else:
            results.append(rows)
    for buffer_value, depth in zip(groups.traced, depths, strict=True):
        whole = at.concatenate([buffer_value[:depth], next(found)])
        if walk.has_short_buffers:
            whole = whole[at.maximum(whole.shape[0] - buffer_value.shape[0], 0) :]
        elif not info.as_while:
            whole = at.specify_shape(whole, [buffer_value.shape[0], *(None for _ in range(whole.ndim - 1))])
        results.append(whole)
    last = [next(found) for _ in groups.untraced]
    for length in groups.lengths:
        results.append(_resize_rows(next(found), length, n, info.as_while, walk.has_short_buffers))
    return [*results, *last]


def _resize_rows(rows: Any, length: Any, n: Any, as_while: bool, is_short: bool) -> Any:
    """Fit rows to the requested number: missing ones, as in truncated gradients, are 0."""
    count = number_of(length)
    if is_short:
        rows = rows[at.maximum(rows.shape[0] - count, 0) :]
    if as_while or count is n or (isinstance(count, int) and count == n):
        return rows
    missing = at.zeros([at.maximum(count - n, 0), *(rows.shape[k] for k in range(1, rows.ndim))], dtype=rows.dtype)
    return at.concatenate([rows, missing])


class _Arguments:
    """The outer inputs of a Scan after the number of steps, by kind."""

    def __init__(self, op: Any, outer: Sequence[Any]) -> None:
        info = op.info
        pending = list(outer)

        def take(count: int) -> list[Any]:
            taken, pending[:count] = pending[:count], []
            return taken

        self.sequences = take(info.n_seqs)
        self.mit_mot = take(info.n_mit_mot)
        self.traced = take(info.n_mit_sot + info.n_sit_sot)
        self.untraced = take(info.n_untraced_sit_sot)
        self.lengths = take(info.n_nit_sot)
        self.constants = pending


class _Inner:
    """The order of the inner function's inputs and outputs, mapped to that of our steps."""

    def __init__(self, op: Any, buffers: Sequence[_Buffer], taps: Sequence[tuple[int, ...]]) -> None:
        self._buffers, self._taps = buffers, taps
        self._info = op.info
        self._is_generator = [kind_of(x) == "generator" for x in op.inner_inputs]

    def arguments(self, rows: Sequence[Any], rest: Sequence[Any], n_sequences: int) -> list[Any]:
        """The inputs of the inner function.   rows: of all sequences, the steps' number last; rest: states by tap"""
        pending, own_rows, k = iter(rest), iter(rows[n_sequences:-1]), rows[-1]
        found = list(rows[:n_sequences])
        for buffer in self._buffers:
            if buffer.is_plain:
                by_lag = {lag: next(pending) for lag in sorted(buffer.lags)}
                top = buffer.writes[0]
                present = next(own_rows) if top in buffer.reads else None
                found += [present if tap == top else by_lag[tap - top] for tap in buffer.reads]
            else:
                whole = next(pending)
                found += [whole[k + tap] for tap in buffer.reads]
        for own in self._taps:
            by_tap = {tap: next(pending) for tap in sorted(own)}
            found += [by_tap[tap] for tap in own]
        return [*found, *pending]

    def outputs(self, results: Sequence[Any], k: Any, rest: Sequence[Any]) -> list[Any]:
        """The outputs of a step: states (untraced ones last), then outputs that are not fed back."""
        pending, before = iter(results), iter(rest)
        found: list[Any] = []
        for buffer in self._buffers:
            if buffer.is_plain:
                for _ in buffer.lags:
                    next(before)
                found.append(next(pending))
                continue
            whole = next(before)
            for tap in buffer.writes:
                whole = at.set_subtensor(whole[k + tap], next(pending))
            found.append(whole)
        info = self._info
        others = list(pending)[: len(results) - info.as_while - len(found)]
        n_traced, n_free = len(self._taps), info.n_nit_sot
        traced, free = others[:n_traced], others[n_traced : n_traced + n_free]
        untraced = others[n_traced + n_free : n_traced + n_free + info.n_untraced_sit_sot]
        return [*found, *traced, *untraced, *free]


def _first_step_rows(reads: Sequence[int], writes: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Convert taps to rows of the buffer at the first step, from 0."""
    first = -min(0, *reads)
    return tuple(tap + first for tap in reads), tuple(tap + first for tap in writes)
