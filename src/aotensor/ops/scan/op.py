"""Scan: a loop whose body is a subgraph, with states that are carried from step to step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar, TypeVar

from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Apply, Op
from aotensor.graph.operations import KnownValues
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.scan.extents import Axis, Sources
from aotensor.ops.scan.layout import Operands, Results, Slots, merged_dims, slot_type
from aotensor.ops.scan.pull import pull_back_loop
from aotensor.ops.scan.push import batched, push_forward_loop
from aotensor.ops.scan.run import run
from aotensor.ops.scan.step_extents import types_at
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, dim_of

T = TypeVar("T")


@frozen_dataclass
class Scan(Op):
    """n_steps steps of a body: n_steps, *sequences, *initial, *constants → *states, *mapped, steps taken.

    body: (rows of the sequences, taps of the states, constants) → (new states, mapped values, "stop after this step").
    sequences: their number; each has at least n_steps rows, and a step reads one.
    taps: for each state the steps that it looks back to, as −2, −1 in increasing order. Its `initial` has as many rows
    as its oldest tap says, the oldest first.
    is_stacked: for each state, are all its values an output, (steps, …), or the last one only, (…)?
    mapped: the number of values that are stacked but not fed back.
    has_condition: may the body stop the loop? Then the number of steps taken is the last output.
    is_reversed: step t reads and writes row n_steps − 1 − t instead of row t.
    label: the user's name of the loop.
    truncate: the pullback visits only this number of last steps; −1 is all.
    is_frugal: trade time for memory. The pullback stores the states only and recomputes other values, and no value
    that differs from step to step is hoisted.
    pads: samples of a batch may stop at different steps. The mapped values of a stopped sample follow from its last
    states, and all samples have the number of steps of the longest one.
    needs_step: zero steps raise an IndexError, since the last row of a state is read.
    is_segment: a part of a checkpointed loop, which is not divided again.
    keeps_rows: of a loop that may stop, stacked values have n_steps rows, and those after the last step are not
    defined. The loops that read them have the number of steps taken.
    """

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "scan"
    is_analytic: ClassVar[bool] = True
    body: Subgraph = field(repr=False)
    sequences: int
    taps: tuple[tuple[int, ...], ...]
    is_stacked: tuple[bool, ...]
    mapped: int
    has_condition: bool = False
    is_reversed: bool = False
    label: str = ""
    truncate: int = -1
    is_frugal: bool = False
    needs_step: bool = False
    pads: bool = False
    is_segment: bool = False
    keeps_rows: bool = False

    @property
    def depths(self) -> list[int]:
        """For each state, how many steps it looks back: the rows of its initial value."""
        return [-min(taps) for taps in self.taps]

    def operands(self, items: Sequence[T]) -> Operands[T]:
        """The inputs by their roles."""
        first, states = 1 + self.sequences, len(self.taps)
        return Operands(
            items[0], list(items[1:first]), list(items[first : first + states]), list(items[first + states :])
        )

    def slots(self, items: Sequence[T]) -> Slots[T]:
        """The inputs of the body by their roles."""
        position = self.sequences
        taps: list[list[T]] = []
        for lags in self.taps:
            taps.append(list(items[position : position + len(lags)]))
            position += len(lags)
        return Slots(list(items[: self.sequences]), taps, list(items[position:]))

    def results(self, items: Sequence[T]) -> Results[T]:
        """The outputs, or those of the body, by their roles."""
        states, end = len(self.taps), len(self.taps) + self.mapped
        return Results(list(items[:states]), list(items[states:end]), items[end] if self.has_condition else None)

    def apply(self, *inputs: Any) -> Apply:
        """Apply the op; if the number of steps is known, it becomes the extent of the outputs."""
        node = super().apply(*inputs)
        steps = dim_of(as_extent(node.inputs[0]))
        if steps is None or (self.has_condition and not self.keeps_rows):
            return node
        stacked = [*self.is_stacked, *([True] * self.mapped)]
        types = [
            TensorType(x.dtype, (steps, *x.tensor_type.shape[1:])) if on else x.tensor_type
            for x, on in zip(node.outputs, [*stacked, *([False] * self.has_condition)], strict=True)
        ]
        return Apply(self, node.inputs, types)

    def infer_type(self, *types: TensorType) -> tuple[TensorType, ...]:
        self._check_form()
        given, slots = self.operands(types), self.slots(self.body.inputs)
        if len(given.constants) != len(slots.constants):
            raise GraphTypeError(f"{len(types)} inputs do not fit a loop body with {len(self.body.inputs)} inputs")
        if (given.n_steps.dtype, given.n_steps.rank) != ("int64", 0):
            raise GraphTypeError(f"n_steps must be an int64 scalar, not {given.n_steps}")
        for position, (slot, type) in enumerate(zip(slots.sequences, given.sequences, strict=True)):
            slot_type(f"a row of sequence {position}", slot, _row(f"sequence {position}", type))
        for position, (slot, type) in enumerate(zip(slots.constants, given.constants, strict=True)):
            slot_type(f"non-sequence {position}", slot, type)
        states = [self._state(position, type) for position, type in enumerate(given.initial)]
        made = self.results(self.body.outputs)
        results = [
            TensorType(state.dtype, (None, *state.shape)) if stacked else state
            for state, stacked in zip(states, self.is_stacked, strict=True)
        ]
        results += [TensorType(x.dtype, (None, *x.tensor_type.shape)) for x in made.mapped]
        return (*results, *([TensorType("int64")] if self.has_condition else []))

    def types_at(
        self, node: Apply, types: Sequence[TensorType], known: KnownValues
    ) -> TensorType | tuple[TensorType, ...]:
        return types_at(self, node, types, known)

    def _check_form(self) -> None:
        made = self.results(self.body.outputs)
        assert len(self.taps) == len(self.is_stacked)
        assert len(made.flat()) == len(self.body.outputs)
        assert all(taps and list(taps) == sorted(set(taps)) and taps[-1] < 0 for taps in self.taps), self.taps
        assert not (self.is_reversed and self.has_condition)
        if made.last is not None and (made.last.dtype, made.last.ndim) != ("bool", 0):
            raise GraphTypeError("the condition of until must be a bool scalar", lines=[made.last.describe()])

    def _state(self, position: int, initial: TensorType) -> TensorType:
        """The type of a state: dtype, and the dims that its initial rows and its new value have in common."""
        what = f"state {position}"
        row, depth = _row(f"the initial value of {what}", initial), self.depths[position]
        if isinstance(initial.shape[0], int) and initial.shape[0] != depth:
            raise GraphValueError(f"the initial value of {what} has {initial.shape[0]} rows instead of {depth}")
        new = self.results(self.body.outputs).states[position]
        if (new.dtype, new.ndim) != (row.dtype, row.rank):
            raise GraphValueError(
                f"{what} has the initial type {row}, but the step returns {new.type}", lines=[new.describe()]
            )
        type = TensorType(row.dtype, merged_dims(what, row.shape, new.tensor_type.shape))
        for slot in self.slots(self.body.inputs).taps[position]:
            type = slot_type(f"the initial value of {what}", slot, type)
        return type

    def extent_source(self, node: Apply, output: int, axis: int) -> SymbolicExtent | Axis | None:
        """The origin of an extent of an output: the number of steps, or the initial value or body that determines
        it.
        """
        states = len(self.taps)
        is_stacked = output >= states or self.is_stacked[output]
        if is_stacked and axis == 0:
            return node.outputs[-1] if self.has_condition and not self.keeps_rows else node.inputs[0]
        given = self.operands(node.inputs)
        if output < states:
            return given.initial[output], axis + (not is_stacked)
        found = Sources(self.body.inputs).extent_of(self.body.outputs[output], axis - 1)
        if not isinstance(found, tuple):
            return found if isinstance(found, int) else None
        slots = self.slots(self.body.inputs)
        for slot, x in zip(slots.constants, given.constants, strict=True):
            if slot is found[0]:
                return x, found[1]
        wholes = [*zip(slots.sequences, given.sequences, strict=True)]
        wholes += [(slot, x) for taps, x in zip(slots.taps, given.initial, strict=True) for slot in taps]
        return next(((x, found[1] + 1) for slot, x in wholes if slot is found[0]), None)

    def is_faithful(self) -> bool:
        return self.truncate < 0

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return run(self, inputs)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return pull_back_loop(self, inputs, outputs, cotangents)

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return push_forward_loop(self, inputs, tangents)

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        return batched(self, inputs, is_batched)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        pattern = self.influences()
        return [[position in sources for sources in pattern] for position in range(len(node.inputs))]

    def influences(self) -> list[set[int]]:
        """For each output, the positions of the inputs whose elements influence it in some step; the last one has
        none.
        """
        given = self.operands(range(1 + self.sequences + len(self.taps) + len(self._constants())))
        slots = self.slots(range(len(self.body.inputs)))
        direct = dict(zip([*slots.sequences, *slots.constants], [*given.sequences, *given.constants], strict=True))
        owner = {slot: state for state, taps in enumerate(slots.taps) for slot in taps}
        states = [{initial} for initial in given.initial]
        made = self.results(self.body.influences)

        def sources(found: frozenset[int]) -> set[int]:
            return set().union(*({direct[slot]} if slot in direct else states[owner[slot]] for slot in found))

        is_growing = True
        while is_growing:
            wider = [known | sources(found) for known, found in zip(states, made.states, strict=True)]
            is_growing, states = wider != states, wider
        return [*states, *(sources(found) for found in made.mapped), *([] if made.last is None else [set[int]()])]

    def _constants(self) -> list[Variable]:
        return self.slots(self.body.inputs).constants

    def lower(self, b: TensorBuilder, *inputs: Tensor) -> tuple[Tensor, ...]:
        return b.scan(self, inputs)


def _row(what: str, type: TensorType) -> TensorType:
    """The type of one row.   Raises: GraphTypeError for a scalar."""
    if type.rank == 0:
        raise GraphTypeError(f"{what} is a scalar, which has no axis to loop over")
    return TensorType(type.dtype, type.shape[1:])
