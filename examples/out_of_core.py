"""Logistic regression with L2 on more rows than fit into memory: from files, under a limit of address space.

    python examples/out_of_core.py make --rows 10000000        compiles the rounds, and writes shards of rows
    python examples/out_of_core.py fit --limit 500             reads them, with 500 MB of memory in all
    python examples/out_of_core.py fit --limit 500 --compare   with all rows in memory, too: the same weights

`fit` needs aotensor_runtime, NumPy and SciPy alone.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each thread of it takes address space

import numpy as np

COLUMNS = 20
SHARD = 500_000
"""Rows of a file."""


def make(folder: Path, rows: int) -> None:
    """Compile loss and gradient in rounds, and write rows with a fixed seed."""
    import aotensor as aot
    import aotensor.tensor as at

    X, y = at.matrix("X", dtype="float64", shape=("n", "p")), at.vector("y", dtype="float64", shape=("n",))
    w = at.vector("w", dtype="float64", shape=("p",))
    loss = at.softplus(-y * (X @ w)).mean() + 1e-3 * (w**2).sum()
    f = aot.function([X, y, w], {"loss": loss, "grad_w": aot.grad(loss, w)}, name="logistic")
    for kind in ("X", "y"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    aot.split(f, over="n").compile(folder)
    rng = np.random.default_rng(0)
    truth = rng.normal(size=COLUMNS)
    for k, start in enumerate(range(0, rows, SHARD)):
        x = rng.normal(size=(min(SHARD, rows - start), COLUMNS))
        np.save(folder / "X" / f"{k:04}.npy", x)
        np.save(folder / "y" / f"{k:04}.npy", np.where(rng.random(len(x)) < 1 / (1 + np.exp(-x @ truth)), 1.0, -1.0))


def fit(folder: Path, limit: int | None, compare: bool) -> None:
    """Minimise over w, chunk by chunk; the next one is read while one is computed."""
    from scipy.optimize import minimize

    from aotensor_runtime import load
    from aotensor_runtime.rounds import Serial, open_rounds

    split = open_rounds(load(folder / "liblogistic.so"))
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_AS, (limit << 20, resource.getrlimit(resource.RLIMIT_AS)[1]))
    with Serial() as engine:
        fun, grad = split.minimizer(engine, X=folder / "X", y=folder / "y", chunk_rows=SHARD // 5)
        start = time.perf_counter()
        found = minimize(fun, np.zeros(COLUMNS), jac=grad, method="L-BFGS-B")
        seconds = time.perf_counter() - start
    print(f"loss {found.fun:.6f} after {found.nfev} evaluations, {seconds / found.nfev:.3f} s each")
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    if compare:
        whole = {kind: np.concatenate([np.load(x) for x in sorted((folder / kind).iterdir())]) for kind in ("X", "y")}
        fun, grad = split.minimizer(**whole, chunk_rows=len(whole["y"]))
        inside = minimize(fun, np.zeros(COLUMNS), jac=grad, method="L-BFGS-B")
        print(f"largest difference to the weights in memory: {np.abs(found.x - inside.x).max():.1e}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["make", "fit"])
    parser.add_argument("--folder", type=Path, default=Path("rows"))
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--limit", type=int, help="megabytes of address space")
    parser.add_argument("--compare", action="store_true")
    given = parser.parse_args()
    if given.step == "make":
        make(given.folder, given.rows)
    else:
        fit(given.folder, given.limit, given.compare)


if __name__ == "__main__":
    main()
