"""Pooling: maximum, mean or norm of moving windows over the axes after batch and channel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.extension import dtypes
from aotensor.importers.lax.pooling import pool_windows, window_slices
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.elementwise import scalar, widened
from aotensor.importers.onnx.rules.table import rule
from aotensor.importers.onnx.rules.windows import numbers, pads_of


@dataclass(frozen=True)
class _Axis:
    """How windows move along one axis.   extent: of the tensor. before, after: pads. count: of windows

    extra: elements after the padding that windows may cover, with `ceil_mode`.
    """

    extent: Any
    size: int
    stride: int
    dilation: int
    before: int
    after: int
    count: Any
    extra: int

    def elements(self, with_pads: bool) -> Any:
        """The number of elements of each window that lie in the tensor, or in the padded tensor."""
        library: Any = np if isinstance(self.extent, int) else at
        start = library.arange(self.count, dtype="int64") * self.stride
        low, high = (0, self.before + self.after) if with_pads else (self.before, self.before)
        first = library.maximum(-((start - low) // self.dilation), 0)
        last = library.minimum((self.extent + high - 1 - start) // self.dilation, self.size - 1)
        return last - first + 1


def _axes(node: Node, x: Any) -> list[_Axis]:
    """The movement of windows along each axis. Raises: GraphValueError for windows larger than the padded tensor"""
    rank = int(x.type.ndim) - 2
    if rank < 1:
        raise GraphValueError(f"its operand has rank {x.type.ndim}, so it has no axes after batch and channel")
    sizes, strides, dilations = (numbers(node, name, rank, 1) for name in ("kernel_shape", "strides", "dilations"))
    spans = [(n - 1) * d + 1 for n, d in zip(sizes, dilations, strict=True)]
    is_ceil = bool(node["ceil_mode"]) and (node["auto_pad"] or "NOTSET") == "NOTSET"
    found = []
    for k, (before, after) in enumerate(pads_of(node, x, spans, strides)):
        extent, stride = node.extent(x, k + 2), strides[k]
        count = _count(extent, before, extent + (before + after - spans[k]), stride, is_ceil)
        if isinstance(count, int) and count < 1:
            raise GraphValueError(
                f"its window of {spans[k]} elements is larger than its axis of {extent} elements and {before + after} "
                "pads"
            )
        extra = stride - 1 if is_ceil else 0
        found.append(_Axis(extent, sizes[k], stride, dilations[k], before, after, count, extra))
    return found


def _count(extent: Any, before: int, room: Any, stride: int, is_ceil: bool) -> Any:
    """The number of windows; with ceil_mode the last one may extend beyond the padding, but must start before the end
    of the tensor. room: last start of a window inside the padded tensor
    """
    if not is_ceil or stride == 1:
        return room // stride + 1
    count = -(-room // stride) + 1
    is_behind = (count - 1) * stride >= extent + before
    return count - (int(is_behind) if isinstance(extent, int) else at.cast(is_behind, "int64"))


def _params(axes: Iterable[_Axis]) -> dict[str, Any]:
    """Window parameters in the form of `jax.lax`, for a padded tensor."""
    return {
        "window_dimensions": [1, 1, *(one.size for one in axes)],
        "window_strides": [1, 1, *(one.stride for one in axes)],
        "window_dilation": [1, 1, *(one.dilation for one in axes)],
        "padding": [(0, 0), (0, 0), *((0, 0) for _ in axes)],
    }


def _counts(axes: Iterable[_Axis]) -> dict[int, Any]:
    return {k + 2: one.count for k, one in enumerate(axes)}


def _padded(x: Any, axes: Iterable[_Axis], value: Any) -> Any:
    widths = [(0, 0), (0, 0), *((one.before, one.after + one.extra) for one in axes)]
    return at.pad(x, widths, mode="constant", constant_values=scalar(value, x)) if any(map(any, widths)) else x


@rule("MaxPool")
def max_pool(node: Node, x: Any) -> Any:
    """The maximum of each window; the output Indices has the position of the first of equal elements"""
    axes, dtype = _axes(node, x), str(x.type.dtype)
    lowest = -np.inf if dtypes.is_float(dtype) else np.iinfo(dtype).min
    largest = pool_windows(_padded(x, axes, lowest), _params(axes), at.maximum, _counts(axes))
    return [largest, _places(node, x, axes, largest, lowest)] if node.wants(1) else largest


def _places(node: Node, x: Any, axes: list[_Axis], largest: Any, lowest: Any) -> Any:
    """The positions of the windows' largest elements in the unpadded x, as flat indices."""
    rank, counts = x.type.ndim, _counts(axes)
    windows = list(window_slices(rank, _params(axes), counts, list(counts)))
    padded = _padded(x, axes, lowest)
    ones = at.ones([1, 1, *(one.extent for one in axes)], dtype="bool")
    inside = _padded(ones, axes, False)
    is_largest = [
        inside[index] & (at.eq(padded[index], largest) | at.neq(padded[index], padded[index])) for index in windows
    ]
    first = at.argmax(at.cast(at.stack(is_largest, axis=0), "int8"), axis=0)
    place: Any = at.constant(np.int64(0))
    for axis in (0, 1):
        place = place * node.extent(x, axis) + _vector_along(at.arange(node.extent(x, axis), dtype="int64"), axis, rank)
    offsets: list[Any] = []
    for one in reversed(axes):
        offsets.insert(0, first % one.size)
        first = first // one.size
    spatial = list(zip(range(2, rank), axes, offsets, strict=True))
    inner: Any = at.constant(np.int64(0))
    for axis, one, offset in reversed(spatial) if node["storage_order"] else spatial:
        start = at.arange(one.count, dtype="int64") * one.stride - one.before
        inner = inner * one.extent + _vector_along(start, axis, rank) + offset * one.dilation
    return place * reduce(mul, (one.extent for one in axes)) + inner


def _vector_along(x: Any, axis: int, rank: int) -> Any:
    """A vector along one axis of a tensor of this rank."""
    return at.dimshuffle(x, [0 if d == axis else None for d in range(rank)])


@rule("MaxUnpool")
def max_unpool(node: Node, x: Any, places: Any, shape: Any = None) -> Any:
    """Puts elements where MaxPool found them, zeros elsewhere; a larger output_shape adds zeros at the end"""
    rank = x.type.ndim - 2
    sizes, strides = (numbers(node, name, rank, 1) for name in ("kernel_shape", "strides"))
    pads = node["pads"] or [0] * 2 * rank
    extents = [node.extent(x, 0), node.extent(x, 1)]
    for k in range(rank):
        extents.append((node.extent(x, k + 2) - 1) * strides[k] + (sizes[k] - pads[k] - pads[k + rank]))
    flat = at.zeros([reduce(mul, extents)], dtype=x.type.dtype)
    found = at.reshape(at.set_subtensor(flat[at.flatten(places)], at.flatten(x)), extents)
    if shape is None:
        return found
    wanted = node.entries(2)
    if len(wanted) != rank + 2:
        raise GraphValueError(f"its output_shape has {len(wanted)} extents for a tensor of rank {rank + 2}")
    for axis, (extent, other) in enumerate(zip(wanted, extents, strict=True)):
        if isinstance(extent, int) and isinstance(other, int) and extent < other:
            raise GraphValueError(
                f"its output_shape has extent {extent} along axis {axis}, and its windows need at least {other}"
            )
    return at.pad(found, [(0, extent - other) for extent, other in zip(wanted, extents, strict=True)], mode="constant")


@rule("AveragePool")
def average_pool(node: Node, x: Any) -> Any:
    """Sums of windows divided by their number of elements, including or excluding padding; elements after the padding
    never count
    """
    axes = _axes(node, x)
    wide = widened(x)
    total = pool_windows(_padded(wide, axes, 0), _params(axes), at.add, _counts(axes))
    elements = [one.elements(bool(node["count_include_pad"])) for one in axes]
    shapes = [[-1, *[1] * (len(axes) - 1 - k)] for k in range(len(axes))]
    number = reduce(mul, (one.reshape(shape) for one, shape in zip(elements, shapes, strict=True)))
    return at.cast(total / at.cast(at.as_tensor(number), wide.type.dtype), x.type.dtype)


@rule("LpPool")
def norm_pool(node: Node, x: Any) -> Any:
    """(Σ |x|^p)^(1/p) of each window"""
    axes, power = _axes(node, x), int(node["p"])
    if power < 1:
        raise GraphValueError(f"its p is {power}, not a positive number")
    wide = _padded(widened(x), axes, 0)
    counts = _counts(axes)
    elements = [wide[index] for index in window_slices(wide.type.ndim, _params(axes), counts, list(counts))]
    return at.cast(at.norm(at.stack(elements, axis=0), ord=power, axis=0), x.type.dtype)


@rule("GlobalAveragePool")
def global_average_pool(node: Node, x: Any) -> Any:
    """The mean over all axes after the channel"""
    return at.mean(x, axis=tuple(range(2, x.type.ndim)), keepdims=True)


@rule("GlobalMaxPool")
def global_max_pool(node: Node, x: Any) -> Any:
    """The maximum over all axes after the channel"""
    return at.max(x, axis=tuple(range(2, x.type.ndim)), keepdims=True)
