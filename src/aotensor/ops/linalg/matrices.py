"""Shared parts of matrix ops: types, products over a batch, references matrix by matrix."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Tensor, TensorBuilder
from aotensor.core.types import Array, Dim, TensorType, broadcast_shapes
from aotensor.errors import GraphIndexError, GraphLinAlgError, GraphTypeError, GraphValueError
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.contract import Contract
from aotensor.ops.create import alloc
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.shape.extents import SymbolicExtent, extent_of, extents_of

ON_ERROR = ("raise", "nan")
NOT_SQUARE = "rows and columns of a square matrix"
NO_MATRIX = "expected a matrix or a stack of matrices, found a rank below 2"
INNER = "extents of the matrix and the right-hand side"
ZERO_ON_DIAGONAL = "the matrix is singular: entry {found} of its diagonal is zero"
NO_ROW = "pivot {found} is not one of {expected} rows"
ZERO_PIVOT = "the matrix is singular: pivot {found} is zero"


@cache
def scipy_linalg() -> Any:
    """scipy.linalg, imported at first use: it would triple the time of `import aotensor`."""
    import scipy.linalg

    return scipy.linalg


# --- types and arguments ---------------------------------------------------------------------------------------------


def floating(x: Any) -> Variable:
    """Convert x to a variable of a floating dtype: bool and integers become float64, as in NumPy."""
    x = as_tensor(x)
    return cast(x, dtypes.mean_of(x.dtype))


def floating_matrix(name: str, x: Any) -> Variable:
    """Convert x to a floating matrix, or batch of matrices.   Raises: GraphTypeError below rank 2."""
    matrix: Variable = floating(x)
    if matrix.ndim < 2:
        raise GraphTypeError(f"{name}: {NO_MATRIX}", lines=[matrix.describe()])
    return matrix


def as_pair(name: str, what: str, value: Any) -> tuple[Any, Any]:
    """Check that an argument is a list or tuple of two, and return both.   Raises: GraphTypeError for anything else."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise GraphTypeError(f"{name}: {what} must be a pair, not {value!r:.60}")
    return value[0], value[1]


def both_floating(*xs: Any) -> list[Variable]:
    """Variables converted to one floating dtype."""
    variables = [floating(x) for x in xs]
    common = dtypes.promote(*(x.dtype for x in variables))
    return [cast(x, common) for x in variables]


def square_dim(a: TensorType) -> Dim:
    """The dim n of (…, n, n); None if unknown.   Raises: GraphTypeError below rank 2, GraphValueError if not square."""
    if a.rank < 2:
        raise GraphTypeError(NO_MATRIX)
    if not dtypes.is_float(a.dtype):
        raise GraphTypeError(f"expected a floating dtype, found {a.dtype}")
    return common_dim(NOT_SQUARE, *a.shape[-2:])


def common_dim(what: str, *dims: Dim) -> Dim:
    """The dim common to several axes; None if unknown.   Raises: GraphValueError for two different numbers."""
    numbers = sorted({dim for dim in dims if isinstance(dim, int)})
    if len(numbers) > 1:
        raise GraphValueError(f"{what} differ, {numbers[0]} and {numbers[1]}")
    return numbers[0] if numbers else next((dim for dim in dims if dim is not None), None)


def common_batch(*batches: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The common leading dims of operands.   Raises: GraphTypeError, GraphValueError"""
    if len({len(batch) for batch in batches}) > 1:
        raise GraphTypeError("the operands must have the same number of leading dims")
    return tuple(common_dim("leading dims", *dims) for dims in zip(*batches, strict=True))


def with_common_batch(*pairs: tuple[Variable, int]) -> list[Variable]:
    """Broadcast operands to common leading dims.   Each is given as (variable, rank of its core).

    Raises: GraphValueError for leading dims that do not broadcast.
    """
    batches = [x.tensor_type.shape[: x.ndim - core] for x, core in pairs]
    rank = len(broadcast_shapes(batches))
    extents = [_batch_extent(pairs, axis) for axis in range(-rank, 0)]
    results = []
    for (x, core), batch in zip(pairs, batches, strict=True):
        if len(batch) < rank or any(dim == 1 and n != 1 for dim, n in zip(batch, extents, strict=True)):
            x = alloc(x, *extents, *extents_of(x)[x.ndim - core :])
        results.append(x)
    return results


def _batch_extent(pairs: Sequence[tuple[Variable, int]], axis: int) -> SymbolicExtent:
    """The extent of a leading axis (counted from the cores), from the first operand that is not statically 1 there."""
    for x, core in pairs:
        position = x.ndim - core + axis
        if position >= 0 and x.tensor_type.shape[position] != 1:
            return extent_of(x, position)
    return 1


# --- in graphs and in tensor IR --------------------------------------------------------------------------------------


def product(spec: str, x: Variable, y: Variable) -> Variable:
    """Product of two matrices per sample by an einsum-like spec of matrix axes: "ij,jk->ik"; x has the batch axes."""
    left, right, out = spec.replace("->", ",").split(",")
    free = [letter for letter in string.ascii_lowercase if letter not in spec]
    batch = "".join(free[: x.ndim - len(left)])
    return Contract(f"{batch}{left},{batch}{right}->{batch}{out}")(x, y)  # type: ignore[no-any-return]


def lowered_square(b: TensorBuilder, a: Tensor) -> list[Extent]:
    """The extents of a batch of square matrices; a run-time check compares the last two if they are unknown."""
    *batch, rows, columns = a.extents
    n = b.same_extent([columns, rows], NOT_SQUARE)
    return [*batch, n, n]


def lowered_batch(b: TensorBuilder, *batches: Sequence[Extent]) -> list[Extent]:
    """The common leading extents of all operands, in the IR."""
    return [b.same_extent(extents, "leading dims") for extents in zip(*batches, strict=True)]


# --- references ------------------------------------------------------------------------------------------------------


def per_matrix(fn: Callable[..., Any], operands: Sequence[Array], results: Sequence[Array]) -> Any:
    """Apply fn to every matrix of the batch, filling `results`; returns the only one or all of them.

    The leading dims are those of operand 0 without its last two. Raises: GraphValueError if others differ.
    """
    batch = operands[0].shape[:-2]
    for x in operands[1:]:
        if x.shape[: len(batch)] != batch:
            raise GraphValueError(f"leading dims differ: {batch} and {x.shape[: len(batch)]}")
    with np.errstate(all="ignore"):
        for entry in np.ndindex(batch):
            found = fn(*(x[entry] for x in operands))
            for result, value in zip(results, found if isinstance(found, tuple) else (found,), strict=True):
                result[entry] = value
    return results[0] if len(results) == 1 else tuple(results)


def check_square(name: str, a: Array) -> None:
    """Check that the last two extents of an array are equal.   Raises: GraphValueError if they differ."""
    if a.shape[-1] != a.shape[-2]:
        raise GraphValueError(f"{name}: {NOT_SQUARE} differ: {a.shape[-2]} and {a.shape[-1]}")


def exchanged_rows(name: str, exchanges: Array) -> Array:
    """LAPACK's row exchanges, counted from 1, converted to count from 0, after a check that they are in range.

    Raises: GraphIndexError for one outside of the matrix
    """
    n = exchanges.shape[-1]
    for found in exchanges[(exchanges < 1) | (exchanges > n)][:1]:
        raise GraphIndexError(f"{name}: {NO_ROW.format(found=int(found) - 1, expected=n)}")
    rows: Array = exchanges - 1
    return rows


def failed(name: str, message: str, on_error: str) -> float:
    """Handle a failure: returns nan.   Raises: GraphLinAlgError if on_error is "raise"."""
    if on_error == "raise":
        raise GraphLinAlgError(f"{name}: {message}")
    return float("nan")
