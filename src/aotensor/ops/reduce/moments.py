"""Variance and standard deviation."""

from __future__ import annotations

import math
from typing import Any

from aotensor.core import dtypes
from aotensor.core.types import normalise_axes
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.elementwise.compare import cast, gt, switch
from aotensor.ops.elementwise.elementary import sqrt
from aotensor.ops.elementwise.points import hypot
from aotensor.ops.reduce.deviations import SquaredDeviations
from aotensor.ops.reduce.lengths import Length
from aotensor.ops.reduce.sums import Axes, count, finished


@public(numpy="var", method="var")
@coerced
def var(x: Any, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Variable:
    """Σ |x − mean x|² / (n − ddof) over axes: float64 for discrete x; nan if n ≤ ddof.   Computed in float64.

    Raises: GraphValueError for an axis out of range or named twice.
    """
    x = as_tensor(x)
    if dtypes.is_complex(x.dtype):
        return var(x.real, axis, ddof, keepdims) + var(x.imag, axis, ddof, keepdims)
    axes = normalise_axes(axis, x.ndim)
    x = cast(x, dtypes.mean_of(x.dtype))
    found = cast(SquaredDeviations(axes)(x) / _freedom(x, axes, ddof), x.dtype)
    return finished(found, axes, x, keepdims)


@public(numpy="std", method="std")
@coerced
def std(x: Any, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Variable:
    """√var over axes, with derivative 0 where all elements are equal; finite also where the variance is not.

    Raises: as var.
    """
    x = as_tensor(x)
    if dtypes.is_complex(x.dtype):
        return hypot(std(x.real, axis, ddof, keepdims), std(x.imag, axis, ddof, keepdims))
    axes = normalise_axes(axis, x.ndim)
    x = cast(x, dtypes.mean_of(x.dtype))
    found = Length(axes, is_centred=True)(x) / sqrt(_freedom(x, axes, ddof))
    return finished(cast(found, x.dtype), axes, x, keepdims)


def _freedom(x: Variable, axes: tuple[int, ...], ddof: int) -> Variable:
    """n − ddof for the number n of reduced elements; nan if that is not positive."""
    freedom = count(x, axes, "float64") - constant(ddof, dtype="float64")
    return switch(gt(freedom, 0), freedom, constant(math.nan, dtype="float64"))
