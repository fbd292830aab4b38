"""The distinct elements, or slices, of a tensor, by sorting and masks. Their number depends on values."""

from __future__ import annotations

from typing import Any

from aotensor.core import dtypes
from aotensor.core.types import normalise_axis
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.compare import and_, eq, invert, isnan, neq, or_
from aotensor.ops.index import subtensor
from aotensor.ops.mask import flatnonzero
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.cumulate import cumsum, diff
from aotensor.ops.reduce.sort import argsort
from aotensor.ops.reduce.sums import any as any_of
from aotensor.ops.scan.folds import reduce
from aotensor.ops.shape.axes import matrix_transpose, moveaxis
from aotensor.ops.shape.extents import extent_of, extents_of, product
from aotensor.ops.shape.join import join
from aotensor.ops.shape.rearrange import roll
from aotensor.ops.shape.reshape import ravel, reshape
from aotensor.ops.updates import set_subtensor


@public(numpy="unique")
@coerced
def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Variable | list[Variable]:
    """The distinct elements of flattened x in ascending order, nan once and last.   → (k,), dtype of x

    axis: the different slices along an axis instead, in the order of their first elements that differ; they keep their
    shape. return_index: also the int64 position of the first of each; return_inverse: for each element of flattened x
    (each slice) its position in the result; return_counts: how often each occurs. A list, in this order, if
    any is requested. The first of equal elements has the derivative; the others have none, nor have the
    positions.

    Raises: GraphValueError for an axis out of range.
    """
    x = as_tensor(x)
    if axis is None:
        line = ravel(x)
        order = argsort(line)
        is_first = _is_first(subtensor(line, order))
    else:
        axis = normalise_axis(axis, x.ndim)
        line = moveaxis(x, axis, 0)
        rows = reshape(line, [extent_of(line, 0), product(extents_of(line)[1:])])
        order = _order_of_rows(rows)
        is_first = _is_first(subtensor(rows, order))
    starts = flatnonzero(is_first)
    first = subtensor(order, starts)
    found = subtensor(line, first)
    results = [found if axis is None else moveaxis(found, 0, axis)]
    if return_index:
        results.append(first)
    if return_inverse:
        positions = zeros((extent_of(line, 0),), "int64")
        results.append(set_subtensor(subtensor(positions, order), cumsum(is_first) - 1))
    if return_counts:
        results.append(diff(join(0, starts, as_tensor(extent_of(line, 0))[None])))
    return results if len(results) > 1 else results[0]


def _order_of_rows(rows: Variable) -> Variable:
    """The permutation that sorts rows lexicographically, by stable sorts from the last column to the first."""
    return reduce(  # type: ignore[no-any-return]
        lambda column, order: subtensor(order, argsort(subtensor(column, order))),
        matrix_transpose(rows),
        arange(extent_of(rows, 0)),
        go_backwards=True,
        return_updates=False,
    )


def _is_first(ordered: Variable) -> Variable:
    """Whether an element of a sorted vector, or a row of a sorted matrix, differs from the one before it."""
    before = roll(ordered, 1, 0)
    differs = neq(ordered, before)
    if dtypes.is_float(ordered.dtype):
        differs = and_(differs, invert(and_(isnan(ordered), isnan(before))))
    if ordered.ndim > 1:
        differs = any_of(differs, axis=1)
    return or_(eq(arange(extent_of(ordered, 0)), 0), differs)
