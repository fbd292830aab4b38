"""DaCe's version of a kernel in an environment of its own: its results and its time on one core.

    PYTHON -m tools.judges.npbench.dace_worker CHECKOUT KERNEL SIZE

PYTHON has dace and NumPy before 2; aotensor is not needed. Standard output: a line of JSON with the largest difference
from the NumPy version, relative to the largest element, the compile time in processor seconds, and the time of a call.
The program is optimised as NPBench's `auto_opt` for CPUs, by DaCe's `auto_optimize`.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import dace
import numpy as np
from dace.transformation.auto.auto_optimize import auto_optimize
from tools.judges.npbench.checkout import Described, described, results_of

TIMING = 0.5
"""Seconds of timing."""


def compiled(one: Described, size: str) -> Callable[..., Any]:
    """DaCe's version as a function of the arguments of the NumPy version, for the symbols of a size."""
    program = one.version("dace")
    graph = program.to_sdfg(simplify=True)
    parameters = one.info["parameters"][size]
    symbols = {name: value for name, value in parameters.items() if name in graph.free_symbols}
    graph = auto_optimize(graph, dace.DeviceType.CPU, symbols=symbols)
    library = graph.compile()
    names = one.arguments

    def call(*values: Any) -> Any:
        given = {name: x for name, x in zip(names, values, strict=True) if name in graph.arglist()}
        return library(**given, **symbols)

    return call


def difference(found: Any, wanted: Any) -> float:
    """The largest difference relative to the largest element; inf for other shapes."""
    if found.size != wanted.size:
        return float("inf")
    with np.errstate(all="ignore"):
        apart = np.abs(found.reshape(wanted.shape).astype(complex) - wanted.astype(complex))
    return float(apart.max(initial=0) / max(np.abs(wanted).max(initial=0), 1e-300))


def main(checkout: str, name: str, size: str) -> None:
    """Measure one kernel."""
    one = described(Path(checkout))[name]
    values = one.data(size)
    os.chdir(tempfile.mkdtemp())  # DaCe writes its cache into the current folder
    dace.Config.set("compiler", "cpu", "openmp_sections", value=False)
    start = os.times()
    call = compiled(one, size)
    end = os.times()
    spent = sum(end[:4]) - sum(start[:4])
    found, wanted = ([np.asarray(x) for x in results_of(f, values, one.changed)] for f in (call, one.version("numpy")))
    error = max(difference(x, y) for x, y in zip(found, wanted, strict=True))
    best, total = float("inf"), 0.0
    while total < TIMING:
        given = list(copy.deepcopy(values).values())
        start_of_call = perf_counter()
        call(*given)
        took = perf_counter() - start_of_call
        best, total = min(best, took), total + took
    facts = {"error": error, "compile": spent, "call": best, "version": dace.__version__}
    sys.stdout.write("\n" + json.dumps(facts) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
