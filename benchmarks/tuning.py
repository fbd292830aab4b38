"""What `aotensor tune` gains on models of the benchmarks: a table for docs/tuning.md.

    python benchmarks/tuning.py --cases logistic softmax-1 --seconds 60 --threads 1

Inputs are those of the benchmarks, not those of `aotensor bench`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from cases import CASES, SPARSE_CASES

import aotensor as aot
from aotensor_cli.tuning.journal import Journal
from aotensor_cli.tuning.measure import Setting
from aotensor_cli.tuning.search import BestCandidate, Search


def tuned(name: str, scale: float, threads: int, seconds: float) -> BestCandidate:
    """The best schedule of a case that is found within these seconds."""
    model = {**CASES, **SPARSE_CASES}[name].make(scale)
    function = model.aotensor(aot)
    setting = Setting(dict(_dims(function, model.values)), model.values, threads)
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "trials.jsonl", {"case": name})
        journal.begin()
        return Search(function, [setting], journal, better=lambda text: print(f"  {name}: {text}", flush=True)).run(
            seconds
        )


def _dims(function: Any, values: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Extents of the dims by name, from the inputs."""
    for key, x in function.arguments.items():
        shape = getattr(x.type, "shape", ())
        for n, extent in zip(shape, np.shape(values.get(key, 0.0)), strict=False):
            if isinstance(n, str):
                yield n, int(extent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=["logistic"], metavar="NAME")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=60.0, help="of search, for each case")
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    options = parser.parse_args()
    print("| case | threads | compiler's own, us | tuned, us | ratio | choice |\n|---|---:|---:|---:|---:|---|")
    for name in options.cases:
        for threads in options.threads:
            found = tuned(name, options.scale, threads, options.seconds)
            (own,), (best,) = found.own, found.best
            times = f"{own * 1e6:.1f} | {best * 1e6:.1f} | {found.ratio:.2f}"
            print(f"| {name} | {threads} | {times} | `{found.candidate}` |", flush=True)


if __name__ == "__main__":
    main()
