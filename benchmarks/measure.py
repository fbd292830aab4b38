"""One comparison in a process of its own: values are checked, then the contenders take turns. JSON on stdout.

python benchmarks/measure.py logistic|spmv-random|... [seconds]
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from time import perf_counter, process_time, sleep

from cases import CASES, SPARSE_CASES
from contenders import Contender
from native import load_kernels
from peers import comparison


def interleaved(contenders: dict[str, Contender], seconds: float, cores: int = 1) -> dict[str, list[float]]:
    """Seconds per call of every turn. A turn is some 2 ms of one contender; turns go round until time is up.

    On one core it is the time that the processor spends on us: what else runs on the machine does not count. On
    several it is time on the clock, and the threads of a contender may fall asleep before the next one has its turn.
    """
    clock, pause = (process_time, 0.0) if cores == 1 else (perf_counter, 0.0005)
    loops = {}
    for name, call in contenders.items():
        once = min(_turn(call, 1, clock) for _ in range(5))
        loops[name] = max(1, int(0.002 / max(once, 1e-7)))
    times: dict[str, list[float]] = {name: [] for name in contenders}
    end = perf_counter() + seconds * len(contenders)
    while perf_counter() < end:
        for name, call in contenders.items():
            sleep(pause)
            times[name].append(_turn(call, loops[name], clock))
    return times


def _turn(call: Contender, loops: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(loops):
        call()
    return (clock() - start) / loops


def main() -> None:
    case, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
    model = (CASES | SPARSE_CASES)[case]()
    c = comparison(model, load_kernels(model.kernels))
    c.check()
    times = interleaved(c.contenders, seconds, len(os.sched_getaffinity(0)))
    best = {name: min(t) for name, t in times.items()}
    median = {name: sorted(t)[len(t) // 2] for name, t in times.items()}
    record = {
        "case": case,
        "title": model.title,
        "best": best,
        "median": median,
        "missing": c.missing,
        "seconds": c.seconds,
    }
    print(json.dumps(record | {"turns": min(map(len, times.values()))}))


if __name__ == "__main__":
    main()
