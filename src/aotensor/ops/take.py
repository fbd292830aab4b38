"""Elements by their positions along one axis: take and take_along_axis."""

from __future__ import annotations

from typing import Any

from aotensor.core.types import normalise_axis
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.create import arange
from aotensor.ops.elementwise.arithmetic import mod
from aotensor.ops.elementwise.compare import cast, clip
from aotensor.ops.index import index_array, subtensor
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import SymbolicExtent, extent_of, ravel

_MODES = ("raise", "clip", "wrap")


@public
def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Variable:
    """The slices of `a` at `indices` along `axis`, of the flattened `a` by default.

    a: (…, n, …), indices: integers of any shape → (…, *indices.shape, …), dtype of a

    mode: what becomes of an index outside: "raise" (negative ones count from the end), "clip" to 0 … n − 1, or "wrap"
    modulo n.

    Raises: GraphTypeError if `indices` are no integers, GraphValueError for another mode or an axis out of range;
    GraphIndexError at run time for an index outside, in every mode if the axis is empty.
    """
    a, positions = as_tensor(a), index_array(indices)
    if mode not in _MODES:
        raise GraphValueError(f"take: mode is one of {', '.join(_MODES)}, not {mode!r}", lines=[a.describe()])
    if axis is None:
        a, axis = ravel(a), 0
    axis = normalise_axis(axis, a.ndim)
    if mode != "raise":
        positions = _inside(positions, extent_of(a, axis), mode)
    return subtensor(a, (*[slice(None)] * axis, positions))


def _inside(positions: Variable, extent: SymbolicExtent, mode: str) -> Variable:
    """int64 positions within 0 … extent − 1."""
    if positions.dtype == "uint64":
        lines = [positions.describe()]
        raise GraphTypeError(f"take: indices of uint64 with mode {mode!r}", lines=lines, hint="cast them to int64")
    positions = cast(positions, "int64")
    return clip(positions, 0, extent - 1) if mode == "clip" else mod(positions, extent)


@public
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Variable:
    """out[…, k, …] = arr[…, indices[…, k, …], …]: one position per line, as argsort and argmax give them.

    arr: (…, n, …), indices: (…, m, …) of the same rank, integers → (…, m, …); the other axes broadcast along extents
    that are statically 1. None: both are flattened arr and a vector.

    Raises: GraphTypeError if `indices` are no integers, GraphValueError for another rank or an axis out of range;
    GraphIndexError at run time for an index outside.
    """
    arr, positions = as_tensor(arr), index_array(indices)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = normalise_axis(axis, arr.ndim)
    if positions.ndim != arr.ndim:
        lines = [arr.describe(), positions.describe()]
        raise GraphValueError(f"take_along_axis: indices of rank {positions.ndim} for rank {arr.ndim}", lines=lines)
    return subtensor(arr, tuple(positions if d == axis else _counter(arr, d) for d in range(arr.ndim)))


def _counter(x: Variable, axis: int) -> Variable:
    """0, 1, … along an axis of x, with extent 1 along the others."""
    return dimshuffle(arange(extent_of(x, axis)), [0 if d == axis else None for d in range(x.ndim)])
