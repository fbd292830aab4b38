"""A Gaussian mixture fitted by gradients of its likelihood, chunk by chunk on threads, and in memory.

python examples/mixture_by_chunks.py --rows 100000
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.optimize import minimize

import aotensor as aot
import aotensor.tensor as at
from aotensor_runtime.rounds import Threads

COMPONENTS, COLUMNS = 3, 2


def model() -> aot.Function:
    """Mean negative log likelihood by means, log scales and logits of the weights, and its three gradients."""
    X = at.matrix("X", dtype="float64", shape=("n", COLUMNS))
    mu = at.matrix("mu", dtype="float64", shape=(COMPONENTS, COLUMNS))
    log_scale = at.vector("log_scale", dtype="float64", shape=(COMPONENTS,))
    logits = at.vector("logits", dtype="float64", shape=(COMPONENTS,))
    squares = (((X[:, None, :] - mu[None, :, :]) * at.exp(-log_scale)[None, :, None]) ** 2).sum(axis=2)
    parts = at.log_softmax(logits)[None, :] - COLUMNS * log_scale[None, :] - 0.5 * squares
    loss = -at.logsumexp(parts, axis=1).mean()
    wrt = [mu, log_scale, logits]
    return aot.function([X, *wrt], [loss, *aot.grad(loss, wrt)], name="mixture")


mixture = model()


def main() -> None:
    """Fit by chunks, and in memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    rng = np.random.default_rng(0)
    centres = np.array([[-3.0, 0.0], [0.0, 3.0], [3.0, 0.0]])
    X = centres[rng.choice(COMPONENTS, rows, p=[0.5, 0.3, 0.2])] + rng.normal(size=(rows, COLUMNS)) * 0.7
    start = np.concatenate([centres.ravel() * 0.5, np.zeros(2 * COMPONENTS)])
    rounds = aot.split(mixture, over="n")
    with Threads(2) as engine:
        fun, grad = rounds.minimizer(engine, X=X, chunk_rows=-(-rows // 7))
        found = minimize(fun, start, jac=grad, method="L-BFGS-B")
    fun, grad = rounds.minimizer(X=X, chunk_rows=rows)
    inside = minimize(fun, start, jac=grad, method="L-BFGS-B")
    print(f"loss {found.fun:.6f} after {found.nfev} evaluations")
    print(f"largest error of a mean: {np.abs(found.x[: centres.size].reshape(centres.shape) - centres).max():.2f}")
    print(f"largest difference to the parameters in memory: {np.abs(found.x - inside.x).max():.1e}")


if __name__ == "__main__":
    main()
