"""Tensors joined along an axis, and split again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType, normalise_axis
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply, Op, disconnected
from aotensor.graph.operations import KnownValues
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.batching import AxisOp, check_nondifferentiable, shift_axes
from aotensor.ops.linear import MultilinearOp, filled
from aotensor.ops.shape.axes import atleast_1d, atleast_2d, expand_dims
from aotensor.ops.shape.extents import as_extents, dim_of, dims_at, extent_of
from aotensor.ops.window import Line, gather


@frozen_dataclass
class Join(AxisOp, MultilinearOp):
    """Tensors of one rank one after another along an axis, in their promoted dtype; other extents are equal."""

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "join"
    axis: int

    def infer_type(self, *types: TensorType) -> TensorType:
        rank = types[0].rank
        if any(found.rank != rank for found in types):
            raise GraphTypeError("all tensors must have the same rank")
        normalise_axis(self.axis, rank)
        along = [found.static_shape[self.axis] for found in types]
        known = [extent for extent in along if extent is not None]
        dims = [self._common(axis, [found.shape[axis] for found in types]) for axis in range(rank)]
        dims[self.axis] = sum(known) if len(known) == len(along) else None
        return TensorType(dtypes.promote(*(found.dtype for found in types)), tuple(dims))

    def _common(self, axis: int, dims: Sequence[Dim]) -> Dim:
        """The dim common to all tensors along an axis.   Raises: GraphValueError if two numbers differ"""
        numbers = sorted({dim for dim in dims if isinstance(dim, int)})
        if len(numbers) > 1 and axis != self.axis:
            raise GraphValueError(f"{_axis_text(axis)} differ, {numbers[0]} and {numbers[1]}")
        names = [dim for dim in dims if isinstance(dim, str)]
        return numbers[0] if numbers else names[0] if names else None

    def reference(self, *xs: Array) -> Array:
        for axis in range(xs[0].ndim):
            found = sorted({x.shape[axis] for x in xs})
            if axis != self.axis and len(found) > 1:
                raise GraphValueError(f"join: {_axis_text(axis)} differ, {found[0]} and {found[1]}")
        return np.concatenate(xs, self.axis)

    def groups(self, count: int) -> tuple[tuple[int, ...], ...]:
        return (tuple(range(count)),)

    def adjoints(self, inputs: Sequence[Variable], cotangent: Variable) -> Sequence[Variable]:
        extents = [extent_of(x, self.axis) for x in inputs]
        sizes = [extent for extent in extents if isinstance(extent, Variable)]
        return Split(self.axis, tuple(map(dim_of, extents))).apply(cotangent, *sizes).outputs

    def lower(self, b: TensorBuilder, *xs: Tensor) -> Tensor:
        common = dtypes.promote(*(x.dtype for x in xs))
        for axis in range(len(xs[0].extents)):
            if axis != self.axis:
                b.same_extent([x.extents[axis] for x in xs], f"join: {_axis_text(axis)}")
        return b.concatenate([b.cast(x, common) for x in xs], self.axis)


def _axis_text(axis: int) -> str:
    return f"extents along axis {axis}"


@frozen_dataclass
class Split(Op):
    """x, *sizes → consecutive parts of x along an axis, whose extents add up to that of x.

    dims: the extents; a name or None stands for the next of `sizes`.
    """

    sees_discrete: ClassVar[bool] = False

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "split"
    is_analytic: ClassVar[bool] = True
    axis: int
    dims: tuple[Dim, ...]

    def infer_type(self, x: TensorType, *sizes: TensorType) -> tuple[TensorType, ...]:
        normalise_axis(self.axis, x.rank)
        known = [dim for dim in self.dims if isinstance(dim, int)]
        if any(dim < 0 for dim in known):
            raise GraphValueError(f"extent {min(known)} is negative")
        extent = x.shape[self.axis]
        if len(known) == len(self.dims) and isinstance(extent, int) and sum(known) != extent:
            raise GraphValueError(_extent_error(str(sum(known)), str(extent)))
        for found in sizes:
            if found.rank != 0 or found.dtype not in dtypes.INTEGERS:
                raise GraphTypeError(f"an extent must be an integer scalar, not {found}")
        around = x.shape[: self.axis], x.shape[self.axis + 1 :]
        return tuple(TensorType(x.dtype, (*around[0], dim, *around[1])) for dim in self.dims)

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> tuple[TensorType, ...]:
        op = Split(self.axis, dims_at(self.name, self.dims, node.inputs[1:], known))
        return op.infer_type(types[0])

    def reference(self, x: Array, *sizes: Array) -> tuple[Array, ...]:
        pending = iter(sizes)
        extents = [dim if isinstance(dim, int) else int(next(pending)) for dim in self.dims]
        if sum(extents) != x.shape[self.axis]:
            raise GraphValueError(_extent_error(str(sum(extents)), str(x.shape[self.axis])))
        if min(extents) < 0:
            raise GraphValueError(f"split: extent {min(extents)} is negative")
        return tuple(np.split(x, np.cumsum(extents)[:-1], self.axis))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [join(self.axis, *filled(cotangents, outputs)), *(disconnected() for _ in inputs[1:])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return list(self.apply(tangents[0], *inputs[1:]).outputs)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[position == 0] * len(node.outputs) for position in range(len(node.inputs))]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched)
        return shift_axes(self).apply(*inputs).outputs

    def lower(self, b: TensorBuilder, x: Tensor, *sizes: Tensor) -> tuple[Tensor, ...]:
        v = b.scalars
        extents = list(self._lower_extents(b, iter(sizes)))
        offsets: list[Extent] = [0]
        for extent in extents:
            offsets.append(offsets[-1] + extent)
        total, whole = offsets[-1], x.extents[self.axis]
        if not (isinstance(total, int) and total == whole):
            agree = v.compare("eq", v.index(total), v.index(whole))
            b.check(agree, f"split: {_extent_error('{found}', '{expected}')}", found=total, expected=whole)
        parts: list[Tensor] = []
        for offset, extent in zip(offsets[:-1], extents, strict=True):
            lines = [Line(0, n) for n in x.extents]
            lines[self.axis] = Line(offset, extent)
            parts.append(gather(b, x, lines))
        return tuple(parts)

    def _lower_extents(self, b: TensorBuilder, pending: Iterator[Tensor]) -> Iterator[Extent]:
        v = b.scalars
        for dim in self.dims:
            if isinstance(dim, int):
                yield dim
                continue
            extent = v.cast(b.item(next(pending)), dtypes.INDEX)
            b.check(extent >= 0, "split: extent {found} is negative", found=extent)
            yield extent


def _extent_error(total: str, extent: str) -> str:
    return f"parts of {total} in all for an extent of {extent}"


@coerced
def join(axis: int, *tensors: Any) -> Variable:
    """Tensors of one rank one after another along an axis, in their promoted dtype.

    Raises: GraphTypeError for different ranks or scalars, GraphValueError for extents that differ (at run time where
    they are not known) or an axis out of range.
    """
    xs = [as_tensor(x) for x in tensors]
    if not xs:
        raise GraphValueError("join: expected at least one tensor")
    if xs[0].ndim == 0:
        raise GraphTypeError(
            "join: scalars have no axis to join along", lines=[x.describe() for x in xs], hint="use stack"
        )
    return Join(normalise_axis(axis, xs[0].ndim))(*xs) if len(xs) > 1 else xs[0]


@coerced
def concatenate(tensors: Sequence[Any], axis: int = 0) -> Variable:
    """`join` with the tensors as a sequence."""
    return join(axis, *tensors)


@public(numpy="stack")
@coerced
def stack(tensors: Sequence[Any], axis: int = 0) -> Variable:
    """Tensors of one shape along a new axis of the result.   Raises: as join."""
    return join(axis, *(expand_dims(x, axis) for x in tensors))


@public(numpy="hstack")
@coerced
def hstack(tensors: Sequence[Any]) -> Variable:
    """Tensors side by side: along axis 1, vectors and scalars along axis 0."""
    xs = [atleast_1d(x) for x in tensors]
    return join(0 if xs and xs[0].ndim == 1 else 1, *xs)


@public(numpy="vstack")
@coerced
def vstack(tensors: Sequence[Any]) -> Variable:
    """Tensors on top of each other: along axis 0, vectors as rows."""
    return join(0, *(atleast_2d(x) for x in tensors))


@coerced
def horizontal_stack(*tensors: Any) -> Variable:
    """`hstack` of its arguments."""
    return hstack(tensors)


@coerced
def vertical_stack(*tensors: Any) -> Variable:
    """`vstack` of its arguments."""
    return vstack(tensors)


@coerced
def split(x: Any, splits_size: Any, n_splits: int | None = None, axis: int = 0) -> list[Variable]:
    """Consecutive parts of x along an axis, of the given extents, which may be symbolic.

    n_splits: their number, checked if given; required if the extents are a vector of unknown length.
    Raises: GraphValueError if the extents do not add up to that of x (at run time where they are not known) or one is
    negative.
    """
    x = as_tensor(x)
    extents = as_extents(splits_size, n_splits)
    if n_splits is not None and n_splits != len(extents):
        raise GraphValueError(f"split: splits_size has {len(extents)} extents, but n_splits is {n_splits}")
    if not extents:
        raise GraphValueError("split: splits_size is empty")
    sizes = [extent for extent in extents if isinstance(extent, Variable)]
    op = Split(normalise_axis(axis, x.ndim), tuple(map(dim_of, extents)))
    return list(op.apply(x, *sizes).outputs)
