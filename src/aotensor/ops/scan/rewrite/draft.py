"""A loop as a mutable draft: split into parts, changed, and rebuilt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed

from aotensor.core.types import TensorType
from aotensor.graph.op import Apply
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.unify import unify
from aotensor.graph.variable import Variable
from aotensor.graph.walk import replace
from aotensor.ops.scan.layout import Operands, Results, Slots
from aotensor.ops.scan.op import Scan


@dataclass
class Draft:
    """The parts of a loop: its inputs, the inputs of its body, the outputs of its body, in lists that may change.

    is_stacked: per state, as in `Scan`. taps: per state.
    """

    op: Scan
    given: Operands[Variable]
    slots: Slots[Variable]
    made: Results[Variable]
    taps: list[tuple[int, ...]]
    is_stacked: list[bool]
    needs_step: bool = False

    @staticmethod
    def from_node(node: Apply, known: Mapping[Variable, Variable]) -> Draft:
        """The draft of a node, with inputs that may have been replaced."""
        op = node.op
        assert isinstance(op, Scan)
        given = op.operands([known.get(x, x) for x in node.inputs])
        return Draft(
            op,
            given,
            op.slots(op.body.inputs),
            op.results(op.body.outputs),
            list(op.taps),
            list(op.is_stacked),
            op.needs_step,
        )

    def finished(self) -> Results[Variable]:
        """Build the loop and return its outputs."""
        op = changed(
            self.op,
            body=Subgraph(tuple(self.slots.flat()), tuple(self.made.flat())),
            sequences=len(self.slots.sequences),
            taps=tuple(self.taps),
            is_stacked=tuple(self.is_stacked),
            mapped=len(self.made.mapped),
            has_condition=self.made.last is not None,
            needs_step=self.needs_step,
        )
        return op.results(op.apply(*self.given.flat()).outputs)

    def keep_states(self, kept: Sequence[int]) -> None:
        """Drop all states except those in `kept`."""
        self.given.initial = [self.given.initial[k] for k in kept]
        self.slots.taps = [self.slots.taps[k] for k in kept]
        self.taps = [self.taps[k] for k in kept]
        self.is_stacked = [self.is_stacked[k] for k in kept]
        self.made.states = [self.made.states[k] for k in kept]

    def join_inputs(self) -> None:
        """Merge duplicate sequences, non-sequences and equal values of the body."""
        known: dict[Variable, Variable] = {}
        for wholes, slots in (
            (self.given.sequences, self.slots.sequences),
            (self.given.constants, self.slots.constants),
        ):
            first: dict[Variable, Variable] = {}
            for x, slot in zip(wholes, slots, strict=True):
                if first.setdefault(x, slot) is not slot and slot.type == first[x].type:
                    known[slot] = first[x]
            kept = [(x, slot) for x, slot in zip(wholes, slots, strict=True) if slot not in known]
            wholes[:], slots[:] = [x for x, _ in kept], [slot for _, slot in kept]
        self.made = self.results_like(unify(replace(self.made.flat(), known), self.slots.flat()))

    def outside(self, x: Variable) -> Variable:
        """A loop-invariant value of the body, computed in the graph around the loop."""
        return replace([x], dict(zip(self.slots.constants, self.given.constants, strict=True)))[0]

    def results_like(self, outputs: list[Variable]) -> Results[Variable]:
        """Values of the body, given in the order of its outputs, as `Results` with the roles of the present outputs."""
        states, end = len(self.made.states), len(self.made.states) + len(self.made.mapped)
        last = None if self.made.last is None else outputs[end]
        return Results(outputs[:states], outputs[states:end], last)

    def row(self, x: Variable) -> Variable:
        """The body's symbol for a row of the sequence x, which is added to the loop if it is new."""
        if x in self.given.sequences:
            return self.slots.sequences[self.given.sequences.index(x)]
        slot = Variable(TensorType(x.dtype, x.tensor_type.shape[1:]), name=x.name)
        self.given.sequences.append(x)
        self.slots.sequences.append(slot)
        return slot

    def constant(self, x: Variable) -> Variable:
        """The body's symbol for the non-sequence x, which is added to the loop if it is new."""
        if x in self.given.constants:
            return self.slots.constants[self.given.constants.index(x)]
        slot = Variable(x.tensor_type, name=x.name)
        self.given.constants.append(x)
        self.slots.constants.append(slot)
        return slot


def is_loop(node: Apply) -> bool:
    """Is the node an application of Scan?"""
    return isinstance(node.op, Scan)
