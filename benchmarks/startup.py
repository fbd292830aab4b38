"""Measure start-up time, compile time, size of a library, and overhead of a call.

    python benchmarks/startup.py

Whole processes are timed from outside, the shortest of several runs. Results go to benchmarks/results.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

import aotensor as aot
import aotensor.tensor as at

HERE = Path(__file__).parent
LOGISTIC = HERE.parent / "examples" / "logistic.py"

FIRST_VALUE = """
import sys
import numpy as np
import aotensor_runtime
lib = aotensor_runtime.load(sys.argv[1])
lib.logistic(np.ones((3, 2)), np.ones(3), np.zeros(2), 0.0)
"""


def process_seconds(*arguments: str, runs: int = 7) -> float:
    """Shortest time of a whole Python process."""
    times = []
    for _ in range(runs):
        start = perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        times.append(perf_counter() - start)
    return min(times)


def call_seconds(call: Callable[[], object], loops: int = 20000) -> float:
    """Shortest average of twenty loops."""
    best = float("inf")
    for _ in range(20):
        start = perf_counter()
        for _ in range(loops):
            call()
        best = min(best, perf_counter() - start)
    return best / loops


def call_overhead() -> dict[str, tuple[float, str]]:
    """A scalar function: `lib.f(x)` with an array and with a float, and bound; and an empty Python function."""
    x = at.scalar("x")
    f = aot.compile(aot.function([x], x * x + 1, name="f"), tempfile.mkdtemp()).load().f
    array = np.array(3.0)
    bound = f.bind(x=array)
    return {
        "lib.f(array)": (1e6 * call_seconds(lambda: f(array)), "us"),
        "lib.f(3.0)": (1e6 * call_seconds(lambda: f(3.0)), "us"),
        "bound": (1e6 * call_seconds(lambda: bound()), "us"),
        "of these, the loop itself": (1e6 * call_seconds(lambda: None), "us"),
    }


def measure() -> dict[str, tuple[float, str]]:
    """Name → value, unit."""
    folder = tempfile.mkdtemp()
    results = {
        "python -c pass": (process_seconds("-c", "pass"), "s"),
        "python -c 'import numpy'": (process_seconds("-c", "import numpy"), "s"),
        "aotensor --help": (process_seconds("-m", "aotensor_cli", "--help"), "s"),
        "aotensor compile examples/logistic.py": (
            process_seconds("-m", "aotensor_cli", "compile", str(LOGISTIC), "-o", folder),
            "s",
        ),
    }
    library = os.path.join(folder, "liblogistic.so")
    results["load and first value, fresh process"] = (process_seconds("-c", FIRST_VALUE, library), "s")
    results["liblogistic.so"] = (os.path.getsize(library) / 1000, "kB")
    return results | call_overhead()


def main() -> None:
    results = measure()
    lines = ["| what | |", "|---|---:|", *(f"| {k} | {value:.3g} {unit} |" for k, (value, unit) in results.items())]
    print("\n".join(lines))
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "startup.md").write_text("\n".join(lines) + "\n")
    (HERE / "results" / "startup.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
