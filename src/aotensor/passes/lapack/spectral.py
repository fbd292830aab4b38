"""Eigenvalue and singular value decompositions.

LAPACK sees the transpose of a row-major matrix. That of a Hermitian matrix is its conjugate with its triangles
exchanged; the eigenvectors, which LAPACK returns as columns, are here the rows of Vᴴ. A row-major A = U·S·Vᴴ is
Aᵀ = V̄·S·Uᵀ to LAPACK: its V̄ is Vᴴ here, and its Uᵀ is U. Phases of complex vectors are left as they are.

A matrix that is not finite gives nan without a LAPACK call: LAPACK answers some of them with nan, others with an error,
and some with a message on the screen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aotensor.core import dtypes
from aotensor.ir.index_builder import Extent
from aotensor.ir.scalar_builder import Scalar
from aotensor.ops.linalg.signs import NOT_SMALL
from aotensor.passes.lapack.job import WORK_COLUMNS, Job, Matrix


def eigh(job: Job) -> Scalar:
    """Lower `eigh`: a Hermitian matrix → its eigenvalues, ascending, and Vᴴ."""
    vectors = job.result(1)
    n = vectors.rows
    room = 1 + n * (6 + WORK_COLUMNS) + n * n * 2

    def decompose() -> Scalar:
        job.copy(job.operand(0), vectors)
        failure = _syevd(job, "V", vectors, room, 3 + n * 5)
        if not job.op.is_complex:
            job.emit_loop(0, n, lambda i: _fix_sign(job, Line(vectors, i), []), is_vectorisable=False)
        return failure

    return call_if_finite(job, decompose, _triangle(job))


def eigvalsh(job: Job) -> Scalar:
    """Lower `eigvalsh`: a Hermitian matrix → its eigenvalues, ascending."""
    a = job.operand(0)
    copy = job.work(*a.extents)

    def decompose() -> Scalar:
        job.copy(a, copy)
        return _syevd(job, "N", copy, 1 + a.rows * (2 + WORK_COLUMNS), 1)

    return call_if_finite(job, decompose, _triangle(job))


def _syevd(job: Job, vectors: str, a: Matrix, room: Extent, integers: Extent) -> Scalar:
    triangle, n = "U" if job.op.option("is_lower") else "L", a.rows
    work, whole = job.elements(room), job.work(integers, dtype="int32")
    if not job.op.is_complex:
        return job.call("syevd", vectors, triangle, n, a, n, job.result(0), work, room, whole, integers)
    reals = 1 + (n * 5 + n * n * 2)
    last = (work, room, job.work(reals), reals, whole, integers)
    return job.call("heevd", vectors, triangle, n, a, n, job.result(0), *last)


def _triangle(job: Job) -> Callable[[Scalar], tuple[Extent, Extent]]:
    """A function from a row to the range of its columns in the triangle that LAPACK reads."""
    n = job.operand(0).columns
    return (lambda i: (0, i + 1)) if job.op.option("is_lower") else (lambda i: (i, n))


def call_if_finite(
    job: Job,
    decompose: Callable[[], Scalar],
    read: Callable[[Scalar], tuple[Extent, Extent]] | None = None,
    count: int = 1,
) -> Scalar:
    """Call `decompose` if the first `count` operands are finite; else fill results with nan, integers with 0.

    read: function from a row to the range of its columns that is tested, by default all columns.
    """
    b = job.b
    greatest = b.constant(float(np.finfo(job.dtype).max), job.dtype)
    is_finite = b.constant(True, "bool")
    for operand in (job.operand(k) for k in range(count)):

        def row(i: Scalar, carried: list[Scalar], operand: Matrix = operand) -> Sequence[Scalar]:
            a, size = job.numbers(operand), len(operand.parts)

            def element(j: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
                return [carried[0] & (b.abs(job.load(a, i, j)) <= greatest)]

            start, stop = read(i) if read else (0, operand.columns)
            return b.loop(start * size, stop * size, carried, element)

        (is_finite,) = b.loop(0, operand.rows, [is_finite], row)

    def nothing() -> Sequence[Scalar]:
        for k in range(len(job.op.tensors)):
            result = job.result(k)
            job.fill(result, math.nan if dtypes.is_float(result.dtype) else 0)
        return [b.constant(0, "int64")]

    return b.branch(is_finite, lambda: [decompose()], nothing)[0]


def svd(job: Job) -> Scalar:
    """Lower `svd`: A → U with min(m, n) columns, S, and Vᴴ with min(m, n) rows."""
    u, s, vt = (job.result(k) for k in range(3))
    return _gesdd(job, "S", u, s, vt)


def full_svd(job: Job) -> Scalar:
    """Lower `full_svd`: A → U and Vᴴ square, and S. If A has no elements, U and Vᴴ are identities."""
    b, a = job.b, job.operand(0)
    u, s, vt = (job.result(k) for k in range(3))

    def identities() -> Sequence[Scalar]:
        identity(job, u)
        identity(job, vt)
        return [b.constant(0, "int64")]

    return b.branch(has_elements(job, a), lambda: [_gesdd(job, "A", u, s, vt)], identities)[0]


def singular_values(job: Job) -> Scalar:
    """Lower `singular_values`: A → its singular values S."""
    nothing = job.elements(1)
    return _gesdd(job, "N", nothing, job.result(), nothing)


def _gesdd(job: Job, vectors: str, u: Matrix, s: Matrix, vt: Matrix) -> Scalar:
    b, a = job.b, job.operand(0)
    rows, columns = a.rows, a.columns
    k, most = b.imin(rows, columns), b.imax(rows, columns)
    square = k * k * 7
    least = square + (k * 10 + most)  # of any of the three, in every LAPACK
    room = least + (rows + columns) * WORK_COLUMNS
    copy, work, whole = job.work(*a.extents), job.elements(room), job.work(k * 8, dtype="int32")

    def decompose() -> Scalar:
        job.copy(a, copy)
        reals = [job.work(square + k * (most * 2 + 7))] if job.op.is_complex else []
        failure = job.call(
            "gesdd", vectors, columns, rows, copy, columns, s, vt, vt.columns, u, u.columns, work, room, *reals, whole
        )  # fmt: skip
        if vectors != "N" and not job.op.is_complex:
            _fix_signs(job, u, vt, k)
        return failure

    return call_if_finite(job, decompose)


# --- signs, as in ops.linalg.signs -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A row of a matrix, or a column of it."""

    matrix: Matrix
    number: Extent
    is_column: bool = False

    @property
    def length(self) -> Extent:
        return self.matrix.rows if self.is_column else self.matrix.columns

    def indices(self, position: Extent) -> tuple[Extent, Extent]:
        """The row and the column of the line's element at a position."""
        return (position, self.number) if self.is_column else (self.number, position)


def _fix_signs(job: Job, u: Matrix, vt: Matrix, k: Extent) -> None:
    """Fix the signs of columns of u with the rows of vt, and the signs of remaining rows or columns alone."""
    job.emit_loop(0, k, lambda j: _fix_sign(job, Line(u, j, True), [Line(vt, j)]), is_vectorisable=False)
    job.emit_loop(k, u.columns, lambda j: _fix_sign(job, Line(u, j, True), []), is_vectorisable=False)
    job.emit_loop(k, vt.rows, lambda j: _fix_sign(job, Line(vt, j), []), is_vectorisable=False)


def _fix_sign(job: Job, line: Line, partners: Sequence[Line]) -> None:
    """Negate the line, and its partners, if its first element that is not small is negative."""
    b = job.b

    def size(position: Scalar) -> Scalar:
        return b.abs(job.load(line.matrix, *line.indices(position)))

    def larger(position: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        return [b.maximum(carried[0], size(position))]

    (largest,) = b.loop(0, line.length, [b.constant(0.0, job.dtype)], larger)
    limit = largest * NOT_SMALL

    def search(position: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        is_found, is_negative = carried
        is_here = ~is_found & (size(position) >= limit)
        is_below = job.load(line.matrix, *line.indices(position)) < 0.0
        return [is_found | is_here, b.select(is_here, is_below, is_negative)]

    no = b.constant(False, "bool")
    _, is_negative = b.loop(0, line.length, [no, no], search, is_vectorisable=False)

    def negate() -> Sequence[Scalar]:
        for one in (line, *partners):
            _negate(job, one)
        return ()

    b.branch(is_negative, negate, lambda: ())


def _negate(job: Job, line: Line) -> None:
    def element(position: Scalar) -> None:
        indices = line.indices(position)
        job.store(-job.load(line.matrix, *indices), line.matrix, *indices)

    job.emit_loop(0, line.length, element)


# --- what is empty ---------------------------------------------------------------------------------------------------


def has_elements(job: Job, x: Matrix) -> Scalar:
    """Emit the test whether all extents of x are nonzero."""
    b = job.b
    return b.index(b.imin(x.rows, x.columns)) > 0


def identity(job: Job, x: Matrix) -> None:
    """Emit x = the identity matrix: 1 on the diagonal, 0 elsewhere."""
    b = job.b
    zero, one = b.constant(0.0, x.dtype), b.constant(1.0, x.dtype)

    def element(at: list[Scalar]) -> None:
        for part in x.parts:
            job.store(zero if 1 in part else b.select(b.compare("eq", *at), one, zero), x, *at, *part)

    b.nest([x.rows, x.columns], element)
