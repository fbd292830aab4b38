"""aotensor's sparse products and gradients against C, MKL, SciPy, PyTensor and JAX, on one core and on two.

    python benchmarks/sparse.py [--seconds 1.5] [--case spmv-random ...] [--cores 1 2]

Every case runs in a process of its own for each number of cores, checks the values before it measures, and measures
as benchmarks/run.py does. Results go to benchmarks/results; those of cases that were not run stay.
Needs: pip install '.[bench]' and gcc; a contender that is missing is left out and named.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from cases import SPARSE_CASES
from harness import RESULTS, machine, microseconds, run_program

COLUMNS = ("aotensor", "aotensor, bound", "C", "MKL", "SciPy", "PyTensor", "JAX", "memory")
ON_FIXED_BUFFERS = ("C", "memory")

HEADER = """Microseconds per call ({machine}): the shortest of many turns that the contenders take one after
the other. The values of all were compared first. float64, int32 indices.

In brackets: how many times as long as aotensor. MKL (through `sparse_dot_mkl`), SciPy, PyTensor and JAX (BCOO) make new
outputs at each call and are compared with `lib.f(...)`, which does too, and looks at every index first: nobody else
checks that a matrix is one. C is called on fixed buffers, with arguments converted beforehand and a copy of the pattern
of its own, and compared with `bound`, which is checked once and has such a copy, too; it is compiled by `gcc -O3
-march=native -ffast-math -fopenmp`, with the obvious fusions (`benchmarks/kernels_sparse.c`). PyTensor runs with its C
backend. *memory* is how long the sum of as many bytes takes as must move at least, every array once; in brackets, how
many times as long as that `bound` takes. SciPy uses one core, the others all that they are given. One core: time that
the processor spends on the process; two: time on the clock.

"""


def measure(case: str, seconds: float, cores: list[int]) -> dict[str, Any]:
    """The record that measure.py prints."""
    mkl = sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*"))  # where pip puts it; sparse_dot_mkl does not look there
    variables = {"MKL_RT": str(mkl[0])} if mkl and "MKL_RT" not in os.environ else {}
    record = json.loads(run_program("measure.py", case, str(seconds), cores=cores, **variables))
    return dict(record) | {"cores": len(cores)}


def table(records: list[dict[str, Any]]) -> str:
    """Shortest times; in brackets, how many times as long as aotensor, called in the same way."""
    lines = ["| case | " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    lines += ["| " + " | ".join([r["title"], *(_cell(r["best"], name) for name in COLUMNS)]) + " |" for r in records]
    return "\n".join(lines)


def _cell(best: dict[str, float], name: str) -> str:
    if name not in best:
        return "-"
    ours = best.get("aotensor, bound", best["aotensor"]) if name in ON_FIXED_BUFFERS else best["aotensor"]
    ratio = ours / best[name] if name == "memory" else best[name] / ours
    return microseconds(best[name]) + ("" if name.startswith("aotensor") else f" ({ratio:.2f})")


def main() -> None:
    available = sorted(os.sched_getaffinity(0), reverse=True)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", choices=SPARSE_CASES, help="all of them if not given")
    parser.add_argument("--seconds", type=float, default=1.5, help="per contender and case")
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2] if len(available) > 1 else [1])
    arguments = parser.parse_args()
    stored = RESULTS / "sparse.json"
    old = json.loads(stored.read_text())["cases"] if stored.exists() else []
    known = {(r["cores"], r["case"]): r for r in old}
    missing: dict[str, str] = {}
    for cores in arguments.cores:
        for case in arguments.case or SPARSE_CASES:
            record = measure(case, arguments.seconds, available[:cores])
            known[cores, case] = record
            missing |= record["missing"]
            write(list(known.values()))
            print(f"{cores}: {table([record]).splitlines()[-1]}", file=sys.stderr)
    for name, why in missing.items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    print(stored.with_suffix(".md").read_text())


def write(records: list[dict[str, Any]]) -> None:
    """The files in benchmarks/results."""
    order = list(SPARSE_CASES)
    records.sort(key=lambda r: (r["cores"], order.index(r["case"])))
    tables = [
        f"{cores} core{'s' if cores > 1 else ''}:\n\n{table([r for r in records if r['cores'] == cores])}\n"
        for cores in sorted({r["cores"] for r in records})
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "sparse.md").write_text(HEADER.format(machine=machine()) + "\n".join(tables))
    (RESULTS / "sparse.json").write_text(json.dumps({"machine": machine(), "cases": records}, indent=1))


if __name__ == "__main__":
    main()
