"""Operations with a region that combines or compares elements: reductions, windows, scatters, sorting."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from aotensor.importers.base import Unsuited
from aotensor.importers.stablehlo.regions import Forest, extreme_position, merged, sort_keys
from aotensor.importers.stablehlo.structure import Operation, Region, Value
from aotensor.importers.stablehlo.table import (
    Equation,
    Literal,
    Step,
    aval_of,
    axes,
    axis_of,
    is_bool,
    number,
    operands,
    pairs,
    sizes,
)
from aotensor.importers.stablehlo.translate import Translator, writes
from aotensor.importers.stablehlo.windows import gather, is_neutral, reduce_window, scatter, window_params

_SCATTERED: Final = (
    "one operand, by a sum, difference, product, maximum, minimum, or the update itself; windows outside of the array "
    "are dropped"
)
_WINDOWS: Final = "windows of up to 4096 elements; by a function of your own in C order"
_SUMS: Final = "by a function of your own in C order, one row after the other"
_COMBINED: Final = {
    "add": "add", "multiply": "mul", "maximum": "max", "minimum": "min", "and": "and", "or": "or", "xor": "xor",
}  # fmt: skip
_LOGICAL: Final = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}


def _kind(name: str, x: Value) -> str:
    """The name of an operation on elements of this dtype: arithmetic on bools is logic."""
    return _LOGICAL.get(name, name) if is_bool(x) else name


@writes("gather", "dynamic_gather", note="windows outside of the array are moved inside")
def _gather(to: Translator, found: Operation, equations: list[Equation]) -> None:
    before, step = gather(found)
    equations += before
    to.emit(step, found, equations)


@writes("scatter", note=_SCATTERED)
def _scatter(to: Translator, found: Operation, equations: list[Equation]) -> None:
    before, step = scatter(found)
    equations += before
    to.emit(step, found, equations)


@writes("reduce_window", note=_WINDOWS)
def _reduce_window(to: Translator, found: Operation, equations: list[Equation]) -> None:
    known = reduce_window(found, to.bodies)
    if known is None or (known[0] == "logaddexp" and not is_neutral("maximum", _scalar(to, found.operands[1]))):
        _by_own_function(to, found, equations, "reduce_window", window_params(found))
        return
    (name, step), start = known, found.operands[1]
    if not name or name == "logaddexp" or is_neutral(name, _scalar(to, start)):
        to.emit(step, found, equations)
        return
    (windows,) = to.emit(step, found, equations, [Value(found.results[0].aval)])
    _combine(to, found, equations, name, windows, start, found.results[0])


def _scalar(to: Translator, x: Value) -> Value:
    """A value without broadcasts to its own shape, which JAX writes for scalars."""
    made = to.made.get(id(x))
    while made is not None and made.primitive.name == "broadcast_in_dim" and made.invars[0].aval.ndim == 0:
        x = made.invars[0]
        made = to.made.get(id(x))
    return x


def _combine(
    to: Translator, found: Operation, equations: list[Equation], name: str, x: Value, start: Value, result: Value
) -> None:
    """Combine x and a scalar."""
    to.emit(Step(_COMBINED[name], [start, x]), found, equations, [result])


@writes("reduce", note=_SUMS)
def _reduce(to: Translator, found: Operation, equations: list[Equation]) -> None:
    count = len(found.results)
    if count == 0 or len(found.operands) != 2 * count or len(found.regions) != 1:
        raise Unsuited(
            f"it has {len(found.operands)} operands, {count} results and {len(found.regions)} regions, not two "
            "operands "
            "for each result and 1 region"
        )
    xs, starts, region = found.operands[:count], found.operands[count:], found.regions[0]
    over = tuple(axes(found, "dimensions", rank=xs[0].aval.ndim))
    kept = [n for d, n in enumerate(xs[0].aval.shape) if d not in over]
    for x, start, result in zip(xs, starts, found.results, strict=True):
        is_like = x.aval.ndim == xs[0].aval.ndim and start.aval == aval_of((), x.aval.dtype)
        if not is_like or result.aval != aval_of(kept if x is xs[0] else result.aval.shape, x.aval.dtype):
            raise Unsuited(
                f"its operand {x.aval}, its initial value {start.aval} and its result {result.aval} do not match"
            )
    names = [_kind(name, x) for name, x in zip(merged(region) or (), xs, strict=False)]
    if not names and (name := _is_extreme(to, found, over, region)):
        _extreme(to, found, equations, over, name)
        return
    is_logic = any(name in ("and", "or", "xor") and not is_bool(x) for name, x in zip(names, xs, strict=False))
    if is_logic or not names or not set(names) <= set(_COMBINED):
        _by_own_function(to, found, equations, "reduce", {"dimensions": over})
        return
    for x, start, result, name in zip(xs, starts, found.results, names, strict=True):
        _reduced(to, found, equations, (name, over), x, start, result)


_REDUCED: Final = {
    "add": "reduce_sum", "multiply": "reduce_prod", "maximum": "reduce_max", "minimum": "reduce_min",
    "and": "reduce_and", "or": "reduce_or", "xor": "reduce_xor",
}  # fmt: skip


def _reduced(
    to: Translator, found: Operation, equations: list[Equation], how: tuple[str, tuple[int, ...]], x: Value,
    start: Value, result: Value,
) -> None:  # fmt: skip
    name, over = how
    step = Step(_REDUCED[name], [x], {"axes": over, "out_sharding": None})
    if is_neutral(name, _scalar(to, start)):
        to.emit(step, found, equations, [result])
        return
    (inner,) = to.emit(step, found, equations, [Value(result.aval)])
    _combine(to, found, equations, name, inner, start, result)


def _by_own_function(
    to: Translator, found: Operation, equations: list[Equation], primitive: str, params: dict[str, Any]
) -> None:
    """Reduce by the program of a region.   Raises: Unsuited if it does not accept scalars of these dtypes"""
    count = len(found.results)
    if len(found.regions) != 1 or len({x.aval.shape for x in found.operands[:count]}) != 1:
        raise Unsuited(f"it has {len(found.regions)} regions instead of 1, or the shapes of its operands differ")
    (region,) = found.regions
    numbers = [aval_of((), x.aval.dtype) for x in found.operands[:count]]
    given = [[x.aval for x in row] for row in (found.operands[count:], region.arguments, region.results)]
    if given != [numbers, [*numbers, *numbers], numbers]:
        raise Unsuited("the types of its region do not match the dtypes of its operands and initial values")
    program, outer = to.region(region)
    to.emit(Step(primitive, [*found.operands, *outer], {**params, "jaxpr": program}), found, equations)


def _is_extreme(to: Translator, found: Operation, over: tuple[int, ...], region: Region) -> str:
    """ "argmax" or "argmin" if the operation computes extreme elements along an axis and their positions; else ""."""
    forest = Forest(to.bodies)
    try:
        name = extreme_position(forest, forest.trees_of(region, to.constants()))
    except Unsuited:
        return ""
    if not name or len(over) != 1:
        return ""
    x, positions, *starts = found.operands
    made = to.made.get(id(positions))
    while made is not None and made.primitive.name == "broadcast_in_dim":
        line = made.params["broadcast_dimensions"]
        if len(line) != 1 or line[0] != over[0]:
            break
        made = to.made.get(id(made.invars[0]))
        if made is not None and made.primitive.name == "iota" and len(made.params["shape"]) == 1:
            made = replaced_axis(made, over[0])
    is_line = made is not None and made.primitive.name == "iota" and made.params["dimension"] == over[0]
    monoid = "maximum" if name == "argmax" else "minimum"
    first, second = (_scalar(to, start) for start in starts)
    is_first = isinstance(second, Literal) and bool(np.all(second.val == 0))
    is_whole = is_line and is_first and is_neutral(monoid, first) and x.aval.shape[over[0]] != 0
    return name if is_whole else ""


def _extreme(to: Translator, found: Operation, equations: list[Equation], over: tuple[int, ...], name: str) -> None:
    """The largest or smallest elements along an axis and their first positions."""
    x, monoid = found.operands[0], "maximum" if name == "argmax" else "minimum"
    largest, place = found.results
    to.emit(Step(name, [x], {"axes": over, "index_dtype": place.aval.dtype}), found, equations, [place])
    to.emit(Step(_REDUCED[monoid], [x], {"axes": over, "out_sharding": None}), found, equations, [largest])


def replaced_axis(made: Equation, axis: int) -> Equation:
    """Rewrite a vector that is broadcast along an axis as a vector along that axis."""
    return Equation(made.primitive, {**made.params, "dimension": axis}, made.invars, made.outvars)


@writes("sort", note="of several operands by several keys, all upwards or all downwards; nan last, or first")
def _sort(to: Translator, found: Operation, equations: list[Equation]) -> None:
    count = len(found.operands)
    if count == 0 or len(found.results) != count or len(found.regions) != 1:
        raise Unsuited(
            f"it has {count} operands, {len(found.results)} results and {len(found.regions)} regions, not one result "
            "for "
            "each operand and 1 region"
        )
    if any(x.aval != y.aval for x, y in zip(found.operands, found.results, strict=True)):
        raise Unsuited("the types of its results differ from the types of its operands")
    if any(x.aval.shape != found.operands[0].aval.shape for x in found.operands):
        raise Unsuited("the shapes of its operands differ")
    axis = axis_of(found, "dimension", rank=found.operands[0].aval.ndim)
    forest = Forest(to.bodies)
    results = forest.trees_of(found.regions[0], to.constants())
    if len(results) != 1 or len(found.regions[0].arguments) != 2 * count:
        raise Unsuited("its comparator does not have two arguments for each operand and one result")
    keys, is_down = sort_keys(results[0])
    order = [*dict.fromkeys(keys), *(k for k in range(count) if k not in keys)]
    xs = [found.operands[k] for k in order]
    if is_down:
        xs = [_reversed(to, found, equations, x, axis) for x in xs]
    outs = [found.results[k] for k in order]
    params = {"dimension": axis, "num_keys": len(dict.fromkeys(keys)), "is_stable": True}
    inner = [Value(x.aval) for x in outs] if is_down else outs
    to.emit(Step("sort", xs, params), found, equations, inner)
    if is_down:
        for x, out in zip(inner, outs, strict=True):
            to.emit(Step("rev", [x], {"dimensions": [axis]}), found, equations, [out])


def _reversed(to: Translator, found: Operation, equations: list[Equation], x: Value, axis: int) -> Value:
    return to.emit(Step("rev", [x], {"dimensions": [axis]}), found, equations, [Value(x.aval)])[0]


@writes("select_and_scatter", note="by a sum; of equal elements of a window the first, or by `GT` and `LT` the last")
def _select_and_scatter(to: Translator, found: Operation, equations: list[Equation]) -> None:
    """The gradient of pooling."""
    x, source, start = operands(found, 3)
    rank, (select, sums) = x.aval.ndim, found.regions if len(found.regions) == 2 else (None, None)
    if select is None or sums is None or merged(sums) != ["add"] or is_bool(x):
        raise Unsuited("its second region is not a sum, or its operands are bool")
    if source.aval.ndim != rank or not x.aval.dtype == source.aval.dtype == start.aval.dtype or start.aval.ndim:
        raise Unsuited(
            f"its operand {x.aval}, its source {source.aval} and its initial value {start.aval} do not match"
        )
    forest = Forest(to.bodies)
    (test,) = found_ if len(found_ := forest.trees_of(select, to.constants())) == 1 else (None,)
    pair = tuple(forest.tree("argument", argument=k) for k in range(2))
    if test is None or test.parts != pair or test.name not in ("GE", "GT", "LE", "LT"):
        raise Unsuited("its first region does not compare two elements by GE, GT, LE or LT")
    params = {
        "select_prim": test.name.lower(),
        "window_dimensions": sizes(found, "window_dimensions", count=rank),
        "window_strides": sizes(found, "window_strides", count=rank),
        "padding": pairs(found, "padding", count=rank),
    }
    step = Step("select_and_scatter_add", [source, x], params)
    if is_neutral("add", _scalar(to, start)):
        to.emit(step, found, equations)
        return
    (scattered,) = to.emit(step, found, equations, [Value(found.results[0].aval)])
    _combine(to, found, equations, "add", scattered, start, found.results[0])


@writes("top_k", dialect="chlo", note="nan first, of equal ones the earlier first")
def _top_k(to: Translator, found: Operation, equations: list[Equation]) -> None:
    (x,) = operands(found, 1, 2)
    count = number(found, "k")
    if not x.aval.ndim or x.aval.shape[-1] is None or not 0 <= count <= x.aval.shape[-1]:
        raise Unsuited(f"its k is {count}, which is not between 0 and the known last extent of {x.aval}")
    to.emit(Step("top_k", [x], {"k": count, "axis": x.aval.ndim - 1}), found, equations)
