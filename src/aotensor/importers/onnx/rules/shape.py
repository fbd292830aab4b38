"""Shape operations, which move elements without computing values."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.importers.base import Unsuited
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.table import rule

_FAR: Final = 1 << 31
"""Bounds of slices from here on stand for the end of an axis."""


@rule("Reshape")
def reshape(node: Node, x: Any, shape: Any) -> Any:
    """The same elements with other extents; -1 is inferred, and 0 keeps the extent of x"""
    wanted = node.entries(1)
    given = node.shape(x)
    if not node["allowzero"]:
        wanted = [given[i] if _is(n, 0) and i < len(given) else n for i, n in enumerate(wanted)]
    return at.reshape(x, _without_unknown(wanted, given))


def _is(n: Any, number: int) -> bool:
    return isinstance(n, int) and n == number


def _without_unknown(wanted: list[Any], given: list[Any]) -> list[Any]:
    """Replace -1 by the inferred extent if named extents cancel."""
    if sum(_is(n, -1) for n in wanted) != 1:
        return wanted
    left = [n for n in given if not isinstance(n, int)]
    for n in wanted:
        if isinstance(n, int):
            continue
        if not any(n is other for other in left):
            return wanted
        left = [other for position, other in enumerate(left) if position != _position(left, n)]
    total = prod(n for n in given if isinstance(n, int))
    rest = prod(n for n in wanted if isinstance(n, int) and n != -1)
    if rest == 0 or total % rest or len(left) > 1 or (left and total != rest):
        return wanted
    last = left[0] if left else total // rest
    return [last if _is(n, -1) else n for n in wanted]


def _position(items: list[Any], wanted: Any) -> int:
    return next(i for i, item in enumerate(items) if item is wanted)


@rule("Transpose")
def transpose(node: Node, x: Any) -> Any:
    """Permutes the axes, by default in reverse order"""
    order = node["perm"]
    return at.transpose(x, list(range(x.type.ndim))[::-1] if order is None else order)


@rule("Flatten")
def flatten(node: Node, x: Any) -> Any:
    """A matrix of the axes before `axis` and those from it on"""
    axis = node["axis"]
    if not -x.type.ndim <= axis <= x.type.ndim:
        raise GraphValueError(f"axis {axis} is out of range for a tensor of rank {x.type.ndim}")
    axis = axis + x.type.ndim if axis < 0 else axis
    return at.reshape(x, [product(node.shape(x)[:axis]), product(node.shape(x)[axis:])])


def product(extents: list[Any]) -> Any:
    """The product of extents: a number if all are, else a scalar."""
    total: Any = prod(n for n in extents if isinstance(n, int))
    for n in extents:
        if not isinstance(n, int):
            total = n if _is(total, 1) else n * total
    return total


@rule("Squeeze")
def squeeze(node: Node, x: Any, axes: Any = None) -> Any:
    """Removes axes of extent 1"""
    chosen = node.axes()
    if chosen is None:
        if not all(isinstance(n, int) for n in x.type.shape):
            raise Unsuited("it has no axes, and the extents of its operand are not known when the model is read")
        chosen = [i for i, n in enumerate(x.type.shape) if n == 1]
    return at.squeeze(x, axis=tuple(node.checked_axis(i, x.type.ndim) for i in chosen)) if chosen else x


@rule("Unsqueeze")
def unsqueeze(node: Node, x: Any, axes: Any = None) -> Any:
    """Adds axes of extent 1"""
    chosen = node.axes() or []
    rank = x.type.ndim + len(chosen)
    places = sorted(node.checked_axis(i, rank) for i in chosen)
    if len(set(places)) < len(places):
        raise GraphValueError(f"its axes {chosen} name an axis twice")
    return at.expand_dims(x, places) if places else x


@rule("Concat")
def concat(node: Node, *inputs: Any) -> Any:
    """Concatenates tensors along an axis"""
    return at.concatenate(list(inputs), axis=node.axis(inputs[0].type.ndim))


@rule("Split")
def split(node: Node, x: Any, sizes: Any = None) -> Any:
    """Split along an axis into parts of given sizes, or of equal sizes except the last"""
    axis = node.axis(x.type.ndim)
    given = node["split"] if sizes is None else node.ints(1)
    extent, count = node.extent(x, axis), len(node.outputs)
    if given is None:
        if isinstance(extent, int):
            size = -(-extent // count)
            given = [max(min(size, extent - i * size), 0) for i in range(count)]
        else:
            part = at.floor_div(extent + (count - 1), count)
            before = (slice(None),) * axis
            return [x[(*before, slice(part * i, part * (i + 1)))] for i in range(count)]
    if len(given) != count or any(n < 0 for n in given):
        raise GraphValueError(f"it has {count} outputs, but its split is {given}")
    return at.split(x, given, n_splits=count, axis=axis) if count > 1 else [at.specify_shape(
        x, [given[0] if i == axis else None for i in range(x.type.ndim)]
    )]  # fmt: skip


@rule("Slice")
def sliced(node: Node, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    """A range along each of some axes; the ends may be computed at run time"""
    low, high = node.numbers(1), node.numbers(2)
    chosen = node.ints(3) if axes is not None else list(range(len(low)))
    strides = node.ints(4) if steps is not None else [1] * len(low)
    if not chosen or not strides or not len(low) == len(high) == len(chosen) == len(strides):
        if not low and not high:
            return x
        raise GraphValueError("its starts, ends, axes and steps have different lengths")
    index = [slice(None)] * x.type.ndim
    for start, stop, axis, step in zip(low, high, chosen, strides, strict=True):
        if step == 0:
            raise GraphValueError("one of its steps is 0")
        index[node.checked_axis(axis, x.type.ndim)] = slice(_bound(start, step > 0), _bound(stop, step < 0), step)
    return x[tuple(index)]


def _bound(n: Any, is_start: bool) -> Any:
    """A bound of a slice; None for a number far beyond the end of the axis, which removes nothing."""
    if not isinstance(n, int) or abs(n) < _FAR:
        return n
    return None if (n < 0) == is_start else max(min(n, _FAR), -_FAR)


@rule("Expand")
def expand(node: Node, x: Any, shape: Any) -> Any:
    """Broadcast x with this shape"""
    wanted, given = node.entries(1), node.shape(x)
    rank = max(len(wanted), len(given))
    pairs = zip([1] * (rank - len(given)) + given, [1] * (rank - len(wanted)) + wanted, strict=True)
    return at.broadcast_to(x, [n if _is(m, 1) or n is m else m for n, m in pairs])


@rule("Tile")
def tile(node: Node, x: Any, repeats: Any) -> Any:
    """Repeats the tensor along every axis"""
    return at.tile(x, node.entries(1)) if x.type.ndim else x


@rule("Pad")
def pad(node: Node, x: Any, pads: Any, value: Any = None, axes: Any = None) -> Any:
    """Pads at both ends of each axis; a negative number removes elements"""
    chosen = node.ints(3) if axes is not None else list(range(x.type.ndim))
    numbers = node.ints(1)
    if numbers is None or chosen is None or len(numbers) != 2 * len(chosen):
        raise GraphValueError("its pads do not have two numbers for each axis")
    widths, index = [(0, 0)] * x.type.ndim, [slice(None)] * x.type.ndim
    for position, axis in enumerate(chosen):
        low, high = numbers[position], numbers[position + len(chosen)]
        where = node.checked_axis(axis, x.type.ndim)
        widths[where] = (max(low, 0), max(high, 0))
        index[where] = slice(max(-low, 0), min(high, 0) or None)
    mode = node["mode"]
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise Unsuited(f"its mode is {mode!r}, not constant, reflect, edge or wrap")
    if any(low < 0 for low in numbers):
        x = x[tuple(index)]
    if not any(low or high for low, high in widths):
        return x
    if mode != "constant":
        return at.pad(x, widths, mode=mode)
    return at.pad(x, widths, mode=mode, constant_values=at.constant(0, dtype=x.type.dtype) if value is None else value)


@rule("DepthToSpace")
def depth_to_space(node: Node, x: Any) -> Any:
    """Move channels to blocks of the image: (N, C·b², H, W) → (N, C, H·b, W·b)"""
    n, c, h, w = _image(node, x)
    b = node["blocksize"]
    if not isinstance(c, int) or b < 1 or c % (b * b):
        raise GraphValueError(f"its number of channels must be known and a multiple of the square of its blocksize {b}")
    if node["mode"] == "DCR":
        y = at.transpose(at.reshape(x, [n, b, b, c // b**2, h, w]), [0, 3, 4, 1, 5, 2])
    else:
        y = at.transpose(at.reshape(x, [n, c // b**2, b, b, h, w]), [0, 1, 4, 2, 5, 3])
    return at.reshape(y, [n, c // b**2, h * b, w * b])


@rule("SpaceToDepth")
def space_to_depth(node: Node, x: Any) -> Any:
    """Move blocks of the image to channels: (N, C, H·b, W·b) → (N, C·b², H, W)"""
    n, c, h, w = _image(node, x)
    b = node["blocksize"]
    if not isinstance(h, int) or not isinstance(w, int) or b < 1 or h % b or w % b:
        raise Unsuited(f"the height and width of its operand must be known and multiples of its blocksize {b}")
    order = [0, 1, 3, 5, 2, 4] if node["mode"] == "CRD" else [0, 3, 5, 1, 2, 4]
    y = at.transpose(at.reshape(x, [n, c, h // b, b, w // b, b]), order)
    return at.reshape(y, [n, c * b * b, h // b, w // b])


def _image(node: Node, x: Any) -> list[Any]:
    if x.type.ndim != 4:
        raise GraphValueError(f"its operand has rank {x.type.ndim}, and rank 4 is expected")
    return node.shape(x)
