"""Measure roots and stiff integrations with dense and sparse Jacobians: processor milliseconds of a call.

    python benchmarks/solutions.py [--sizes 50,500,5000] [--kinds dense,sparse] [--repeats 5] [--longest 100]

Both Jacobians are measured in turns in one process, on one thread; the shortest call counts. bratu: the root of
u″ + λ·eᵘ = 0 by finite differences in n unknowns, alone and with the gradient of its sum in λ. brusselator: the first
second of two species at n/2 points by Rodas5P, rtol 1e-4. Values of both Jacobians are compared. A dense one whose call
would take more than `--longest` seconds, by the cube of n, is not measured.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

os.environ.setdefault("AOTENSOR_NUM_THREADS", "1")

import numpy as np

import aotensor as aot
import aotensor.tensor as at

TOLERANCE = 1e-6
"""How far values of the two Jacobians may differ, relative to the largest one: those of ODEs differ by rounding."""


def bratu(n: int, rate: Any) -> Callable[[Any], Any]:
    """F with F(u) = 0 for the solution of u″ + rate·eᵘ = 0, u(0) = u(1) = 0, at n points inside."""
    h = 1 / (n + 1)

    def equations(u: Any) -> Any:
        around = at.concatenate([at.zeros(1), u, at.zeros(1)])
        return around[:-2] - 2 * u + around[2:] + h * h * rate * at.exp(u)

    return equations


def brusselator(n: int, feed: Any) -> Callable[[Any, Any], Any]:
    """dy/dt of two species at n/2 points of a line, with diffusion: Hairer & Wanner (1996), section IV.10."""
    points = n // 2
    share = 0.02 * (points + 1) ** 2

    def rate(t: Any, y: Any) -> Any:
        u, v = y[:points], y[points:]
        around, beside = (at.concatenate([x * at.ones(1), z, x * at.ones(1)]) for x, z in ((1.0, u), (3.0, v)))
        first = feed + u * u * v - 4 * u + share * (around[:-2] - 2 * u + around[2:])
        second = 3 * u - u * u * v + share * (beside[:-2] - 2 * v + beside[2:])
        return at.concatenate([first, second])

    return rate


def programs(n: int, kind: str) -> dict[str, Any]:
    """By name: a compiled function of one number."""
    p = at.dscalar("p")
    root = at.optimize.root(bratu(n, p), at.zeros(n), jacobian=kind).solution
    points = np.arange(1, n // 2 + 1) / (n // 2 + 1)
    start = np.concatenate([1 + np.sin(2 * np.pi * points), np.full(n // 2, 3.0)])
    options: dict[str, Any] = {"method": "Rodas5P", "rtol": 1e-4, "atol": 1e-6, "jacobian": kind}
    path = at.integrate.solve_ivp(brusselator(n, p), (0.0, 1.0), start, t_eval=[1.0], **options)
    outputs = {"bratu": [root], "bratu, gradient": [root, aot.grad(root.sum(), p)], "brusselator": [path.y, path.steps]}
    names = {name: name.replace(", ", "_") for name in outputs}
    with TemporaryDirectory() as folder:
        library = aot.compile([aot.function([p], outputs[name], name=names[name]) for name in names], folder).load()
    return {name: getattr(library, names[name]) for name in names}


def measured(f: Any, repeats: int) -> tuple[float, list[Any]]:
    """(processor seconds of the shortest call, results); a call that takes more than a second is not repeated."""
    seconds: list[float] = []
    while len(seconds) <= repeats and sum(seconds) < 1:
        begin = process_time()
        found = f(1.0)
        seconds.append(process_time() - begin)
    return min(seconds), found


def check_equal(name: str, results: Sequence[list[Any]]) -> None:
    """Raises: SystemExit if the kinds of Jacobian give different values."""
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            if np.abs(one - other).max(initial=0) > TOLERANCE * np.abs(one).max(initial=0):
                raise SystemExit(f"{name}: values differ by {np.abs(one - other).max()}")


def main() -> None:
    """Print a line per program and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="50,500,5000")
    parser.add_argument("--kinds", default="dense,sparse")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--longest", type=float, default=100.0)
    given = parser.parse_args()
    kinds, last = given.kinds.split(","), dict[tuple[str, str], float]()
    print(f"| program | n | {' | '.join(f'{kind}, ms' for kind in kinds)} |")
    print(f"|---|---:|{'---:|' * len(kinds)}")
    for n in map(int, given.sizes.split(",")):
        made = {kind: programs(n, kind) for kind in kinds}
        for name in made[kinds[0]]:
            cells, results = [], []
            for kind in kinds:
                if kind == "dense" and last.get((name, kind), 0.0) * n**3 > given.longest:
                    cells.append("–")
                    continue
                seconds, found = measured(made[kind][name], given.repeats)
                last[name, kind] = seconds / n**3
                results.append(found)
                cells.append(f"{1000 * seconds:.2g}" if seconds < 1 else f"{1000 * seconds:.0f}")
            check_equal(name, results)
            print(f"| {name} | {n} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
