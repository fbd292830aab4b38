"""Merge operations (monoids): the partials of a chunk, the merge of two neighbours, the result. Associative and stable.

sum, product, any, all      Σ x = Σ a + Σ b
max, min                    with nan as NumPy's
argmax, argmin              (value, position of its row)
log Σ exp                   (m, Σ exp(x − m)), shifted by the larger m
Σ (x − x̄)²                  (n, Σ x, M); Chan, Golub & LeVeque (1979)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from aotensor.core import dtypes
from aotensor.graph.variable import Variable, constant
from aotensor.ops.elementwise.arithmetic import add, maximum, minimum, mul
from aotensor.ops.elementwise.compare import and_, cast, eq, gt, invert, isnan, lt, or_, switch
from aotensor.ops.elementwise.elementary import exp, log
from aotensor.ops.reduce.deviations import SquaredDeviations
from aotensor.ops.reduce.extremum import ArgExtremum, Extremum
from aotensor.ops.reduce.sums import count
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import reexpand
from aotensor.splitting.places import Merge

Pair = Callable[[Variable, Variable], Variable]

COMBINE: Final[dict[str, Pair]] = {
    "sum": add, "product": mul, "max": maximum, "min": minimum, "any": or_, "all": and_,
}  # fmt: skip
"""Merge functions of two numbers."""


def pointwise(
    name: str, partial: Callable[[Sequence[Variable]], Variable], dtype: str, wide: str | None = None
) -> Merge:
    """Merge of one array per chunk, elementwise in the dtype `wide`; the result has `dtype`."""
    kind = wide or dtype
    combine = COMBINE[{"sum": "any", "product": "all"}.get(name, name) if kind == "bool" else name]
    return Merge(
        name,
        lambda xs, first: [cast(partial(xs), kind)],
        lambda a, b: [combine(a[0], b[0])],
        lambda merged, _: [cast(merged[0], dtype)],
    )


def extent(partial: Callable[[Sequence[Variable]], Variable], domain: str) -> Merge:
    """Merge of extents: the total number of rows, or without a domain an extent that is equal in all chunks."""
    merged = pointwise("sum" if domain else "max", partial, "int64")
    return replace(merged, name="count" if domain else "extent", count=domain, is_uniform=not domain)


def wide_sum(dtype: str) -> str:
    """The dtype in which sums of a dtype are merged."""
    return "float64" if dtype == "float32" else dtype


def arg_extremum(op: ArgExtremum) -> Merge:
    """Merge of argmax or argmin: the extremum (or first nan) of a chunk, and its row number among all rows."""
    better_of = gt if op.kind == "argmax" else lt

    def partials(xs: Sequence[Variable], first: Variable) -> list[Variable]:
        x = cast(xs[0], "int8") if xs[0].dtype == "bool" else xs[0]
        return [Extremum(op.kind.removeprefix("arg"), (op.axis,))(x), op(x) + first]

    def combine(a: Sequence[Variable], b: Sequence[Variable]) -> list[Variable]:
        better = better_of(b[0], a[0])
        if dtypes.is_float(a[0].dtype):
            better = and_(or_(better, isnan(b[0])), invert(isnan(a[0])))
        return [switch(better, y, x) for x, y in zip(a, b, strict=True)]

    return Merge(op.kind, partials, combine, lambda merged, _: [merged[1]])


def log_sum_exp(axes: tuple[int, ...]) -> Merge:
    """Merge of log Σ exp(x); elements equal to the maximum have weight 1, even if it is infinite."""

    def weight(x: Variable, m: Variable) -> Variable:
        return switch(eq(x, m), constant(1, dtype=x.dtype), exp(x - m))

    def partials(xs: Sequence[Variable], first: Variable) -> list[Variable]:
        x = xs[0]
        m = Extremum("max", axes)(x)
        return [m, sum_over(cast(weight(x, reexpand(m, axes, x.ndim)), "float64"), axis=axes)]

    def combine(a: Sequence[Variable], b: Sequence[Variable]) -> list[Variable]:
        m = maximum(a[0], b[0])
        terms = [s * cast(weight(own, m), "float64") for own, s in (a, b)]
        return [m, terms[0] + terms[1]]

    return Merge("logsumexp", partials, combine, lambda p, _: [p[0] + cast(log(p[1]), p[0].dtype)])


def squared_deviations(op: SquaredDeviations) -> Merge:
    """Merge of Σ (scale·(x − x̄))² in float64, from count, sum and squared deviations of each chunk."""
    axes = op.axes

    def partials(xs: Sequence[Variable], first: Variable) -> list[Variable]:
        x = cast(xs[0], "float64")
        return [count(x, axes, "float64"), sum_over(x, axis=axes), op(x)]

    def combine(a: Sequence[Variable], b: Sequence[Variable]) -> list[Variable]:
        number = a[0] + b[0]
        apart = (b[1] / b[0] - a[1] / a[0]) * op.scale
        between = switch(and_(gt(a[0], 0), gt(b[0], 0)), apart * apart * (a[0] * b[0] / number), 0.0)
        kept = [switch(gt(p[0], 0), p[2], 0.0) for p in (a, b)]
        return [number, a[1] + b[1], kept[0] + kept[1] + between]

    return Merge("variance", partials, combine, lambda p, _: [p[2]])
