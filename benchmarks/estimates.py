"""Compare the times that `f.cost` estimates with measured ones, for all models of the benchmarks.

python benchmarks/estimates.py --threads 1 2
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from math import exp, log
from typing import Any

import numpy as np
from cases import CASES, SPARSE_CASES

import aotensor as aot
from aotensor.api.cost.clock import time_calls
from aotensor.api.cost.cost import cost_of
from aotensor.driver.cache import load_compiled


def dims_of(spec: Any, values: Mapping[str, Any]) -> dict[str, int]:
    """Extents and numbers of stored entries by name, from the inputs."""
    dims: dict[str, int] = {}
    for argument in spec.arguments:
        value = values.get(argument.name, 0.0)
        found = zip(argument.shape, np.shape(value), strict=False)
        dims |= {name: int(n) for name, n in found if isinstance(name, str)}
        if hasattr(value, "indptr"):
            (entries,) = spec.inputs[argument.first + 1].shape
            dims |= {entries: int(value.nnz)} if isinstance(entries, str) else {}
    return {name: n for name, n in dims.items() if name in spec.workspace_dims}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=[*CASES, *SPARSE_CASES], metavar="NAME")
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each case")
    options = parser.parse_args()
    errors: dict[int, list[float]] = {threads: [] for threads in options.threads}
    print("| case | threads | measured, us | estimated, us | ratio | bound by |\n|---|---:|---:|---:|---:|---|")
    for name in options.cases:
        model = {**CASES, **SPARSE_CASES}[name].make(options.scale)
        compiled = load_compiled(model.aotensor(aot))
        for threads in options.threads:
            call = compiled.with_threads(threads).bind(**model.values)
            measured = time_calls({"call": call}, options.seconds)["call"].median
            cost = cost_of(compiled, dims_of(compiled.spec, model.values), threads)
            ratio, least = cost.seconds / measured, "" if cost.is_exact else "> "
            times = f"{measured * 1e6:.4g} | {least}{cost.seconds * 1e6:.4g} | {least}{ratio:.2f}"
            print(f"| {name} | {threads} | {times} | {cost.bound} |", flush=True)
            errors[threads] += [ratio] if cost.is_exact else []
    for threads, found in errors.items():
        factors = [abs(log(ratio)) for ratio in found]
        mean, worst = exp(sum(factors) / len(factors)), exp(max(factors))
        within = sum(x <= log(2) for x in factors)
        text = f"wrong by {mean:.2f} in the mean, {worst:.2f} at most; {within} of {len(found)} within 2"
        print(f"{threads} thread{'s' * (threads > 1)}: {text}")


if __name__ == "__main__":
    main()
