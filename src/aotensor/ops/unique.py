"""The different elements of a tensor: a composition of sorting and masks. How many there are depends on values."""

from __future__ import annotations

from typing import Any

from aotensor.core import dtypes
from aotensor.errors import UnsupportedError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.compare import and_, eq, invert, isnan, neq, or_
from aotensor.ops.index import subtensor
from aotensor.ops.mask import flatnonzero
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.cumulate import cumsum, diff
from aotensor.ops.reduce.sort import argsort
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import join
from aotensor.ops.shape.rearrange import roll
from aotensor.ops.shape.reshape import ravel
from aotensor.ops.updates import set_subtensor


@coerced
def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Variable | list[Variable]:
    """The different elements of flattened x in ascending order, nan once and last.   → (k,), dtype of x

    return_index: also the int64 position of the first of each; return_inverse: for each element of flattened x the
    position of its like in the result; return_counts: how often each occurs. A list, in this order, if any is asked
    for. The derivative of an element goes to the first of its likes; the others have none, nor have the positions.

    Raises: UnsupportedError for an axis.
    """
    if axis is not None:
        raise UnsupportedError("unique: an axis is not supported", hint="flatten, or sort the rows first")
    line = ravel(as_tensor(x))
    order = argsort(line)
    is_first = _is_first(subtensor(line, order))
    starts = flatnonzero(is_first)
    first = subtensor(order, starts)
    results = [subtensor(line, first)]
    if return_index:
        results.append(first)
    if return_inverse:
        positions = zeros((extent_of(line, 0),), "int64")
        results.append(set_subtensor(subtensor(positions, order), cumsum(is_first) - 1))
    if return_counts:
        results.append(diff(join(0, starts, line.shape)))
    return results if len(results) > 1 else results[0]


def _is_first(ordered: Variable) -> Variable:
    """Whether an element of a sorted vector differs from the one before it."""
    before = roll(ordered, 1)
    differs = neq(ordered, before)
    if dtypes.is_float(ordered.dtype):
        differs = and_(differs, invert(and_(isnan(ordered), isnan(before))))
    return or_(eq(arange(extent_of(ordered, 0)), 0), differs)
