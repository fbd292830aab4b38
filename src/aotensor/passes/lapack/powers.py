"""Powers of matrices."""

from __future__ import annotations

from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.lapack.job import Job


def square_repeatedly(job: Job) -> Scalar:
    """Lower `square_repeatedly`: A, s → A^(2^s), by s squarings."""
    b, power = job.b, job.result()
    n = power.rows
    square = job.work(n, n)
    job.copy(job.operand(0), power)

    def step(_: Scalar) -> None:
        job.call("gemm", "N", "N", n, n, n, 1.0, power, n, power, n, 0.0, square, n)
        job.copy(square, power)

    job.emit_loop(0, b.cast(job.load(job.operand(1), 0), "index"), step, is_vectorisable=False)
    return b.constant(0, "int64")
