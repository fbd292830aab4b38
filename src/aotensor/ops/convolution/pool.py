"""Pooling: the maximum, or the mean, of windows along the last axes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.convolution.functions import per_axis, positive, windows
from aotensor.ops.elementwise.arithmetic import add, maximum, minimum, true_div
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.index import subtensor
from aotensor.ops.ranges import arange
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import SymbolicExtent, extent_of
from aotensor.ops.shape.rearrange import pad

_MOST_TERMS: Final = 16  # most elements of a window that are combined at once, and not axis by axis


@coerced
def max_pool1d(
    input: Any, window: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0
) -> Variable:
    """The largest element of each window of the last axis.   (…, S) → (…, P), as `max_pool2d` with one axis."""
    return _max_pool("max_pool1d", 1, input, window, stride, padding)


@coerced
def max_pool2d(
    input: Any, window: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0
) -> Variable:
    """The largest element of each window of the last two axes.   (…, H, W) → (…, P, Q), in the dtype of the input

    window, stride, padding: a number, or one per axis; by default adjacent windows, and no padding. Padding
    is never the largest; P = (H + 2·padding − window) // stride + 1. A nan in a window is its result. The derivative
    goes to the first of the largest elements in C order, as in torch.

    Raises: GraphTypeError for a rank below the number of axes, bool, complex numbers or options of another kind,
    GraphValueError for a window or stride below 1, a padding that is negative or more than half a window, windows
    larger than the padded input; at run time where extents are not known before.
    """
    return _max_pool("max_pool2d", 2, input, window, stride, padding)


@coerced
def max_pool3d(
    input: Any, window: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0
) -> Variable:
    """The largest element of each window of the last three axes.   (…, D, H, W) → (…, P, Q, R), as `max_pool2d`."""
    return _max_pool("max_pool3d", 3, input, window, stride, padding)


@coerced
def avg_pool1d(
    input: Any,
    window: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    count_include_pad: bool = True,
) -> Variable:
    """The mean of each window of the last axis.   (…, S) → (…, P), as `avg_pool2d` with one axis."""
    return _avg_pool("avg_pool1d", 1, input, window, stride, padding, count_include_pad)


@coerced
def avg_pool2d(
    input: Any,
    window: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    count_include_pad: bool = True,
) -> Variable:
    """The mean of each window of the last two axes.   (…, H, W) → (…, P, Q), floating; floatX for integers

    window, stride, padding: as for `max_pool2d`, with zeros as padding. count_include_pad: a mean is the sum divided by
    the size of a window; otherwise, by its elements outside of the padding.

    Raises: as `max_pool2d`.
    """
    return _avg_pool("avg_pool2d", 2, input, window, stride, padding, count_include_pad)


@coerced
def avg_pool3d(
    input: Any,
    window: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    count_include_pad: bool = True,
) -> Variable:
    """The mean of each window of the last three axes.   (…, D, H, W) → (…, P, Q, R), as `avg_pool2d`."""
    return _avg_pool("avg_pool3d", 3, input, window, stride, padding, count_include_pad)


def _max_pool(name: str, rank: int, input: Any, window: Any, stride: Any, padding: Any) -> Variable:
    x = as_tensor(input)
    sizes, strides, sides = _options(name, rank, x, window, stride, padding)
    if dtypes.is_complex(x.dtype):
        raise GraphTypeError(f"{name}: complex numbers have no order", lines=[x.describe()])
    lowest = -np.inf if dtypes.is_float(x.dtype) else np.iinfo(x.dtype).min
    return _combined(maximum, _padded(x, sides, lowest), x, sizes, strides, sides, name)


def _avg_pool(
    name: str, rank: int, input: Any, window: Any, stride: Any, padding: Any, count_include_pad: bool
) -> Variable:
    x = as_tensor(input)
    sizes, strides, sides = _options(name, rank, x, window, stride, padding)
    if dtypes.is_discrete(x.dtype):
        x = cast(x, "floatX")
    dtype, x = x.dtype, cast(x, dtypes.compute_of(x.dtype))
    total = _combined(add, _padded(x, sides, 0), x, sizes, strides, sides, name)
    if count_include_pad or max(sides) == 0:
        return cast(true_div(total, constant(int(np.prod(sizes)), dtype=x.dtype)), dtype)
    for d in range(rank):
        axis = x.ndim - rank + d
        counts = cast(_counts(extent_of(x, axis), extent_of(total, axis), sizes[d], strides[d], sides[d]), x.dtype)
        total = true_div(total, dimshuffle(counts, [0 if k == axis else "x" for k in range(x.ndim)]))
    return cast(total, dtype)


def _options(
    name: str, rank: int, x: Variable, window: Any, stride: Any, padding: Any
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Sizes of windows, strides and padding on both sides, one per axis."""
    if x.ndim < rank:
        raise GraphTypeError(f"{name}: the input has rank {x.ndim}, not at least {rank}", lines=[x.describe()])
    if x.dtype == "bool":
        raise GraphTypeError(f"{name}: the input must be a number type, not bool", lines=[x.describe()])
    sizes = positive(name, "window", window, rank)
    strides = sizes if stride is None else positive(name, "stride", stride, rank)
    sides = per_axis(name, "padding", padding, rank)
    for size, side in zip(sizes, sides, strict=True):
        if side < 0:
            raise GraphValueError(f"{name}: padding is {side}, which is negative")
        if 2 * side > size:
            raise GraphValueError(f"{name}: padding is {side}, more than half a window of {size}")
    return sizes, strides, sides


def _padded(x: Variable, sides: Sequence[int], border: float) -> Variable:
    widths = [(0, 0)] * (x.ndim - len(sides)) + [(side, side) for side in sides]
    return pad(x, widths, constant_values=np.asarray(border, x.dtype)) if max(sides) else x


def _combined(
    combine: Callable[..., Variable],
    wide: Variable,
    x: Variable,
    sizes: Sequence[int],
    strides: Sequence[int],
    sides: Sequence[int],
    name: str,
) -> Variable:
    """Combine the elements of each window, in C order, by a binary function.   wide: x with its padding"""
    rank = len(sizes)
    counts = [
        windows(name, extent_of(x, x.ndim - rank + d), sizes[d], (sides[d], sides[d]), strides[d], 1)
        for d in range(rank)
    ]
    groups = [list(range(rank))] if np.prod(sizes) <= _MOST_TERMS else [[d] for d in reversed(range(rank))]
    for axes in groups:  # the last axis first, so that the first in C order of equal elements is taken
        parts = []
        for at in itertools.product(*(range(sizes[d]) for d in axes)):
            index = [slice(None)] * x.ndim
            for d, k in zip(axes, at, strict=True):
                index[x.ndim - rank + d] = _window(k, counts[d], strides[d])
            parts.append(subtensor(wide, tuple(index)))
        wide = reduce(combine, parts)
    return wide


def _window(k: int, count: SymbolicExtent, stride: int) -> slice:
    """The slice k, k + stride, …, with one element per window."""
    return slice(k, (count - 1) * stride + k + 1, stride)


def _counts(extent: SymbolicExtent, count: SymbolicExtent, size: int, stride: int, side: int) -> Variable:
    """The number of elements of each window outside of the padding, as int64."""
    first = arange(count) * stride - side
    return minimum(first + size, extent) - maximum(first, 0)
