"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aotensor.core import dtypes
from aotensor.core.types import normalise_axes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.elementwise.arithmetic import abs as absolute
from aotensor.ops.elementwise.compare import cast, eq, neq, switch
from aotensor.ops.index import subtensor
from aotensor.ops.linalg.svd import singular_values
from aotensor.ops.random.parameter import nonempty
from aotensor.ops.reduce.extremum import max as max_over
from aotensor.ops.reduce.extremum import min as min_over
from aotensor.ops.reduce.lengths import Length
from aotensor.ops.reduce.sums import Axes, finished
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import transpose


@public(numpy="linalg.norm", method="norm")
@coerced
def norm(x: Any, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Variable:
    """np.linalg.norm: of vectors for one axis, of matrices for two, of all elements where axis and ord are None.

    ord of vectors: None, 2, 1, inf, −inf, 0 or another number p for (Σ |x|ᵖ)^(1/p).
    ord of matrices: None, "fro", 1, −1, inf, −inf (largest or smallest sum of a column or row), 2, −2, "nuc" (largest,
    smallest, sum of the singular values).
    Derivative 0 at 0, and where singular values are 0; all maximal sums get the full derivative, of the
    singular values the first one only. Discrete x counts as float64.

    Raises: GraphValueError for an ord or axis that does not fit.
    """
    x = as_tensor(x)
    x = cast(x, dtypes.mean_of(x.dtype))
    if dtypes.is_complex(x.dtype):
        is_matrix = x.ndim == 2 if axis is None else not isinstance(axis, int | np.integer)
        x = x if is_matrix and ord in (2, -2, "nuc") else absolute(x)
    if ord is not None and not isinstance(ord, str | int | float | np.number):
        raise GraphTypeError(f"norm: ord must be a number, a str or None, not {ord!r:.60}")
    axes = normalise_axes(axis, x.ndim)
    if axis is not None and not isinstance(axis, int | np.integer):
        axes = tuple(int(one) % x.ndim for one in axis)
    if ord is None or (len(axes) == 2 and ord == "fro") or (len(axes) == 1 and ord == 2):
        return finished(cast(Length(axes)(x), x.dtype), axes, x, keepdims)
    if len(axes) == 1:
        return finished(_vector_norm(x, ord, axes[0]), axes, x, keepdims)
    if len(axes) == 2:
        return finished(_matrix_norm(x, ord, axes), axes, x, keepdims)
    raise GraphValueError(f"norm: ord {ord!r} needs one axis or two, not {len(axes)}", lines=[x.describe()])


def _vector_norm(x: Variable, ord: Any, axis: int) -> Variable:
    if isinstance(ord, str):
        raise GraphValueError(f"norm: ord {ord!r} is not defined for a vector")
    size = absolute(x)
    if ord == math.inf:
        return max_over(size, axis=axis)
    if ord == -math.inf:
        return min_over(size, axis=axis)
    if ord == 0:
        return sum_over(cast(neq(x, 0), x.dtype), axis=axis)
    if ord == 1:
        return sum_over(size, axis=axis)
    return _power_mean(size, float(ord), axis)


def _power_mean(size: Variable, p: float, axis: int) -> Variable:
    """(Σ sizeᵖ)^(1/p). The derivative is 0 where an element or the sum is 0 (for p < 0: infinite)."""
    dtype, size = size.dtype, cast(size, dtypes.compute_of(size.dtype))
    is_zero = eq(size, 0)
    powers = switch(is_zero, 0.0 if p > 0 else math.inf, switch(is_zero, 1, size) ** p)
    total = sum_over(powers, axis=axis)
    is_flat = eq(total, 0.0 if p > 0 else math.inf)
    return cast(switch(is_flat, 0, switch(is_flat, 1, total) ** (1.0 / p)), dtype)


def _matrix_norm(x: Variable, ord: Any, axes: tuple[int, ...]) -> Variable:
    rows, columns = axes
    if ord in (2, -2, "nuc"):
        others = [axis for axis in range(x.ndim) if axis not in axes]
        x = x if ord == "nuc" else nonempty("norm", x, axes)
        return _spectral_norm(transpose(x, [*others, rows, columns]), ord)
    if ord not in (1, -1, math.inf, -math.inf):
        raise GraphValueError(f"norm: ord {ord!r} is not defined for a matrix")
    summed, compared = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = sum_over(absolute(x), axis=summed)
    return (max_over if ord > 0 else min_over)(sums, axis=compared - (compared > summed))


def _spectral_norm(x: Variable, ord: Any) -> Variable:
    s = singular_values(x)
    positive = switch(eq(s, 0), 0, s)  # a zero has no derivative
    if ord == "nuc":
        return sum_over(positive, axis=-1)
    return subtensor(positive, (..., 0 if ord == 2 else -1))
