"""The NumPy reference of loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from aotensor.core.dtypes import is_float
from aotensor.core.types import Array
from aotensor.errors import GraphIndexError, GraphValueError
from aotensor.graph.variable import Variable
from aotensor.ops.scan.step_extents import step_extents
from aotensor.ops.shape.inference import LeafFacts

if TYPE_CHECKING:
    from aotensor.ops.scan.op import Scan


def run(op: Scan, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The outputs of a loop.

    Raises: GraphValueError for lengths that do not fit, or a state that changes its shape.
    """
    given = op.operands(inputs)
    n_steps = int(given.n_steps)
    _check_lengths(op, n_steps, given.sequences, given.initial)
    histories = [list(initial) for initial in given.initial]
    mapped: list[list[Array]] = [[] for _ in range(op.mapped)]
    step = 0
    while step < n_steps:
        row = n_steps - 1 - step if op.is_reversed else step
        made = op.results(_step(op, [x[row] for x in given.sequences], histories, given.constants))
        for position, (history, value) in enumerate(zip(histories, made.states, strict=True)):
            _check_state(position, history[-1], value)
            history.append(value)
        for column, value in zip(mapped, made.mapped, strict=True):
            column.append(value)
        step += 1
        if made.last is not None and made.last:
            break
    columns = [_stacked(op, column) for column in mapped] if step else _empty_stacks(op, inputs)
    results = _states(op, histories) + columns
    if op.keeps_rows:
        results = [_padded(x, n_steps) if on else x for x, on in zip(results, _is_stacked(op), strict=True)]
    return (*results, *([np.array(step)] if op.has_condition else []))


def _step(
    op: Scan, rows: Sequence[Array], histories: Sequence[Sequence[Array]], constants: Sequence[Array]
) -> list[Array]:
    taps = [history[lag] for history, lags in zip(histories, op.taps, strict=True) for lag in lags]
    values = [*rows, *taps, *constants]
    if len(histories[0] if histories else ()) == (op.depths[0] if histories else 0):
        for slot, value in zip(op.body.inputs, values, strict=True):
            _check_extents(slot, value)
    return op.body.evaluate([np.asarray(value) for value in values])


def _states(op: Scan, histories: Sequence[Sequence[Array]]) -> list[Array]:
    results: list[Array] = []
    for history, depth, stacked in zip(histories, op.depths, op.is_stacked, strict=True):
        if not stacked:
            results.append(np.array(history[-1]))
            continue
        values = list(history[depth:])
        results.append(_stacked(op, values) if values else np.zeros((0, *np.shape(history[0]))))
    return results


def _is_stacked(op: Scan) -> list[bool]:
    return [*op.is_stacked, *[True] * op.mapped]


def _padded(x: Array, rows: int) -> Array:
    """x with further rows that no reader may use: nan, or 0 for other dtypes."""
    value = np.nan if is_float(x.dtype.name) else 0
    return np.concatenate([x, np.full((rows - len(x), *x.shape[1:]), value, x.dtype)])


def _stacked(op: Scan, values: Sequence[Array]) -> Array:
    return np.stack(values[::-1] if op.is_reversed else values)


def _empty_stacks(op: Scan, inputs: Sequence[Array]) -> list[Array]:
    """The stacked values after no steps: empty, with the extents that a step would give."""
    given = op.operands(inputs)
    states = [x.shape[1:] for x in given.initial]
    shapes = step_extents(
        op, [x.shape[1:] for x in given.sequences], states, list(map(LeafFacts.known, given.constants))
    )
    for position, (old, new) in enumerate(zip(states, shapes, strict=False)):
        if any(n is not None and m != n for m, n in zip(old, new, strict=True)):
            raise GraphValueError(f"scan: the shape of state {position} changes from {old} to {new} in a step")
    is_complex = any(x.dtype.kind == "c" for x in inputs)
    made = op.results(op.body.outputs).mapped
    found = []
    for x, shape in zip(made, shapes[len(states) :], strict=False):
        if None in shape:
            raise GraphValueError(
                "scan: the shape of a stacked result is computed in the step, so it may differ from step to step",
                lines=[x.describe()],
                hint="compute the shape from non_sequences",
            )
        dtype = np.result_type(x.dtype, "complex64") if is_complex and is_float(x.dtype) else x.dtype
        found.append(np.empty((0, *(n for n in shape if n is not None)), dtype))
    return found


def _check_lengths(op: Scan, n_steps: int, sequences: Sequence[Array], initial: Sequence[Array]) -> None:
    if n_steps < 0:
        raise GraphValueError(f"scan: n_steps must not be negative, found {n_steps}")
    if op.needs_step and n_steps == 0:
        raise GraphIndexError("scan: the last row of a result is read, but the loop has 0 steps")
    for position, x in enumerate(sequences):
        if len(x) < n_steps:
            raise GraphValueError(f"scan: sequence {position} has {len(x)} rows for {n_steps} steps")
    for position, (x, depth) in enumerate(zip(initial, op.depths, strict=True)):
        if len(x) != depth:
            raise GraphValueError(f"scan: the initial value of state {position} has {len(x)} rows instead of {depth}")


def _check_state(position: int, old: Array, new: Array) -> None:
    if np.shape(old) != np.shape(new):
        raise GraphValueError(
            f"scan: the shape of state {position} changes from {np.shape(old)} to {np.shape(new)} in a step"
        )


def _check_extents(slot: Variable, value: Array) -> None:
    for axis, (wanted, found) in enumerate(zip(slot.static_shape, np.shape(value), strict=True)):
        if wanted is not None and wanted != found:
            raise GraphValueError(f"scan: {slot} has extent {found} instead of {wanted} along axis {axis}")
