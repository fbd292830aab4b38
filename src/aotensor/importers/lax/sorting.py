"""sort, of several operands by several keys; top_k."""

from __future__ import annotations

import numpy as np

import aotensor.tensor as at
from aotensor.extension import dtypes
from aotensor.importers.lax.bits import in_order
from aotensor.importers.lax.shapes import extent
from aotensor.importers.lax.table import Context, Equation, rule


@rule("sort", note="nan last")
def _sort(context: Context, equation: Equation, *xs: at.Variable) -> list[at.Variable]:
    axis, keys = int(equation.params["dimension"]), int(equation.params["num_keys"])
    if len(xs) == 1:
        return [_as_numbers(at.sort, xs[0], axis)]
    order = _as_numbers(at.argsort, xs[keys - 1], axis)
    for key in reversed(xs[: keys - 1]):
        again = _as_numbers(at.argsort, at.take_along_axis(key, order, axis), axis)
        order = at.take_along_axis(order, again, axis)
    return [at.take_along_axis(x, order, axis) for x in xs]


def _as_numbers(function: object, x: at.Variable, axis: int) -> at.Variable:
    """Apply sort or argsort; bool elements are sorted as integers."""
    assert callable(function)
    found: at.Variable = function(at.cast(x, "int8") if x.dtype == "bool" else x, axis=axis)
    return found


@rule("top_k", note="in the total order, in which nan is first, −nan last; of equal ones the earlier first")
def _top_k(context: Context, equation: Equation, x: at.Variable) -> list[at.Variable]:
    axis = int(equation.params.get("axis", x.ndim - 1)) % x.ndim
    count = context.extent(equation.params["k"])
    wide = at.cast(x, "float32") if dtypes.itemsize(x.dtype) < 4 and dtypes.is_float(x.dtype) else x
    upwards = at.argsort(at.flip(in_order(wide), axis), axis=axis)
    order = at.flip(extent(x, axis) - 1 - upwards, axis)
    first = order[(*[slice(None)] * axis, slice(0, count))]
    return [at.take_along_axis(x, first, axis), at.cast(first, str(np.dtype(equation.outvars[1].aval.dtype)))]
