"""The pushforward of a loop, which carries tangents along with the states, and a loop for all samples of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as changed
from typing import TYPE_CHECKING

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.core.types import TensorType
from aotensor.errors import UnsupportedError
from aotensor.graph.op import connected, disconnected, has_value, is_null
from aotensor.graph.operations import sweeps
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable
from aotensor.graph.vectorize import batch
from aotensor.ops.batching import repeated
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.compare import cast, invert, or_, switch
from aotensor.ops.linear import zero_gradient
from aotensor.ops.reduce.sums import all as all_of
from aotensor.ops.scan.layout import Operands, Results, Slots
from aotensor.ops.shape.axes import dimshuffle, expand_dims, moveaxis
from aotensor.ops.shape.extents import shape_i

if TYPE_CHECKING:
    from aotensor.ops.scan.op import Scan


def push_forward_loop(op: Scan, inputs: Sequence[Variable], tangents: Sequence[Variable]) -> list[Variable]:
    """One tangent per output of a loop: from one loop for values and tangents.

    It recomputes the forward values, until the pass `merge-loops` merges it with the forward loop.
    """
    live = connected(tangents)
    given, slots = op.operands(inputs), op.slots(op.body.inputs)
    moving = op.operands([live.get(k) for k in range(len(inputs))])
    varying = _varying(op, live)
    initial = [
        zero_gradient(x) if tangent is None else tangent
        for x, tangent, on in zip(given.initial, moving.initial, varying, strict=True)
        if on
    ]
    directions = Slots(
        [_direction(slot, tangent) for slot, tangent in zip(slots.sequences, moving.sequences, strict=True)],
        [[_symbol(slot) if on else None for slot in taps] for taps, on in zip(slots.taps, varying, strict=True)],
        [_direction(slot, tangent) for slot, tangent in zip(slots.constants, moving.constants, strict=True)],
    )
    made, results = op.results(op.body.outputs), _push_body(op, slots, directions)
    nulls = _nulls(op, results, varying)
    states = [_tangent_or_zeros(x, t) for x, t, on in zip(made.states, results.states, varying, strict=True) if on]
    mapped = [t if has_value(t) else None for t in results.mapped]
    body = _joint_body(slots, directions, made, states, mapped)
    stacked = [on for on, is_varying in zip(op.is_stacked, varying, strict=True) if is_varying]
    lags = [taps for taps, on in zip(op.taps, varying, strict=True) if on]
    joint = changed(
        op,
        body=body,
        sequences=op.sequences + sum(x is not None for x in directions.sequences),
        taps=(*op.taps, *lags),
        is_stacked=(*op.is_stacked, *stacked),
        mapped=op.mapped + sum(x is not None for x in mapped),
    )
    operands = Operands(
        given.n_steps,
        [*given.sequences, *(x for x in moving.sequences if x is not None)],
        [*given.initial, *initial],
        [*given.constants, *(x for x in moving.constants if x is not None)],
    )
    outputs = joint.results(joint.apply(*operands.flat()).outputs)
    state_tangents, mapped_tangents = iter(outputs.states[len(op.taps) :]), iter(outputs.mapped[op.mapped :])
    found = {k: next(state_tangents) for k, on in enumerate(varying) if on}
    found |= {k: next(mapped_tangents) for k, t in enumerate(mapped, len(op.taps)) if t is not None}
    found |= nulls
    values = [*outputs.states[: len(op.taps)], *outputs.mapped[: op.mapped], outputs.last]
    for k, (x, sources) in enumerate(zip(values, op.influences(), strict=False)):
        found.setdefault(k, zero_gradient(x) if x is not None and sources & live.keys() else disconnected())
    return [found[k] for k in sorted(found)]


def _varying(op: Scan, live: Mapping[int, Variable]) -> list[bool]:
    """The states with a tangent: floating states that depend on an input with a tangent."""
    pairs = zip(op.results(op.body.outputs).states, op.influences(), strict=False)
    return [dtypes.is_float(x.dtype) and bool(sources & live.keys()) for x, sources in pairs]


def _symbol(slot: Variable) -> Variable:
    dtype = slot.dtype if dtypes.is_float(slot.dtype) else config.floatX
    return Variable(TensorType(dtype, slot.tensor_type.shape))


def _direction(slot: Variable, tangent: Variable | None) -> Variable | None:
    """A symbol for the tangent of an input of the body, of the dtype of `tangent`."""
    return None if tangent is None else Variable(TensorType(tangent.dtype, slot.tensor_type.shape))


def _push_body(op: Scan, slots: Slots[Variable], directions: Slots[Variable | None]) -> Results[Variable]:
    """The tangents of the outputs of the body."""
    moving = {x: tangent for x, tangent in zip(slots.flat(), directions.flat(), strict=True) if tangent is not None}
    return op.results(sweeps.pushed_terms(op.body.outputs, list(moving), list(moving.values())))


def _tangent_or_zeros(x: Variable, tangent: Variable) -> Variable:
    """The tangent of a new state, or zeros."""
    return tangent if has_value(tangent) else zero_gradient(x)


def _nulls(op: Scan, results: Results[Variable], varying: Sequence[bool]) -> dict[int, Variable]:
    """Position of an output → the null tangent that reaches it."""
    found = {k: t for k, t in enumerate([*results.states, *results.mapped]) if is_null(t)}
    poisoned = {k: t for k, t in found.items() if k < len(op.taps) and varying[k]}
    initial = op.operands(range(1 + op.sequences + len(op.taps))).initial
    for state, null in poisoned.items():
        for k, sources in enumerate(op.influences()):
            if initial[state] in sources:
                found.setdefault(k, null)
    return found


def _joint_body(
    slots: Slots[Variable],
    directions: Slots[Variable | None],
    made: Results[Variable],
    states: Sequence[Variable],
    mapped: Sequence[Variable | None],
) -> Subgraph:
    inputs = Slots[Variable](
        [*slots.sequences, *(x for x in directions.sequences if x is not None)],
        [*slots.taps, *([x for x in taps if x is not None] for taps in directions.taps)],
        [*slots.constants, *(x for x in directions.constants if x is not None)],
    )
    outputs = Results([*made.states, *states], [*made.mapped, *(x for x in mapped if x is not None)], made.last)
    return Subgraph(tuple(inputs.flat()), tuple(outputs.flat()))


def batched(op: Scan, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> list[Variable]:
    """The outputs for all samples of a batch, along a leading axis; inside the loop it follows the axis of steps.

    Raises: UnsupportedError if the number of steps would differ from sample to sample.
    """
    given, marks, slots = op.operands(inputs), op.operands(is_batched), op.slots(op.body.inputs)
    if marks.n_steps:
        raise UnsupportedError("scan: the number of steps differs from sample to sample of the batch")
    states = list(marks.initial)
    while True:
        wide = Slots(
            [_samples(x, on) for x, on in zip(slots.sequences, marks.sequences, strict=True)],
            [[_samples(x, on) for x in taps] for taps, on in zip(slots.taps, states, strict=True)],
            [_samples(x, on) for x, on in zip(slots.constants, marks.constants, strict=True)],
        )
        pairs = zip(slots.flat(), wide.flat(), strict=True)
        made = op.results(batch(op.body.outputs, {x: new for x, new in pairs if new is not x}))
        old = op.results(op.body.outputs)
        grown = [on or new.ndim > x.ndim for on, new, x in zip(states, made.states, old.states, strict=True)]
        has_lanes = made.last is not None and made.last.ndim > 0
        if has_lanes:
            _check_lanes(op)
            grown = [True] * len(states)
        if grown == states:
            break
        states = grown
    made.states = [
        repeated(new, taps[0]) if on and new.ndim == x.ndim else new
        for new, taps, on, x in zip(made.states, wide.taps, states, old.states, strict=True)
    ]
    example = inputs[list(is_batched).index(True)]
    operands = Operands(
        given.n_steps,
        [moveaxis(x, 0, 1) if on else x for x, on in zip(given.sequences, marks.sequences, strict=True)],
        [
            moveaxis(x if known else repeated(x, example), 0, 1) if on else x
            for x, known, on in zip(given.initial, marks.initial, states, strict=True)
        ],
        given.constants,
    )
    if has_lanes:
        return _lanes(op, operands, wide, made, old.mapped, example)
    loop = changed(op, body=Subgraph(tuple(wide.flat()), tuple(made.flat())))
    return _restore_sample_axis(op, loop.results(loop.apply(*operands.flat()).outputs), states, made, old)


def _check_lanes(op: Scan) -> None:
    """Check that samples may stop one by one: results have one extent for all samples.   Raises: UnsupportedError"""
    if (op.mapped and not op.pads) or any(op.is_stacked) or any(-1 not in taps for taps in op.taps):
        raise UnsupportedError(
            "scan: the condition to stop differs from sample to sample of the batch, in a loop that stacks values",
            hint="stop when all samples are done, or use the last values only",
        )


def _lanes(
    op: Scan,
    operands: Operands[Variable],
    wide: Slots[Variable],
    made: Results[Variable],
    mapped: Sequence[Variable],
    example: Variable,
) -> list[Variable]:
    """The last values, mapped values and numbers of steps of a loop with a separate end for each sample.

    A finished sample keeps its states, from which its mapped values follow; the loop ends when all are finished. If
    it pads, all samples have its number of steps.   mapped: the values of one sample
    """
    assert made.last is not None
    mask = zeros([shape_i(example, 0)], "bool")
    done, count = Variable(TensorType("bool", (None,))), Variable(TensorType("int64", (None,)))
    last = [taps[lags.index(-1)] for taps, lags in zip(wide.taps, op.taps, strict=True)]
    kept = [
        switch(dimshuffle(done, [0, *[None] * (new.ndim - 1)]), old, new)
        for new, old in zip(made.states, last, strict=True)
    ]
    is_done = or_(done, made.last)
    taken = count + cast(invert(done), "int64")
    inputs = Slots(wide.sequences, [*wide.taps, [done], [count]], wide.constants)
    mapped = [x if x.ndim > old.ndim else repeated(x, last[0]) for x, old in zip(made.mapped, mapped, strict=True)]
    outputs = Results([*kept, is_done, taken], mapped, all_of(is_done))
    loop = changed(
        op,
        body=Subgraph(tuple(inputs.flat()), tuple(outputs.flat())),
        taps=(*op.taps, (-1,), (-1,)),
        is_stacked=(*op.is_stacked, False, False),
    )
    first = [expand_dims(mask, 0), expand_dims(cast(mask, "int64"), 0)]
    initial = Operands(operands.n_steps, operands.sequences, [*operands.initial, *first], operands.constants)
    found = loop.results(loop.apply(*initial.flat()).outputs)
    assert found.last is not None
    steps = found.last if op.pads else found.states[-1]
    return [*found.states[: len(op.taps)], *(moveaxis(x, 1, 0) for x in found.mapped), steps]


def _samples(x: Variable, on: bool) -> Variable:
    """A symbol for all samples of an input of the body, or the input itself."""
    return Variable(TensorType(x.dtype, (None, *x.tensor_type.shape)), name=x.name) if on else x


def _restore_sample_axis(
    op: Scan, outputs: Results[Variable], states: Sequence[bool], made: Results[Variable], old: Results[Variable]
) -> list[Variable]:
    """The outputs, with the axis of samples moved before the axis of steps."""
    stacked = [on and whole for on, whole in zip(states, op.is_stacked, strict=True)]
    results = [moveaxis(x, 1, 0) if on else x for x, on in zip(outputs.states, stacked, strict=True)]
    for x, new, one in zip(outputs.mapped, made.mapped, old.mapped, strict=True):
        results.append(moveaxis(x, 1, 0) if new.ndim > one.ndim else x)
    return [*results, *([] if outputs.last is None else [outputs.last])]
