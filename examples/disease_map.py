"""A map of disease: log density and gradient of a Gaussian field over districts, without SuiteSparse.

    python examples/disease_map.py

Lip cancer in the 56 districts of Scotland. The log relative risk of a district is a + b·outdoor + field, and the
field of a district is near that of its neighbours: its precision matrix Q = τ·(D − α·W) is sparse (a conditional
autoregression). The field is integrated out by Laplace's method, where log |Q + diag(mean)| and its gradient need
sparse factors.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import scipy.optimize
import scipy.sparse
from numpy.typing import NDArray

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.tensor import Variable

DATA = Path(__file__).parent / "data" / "lip_cancer.csv"
STEPS = 8  # of Newton's method, more than it needs from a field of zeros
PRIOR = {"log τ": (0.5, 1.0), "logit α": (1.5, 1.5), "a": (0.0, 2.0), "b": (0.0, 1.0)}  # mean and deviation


def read_data() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], scipy.sparse.csr_matrix]:
    """Cases, expected cases, tenths of people who work outdoors, and which districts are neighbours."""
    rows = [line.split(",") for line in DATA.read_text().splitlines()[1:]]
    cases, expected, outdoor = (np.array([float(row[k]) for row in rows]) for k in range(3))
    neighbours = scipy.sparse.lil_matrix((len(rows), len(rows)))
    for i, row in enumerate(rows):
        for j in row[3].split():
            neighbours[i, int(j) - 1] = neighbours[int(j) - 1, i] = 1.0
    return cases, expected, outdoor / 10, neighbours.tocsr()


CASES, EXPECTED, OUTDOOR, W = read_data()
DEGREES = np.maximum(np.asarray(W.sum(axis=1)).ravel(), 1.0)  # of an island as of a district with one neighbour
PATTERN = (W + scipy.sparse.identity(len(CASES))).tocsr()  # its entries are known, so the order of elimination is too
ROWS, COLUMNS = PATTERN.nonzero()

theta = at.vector("theta", dtype="float64", shape=(4,))  # log τ, logit α, a, b
cases = at.vector("cases", dtype="float64", shape=(56,))
field = at.vector("field", dtype="float64", shape=(56,))
scale, correlation = at.exp(theta[0]), at.sigmoid(theta[1])
precision = scale * at.switch(ROWS == COLUMNS, DEGREES[ROWS], -correlation)  # the stored entries of Q


def matrix(entries: Variable) -> sp.SparseVariable:
    """A matrix on the pattern of Q.   (entries,) → (56, 56)"""
    return sp.CSR(entries, PATTERN.indices, PATTERN.indptr, np.array(PATTERN.shape))


Q = matrix(precision)


def log_joint(x: Variable) -> Variable:
    """log p(cases, x | theta), less what depends on the cases alone.   (56,) → ()"""
    log_mean = theta[2] + theta[3] * OUTDOOR + x
    likelihood = (cases * log_mean - EXPECTED * at.exp(log_mean)).sum()
    return likelihood + 0.5 * sp.slogdet(Q).logabsdet - 0.5 * (x * sp.dot(Q, x)).sum() - 28 * np.log(2 * np.pi)


def expected_cases(x: Variable) -> Variable:
    return EXPECTED * at.exp(theta[2] + theta[3] * OUTDOOR + x)


def around(x: Variable) -> sp.Cholesky:
    """The precision of the field around x: Q, and on its diagonal also the expected cases."""
    return sp.cholesky(matrix(precision + at.switch(ROWS == COLUMNS, expected_cases(x)[ROWS], 0.0)))


def newton(x: Variable) -> Variable:
    """One step to the field with the highest density."""
    return x + around(x).solve(cases - expected_cases(x) - sp.dot(Q, x))


log_prior = sum(-0.5 * ((theta[k] - mean) / width) ** 2 for k, (mean, width) in enumerate(PRIOR.values()))
steps, _ = aot.scan(newton, outputs_info=[at.zeros(56)], n_steps=STEPS)
mode = steps[-1]
posterior = around(mode)
evidence = log_prior + log_joint(mode) - 0.5 * posterior.slogdet().logabsdet + 28 * np.log(2 * np.pi)

value = log_prior + log_joint(field)
density = aot.function(
    [theta, field, cases],
    {"value": value, **dict(zip(("grad_theta", "grad_field"), aot.grad(value, [theta, field]), strict=True))},
    name="density",
)
marginal = aot.function([theta, cases], {"value": evidence, "grad": aot.grad(evidence, theta)}, name="marginal")

normals = at.matrix("normals", dtype="float64", shape=(56, "draws"))
summary = aot.function(
    [theta, cases, normals],
    {
        "mode": mode,
        "deviation": at.sqrt(sp.diag(posterior.selected_inverse())),
        "draws": at.expand_dims(mode, 1) + posterior.draws(normals),
    },
    name="summary",
)


def dense_marginal(point: NDArray[np.float64]) -> float:
    """The same by NumPy, with dense matrices."""
    tau, alpha = np.exp(point[0]), 1 / (1 + np.exp(-point[1]))
    dense = tau * (np.diag(DEGREES) - alpha * W.toarray())
    offset, x = point[2] + point[3] * OUTDOOR, np.zeros(56)
    for _ in range(STEPS):
        mean = EXPECTED * np.exp(offset + x)
        x = x + np.linalg.solve(dense + np.diag(mean), CASES - mean - dense @ x)
    mean = EXPECTED * np.exp(offset + x)
    prior = sum(-0.5 * ((p - m) / w) ** 2 for p, (m, w) in zip(point, PRIOR.values(), strict=True))
    joint = CASES @ (offset + x) - mean.sum() - 0.5 * x @ dense @ x + 0.5 * np.linalg.slogdet(dense)[1]
    return float(prior + joint - 0.5 * np.linalg.slogdet(dense + np.diag(mean))[1])


def fit(value_and_gradient: Callable[..., dict[str, NDArray[np.float64]]]) -> scipy.optimize.OptimizeResult:
    """The parameters with the largest evidence."""

    def objective(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        found = value_and_gradient(point, CASES)
        return -float(found["value"]), -found["grad"]

    return scipy.optimize.minimize(objective, [0.5, 1.5, 0.0, 0.3], jac=True, method="BFGS")


def main() -> None:
    with TemporaryDirectory() as folder:
        library = aot.compile([density, marginal, summary], folder, name="disease_map").load()
        fitted = fit(library.marginal)
        start = perf_counter()
        for _ in range(100):
            library.marginal(fitted.x, CASES)
        each = (perf_counter() - start) / 100
        found = library.summary(fitted.x, CASES, np.random.default_rng(0).normal(size=(56, 4000)))
    tau, alpha = np.exp(fitted.x[0]), 1 / (1 + np.exp(-fitted.x[1]))
    print(
        f"log evidence {-fitted.fun:.4f} (by dense matrices {dense_marginal(fitted.x):.4f}) after {fitted.nfev} calls"
    )
    print(f"τ {tau:.3f}, α {alpha:.3f}, a {fitted.x[2]:.3f}, b {fitted.x[3]:.3f} per tenth that works outdoors")
    print(f"a value and gradient take {1e6 * each:.0f} µs")
    level = fitted.x[2] + fitted.x[3] * OUTDOOR
    risk = np.exp(level + found["mode"])
    for district in np.argsort(-risk)[[0, 1, -2, -1]]:
        low, high = np.exp(level[district] + np.quantile(found["draws"][district], [0.05, 0.95]))
        observed = CASES[district] / EXPECTED[district]
        print(
            f"district {district + 1:2}: risk {risk[district]:.2f} ({low:.2f} to {high:.2f}), observed {observed:.2f}"
        )
    spread = found["draws"].std(axis=1) / found["deviation"]
    print(f"deviations of 4000 draws beside those of the inverse: {spread.min():.3f} to {spread.max():.3f}")


if __name__ == "__main__":
    main()
