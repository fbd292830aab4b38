"""What the machine can do, measured by kernels of our own: bytes from memory, and multiply-adds, per second.

The roofline model: a call takes at least the time for its bytes, and at least that for its operations (Williams,
Waterman & Patterson 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.cache import load_compiled
from aotensor_cli.benching.clock import timed

_STREAM: Final = 1 << 22
"""Elements of each of the three arrays: 96 MB together, more than caches hold."""
_RESIDENT: Final = 1 << 17
"""Elements that stay in cache."""
_DEGREE: Final = 32
"""Multiply-adds per element of a chain; four chains stand side by side."""


@dataclass(frozen=True)
class Limits:
    """Bytes per second of a stream through memory, and operations on float64 per second, on so many threads."""

    bandwidth: float
    flops: float

    def least_seconds(self, bytes: float, flops: float) -> float:
        """What a call of so much work takes at least."""
        return max(bytes / self.bandwidth, flops / self.flops)


def measured_limits(threads: Sequence[int], seconds: float) -> dict[int, Limits]:
    """The limits for each number of threads."""
    stream, chains = _stream(), _chains()
    calls: dict[Any, Any] = {}
    for count in threads:
        x, y = np.ones(_STREAM), np.ones(_STREAM)
        calls["stream", count] = _bound(stream, count, x=x, y=y)
        calls["chains", count] = _bound(chains, count, x=np.full(_RESIDENT, 0.5))
    times = timed(calls, seconds)
    return {
        count: Limits(
            24.0 * _STREAM / times["stream", count].best, 8.0 * _DEGREE * _RESIDENT / times["chains", count].best
        )
        for count in threads
    }


def _bound(f: aot.Function, threads: int, **arrays: Any) -> Any:
    return load_compiled(f).bind(**arrays, num_threads=threads)


def _stream() -> aot.Function:
    x, y = at.vector("x", shape=("n",)), at.vector("y", shape=("n",))
    return aot.function([x, y], 3.0 * x + y, name="stream")


def _chains() -> aot.Function:
    """Four polynomials, side by side to hide the latency of a multiply-add."""
    x = at.vector("x", shape=("n",))
    chains = [x + 0.1 * k for k in range(4)]
    for _ in range(_DEGREE):
        chains = [chain * x + 0.25 for chain in chains]
    return aot.function([x], chains[0] + chains[1] + chains[2] + chains[3], name="chains")
