"""Poisson regression with sparse rows on a Dask LocalCluster of two workers, beside the same fit in memory.

pip install 'aotensor[dask]'
python examples/poisson_on_dask.py --rows 200000
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.sparse
from scipy.optimize import minimize

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor_runtime.rounds import Dask

COLUMNS = 50


def model() -> aot.Function:
    """Mean negative log likelihood with a ridge, and its gradient: one round."""
    X, y = sp.csr_matrix("X", shape=("n", "p")), at.vector("y", dtype="float64", shape=("n",))
    w = at.vector("w", dtype="float64", shape=("p",))
    eta = sp.dot(X, w)
    loss = (at.exp(eta) - y * eta).mean() + 1e-4 * (w**2).sum()
    return aot.function([X, y, w], {"loss": loss, "grad_w": aot.grad(loss, w)}, name="poisson")


poisson = model()


def main() -> None:
    """Fit on the cluster, and in memory."""
    import distributed

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args().rows
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(rows, COLUMNS, 0.1, "csr", rng=rng)
    y = rng.poisson(np.exp(X @ rng.normal(size=COLUMNS))).astype(float)
    rounds = aot.split(poisson, over="n")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        fun, grad = rounds.minimizer(Dask(client), X=X, y=y, chunk_rows=-(-rows // 8))
        found = minimize(fun, np.zeros(COLUMNS), jac=grad, method="L-BFGS-B")

    def whole(w: np.ndarray) -> tuple[float, np.ndarray]:
        result = poisson(X, y, w)
        return float(result["loss"]), result["grad_w"]

    inside = minimize(whole, np.zeros(COLUMNS), jac=True, method="L-BFGS-B")
    print(f"loss {found.fun:.6f} after {found.nfev} evaluations")
    print(f"largest difference to the weights in memory: {np.abs(found.x - inside.x).max():.1e}")


if __name__ == "__main__":
    main()
