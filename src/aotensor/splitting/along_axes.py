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
from aotensor.splitting.aligned import aligned_axis
from aotensor.splitting.merges import arg_extremum, log_sum_exp, pointwise, squared_deviations, wide_sum
from aotensor.splitting.places import Crossing, Rewrite, Rows, Seen, Verdict


def axes_of(op: Any) -> tuple[int, ...]:
    """The axes along which an op works."""
    return (op.axis,) if hasattr(op, "axis") else tuple(op.axes)


def reduction(seen: Seen) -> Verdict:
    """Sums, products, extrema, any and all: within rows, or over them."""
    seen.plain()
    op: Any = seen.node.op
    axis, axes = seen.axis_of(0), axes_of(op)
    if axis not in axes:
        return seen.rows(axis - sum(k < axis for k in axes))
    (out,) = seen.node.outputs
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
            if seen.domain() != seen.over:
                raise Crossing("the position of an element is counted along rows only")
            return arg_extremum(op)
        case _:  # max, min, any, all
            return pointwise(op.name, lambda xs: op(xs[0]), out.dtype)


ALONG: Final = {
    "sort": "each row may go anywhere among all of them",
    "permute": "rows are permuted among all of them",
    "cumsum": "each row needs all rows before it",
    "cumprod": "each row needs all rows before it",
    "shift": "each row needs the one before it",
    "linear_recurrence": "each row needs the one before it",
    "join": "rows are put behind other ones",
    "leading": "the rank of a row depends on all of them",
    "ranked": "the rank of a row depends on all of them",
    "split": "rows are parted at a position",
}
"""The reason why ops along the axis of rows cannot be split."""


def along(seen: Seen) -> Verdict:
    """Ops that work along axes and keep them (cumulate, sort, ...)."""
    seen.plain()
    op: Any = seen.node.op
    local = seen.local()
    axes = {seen.axis_of(k) for k in local}
    if len(axes) != 1:
        raise Crossing("rows of one input meet another axis of the other")
    axis = axes.pop()
    if axis in axes_of(op):
        raise Crossing(ALONG.get(op.name, "it runs along the rows"))
    for k, x in enumerate(seen.node.inputs):
        if k not in local and x.ndim > axis and op.name != "split":
            raise Crossing(f"{x}: {x.type} is not known to have the rows of dim {seen.over}")
    return seen.rows(axis, steering=frozenset(seen.counts() if op.name == "split" else ()))


def normalised(seen: Seen) -> Verdict:
    """softmax, log_softmax: over rows, a maximum, then a sum, then a quotient."""
    op: Any = seen.node.op
    if seen.axis_of(0) not in op.axes:
        return along(seen)
    (x,) = seen.node.inputs

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


def extremum_mask(seen: Seen) -> Verdict:
    """The mask of the extremum: equal elements, or the first nan, whose position is the smallest."""
    op: Any = seen.node.op
    x, y = seen.node.inputs
    if not seen.at[0].is_local:
        raise Crossing("the extremum of a global value is compared with rows")
    axis = seen.axis_of(0)
    if axis not in op.axes:
        return seen.rows(axis)
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


def contract(seen: Seen) -> Verdict:
    """Σ x·y over letters: rows if the letter of the rows is kept, a sum over rows otherwise."""
    seen.plain()
    op: Any = seen.node.op
    left, right, out = op.parts()
    letters = {(left, right)[k][seen.axis_of(k)] for k in seen.local()}
    if len(letters) != 1:
        raise Crossing("every row meets every row", "all rows of one factor are needed for each row of the other")
    letter = letters.pop()
    for k, axes in enumerate((left, right)):
        if not seen.at[k].is_local and letter in axes:
            x = seen.node.inputs[k]
            raise Crossing(
                f"{x}: {x.type} is not known to have the rows of dim {seen.over}",
                f"name its dim {seen.over} where it is made, if it has one element per row",
            )
    if letter in out:
        return seen.rows(out.index(letter))
    dtype = seen.node.outputs[0].dtype
    return pointwise("sum", lambda xs: op(*xs), dtype, wide_sum(dtype))


def trailing(seen: Seen) -> Rows:
    """Ops with a matrix per row, in the last axes of the first input."""
    seen.plain()
    op: Any = seen.node.op
    axis, x = seen.axis_of(0) if seen.at[0].is_local else -1, seen.node.inputs[0]
    core = 1 if op.name in ("alloc_diagonal", "leading", "ranked") else 2
    if not 0 <= axis < x.ndim - core:
        raise Crossing(ALONG.get(op.name, "it factors, or takes apart, a matrix that has all rows"))
    return seen.rows(axis)


def solve(seen: Seen) -> Verdict:
    """Solves with a matrix per row; or with one matrix, and a right-hand side per row."""
    seen.plain()
    op: Any = seen.node.op
    *matrices, b = seen.node.inputs
    local = seen.local()
    if local == [len(matrices)] and op.b_ndim == 2 and matrices[0].ndim == 2:
        if seen.axis_of(local[0]) == (b.ndim - 1 if getattr(op, "is_left", True) else b.ndim - 2):
            return seen.rows(seen.axis_of(local[0]))
        raise Crossing("it solves with all rows at once")
    axes = {seen.axis_of(k) for k in local}
    if len(local) == len(seen.at) and len(axes) == 1 and (axis := axes.pop()) < matrices[0].ndim - 2:
        return seen.rows(axis)
    raise Crossing("it solves with a matrix that has all rows")


def per_matrix(seen: Seen) -> Rows:
    """Ops with a matrix per row in every input."""
    seen.plain()
    axes = {seen.axis_of(k) for k in seen.local()}
    if len(seen.local()) == len(seen.at) and len(axes) == 1 and (axis := axes.pop()) < seen.node.inputs[0].ndim - 2:
        return seen.rows(axis)
    raise Crossing("it needs a matrix that has all rows")


def along_last(seen: Seen) -> Rows:
    """Ops that move elements within the last axis."""
    seen.plain()
    rank = seen.node.outputs[0].ndim
    axis = aligned_axis(seen, rank, range(len(seen.at)))
    if axis == rank - 1:
        raise Crossing("rows are permuted among all of them")
    return seen.rows(axis)
