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


def align_rank(x: Variable, rank: int) -> Variable:
    """x, a batch, reshaped so that its samples have `rank` axes: new ones of extent 1 lead, as broadcasting needs."""
    return dense.dimshuffle(x, [0, *([None] * (rank + 1 - x.ndim)), *range(1, x.ndim)])


def repeated(x: Variable, batch: Variable) -> Variable:
    """x repeated for every sample of `batch`."""
    extent = dense.shape_i
    return dense.alloc(x, extent(batch, 0), *(extent(x, axis) for axis in range(x.ndim)))


def all_batched(inputs: Sequence[Variable], is_batched: Sequence[bool]) -> list[Variable]:
    """The inputs, with unbatched ones repeated for all samples."""
    batch = inputs[list(is_batched).index(True)]
    return [x if on else repeated(x, batch) for x, on in zip(inputs, is_batched, strict=True)]


def shift_axes(op: AnyOp) -> AnyOp:
    """The op with its axis or axes increased by one, for operands with a leading batch axis."""
    record: Any = op
    if hasattr(op, "axis"):
        return replace(record, axis=record.axis + 1)  # type: ignore[no-any-return]
    return replace(record, axes=tuple(axis + 1 for axis in record.axes))  # type: ignore[no-any-return]


def check_nondifferentiable(op: Op, is_batched: Sequence[bool], first: int = 1) -> None:
    """Check that inputs from `first` on (extents, positions) do not differ by sample.   Raises: UnsupportedError"""
    if any(is_batched[first:]):
        raise UnsupportedError(
            f"{op.name}: an extent or a position differs from sample to sample of the batch",
            hint="batch values only, and pass extents and positions that are the same for all samples",
        )


class RepeatingOp(Op):
    """An op with any leading axes that all inputs have: unbatched inputs are repeated for all samples."""

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        return self.apply(*all_batched(inputs, is_batched)).outputs


class SampleOp(Op):
    """An op whose result for a batch is that for each sample, without changes to its inputs."""

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        return self.apply(*inputs).outputs


class ExtentsOp(Op):
    """An op whose inputs, such as extents and patterns, and so whose outputs are the same for all samples."""

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched, first=0)
        return node.outputs


class AxisOp(Op):
    """An op that works along its `axis` or its `axes`, and independently at every position of the other axes."""

    sees_discrete: ClassVar[bool] = False

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        return shift_axes(self).apply(*all_batched(inputs, is_batched)).outputs


class TrailingOp(Op):
    """An op on the last axes of its first input, with any leading axes; its other inputs are not differentiable."""

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched)
        return self.apply(*inputs).outputs
