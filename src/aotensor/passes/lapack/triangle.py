"""Solves and products with a triangular matrix by LAPACK.

LAPACK sees a row-major n × k matrix B as Bᵀ, and A as Aᵀ. So A·X = B is posed as Xᵀ·Aᵀ = Bᵀ: the side changes, lower
becomes upper, and the transposition flag stays. A vector has the same memory as a column and as a row; as a column it
keeps the side, and the transposition flag changes instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.lapack.job import Job, Matrix


def solve_triangular(job: Job) -> Scalar:
    """Lower `solve_triangular`: A, B → X with op(A)·X = B or X·op(A) = B.

    Fails at the first zero of the diagonal, unless `is_unit`.
    """
    a, x = job.operand(0), job.result()
    if job.op.option("is_unit"):
        job.copy(job.operand(1), x)
        return call_triangular(job, "trsm", a, x, **_shape_of(job))
    zero = job.b.constant(0.0, a.dtype)
    singular = first_on_diagonal(job, a, lambda x: job.b.compare("eq", x, zero))

    def solve() -> Sequence[Scalar]:
        job.copy(job.operand(1), x)
        return [call_triangular(job, "trsm", a, x, **_shape_of(job))]

    is_regular = job.b.compare("eq", singular, job.b.constant(0, "int64"))
    return job.b.branch(is_regular, solve, lambda: [singular])[0]


def multiply_triangular(job: Job) -> Scalar:
    """Lower `multiply_triangular`: A, B → op(A)·B or B·op(A)."""
    job.copy(job.operand(1), job.result())
    return call_triangular(job, "trmm", job.operand(0), job.result(), **_shape_of(job))


def _shape_of(job: Job) -> dict[str, bool]:
    names = ("is_left", "is_lower", "is_transposed", "is_unit")
    return {name: bool(job.op.option(name)) for name in names}


def call_triangular(
    job: Job,
    routine: str,
    a: Matrix,
    x: Matrix,
    *,
    is_left: bool = True,
    is_lower: bool,
    is_transposed: bool = False,
    is_unit: bool = False,
) -> Scalar:
    """Call trsm or trmm for row-major matrices; the result replaces x."""
    uplo, diagonal = "U" if is_lower else "L", "U" if is_unit else "N"
    if len(x.extents) == 1:
        transposition = "N" if is_transposed else "T"
        return job.call(routine, "L", uplo, transposition, diagonal, x.rows, 1, 1.0, a, a.lead, x, x.rows)
    side, transposition = "R" if is_left else "L", "T" if is_transposed else "N"
    return job.call(routine, side, uplo, transposition, diagonal, x.columns, x.rows, 1.0, a, a.lead, x, x.lead)


def first_on_diagonal(job: Job, a: Matrix, is_meant: Callable[[Scalar], Scalar]) -> Scalar:
    """The position of the first diagonal element that satisfies a predicate, counted from 1; 0 if there is none."""
    b = job.b
    none = b.constant(0, "int64")

    def step(i: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        (found,) = carried
        is_first = b.compare("eq", found, none) & is_meant(job.load(a, i, i))
        return [b.select(is_first, b.cast(i, "int64") + 1, found)]

    return b.loop(0, a.rows, [none], step, is_vectorisable=False)[0]
