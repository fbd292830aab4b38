"""The graph that an op is made of, as something to differentiate and to batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aotensor.graph.op import Op, is_disconnected, is_null
from aotensor.graph.variable import Variable
from aotensor.graph.walk import replace


@dataclass(frozen=True, eq=False)
class Expansion:
    """`outputs` of an op by other ops, on `slots`: symbols of their own in the place of the inputs."""

    slots: Sequence[Variable]
    outputs: Sequence[Variable]

    @classmethod
    def of(cls, op: Op, inputs: Sequence[Variable]) -> Expansion | None:
        """The expansion on inputs of these types, None if the op has none."""
        slots = [Variable(x.type, name=x.name) for x in inputs]
        outputs = op.expand(slots)
        return None if outputs is None else cls(slots, list(outputs))

    def on(self, inputs: Sequence[Variable]) -> list[Variable]:
        """The outputs on the inputs themselves."""
        return replace(self.outputs, dict(zip(self.slots, inputs, strict=True)))

    def outside(
        self,
        terms: Sequence[Variable],
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        others: Iterable[tuple[Variable, Variable]],
    ) -> list[Variable]:
        """Terms on slots, on outputs, and on the first of each of `others`, as terms on inputs and outputs of a node.

        What the node has computed is not computed again. Null and disconnected terms stay.
        """
        computed = {x: y for x, y in zip(self.outputs, outputs, strict=True) if x.owner is not None}
        mapping = {**computed, **dict(zip(self.slots, inputs, strict=True)), **dict(others)}
        found = iter(replace([x for x in terms if not is_disconnected(x) and not is_null(x)], mapping))
        return [x if is_disconnected(x) or is_null(x) else next(found) for x in terms]
