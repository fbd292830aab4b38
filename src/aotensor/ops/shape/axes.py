"""Permuted, new and dropped axes: one op, DimShuffle, which moves no element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, normalise_axes, normalise_axis
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.linear import LinearOp


@frozen_dataclass
class DimShuffle(LinearOp):
    """Axis `pattern[k]` of x becomes axis k, None is a new axis of extent 1; an axis left out must have extent 1."""

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "dimshuffle"
    pattern: tuple[int | None, ...]

    def infer_type(self, x: TensorType) -> TensorType:
        used = [axis for axis in self.pattern if axis is not None]
        if len(set(used)) != len(used):
            raise GraphValueError(f"pattern {self.pattern} names one axis twice")
        for axis in used:
            if not 0 <= axis < x.rank:
                raise GraphValueError(f"axis {axis} is out of range for rank {x.rank}")
        for axis in self.dropped(x.rank):
            if x.static_shape[axis] not in (1, None):
                raise GraphValueError(f"axis {axis} has extent {x.shape[axis]}, only extent 1 can be dropped")
        return TensorType(x.dtype, tuple(1 if axis is None else x.shape[axis] for axis in self.pattern))

    def dropped(self, rank: int) -> list[int]:
        return [axis for axis in range(rank) if axis not in self.pattern]

    def reference(self, x: Array) -> Array:
        dropped = self.dropped(x.ndim)
        for axis in dropped:
            if x.shape[axis] != 1:
                raise GraphValueError(_not_one(axis, str(x.shape[axis])))
        kept = [axis for axis in self.pattern if axis is not None]
        permuted = x.transpose([*dropped, *kept])
        extents = [1 if axis is None else x.shape[axis] for axis in self.pattern]
        return permuted.reshape(extents)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        position = {axis: k for k, axis in enumerate(self.pattern) if axis is not None}
        inverse = tuple(position.get(axis) for axis in range(inputs[0].ndim))
        return DimShuffle(inverse)(cotangent)  # type: ignore[no-any-return]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        pattern = (0, *(None if axis is None else axis + 1 for axis in self.pattern))
        return DimShuffle(pattern).apply(*inputs).outputs

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        v = b.scalars
        for axis in self.dropped(len(x.extents)):
            extent = x.extents[axis]
            if extent != 1:
                b.check(v.compare("eq", v.index(extent), v.index(1)), _not_one(axis, "{found}"), found=extent)
        return b.permute(x, self.pattern)


def _not_one(axis: int, extent: str) -> str:
    return f"dimshuffle: axis {axis} has extent {extent}, only extent 1 can be dropped"


@coerced
def dimshuffle(x: Any, pattern: Sequence[int | str | None]) -> Variable:
    """Axes of x by pattern: numbers are axes of x, "x" (or None) is a new axis of extent 1.

    Raises: GraphValueError for an axis out of range or named twice, or if a dropped axis is not of extent 1 (checked
    at run time where the extent is not known).
    """
    x = as_tensor(x)
    entries = [None if entry is None else _axis_number(entry, x.ndim) for entry in pattern]
    return _shuffle(x, entries)


def _axis_number(entry: object, rank: int) -> int | None:
    if isinstance(entry, str):
        if entry == "x":
            return None
        raise GraphTypeError(f"a dimshuffle pattern must hold axes and 'x', not {entry!r}")
    return normalise_axis(entry, rank)  # type: ignore[arg-type]


def _shuffle(x: Variable, pattern: Sequence[int | None]) -> Variable:
    if list(pattern) == list(range(x.ndim)):
        return x
    return DimShuffle(tuple(pattern))(x)  # type: ignore[no-any-return]


@public(numpy="transpose")
@coerced
def transpose(x: Any, axes: Sequence[int] | None = None) -> Variable:
    """x with its axes permuted, reversed by default: result axis k is axis axes[k] of x.

    Raises: GraphValueError if `axes` is not a permutation.
    """
    x = as_tensor(x)
    order = list(range(x.ndim))[::-1] if axes is None else [normalise_axis(axis, x.ndim) for axis in axes]
    if sorted(order) != list(range(x.ndim)):
        raise GraphValueError(f"axes {tuple(axes or ())} are not a permutation of {x.ndim} axes", lines=[x.describe()])
    return _shuffle(x, order)


@public(numpy=("matrix_transpose", "linalg.matrix_transpose"))
@coerced
def matrix_transpose(x: Any) -> Variable:
    """The last two axes exchanged.   x: (…, m, n) → (…, n, m)   Raises: GraphTypeError for rank below 2."""
    x = as_tensor(x)
    if x.ndim < 2:
        raise GraphTypeError("matrix_transpose: expected at least two axes", lines=[x.describe()])
    return swapaxes(x, -1, -2)


@public(numpy="swapaxes", method="swapaxes")
@coerced
def swapaxes(x: Any, axis1: int, axis2: int) -> Variable:
    """Two axes exchanged."""
    x = as_tensor(x)
    order = list(range(x.ndim))
    first, second = normalise_axis(axis1, x.ndim), normalise_axis(axis2, x.ndim)
    order[first], order[second] = order[second], order[first]
    return _shuffle(x, order)


@public(numpy="moveaxis")
@coerced
def moveaxis(x: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Variable:
    """Axes moved to new positions, the others keep their order.   Raises: GraphValueError for unequal numbers."""
    x = as_tensor(x)
    old = [normalise_axis(axis, x.ndim) for axis in _as_list(source)]
    new = [normalise_axis(axis, x.ndim) for axis in _as_list(destination)]
    if len(old) != len(new) or len(set(old)) != len(old) or len(set(new)) != len(new):
        raise GraphValueError("moveaxis: source and destination must have equal numbers of axes, each without repeats")
    order = [axis for axis in range(x.ndim) if axis not in old]
    for position, axis in sorted(zip(new, old, strict=True)):
        order.insert(position, axis)
    return _shuffle(x, order)


def _as_list(axes: int | Sequence[int]) -> list[int]:
    return [int(axes)] if isinstance(axes, int | np.integer) else list(axes)


@public(numpy="expand_dims")
@coerced
def expand_dims(x: Any, axis: int | Sequence[int]) -> Variable:
    """New axes of extent 1 at the given positions of the result."""
    x = as_tensor(x)
    rank = x.ndim + len(_as_list(axis))
    new = normalise_axes(axis, rank)
    kept = iter(range(x.ndim))
    return _shuffle(x, [None if position in new else next(kept) for position in range(rank)])


@public(numpy="squeeze", method="squeeze")
@coerced
def squeeze(x: Any, axis: int | Sequence[int] | None = None) -> Variable:
    """Axes of extent 1 dropped: the named ones, or all that are known to be 1 when the graph is built.

    Raises: GraphValueError if a named axis has another extent (at run time where it is not known).
    """
    x = as_tensor(x)
    drop = [k for k, dim in enumerate(x.static_shape) if dim == 1] if axis is None else normalise_axes(axis, x.ndim)
    return _shuffle(x, [k for k in range(x.ndim) if k not in drop])


@coerced
def shape_padleft(x: Any, n: int = 1) -> Variable:
    """n new leading axes of extent 1."""
    x = as_tensor(x)
    return _shuffle(x, [None] * n + list(range(x.ndim)))


@coerced
def shape_padright(x: Any, n: int = 1) -> Variable:
    """n new axes of extent 1 at the end."""
    x = as_tensor(x)
    return _shuffle(x, list(range(x.ndim)) + [None] * n)


@coerced
def shape_padaxis(x: Any, axis: int) -> Variable:
    """One new axis of extent 1 at position `axis` of the result."""
    return expand_dims(x, axis)


@coerced
def atleast_1d(x: Any) -> Variable:
    """A scalar as a vector of one element, all else unchanged."""
    x = as_tensor(x)
    return x if x.ndim else _shuffle(x, [None])


@coerced
def atleast_2d(x: Any) -> Variable:
    """A scalar as (1, 1), a vector as (1, n), all else unchanged."""
    x = as_tensor(x)
    return shape_padleft(x, 2 - x.ndim) if x.ndim < 2 else x


@coerced
def atleast_3d(x: Any) -> Variable:
    """A scalar as (1, 1, 1), a vector as (1, n, 1), a matrix as (m, n, 1), all else unchanged."""
    x = atleast_1d(x)
    patterns: dict[int, list[int | None]] = {1: [None, 0, None], 2: [0, 1, None]}
    return _shuffle(x, patterns[x.ndim]) if x.ndim in patterns else x


def reexpand(reduced: Variable, axes: Sequence[int], rank: int) -> Variable:
    """The result of a reduction over `axes` of a rank-`rank` tensor, with these axes as extent 1 (keepdims)."""
    kept = iter(range(reduced.ndim))
    return _shuffle(reduced, [None if axis in axes else next(kept) for axis in range(rank)])
