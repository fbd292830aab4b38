"""Selection by rank without a full sort: partition, argpartition, and the base of quantiles and topk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, normalise_axis
from aotensor.errors import GraphIndexError, GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.batching import TrailingOp
from aotensor.ops.create import zeros, zeros_like
from aotensor.ops.elementwise.compare import and_, cast, eq, gt, invert, isnan, or_, switch
from aotensor.ops.index import subtensor
from aotensor.ops.linear import DiscreteOp
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.cumulate import cumsum
from aotensor.ops.reduce.sort import argsort, sort
from aotensor.ops.shape.axes import dimshuffle, expand_dims, moveaxis
from aotensor.ops.shape.broadcast import broadcast_to
from aotensor.ops.shape.extents import extent_of, extents_of, product
from aotensor.ops.shape.reshape import ravel, reshape
from aotensor.ops.take import take, take_along_axis
from aotensor.ops.updates import set_subtensor


@frozen_dataclass
class Ranked(TrailingOp, DiscreteOp):
    """x, ranks → int64 positions along the last axis: `argsort(x)[..., ranks]`.   (…, n), (r,) → (…, r)

    The order is that of a stable sort, nan last. The caller guarantees ranks in 0 … n − 1.
    """

    name: ClassVar[str] = "ranked"
    notation: ClassVar[str] = "argpartition"

    def infer_type(self, x: TensorType, ranks: TensorType) -> TensorType:
        if x.rank == 0 or ranks.rank != 1 or ranks.dtype != "int64":
            raise GraphTypeError(f"expected a tensor and an int64 vector of ranks, found {x} and {ranks}")
        return TensorType("int64", (*x.shape[:-1], ranks.shape[0]))

    def reference(self, x: Array, ranks: Array) -> Array:
        return np.take(np.argsort(x, axis=-1, stable=True), ranks, axis=-1)

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        x, ranks = inputs
        if not is_batched[1]:
            return self.apply(x, ranks).outputs
        if not is_batched[0]:
            found = self(x, ravel(ranks))
            return [moveaxis(reshape(found, [*extents_of(x)[:-1], *extents_of(ranks)]), -2, 0)]
        places = dimshuffle(ranks, [0, *[None] * (x.ndim - 2), 1])
        return [take_along_axis(argsort(x), broadcast_to(places, [*extents_of(x)[:-1], extent_of(ranks, 1)]))]

    def lower(self, b: TensorBuilder, x: Tensor, ranks: Tensor) -> Tensor:
        return b.select_ranks(b.cast(x, "uint8") if x.dtype == "bool" else x, ranks)


@frozen_dataclass
class Leading(TrailingOp, DiscreteOp):
    """x → the positions of the `count` first elements in order along the last axis, ascending; or of the last ones.

    (…, n) → (…, count) int64. The order is that of a stable sort, nan last.
    """

    name: ClassVar[str] = "leading"
    notation: ClassVar[str] = "argtopk"
    count: int
    is_last: bool

    def infer_type(self, x: TensorType) -> TensorType:
        assert x.rank > 0 and self.count > 0
        return TensorType("int64", (*x.shape[:-1], self.count))

    def reference(self, x: Array) -> Array:
        if self.count > x.shape[-1]:
            raise GraphValueError(_too_many(self.count, x.shape[-1]))
        order = np.argsort(x, axis=-1, stable=True)
        return np.sort(order[..., x.shape[-1] - self.count :] if self.is_last else order[..., : self.count], axis=-1)

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        v, n = b.scalars, x.extents[-1]
        b.check(v.index(n) >= self.count, _too_many(self.count, "{found}"), v.index(n))
        return b.select_few(b.cast(x, "uint8") if x.dtype == "bool" else x, self.count, self.is_last)


def _too_many(count: int, extent: int | str) -> str:
    return f"{count} elements are wanted of an extent of {extent}"


@public(numpy="argpartition")
@coerced
def argpartition(x: Any, kth: int | Sequence[int], axis: int | None = -1) -> Variable:
    """int64 positions along an axis, None for all elements, in the order of `partition`. No gradient.

    Raises: as `partition`.
    """
    return _partitioned("argpartition", x, kth, axis)[1]


@public(numpy="partition")
@coerced
def partition(x: Any, kth: int | Sequence[int], axis: int | None = -1) -> Variable:
    """x along an axis, None for all elements, with the elements of ranks `kth` where a sort would put them.

    Smaller elements, or equal ones with smaller positions, come before each, the others after it; in each of the
    parts between they keep their order. nan is larger than all else. kth: a number or several, negative ones count
    from the end. Derivatives go to the elements.

    Raises: GraphTypeError for a non-integer kth; GraphValueError for an axis out of range, or no kth;
    GraphIndexError for a kth out of range, at run time where the extent is not known.
    Cost: a selection for each kth, and as many running sums; no sort.
    """
    line, places, along = _partitioned("partition", x, kth, axis)
    return take_along_axis(line, places, along)


def _partitioned(name: str, x: Any, kth: int | Sequence[int], axis: int | None) -> tuple[Variable, Variable, int]:
    x = as_tensor(x)
    x, axis = (ravel(x), 0) if axis is None else (x, normalise_axis(axis, x.ndim))
    lines = moveaxis(x, axis, -1)
    ranks = [kth] if isinstance(kth, int) else list(kth)
    if not ranks:
        raise GraphValueError(f"{name}: kth is empty")
    known = lines.static_shape[-1]
    if known is not None and not all(-known <= k < known for k in ranks):
        raise GraphIndexError(f"{name}: kth is {kth}, but axis {axis} has {known} elements", lines=[x.describe()])
    cuts = sort(take(arange(extent_of(lines, -1)), constant(np.array(ranks, "int64"))))
    return x, moveaxis(_by_parts(lines, cuts, len(ranks)), -1, axis), axis


def _by_parts(lines: Variable, cuts: Variable, count: int) -> Variable:
    """Positions along the last axis in the order of `partition`, for ascending ranks.   (…, n), (count,) → (…, n)

    An element's target is the start of its part plus the number of elements of the part before it.
    """
    places = Ranked()(lines, cuts)
    positions = broadcast_to(arange(extent_of(lines, -1)), extents_of(lines))
    goes, part = positions, zeros_like(lines, "int64")
    is_cut = zeros_like(lines, "bool")
    for k in range(count):
        place = subtensor(places, (..., slice(k, k + 1)))
        here = eq(positions, place)
        part = part + cast(_is_behind(lines, positions, take_along_axis(lines, place), place), "int64")
        is_cut, goes = or_(is_cut, here), switch(here, subtensor(cuts, k), goes)
    for k in range(count + 1):
        belongs = and_(eq(part, k), invert(is_cut))
        start = subtensor(cuts, k - 1) if k else -1
        goes = switch(belongs, start + cumsum(belongs, -1), goes)
    rows, n = product(extents_of(lines)[:-1]), extent_of(lines, -1)
    target = subtensor(zeros((rows, n), "int64"), (expand_dims(arange(rows), 1), reshape(goes, [rows, n])))
    return reshape(set_subtensor(target, reshape(positions, [rows, n])), extents_of(lines))


def _is_behind(x: Variable, at: Variable, y: Variable, place: Variable) -> Variable:
    """Bool mask: which elements come after the element y in a stable ascending order, with nan last."""
    more, equal = gt(x, y), eq(x, y)
    if dtypes.is_float(x.dtype):
        more = or_(more, and_(isnan(x), invert(isnan(y))))
        equal = or_(equal, and_(isnan(x), isnan(y)))
    return or_(more, and_(equal, gt(at, place)))
