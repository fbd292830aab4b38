"""Sparse matrices for tests of derivatives: random ones, and dense parametrisations for finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from aotensor.config import config
from aotensor.core.types import Array
from aotensor.gradient.numeric import verify_grad
from aotensor.gradient.sparse_points import Point, densified_output
from aotensor.graph.coercion import coerced
from aotensor.graph.sparse_type import SparseTensorType, SparseVariable, is_matrix, scipy_sparse
from aotensor.graph.variable import Variable
from aotensor.sparse.convert import csc_from_dense, csr_from_dense

Gap: TypeAlias = float | tuple[float, float] | None


@coerced
def verify_grad_sparse(
    op: Callable[..., Variable], pt: list[Point] | tuple[Point, ...], structured: bool = False, **options: Any
) -> None:
    """`verify_grad` for sparse points of `pt`, and for an op that may give a sparse matrix.

    structured: vary the stored entries only; otherwise every element of a dense matrix that is converted, so that
    the unstructured derivatives are checked. options: those of verify_grad.

    Raises: as verify_grad.
    """
    if structured:
        verify_grad(op, pt, **options)
        return

    def fun(*inputs: Variable) -> Variable:
        arguments = [_from_dense(x, point) if is_matrix(point) else x for x, point in zip(inputs, pt, strict=True)]
        found: Variable = densified_output(op(*arguments), structured=False)
        return found

    verify_grad(fun, [point.toarray() if is_matrix(point) else point for point in pt], **options)


def _from_dense(x: Variable, point: Any) -> Variable:
    return csc_from_dense(x) if point.format == "csc" else csr_from_dense(x)


@coerced
def sparse_random_inputs(
    format: str,
    shape: tuple[int, int],
    n: int = 1,
    out_dtype: str | None = None,
    p: float = 0.5,
    gap: Gap = None,
    explicit_zero: bool = False,
    unsorted_indices: bool = False,
    rng: np.random.Generator | None = None,
) -> tuple[list[SparseVariable], list[Any]]:
    """`n` sparse variables, and as many random SciPy matrices of their type.

    out_dtype: floatX by default. p: the probability that an element is stored. gap: values from low to high, or from 0
    to a number; by default 0 … 1 for floats and 0 … 100 for integers. explicit_zero: store a 0 in each.
    unsorted_indices: in every row (column of csc) the last entry comes first. rng: by default one with a fixed seed.
    """
    rng = np.random.default_rng() if rng is None else rng
    type = SparseTensorType(format, out_dtype or config.floatX)
    drawn = [_draw_matrix(rng, type, shape, p, gap) for _ in range(n)]
    for matrix in drawn:
        if explicit_zero and matrix.nnz:
            matrix.data[rng.integers(matrix.nnz)] = 0
    return [type() for _ in drawn], [_backwards(matrix) if unsorted_indices else matrix for matrix in drawn]


def _draw_matrix(rng: np.random.Generator, type: SparseTensorType, shape: tuple[int, int], p: float, gap: Gap) -> Any:
    rows, columns = np.nonzero(rng.random(shape) < p)
    is_float = np.dtype(type.dtype).kind == "f"
    low, high = gap if isinstance(gap, tuple) else (0, gap if gap is not None else 1 if is_float else 100)
    values: Array = rng.uniform(low, high, len(rows)) if is_float else rng.integers(int(low), int(high), len(rows))
    return scipy_sparse().coo_matrix((values.astype(type.dtype), (rows, columns)), shape=shape).asformat(type.format)


def _backwards(matrix: Any) -> Any:
    """The same matrix, with the entries of every compressed row or column stored in reverse order."""
    starts, ends = matrix.indptr[:-1], matrix.indptr[1:]
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(starts, ends, strict=True)] or [np.zeros(0, int)])
    order = order.astype(np.int64)
    return type(matrix)((matrix.data[order], matrix.indices[order], matrix.indptr), shape=matrix.shape)
