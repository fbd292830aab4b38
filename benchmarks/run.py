"""aotensor against JAX, PyTensor, CasADi, NumPy and hand-written C, on one core.

    python benchmarks/run.py [--cases logistic,mlp] [--seconds 2] [--compilations 3]

Every case runs in a process of its own, bound to one core, and checks the values before it measures. A row shows the
shortest time of many turns that the contenders take one after the other. Compilations are timed in fresh processes,
too, which take turns. Results go to benchmarks/results; those of cases that were not run stay.
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

HEADER = """Microseconds per call for value and gradient on one core ({machine}): the shortest of many turns
that the contenders take one after the other. The values of all were compared first.

In brackets: how many times as long as aotensor. JAX, PyTensor and NumPy make new outputs at each call and are compared
with `lib.f(...)`, which does too. C is called on fixed buffers, with arguments converted beforehand, and compared with
`bound`. It is compiled by `gcc -O3 -march=native -ffast-math`, with the same fusion (`benchmarks/kernels.c`). So is
the code that CasADi generates. PyTensor runs with its Numba backend.

*Compile* is seconds from nothing to something that can be called: graph, gradient, code; for aotensor also link and
load, for CasADi gcc. Imports do not count. The parts that all libraries have in common were in the cache folder;
*first* is without them. *Process* is the whole process, with imports and the making of the inputs.

"""


def measure(case: str, seconds: float, core: int) -> dict[str, Any]:
    """The record that measure.py prints."""
    return dict(json.loads(run_program("measure.py", case, str(seconds), cores={core})))


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
    compilers = [f"compile {name}" for name in ("first", *COMPILERS)] + [f"process {name}" for name in ALONE]
    columns = [*COLUMNS, *compilers]
    lines = ["| case | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    lines += ["| " + " | ".join([r["title"], *_run_times(r["best"]), *_compile_times(r)]) + " |" for r in records]
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
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    stored = RESULTS / "speed.json"
    known = {r["case"]: r for r in json.loads(stored.read_text())["cases"]} if stored.exists() else {}
    records = []
    for case in arguments.cases.split(","):
        record = measure(case, arguments.seconds, arguments.core)
        installed = [name for name in ALONE if name not in record["missing"]]
        record["compile"] = compile_seconds(case, installed, arguments.core, arguments.compilations)
        records.append(record)
        print(table(records[-1:]).splitlines()[-1], file=sys.stderr)
    print(table(records))
    for name, why in {k: v for r in records for k, v in r["missing"].items()}.items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    known |= {r["case"]: r for r in records}
    complete = [known[case] for case in CASES if case in known]
    stored.parent.mkdir(exist_ok=True)
    stored.with_suffix(".md").write_text(HEADER.format(machine=machine()) + table(complete) + "\n")
    stored.write_text(json.dumps({"machine": machine(), "cases": complete}, indent=1))


if __name__ == "__main__":
    main()
