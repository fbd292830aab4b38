"""Batches of ranges, as one range of positions, if all samples have the same length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aotensor.core import dtypes
from aotensor.graph.operations import dense, indexing
from aotensor.graph.variable import Variable, constant
from aotensor.ops.create import alloc
from aotensor.ops.elementwise.arithmetic import abs, add, floor_div, maximum, mul, sub, true_div
from aotensor.ops.elementwise.compare import cast, ceil, gt, switch
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.broadcast import specify_shape
from aotensor.ops.shape.extents import shape_i


def batch_of_ranges(
    make: Callable[..., Any], dtype: str, wide: str, bounds: Sequence[Variable], is_batched: Sequence[bool]
) -> Variable:
    """start[k] + i·step[k] for every sample k, after a check that all ranges have the length of the first one.

    make: (start, stop, step) → the range of one sample, in `dtype`; wide: the dtype in which it is computed. bounds:
    start, stop and step: scalars, or vectors where batched. → (samples, n)
    """
    first = make(*(indexing.subtensor(x, 0) if on else x for x, on in zip(bounds, is_batched, strict=True)))
    start, stop, step = (cast(x, wide) for x in bounds)
    lengths = _length(start, stop, step, wide)
    for extreme in (dense.max, dense.min):
        first = specify_shape(first, (extreme(lengths),))
    positions = cast(dense.arange(shape_i(first, 0)), wide)
    column, stride = (dimshuffle(x, [*range(x.ndim), None]) for x in (start, step))
    samples = alloc(add(column, mul(positions, stride)), shape_i(lengths, 0), shape_i(first, 0))
    return cast(samples, dtype)


def _length(start: Variable, stop: Variable, step: Variable, wide: str) -> Variable:
    """The number of elements of each range of a batch, by the rule of a single range."""
    if dtypes.is_float(wide):
        return cast(maximum(ceil(true_div(sub(stop, start), step)), 0), "int64")
    distance = maximum(switch(gt(step, 0), sub(stop, start), sub(start, stop)), 0)
    stride = maximum(abs(step), constant(1, dtype=wide))
    return floor_div(sub(add(distance, stride), constant(1, dtype=wide)), stride)
