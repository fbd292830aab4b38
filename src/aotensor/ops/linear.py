"""Ops that are linear in their first input, and the zero gradients that go with discrete values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.graph.op import Apply, Op, disconnected, is_disconnected, sum_terms
from aotensor.graph.operations import dense, sparse
from aotensor.graph.variable import Variable


def zero_gradient(x: Variable) -> Variable:
    """Zeros of the shape of x, in its dtype if that is floating, else in floatX: the gradient of a discrete value.

    Those of a sparse matrix store nothing.
    """
    zeros = sparse().zeros_like if x.is_sparse else dense().zeros_like
    return zeros(x, x.dtype if dtypes.is_inexact(x.dtype) else config.floatX)


def bilinear_tangent(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    tangents: Sequence[Variable],
    product: Callable[[Variable, Variable], Variable],
) -> list[Variable]:
    """ẋ·y + x·ẏ, the pushforward of an op that is linear in each of its two inputs; exact zeros for a discrete one."""
    (x, y), (tx, ty) = inputs, tangents
    if is_disconnected(tx) and is_disconnected(ty):
        return [disconnected()]
    if dtypes.is_discrete(outputs[0].dtype):
        return [zero_gradient(outputs[0])]
    pairs = [(a, b) for a, b in ((tx, y), (x, ty)) if not is_disconnected(a) and not is_disconnected(b)]
    return [sum_terms([product(a, b) for a, b in pairs], dense().add)]


class LinearOp(Op):
    """An op that is linear in input 0; the other inputs (extents, positions) only steer it and get no gradient.

    Both derivative rules follow from `transpose`. A discrete output sends exact zeros, as everywhere.
    """

    is_analytic: ClassVar[bool] = True

    @abstractmethod
    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        """The adjoint of the op, applied to the cotangent of its output."""

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        is_discrete = dtypes.is_discrete(outputs[0].dtype)
        term = zero_gradient(inputs[0]) if is_discrete else self.transpose(inputs, cotangents[0])
        return [term, *(disconnected() for _ in inputs[1:])]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        if is_disconnected(tangents[0]):
            return [disconnected()]
        if dtypes.is_discrete(outputs[0].dtype):
            return [zero_gradient(outputs[0])]
        return [self(tangents[0], *inputs[1:])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], *([False] for _ in node.inputs[1:])]


class DiscreteOp(Op):
    """An op whose outputs are discrete and depend on the values of all inputs: every derivative is an exact zero."""

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        return [zero_gradient(x) for x in inputs]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        return [zero_gradient(x) for x in outputs]


class ConstantOp(Op):
    """An op whose outputs do not depend on the elements of its inputs (only on extents, or on nothing)."""

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        return [disconnected() for _ in inputs]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        return [disconnected() for _ in outputs]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False] * len(node.outputs) for _ in node.inputs]
