"""Extents of the results of a loop's step, without running it.

A row of a sequence and a state have extents and no values; a constant of the loop has both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from aotensor.core.types import Dim, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.op import Apply
from aotensor.graph.operations import KnownValues
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable
from aotensor.ops.shape.inference import Extents, Inference, LeafFacts

if TYPE_CHECKING:
    from aotensor.ops.scan.op import Scan


def step_extents(
    op: Scan, rows: Sequence[Extents], states: Sequence[Extents], constants: Sequence[LeafFacts]
) -> list[Extents]:
    """The extents of the new states, then of the mapped values; None if they depend on values.

    Raises: GraphError where extents in the body do not fit.
    """
    taps = [shape for shape, lags in zip(states, op.taps, strict=True) for _ in lags]
    made = op.results(body_extents(op.body, [*(LeafFacts(shape) for shape in (*rows, *taps)), *constants]))
    return [*made.states, *made.mapped]


def body_extents(body: Subgraph, given: Sequence[LeafFacts]) -> list[Extents]:
    """The extents of a body's outputs from those of its inputs; some inputs have known values."""
    fitted = [replace(x, extents=_merge_declared(slot, x.extents)) for slot, x in zip(body.inputs, given, strict=True)]
    return Inference(dict(zip(body.inputs, fitted, strict=True))).run(body.outputs)


def types_at(op: Scan, node: Apply, types: Sequence[TensorType], known: KnownValues) -> tuple[TensorType, ...]:
    """The types of a loop's results, given the extents of the inputs and some of their values."""
    given, inputs = op.operands(types), op.operands(node.inputs)
    steps = known.value(node.inputs[0])
    shapes = step_extents(
        op,
        [x.static_shape[1:] for x in given.sequences],
        [x.static_shape[1:] for x in given.initial],
        [LeafFacts.from_known(y, x, known) for x, y in zip(given.constants, inputs.constants, strict=True)],
    )
    may_stop = op.has_condition and not op.keeps_rows
    rows: Dim = None if steps is None or (may_stop and steps > 0) else int(steps)
    is_stacked = [*op.is_stacked, *[True] * op.mapped]
    results = []
    for position, x in enumerate(node.outputs[: len(shapes)]):
        shape = given.initial[position].shape[1:] if position < len(op.taps) else shapes[position]
        results.append(TensorType(x.dtype, (rows, *shape) if is_stacked[position] else shape))
    return (*results, *([TensorType("int64")] if op.has_condition else []))


def _merge_declared(slot: Variable, found: Extents) -> Extents:
    """Extents merged with those declared for an input of the body.   Raises: GraphValueError where they differ"""
    for axis, (m, n) in enumerate(zip(slot.static_shape, found, strict=True)):
        if m is not None and n not in (None, m):
            raise GraphValueError(f"scan: {slot} has extent {n} instead of {m} along axis {axis}")
    return tuple(m if n is None else n for m, n in zip(slot.static_shape, found, strict=True))
