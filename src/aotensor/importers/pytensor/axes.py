"""Ops along an axis that is computed: a branch over the axes that the rank has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import aotensor.tensor as at
from aotensor.importers.check import checked
from aotensor.importers.pytensor.control import MESSAGES
from aotensor.importers.pytensor.rules import integer_of, unsupported


def along_axis(node: Any, x: Any, axis: Any, function: Callable[[Any, int], Any]) -> Any:
    """`function` of x and the number of an axis, which may be negative and computed: then only one branch runs.

    An axis out of bounds is an error of calls, in PyTensor's mode NumPy's AxisError.

    Raises: NoCounterpart for a scalar with an axis that is computed.
    """
    known = integer_of(axis)
    if known is not None:
        return function(x, known)
    if not x.ndim:
        raise unsupported(node, "a scalar has no axis")
    message = f"the axis is not among those from {-x.ndim} to {x.ndim - 1}"
    MESSAGES[message] = np.exceptions.AxisError
    inside = at.and_(at.ge(axis, -x.ndim), at.lt(axis, x.ndim))
    x = checked(message, x, inside)
    found = function(x, x.ndim - 1)
    for k in reversed(range(x.ndim - 1)):
        found = at.ifelse(at.or_(at.eq(axis, k), at.eq(axis, k - x.ndim)), function(x, k), found)
    return found
