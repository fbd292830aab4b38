"""aotensor against JAX, PyTensor, CasADi, NumPy and hand-written C, on one core and on two.

    python benchmarks/run.py [--cases logistic,mlp] [--seconds 2] [--compilations 3] [--cores 1 2]

Every case runs in a process of its own for each number of cores, and checks the values before it measures. A row shows
the shortest time of many turns that the contenders take one after the other. Compilations are timed in fresh
processes, too, which take turns. Results go to benchmarks/results; those of cases that were not run stay.
Needs: pip install '.[bench]' and gcc; a contender that is missing is left out and named.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from time import perf_counter
from typing import Any

from cases import CASES
from harness import RESULTS, machine, microseconds, run_program

COLUMNS = ("aotensor", "aotensor, bound", "C", "JAX", "PyTensor", "CasADi", "NumPy")
COMPILERS = ("aotensor", "JAX", "CasADi")  # not PyTensor, which keeps what Numba has made in a cache of its own
ALONE = ("aotensor", "JAX")  # compiled several times in processes of their own
ON_FIXED_BUFFERS = ("C", "CasADi")

HEADER = """Microseconds per call for value and gradient ({machine}): the shortest of many turns that the
contenders take one after the other; on one core the time that the processor spends on the process, on two the clock's.
The values of all were compared first.

In brackets: how many times as long as aotensor. JAX, PyTensor and NumPy make new outputs at each call and are compared
with `lib.f(...)`, which does too. C is called on fixed buffers, with arguments converted beforehand, and compared with
`bound`. It is compiled by `gcc -O3 -march=native -ffast-math -fopenmp`, with the same fusion (`benchmarks/kernels.c`).
So is the code that CasADi generates, which has no threads. PyTensor runs with its Numba backend.

*Compile* is seconds from nothing to something that can be called: graph, gradient, code; for aotensor also link and
load, for CasADi gcc. Imports do not count. The parts that all libraries have in common were in the cache folder;
*first* is without them. *Process* is the whole process, with imports and the making of the inputs.

"""


def measure(case: str, seconds: float, cores: list[int]) -> dict[str, Any]:
    """The record that measure.py prints."""
    return dict(json.loads(run_program("measure.py", case, str(seconds), cores=cores))) | {"cores": len(cores)}


def compile_seconds(case: str, names: list[str], core: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Contender → shortest seconds of its compilation, and of the whole process. `first`: without anything cached."""
    best: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):
            for name in names if number else ["aotensor"]:
                start = perf_counter()
                seconds = float(run_program("compiling.py", case, name, cores={core}, AOTENSOR_CACHE_DIR=folder))
                old = best.get(key := name if number else "first", (float("inf"), float("inf")))
                best[key] = min(old[0], seconds), min(old[1], perf_counter() - start)
    return best


def table(records: list[dict[str, Any]]) -> str:
    """Shortest times; in brackets, how many times as long as aotensor, called in the same way."""
    is_compiled = any("compile" in r for r in records)
    compilers = [f"compile {name}" for name in ("first", *COMPILERS)] + [f"process {name}" for name in ALONE]
    columns = [*COLUMNS, *(compilers if is_compiled else [])]
    lines = ["| case | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    rows = [[r["title"], *_run_times(r["best"]), *(_compile_times(r) if is_compiled else [])] for r in records]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def _run_times(best: dict[str, float]) -> list[str]:
    """In microseconds."""
    cells = []
    for name in COLUMNS:
        if name not in best:
            cells.append("-")
        elif name.startswith("aotensor"):
            cells.append(microseconds(best[name]))
        else:
            ours = best["aotensor, bound" if name in ON_FIXED_BUFFERS else "aotensor"]
            cells.append(f"{microseconds(best[name])} ({best[name] / ours:.2f})")
    return cells


def _compile_times(record: dict[str, Any]) -> list[str]:
    """In seconds."""
    alone: dict[str, tuple[float, float]] = record["compile"]
    compiled = record["seconds"] | {name: pair[0] for name, pair in alone.items()}
    whole = {name: pair[1] for name, pair in alone.items()}
    return [_seconds(compiled, name) for name in ("first", *COMPILERS)] + [_seconds(whole, name) for name in ALONE]


def _seconds(times: dict[str, float], name: str) -> str:
    if name not in times:
        return "-"
    ratio = "" if name in ("aotensor", "first") else f" ({times[name] / times['aotensor']:.2f})"
    return f"{times[name]:.2f}{ratio}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES), help="comma-separated")
    parser.add_argument("--seconds", type=float, default=2.0, help="per contender and case")
    parser.add_argument("--compilations", type=int, default=3, help="of aotensor and JAX, per case")
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2] if os.cpu_count() != 1 else [1])
    arguments = parser.parse_args()
    available = sorted(os.sched_getaffinity(0), reverse=True)
    stored = RESULTS / "speed.json"
    old = json.loads(stored.read_text())["cases"] if stored.exists() else []
    known = {(r.get("cores", 1), r["case"]): r for r in old}
    missing: dict[str, str] = {}
    for cores in arguments.cores:
        for case in arguments.cases.split(","):
            record = measure(case, arguments.seconds, available[:cores])
            if cores == 1:
                installed = [name for name in ALONE if name not in record["missing"]]
                record["compile"] = compile_seconds(case, installed, available[0], arguments.compilations)
            known[cores, case] = record
            missing |= record["missing"]
            write(list(known.values()))
            print(f"{cores}: {table([record]).splitlines()[-1]}", file=sys.stderr)
    for name, why in missing.items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    print(stored.with_suffix(".md").read_text())


def write(records: list[dict[str, Any]]) -> None:
    """The files in benchmarks/results."""
    order = list(CASES)
    records.sort(key=lambda r: (r.get("cores", 1), order.index(r["case"])))
    tables = [
        f"{cores} core{'s' if cores > 1 else ''}:\n\n{table([r for r in records if r.get('cores', 1) == cores])}\n"
        for cores in sorted({r.get("cores", 1) for r in records})
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "speed.md").write_text(HEADER.format(machine=machine()) + "\n".join(tables))
    (RESULTS / "speed.json").write_text(json.dumps({"machine": machine(), "cases": records}, indent=1))


if __name__ == "__main__":
    main()
