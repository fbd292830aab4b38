"""Limits of the machine, measured by our own kernels: bytes, random accesses, and operations per second.

The roofline model: a call takes at least the time for its bytes, and at least that for its operations (Williams,
Waterman & Patterson 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from aotensor.api.cost.clock import time_calls
from aotensor.driver.cache import load_compiled
from aotensor.driver.definition import Definition
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.symbols import tensor

_STREAM: Final = 1 << 22
"""Elements of each of the three arrays: 96 MB together, more than caches hold."""
_GATHERED: Final = 1 << 20
"""Random accesses to an array of `_STREAM` elements."""
RESIDENT: Final = 1 << 17
"""Elements that stay in cache."""
EDGE: Final = 512
"""Rows and columns of the matrices that are multiplied."""
_DEGREE: Final = 16
"""Multiply-adds per element of a chain."""
_CHAINS: Final = 8
"""Independent chains: they hide the latency of a multiply-add."""
CHAIN_FLOPS: Final = 2 * _CHAINS * _DEGREE
"""Operations per element."""
PRODUCT_FLOPS: Final = 2 * EDGE**3


@dataclass(frozen=True)
class Limits:
    """Rates of float64 at one number of threads: bytes per second of a stream through memory, operations per second of
    multiply-adds and of a matrix product, and elements per second that are read at random places of memory.

    The product is one of `EDGE` rows, by our own kernel; BLAS takes over at larger ones.
    """

    bandwidth: float
    flops: float
    products: float
    gathers: float

    def least_seconds(self, bytes: float, flops: float, has_products: bool) -> float:
        """A lower bound on the seconds of a call, by bytes moved and operations (a roofline)."""
        return max(bytes / self.bandwidth, flops / (max(self.flops, self.products) if has_products else self.flops))


def measured_limits(threads: Sequence[int], seconds: float) -> dict[int, Limits]:
    """Number of threads → measured limits."""
    stream, chains, product, gather = stream_of(), chains_of(), product_of(), gather_of()
    places = np.random.default_rng(0).integers(0, _STREAM, _GATHERED).astype("int32")
    calls: dict[Any, Any] = {}
    for count in threads:
        x, y = np.ones(_STREAM), np.ones(_STREAM)
        A = np.full((EDGE, EDGE), 0.5)
        calls["stream", count] = bound(stream, count, x=x, y=y)
        calls["chains", count] = bound(chains, count, x=np.full(RESIDENT, 0.5))
        calls["product", count] = bound(product, count, x=A, y=A.copy())
        calls["gather", count] = bound(gather, count, x=x, places=places)
    times = {key: timing.best for key, timing in time_calls(calls, seconds).items()}
    return {
        count: Limits(
            bandwidth=24.0 * _STREAM / times["stream", count],
            flops=CHAIN_FLOPS * RESIDENT / times["chains", count],
            products=PRODUCT_FLOPS / times["product", count],
            gathers=_GATHERED / times["gather", count],
        )
        for count in threads
    }


def bound(f: Definition, threads: int | None, **arrays: Any) -> Any:
    """The compiled function bound to these arrays.   threads: None for the default of calls"""
    return load_compiled(f).bind(**arrays, num_threads=threads)


def stream_of() -> Definition:
    """A stream kernel: two arrays are read, one is written."""
    x, y = tensor("x", "float64", ("n",)), tensor("y", "float64", ("n",))
    return Definition([x, y], 3.0 * x + y, name="stream")


def read_of() -> Definition:
    """A read kernel: one array is read, and nothing is written."""
    x = tensor("x", "float64", ("n",))
    return Definition([x], sum_over(x), name="read_all")


def streams_over(total: int, threads: int) -> dict[str, tuple[Any, int]]:
    """Calls that stream over `total` bytes, by name, with the bytes that each moves: caches are faster than memory.

    A read alone is faster than a stream that also writes, as the processor reads what is written first.
    """
    n = max(total // 24, 1)
    x, y = np.ones(n), np.ones(n)
    return {
        "stream": (bound(stream_of(), threads, x=x, y=y), 24 * n),
        "read": (bound(read_of(), threads, x=np.ones(3 * n)), 24 * n),
    }


def chains_of(dtype: str = "float64") -> Definition:
    """Independent polynomials of each element."""
    x = tensor("x", dtype, ("n",))
    chains = [x + np.dtype(dtype).type(0.1 * k) for k in range(_CHAINS)]
    for _ in range(_DEGREE):
        chains = [chain * x + np.dtype(dtype).type(0.25) for chain in chains]
    total = chains[0]
    for chain in chains[1:]:
        total = total + chain
    return Definition([x], total, name="chains")


def product_of(dtype: str = "float64") -> Definition:
    """A product of two matrices."""
    x, y = tensor("x", dtype, ("n", "k")), tensor("y", dtype, ("k", "m"))
    return Definition([x, y], x @ y, name="product")


def gather_of(rank: int = 1, integers: str = "int32") -> Definition:
    """A gather kernel: the sum of the rows of an array at given positions."""
    x = tensor("x", "float64", ("n", *("k",) * (rank - 1)))
    places = tensor("places", integers, ("m",))
    return Definition([x, places], x[places].sum(axis=0), name="gather")
