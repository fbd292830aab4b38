"""Compare rounds with Dask's array expressions and NumPy: a logistic loss with its gradient, two workers.

    python benchmarks/split.py --rows 1000000

Values are compared before anything is timed; contenders take turns, the shortest of many turns counts.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.pop(0)  # Dask would take sparse.py beside this file for a package of that name

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor_runtime.rounds import Dask, Serial, Threads

COLUMNS = 20


def model() -> aot.Rounds:
    """Loss and gradient."""
    x, y = at.matrix("X", dtype="float64", shape=("n", "p")), at.vector("y", dtype="float64", shape=("n",))
    w = at.vector("w", dtype="float64", shape=("p",))
    loss = at.softplus(-y * (x @ w)).mean()
    return aot.split(aot.function([x, y, w], [loss, aot.grad(loss, w)], name="logistic"), over="n")


def contenders(client: Any, rows: int, chunk: int) -> dict[str, Callable[[], Any]]:
    """The contenders by name; each returns loss and gradient."""
    import dask
    import dask.array as da
    import distributed

    rng = np.random.default_rng(0)
    x, y, w = rng.normal(size=(rows, COLUMNS)), rng.choice([-1.0, 1.0], rows), rng.normal(size=COLUMNS)
    blocks = da.from_array(x, chunks=(chunk, COLUMNS)).persist(), da.from_array(y, chunks=chunk).persist()
    distributed.wait(blocks)

    def by_numpy() -> Any:
        z = -y * (x @ w)
        return np.logaddexp(0, z).mean(), x.T @ (-y / (1 + np.exp(-z))) / rows

    def by_dask() -> Any:
        z = -blocks[1] * (blocks[0] @ w)
        return dask.compute(da.logaddexp(0, z).mean(), blocks[0].T @ (-blocks[1] / (1 + da.exp(-z))) / rows)

    rounds = model()
    bound = {
        "rounds, serial": rounds.bind(Serial(), X=x, y=y, chunk_rows=chunk),
        "rounds, 2 threads": rounds.bind(Threads(2), X=x, y=y, chunk_rows=chunk),
        "rounds, Dask": rounds.bind(Dask(client), X=blocks[0], y=blocks[1]),
    }
    found: dict[str, Callable[[], Any]] = {"NumPy": by_numpy, "Dask arrays": by_dask}
    found["one call"] = lambda: rounds.function(x, y, w)
    for name, each in bound.items():
        found[name] = lambda each=each: each(w=w)  # type: ignore[misc]
    return found


def main() -> None:
    """Compare, then time."""
    import distributed

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--chunks", type=int, default=10)
    parser.add_argument("--turns", type=int, default=9)
    given = parser.parse_args()
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        for rows in given.rows:
            runners = contenders(client, rows, -(-rows // given.chunks))
            expected = runners["NumPy"]()
            for name, run in runners.items():
                for a, b in zip(expected, run(), strict=True):
                    np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12, err_msg=name)
            times = {name: float("inf") for name in runners}
            for _ in range(given.turns):
                for name, run in runners.items():
                    start = time.perf_counter()
                    run()
                    times[name] = min(times[name], time.perf_counter() - start)
            print(f"{rows} rows of {COLUMNS}, {given.chunks} chunks:")
            for name, seconds in times.items():
                print(f"  {name:18} {seconds * 1e3:9.2f} ms")


if __name__ == "__main__":
    main()
