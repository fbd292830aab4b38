"""Elements selected along an axis: take, take_along_axis, compress, choose, and nonzero elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aotensor.core.types import normalise_axis
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.index import index_array, subtensor
from aotensor.ops.mask import flatnonzero
from aotensor.ops.multi_index import positions_within
from aotensor.ops.ranges import arange
from aotensor.ops.shape.axes import dimshuffle, shape_padleft
from aotensor.ops.shape.broadcast import broadcast_arrays
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import stack
from aotensor.ops.shape.reshape import ravel

_MODES = ("raise", "clip", "wrap")


@public(numpy="take", method="take")
@coerced
def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Variable:
    """The slices of `a` at `indices` along `axis`, of the flattened `a` by default.

    a: (…, n, …), indices: integers of any shape → (…, *indices.shape, …), dtype of a

    mode: treatment of an index out of range: "raise" (negative ones count from the end), "clip" to 0 … n − 1, or "wrap"
    modulo n.

    Raises: GraphTypeError if `indices` are not integers, GraphValueError for another mode or an axis out of range;
    GraphIndexError at run time for an index outside, in every mode if the axis is empty.
    """
    a, positions = as_tensor(a), index_array(indices)
    check_choice("take: mode", mode, _MODES)
    if axis is None:
        a, axis = ravel(a), 0
    axis = normalise_axis(axis, a.ndim)
    if mode != "raise":
        positions = positions_within(positions, extent_of(a, axis), mode)
    return subtensor(a, (*[slice(None)] * axis, positions))


@public(numpy="take_along_axis")
@coerced
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Variable:
    """out[…, k, …] = arr[…, indices[…, k, …], …]: one position per line, as argsort and argmax give them.

    arr: (…, n, …), indices: (…, m, …) of the same rank, integers → (…, m, …); the other axes broadcast along extents
    that are statically 1. None: both are flattened arr and a vector.

    Raises: GraphTypeError if `indices` are not integers, GraphValueError for another rank or an axis out of range;
    GraphIndexError at run time for an index outside.
    """
    arr, positions = as_tensor(arr), index_array(indices)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = normalise_axis(axis, arr.ndim)
    if positions.ndim != arr.ndim:
        lines = [arr.describe(), positions.describe()]
        raise GraphValueError(
            f"take_along_axis: indices must have the rank of arr, {arr.ndim}, found {positions.ndim}", lines=lines
        )
    return subtensor(arr, tuple(positions if d == axis else _counter(arr, d) for d in range(arr.ndim)))


@public(numpy="compress")
@coerced
def compress(condition: Any, x: Any, axis: int | None = None) -> Variable:
    """The slices of x along `axis` where the vector `condition` is not 0; of flattened x by default.

    Raises: GraphValueError unless `condition` is a vector and the axis is in range; GraphIndexError where it is not as
    long as the axis (at run time where that is not known).
    """
    condition, x = as_tensor(condition), as_tensor(x)
    if condition.ndim != 1:
        raise GraphValueError("compress: the condition must be a vector", lines=[condition.describe()])
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalise_axis(axis, x.ndim)
    return subtensor(x, (*[slice(None)] * axis, cast(condition, "bool")))


@public(method="nonzero_values")
@coerced
def nonzero_values(x: Any) -> Variable:
    """The elements of x that are not 0, in C order.   Raises: GraphValueError for a scalar."""
    x = as_tensor(x)
    return subtensor(ravel(x), flatnonzero(x))


@public(numpy="choose", method="choose")
@coerced
def choose(a: Any, choices: Sequence[Any], mode: str = "raise") -> Variable:
    """out[…] = choices[a[…]][…]: for every element the number of the choice to take it from; all broadcast together.

    choices: a list of tensors, or one tensor whose first axis counts them. mode: what becomes of a number that is
    outside: "raise", "clip" to 0 … n − 1, or "wrap" modulo n.

    Raises: GraphTypeError unless `a` is integers, or for one scalar tensor; GraphValueError for another mode, at
    run time for a number outside, negative ones among them.
    """
    check_choice("choose: mode", mode, _MODES)
    listed = isinstance(choices, list | tuple)
    whole = stack(broadcast_arrays(*choices)) if listed else as_tensor(choices)
    if not whole.ndim:
        raise GraphTypeError("choose: expected a list of choices, found a scalar", lines=[whole.describe()])
    positions = positions_within(index_array(a), extent_of(whole, 0), mode)
    rank = max(positions.ndim, whole.ndim - 1)
    positions = shape_padleft(positions, rank - positions.ndim)
    return subtensor(whole, (positions, *(_counter(whole, axis, rank - whole.ndim) for axis in range(1, whole.ndim))))


def _counter(x: Variable, axis: int, lead: int = 0) -> Variable:
    """0, 1, … along an axis of x, with extent 1 along the other axes; `lead` more leading axes (or fewer, if
    negative).
    """
    return dimshuffle(arange(extent_of(x, axis)), [0 if d == axis else None for d in range(-lead, x.ndim)])
