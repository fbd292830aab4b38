"""One library with the functions that SciPy's solvers need: value, gradient, Hessian, Hessian-vector products.

python examples/trust_region.py

Three methods fit a logistic regression, with gradients, Hessian-vector products and Hessians; then QUADPACK integrates
the loss along the line to the optimum, and calls the library without Python.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import hessian

if TYPE_CHECKING:
    from aotensor_runtime import Library

Array: TypeAlias = NDArray[np.float64]

DATA = Path(__file__).parent / "data" / "breast_cancer.csv"
L2 = 1e-2

# loss(w) = mean log(1 + exp(-y * Xw)) + l2/2 |w|²
X = at.matrix("X", dtype="float64", shape=("n", "p"))
y = at.vector("y", dtype="float64", shape=("n",))
w = at.vector("w", dtype="float64", shape=("p",))
v = at.vector("v", dtype="float64", shape=("p",))
loss = at.softplus(-y * (X @ w)).mean() + 0.5 * L2 * (w**2).sum()
gradient = aot.grad(loss, w)

fun = aot.function([X, y, w], [loss, gradient], name="fun")
hess = aot.function([X, y, w], hessian(loss, w), name="hess")
hessp = aot.function([X, y, w, v], aot.grad((gradient * v).sum(), w), name="hessp")

# the loss at the point t of the line from 0 to w
t = at.scalar("t", dtype="float64")
along = aot.function(
    [t, X, y, w], at.softplus(-y * (X @ (t * w))).mean() + 0.5 * L2 * ((t * w) ** 2).sum(), name="along"
)


def read_data() -> tuple[Array, Array]:
    """Standardised features; labels -1 malignant, +1 benign.   X: (569, 30), y: (569,)"""
    table = np.loadtxt(DATA, delimiter=",", skiprows=1)
    features = table[:, :-1]
    return (features - features.mean(axis=0)) / features.std(axis=0), 2 * table[:, -1] - 1


def fit(library: Library, features: Array, labels: Array) -> Array:
    """The optimum, by each method of SciPy with what it can use.   → (30,)"""
    from scipy.optimize import minimize

    def on_data(name: str) -> Callable[..., Array]:
        """A function of the library that knows the data."""
        compiled = library[name]
        return lambda *rest: compiled(features, labels, *rest)

    derivatives: dict[str, dict[str, object]] = {
        "L-BFGS-B": {},
        "trust-ncg": {"hessp": on_data("hessp")},
        "trust-exact": {"hess": on_data("hess")},
    }
    start = np.zeros(features.shape[1])
    for method, more in derivatives.items():
        found = minimize(on_data("fun"), start, jac=True, method=method, tol=1e-6, **more)
        used = ", ".join(["fun", "jac", *more])
        print(
            f"{method} by {used}: loss {found.fun:.8f} after {found.nit} steps, |gradient| {abs(found.jac).max():.1e}"
        )
    return np.asarray(found.x)


def integrate(library: Library, features: Array, labels: Array, optimum: Array) -> None:
    """∫ loss(t w) dt from 0 to 1, by calls from C and by calls through Python."""
    from scipy.integrate import quad

    direct, _ = quad(library.along.low_level_callable(X=features, y=labels, w=optimum), 0, 1)
    through_python, _ = quad(lambda at_t: library.along(at_t, features, labels, optimum), 0, 1)
    print(f"mean loss on the way: {direct:.8f}, through Python {through_python:.8f}")


def main() -> None:
    features, labels = read_data()
    with TemporaryDirectory() as folder:
        library = aot.compile([fun, hess, hessp, along], folder, name="logistic").load()
        integrate(library, features, labels, fit(library, features, labels))


if __name__ == "__main__":
    main()
