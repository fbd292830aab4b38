"""Fourier transforms beside scipy.fft on one core, in turns: `python benchmarks/fourier.py`, one row per size.

Results are compared first. us: the smallest time of a call; a ratio below 1 is faster than SciPy.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft

import aotensor as aot
import aotensor.tensor as at

SIZES = ((1, 64), (64, 64), (64, 256), (64, 1000), (64, 1024), (1, 4096), (1, 65536), (16, 1009), (4, 360360))
"""(batch, length): powers of two, products of small primes, and a prime."""
TURNS = 100


def smallest(runs: list[Callable[[], Any]], turns: int = TURNS) -> list[float]:
    """The smallest time of each, in turns, in seconds."""
    found = [float("inf")] * len(runs)
    for _ in range(turns):
        for k, run in enumerate(runs):
            start = time.perf_counter()
            run()
            found[k] = min(found[k], time.perf_counter() - start)
    return found


def row(batch: int, n: int) -> str:
    """One line of the table: sizes, times, ratio, errors relative to the norm, in units of 2^-53."""
    z = at.tensor("z", dtype="complex128", shape=(batch, n))
    with tempfile.TemporaryDirectory() as folder:
        call = aot.compile([aot.function([z], at.fft(z), name="fft")], folder).load().functions["fft"].with_threads(1)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(batch, n)) + 1j * rng.normal(size=(batch, n))
    exact = scipy.fft.fft(x.astype(np.clongdouble))
    errors = [np.linalg.norm(y - exact) / np.linalg.norm(exact) * 2.0**53 for y in (call(x), scipy.fft.fft(x))]
    ours, theirs = smallest(
        [lambda: call(x), lambda: scipy.fft.fft(x, workers=1)], max(5, TURNS * 10000 // (batch * n))
    )
    times = f"{ours * 1e6:9.1f} {theirs * 1e6:9.1f} {ours / theirs:6.2f}"
    return f"{batch:5} {n:7} {times}   {float(errors[0]):6.2f} {float(errors[1]):6.2f}"


if __name__ == "__main__":
    print("batch  length   ours us  scipy us  ratio   error  scipy")
    for batch, n in SIZES:
        print(row(batch, n), flush=True)
