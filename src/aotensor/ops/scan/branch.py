"""Conditionals: IfElse selects one of two values, Branch runs one of two subgraphs.

Programs are built and differentiated with IfElse; the compiler makes it a Branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.op import Apply, Op, connected
from aotensor.graph.operations import KnownValues, sweeps
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable, Variables
from aotensor.graph.vectorize import batch
from aotensor.ops.batching import align_rank, repeated
from aotensor.ops.elementwise.compare import switch
from aotensor.ops.linear import filled, zero_gradient
from aotensor.ops.scan.layout import common_dims, slot_type
from aotensor.ops.scan.step_extents import body_extents
from aotensor.ops.shape.inference import LeafFacts


@frozen_dataclass
class Branch(Op):
    """The outputs of `then` where the condition holds, else those of `otherwise`: condition, *captured → *outputs.

    Both subgraphs have all captured values as inputs, and their outputs have the same dtypes and ranks.
    """

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "branch"
    notation: ClassVar[str] = "ifelse"
    is_analytic: ClassVar[bool] = True
    then: Subgraph = field(repr=False)
    otherwise: Subgraph = field(repr=False)

    def infer_type(self, condition: TensorType, *captured: TensorType) -> tuple[TensorType, ...]:
        if (condition.dtype, condition.rank) != ("bool", 0):
            raise GraphTypeError(f"a condition must be a bool scalar, not {condition}")
        for side in (self.then, self.otherwise):
            for position, (slot, type) in enumerate(zip(side.inputs, captured, strict=True)):
                slot_type(f"captured value {position}", slot, type)
        pairs = zip(self.then.outputs, self.otherwise.outputs, strict=True)
        return tuple(common_branch_type(one.tensor_type, other.tensor_type) for one, other in pairs)

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> tuple[TensorType, ...]:
        condition = known.value(node.inputs[0])
        given = [LeafFacts.from_known(x, type, known) for x, type in zip(node.inputs[1:], types[1:], strict=True)]
        sides = [self.then, self.otherwise] if condition is None else [self.then if condition else self.otherwise]
        found = [body_extents(side, given) for side in sides]
        shapes = [common_dims(*pair) for pair in zip(found[0], found[-1], strict=True)]
        return tuple(TensorType(x.dtype, shape) for x, shape in zip(node.outputs, shapes, strict=True))

    def reference(self, condition: Array, *captured: Array) -> tuple[Array, ...]:
        return tuple((self.then if condition else self.otherwise).evaluate(captured))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Variables:
        return sweeps.pulled_terms(self._inlined(inputs), inputs, cotangents)

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> Variables:
        return sweeps.pushed_terms(self._inlined(inputs), inputs, tangents)

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        pairs = zip(node.inputs, inputs, is_batched, strict=True)
        values = self._inlined(node.inputs)
        return batch(values, {x: new for x, new, on in pairs if on})

    def _inlined(self, inputs: Sequence[Variable]) -> list[Variable]:
        """The outputs by IfElse of both sides, each of them computed."""
        condition, *captured = inputs
        return chosen(condition, [*self.then.inlined(captured), *self.otherwise.inlined(captured)])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        sides = list(zip(self.then.influences, self.otherwise.influences, strict=True))
        rows = [[position in one | other for one, other in sides] for position in range(len(node.inputs) - 1)]
        return [[True] * len(node.outputs), *rows]

    def lower(self, b: TensorBuilder, *inputs: Tensor) -> tuple[Tensor, ...]:
        return b.branch(self, inputs)


@frozen_dataclass
class IfElse(Op):
    """condition, a₁ … aₙ, b₁ … bₙ → a₁ … aₙ where the condition, a bool scalar, holds, else b₁ … bₙ.

    The chosen values get the cotangents, the others and the condition exact zeros, as with `switch`. A
    sweep carries them under a guard, so that no value of the other side reaches a gradient (gradient/guards).
    """

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "ifelse"
    is_analytic: ClassVar[bool] = True
    count: int

    def infer_type(self, condition: TensorType, *values: TensorType) -> tuple[TensorType, ...]:
        if (condition.dtype, condition.rank) != ("bool", 0):
            raise GraphTypeError(f"the condition must be a bool scalar, not {condition}")
        return tuple(common_branch_type(*pair) for pair in zip(values[: self.count], values[self.count :], strict=True))

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> tuple[TensorType, ...]:
        condition = known.value(node.inputs[0])
        if condition is None:
            return self.infer_type(*types)
        return tuple(types[1 : 1 + self.count] if condition else types[1 + self.count :])

    def reference(self, condition: Array, *values: Array) -> tuple[Array, ...]:
        return tuple(values[: self.count] if condition else values[self.count :])

    def demanded(self, node: Apply, known: Mapping[Variable, Any]) -> Sequence[Variable]:
        """The inputs that the reference needs next: the condition, then the values of the chosen side."""
        condition, *values = node.inputs
        if condition not in known:
            return [condition]
        return values[: self.count] if known[condition].real else values[self.count :]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        positions = range(self.count)
        return [[True] * self.count, *([k == position for k in positions] for position in (*positions, *positions))]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        condition, *values = inputs
        terms = [zero_gradient(x) for x in values]
        floats = {k: ct for k, ct in connected(cotangents).items() if dtypes.is_float(outputs[k].dtype)}
        if floats:
            for positions, is_then in ((floats, True), ([k + self.count for k in floats], False)):
                zeros = [terms[position] for position in positions]
                sides = [*floats.values(), *zeros] if is_then else [*zeros, *floats.values()]
                for position, term in zip(positions, chosen(condition, sides), strict=True):
                    terms[position] = term
        return [zero_gradient(condition), *terms]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        _, *given = filled(tangents, inputs)
        moving = connected(tangents)
        results: list[Variable] = []
        for k, x in enumerate(outputs):
            if moving.keys() & {1 + k, 1 + k + self.count} and dtypes.is_float(x.dtype):
                results += chosen(inputs[0], [given[k], given[k + self.count]])
            else:
                results.append(zero_gradient(x))
        return results

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> list[Variable]:
        condition, *values = inputs
        marks = is_batched[1:]
        example = inputs[list(is_batched).index(True)]
        results: list[Variable] = []
        for k, x in enumerate(node.outputs):
            sides = [values[k], values[k + self.count]]
            known = [marks[k], marks[k + self.count]]
            if not is_batched[0]:
                if any(known):
                    sides = [y if on else repeated(y, example) for y, on in zip(sides, known, strict=True)]
                results += chosen(condition, sides)
            else:
                rank = x.ndim
                sides = [align_rank(y, rank) if on else y for y, on in zip(sides, known, strict=True)]
                results.append(switch(align_rank(condition, rank), *sides))
        return results

    def lower(self, b: TensorBuilder, *inputs: Tensor) -> tuple[Tensor, ...]:
        types = [TensorType(x.dtype, tuple(n if isinstance(n, int) else None for n in x.extents)) for x in inputs[1:]]
        slots = tuple(Variable(type) for type in types)
        sides = (slots[: self.count], slots[self.count :])
        return b.branch(Branch(*(Subgraph(slots, side) for side in sides)), inputs)


def chosen(condition: Variable, sides: Sequence[Variable]) -> list[Variable]:
    """The first half of the values if the condition holds, else the second half."""
    return list(IfElse(len(sides) // 2).apply(condition, *sides).outputs)


def common_branch_type(one: TensorType, other: TensorType) -> TensorType:
    """The type of a value that is `one` or `other`.   Raises: GraphTypeError if they differ in dtype or rank."""
    if (one.dtype, one.rank) != (other.dtype, other.rank):
        raise GraphTypeError(f"the branches must return the same types, found {one} and {other}")
    return TensorType(one.dtype, common_dims(one.shape, other.shape))
