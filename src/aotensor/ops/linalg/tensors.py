"""Linear equations of tensors by those of matrices, and least squares: tensorinv, tensorsolve, lstsq."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aotensor.core.types import normalise_axis
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.complex.blocks import is_complex
from aotensor.ops.contract import matmul
from aotensor.ops.elementwise.arithmetic import abs as absolute
from aotensor.ops.elementwise.arithmetic import sqr
from aotensor.ops.elementwise.compare import cast, gt
from aotensor.ops.index import subtensor
from aotensor.ops.linalg.matrices import both_floating, floating
from aotensor.ops.linalg.pinv import pinv
from aotensor.ops.linalg.shapes import as_square
from aotensor.ops.linalg.solve import inv, solve
from aotensor.ops.linalg.svd import svd
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import expand_dims, transpose
from aotensor.ops.shape.extents import extents_of, product
from aotensor.ops.shape.reshape import ravel, reshape


@public(numpy="linalg.tensorinv")
@coerced
def tensorinv(a: Any, ind: int = 2) -> Variable:
    """The tensor y for which tensordot(y, a, ind) is the identity: the inverse of a as a matrix from its last axes to
    its first `ind` ones.   (*m, *n) → (*n, *m), where both have the same number of elements

    Raises: GraphValueError for an ind below 1 or numbers of elements that differ (at run time where they are not
    known); LinAlgError at run time where a is singular.
    """
    a = floating(a)
    if ind < 1:
        raise GraphValueError(f"tensorinv: ind must be positive, found {ind}")
    extents = extents_of(a)
    first, last = extents[:ind], extents[ind:]
    matrix = as_square("tensorinv", reshape(a, [product(first), product(last)]))
    return reshape(inv(matrix), [*last, *first])


@public(numpy="linalg.tensorsolve")
@coerced
def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Variable:
    """x with tensordot(a, x, x.ndim) = b.   a: (*b.shape, *x.shape), as many elements of x as of b

    axes: of a, moved to its end first.

    Raises: GraphTypeError for a of lower rank than b, GraphValueError for axes out of range or numbers of elements
    that differ (at run time where they are not known); LinAlgError at run time where a is singular.
    """
    a, b = both_floating(a, b)
    if a.ndim < b.ndim:
        raise GraphTypeError(
            f"tensorsolve: a must have at least the rank of b, {b.ndim}, found {a.ndim}",
            lines=[a.describe(), b.describe()],
        )
    if axes is not None:
        moved = [normalise_axis(axis, a.ndim) for axis in axes]
        a = transpose(a, [*(k for k in range(a.ndim) if k not in moved), *moved])
    extents = extents_of(a)
    shape = extents[b.ndim :]
    matrix = as_square("tensorsolve", reshape(a, [product(extents[: b.ndim]), product(shape)]))
    return reshape(solve(matrix, ravel(b), b_ndim=1), shape)


@public(numpy="linalg.lstsq")
@coerced
def lstsq(a: Any, b: Any, rcond: float | None = None) -> list[Variable]:
    """[x, residuals, rank, s]: the x of least norm among those for which ‖a·x − b‖ is least.   (m, n), (m[, k])

    x: (n[, k]); residuals: Σ |a·x − b|² by columns, (1,) or (k,), also where rank < n, where NumPy gives none; rank:
    int64, the number of singular values above the limit; s: all of them. rcond: the limit relative to the largest
    one, by default float64's rounding times max(m, n), a number if given. x and residuals have derivatives at constant
    rank, which is that of the pseudoinverse.

    Raises: GraphTypeError unless a is a matrix and b a vector or a matrix; GraphValueError for numbers of rows that
    differ (at run time where they are not known).
    """
    a, b = both_floating(a, b)
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise GraphTypeError(
            f"lstsq: expected a matrix a and a vector or matrix b, found ranks {a.ndim} and {b.ndim}",
            lines=[a.describe(), b.describe()],
        )
    smallest = _rounding(a) if rcond is None else float(rcond)
    columns = b if b.ndim == 2 else expand_dims(b, 1)
    x = matmul(pinv(a, rcond=smallest), columns)
    rest = matmul(a, x) - columns
    residuals = sum_over(sqr(absolute(rest) if is_complex(rest) else rest), axis=0)
    s = svd(a, compute_uv=False)
    largest = sum_over(subtensor(s, slice(0, 1)))  # 0 if it is empty
    rank = sum_over(cast(gt(s, constant(smallest, dtype=s.dtype) * largest), "int64"))
    return [x if b.ndim == 2 else subtensor(x, (slice(None), 0)), residuals, rank, as_tensor(s)]


def _rounding(a: Variable) -> float:
    """ε·max(m, n) for the extents of a; 1000 stands for an unknown extent."""
    extents = [1000 if n is None else n for n in a.static_shape]
    return (2.0**-52 if a.dtype in ("float64", "complex128") else 2.0**-23) * max(*extents, 1)
