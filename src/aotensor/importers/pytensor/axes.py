"""Ops along an axis that is computed at run time: a branch for each axis of the operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import aotensor.tensor as at
from aotensor.errors import AotensorError, GraphTypeError, GraphValueError
from aotensor.importers.base import Unsuited
from aotensor.importers.check import checked, printable
from aotensor.importers.pytensor.control import MESSAGES
from aotensor.importers.pytensor.rules import integer_of


def along_axis(node: Any, x: Any, axis: Any, function: Callable[[Any, int], Any]) -> Any:
    """Apply `function` to x and the number of an axis, which may be negative, and computed: then only one branch runs.

    An axis out of bounds is an error of calls, in PyTensor's mode NumPy's AxisError; so is one along which the extents
    do not fit, where `function` refuses it.

    Raises: NoCounterpart for a scalar with an axis that is computed; what `function` raises for all axes.
    """
    known = integer_of(axis)
    if known is not None:
        return function(x, known)
    if not x.ndim:
        raise Unsuited("a scalar has no axis")
    message = f"the axis is out of range: it must be from {-x.ndim} to {x.ndim - 1}"
    MESSAGES[message] = np.exceptions.AxisError
    inside = at.and_(at.ge(axis, -x.ndim), at.lt(axis, x.ndim))
    x = checked(message, x, inside)
    refused = _refused(x, function)
    for k, error in refused.items():
        if len(refused) == x.ndim:
            raise error
        x = checked(printable(error.diagnostic.title), x, at.invert(_is(axis, k, x.ndim)))
    last, *others = (k for k in reversed(range(x.ndim)) if k not in refused)
    found = function(x, last)
    for k in others:
        found = at.ifelse(_is(axis, k, x.ndim), function(x, k), found)
    return found


def _refused(x: Any, function: Callable[[Any, int], Any]) -> dict[int, AotensorError]:
    """The axes along which the types do not allow the function, and why."""
    refused: dict[int, AotensorError] = {}
    for k in range(x.ndim):
        try:
            function(x, k)
        except (GraphTypeError, GraphValueError) as error:
            refused[k] = error
    return refused


def _is(axis: Any, k: int, rank: int) -> Any:
    return at.or_(at.eq(axis, k), at.eq(axis, k - rank))
