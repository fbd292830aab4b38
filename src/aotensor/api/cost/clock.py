"""Time per call: contenders alternate, so that other load on the machine affects all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

_TURN: Final = 0.002
"""Least seconds of a timed turn, so that the overhead of clock and loop is negligible."""


@dataclass(frozen=True)
class Timing:
    """Seconds per call: the shortest, the median, and the 10th and 90th percentile of the turns."""

    best: float
    median: float
    low: float
    high: float
    turns: int


def time_calls(calls: Mapping[Any, Callable[[], object]], seconds: float) -> dict[Any, Timing]:
    """Time the calls in alternating turns, for about `seconds` each."""
    loops = {
        name: max(1, int(_TURN / max(min(time_loops(call, 1) for _ in range(3)), 1e-9))) for name, call in calls.items()
    }
    turns: dict[Any, list[float]] = {name: [] for name in calls}
    end = perf_counter() + seconds * len(calls)
    while perf_counter() < end or min(map(len, turns.values())) < 3:
        for name, call in calls.items():
            turns[name].append(time_loops(call, loops[name]))
    return {name: _timing(sorted(found)) for name, found in turns.items()}


def time_loops(call: Callable[[], object], loops: int) -> float:
    """The mean time of a call in seconds, over `loops` calls."""
    start = perf_counter()
    for _ in range(loops):
        call()
    return (perf_counter() - start) / loops


def _timing(turns: list[float]) -> Timing:
    count = len(turns)
    return Timing(turns[0], turns[count // 2], turns[count // 10], turns[-1 - count // 10], count)
