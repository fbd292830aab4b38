"""Ops that are linear in some of their inputs, and the zero gradients of discrete values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.graph.op import Apply, Op, connected, disconnected, is_disconnected, is_null, sum_terms
from aotensor.graph.operations import dense, sparse, sweeps
from aotensor.graph.variable import Variable, Variables


def zero_gradient(x: Variable) -> Variable:
    """Zeros of the shape of x, in its dtype if that is floating, else in floatX: the gradient of a discrete value.

    Those of a sparse matrix store nothing.
    """
    zeros = sparse.zeros_like if x.is_sparse else dense.zeros_like
    return zeros(x, x.dtype if dtypes.is_inexact(x.dtype) else config.floatX)


def filled(directions: Variables, variables: Variables) -> list[Variable]:
    """Tangents or cotangents of `variables`, with zeros for those of DisconnectedType."""
    pairs = zip(directions, variables, strict=True)
    return [zero_gradient(x) if is_disconnected(direction) else direction for direction, x in pairs]


class MultilinearOp(Op):
    """An op that is linear in some of its inputs; the others (extents, positions) are not differentiable.

        y = f(x₁, x₂, s)      ẏ = f(ẋ₁, x₂, s) + f(x₁, ẋ₂, s)      (x̄₁, x̄₂) = adjoints(x₁, x₂, s; ȳ)

    Both derivative rules, the pattern and the rule for complex operands follow from `linear_in` and `adjoints`. The
    sweeps handle discrete outputs.
    """

    is_analytic: ClassVar[bool] = True
    sees_discrete: ClassVar[bool] = False

    linear_in: ClassVar[tuple[tuple[int, ...], ...]] = ((0,), (1,))
    """Groups of positions: the op is linear in all inputs of a group together, with the others fixed."""

    def groups(self, count: int) -> tuple[tuple[int, ...], ...]:
        """The groups of inputs in which the op is linear, as tuples of positions.   count: number of inputs"""
        return self.linear_in

    @abstractmethod
    def adjoints(self, inputs: Sequence[Variable], cotangent: Variable) -> Sequence[Variable]:
        """Cotangents of the inputs in which the op is linear, in their order, for a cotangent of the output."""

    def along(self, group: tuple[int, ...], inputs: Sequence[Variable], tangents: Sequence[Variable]) -> Variable:
        """The op with the inputs of a group replaced by their tangents; members without a tangent get zeros."""
        filled_in = filled(tangents, inputs)
        return self(*(filled_in[k] if k in group else x for k, x in enumerate(inputs)))  # type: ignore[no-any-return]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        positions = sorted(sum(self.groups(len(inputs)), ()))
        terms = dict(zip(positions, self.adjoints(inputs, cotangents[0]), strict=True))
        return [terms[k] if k in terms else disconnected() for k in range(len(inputs))]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        moving = connected(tangents).keys()
        terms = [self.along(group, inputs, tangents) for group in self.groups(len(inputs)) if moving & {*group}]
        return [sum_terms(terms, dense.add)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        positions = {k for group in self.groups(len(node.inputs)) for k in group}
        return [[k in positions] for k in range(len(node.inputs))]


class LinearisedOp(Op):
    """An op with a pushforward only; its pullback is the transpose of the pushforward.

    The pushforward gets tangents of all connected inputs here, and must be linear in them.
    """

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        node = outputs[0].owner
        pattern = [[True]] * len(inputs) if node is None else self.connection_pattern(node)
        slots = {k: zero_gradient(x) for k, x in enumerate(inputs) if any(pattern[k])}
        pushed = self.pushforward(inputs, outputs, [slots.get(k, disconnected()) for k in range(len(inputs))])
        live = connected(cotangents)
        null = next((pushed[k] for k in live if is_null(pushed[k])), None)
        if null is not None:
            return [null if k in slots else disconnected() for k in range(len(inputs))]
        found = sweeps.pulled_terms([pushed[k] for k in live], list(slots.values()), list(live.values()))
        terms = dict(zip(slots, filled(found, [inputs[k] for k in slots]), strict=True))
        return [terms.get(k, disconnected()) for k in range(len(inputs))]


class LinearOp(MultilinearOp):
    """An op that is linear in input 0; its other inputs are not differentiable."""

    linear_in: ClassVar[tuple[tuple[int, ...], ...]] = ((0,),)

    @abstractmethod
    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        """The adjoint of the op, applied to the cotangent of its output."""

    def adjoints(self, inputs: Sequence[Variable], cotangent: Variable) -> Sequence[Variable]:
        return [self.transpose(inputs, cotangent)]


class SolveOp(Op):
    """x with A·x = b: linear in b; the derivative in A is that of the equation.

        A·ẋ = ḃ − Ȧ·x      b̄ = A⁻ᵀ·x̄      Ā = −b̄·xᵀ

    The inputs other than b and those that define A (factors, patterns, a first guess) are not differentiable.
    """

    matrices: ClassVar[tuple[int, ...]] = (0,)
    """Positions of the inputs that define A."""
    side: ClassVar[int] = -1
    """Position of b."""

    @abstractmethod
    def again(self, inputs: Sequence[Variable], b: Variable, is_transposed: bool = False) -> Variable:
        """The solution for the right-hand side b, by the same method and parameters; of Aᵀ·x = b if `is_transposed`."""

    @abstractmethod
    def times(self, position: int, inputs: Sequence[Variable], tangent: Variable, x: Variable) -> Variable:
        """Ȧ·x, where Ȧ is the tangent of A that follows from the tangent of the input at a position."""

    @abstractmethod
    def outer(self, position: int, inputs: Sequence[Variable], y: Variable, x: Variable) -> Variable:
        """The cotangent of the input at a position for the cotangent y·xᵀ of A: the adjoint of `times` in the
        tangent.
        """

    def pullback_to(
        self, wanted: Sequence[bool], inputs: Variables, outputs: Variables, cotangents: Variables
    ) -> list[Variable]:
        terms = [disconnected() for _ in inputs]
        terms[self.side] = for_b = self.again(inputs, cotangents[0], is_transposed=True)
        for position in self.matrices:
            if wanted[position]:
                terms[position] = -self.outer(position, inputs, for_b, outputs[0])
        return terms

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        moving = connected([tangents[k] for k in (self.side, *self.matrices)])
        terms = [-self.times(self.matrices[k - 1], inputs, t, outputs[0]) if k else t for k, t in moving.items()]
        return [self.again(inputs, sum_terms(terms, dense.add))]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        positions = {*self.matrices, range(len(node.inputs))[self.side]}
        return [[k in positions] for k in range(len(node.inputs))]


class DiscreteOp(Op):
    """An op whose outputs are discrete and depend on the values of all inputs: every derivative is an exact zero."""

    sees_discrete: ClassVar[bool] = False

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [zero_gradient(x) for x in inputs]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [zero_gradient(x) for x in outputs]


class ConstantOp(Op):
    """An op whose outputs do not depend on the elements of its inputs (only on extents, or on nothing)."""

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [disconnected() for _ in inputs]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [disconnected() for _ in outputs]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False] * len(node.outputs) for _ in node.inputs]
