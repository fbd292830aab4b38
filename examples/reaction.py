"""A stiff reaction, fitted: three rate constants from noisy measurements, with the integration inside of one library.

    python examples/reaction.py

Robertson's reaction has rates that differ by nine orders of magnitude: A becomes B slowly, B becomes C fast, and B
and C turn into A and C. Of each ten measurements are known. A Rosenbrock method integrates; the gradient of the sum
of squares is that of its steps, and SciPy's BFGS finds the logarithms of the rates.
"""

from __future__ import annotations

from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import scipy.integrate
import scipy.optimize
from numpy.typing import NDArray

import aotensor as aot
import aotensor.tensor as at
from aotensor.tensor import Variable

TIMES = np.geomspace(1e-2, 1e4, 10)
TRUTH = np.log([0.04, 3e7, 1e4])
NOISE = 0.01 * np.array([[1.0], [3e-5], [1.0]])  # of A, B and C

log_rates = at.vector("log_rates", dtype="float64", shape=(3,))
measured = at.matrix("measured", dtype="float64", shape=(3, 10))


def reaction(t: Variable, y: Variable) -> list[Variable]:
    """Rates of change of A, B and C."""
    slow = at.exp(log_rates[0]) * y[0]
    fast = at.exp(log_rates[1]) * y[1] ** 2
    back = at.exp(log_rates[2]) * y[1] * y[2]
    return [back - slow, slow - back - fast, fast]


found = at.integrate.solve_ivp(
    reaction, (0.0, 1e4), [1.0, 0.0, 0.0], t_eval=TIMES, method="Rodas5P", rtol=1e-8, atol=1e-12
)
residuals = (found.y - measured) / NOISE
loss = 0.5 * (residuals**2).sum()
misfit = aot.function([log_rates, measured], {"loss": loss, "grad": aot.grad(loss, log_rates)}, name="misfit")
simulate = aot.function([log_rates], {"y": found.y, "steps": found.steps, "success": found.success}, name="simulate")


def by_scipy(log_rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """A, B and C at the times, by SciPy's Radau.   (3, 10)"""
    slow, fast, back = np.exp(log_rates)

    def rates(t: float, y: NDArray[np.float64]) -> list[float]:
        return [
            back * y[1] * y[2] - slow * y[0],
            slow * y[0] - back * y[1] * y[2] - fast * y[1] ** 2,
            fast * y[1] ** 2,
        ]

    solved = scipy.integrate.solve_ivp(
        rates, (0.0, 1e4), [1.0, 0.0, 0.0], method="Radau", t_eval=TIMES, rtol=1e-8, atol=1e-12
    )
    return np.asarray(solved.y)


def main() -> None:
    with TemporaryDirectory() as folder:
        library = aot.compile([misfit, simulate], folder, name="reaction").load()
        exact = library.simulate(TRUTH)
        y, steps = exact["y"], int(exact["steps"])
        data = y + NOISE * np.random.default_rng(1).normal(size=(3, 10))

        def objective(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            value = library.misfit(point, data)
            return float(value["loss"]), value["grad"]

        fitted = scipy.optimize.minimize(objective, np.log([0.1, 1e7, 3e3]), jac=True, method="BFGS")
        step = 1e-4 * np.eye(3)[0]
        slope = (objective(TRUTH + step)[0] - objective(TRUTH - step)[0]) / 2e-4
        start = perf_counter()
        for _ in range(20):
            library.misfit(TRUTH, data)
        each = (perf_counter() - start) / 20
        gradient = objective(TRUTH)[1][0]
    start = perf_counter()
    radau = by_scipy(TRUTH)
    theirs = perf_counter() - start
    print(f"{steps} steps; largest difference to SciPy's Radau {np.abs(y - radau).max():.1e}")
    print("rates ", *(f"{x:.4g}" for x in np.exp(fitted.x)), f" loss {fitted.fun:.3f} after {fitted.nfev} calls")
    print("truth ", *(f"{x:.4g}" for x in np.exp(TRUTH)))
    print(f"derivative {gradient:.5f}, by differences {slope:.5f}")
    print(f"value and gradient take {1e3 * each:.2f} ms, Radau alone {1e3 * theirs:.0f} ms")


if __name__ == "__main__":
    main()
