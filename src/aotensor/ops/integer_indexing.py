"""Indexing by integer arrays, x[[3, 0, 3]] or x[i, :, j], and copies with these elements replaced or increased."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from math import prod
from typing import Any, ClassVar, TypeVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, broadcast_shapes
from aotensor.errors import GraphIndexError, GraphTypeError, GraphValueError
from aotensor.graph.op import Apply, is_disconnected
from aotensor.graph.operations import KnownValues
from aotensor.graph.variable import Variable, constant
from aotensor.ops.batching import align_rank, repeated, shift_axes
from aotensor.ops.create import zeros, zeros_like
from aotensor.ops.elementwise.base import unbroadcast
from aotensor.ops.elementwise.compare import eq, switch
from aotensor.ops.linear import LinearOp, MultilinearOp
from aotensor.ops.mask import mask_of
from aotensor.ops.ranges import arange
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import extent_of, extents_of, product
from aotensor.ops.shape.reshape import reshape
from aotensor.ops.window import broadcast_to_window, check_extents, check_value, out_of_range

N = TypeVar("N")


@frozen_dataclass
class AdvancedSubtensor(LinearOp):
    """Gather x at the positions that integer arrays name along `axes`: inputs x and one array per axis.

    The arrays broadcast together along dims that are statically 1. Their axes replace the indexed axes of x if these
    are neighbours, else come first, as in NumPy. Negative indices count from the end.

    after_slices: x is the result of the slices in the same index.
    """

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "advanced_subtensor"
    axes: tuple[int, ...]
    after_slices: bool = field(default=False, compare=False, repr=False)

    def infer_type(self, x: TensorType, *indices: TensorType) -> TensorType:
        return TensorType(x.dtype, _window_extents(self.axes, x.shape, _batch_shape(x, self.axes, indices)))

    def reference(self, x: Array, *indices: Array) -> Array:
        return np.array(x[_concrete_index(self.axes, x, indices)])

    def evaluate(self, node: Apply, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Check that only static extents of 1 broadcast, and evaluate the reference."""
        _check_arrays(node.inputs[1:], [x.shape for x in inputs[1:]])
        return super().evaluate(node, inputs)

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        _check_arrays(node.inputs[1:], [x.static_shape for x in types[1:]])
        return self.infer_type(*types)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        x, *indices = inputs
        zeros = zeros_like(x, cotangent.dtype)
        return IncAdvancedSubtensor(self.axes, is_set=False)(zeros, cotangent, *indices)  # type: ignore[no-any-return]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        x, *indices = inputs
        rank, count, start = node.outputs[0].ndim, _rank(node.inputs[1:]), _first(self.axes)
        if any(is_batched[1:]):
            x = x if is_batched[0] else repeated(x, inputs[list(is_batched).index(True)])
            result = AdvancedSubtensor(_batched_axes(self.axes))(x, *_with_samples(x, indices, is_batched[1:], count))
            return [dimshuffle(result, _arrays_at_axis(rank, count, start))]
        (result,) = shift_axes(self).apply(x, *indices).outputs
        leading = 0 if start else _leading(self.axes, count)
        return [dimshuffle(result, [leading, *range(leading), *range(leading + 1, rank + 1)])]

    def lower(self, b: TensorBuilder, x: Tensor, *indices: Tensor) -> Tensor:
        batch = _lowered_batch(b, self.axes, x, indices)
        start = _first(self.axes)

        def element(v: ScalarBuilder, *at: Scalar) -> Scalar:
            counters, others = at[start : start + len(batch)], [*at[:start], *at[start + len(batch) :]]
            found = [_load(v, i, counters, x.extents[axis]) for axis, i in zip(self.axes, indices, strict=True)]
            return v.load(x, *_interleave_axes(self.axes, found, others))

        return b.bounded_as(x, b.tabulate(_window_extents(self.axes, x.extents, batch), x.dtype, element))


@frozen_dataclass
class IncAdvancedSubtensor(MultilinearOp):
    """A copy of x with y added, or assigned, at the positions of AdvancedSubtensor: inputs x, y and the arrays.

    y is cast to the dtype of x and broadcasts along dims that are statically 1. A position that is named several times
    gets every term, or the last value, in C order of the broadcast arrays.
    """

    name: ClassVar[str] = "inc_advanced_subtensor"
    linear_in: ClassVar[tuple[tuple[int, ...], ...]] = ((0, 1),)
    axes: tuple[int, ...]
    is_set: bool = False

    @property
    def takes_half(self) -> bool:  # type: ignore[override]
        return self.is_set

    def infer_type(self, x: TensorType, y: TensorType, *indices: TensorType) -> TensorType:
        check_value(x, y, _window_extents(self.axes, x.shape, _batch_shape(x, self.axes, indices)))
        return x

    def reference(self, x: Array, y: Array, *indices: Array) -> Array:
        index = _concrete_index(self.axes, x, indices)
        result = x.copy()
        with np.errstate(all="ignore"):
            change = np.ascontiguousarray(np.broadcast_to(y.astype(x.dtype), x[index].shape))
            if self.is_set:
                result[index] = change
            else:
                np.add.at(result, index, change)
        return result

    def evaluate(self, node: Apply, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Check that only static extents of 1 broadcast, and evaluate the reference."""
        x, y, *indices = inputs
        _check_arrays(node.inputs[2:], [i.shape for i in indices])
        window = _window_extents(self.axes, x.shape, np.broadcast_shapes(*(i.shape for i in indices)))
        check_extents(self.name, node.inputs[1].tensor_type, y.shape, window)
        return super().evaluate(node, inputs)

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        x, y, *indices = types
        _check_arrays(node.inputs[2:], [i.static_shape for i in indices])
        window = _window_extents(self.axes, x.shape, _batch_shape(x, self.axes, indices))
        check_extents(self.name, node.inputs[1].tensor_type, y.static_shape, window)
        return self.infer_type(*types)

    def adjoints(self, inputs: Sequence[Variable], cotangent: Variable) -> Sequence[Variable]:
        x, y, *indices = inputs
        for_y: Variable = AdvancedSubtensor(self.axes)(cotangent, *indices)
        if not self.is_set:
            return [cotangent, unbroadcast(for_y, y)]
        if mask_of(indices) is None:
            for_y = switch(self._last_write_mask(x, for_y, indices), for_y, constant(0, dtype=for_y.dtype))
        return [self._clear_elements(cotangent, indices), unbroadcast(for_y, y)]

    def _last_write_mask(self, x: Variable, window: Variable, indices: Sequence[Variable]) -> Variable:
        """Mask of the elements of the assigned window that no later element overwrites."""
        first, axes = _first(self.axes), tuple(range(len(self.axes)))
        count = window.ndim - x.ndim + len(self.axes)
        batch = extents_of(window)[first : first + count]
        numbers = reshape(arange(product(batch)), batch)
        nowhere = zeros([extent_of(x, axis) for axis in self.axes], "int64")
        last = IncAdvancedSubtensor(axes, is_set=True)(nowhere, numbers, *indices)
        stays = eq(AdvancedSubtensor(axes)(last, *indices), numbers)
        behind = [None] * (window.ndim - first - count)
        return dimshuffle(stays, [*range(count), *behind])

    def _clear_elements(self, x: Variable, indices: Sequence[Variable]) -> Variable:
        """x with zeros at the indexed positions."""
        return IncAdvancedSubtensor(self.axes, is_set=True)(x, constant(0, dtype=x.dtype), *indices)  # type: ignore[no-any-return]

    def along(self, group: tuple[int, ...], inputs: Sequence[Variable], tangents: Sequence[Variable]) -> Variable:
        if not is_disconnected(tangents[1]):
            return super().along(group, inputs, tangents)
        return self._clear_elements(tangents[0], inputs[2:]) if self.is_set else tangents[0]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        sample = inputs[list(is_batched).index(True)]
        x = inputs[0] if is_batched[0] else repeated(inputs[0], sample)
        count, start = _rank(node.inputs[2:]), _first(self.axes)
        rank = x.ndim - 1 - len(self.axes) + count
        y = align_rank(inputs[1] if is_batched[1] else repeated(inputs[1], sample), rank)
        if any(is_batched[2:]):
            value = dimshuffle(y, _axes_to_front(rank, count, start))
            positions = _with_samples(x, inputs[2:], is_batched[2:], count)
            return replace(self, axes=_batched_axes(self.axes)).apply(x, value, *positions).outputs
        leading = 0 if start else _leading(self.axes, count)
        value = dimshuffle(y, [*range(1, leading + 1), 0, *range(leading + 1, rank + 1)])
        return shift_axes(self).apply(x, value, *inputs[2:]).outputs

    def lower(self, b: TensorBuilder, x: Tensor, y: Tensor, *indices: Tensor) -> Tensor:
        batch = _lowered_batch(b, self.axes, x, indices)
        value = broadcast_to_window(b, self.name, b.cast(y, x.dtype), _window_extents(self.axes, x.extents, batch))
        positions = [b.cast(i, "int64") for i in indices]
        return b.scatter("set" if self.is_set else "add", x, value, self.axes, positions, _first(self.axes))


# --- axes of the window ----------------------------------------------------------------------------------------------


def _first(axes: Sequence[int]) -> int:
    """The position of the first axis of the index arrays among the axes of the window."""
    return axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0


def _window_extents(axes: Sequence[int], whole: Sequence[N], batch: Sequence[N]) -> tuple[N, ...]:
    """Extents of the window: those of the other axes of x, and of the arrays instead of the indexed ones."""
    others = [n for axis, n in enumerate(whole) if axis not in axes]
    start = _first(axes)
    return (*others[:start], *batch, *others[start:])


def _interleave_axes(axes: Sequence[int], named: Sequence[N], others: Iterable[N]) -> list[N]:
    """A list with one entry per axis of x: `named` along `axes`, the others in order."""
    result = list(others)
    for axis, entry in zip(axes, named, strict=True):  # ascending, so that earlier entries are in place
        result.insert(axis, entry)
    return result


# --- batches ---------------------------------------------------------------------------------------------------------


def _rank(indices: Sequence[Variable]) -> int:
    """Rank of the broadcast arrays."""
    return max(i.ndim for i in indices)


def _leading(axes: Sequence[int], count: int) -> int:
    """The number of axes of the index arrays that come first in the result; 0 if the arrays index adjacent axes."""
    return 0 if axes[-1] - axes[0] == len(axes) - 1 else count


def _batched_axes(axes: Sequence[int]) -> tuple[int, ...]:
    """The axis of samples, and the axes of a batched x that correspond to `axes` of a sample."""
    return (0, *(axis + 1 for axis in axes))


def _with_samples(x: Variable, indices: Sequence[Variable], is_batched: Sequence[bool], count: int) -> list[Variable]:
    """Index arrays for a batch: the sample numbers, then the indices."""
    numbers = dimshuffle(arange(extent_of(x, 0)), [0, *([None] * count)])
    return [numbers, *(align_rank(i, count) if on else i for i, on in zip(indices, is_batched, strict=True))]


def _arrays_at_axis(rank: int, count: int, start: int) -> list[int]:
    """Pattern that moves the axes of the arrays to axis `start`: (samples, arrays, others) → samples of windows."""
    arrays, others = list(range(1, count + 1)), list(range(count + 1, rank + 1))
    return [0, *others[:start], *arrays, *others[start:]]


def _axes_to_front(rank: int, count: int, start: int) -> list[int]:
    """Pattern that moves the axes of the arrays to the front, after the samples: the inverse of `_arrays_at_axis`."""
    return [0, *range(1 + start, 1 + start + count), *range(1, 1 + start), *range(1 + start + count, rank + 1)]


# --- types and references --------------------------------------------------------------------------------------------


def _batch_shape(x: TensorType, axes: Sequence[int], indices: Sequence[TensorType]) -> tuple[Any, ...]:
    """Dims of the broadcast arrays.

    Raises: GraphTypeError for an array that is not of integers, GraphIndexError for extents that do not broadcast.
    """
    assert len(axes) == len(indices) and list(axes) == sorted(set(axes)) and axes[-1] < x.rank
    for found in indices:
        if found.dtype not in dtypes.INTEGERS:
            raise GraphTypeError(f"an index must be an array of integers, not {found}")
    try:
        return broadcast_shapes([found.shape for found in indices])
    except GraphValueError as error:
        raise GraphIndexError(f"{error.diagnostic.title} of the indices") from error


def _concrete_index(axes: Sequence[int], x: Array, indices: Sequence[Array]) -> tuple[Any, ...]:
    """The index tuple for NumPy.   Raises: GraphIndexError for a position outside of its axis."""
    for axis, found in zip(axes, indices, strict=True):
        extent = x.shape[axis]
        if found.size and not -extent <= found.min():
            raise GraphIndexError(out_of_range(axis, str(found.min()), str(extent)))
        if found.size and not found.max() < extent:
            raise GraphIndexError(out_of_range(axis, str(found.max()), str(extent)))
    whole = [slice(None)] * (x.ndim - len(axes))
    return tuple(_interleave_axes(axes, [np.ascontiguousarray(i) for i in np.broadcast_arrays(*indices)], whole))


def _check_arrays(indices: Sequence[Variable], shapes: Sequence[Sequence[int | None]]) -> None:
    """Check that index arrays broadcast along static extents of 1 only.   Raises: GraphIndexError"""
    rank = max(map(len, shapes))
    for axis in range(-rank, 0):
        found = {
            extent
            for i, shape in zip(indices, shapes, strict=True)
            if len(shape) >= -axis and i.static_shape[axis] != 1 and (extent := shape[axis]) is not None
        }
        if len(found) > 1:
            raise GraphIndexError(f"{_differ(axis + rank)}: {' and '.join(map(str, sorted(found)))}")


def _differ(axis: int) -> str:
    return f"extents along axis {axis} of the indices differ"


# --- tensor IR -------------------------------------------------------------------------------------------------------


def _lowered_batch(b: TensorBuilder, axes: Sequence[int], x: Tensor, indices: Sequence[Tensor]) -> list[Extent]:
    """Extents of the broadcast arrays, after a check that every position lies inside of x."""
    for axis, found in zip(axes, indices, strict=True):
        if not b.is_within(found, x.extents[axis]):
            check_range(b, found, x.extents[axis], axis)
    rank = max(len(found.extents) for found in indices)
    batch: list[Extent] = []
    for axis in range(-rank, 0):
        meeting = [found.extents[axis] for found in indices if len(found.extents) >= -axis]
        proper = [n for n in meeting if n != 1]
        what = f"extents along axis {axis + rank} of the indices"
        batch.append(b.same_extent(proper, what, kind="index") if proper else 1)
    return batch


def check_range(b: TensorBuilder, indices: Tensor, extent: Extent, axis: int) -> None:
    """Emit a run-time check that all positions are −extent … extent − 1.   axis: named in the message"""
    v, known = b.scalars, b.range_of(indices)
    message, axes = out_of_range(axis, "{found}", "{expected}"), range(len(indices.extents))
    if known is None and dtypes.is_unsigned(indices.dtype):  # the maximum of no elements is 0
        highest = b.item(b.reduce("maximum", indices, axes, "uint64"))
        inside = highest < v.cast(v.index(extent), "uint64")
        size: Extent = prod(indices.extents)
        ok = inside | v.compare("eq", v.index(size), v.index(0))
        b.check(ok, message, found=v.cast(highest, dtypes.INDEX), expected=extent, kind="index")
        return
    if known is not None:
        lowest, highest = map(v.index, known)
    else:
        lowest = v.cast(b.item(b.reduce("minimum", indices, axes, "int64")), dtypes.INDEX)
        highest = v.cast(b.item(b.reduce("maximum", indices, axes, "int64")), dtypes.INDEX)
    below, above = highest < extent, lowest >= 0 - extent
    b.check(above & below, message, found=v.select(above, highest, lowest), expected=extent, kind="index")


def _load(v: ScalarBuilder, indices: Tensor, counters: Sequence[Scalar], extent: Extent) -> Extent:
    """Load one element of an index array, and add the extent if it is negative; arrays broadcast along extents of 1."""
    own = counters[len(counters) - len(indices.extents) :]
    at = [0 if n == 1 else counter for n, counter in zip(indices.extents, own, strict=True)]
    found = v.cast(v.cast(v.load(indices, *at), "int64"), dtypes.INDEX)
    return v.select(found < 0, found + extent, found)
