"""Axes merged and split, and tensors of several shapes packed into one: join_dims, split_dims, pack, unpack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aotensor.core.types import normalise_axis
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.shape.extents import SymbolicExtent, as_extents, extents_of, product
from aotensor.ops.shape.join import join, split
from aotensor.ops.shape.reshape import reshape


@coerced
def join_dims(x: Any, start_axis: int = 0, n_axes: int | None = None) -> Variable:
    """`n_axes` axes from `start_axis` on as one, in C order; None for all that follow, 0 for a new axis of extent 1.

    Raises: GraphValueError for an axis out of range, or more axes than there are.
    """
    x = as_tensor(x)
    start = start_axis + x.ndim if start_axis < 0 else start_axis
    count = x.ndim - start if n_axes is None else n_axes
    if not 0 <= start <= x.ndim or not 0 <= count <= x.ndim - start:
        text = f"join_dims: no {n_axes} axes from {start_axis} on in a tensor of rank {x.ndim}"
        raise GraphValueError(text, lines=[x.describe()])
    extents = extents_of(x)
    return reshape(x, [*extents[:start], product(extents[start : start + count]), *extents[start + count :]])


@coerced
def split_dims(x: Any, shape: Any, axis: int = 0) -> Variable:
    """One axis as several, of the extents `shape`, one of them perhaps −1; no extents drop an axis of extent 1.

    Raises: GraphValueError for an axis out of range, or extents that do not make that of the axis (at run time where
    they are not known).
    """
    x = as_tensor(x)
    at = normalise_axis(axis, x.ndim)
    extents = extents_of(x)
    return reshape(x, [*extents[:at], *as_extents(shape), *extents[at + 1 :]])


def _kept_axis_counts(name: str, keep_axes: int | Sequence[int] | None) -> tuple[int, int]:
    """Parse keep_axes: (number of leading axes kept, number of trailing axes kept).

    Raises: GraphValueError for axes that are not the first and last ones.
    """
    axes = [] if keep_axes is None else [keep_axes] if isinstance(keep_axes, int) else list(keep_axes)
    front, back = sorted(a for a in axes if a >= 0), sorted((a for a in axes if a < 0), reverse=True)
    if front != list(range(len(front))) or back != [-1 - k for k in range(len(back))]:
        raise GraphValueError(f"{name}: axes {keep_axes!r} are not the first and the last ones: 0, 1, … and −1, −2, …")
    return len(front), len(back)


@coerced
def pack(*tensors: Any, keep_axes: int | Sequence[int] | None = None) -> tuple[Variable, list[Variable]]:
    """(tensors of several shapes one after another along one axis, the shapes that `unpack` restores).

    keep_axes: axes that all have in common, the first ones counted from 0, the last ones from −1; the axes between
    them are joined. pack(x, y) gives a vector.

    Raises: GraphValueError for no tensors, axes of another kind or a tensor of too low a rank; as `join`.
    """
    front, back = _kept_axis_counts("pack", keep_axes)
    parts, shapes = [], []
    for position, one in enumerate(tensors):
        x = as_tensor(one)
        count = x.ndim - front - back
        if count < 0:
            text = f"pack: tensor {position} has rank {x.ndim}, below the number of axes that are kept"
            raise GraphValueError(text, lines=[x.describe()])
        parts.append(join_dims(x, front, count))
        shapes.append(x.shape[front : front + count])
    if not parts:
        raise GraphValueError("pack: expected at least one tensor")
    return join(front, *parts), shapes


@coerced
def unpack(
    packed_input: Any, packed_shapes: Sequence[Any], keep_axes: int | Sequence[int] | None = None
) -> list[Variable]:
    """The tensors that `pack` has put together, from its result and the shapes, with the same `keep_axes`.

    Raises: GraphTypeError for a rank that contradicts keep_axes, GraphValueError for shapes that do not fill the
    axis (at run time where they are not known).
    """
    x = as_tensor(packed_input)
    front, back = _kept_axis_counts("unpack", keep_axes)
    if x.ndim != front + back + 1:
        text = f"unpack: rank {x.ndim}, where {front + back} axes are kept and one is packed"
        raise GraphTypeError(text, lines=[x.describe()])
    shapes: list[list[SymbolicExtent]] = [as_extents(shape) for shape in packed_shapes]
    if not shapes:
        raise GraphValueError("unpack: packed_shapes is empty")
    parts = split(x, [product(shape) for shape in shapes], axis=front)
    return [split_dims(part, shape, front) for part, shape in zip(parts, shapes, strict=True)]
