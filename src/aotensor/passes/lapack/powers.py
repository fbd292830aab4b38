"""Powers of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.lapack.job import Job


def square_repeatedly(job: Job) -> Scalar:
    """A, s → A^(2^s), by s squarings."""
    b = job.b
    power, square = (job.work(*job.operand(0).extents) for _ in range(2))
    job.copy(job.operand(0), power)

    def step(_: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        job.multiply(power, power, square)
        job.copy(square, power)
        return carried

    b.loop(0, b.cast(job.load(job.operand(1), 0), "index"), (), step, is_vectorisable=False)
    job.copy(power, job.result())
    return b.constant(0, "int64")
