"""Binary classification on real data: the loss and its gradient are compiled, SciPy's L-BFGS-B does the rest.

python examples/logistic.py                        fit, compare with the same fit in NumPy and SciPy
aotensor compile examples/logistic.py -o build     build/liblogistic.so and build/logistic.h
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from timeit import repeat
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

import aotensor as aot
import aotensor.tensor as at

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

Array: TypeAlias = NDArray[np.float64]
Objective: TypeAlias = Callable[[Array], tuple[float, Array]]

DATA = Path(__file__).parent / "data" / "breast_cancer.csv"
L2 = 1e-2

# loss(w) = mean log(1 + exp(-y * Xw)) + l2/2 |w|^2; the intercept is the first column of X and not penalised
X = at.matrix("X", dtype="float64", shape=("n", "p"))
y = at.vector("y", dtype="float64", shape=("n",))
w = at.vector("w", dtype="float64", shape=("p",))
l2 = at.scalar("l2", dtype="float64")
loss = at.softplus(-y * (X @ w)).mean() + 0.5 * l2 * (w[1:] ** 2).sum()
logistic = aot.function([X, y, w, l2], {"loss": loss, "grad_w": aot.grad(loss, w)}, name="logistic")


def read_data() -> tuple[Array, Array]:
    """Standardised features behind a column of ones; labels -1 malignant, +1 benign.   X: (569, 31), y: (569,)"""
    table = np.loadtxt(DATA, delimiter=",", skiprows=1)
    features = table[:, :-1]
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    return np.column_stack([np.ones(len(table)), scaled]), 2 * table[:, -1] - 1


def compiled_objective(data: Array, labels: Array) -> Objective:
    """Value and gradient by the compiled function."""

    def objective(weights: Array) -> tuple[float, Array]:
        value = logistic(data, labels, weights, L2)
        return value["loss"], value["grad_w"]

    return objective


def scipy_objective(data: Array, labels: Array) -> Objective:
    """Value and gradient as one writes them with NumPy and SciPy."""
    from scipy.special import expit

    def objective(weights: Array) -> tuple[float, Array]:
        margin = labels * (data @ weights)
        penalty = L2 * np.r_[0.0, weights[1:]]
        value = np.logaddexp(0.0, -margin).mean() + 0.5 * penalty @ weights
        return value, penalty - data.T @ (labels * expit(-margin)) / len(labels)

    return objective


def fit(objective: Objective, p: int) -> tuple[OptimizeResult, float]:
    """The minimum from w = 0, and the best time of twenty fits in seconds."""
    from scipy.optimize import minimize  # here, as `aotensor compile` runs this file and has no use for it

    best = float("inf")
    for _ in range(20):
        start = perf_counter()
        result = minimize(objective, np.zeros(p), jac=True, method="L-BFGS-B", options={"maxiter": 1000})
        best = min(best, perf_counter() - start)
    return result, best


def evaluation_seconds(objective: Objective, weights: Array) -> float:
    """The best time of one value and gradient."""
    return min(repeat(lambda: objective(weights), number=20, repeat=50)) / 20


def accuracy(data: Array, labels: Array, weights: Array) -> float:
    return float(np.mean(np.sign(data @ weights) == labels))


def main() -> None:
    data, labels = read_data()
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = order[:400], order[400:]
    data_train, labels_train = data[train], labels[train]
    n, p = data_train.shape
    print(f"breast cancer: {n} rows to fit, {len(test)} to test, {p - 1} features and an intercept")

    start = perf_counter()
    compiled = compiled_objective(data_train, labels_train)
    compiled(np.zeros(p))
    print(f"first call, compiles or finds the library in the cache: {perf_counter() - start:.2f} s")

    results = []
    for who, objective in (("aotensor", compiled), ("scipy", scipy_objective(data_train, labels_train))):
        result, seconds = fit(objective, p)
        results.append(result)
        print(
            f"{who}: loss {result.fun:.6f}, accuracy {accuracy(data_train, labels_train, result.x):.4f} on train, "
            f"{accuracy(data[test], labels[test], result.x):.4f} on test; {result.nfev} evaluations in "
            f"{1e3 * seconds:.2f} ms, one takes {1e6 * evaluation_seconds(objective, result.x):.1f} us"
        )
    ours, theirs = results
    print(f"largest difference of the weights: {np.abs(ours.x - theirs.x).max():.1e}")


if __name__ == "__main__":
    main()
