"""The pullback of a Cholesky factor, block by block: 2/3·n³ operations, where the formula takes 3·n³.

For each diagonal block D of L with the blocks around it, from the last to the first; L̄ is overwritten by Ā:

    R D        C̄ ← C̄·D⁻¹           B̄ ← B̄ − C̄·R
    B C        D̄ ← D̄ − C̄ᵀ·C        D̄ ← fold(D⁻ᵀ·Φ(Dᵀ·D̄)·D⁻¹)
               R̄ ← R̄ − C̄ᵀ·B − (D̄ + D̄ᵀ)·R

Source: Murray, Differentiation of the Cholesky decomposition (2016), algorithm for blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from aotensor.ir.index_builder import Extent
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.lapack.job import Job, Matrix
from aotensor.passes.lapack.triangle import call_triangular

_BLOCK: Final = 32  # rows of a diagonal block: smaller blocks make the products too small


def cholesky_pullback(job: Job) -> Scalar:
    """Lower `cholesky_pullback`: L and its cotangent L̄ → Ā, lower triangles with zeros above the diagonal."""
    b = job.b
    factor, given, derivative = job.operand(0), job.operand(1), job.result()
    n = factor.rows
    zero = b.constant(0.0, job.dtype)

    def row(i: Scalar) -> None:
        above = i + 1
        if not job.is_same(given, derivative):
            job.emit_loop(0, above, lambda j: job.store(job.load(given, i, j), derivative, i, j))
        job.emit_loop(above, n, lambda j: job.store(zero, derivative, i, j))

    job.emit_loop(0, n, row)
    width = b.imin(n, _BLOCK)
    work = job.work(width, width)
    count = (n + (_BLOCK - 1)) // _BLOCK

    def step(k: Scalar) -> None:
        start = (count - 1 - k) * _BLOCK
        _pull_block(job, factor, derivative, work, (start, b.imin(start + _BLOCK, n)))

    job.emit_loop(0, count, step, is_vectorisable=False)
    return b.constant(0, "int64")


def _pull_block(job: Job, factor: Matrix, derivative: Matrix, work: Matrix, rows: tuple[Extent, Extent]) -> None:
    """Propagate the cotangent of one diagonal block of L to the blocks left of it and above."""
    n, before = factor.rows, (0, rows[0])
    below = (rows[1], n)
    d, c, r, left = (
        job.block(factor, *where) for where in ((rows, rows), (below, rows), (rows, before), (below, before))
    )
    d_, c_, r_, left_ = (
        job.block(derivative, *where) for where in ((rows, rows), (below, rows), (rows, before), (below, before))
    )
    has_left, has_below = (_is_some(job, x) for x in (rows[0], c.rows))
    both = has_left & has_below

    def from_below() -> None:
        call_triangular(job, "trsm", d, c_, is_left=False, is_lower=True)
        _subtract_product(job, d_, c_, c, is_transposed=True)

    _emit_if(job, has_below, from_below)
    _emit_if(job, both, lambda: _subtract_product(job, left_, c_, r))
    size = (0, d.rows)
    symmetric = _pull_diagonal(job, d, d_, job.block(work, size, size))
    _emit_if(job, both, lambda: _subtract_product(job, r_, c_, left, is_transposed=True))
    _emit_if(job, has_left, lambda: _subtract_product(job, r_, symmetric, r))


def _pull_diagonal(job: Job, d: Matrix, derivative: Matrix, work: Matrix) -> Matrix:
    """Emit D̄ ← fold(S) with S = D⁻ᵀ·Φ(Dᵀ·D̄)·D⁻¹, zeros above the diagonal; returns S + Sᵀ, which is D̄ + D̄ᵀ."""
    b = job.b
    zero, half = b.constant(0.0, job.dtype), b.constant(0.5, job.dtype)

    def lower_part(source: Matrix, diagonal: Callable[[Scalar], Scalar]) -> None:
        def row(i: Scalar) -> None:
            job.emit_loop(0, i, lambda j: job.store(job.load(source, i, j), work, i, j))
            job.store(diagonal(job.load(source, i, i)), work, i, i)
            job.emit_loop(i + 1, d.rows, lambda j: job.store(zero, work, i, j))

        job.emit_loop(0, d.rows, row)

    lower_part(derivative, lambda x: x)
    call_triangular(job, "trmm", d, work, is_lower=True, is_transposed=True)
    lower_part(work, lambda x: x * half)
    call_triangular(job, "trsm", d, work, is_lower=True, is_transposed=True)
    call_triangular(job, "trsm", d, work, is_left=False, is_lower=True)

    def fold(i: Scalar) -> None:
        def element(j: Scalar) -> None:
            total = job.load(work, i, j) + job.load(work, j, i)
            for target, at in ((work, (i, j)), (work, (j, i)), (derivative, (i, j))):
                job.store(total, target, *at)
            job.store(zero, derivative, j, i)

        job.emit_loop(0, i, element, is_vectorisable=False)
        diagonal = job.load(work, i, i)
        job.store(diagonal, derivative, i, i)
        job.store(diagonal + diagonal, work, i, i)

    job.emit_loop(0, d.rows, fold)
    return work


def _subtract_product(job: Job, c: Matrix, a: Matrix, x: Matrix, is_transposed: bool = False) -> None:
    """Emit c ← c − op(a)·x."""
    inner = a.rows if is_transposed else a.columns
    job.call(
        "gemm", "N", "T" if is_transposed else "N", c.columns, c.rows, inner, -1.0, x, x.lead, a, a.lead, 1.0, c, c.lead
    )  # fmt: skip


def _is_some(job: Job, n: Extent) -> Scalar:
    return job.b.index(n) > 0


def _emit_if(job: Job, condition: Scalar, body: Callable[[], None]) -> None:
    """Emit `body` under a condition."""

    def branch() -> Sequence[Scalar]:
        body()
        return ()

    job.b.branch(condition, branch, lambda: ())
