"""aotensor against JAX, NumPy, PyTensor and hand-written C, on one core.

    python benchmarks/run.py [--cases logistic,mlp] [--seconds 2]

Every case runs in a process of its own, bound to one core, and checks the values before it measures. A row shows the
shortest time of many turns that the contenders take one after the other. Results go to benchmarks/results.
Needs: pip install '.[bench]' and gcc; a contender that is missing is left out and named.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CASES = ("logistic", "chain-1e6-float64", "chain-1e6-float32", "chain-1e3-float64", "chain-1e3-float32", "mlp")
COLUMNS = ("aotensor", "aotensor, bound", "C", "JAX", "PyTensor", "NumPy")
ONE_CORE = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "AOTENSOR_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}

HEADER = """Microseconds per call for value and gradient on one core ({machine}): the shortest of many turns
that the contenders take one after the other. The values of all were compared first.

In brackets: how many times as long as aotensor. JAX, PyTensor and NumPy make new outputs at each call and are compared
with `lib.f(...)`, which does too. C is called on fixed buffers, with arguments converted beforehand, and compared with
`bound`. It is compiled by `gcc -O3 -march=native -ffast-math`, with the same fusion (`benchmarks/kernels.c`).
PyTensor runs with its Numba backend.

"""


def measure(case: str, seconds: float, core: int) -> dict[str, Any]:
    """The record that measure.py prints."""
    environment = os.environ | ONE_CORE
    command = [sys.executable, str(HERE / "measure.py"), case, str(seconds)]
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {core})
    )
    if done.returncode:
        raise SystemExit(f"{case} failed")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def table(records: list[dict[str, Any]]) -> str:
    """Shortest times in microseconds; in brackets, how many times as long as aotensor, called in the same way."""
    lines = ["| case | " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    for record in records:
        best = record["best"]
        cells = [record["title"]]
        for name in COLUMNS:
            if name not in best:
                cells.append("-")
            elif name.startswith("aotensor"):
                cells.append(_microseconds(best[name]))
            else:
                ours = best["aotensor, bound" if name == "C" else "aotensor"]
                cells.append(f"{_microseconds(best[name])} ({best[name] / ours:.2f})")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _microseconds(seconds: float) -> str:
    return f"{1e6 * seconds:.0f}" if seconds > 1e-4 else f"{1e6 * seconds:.3g}"


def machine() -> str:
    """Processor name, as Linux tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES), help="comma-separated")
    parser.add_argument("--seconds", type=float, default=2.0, help="per contender and case")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    records = []
    for case in arguments.cases.split(","):
        records.append(measure(case, arguments.seconds, arguments.core))
        print(table(records[-1:]).splitlines()[-1], file=sys.stderr)
    text = table(records)
    print(text)
    for name, why in {k: v for r in records for k, v in r["missing"].items()}.items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    if set(arguments.cases.split(",")) == set(CASES):
        (HERE / "results").mkdir(exist_ok=True)
        (HERE / "results" / "speed.md").write_text(HEADER.format(machine=machine()) + text + "\n")
        (HERE / "results" / "speed.json").write_text(json.dumps({"machine": machine(), "cases": records}, indent=1))


if __name__ == "__main__":
    main()
