"""Schur forms of matrices and pencils, which are stored by columns.

Loops here select the eigenvalues that come first, and trsen or tgsen reorders them: so LAPACK needs no callback. The
conditions are SciPy's, which treat the boundary differently for one matrix and for a pencil.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.lapack.job import WORK_COLUMNS, Job, Matrix
from aotensor.passes.lapack.spectral import call_if_finite

_OF_MATRICES: Final[Mapping[str, str]] = {"lhp": "lt", "rhp": "ge", "iuc": "le", "ouc": "gt"}
_OF_PENCILS: Final[Mapping[str, str]] = {"lhp": "lt", "rhp": "gt", "iuc": "lt", "ouc": "gt"}
"""The comparison of the real part with 0, or of the absolute value with 1."""


def schur(job: Job) -> Scalar:
    """Lower `schur`: A → T and Z with A = Z·T·Zᴴ, where a real T has 2 × 2 blocks for pairs of complex eigenvalues."""
    return call_if_finite(job, lambda: _gees(job, _Values(job)))


def sorted_schur(job: Job) -> Scalar:
    """Lower `sorted_schur`: A → T, Z and c with A = Z·T·Zᴴ.

    Eigenvalues that `sort` selects come first; for them c is 1.
    """
    return call_if_finite(job, lambda: _sorted_gees(job, _Values(job)))


def qz(job: Job) -> Scalar:
    """Lower `qz`: A, B → S, T, α, β, Q, Z with A = Q·S·Zᴴ and B = Q·T·Zᴴ, sorted by `sort` unless that is ""."""
    return call_if_finite(job, lambda: _gges(job, _Values(job)), count=2)


class _Values:
    """Eigenvalues, or their numerators, in LAPACK's layout: separate real and imaginary parts, or complex numbers."""

    def __init__(self, job: Job) -> None:
        self._job, self.is_complex = job, job.op.is_complex
        n = job.operand(0).rows
        self.arrays = [job.elements(n)] if self.is_complex else [job.work(n), job.work(n)]

    def load(self, k: Scalar) -> tuple[Scalar, Scalar]:
        """Load the real and the imaginary part of eigenvalue k."""
        job, first = self._job, self.arrays[0]
        if self.is_complex:
            return job.load(first, k, 0), job.load(first, k, 1)
        return job.load(first, k), job.load(self.arrays[1], k)


def _gees(job: Job, values: _Values) -> Scalar:
    t, z, n = job.result(0), job.result(1), job.operand(0).rows
    job.copy(job.operand(0), t)
    none, found, chosen = (job.work(extent, dtype="int32") for extent in (1, 1, n))
    room = n * WORK_COLUMNS
    work, real = job.elements(room), [job.work(n)] if values.is_complex else []
    arguments = ("V", "N", none, n, t, n, found, *values.arrays, z, n, work, room, *real, chosen)
    return job.call("gees", *arguments)


def _sorted_gees(job: Job, values: _Values) -> Scalar:
    """Reorder the Schur form. Fails if two eigenvalues cannot be swapped, or one crosses the boundary by rounding."""
    b, t, z, chosen, n = job.b, job.result(0), job.result(1), job.result(2), job.operand(0).rows
    is_chosen = _condition(job, _OF_MATRICES)
    failure = _gees(job, values)

    def choose(k: Scalar, carried: Sequence[Scalar]) -> Sequence[Scalar]:
        """Store whether eigenvalue k is selected; track whether all selected eigenvalues come first."""
        (are_first, was_chosen) = carried
        one = is_chosen(*values.load(k))
        job.store(b.cast(one, "int32"), chosen, k)
        return [are_first & (was_chosen | ~one), one]

    def move() -> Sequence[Scalar]:
        b.loop(0, n, [true, true], choose, is_vectorisable=False)
        found, left, right = job.work(1, dtype="int32"), job.work(1), job.work(1)
        integers: list[Matrix | int] = [] if values.is_complex else [job.work(1, dtype="int32"), 1]
        arguments = (chosen, n, t, n, z, n, *values.arrays, found, left, right, job.elements(n), n, *integers)
        moved = job.call("trsen", "N", "V", *arguments)
        are_first, _ = b.loop(0, n, [true, true], choose, is_vectorisable=False)
        return [b.maximum(moved, b.select(are_first, none, b.constant(1, "int64")))]

    true, none = b.constant(True, "bool"), b.constant(0, "int64")
    return b.branch(b.compare("eq", failure, none), move, lambda: [failure])[0]


def _gges(job: Job, values: _Values) -> Scalar:
    """Compute and reorder the Schur form of a pencil. Fails if two eigenvalues cannot be swapped."""
    b, n, of_complex = job.b, job.operand(0).rows, values.is_complex
    s, t, alpha, beta, q, z = (job.result(k) for k in range(6))
    job.copy(job.operand(0), s)
    job.copy(job.operand(1), t)
    pencil, vectors = (n, s, n, t, n), (q, n, z, n)
    none, found, chosen = (job.work(extent, dtype="int32") for extent in (1, 1, n))
    room = n * WORK_COLUMNS + 16
    work, real = job.elements(room), [job.work(n * 8)] if of_complex else []
    arguments = (none, *pencil, found, *values.arrays, beta, *vectors, work, room, *real, chosen)
    failure = job.call("gges", "V", "V", "N", *arguments)
    sort = job.op.option("sort")

    def move() -> Sequence[Scalar]:
        is_chosen = _condition(job, _OF_PENCILS)
        zero = b.constant(0.0, job.dtype)

        def choose(k: Scalar) -> None:
            (x, y), scale = values.load(k), job.load(beta, k, *([0] if of_complex else []))  # which is never negative
            one = b.compare("ne", scale, zero) & is_chosen(x / scale, y / scale)
            if sort == "ouc":
                is_infinite = b.compare("eq", scale, zero) & ~(_is(x, zero) & _is(y, zero))
                one = one | is_infinite
            job.store(b.cast(one, "int32"), chosen, k)

        def _is(x: Scalar, y: Scalar) -> Scalar:
            return b.compare("eq", x, y)

        job.emit_loop(0, n, choose, is_vectorisable=False)
        left, right, difference, integers = job.work(1), job.work(1), job.work(2), job.work(1, dtype="int32")
        arguments = (chosen, *pencil, *values.arrays, beta, *vectors, found, left, right, difference, work, room)
        return [job.call("tgsen", 0, 1, 1, *arguments, integers, 1)]

    if sort:
        is_there = b.compare("eq", failure, b.constant(0, "int64"))
        failure = b.branch(is_there, move, lambda: [failure])[0]

    def numerator(k: Scalar) -> None:
        for part, value in enumerate(values.load(k)):
            job.store(value, alpha, k, part)

    job.emit_loop(0, n, numerator, is_vectorisable=False)
    return failure


def _condition(job: Job, border: Mapping[str, str]) -> Callable[[Scalar, Scalar], Scalar]:
    """Return the predicate on an eigenvalue x + i·y by which the Schur form is sorted: does it come first?"""
    b, sort = job.b, str(job.op.option("sort"))

    def is_chosen(x: Scalar, y: Scalar) -> Scalar:
        if sort in ("lhp", "rhp"):
            return b.compare(border[sort], x, b.constant(0.0, job.dtype))
        # the square root rounds numbers close to 1 to 1, as hypot does
        size = b.math("sqrt", x * x + y * y)
        return b.compare(border[sort], size, b.constant(1.0, job.dtype))

    return is_chosen
