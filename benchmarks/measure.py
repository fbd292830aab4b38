"""One comparison in a process of its own: values are checked, then the contenders take turns. JSON on stdout.

python benchmarks/measure.py logistic|spmv-random|... [seconds] [scale] [without]

seconds: per contender; 0 measures nothing. without: contenders that are left out, comma-separated.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from time import perf_counter, process_time, sleep
from typing import Any, Final

from cases import CASES, SPARSE_CASES
from contenders import Contender
from limits import least_seconds, limits_of, work_of
from native import load_kernels
from peers import comparison

TURN: Final = 0.002
"""Seconds of a turn, or one call if that takes longer."""
SLOW: Final = 4.0
"""A contender whose turn takes so many times the shortest one has fewer turns, in inverse proportion."""
FEWEST: Final = 3
"""Turns that everybody has whose call is no longer than `LONG`, and one for the others."""
LONG: Final = 0.5
"""Seconds of a call."""
QUICK: Final = 0.25
"""Of the seconds of a contender, which a limit of the machine is measured for: it varies less."""


def interleaved(contenders: Mapping[str, Contender], seconds: float, cores: int = 1) -> dict[str, list[float]]:
    """Seconds per call of every turn. A turn is some 2 ms of one contender; turns go round until time is up.

    On one core it is the time that the processor spends on us: what else runs on the machine does not count. On
    several it is time on the clock, and the threads of a contender may fall asleep before the next one has its turn.
    """
    clock, pause = (process_time, 0.0) if cores == 1 else (perf_counter, 0.0005)
    loops, every = {}, {}
    for name, call in contenders.items():
        once = _turn(call, 1, clock)
        if once < LONG:
            once = min(once, _turn(call, 1, clock), _turn(call, 1, clock))
        loops[name] = max(1, int(TURN / max(once, 1e-7)))
        every[name] = max(TURN, once)
    shortest = min(every.values())
    rounds = {name: max(1, int(length / (SLOW * shortest))) for name, length in every.items()}
    fewest = {name: 1 if length > LONG else FEWEST for name, length in every.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    end, number = perf_counter() + seconds * len(contenders), 0
    while (is_early := perf_counter() < end) or any(len(turns) < fewest[name] for name, turns in times.items()):
        for name, call in contenders.items():
            if (is_early and number % rounds[name] == 0) or len(times[name]) < fewest[name]:
                sleep(pause)
                times[name].append(_turn(call, loops[name], clock))
        number += 1
    return times


def _turn(call: Contender, loops: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(loops):
        call()
    return (clock() - start) / loops


def measure(case: str, seconds: float, scale: float, without: frozenset[str]) -> dict[str, Any]:
    """A row of the table: shortest and median seconds per call of each contender, and what the machine's limits say.

    Without seconds only who takes no part, and why: all is compiled and compared.
    """
    begin = perf_counter()
    cores = len(os.sched_getaffinity(0))
    model = (CASES | SPARSE_CASES)[case].make(scale)
    c = comparison(model, load_kernels(model.kernels), without)
    c.check()
    prepared = perf_counter() - begin
    work = work_of(c)
    limits = limits_of(model, work)
    told = {
        "case": case,
        "scale": scale,
        "cores": cores,
        "title": model.title,
        "missing": c.missing,
        "seconds": c.seconds,
    }
    if not seconds:
        return told
    times = interleaved(c.contenders, seconds, cores)
    least = interleaved({name: limit.call for name, limit in limits.items()}, QUICK * seconds, cores)
    return told | {
        "best": {name: min(t) for name, t in times.items()},
        "median": {name: sorted(t)[len(t) // 2] for name, t in times.items()},
        "turns": {name: len(t) for name, t in times.items()},
        "work": work,
        "limits": least_seconds(model, limits, {name: min(t) for name, t in least.items()}),
        "spent": {"preparing": prepared, "whole": perf_counter() - begin},
    }


def main() -> None:
    case, *rest = sys.argv[1:]
    seconds, scale, without = (*rest, *("2", "1", "")[len(rest) :])
    print(json.dumps(measure(case, float(seconds), float(scale), frozenset(filter(None, without.split(","))))))


if __name__ == "__main__":
    main()
