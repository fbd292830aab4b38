"""The factorization A = Q·R. LAPACK is given the matrix itself, column by column: it is transposed first."""

from __future__ import annotations

from collections.abc import Sequence

from aotensor.ir.index_builder import Extent
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.lapack.job import WORK_COLUMNS, Job, Matrix
from aotensor.passes.lapack.spectral import has_elements, identity


def qr(job: Job) -> Scalar:
    """Lower `qr`: A → Q with min(m, n) columns, and R."""
    q, r = job.result(0), job.result(1)
    transposed_matrix, factors, failure = _factorise_copy(job, job.operand(0).columns)
    _upper(job, transposed_matrix, r)
    return job.b.maximum(failure, _orthogonal(job, transposed_matrix, factors, q))


def complete_qr(job: Job) -> Scalar:
    """Lower `complete_qr`: A → Q square, and R with as many rows as A. If A has no elements, Q is the identity."""
    b, a, q, r = job.b, job.operand(0), job.result(0), job.result(1)

    def nothing() -> Sequence[Scalar]:
        identity(job, q)
        return [b.constant(0, "int64")]

    def factorise() -> Sequence[Scalar]:
        transposed_matrix, factors, failure = _factorise_copy(job, b.imax(a.rows, a.columns))
        _upper(job, transposed_matrix, r)
        return [b.maximum(failure, _orthogonal(job, transposed_matrix, factors, q))]

    return b.branch(has_elements(job, a), factorise, nothing)[0]


def qr_r(job: Job) -> Scalar:
    """Lower `qr_r`: A → the factor R of A = Q·R."""
    transposed_matrix, _, failure = _factorise_copy(job, job.operand(0).columns)
    _upper(job, transposed_matrix, job.result())
    return failure


def pivoted_qr(job: Job) -> Scalar:
    """Lower `pivoted_qr`: A → Q with as many columns as R has rows, R, and `order`: A[:, order] = Q·R."""
    b, a, q, r, order = job.b, job.operand(0), job.result(0), job.result(1), job.result(2)
    one, zero = b.constant(1, "int32"), b.constant(0, "int32")

    def nothing() -> Sequence[Scalar]:
        identity(job, q)
        job.emit_loop(0, a.columns, lambda j: job.store(b.cast(j, "int32"), order, j), is_vectorisable=False)
        return [b.constant(0, "int64")]

    def factorise() -> Sequence[Scalar]:
        transposed_matrix, factors = _transposed_copy(job, b.imax(q.columns, a.columns))
        job.emit_loop(0, a.columns, lambda j: job.store(zero, order, j), is_vectorisable=False)
        room = (a.columns + 1) * WORK_COLUMNS
        last = (job.elements(room), room, *([job.work(a.columns * 2)] if job.op.is_complex else []))
        failure = job.call("geqp3", a.rows, a.columns, transposed_matrix, a.rows, order, factors, *last)
        job.emit_loop(0, a.columns, lambda j: job.store(job.load(order, j) - one, order, j), is_vectorisable=False)
        _upper(job, transposed_matrix, r)
        return [b.maximum(failure, _orthogonal(job, transposed_matrix, factors, q))]

    return b.branch(has_elements(job, a), factorise, nothing)[0]


def _factorise_copy(job: Job, lines: Extent) -> tuple[Matrix, Matrix, Scalar]:
    """Copy Aᵀ into a workspace of `lines` rows and call geqrf: (workspace, scales of the reflectors, failure)."""
    a, room = job.operand(0), job.operand(0).columns * WORK_COLUMNS
    transposed_matrix, factors = _transposed_copy(job, lines)
    arguments = (a.rows, a.columns, transposed_matrix, a.rows, factors, job.elements(room), room)
    return transposed_matrix, factors, job.call("geqrf", *arguments)


def _transposed_copy(job: Job, lines: Extent) -> tuple[Matrix, Matrix]:
    """Copy Aᵀ into a workspace of `lines` rows; return it with memory for the scales of the reflectors."""
    a = job.operand(0)
    transposed_matrix, factors = job.elements(lines, a.rows), job.elements(job.b.imin(a.rows, a.columns))
    job.copy_transposed(a, transposed_matrix)
    return transposed_matrix, factors


def _upper(job: Job, transposed_matrix: Matrix, r: Matrix) -> None:
    """Emit r = the upper triangle of the factorized matrix, whose columns are the rows of `transposed_matrix`."""
    b = job.b
    zero = b.constant(0.0, r.dtype)

    def row(i: Scalar) -> None:
        filled = b.imin(i, r.columns)
        job.emit_loop(0, filled, lambda j: job.set(r, (i, j), zero))
        job.emit_loop(filled, r.columns, lambda j: job.move(transposed_matrix, (j, i), r, (i, j)))

    job.emit_loop(0, r.rows, row)


def _orthogonal(job: Job, transposed_matrix: Matrix, factors: Matrix, q: Matrix) -> Scalar:
    """Emit q = the product of the reflectors that geqrf returned, with q's number of columns."""
    rows, columns = q.rows, q.columns
    room = columns * WORK_COLUMNS
    arguments = (rows, columns, factors.rows, transposed_matrix, rows, factors, job.elements(room), room)
    failure = job.call("ungqr" if job.op.is_complex else "orgqr", *arguments)
    extents = (columns, rows, *q.extents[2:])
    job.copy_transposed(Matrix(transposed_matrix.buffer, transposed_matrix.start, extents, q.dtype), q)
    return failure
