"""Reductions over axes, positions of extremes, cumulative sums and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import aotensor.tensor as at
from aotensor.extension import Length, finished, max_or_limit, min_or_limit
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.elementwise import is_float, scalar, widened
from aotensor.importers.onnx.rules.table import RULES, Rule, rule


def _reduction(compute: Callable[[Any, tuple[int, ...] | None, bool], Any], single: Callable[[Any], Any]) -> Rule:
    """The rule of a reduction. single: the function of one element, for reductions over no axis"""

    def reduced(node: Node, x: Any, axes: Any = None) -> Any:
        dtype, x = x.type.dtype, widened(x)
        chosen = node.axes()
        if not chosen and node["noop_with_empty_axes"]:
            return at.cast(single(x), dtype)
        rank = x.type.ndim
        wanted = tuple(sorted({node.checked_axis(i, rank) for i in chosen})) if chosen else tuple(range(rank))
        if not wanted:
            return at.cast(single(x), dtype)
        return at.cast(compute(x, wanted, bool(node["keepdims"])), dtype)

    return reduced


def _sum(x: Any, axes: Any, keepdims: bool) -> Any:
    return at.sum(x, axis=axes, dtype=x.type.dtype, keepdims=keepdims)


def _mean(x: Any, axes: Any, keepdims: bool) -> Any:
    return at.mean(x, axis=axes, keepdims=keepdims)


def _product(x: Any, axes: Any, keepdims: bool) -> Any:
    return at.prod(x, axis=axes, dtype=x.type.dtype, keepdims=keepdims)


def _float(x: Any) -> Any:
    return x if is_float(x) else at.cast(x, "float64")


def _norm(x: Any, axes: Any, keepdims: bool) -> Any:
    """The 2-norm over any axes; its gradient at 0 is 0."""
    x = _float(x)
    return at.cast(finished(Length(axes)(x), axes, x, keepdims), x.type.dtype)


def _extreme(compute: Callable[..., Any], is_max: bool) -> Callable[[Any, tuple[int, ...] | None, bool], Any]:
    """The largest or smallest element; of no elements, the least or largest value of the dtype."""

    def extreme(x: Any, axes: Any, keepdims: bool) -> Any:
        if x.type.dtype == "bool":
            return (at.any if is_max else at.all)(x, axis=axes, keepdims=keepdims)
        return compute(x, axis=axes, keepdims=keepdims)

    return extreme


_ROWS: Final[dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]]] = {
    "ReduceSum": (_sum, lambda x: x),
    "ReduceMean": (_mean, lambda x: x),
    "ReduceProd": (_product, lambda x: x),
    "ReduceMax": (_extreme(max_or_limit, is_max=True), lambda x: x),
    "ReduceMin": (_extreme(min_or_limit, is_max=False), lambda x: x),
    "ReduceL1": (lambda x, axes, keepdims: _sum(at.abs(x), axes, keepdims), at.abs),
    "ReduceL2": (_norm, at.abs),
    "ReduceSumSquare": (lambda x, axes, keepdims: _sum(at.sqr(x), axes, keepdims), at.sqr),
    "ReduceLogSum": (lambda x, axes, keepdims: at.log(_sum(_float(x), axes, keepdims)), lambda x: at.log(_float(x))),
    "ReduceLogSumExp": (lambda x, axes, keepdims: at.logsumexp(_float(x), axis=axes, keepdims=keepdims), lambda x: x),
}
RULES.update({("", name): _reduction(*functions) for name, functions in _ROWS.items()})


@rule("ArgMax", "ArgMin")
def arg_extreme(node: Node, x: Any) -> Any:
    """The position of the first extreme along an axis, or of the last"""
    axis = node.axis(x.type.ndim)
    find = at.argmax if node.op == "ArgMax" else at.argmin
    if not node["select_last_index"]:
        return find(x, axis=axis, keepdims=bool(node["keepdims"]))
    last = at.as_tensor(node.extent(x, axis)) - 1
    return at.cast(last - find(at.flip(x, axis), axis=axis, keepdims=bool(node["keepdims"])), "int64")


@rule("TopK")
def top_k(node: Node, x: Any, k: Any) -> Any:
    """The k largest or smallest elements along an axis and their positions, sorted; the first of equal ones"""
    axis = node.axis(x.type.ndim)
    count = node.entries(1)[0]
    if node["largest"]:
        last = at.as_tensor(node.extent(x, axis)) - 1
        order = last - at.flip(at.argsort(at.flip(x, axis), axis=axis), axis)
    else:
        order = at.argsort(x, axis=axis)
    kept = order[(slice(None),) * axis + (slice(0, count),)]
    return [at.take_along_axis(x, kept, axis=axis), at.cast(kept, "int64")]


@rule("CumSum", "CumProd")
def running(node: Node, x: Any, axis: Any) -> Any:
    """Cumulative sums or products along an axis, inclusive or exclusive, from either end"""
    where = node.checked_axis((node.ints(1) or [0])[0], x.type.ndim)
    total = at.cumsum if node.op == "CumSum" else at.cumprod
    y = at.flip(x, where) if node["reverse"] else x
    if node["exclusive"]:
        before = (slice(None),) * where
        first = at.full_like(y[(*before, slice(0, 1))], scalar(0 if node.op == "CumSum" else 1, x))
        y = at.concatenate([first, y[(*before, slice(0, -1))]], axis=where)
    y = total(y, axis=where, dtype=x.type.dtype)
    return at.flip(y, where) if node["reverse"] else y
