"""Splitting rules of reductions, of ops along axes, and of products."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.graph.variable import Variable, constant
from aotensor.ops.elementwise.compare import and_, eq, isnan, or_, switch
from aotensor.ops.elementwise.elementary import exp, log
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.extremum import Extremum
from aotensor.ops.reduce.sums import Prod, Sum
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.reduce.without_zeros import ProdWithoutZeros
from aotensor.ops.shape.axes import dimshuffle, reexpand
from aotensor.ops.shape.extents import extents_of
from aotensor.splitting.elementwise_rules import aligned_axis
from aotensor.splitting.merges import arg_extremum, log_sum_exp, pointwise, squared_deviations, wide_sum
from aotensor.splitting.places import NodeView, NotSplittable, Rewrite, Rows, Splitting


def axes_of(op: Any) -> tuple[int, ...]:
    """The axes along which an op reduces or works."""
    return (op.axis,) if hasattr(op, "axis") else tuple(op.axes)


def reduction(view: NodeView) -> Splitting:
    """Rule of sums, products, extrema, any and all: per row if the row axis is kept, else a merge over rows."""
    view.plain()
    op: Any = view.node.op
    axis, axes = view.axis_of(0), axes_of(op)
    if axis not in axes:
        return view.rows(axis - sum(k < axis for k in axes))
    (out,) = view.node.outputs
    match op.name:
        case "sum":
            wide = Sum(op.axes, op.acc_dtype, op.acc_dtype)
            return pointwise("sum", lambda xs: wide(xs[0]), out.dtype, op.acc_dtype)
        case "prod":
            product = Prod(op.axes, op.acc_dtype, op.acc_dtype)
            return pointwise("product", lambda xs: product(xs[0]), out.dtype, op.acc_dtype)
        case "prod_without_zeros":
            others = ProdWithoutZeros(op.axes, op.acc_dtype, op.acc_dtype)
            return pointwise("product", lambda xs: others(xs[0]), out.dtype, op.acc_dtype)
        case "max" | "min" if out.dtype == "bool":
            return pointwise("any" if op.name == "max" else "all", lambda xs: op(xs[0]), "bool")
        case "logsumexp":
            return log_sum_exp(op.axes)
        case "squared_deviations":
            return squared_deviations(op)
        case "argmax" | "argmin":
            if view.domain() != view.over:
                raise NotSplittable(
                    f"its positions are along {view.domain()}, and only positions along {view.over} can be split"
                )
            return arg_extremum(op)
        case _:  # max, min, any, all
            return pointwise(op.name, lambda xs: op(xs[0]), out.dtype)


ALONG: Final = {
    "sort": "it moves each row to a place that depends on all rows",
    "permute": "it moves rows to other places among all rows",
    "cumsum": "each row needs all rows before it",
    "cumprod": "each row needs all rows before it",
    "shift": "each row needs the one before it",
    "linear_recurrence": "each row needs the one before it",
    "join": "it concatenates along the rows",
    "leading": "the rank of a row depends on all rows",
    "ranked": "the rank of a row depends on all rows",
    "split": "it splits the rows at a position, which may be in any chunk",
}
"""The reason why ops along the axis of rows cannot be split."""


def along(view: NodeView) -> Splitting:
    """Rule of ops that work along axes and keep them (cumulate, sort, …): per row if along other axes than the rows."""
    view.plain()
    op: Any = view.node.op
    local = view.local()
    axes = {view.axis_of(k) for k in local}
    if len(axes) != 1:
        raise NotSplittable("its inputs have the rows along different axes")
    axis = axes.pop()
    if axis in axes_of(op):
        raise NotSplittable(ALONG.get(op.name, "it works along the axis of the rows"))
    for k, x in enumerate(view.node.inputs):
        if k not in local and x.ndim > axis and op.name != "split":
            raise NotSplittable(f"{x}: {x.type} is not known to have the rows of dim {view.over}")
    return view.rows(axis, row_counts=frozenset(view.counts() if op.name == "split" else ()))


def normalised(view: NodeView) -> Splitting:
    """Rule of softmax and log_softmax over rows: rewritten as a maximum, a sum and a quotient."""
    op: Any = view.node.op
    if view.axis_of(0) not in op.axes:
        return along(view)
    (x,) = view.node.inputs

    def spread(reduced: Variable) -> Variable:
        return reexpand(reduced, op.axes, x.ndim)

    m = spread(Extremum("max", op.axes)(x))
    weights = exp(x - m)
    if op.name == "log_softmax":
        return Rewrite([x - m - log(sum_over(weights, axis=op.axes, keepdims=True))])
    if not op.at_limits:
        return Rewrite([weights / sum_over(weights, axis=op.axes, keepdims=True)])
    is_empty, zero, one = eq(m, -math.inf), constant(0, dtype=x.dtype), constant(1, dtype=x.dtype)
    weights = switch(is_empty, zero, switch(eq(x, m), one, weights))
    return Rewrite([weights / switch(is_empty, one, sum_over(weights, axis=op.axes, keepdims=True))])


def extremum_mask(view: NodeView) -> Splitting:
    """Rule of the mask of an extremum over rows: equal elements, or the first nan by the smallest row number."""
    op: Any = view.node.op
    x, y = view.node.inputs
    if not view.at[0].is_local:
        raise NotSplittable("it compares an extremum that has the rows with a value without rows")
    axis = view.axis_of(0)
    if axis not in op.axes:
        return view.rows(axis)
    best = eq(x, reexpand(y, op.axes, x.ndim))
    if not dtypes.is_float(x.dtype):
        return Rewrite([best])
    extents, position = extents_of(x), constant(0, dtype="int64")
    for k in op.axes:
        along = dimshuffle(arange(extents[k]), [0 if axis == k else "x" for axis in range(x.ndim)])
        position = position * extents[k] + along
    last = constant(np.iinfo(np.int64).max, dtype="int64")
    first = Extremum("min", op.axes)(switch(isnan(x), position, last))
    return Rewrite([or_(best, and_(isnan(x), eq(position, reexpand(first, op.axes, x.ndim))))])


def contract(view: NodeView) -> Splitting:
    """Rule of contractions: per row if the letter of the rows is kept, else a sum over rows."""
    view.plain()
    op: Any = view.node.op
    left, right, out = op.parts()
    letters = {(left, right)[k][view.axis_of(k)] for k in view.local()}
    if len(letters) != 1:
        raise NotSplittable(
            "it multiplies every row of one factor by every row of the other",
            "sum over the rows in one of the factors, or give the factors different dims and split over one",
        )
    letter = letters.pop()
    for k, axes in enumerate((left, right)):
        if not view.at[k].is_local and letter in axes:
            x = view.node.inputs[k]
            raise NotSplittable(
                f"{x}: {x.type} is not known to have the rows of dim {view.over}",
                f"name its dim {view.over} where it is made, if it has one element per row",
            )
    if letter in out:
        return view.rows(out.index(letter))
    dtype = view.node.outputs[0].dtype
    return pointwise("sum", lambda xs: op(*xs), dtype, wide_sum(dtype))


def trailing(view: NodeView) -> Rows:
    """Rule of ops on the last axes of the first input: a matrix per row."""
    view.plain()
    op: Any = view.node.op
    axis, x = view.axis_of(0) if view.at[0].is_local else -1, view.node.inputs[0]
    core = 1 if op.name in ("alloc_diagonal", "leading", "ranked") else 2
    if not 0 <= axis < x.ndim - core:
        raise NotSplittable(
            ALONG.get(op.name, "its matrix has the rows as one of its last two axes, and it needs the whole matrix")
        )
    return view.rows(axis)


def solve(view: NodeView) -> Splitting:
    """Rule of solves: a matrix per row, or one global matrix and a right-hand side per row."""
    view.plain()
    op: Any = view.node.op
    *matrices, b = view.node.inputs
    local = view.local()
    if local == [len(matrices)] and op.b_ndim == 2 and matrices[0].ndim == 2:
        if view.axis_of(local[0]) == (b.ndim - 1 if getattr(op, "is_left", True) else b.ndim - 2):
            return view.rows(view.axis_of(local[0]))
        raise NotSplittable("the rows are the unknowns of the system: solving needs all of them")
    axes = {view.axis_of(k) for k in local}
    if len(local) == len(view.at) and len(axes) == 1 and (axis := axes.pop()) < matrices[0].ndim - 2:
        return view.rows(axis)
    raise NotSplittable("its matrix has the rows as one of its last two axes, and solving needs all of them")


def per_matrix(view: NodeView) -> Rows:
    """Rule of ops on a matrix per row in every input."""
    view.plain()
    axes = {view.axis_of(k) for k in view.local()}
    if len(view.local()) == len(view.at) and len(axes) == 1 and (axis := axes.pop()) < view.node.inputs[0].ndim - 2:
        return view.rows(axis)
    raise NotSplittable("its matrix has the rows as one of its last two axes, and it needs the whole matrix")


def along_last(view: NodeView) -> Rows:
    """Rule of ops that move elements within the last axis."""
    view.plain()
    rank = view.node.outputs[0].ndim
    axis = aligned_axis(view, rank, range(len(view.at)))
    if axis == rank - 1:
        raise NotSplittable("it moves rows to other places among all rows")
    return view.rows(axis)
