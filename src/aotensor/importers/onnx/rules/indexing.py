"""Gather and scatter: elements at positions given by tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.importers.base import Unsuited
from aotensor.importers.lax.updates import updated
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.table import rule

_COMBINED: Final[Mapping[str, Callable[..., Any]]] = {"mul": at.mul, "max": at.maximum, "min": at.minimum}
"""Reductions whose updates are combined one after the other."""


@rule("Gather")
def gather(node: Node, x: Any, indices: Any) -> Any:
    """x[..., indices, ...] along an axis; negative positions count from the end"""
    return at.take(x, at.cast(indices, "int64"), axis=node.axis(x.type.ndim))


@rule("GatherElements")
def gather_elements(node: Node, x: Any, indices: Any) -> Any:
    """For each element of `indices`, the element at that position along an axis"""
    axis = node.axis(x.type.ndim)
    return x[_places(node, indices, axis)]


@rule("GatherND")
def gather_nd(node: Node, x: Any, indices: Any) -> Any:
    """Slices at the positions in the last axis of `indices`, after batch axes that both share"""
    batch = node["batch_dims"]
    if not 0 <= batch < min(x.type.ndim, indices.type.ndim):
        raise GraphValueError(
            f"its batch_dims is {batch}, which is out of range for tensors of rank {x.type.ndim} and "
            f"{indices.type.ndim}"
        )
    rank = indices.type.ndim - 1
    shared = [_grid(node.extent(indices, i), i, rank) for i in range(batch)]
    return x[(*shared, *_columns(node, x, indices, batch))]


@rule("ScatterElements")
def scatter_elements(node: Node, x: Any, indices: Any, updates: Any) -> Any:
    """x with updates put, added, multiplied or compared at positions along an axis; positions may repeat"""
    return _scattered(node, x, _places(node, indices, node.axis(x.type.ndim)), updates)


@rule("ScatterND")
def scatter_nd(node: Node, x: Any, indices: Any, updates: Any) -> Any:
    """Slices put, added, multiplied or compared at positions in the last axis of `indices`; positions may repeat"""
    return _scattered(node, x, tuple(_columns(node, x, indices, 0)), updates)


def _scattered(node: Node, x: Any, places: tuple[Any, ...], updates: Any) -> Any:
    reduction = node["reduction"] or "none"
    if reduction == "none":
        return at.set_subtensor(x[places], updates)
    if reduction == "add":
        return at.inc_subtensor(x[places], updates)
    if reduction not in _COMBINED:
        raise GraphValueError(f"its reduction is {reduction!r}, not none, add, {', '.join(_COMBINED)}")
    wholes = [node.extent(x, axis) for axis in range(len(places))]
    return updated(_COMBINED[reduction], x, places, wholes, updates)


def _places(node: Node, indices: Any, axis: int) -> tuple[Any, ...]:
    """Positions along all axes: the given ones along one axis, each element's own along the others."""
    rank = indices.type.ndim
    return tuple(
        at.cast(indices, "int64") if i == axis else _grid(node.extent(indices, i), i, rank) for i in range(rank)
    )


def _grid(extent: Any, axis: int, rank: int) -> Any:
    """0, 1, ..., extent − 1 along one axis of a tensor of this rank; other extents are 1."""
    return at.reshape(at.arange(extent, dtype="int64"), [1] * axis + [-1] + [1] * (rank - 1 - axis))


def _columns(node: Node, x: Any, indices: Any, batch: int) -> list[Any]:
    """The components of positions, split along the last axis of `indices`.

    Raises: Unsuited, GraphValueError for their number
    """
    count = node.extent(indices, indices.type.ndim - 1)
    if not isinstance(count, int):
        raise Unsuited("the last extent of its indices must be known when the model is read")
    if not 1 <= count <= x.type.ndim - batch:
        raise GraphValueError(f"its indices have {count} components for {x.type.ndim - batch} axes")
    wide = at.cast(indices, "int64")
    return [wide[..., i] for i in range(count)]


@rule("Compress")
def compress(node: Node, x: Any, condition: Any) -> Any:
    """The slices along an axis for which the condition is true; it may be shorter than the axis"""
    axis = node["axis"]
    y = at.ravel(x) if axis is None else x
    where = 0 if axis is None else node.axis(x.type.ndim)
    kept = at.flatnonzero(condition)
    return at.take(y, kept, axis=where)
