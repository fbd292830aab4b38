"""conv1d, conv2d, conv3d: cross-correlations of batches of signals, images and volumes with filters."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.convolution.op import Convolution
from aotensor.ops.create import split_shape
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extent_checks import fitting
from aotensor.ops.shape.extents import SymbolicExtent, dim_of, extent_of, extents_of
from aotensor.ops.shape.reshape import reshape

TOO_LARGE: Final = "the windows are larger than the input with its padding"
Sides: TypeAlias = tuple[int, int]
"""Zeros before and after an axis."""


@coerced
def conv1d(
    input: Any,
    filters: Any,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[Any] = "valid",
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Variable:
    """y[n, o, p] = Σ_{c, k} input[n, c, p·stride + k·dilation]·filters[o, c, k].

    (N, C, S), (O, C/groups, K) → (N, O, P), as `conv2d` with one axis.
    """
    return convolved("conv1d", 1, input, filters, stride, padding, dilation, groups)


@coerced
def conv2d(
    input: Any,
    filters: Any,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[Any] = "valid",
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Variable:
    """y[n, o, p, q] = Σ_{c, k, l} input[n, c, p·stride + k·dilation, q·stride + l·dilation]·filters[o, c, k, l].

    (N, C, H, W), (O, C/groups, K, L) → (N, O, P, Q), in the promoted dtype. Filters are not mirrored, as in torch.

    stride, dilation: a number, or one per axis. groups: the number of groups of input and output channels; each group
    of the output sees its own of the input. padding: zeros around the input: "valid" for none, "same" for an output of
    the extents of the input (stride 1), a number for all sides, one per axis, or a pair (before, after) per
    axis. P = (H + before + after − dilation·(K − 1) − 1) // stride + 1.

    Raises: GraphTypeError for ranks, dtypes or options of another kind, GraphValueError for channels that do not fit
    filters and groups, windows larger than the padded input, a negative padding, a stride or dilation below 1; at run
    time where extents are not known before.
    """
    return convolved("conv2d", 2, input, filters, stride, padding, dilation, groups)


@coerced
def conv3d(
    input: Any,
    filters: Any,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[Any] = "valid",
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Variable:
    """Cross-correlation along three axes.   (N, C, D, H, W), (O, C/groups, J, K, L) → (N, O, P, Q, R)

    As `conv2d` with one axis more.
    """
    return convolved("conv3d", 3, input, filters, stride, padding, dilation, groups)


def convolved(
    name: str, rank: int, input: Any, filters: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Variable:
    """A convolution over `rank` spatial axes, with options as the user wrote them."""
    x, w = as_tensor(input), as_tensor(filters)
    lines = [x.describe(), w.describe()]
    for what, value, axes in (("input", x, "(N, C, …)"), ("filters", w, "(O, C/groups, …)")):
        if value.ndim != rank + 2:
            raise GraphTypeError(f"{name}: {what} has rank {value.ndim}, not {rank + 2}: {axes}", lines=lines)
        if value.dtype == "bool":
            raise GraphTypeError(f"{name}: {what} is bool, which has no sums of products", lines=lines)
    strides, dilations = positive(name, "stride", stride, rank), positive(name, "dilation", dilation, rank)
    x, w = _grouped(name, x, w, groups)
    sides = _sides(name, padding, rank, [extent_of(w, 3 + d) for d in range(rank)], strides, dilations)
    extents = [
        windows(name, extent_of(x, 3 + d), extent_of(w, 3 + d), sides[d], strides[d], dilations[d]) for d in range(rank)
    ]
    dims, symbolic = split_shape(name, extents)
    op = Convolution("output", dims, strides, dilations, tuple(before for before, _ in sides), fault=TOO_LARGE)
    y = op(x, w, *symbolic)
    return without_groups(y, groups)


def without_groups(y: Variable, groups: int) -> Variable:
    """Merge the axis of groups: (N, groups, C, …) → (N, groups·C, …)"""
    if groups == 1:
        return dimshuffle(y, [0, *range(2, y.ndim)])
    count, _, channels, *spatial = extents_of(y)
    return reshape(y, [count, groups * channels, *spatial])


def _grouped(name: str, x: Variable, w: Variable, groups: int) -> tuple[Variable, Variable]:
    """Input and filters with an axis of groups: (N, groups, C/groups, …), (groups, O/groups, C/groups, …)."""
    if groups < 1:
        raise GraphValueError(f"{name}: groups must be at least 1, found {groups}")
    channels, wanted, made = x.static_shape[1], w.static_shape[1], w.static_shape[0]
    lines = [x.describe(), w.describe()]
    if channels is not None and channels % groups:
        raise GraphValueError(f"{name}: {channels} input channels do not divide into {groups} groups", lines=lines)
    if made is not None and made % groups:
        raise GraphValueError(f"{name}: {made} filters do not divide into {groups} groups", lines=lines)
    if channels is not None and wanted is not None and channels != wanted * groups:
        each = f"{wanted}·{groups}" if groups > 1 else f"{wanted}"
        raise GraphValueError(f"{name}: the input has {channels} channels, the filters are for {each}", lines=lines)
    if groups == 1:
        axes = [0, "x", *range(1, x.ndim)]
        w = fitting(
            w, 1, extent_of(x, 1), dim_of(extent_of(x, 1)), f"{name}: channels of the input and those of the filters"
        )
        return dimshuffle(x, axes), dimshuffle(w, ["x", *range(w.ndim)])
    each_input = extent_of(w, 1)
    x = fitting(x, 1, _times(each_input, groups), None, f"{name}: channels of the input and those of all groups")
    x = reshape(x, [extent_of(x, 0), groups, each_input, *extents_of(x)[2:]])
    each_output = made // groups if made is not None else extent_of(w, 0) // groups
    return x, reshape(w, [groups, each_output, *extents_of(w)[1:]])


def _times(extent: SymbolicExtent, factor: int) -> SymbolicExtent:
    return extent * factor


def positive(name: str, what: str, value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Convert an option to one number of at least 1 per axis: a single number counts for all axes."""
    numbers = per_axis(name, what, value, rank)
    if min(numbers) < 1:
        raise GraphValueError(f"{name}: {what} must be at least 1, found {min(numbers)}")
    return numbers


def per_axis(name: str, what: str, value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Convert an option to one int per axis: a single int counts for all axes."""
    numbers = [value] * rank if is_int(value) else list(value)  # type: ignore[arg-type]
    if not all(map(is_int, numbers)):
        raise GraphTypeError(f"{name}: {what} must be an int or one per axis, not {value!r:.60}")
    if len(numbers) != rank:
        raise GraphValueError(f"{name}: {len(numbers)} numbers of {what} for {rank} axes")
    return tuple(operator.index(n) for n in numbers)  # type: ignore[arg-type]


def is_int(value: object) -> bool:
    """Is it an int other than a bool?"""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)


def _sides(
    name: str,
    padding: str | int | Sequence[Any],
    rank: int,
    kernel: Sequence[SymbolicExtent],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> list[Sides]:
    if isinstance(padding, str):
        if padding == "valid":
            return [(0, 0)] * rank
        if padding != "same":
            raise GraphValueError(f"{name}: padding must be 'valid', 'same', a number or one per axis, not {padding!r}")
        if max(strides) > 1:
            raise GraphValueError(f"{name}: padding 'same' has no meaning for a stride of {max(strides)}")
        return [_same(name, k, dilation) for k, dilation in zip(kernel, dilations, strict=True)]
    if is_int(padding) or all(map(is_int, padding)):  # type: ignore[arg-type]
        sides = [(n, n) for n in per_axis(name, "padding", padding, rank)]  # type: ignore[arg-type]
    else:
        sides = [_pair(name, entry) for entry in padding]  # type: ignore[union-attr]
        if len(sides) != rank:
            raise GraphValueError(f"{name}: {len(sides)} pairs of padding for {rank} axes")
    if min(map(min, sides)) < 0:
        raise GraphValueError(f"{name}: padding is {min(map(min, sides))}, which is negative")
    return sides


def _same(name: str, kernel: SymbolicExtent, dilation: int) -> Sides:
    if not isinstance(kernel, int):
        raise GraphValueError(
            f"{name}: padding 'same' needs filters of known extents", hint="give the padding in numbers"
        )
    total = max(dilation * (kernel - 1), 0)
    return total // 2, total - total // 2


def _pair(name: str, entry: object) -> Sides:
    pair = list(entry) if isinstance(entry, list | tuple) else []
    if len(pair) != 2 or not all(map(is_int, pair)):
        raise GraphTypeError(f"{name}: padding of an axis must be (before, after), not {entry!r:.60}")
    return int(pair[0]), int(pair[1])


def windows(
    name: str, extent: SymbolicExtent, kernel: SymbolicExtent, sides: Sides, stride: int, dilation: int
) -> SymbolicExtent:
    """The number of windows along an axis.   Raises: GraphValueError if there is none"""
    if isinstance(kernel, int) and kernel < 1:
        raise GraphValueError(f"{name}: the filters have an extent of 0")
    if stride == 1 and kernel == 1 and sum(sides) == 0:
        return extent
    if isinstance(kernel, int) and stride == 1 and sum(sides) == dilation * (kernel - 1):
        return extent
    room: Any = extent + sum(sides) - (kernel - 1) * dilation - 1
    count = room // stride + 1
    if isinstance(count, int) and count < 1:
        raise GraphValueError(f"{name}: {TOO_LARGE}, {_span(kernel, dilation)} to {extent} + {sum(sides)}")
    return count  # type: ignore[no-any-return]


def _span(kernel: SymbolicExtent, dilation: int) -> SymbolicExtent:
    return (kernel - 1) * dilation + 1
