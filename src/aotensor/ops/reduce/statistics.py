"""Weighted means, covariances and correlations: sums and products with NumPy's options."""

from __future__ import annotations

from typing import Any

from aotensor.core import dtypes
from aotensor.core.types import normalise_axes
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.contract import matmul
from aotensor.ops.diagonal import diagonal
from aotensor.ops.elementwise.compare import cast, clip, le, switch
from aotensor.ops.elementwise.elementary import sqrt
from aotensor.ops.random.parameter import parameter
from aotensor.ops.reduce.sums import Axes, broadcast_back, count, mean
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import dimshuffle, matrix_transpose
from aotensor.ops.shape.join import concatenate
from aotensor.ops.shape.reshape import reshape


@public(numpy="average")
@coerced
def average(a: Any, axis: Axes = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    """Σ w·a / Σ w over axes, the mean without weights; `returned`: (average, Σ w).

    weights: of the shape of a, or a vector along the one axis. Weights that add up to 0 give nan or inf.

    Raises: GraphTypeError for weights of another rank, GraphValueError for an axis out of range or named twice.
    """
    a = as_tensor(a)
    axes = normalise_axes(axis, a.ndim)
    if weights is None:
        found = mean(a, axis=axes, keepdims=keepdims)
        return (found, broadcast_back(count(a, axes, found.dtype), (), found)) if returned else found
    w = as_tensor(weights)
    if w.ndim != a.ndim:
        if w.ndim != 1 or len(axes) != 1:
            lines = [a.describe(), w.describe()]
            raise GraphTypeError(
                "average: weights must have the shape of a, or be a vector along one axis", lines=lines
            )
        w = dimshuffle(w, [0 if k == axes[0] else None for k in range(a.ndim)])
    dtype = dtypes.mean_of(dtypes.promote(a.dtype, w.dtype))
    wide = dtypes.compute_of(dtype)
    w = cast(w, wide)
    product = w * cast(a, wide)
    total = sum_over(broadcast_back(w, (), product), axis=axes, keepdims=keepdims)
    found = sum_over(product, axis=axes, keepdims=keepdims) / total
    return (cast(found, dtype), cast(total, dtype)) if returned else cast(found, dtype)


@public(numpy="cov")
@coerced
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Variable:
    """The covariances of the rows of m (of its columns unless `rowvar`), and, appended, of y.   (p, n) → (p, p)

    Divided by n − 1, or by n if `bias`, or by n − ddof. fweights: how often each observation counts; aweights: how
    much. A vector is one variable, whose covariance is a scalar.

    Raises: GraphTypeError above rank 2, or for weights that are not vectors; GraphValueError for a negative weight (at
    run time where it is not known).
    """
    found = _covariances(m, y, rowvar, bias, ddof, fweights, aweights)
    return cast(found, dtypes.mean_of(dtypes.promote(*(as_tensor(x).dtype for x in (m, y) if x is not None))))


def _covariances(m: Any, y: Any, rowvar: bool, bias: bool, ddof: int | None, fweights: Any, aweights: Any) -> Variable:
    """`cov`; operands of 16 bits are computed in float32."""
    rows = _variables("cov", m, rowvar)
    if y is not None:
        rows = concatenate([rows, _variables("cov", y, rowvar)])
    dtype = dtypes.compute_of(dtypes.mean_of(rows.dtype))
    rows = cast(rows, dtype)
    freedom = ddof if ddof is not None else 0 if bias else 1
    weights = _weights(fweights, aweights, dtype)
    if weights is None:
        total = count(rows, (1,), dtype)
        divisor = total - constant(freedom, dtype=dtype)
        centered = rows - mean(rows, axis=1, keepdims=True)
        scaled = centered
    else:
        total = sum_over(weights)
        center = sum_over(rows * weights[None, :], axis=1, keepdims=True) / total
        centered = rows - center
        scaled = centered * weights[None, :]
        lost: Variable = constant(freedom, dtype=dtype)
        if aweights is not None and freedom:
            lost = lost * sum_over(weights * cast(as_tensor(aweights), dtype)) / total
        divisor = total - lost
    divisor = switch(le(divisor, 0), 0, divisor)
    found = matmul(scaled, matrix_transpose(centered)) / divisor
    return reshape(found, ()) if y is None and as_tensor(m).ndim < 2 else found


def _variables(name: str, x: Any, rowvar: bool) -> Variable:
    """x as a matrix with variables as rows and observations as columns."""
    x = as_tensor(x)
    if dtypes.is_complex(x.dtype):
        hint = "take covariances of real(z) and imag(z)"
        raise GraphTypeError(f"{name}: does not accept complex values", lines=[x.describe()], hint=hint)
    if x.ndim > 2:
        raise GraphTypeError(f"{name}: expected a vector or a matrix", lines=[x.describe()])
    if x.ndim < 2:
        return dimshuffle(x, [None, *range(x.ndim)] if x.ndim else [None, None])
    return x if rowvar else matrix_transpose(x)


def _weights(fweights: Any, aweights: Any, dtype: str) -> Variable | None:
    found: Variable | None = None
    for what, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        w = as_tensor(given)
        if w.ndim != 1:
            raise GraphTypeError(f"cov: {what} must be a vector, not {w.type}", lines=[w.describe()])
        if what == "fweights" and dtypes.is_float(w.dtype):
            raise GraphTypeError(f"cov: fweights must be integers, not {w.dtype}", lines=[w.describe()])
        w = cast(parameter(f"cov: {what}", w, w.dtype, low=0), dtype)
        found = w if found is None else found * w
    return found


@public(numpy="corrcoef")
@coerced
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Variable:
    """The correlations of the rows of x, and, appended, of y: covariances over standard deviations, in [−1, 1].

    nan for a variable that does not vary.   Raises: as `cov`.
    """
    for rows in (x, y):
        if rows is not None:
            _variables("corrcoef", rows, rowvar)
    c = _covariances(x, y, rowvar, bias=False, ddof=None, fweights=None, aweights=None)
    dtype = dtypes.mean_of(dtypes.promote(*(as_tensor(one).dtype for one in (x, y) if one is not None)))
    if c.ndim == 0:
        return cast(c / c, dtype)
    deviations = sqrt(diagonal(c))
    return cast(clip(c / deviations[:, None] / deviations[None, :], -1, 1), dtype)


corr = corrcoef
