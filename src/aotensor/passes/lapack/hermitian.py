"""Factorizations of complex matrices, in LAPACK's order, with interleaved real and imaginary parts as in `general`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aotensor.ir.index_builder import Extent
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.lapack.job import Job, Matrix
from aotensor.passes.lapack.spectral import call_if_finite, has_elements

_BLOCK: Final = 64  # columns of workspace for LAPACK's blocked algorithms


def complex_lu(job: Job) -> Scalar:
    """Lower `complex_lu`: A → L (unit diagonal) and U in one matrix, and the 1-based row exchanges."""
    a, factors, pivots = job.operand(0), job.result(0), job.result(1)
    job.copy(a, factors)
    return job.call("getrf", a.rows, a.rows, factors, a.rows, pivots, is_complex=True)


def complex_eigh(job: Job) -> Scalar:
    """Lower `complex_eigh`: the lower triangle of A → eigenvalues, ascending, and eigenvectors."""
    return _heevd(job, "V", job.result(1))


def complex_eigvalsh(job: Job) -> Scalar:
    """Lower `complex_eigvalsh`: the lower triangle of A → eigenvalues, ascending."""
    return _heevd(job, "N", job.work(*job.operand(0).extents))


def _heevd(job: Job, vectors: str, a: Matrix) -> Scalar:
    b, n = job.b, job.operand(0).rows
    square = b.imul(n, n)
    room = b.iadd(square, b.iadd(1, b.imul(n, _BLOCK)))
    real = b.iadd(1, b.iadd(b.imul(n, 5), b.imul(square, 2)))
    whole = b.iadd(3, b.imul(n, 5))
    work, others, integers = job.work(b.imul(room, 2)), job.work(real), job.work(whole, dtype="int32")

    def decompose() -> Scalar:
        job.copy(job.operand(0), a)
        arguments = (vectors, "L", n, a, n, job.result(0), work, room, others, real, integers, whole)
        return job.call("heevd", *arguments, is_complex=True)

    def read(i: Scalar) -> tuple[Extent, Extent]:
        return b.imul(i, 2), b.imul(n, 2)

    return call_if_finite(job, decompose, read)


def complex_svd(job: Job) -> Scalar:
    """Lower `complex_svd`: A → U with min(m, n) columns, S, and Vᴴ with min(m, n) rows."""
    u, s, vt = (job.result(k) for k in range(3))
    return _gesdd(job, "S", u, s, vt)


def complex_full_svd(job: Job) -> Scalar:
    """Lower `complex_full_svd`: A → U and Vᴴ square, and S. If A has no elements, U and Vᴴ are identities."""
    u, s, vt = (job.result(k) for k in range(3))

    def identities() -> Sequence[Scalar]:
        _identity(job, u)
        _identity(job, vt)
        return [job.b.constant(0, "int64")]

    return job.b.branch(has_elements(job, job.operand(0)), lambda: [_gesdd(job, "A", u, s, vt)], identities)[0]


def complex_singular_values(job: Job) -> Scalar:
    """Lower `complex_singular_values`: A → the singular values."""
    nothing = job.work(2)
    return _gesdd(job, "N", nothing, job.result(), nothing)


def _gesdd(job: Job, vectors: str, u: Matrix, s: Matrix, vt: Matrix) -> Scalar:
    b, a = job.b, job.operand(0)
    rows, columns = _half(job, a), a.rows
    k, most = b.imin(rows, columns), b.imax(rows, columns)
    square = b.imul(k, k)
    room = b.iadd(b.iadd(b.imul(square, 2), b.iadd(b.imul(k, 3), most)), b.imul(b.iadd(rows, columns), _BLOCK))
    real = b.iadd(b.imul(square, 7), b.iadd(b.imul(b.imul(most, k), 2), b.imul(k, 7)))
    copy, work, others = job.work(*a.extents), job.work(b.imul(room, 2)), job.work(real)
    whole = job.work(b.imul(k, 8), dtype="int32")
    leads = (u.rows, u.rows) if vectors == "N" else (rows, _half(job, vt))

    def decompose() -> Scalar:
        job.copy(a, copy)
        arguments = (vectors, rows, columns, copy, rows, s, u, leads[0], vt, leads[1], work, room, others, whole)
        return job.call("gesdd", *arguments, is_complex=True)

    return call_if_finite(job, decompose)


def complex_qr(job: Job) -> Scalar:
    """Lower `complex_qr`: A → Q with as many columns as R has rows, R, and, if pivoted, the column permutation."""
    b, a, q, r = job.b, job.operand(0), job.result(0), job.result(1)
    rows, columns = _half(job, a), a.rows
    is_pivoted = len(job.op.tensors) > 2
    transposed_matrix, factors = (
        job.work(b.imax(q.rows, columns), a.columns),
        job.work(b.imul(b.imin(rows, columns), 2)),
    )

    def nothing() -> Sequence[Scalar]:
        _identity(job, q)
        if is_pivoted:
            order = job.result(2)
            job.emit_loop(0, columns, lambda j: job.store(b.cast(j, "int32"), order, j), is_vectorisable=False)
        return [b.constant(0, "int64")]

    def factorise() -> Sequence[Scalar]:
        job.copy(a, Matrix(transposed_matrix.buffer, transposed_matrix.start, a.extents, a.dtype))
        room = b.imul(columns, _BLOCK)
        work = job.work(b.imul(room, 2))
        if is_pivoted:
            order, real = job.result(2), job.work(b.imul(columns, 2))
            zero, one = b.constant(0, "int32"), b.constant(1, "int32")
            job.emit_loop(0, columns, lambda j: job.store(zero, order, j), is_vectorisable=False)
            failure = job.call(
                "geqp3", rows, columns, transposed_matrix, rows, order, factors, work, room, real, is_complex=True
            )
            job.emit_loop(
                0, columns, lambda j: job.store(b.sub(job.load(order, j), one), order, j), is_vectorisable=False
            )
        else:
            failure = job.call("geqrf", rows, columns, transposed_matrix, rows, factors, work, room, is_complex=True)
        _upper(job, transposed_matrix, r)
        room = b.imul(q.rows, _BLOCK)
        work, reflections = job.work(b.imul(room, 2)), b.imin(rows, columns)
        made = job.call(
            "ungqr", rows, q.rows, reflections, transposed_matrix, rows, factors, work, room, is_complex=True
        )
        job.copy(Matrix(transposed_matrix.buffer, transposed_matrix.start, q.extents, q.dtype), q)
        return [b.maximum(failure, made)]

    return b.branch(has_elements(job, a), factorise, nothing)[0]


def _upper(job: Job, transposed_matrix: Matrix, r: Matrix) -> None:
    """Emit r = the upper triangle of the factorized matrix, with zeros below."""
    b, zero = job.b, job.b.constant(0.0, r.dtype)

    def column(j: Scalar) -> None:
        filled = b.imin(b.imul(b.iadd(j, 1), 2), r.columns)
        job.emit_loop(0, filled, lambda i: job.store(job.load(transposed_matrix, j, i), r, j, i))
        job.emit_loop(filled, r.columns, lambda i: job.store(zero, r, j, i))

    job.emit_loop(0, r.rows, column)


def _identity(job: Job, x: Matrix) -> None:
    """Emit x = the identity matrix: 1 on the diagonal, 0 elsewhere."""
    b, zero, one = job.b, job.b.constant(0.0, x.dtype), job.b.constant(1.0, x.dtype)

    def element(at: list[Scalar]) -> None:
        is_diagonal = b.compare("eq", b.index(b.imul(at[0], 2)), at[1])
        job.store(b.select(is_diagonal, one, zero), x, *at)

    b.nest(x.extents, element)


def _half(job: Job, x: Matrix) -> Extent:
    return job.b.ifloordiv(x.columns, 2)
