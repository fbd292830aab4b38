"""Eigenvalues of general matrices, triangular Sylvester equations, pencils; matrices are stored by columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.lapack.job import WORK_COLUMNS, Job, Matrix
from aotensor.passes.lapack.spectral import call_if_finite


def eig(job: Job) -> Scalar:
    """Lower `eig`: a matrix → its eigenvalues and eigenvectors, complex."""
    if job.op.is_complex:
        return _complex_geev(job, "V", job.result(1))
    b, vectors, n = job.b, job.result(1), job.operand(0).rows
    copy, found = job.work(n, n), job.work(n, n)

    def decompose() -> Scalar:
        failure, imaginary = _geev(job, "V", copy, found)

        def vector(j: Scalar) -> None:
            part = job.load(imaginary, j)
            zero = b.constant(0.0, job.dtype)
            is_second, is_first = part < zero, part > zero
            first = b.as_extent(b.select(is_second, b.index(b.imax(j - 1, 0)), j))
            second = b.as_extent(b.select(is_first, b.index(b.imin(j + 1, n - 1)), j))

            def element(i: Scalar) -> None:
                job.store(job.load(found, first, i), vectors, j, i, 0)
                other = job.load(found, second, i)
                signed = b.select(is_first, other, b.select(is_second, -other, zero))
                job.store(signed, vectors, j, i, 1)

            job.emit_loop(0, n, element, is_vectorisable=False)

        job.emit_loop(0, n, vector, is_vectorisable=False)
        return failure

    return call_if_finite(job, decompose)


def eigvals(job: Job) -> Scalar:
    """Lower `eigvals`: a matrix → its eigenvalues, complex."""
    if job.op.is_complex:
        return _complex_geev(job, "N", job.elements(1))
    n = job.operand(0).rows
    copy, nothing = job.work(n, n), job.work(1)
    return call_if_finite(job, lambda: _geev(job, "N", copy, nothing)[0])


def _geev(job: Job, vectors: str, copy: Matrix, found: Matrix) -> tuple[Scalar, Matrix]:
    """Call geev, which writes the real parts to result 0; return the failure, and the imaginary parts."""
    w, n = job.result(0), job.operand(0).rows
    real, imaginary, nothing = job.work(n), job.work(n), job.work(1)
    room = n * WORK_COLUMNS
    job.copy(job.operand(0), copy)
    lead = n if vectors == "V" else 1
    failure = job.call(
        "geev", "N", vectors, n, copy, n, real, imaginary, nothing, 1, found, lead, job.work(room), room
    )  # fmt: skip

    def value(j: Scalar) -> None:
        for part, values in enumerate((real, imaginary)):
            job.store(job.load(values, j), w, j, part)

    job.emit_loop(0, n, value, is_vectorisable=False)
    return failure, imaginary


def _complex_geev(job: Job, vectors: str, found: Matrix) -> Scalar:
    a, n = job.operand(0), job.operand(0).rows
    copy, nothing, real = job.work(*a.extents), job.elements(1), job.elements(n)
    room = n * WORK_COLUMNS
    work, lead = job.elements(room), n if vectors == "V" else 1

    def decompose() -> Scalar:
        job.copy(a, copy)
        arguments = ("N", vectors, n, copy, n, job.result(0), nothing, 1, found, lead, work, room, real)
        return job.call("geev", *arguments)

    return call_if_finite(job, decompose)


def triangular_sylvester(job: Job) -> Scalar:
    """Lower `triangular_sylvester`: T, S, F → X with op(T)·X + X·op(S) = F, for Schur forms T and S.

    trsyl scales against overflow, which is undone. Sums of eigenvalues that are 0 count as the smallest number.
    """
    b, t, s, x = job.b, job.operand(0), job.operand(1), job.result()
    job.copy(job.operand(2), x)
    scale = job.work(1)
    letters = ("C" if job.op.option(name) else "N" for name in ("is_left_adjoint", "is_right_adjoint"))
    arguments = (t.rows, s.rows, t, t.rows, s, s.rows, x, t.rows, scale)
    job.call("trsyl", *letters, 1, *arguments)
    factor, x = job.load(scale, 0), job.numbers(x)
    b.nest(x.extents, lambda at: job.store(job.load(x, *at) / factor, x, *at))
    return b.constant(0, "int64")


def stable_subspace(job: Job) -> Scalar:
    """Lower `stable_subspace`: H, J of 2·n rows → n vectors that span the subspace where H·v = λ·J·v with |λ| < 1.

    Fails where there are fewer than n such vectors, or the matrix of their first halves is singular.
    """
    b, h, j, u = job.b, job.operand(0), job.operand(1), job.result()
    n, none = h.rows, job.work(1, dtype="int32")
    a, c, z = job.work(n, n), job.work(n, n), job.work(n, n)
    real, imaginary, beta, scales = job.work(n), job.work(n), job.work(n), job.work(4)
    chosen, counts = job.work(n, dtype="int32"), job.work(4, dtype="int32")
    room = n * WORK_COLUMNS + 16
    work = job.work(room)

    def decompose() -> Scalar:
        job.copy(h, a)
        job.copy(j, c)
        values = (real, imaginary, beta)
        failure = job.call(
            "gges", "N", "V", "N", none, n, a, n, c, n, counts, *values, scales, 1, z, n, work, room, chosen
        )  # fmt: skip
        one = b.constant(1.0, job.dtype)

        def choose(k: Scalar) -> None:
            x, y = (job.load(part, k) / job.load(beta, k) for part in (real, imaginary))
            is_inside = x * x + y * y < one
            job.store(b.cast(is_inside, "int32"), chosen, k)

        job.emit_loop(0, n, choose, is_vectorisable=False)
        left, right, difference = (Matrix(scales.buffer, k, (1,), job.dtype) for k in (0, 1, 2))
        others = (left, right, difference, work, room, counts, 4)
        found = job.work(1, dtype="int32")
        moved = job.call("tgsen", 0, 0, 1, chosen, n, a, n, c, n, *values, scales, 1, z, n, found, *others)
        has_half = b.compare("eq", b.cast(job.load(found, 0), "int64"), b.cast(b.index(u.rows), "int64"))
        job.copy(job.block(z, (0, u.rows), (0, n)), u)
        is_there = has_half & _has_inverse(job, job.block(z, (0, u.rows), (0, u.rows)))
        missing = b.select(is_there, b.constant(0, "int64"), b.constant(1, "int64"))
        return b.maximum(b.maximum(failure, moved), missing)

    return call_if_finite(job, decompose)


def _has_inverse(job: Job, x: Matrix) -> Scalar:
    """Emit the test whether all pivots of x exceed rounding errors."""
    b, n = job.b, x.rows
    copy = job.work(n, n)
    job.copy(x, copy)
    job.call("getrf", n, n, copy, n, job.work(n, dtype="int32"))

    def pivot(k: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        size = b.abs(job.load(copy, k, k))
        return [b.minimum(carried[0], size), b.maximum(carried[1], size)]

    start = [b.constant(value, job.dtype) for value in (float(np.finfo(job.dtype).max), 0.0)]
    least, most = b.loop(0, n, start, pivot, is_vectorisable=False)
    return least > most * float(np.finfo(job.dtype).eps)


def diagonal_solve(job: Job) -> Scalar:
    """Lower `diagonal_solve`: A, B → X with D·X = B for the diagonal D of A. Fails where D has a zero."""
    b, a, x = job.b, job.operand(0), job.result()
    right = job.operand(1)
    zero, none = b.constant(0.0, job.dtype), b.constant(0, "int64")

    def row(i: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        pivot = job.load(a, i, i)
        if len(x.extents) == 1:
            job.store(job.load(right, i) / pivot, x, i)
        else:
            job.emit_loop(0, x.columns, lambda j: job.store(job.load(right, i, j) / pivot, x, i, j))
        is_first = b.compare("eq", carried[0], none) & b.compare("eq", pivot, zero)
        return [b.select(is_first, b.cast(b.index(i + 1), "int64"), carried[0])]

    return b.loop(0, a.rows, [none], row, is_vectorisable=False)[0]


def tridiagonal_solve(job: Job) -> Scalar:
    """Lower `tridiagonal_solve`: A, B → X with op(A)·X = B for the tridiagonal part of A."""
    a, x, n = job.operand(0), job.result(), job.operand(0).rows
    is_vector = len(x.extents) == 1
    below, middle, above = job.work(n), job.work(n), job.work(n)
    transposed_matrix = x if is_vector else job.work(x.columns, n)
    (job.copy if is_vector else job.copy_transposed)(job.operand(1), transposed_matrix)
    job.emit_loop(0, n, lambda i: job.store(job.load(a, i, i), middle, i), is_vectorisable=False)
    lower, upper = (above, below) if job.op.option("is_transposed") else (below, above)

    def beside(i: Scalar) -> None:
        after = i + 1
        job.store(job.load(a, after, i), lower, i)
        job.store(job.load(a, i, after), upper, i)

    job.emit_loop(0, n - 1, beside, is_vectorisable=False)
    failure = job.call("gtsv", n, x.columns, below, middle, above, transposed_matrix, n)
    if not is_vector:
        job.copy_transposed(transposed_matrix, x)
    return failure
