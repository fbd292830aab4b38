"""Extents of matrices (static where known, else checked) and NumPy references of iterative decompositions."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphLinAlgError, GraphTypeError, GraphValueError
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.linalg.matrices import square_dim
from aotensor.ops.shape.broadcast import specify_shape
from aotensor.ops.shape.extents import extent_of


def as_square(name: str, x: Any) -> Variable:
    """x, a matrix or a batch of them, checked to be square (at run time if extents are unknown).

    Raises: GraphTypeError below rank 2, GraphValueError for extents that are known to differ.
    """
    matrix = as_tensor(x)
    if matrix.ndim < 2:
        raise GraphTypeError(f"{name}: expected a rank of at least 2, found {matrix.ndim}", lines=[matrix.describe()])
    rows, columns = matrix.tensor_type.shape[-2:]
    if isinstance(rows, int) and isinstance(columns, int) and rows != columns:
        raise GraphValueError(f"{name}: expected a square matrix, found {rows} by {columns}", lines=[matrix.describe()])
    if rows == columns and rows is not None:
        return matrix
    return specify_shape(matrix, [*([None] * (matrix.ndim - 1)), extent_of(matrix, -2)])


def matrix_type(x: TensorType) -> TensorType:
    """The type of a floating matrix, or of a batch of them.   Raises: GraphTypeError for anything else."""
    if x.rank < 2:
        raise GraphTypeError(f"expected a matrix or a stack of matrices, found rank {x.rank}")
    if not dtypes.is_float(x.dtype):
        raise GraphTypeError(f"expected a floating dtype, found {x.dtype}")
    return x


def square_type(x: TensorType) -> TensorType:
    """The type of a floating square matrix, or of a batch of them, with the known dim for both axes.

    Raises: GraphTypeError as matrix_type, GraphValueError for extents that are known to differ.
    """
    n = square_dim(x)
    return TensorType(x.dtype, (*x.shape[:-2], n, n))


def smaller(rows: Dim, columns: Dim) -> Dim:
    """The dim min(rows, columns); None if unknown."""
    if rows == columns:
        return rows
    return min(rows, columns) if isinstance(rows, int) and isinstance(columns, int) else None


def is_at_least(first: Dim, second: Dim) -> bool:
    """Is one extent provably at least the other?"""
    if isinstance(first, int) and isinstance(second, int):
        return first >= second
    return first is not None and first == second


def lowered_product(b: TensorBuilder, spec: str, x: Tensor, y: Tensor) -> Tensor:
    """A contraction of two matrices per sample of a batch, such as "ik,kj->ij", in the IR."""
    batch = string.ascii_uppercase[: len(x.extents) - 2]
    left, right, out = spec.replace("->", ",").split(",")
    return b.contract(f"{batch}{left},{batch}{right}->{batch}{out}", x, y)


def if_finite(fn: Callable[[Array], Any], x: Array, read: Callable[[Array], Array] = np.asarray) -> list[Array]:
    """The results of fn on a batch of matrices; nan (0 for integers) where the part `read` of a matrix is not finite.

    LAPACK returns nan for some of those, and an error for others.
    """
    is_finite = np.asarray(np.isfinite(read(x)).all(axis=(-2, -1)))
    results = fn(np.where(is_finite[..., None, None], x, 0).astype(x.dtype))
    results = [np.array(y) for y in (results if isinstance(results, tuple) else (results,))]
    for y in results:
        y[~is_finite] = np.nan if y.dtype.kind in "fc" else 0
    return results


def converged(name: str, message: str, fn: Callable[[Array], Any], x: Array, **options: Any) -> Any:
    """`if_finite(fn, x)` as one array or a tuple of arrays.   Raises: GraphLinAlgError with the message if fn fails."""
    try:
        results = if_finite(fn, x, **options)
    except np.linalg.LinAlgError as error:
        raise GraphLinAlgError(f"{name}: {message}") from error
    return results[0] if len(results) == 1 else tuple(results)
