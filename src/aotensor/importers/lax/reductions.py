"""Sums, products, extrema and their positions; cumulative sums, products and extrema along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.extension import dtypes, max_or_limit, min_or_limit
from aotensor.importers.lax.table import Context, Convert, Equation, enter


def _axes(equation: Equation) -> tuple[int, ...]:
    return tuple(int(axis) for axis in equation.params["axes"])


def _reduced(function: Callable[..., at.Variable]) -> Convert:
    def convert(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
        axes = _axes(equation)
        return function(x, axis=axes) if axes else x

    return convert


def _sum(x: at.Variable, axis: tuple[int, ...]) -> at.Variable:
    return at.any(x, axis=axis) if x.dtype == "bool" else at.sum(x, axis=axis)


def _parity(x: at.Variable, axis: tuple[int, ...]) -> at.Variable:
    return at.neq(at.mod(at.sum(at.cast(x, "int64"), axis=axis), 2), 0)


enter("reduce_sum", _reduced(_sum))
enter("reduce_prod", _reduced(at.prod))


def _is_integer(equation: Equation) -> str:
    return "" if equation.invars[0].aval.dtype == bool else "of integers"


enter("reduce_and", _reduced(at.all), check=_is_integer, note="of bool")
enter("reduce_or", _reduced(at.any), check=_is_integer, note="of bool")
enter("reduce_xor", _reduced(_parity), check=_is_integer, note="of bool")


def extremum(function: Callable[..., at.Variable], is_upper: bool) -> Convert:
    """The maximum or minimum along axes; of no elements, the least or the largest value of the dtype."""

    def convert(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
        axes = _axes(equation)
        if not axes:
            return x
        if x.dtype == "bool":
            return at.any(x, axis=axes) if is_upper else at.all(x, axis=axes)
        return function(x, axis=axes)

    return convert


def bound(dtype: str, is_upper: bool) -> Any:
    """The largest or the least value of a dtype."""
    if dtype == "bool":
        return is_upper
    if dtypes.is_float(dtype):
        return np.inf if is_upper else -np.inf
    return np.iinfo(dtype).max if is_upper else np.iinfo(dtype).min


enter("reduce_max", extremum(max_or_limit, is_upper=True))
enter("reduce_min", extremum(min_or_limit, is_upper=False))


def _position(function: Callable[..., at.Variable]) -> Convert:
    def convert(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
        (axis,) = _axes(equation)
        return function(at.cast(x, "int8") if x.dtype == "bool" else x, axis=axis)

    return convert


enter("argmax", _position(at.argmax))
enter("argmin", _position(at.argmin))


def _running(function: Callable[[at.Variable, int], at.Variable]) -> Convert:
    def convert(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
        axis = int(equation.params["axis"])
        if not equation.params["reverse"]:
            return function(x, axis)
        return at.flip(function(at.flip(x, axis), axis), axis)

    return convert


def _running_values(step: Callable[..., at.Variable]) -> Callable[[at.Variable, int], at.Variable]:
    """A rule for cumulative values of an operation, computed row by row."""

    def run(x: at.Variable, axis: int) -> at.Variable:
        rows = at.moveaxis(x, axis, 0)
        if x.static_shape[axis] == 0:
            return x
        later = aot.scan(lambda row, last: step(last, row), [rows[1:]], [rows[0]], return_updates=False)
        return at.moveaxis(at.concatenate([rows[:1], later], axis=0), 0, axis)

    return run


_SYMBOLIC = "a loop; an axis of symbolic extent that is empty in a call is an error there"
enter("cumsum", _running(lambda x, axis: at.cumsum(x, axis=axis)))
enter("cumprod", _running(lambda x, axis: at.cumprod(x, axis=axis)))
enter("cummax", _running(_running_values(at.maximum)), note=_SYMBOLIC)
enter("cummin", _running(_running_values(at.minimum)), note=_SYMBOLIC)
enter("cumlogsumexp", _running(_running_values(at.logaddexp)), note=_SYMBOLIC)
