"""Positions in a tensor as a single number, and as one number per axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.types import Array
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.elementwise.arithmetic import floor_div, mod
from aotensor.ops.elementwise.base import Elementwise, elementwise
from aotensor.ops.elementwise.compare import cast, clip
from aotensor.ops.shape.extents import SymbolicExtent, as_extents, product

_MODES = ("raise", "wrap", "clip")


def _reference_inside(x: Array, n: Array) -> Array:
    for found in (x.min(initial=0), x.max(initial=-1)):
        if x.size and not 0 <= found < n.min(initial=found + 1):
            raise GraphValueError(f"position_inside: {_range_error(str(found), str(n.min()))}")
    return np.add(x, np.zeros_like(n))


def _range_error(found: str, extent: str) -> str:
    return f"position {found} is out of range for an extent of {extent}"


def _check_inside(b: TensorBuilder, x: Tensor, n: Tensor) -> None:
    v = b.scalars
    extent = v.cast(b.item(b.reduce("minimum", n, range(len(n.extents)))), dtypes.INDEX)
    axes = range(len(x.extents))
    lowest, highest = (v.cast(b.item(b.reduce(kind, x, axes)), dtypes.INDEX) for kind in ("minimum", "maximum"))
    message = _range_error("{found}", "{expected}")
    b.check(lowest >= 0, message, found=lowest, expected=extent)
    b.check(highest < extent, message, found=highest, expected=extent)


def only_int64(*operands: str) -> tuple[tuple[str, ...], str]:
    """Signature of ops on positions: int64 of int64 operands.   Raises: GraphTypeError for other dtypes"""
    if set(operands) != {"int64"}:
        raise GraphTypeError("expected positions of int64")
    return operands, "int64"


position_inside: Elementwise = elementwise(
    "position_inside",
    "x, after a check that all its elements are 0 … n − 1 for the smallest n.",
    _reference_inside,
    lambda s, x, n: x,
    (None, None),
    only_int64,
    guard=_check_inside,
    notation="{0}",
)


@public(numpy="ravel_multi_index")
@coerced
def ravel_multi_index(multi_index: Sequence[Any], dims: Any, mode: Any = "raise", order: str = "C") -> Variable:
    """int64 positions in a flattened tensor of extents `dims`, from one tensor of positions per axis; these broadcast.

    mode: treatment of positions out of range, for all axes or for each: "raise", "wrap" modulo the extent, or "clip"
    to 0 … n − 1. order: "C" if the last axis runs fastest, "F" if the first one does.

    Raises: GraphTypeError for positions that are not integers, GraphValueError for another mode or order, for a number
    of tensors other than that of axes; at run time for a position outside.
    """
    extents = as_extents(dims)
    if not isinstance(mode, str | list | tuple):
        raise GraphTypeError(f"ravel_multi_index: mode must be a str, or one per axis, not {mode!r:.60}")
    modes = [mode] * len(extents) if isinstance(mode, str) else list(mode)
    positions = [as_tensor(x) for x in multi_index]
    if not len(extents) == len(positions) == len(modes) or not extents:
        what = f"{len(positions)} tensors of positions and {len(modes)} modes for {len(extents)} axes"
        raise GraphValueError(f"ravel_multi_index: {what}", lines=[x.describe() for x in positions])
    total: Variable | None = None
    for axis in _axes_outside_in(len(extents), order):
        inside = positions_within(positions[axis], extents[axis], modes[axis])
        total = inside if total is None else total * _scalar(extents[axis]) + inside
    assert total is not None
    return total


def _axes_outside_in(rank: int, order: str) -> list[int]:
    """The axes of a tensor, the fastest-varying one last.   Raises: GraphValueError for an order other than "C",
    "F".
    """
    return list(range(rank)) if check_choice("order", order, ("C", "F")) == "C" else list(reversed(range(rank)))


def _positions(x: Any) -> Variable:
    """Convert positions to int64.   Raises: GraphTypeError for non-integers and for uint64, which may not fit."""
    x = as_tensor(x)
    if x.dtype not in dtypes.INTEGERS or x.dtype == "uint64":
        hint = "cast them to int64" if x.dtype == "uint64" else None
        raise GraphTypeError(f"positions must be integers, not {x.type}", lines=[x.describe()], hint=hint)
    return cast(x, "int64")


def _scalar(extent: SymbolicExtent) -> Variable:
    return cast(as_tensor(extent), "int64")


def positions_within(x: Variable, extent: SymbolicExtent, mode: str) -> Variable:
    """int64 positions within 0 … extent − 1: others raise an error at run time, wrap modulo the extent, or are clipped.

    Raises: GraphTypeError for non-integers and for uint64; GraphValueError for another mode.
    """
    x, n = _positions(x), _scalar(extent)
    if check_choice("mode", mode, _MODES) == "raise":
        return position_inside(x, n)
    return mod(x, n) if mode == "wrap" else clip(x, 0, n - 1)


@public(numpy="unravel_index")
@coerced
def unravel_index(indices: Any, dims: Any, order: str = "C") -> tuple[Variable, ...]:
    """One int64 tensor of positions per axis, from positions in a flattened tensor of extents `dims`.

    order: "C" if the last axis runs fastest, "F" if the first one does.

    Raises: GraphTypeError for positions that are not integers, GraphValueError for no axes or another order; at run
    time for a position outside.
    """
    extents = as_extents(dims)
    if not extents:
        raise GraphValueError("unravel_index: the shape is empty, and a scalar has no positions")
    rest = position_inside(_positions(indices), _scalar(product(extents)))
    result: dict[int, Variable] = {}
    for axis in reversed(_axes_outside_in(len(extents), order)):
        result[axis] = mod(rest, _scalar(extents[axis]))
        rest = floor_div(rest, _scalar(extents[axis]))
    return tuple(result[axis] for axis in range(len(extents)))
