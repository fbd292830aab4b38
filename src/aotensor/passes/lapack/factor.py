"""Cholesky and LU factorizations, and functions of their factors.

Cholesky: LAPACK is column-major, so it sees the lower triangle of a row-major matrix as the upper one, and L is U = Lᵀ
with Uᵀ·U = A.

LU: LAPACK factorizes Aᵀ = P·L'·U'. With L = U'ᵀ (general diagonal) and U = L'ᵀ (unit diagonal), both in the memory of
A, that is A = L·U·Pᵀ: columns of A are exchanged, not rows. No matrix is transposed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aotensor.ir.index_builder import Extent
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.lapack.job import WORK_COLUMNS, Job, Matrix
from aotensor.passes.lapack.triangle import call_triangular, first_on_diagonal


def cholesky(job: Job) -> Scalar:
    """Lower `cholesky`: A → L with L·Lᵀ = A, from the lower triangle of A; zeros above.

    Fails where a leading minor is not positive.
    """
    a, factor = job.operand(0), job.result()
    n = a.rows
    zero = job.b.constant(0.0, job.dtype)

    def row(i: Scalar) -> None:
        above = i + 1
        if not job.is_same(a, factor):
            job.emit_loop(0, above, lambda j: job.store(job.load(a, i, j), factor, i, j))
        job.emit_loop(above, n, lambda j: job.store(zero, factor, i, j))

    job.emit_loop(0, n, row)
    failure = job.call("potrf", "U", n, factor, n)
    missed = first_on_diagonal(job, factor, job.b.is_nan)  # not every LAPACK detects nan
    return job.b.select(job.b.compare("eq", failure, job.b.constant(0, "int64")), missed, failure)


def lu(job: Job) -> Scalar:
    """Lower `lu`: A → L and U in one matrix, and the 1-based column exchanges. Fails where U' has a zero pivot."""
    a, factors, pivots = job.operand(0), job.result(0), job.result(1)
    job.copy(a, factors)
    return job.call("getrf", a.columns, a.rows, factors, a.columns, pivots)


def lu_solve(job: Job) -> Scalar:
    """Lower `lu_solve`: LU factors of A, column exchanges, B → X with op(A)·X = B."""
    factors, pivots, x = job.operand(0), job.operand(1), job.result()
    is_transposed = bool(job.op.option("is_transposed"))
    job.copy(job.operand(2), x)
    if is_transposed:
        exchange_rows(job, pivots, x, is_forward=True)
    parts = ((False, True), (True, False)) if is_transposed else ((True, False), (False, True))
    failure = job.b.constant(0, "int64")
    for is_lower, is_unit in parts:
        failed = call_triangular(
            job, "trsm", factors, x, is_lower=is_lower, is_transposed=is_transposed, is_unit=is_unit
        )
        failure = job.b.maximum(failure, failed)
    if not is_transposed:
        exchange_rows(job, pivots, x, is_forward=False)
    return failure


def lu_permutation(job: Job) -> Scalar:
    """Lower `lu_permutation`: exchanges → the column of A that is column k of A·P, or the inverse of that."""
    pivots, order = job.operand(1), job.result()
    job.emit_loop(0, order.rows, lambda k: job.store(job.b.cast(k, "int64"), order, k))
    exchange_rows(job, pivots, order, is_forward=not job.op.option("is_inverse"))
    return job.b.constant(0, "int64")


def exchange_rows(job: Job, pivots: Matrix, x: Matrix, is_forward: bool) -> None:
    """Emit exchanges of row k of x with row pivots[k] − 1, for all k, ascending if `is_forward`, else descending."""
    b, n = job.b, pivots.rows

    def exchange(step: Scalar) -> None:
        k = step if is_forward else n - 1 - step
        other = b.cast(job.load(pivots, k), "index") - 1

        def swap(*column: Extent) -> None:
            mine, yours = job.load(x, k, *column), job.load(x, other, *column)
            job.store(yours, x, k, *column)
            job.store(mine, x, other, *column)

        if len(x.extents) == 1:
            swap()
        else:
            job.emit_loop(0, x.columns, swap)

    job.emit_loop(0, n, exchange, is_vectorisable=False)


def lu_inverse(job: Job) -> Scalar:
    """Lower `lu_inverse`: LU factors of A, column exchanges → A⁻¹. Fails at a zero pivot."""
    inverse = job.result()
    job.copy(job.operand(0), inverse)
    return _invert(job, inverse)


def _invert(job: Job, inverse: Matrix) -> Scalar:
    n = inverse.rows
    size = n * WORK_COLUMNS
    return job.call("getri", n, inverse, n, job.operand(1), job.work(size), size)


def lu_adjugate(job: Job) -> Scalar:
    """Lower `lu_adjugate`: LU factors of A, column exchanges → det(A)·A⁻¹, also for singular A.

    A pivot that is zero to rounding is replaced by the smallest nonzero one: the result is the adjugate of a matrix
    that differs from A by no more than the rounding errors of the factorization. The adjugate is a polynomial, so it is
    close to that of A.
    """
    b = job.b
    inverse = job.result()
    n = inverse.rows
    job.copy(job.operand(0), inverse)
    least = _least_pivot(job, inverse)

    def step(i: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        (product,) = carried
        pivot = job.load(inverse, i, i)
        pivot = b.select(b.abs(pivot) < least, least, pivot)
        job.store(pivot, inverse, i, i)
        is_exchanged = b.compare("ne", b.cast(job.load(job.operand(1), i), "index"), b.index(i + 1))
        return [product * b.select(is_exchanged, -pivot, pivot)]

    (determinant,) = b.loop(0, n, [b.constant(1.0, job.dtype)], step, is_vectorisable=False)
    failure = _invert(job, inverse)
    b.nest(inverse.extents, lambda at: job.store(job.load(inverse, *at) * determinant, inverse, *at))
    return failure


def _least_pivot(job: Job, factors: Matrix) -> Scalar:
    """The smallest nonzero pivot: ε times the largest one; for a matrix of zeros a number whose powers underflow."""
    b, info = job.b, np.finfo(job.dtype)

    def step(i: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        return [b.maximum(carried[0], b.abs(job.load(factors, i, i)))]

    (largest,) = b.loop(0, factors.rows, [b.constant(0.0, job.dtype)], step, is_vectorisable=False)
    least = largest * float(info.eps)
    return b.maximum(least, b.constant(math.sqrt(float(info.tiny)), job.dtype))
