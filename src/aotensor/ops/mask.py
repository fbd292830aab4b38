"""Masks as positions: the elements where a condition holds. Their number depends on values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphIndexError, GraphTypeError, GraphValueError, UnsupportedError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply, disconnected
from aotensor.graph.public import public
from aotensor.graph.variable import Constant, Variable, Variables, as_tensor, constant
from aotensor.ops.elementwise.compare import switch
from aotensor.ops.linear import DiscreteOp, zero_gradient
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import stack
from aotensor.ops.shape.reshape import ravel


@frozen_dataclass
class Nonzero(DiscreteOp):
    """int64 positions of the elements of x that are not 0 (nan is not), in C order: one vector per axis of x.

    first: x is the mask of a tensor from its axis `first` on, whose extents are the inputs after x and must equal those
    of x. None: there are none.
    """

    name: ClassVar[str] = "nonzero"
    first: int | None = None

    def infer_type(self, x: TensorType, *extents: TensorType) -> tuple[TensorType, ...]:
        if x.rank == 0:
            raise GraphValueError("expected a tensor with axes, found a scalar", hint="compare it with 0: x != 0")
        assert len(extents) == (0 if self.first is None else x.rank)
        for found in extents:
            if found.rank != 0 or found.dtype not in dtypes.INTEGERS:
                raise GraphTypeError(f"an extent must be an integer scalar, not {found}")
        return (TensorType("int64", (None,)),) * x.rank

    def reference(self, x: Array, *extents: Array) -> tuple[Array, ...]:
        for axis, (found, extent) in enumerate(zip(x.shape, extents, strict=bool(extents)), self.first or 0):
            if found != extent:
                raise GraphIndexError(_differ(axis, str(found), str(extent)))
        return np.nonzero(x)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [zero_gradient(inputs[0]), *(disconnected() for _ in inputs[1:])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[position == 0] * len(node.outputs) for position in range(len(node.inputs))]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        raise UnsupportedError(
            "nonzero: the number of positions differs from sample to sample of the batch",
            lines=[x.describe() for x in node.inputs[:1]],
            hint="use switch(condition, x, 0), which keeps all positions",
        )

    def lower(self, b: TensorBuilder, x: Tensor, *extents: Tensor) -> tuple[Tensor, ...]:
        v = b.scalars
        for axis, (found, extent) in enumerate(zip(x.extents, extents, strict=bool(extents)), self.first or 0):
            wanted = v.cast(b.item(extent), dtypes.INDEX)
            b.same_extent([wanted, found], mask_and_axis(axis), kind="index")
        return tuple(b.nonzero(b.cast(x, "bool")))


def _differ(axis: int, found: str, extent: str) -> str:
    return f"{mask_and_axis(axis)} differ: {found} and {extent}"


def mask_and_axis(axis: int) -> str:
    """The words that name the mask and the axis in an error about different extents."""
    return f"extents of the mask and of axis {axis}"


def is_mask(x: object) -> bool:
    """Is it a bool tensor of rank at least 1, which selects positions as an index?"""
    return isinstance(x, Variable) and x.dtype == "bool" and x.ndim > 0


def positions_of(mask: Variable, x: Variable, first: int) -> list[Variable]:
    """The positions that a mask names along the axes of x from `first` on, one vector per axis.

    Raises: GraphIndexError where extents of mask and x differ, at run time where they are not known.
    """
    axes = range(first, first + mask.ndim)
    for axis, found, known in zip(axes, mask.static_shape, x.static_shape[first:], strict=False):
        if None not in (found, known) and found != known:
            raise GraphIndexError(_differ(axis, str(found), str(known)), lines=[mask.describe(), x.describe()])
    if isinstance(mask, Constant) and all(x.static_shape[axis] is not None for axis in axes):
        return [constant(positions) for positions in np.nonzero(mask.data)]
    extents = [extent_of(x, axis) for axis in axes]
    return list(Nonzero(first).apply(mask, *extents).outputs)


def mask_of(positions: Sequence[Variable]) -> Variable | None:
    """The mask from which these positions were computed, if they are all its positions in order; else None."""
    node = positions[0].owner
    if node is None or not isinstance(node.op, Nonzero) or list(positions) != list(node.outputs):
        return None
    return node.inputs[0]


@public(numpy="nonzero", method="nonzero")
@coerced
def nonzero(a: Any, return_matrix: bool = False) -> tuple[Variable, ...] | Variable:
    """int64 positions of the elements that are not 0, in C order: one vector per axis.

    return_matrix: the vectors as rows of a matrix.

    Raises: GraphValueError for a scalar. The number of positions is known at run time only, so a batch of samples that
    differ is refused (UnsupportedError). No gradient: the elements of `a` have derivative 0.
    """
    positions = Nonzero().apply(a).outputs
    return stack(positions) if return_matrix else positions


@public(numpy="flatnonzero")
@coerced
def flatnonzero(a: Any) -> Variable:
    """int64 positions of the elements that are not 0 in the flattened `a`.   Raises: GraphValueError for a scalar."""
    a = as_tensor(a)
    if a.ndim == 0:
        raise GraphValueError("flatnonzero: expected a tensor with axes, found a scalar", lines=[a.describe()])
    return Nonzero().apply(ravel(a)).outputs[0]


@public(numpy="where")
@coerced
def where(condition: Any, ift: Any = None, iff: Any = None) -> Any:
    """`ift` where the condition holds, else `iff`, as `switch`; with the condition alone its positions, as `nonzero`.

    Raises: GraphTypeError if one of the two values is missing; GraphValueError for the positions of a scalar.
    """
    if (ift is None) != (iff is None):
        raise GraphTypeError("where: give both x and y, or neither")
    return nonzero(condition) if ift is None else switch(condition, ift, iff)


def with_positions(x: Variable, items: Iterable[Any]) -> list[Any]:
    """The items of an index (one per axis; None for new axes), with each mask replaced by vectors of positions."""
    result: list[Any] = []
    axis = 0
    for item in items:
        if is_mask(item):
            result += positions_of(item, x, axis)
        else:
            result.append(item)
        axis += axes_of(item)
    return result


def axes_of(item: Any) -> int:
    """The number of axes that an item of an index covers; 0 for an ellipsis."""
    return item.ndim if is_mask(item) else int(item is not None and item is not Ellipsis)
