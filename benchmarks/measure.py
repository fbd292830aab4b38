"""One comparison in a process of its own: values are checked, then the contenders take turns. JSON on stdout.

python benchmarks/measure.py logistic|spmv-random|... [seconds]
"""

from __future__ import annotations

import json
import os
import sys
from time import perf_counter, sleep

from cases import CASES, SPARSE_CASES
from contenders import Contender
from native import load_kernels
from peers import comparison


def interleaved(contenders: dict[str, Contender], seconds: float, pause: float = 0.0) -> dict[str, list[float]]:
    """Seconds per call of every turn. A turn is some 2 ms of one contender; turns go round until time is up.

    pause: seconds before a turn, in which the threads of the last contender fall asleep.
    """
    loops = {}
    for name, call in contenders.items():
        once = min(_turn(call, 1) for _ in range(5))
        loops[name] = max(1, int(0.002 / once))
    times: dict[str, list[float]] = {name: [] for name in contenders}
    end = perf_counter() + seconds * len(contenders)
    while perf_counter() < end:
        for name, call in contenders.items():
            sleep(pause)
            times[name].append(_turn(call, loops[name]))
    return times


def _turn(call: Contender, loops: int) -> float:
    start = perf_counter()
    for _ in range(loops):
        call()
    return (perf_counter() - start) / loops


def main() -> None:
    case, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
    model = (CASES | SPARSE_CASES)[case]()
    c = comparison(model, load_kernels(model.kernels))
    c.check()
    times = interleaved(c.contenders, seconds, pause=0.0005 if len(os.sched_getaffinity(0)) > 1 else 0.0)
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
