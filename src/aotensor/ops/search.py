"""Binary search in ordered vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.op import Apply
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.batching import align_rank, all_batched
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.arithmetic import int_div
from aotensor.ops.elementwise.compare import le
from aotensor.ops.index import subtensor
from aotensor.ops.linear import DiscreteOp
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.scan.folds import reduce
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.reshape import ravel
from aotensor.ops.take import take

_LONGEST = 48
"""Halvings that suffice for every vector."""


@frozen_dataclass
class Search(DiscreteOp):
    """a, v → for each element of v the number of elements of the ascending vector a before it: int64, as v.

    These are smaller, or not larger if `is_right`; nan is larger than all else. By binary search: every
    element of v needs the same number of steps, so that all proceed together.
    """

    name: ClassVar[str] = "searchsorted"
    is_right: bool

    def infer_type(self, a: TensorType, v: TensorType) -> TensorType:
        if a.rank != 1:
            raise GraphTypeError(f"expected a sorted vector to search in, found {a}")
        return v.with_dtype("int64")

    def reference(self, a: Array, v: Array) -> Array:
        return np.asarray(np.searchsorted(a, v, "right" if self.is_right else "left"), np.int64)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        a, v = inputs
        return [_insertion_positions(a, v, zeros_like(v, "int64"), extent_of(a, 0), self.is_right)]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        a, v = inputs
        if not is_batched[0]:
            return self.apply(a, v).outputs
        a, v = all_batched(inputs, is_batched)
        n = extent_of(a, 1)
        rows = dimshuffle(arange(extent_of(a, 0)) * n, [0, *[None] * (v.ndim - 1)])
        first = zeros_like(v, "int64") + rows
        return [_insertion_positions(ravel(a), v, first, n, self.is_right) - rows]


@frozen_dataclass
class SearchStep(DiscreteOp):
    """A step of binary search: a, v, low, half → low + half where a[low + half − 1] comes before v, else low."""

    name: ClassVar[str] = "search_step"
    notation: ClassVar[str] = "searchsorted"
    is_right: bool

    def infer_type(self, a: TensorType, v: TensorType, low: TensorType, half: TensorType) -> TensorType:
        assert a.rank == 1 and half.rank == 0 and v.rank == low.rank
        return low

    def reference(self, a: Array, v: Array, low: Array, half: Array) -> Array:
        tested = a[low + half - 1]
        after, before = (tested, v) if self.is_right else (v, tested)
        is_nan = after != after
        is_less = (before < after) | (is_nan & (before == before))
        return np.where(~is_less if self.is_right else is_less, low + half, low)

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        a, v, low, half = inputs
        assert not is_batched[0] and not is_batched[3], "one vector, and steps of one size"
        v, low = all_batched([v, low], is_batched[1:3])
        return self.apply(a, align_rank(v, low.ndim - 1), low, half).outputs

    def lower(self, b: TensorBuilder, a: Tensor, v: Tensor, low: Tensor, half: Tensor) -> Tensor:
        common = "uint8" if {a.dtype, v.dtype} == {"bool"} else dtypes.promote(a.dtype, v.dtype)
        size = b.scalars.cast(b.item(half), "int64")

        def element(s: ScalarBuilder, *at: Scalar) -> Scalar:
            start = s.load(low, *at)
            end = start + size
            place = s.cast(end, dtypes.INDEX) - 1
            tested, wanted = s.cast(s.load(a, place), common), s.cast(s.load(v, *at), common)
            is_before = _not_less(s, wanted, tested) if self.is_right else _less(s, tested, wanted)
            return s.select(is_before, end, start)

        return b.tabulate(low.extents, "int64", element)


def _less(s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """Emit x < y, with nan larger than all numbers."""
    is_less = x < y
    if not dtypes.is_float(x.dtype):
        return is_less
    return is_less | (s.is_nan(y) & ~s.is_nan(x))


def _not_less(s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    return ~_less(s, x, y)


def _insertion_positions(a: Variable, v: Variable, first: Variable, n: Any, is_right: bool) -> Variable:
    """The insertion positions of v among the n elements of a from position `first` on, by repeated `SearchStep`s."""
    step = SearchStep(is_right)
    if isinstance(n, int):
        for k in range(n.bit_length()):
            first = step(a, v, first, constant(((n >> k) + 1) // 2, dtype="int64"))
        return first
    powers = constant(2 ** np.arange(_LONGEST))
    needed = subtensor(powers, slice(None, sum_over(le(powers, n))))
    halves = int_div(int_div(n, needed) + 1, 2)
    return reduce(  # type: ignore[no-any-return]
        lambda half, low, a, v: step(a, v, low, half), halves, first, [a, v], return_updates=False
    )


@public(numpy="searchsorted", method="searchsorted")
@coerced
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Variable:
    """Where elements of v go into the ascending vector a so that it stays ascending: int64, of the shape of v.

    side: "left" before equal elements, "right" after them. sorter: positions that put a in order. nan sorts
    after all numbers. An a that is not ascending gives some position of 0 … n. Every derivative is 0.

    Raises: GraphTypeError unless a is a vector, GraphValueError for another side. Cost: log2 n reads for each element.
    """
    is_right = check_choice("searchsorted: side", side, ("left", "right")) == "right"
    a, v = as_tensor(a), as_tensor(v)
    return Search(is_right)(a if sorter is None else take(a, sorter), v)  # type: ignore[no-any-return]
