"""Processor time of contenders in turns, so that other work on the machine slows all of them alike."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Times:
    """Microseconds of a call.   spread: from the first to the third quartile of the turns"""

    median: float
    spread: tuple[float, float]

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.spread[0]:.2f} to {self.spread[1]:.2f})"


def measured(contenders: Mapping[str, Callable[[int], None]], turns: int = 101, seconds: float = 0.004) -> list[Times]:
    """Time contenders in turns; each makes the given number of calls.   seconds: of one turn of one contender"""
    counts = {}
    for name, run in contenders.items():
        run(10)
        start = time.process_time()
        run(1000)
        counts[name] = max(int(1000 * seconds / (time.process_time() - start)), 10)
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, run in contenders.items():
            start = time.process_time()
            run(counts[name])
            found[name].append(1e6 * (time.process_time() - start) / counts[name])
    quartiles = (np.percentile(x, (25, 50, 75)) for x in found.values())
    return [Times(q[1], (q[0], q[2])) for q in quartiles]


def machine() -> str:
    """The processor, and the load of the machine while it measures."""
    with open("/proc/cpuinfo") as lines:
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else 'unknown processor'}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
