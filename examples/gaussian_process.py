"""Gaussian-process regression: the evidence and its gradient are compiled, SciPy's L-BFGS-B finds the hyperparameters.

    python examples/gaussian_process.py

The compactness of cell nuclei, about perimeter² / area - 1, is learnt from perimeter, area and smoothness, each with a
length scale of its own. A large one says that the feature does not matter.
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
from aotensor.tensor import Variable

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

Array: TypeAlias = NDArray[np.float64]
Objective: TypeAlias = Callable[[Array], tuple[float, Array]]

DATA = Path(__file__).parent / "data" / "breast_cancer.csv"
FEATURES = {"perimeter": 2, "area": 3, "smoothness": 4}
TARGET = 5
TRAIN = 300
FLOOR = 1e-8  # added to the noise, so that points which nearly coincide leave a matrix with a factor


def kernel(a: Variable, b: Variable, log_scales: Variable, log_signal: Variable) -> Variable:
    """signal² exp(-½ Σ_k ((a_ik - b_jk) / scale_k)²).   a: (n, d), b: (m, d) → (n, m)"""
    apart = (a[:, None, :] - b[None, :, :]) * at.exp(-log_scales)
    return at.exp(2 * log_signal - 0.5 * (apart**2).sum(axis=2))


# -log p(y | X, theta) = ½ |z|² + Σ log L_ii + n/2 log 2π   with L Lᵀ = K + noise² 1 and L z = y
X = at.matrix("X", dtype="float64", shape=("n", "d"))
y = at.vector("y", dtype="float64", shape=("n",))
log_scales = at.vector("log_scales", dtype="float64", shape=("d",))
log_signal = at.scalar("log_signal", dtype="float64")
log_noise = at.scalar("log_noise", dtype="float64")
hyper = [log_scales, log_signal, log_noise]

covariance = kernel(X, X, log_scales, log_signal) + (at.exp(2 * log_noise) + FLOOR) * at.eye(X.shape[0])
L = at.linalg.cholesky(covariance)
z = at.linalg.solve_triangular(L, y, lower=True)
loss = 0.5 * (z**2).sum() + at.log(at.diag(L)).sum() + 0.5 * np.log(2 * np.pi) * y.size
derivatives = dict(zip([f"grad_{v.name}" for v in hyper], aot.grad(loss, hyper), strict=True))
evidence = aot.function([X, y, *hyper], {"loss": loss, **derivatives}, name="evidence")

X_new = at.matrix("X_new", dtype="float64", shape=("m", "d"))
cross = at.linalg.solve_triangular(L, kernel(X, X_new, log_scales, log_signal), lower=True)
predict = aot.function([X, y, *hyper, X_new], cross.T @ z, name="predict")


def read_data() -> tuple[Array, Array]:
    """Features and target, shuffled, standardised by the part to fit.   (569, 3), (569,)"""
    table = np.loadtxt(DATA, delimiter=",", skiprows=1)
    table = np.random.default_rng(0).permutation(table)[:, [*FEATURES.values(), TARGET]]
    table = (table - table[:TRAIN].mean(axis=0)) / table[:TRAIN].std(axis=0)
    return table[:, :-1], table[:, -1]


def compiled_objective(features: Array, target: Array) -> Objective:
    """Value and gradient by the compiled function, for log scales, log signal and log noise in one vector."""

    def objective(theta: Array) -> tuple[float, Array]:
        value = evidence(features, target, theta[:-2], theta[-2], theta[-1])
        return value["loss"], np.hstack([value[name] for name in derivatives])

    return objective


def numpy_evidence(features: Array, target: Array, theta: Array) -> float:
    """The value as one writes it with NumPy."""
    scaled = features * np.exp(-theta[:-2])
    squares = ((scaled[:, None] - scaled[None]) ** 2).sum(axis=2)
    matrix = np.exp(2 * theta[-2] - 0.5 * squares) + (np.exp(2 * theta[-1]) + FLOOR) * np.eye(len(target))
    factor = np.linalg.cholesky(matrix)
    white = np.linalg.solve(factor, target)
    return float(0.5 * white @ white + np.log(np.diag(factor)).sum() + 0.5 * np.log(2 * np.pi) * len(target))


def fit(objective: Objective, d: int) -> OptimizeResult:
    """The minimum from scales, signal and noise 1; less noise can lead to a minimum that is not the best."""
    from scipy.optimize import minimize  # here, as `aotensor compile` runs this file and has no use for it

    return minimize(objective, np.zeros(d + 2), jac=True, method="L-BFGS-B", bounds=[(-6.0, 6.0)] * (d + 2))


def linear_prediction(features: Array, target: Array, others: Array) -> Array:
    """What least squares with an intercept say of other rows."""
    weights = np.linalg.lstsq(np.column_stack([np.ones(len(target)), features]), target, rcond=None)[0]
    return np.asarray(weights[0] + others @ weights[1:])


def error(prediction: Array, truth: Array) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean((prediction - truth) ** 2)))


def main() -> None:
    features, target = read_data()
    data, test = (features[:TRAIN], target[:TRAIN]), (features[TRAIN:], target[TRAIN:])
    print(f"cell nuclei: {TRAIN} to fit, {len(test[1])} to test; compactness from {', '.join(FEATURES)}")

    start = perf_counter()
    objective = compiled_objective(*data)
    objective(np.zeros(len(FEATURES) + 2))
    print(f"first call, compiles or finds the library in the cache: {perf_counter() - start:.2f} s")

    start = perf_counter()
    result = fit(objective, len(FEATURES))
    seconds = perf_counter() - start
    theta = result.x
    scales = ", ".join(f"{name} {scale:.3g}" for name, scale in zip(FEATURES, np.exp(theta[:-2]), strict=True))
    print(f"fit: loss {result.fun:.4f} after {result.nfev} evaluations in {seconds:.2f} s")
    print(f"length scales: {scales}; signal {np.exp(theta[-2]):.3g}, noise {np.exp(theta[-1]):.3g}")

    process = predict(*data, theta[:-2], theta[-2], theta[-1], test[0])
    line = linear_prediction(*data, test[0])
    print(f"held-out error: {error(process, test[1]):.4f} standard deviations, ", end="")
    print(f"{error(line, test[1]):.4f} by linear least squares")

    ours = min(repeat(lambda: objective(theta), number=1, repeat=50))
    theirs = min(repeat(lambda: numpy_evidence(*data, theta), number=1, repeat=20))
    print(f"one value and gradient takes {1e3 * ours:.2f} ms, the value alone by NumPy {1e3 * theirs:.2f} ms")

    point = theta + 0.1  # at the minimum itself the gradient is zero
    value, gradient = objective(point)
    step = np.r_[np.zeros(len(theta) - 1), 1e-4]
    difference = (numpy_evidence(*data, point + step) - numpy_evidence(*data, point - step)) / 2e-4
    print(f"agreement with NumPy: value {abs(value / numpy_evidence(*data, point) - 1):.1e}, ", end="")
    print(f"derivative by log noise {gradient[-1]:.5f}, by differences {difference:.5f}")


if __name__ == "__main__":
    main()
