"""Shared parts of the ops' batch rules: a new leading axis indexes the samples of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from aotensor.errors import UnsupportedError
from aotensor.graph.op import Apply, Op
from aotensor.graph.operations import dense
from aotensor.graph.variable import Variable

AnyOp = TypeVar("AnyOp", bound=Op)


def aligned(x: Variable, rank: int) -> Variable:
    """A batch whose samples get axes of extent 1 in front, up to `rank`: they broadcast as they did alone."""
    return dense().dimshuffle(x, [0, *([None] * (rank + 1 - x.ndim)), *range(1, x.ndim)])


def repeated(x: Variable, batch: Variable) -> Variable:
    """x as every sample, as often as `batch` has samples."""
    extent = dense().shape_i
    return dense().alloc(x, extent(batch, 0), *(extent(x, axis) for axis in range(x.ndim)))


def all_batched(inputs: Sequence[Variable], is_batched: Sequence[bool]) -> list[Variable]:
    """The inputs with those that all samples have in common repeated."""
    batch = inputs[list(is_batched).index(True)]
    return [x if on else repeated(x, batch) for x, on in zip(inputs, is_batched, strict=True)]


def moved(op: AnyOp) -> AnyOp:
    """The op along the same axes, counted behind the batch axis."""
    record: Any = op
    if hasattr(op, "axis"):
        return replace(record, axis=record.axis + 1)  # type: ignore[no-any-return]
    return replace(record, axes=tuple(axis + 1 for axis in record.axes))  # type: ignore[no-any-return]


def check_steering(op: Op, is_batched: Sequence[bool], first: int = 1) -> None:
    """Extents and positions, the inputs from `first` on, are the same for all samples.   Raises: UnsupportedError"""
    if any(is_batched[first:]):
        raise UnsupportedError(
            f"{op.name}: extents or positions that differ from sample to sample", hint="only values can be batched"
        )


class AxisOp(Op):
    """An op that works along its `axis` or its `axes`, and independently at every position of the other axes."""

    sees_discrete: ClassVar[bool] = False

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        return moved(self).apply(*all_batched(inputs, is_batched)).outputs


class TrailingOp(Op):
    """An op on the last axes of its first input, whatever axes there are before; the other inputs only steer it."""

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_steering(self, is_batched)
        return self.apply(*inputs).outputs
