"""Eight schools (Rubin, 1981) in PyMC: the model becomes a library, and Hamiltonian Monte Carlo runs on that alone.

Needs PyMC: pip install 'aotensor[pymc]'
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pymc as pm

from aotensor.importers.pymc import compile_logp, slices

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

with pm.Model() as schools:
    mu = pm.Normal("mu", 0, 5)
    tau = pm.HalfCauchy("tau", 5)
    z = pm.Normal("z", 0, 1, shape=8)
    theta = pm.Deterministic("theta", mu + tau * z)
    pm.Normal("y", theta, sigma=ERRORS, observed=EFFECTS)


def sample(dlogp: Any, q: np.ndarray, draws: int, step: float, leaps: int, rng: np.random.Generator) -> np.ndarray:
    """Hamiltonian Monte Carlo with a fixed number of leaps (Neal, 2011).   → (draws, n)"""
    found = np.empty((draws, len(q)))
    value, slope = dlogp(q).values()
    for row in found:
        p = rng.normal(size=len(q))
        new_q, new_p, new_value, new_slope = q, p, value, slope
        for _ in range(rng.integers(1, leaps + 1)):
            new_p = new_p + step / 2 * new_slope
            new_q = new_q + step * new_p
            new_value, new_slope = dlogp(new_q).values()
            new_p = new_p + step / 2 * new_slope
        if np.log(rng.uniform()) < new_value - value + (p @ p - new_p @ new_p) / 2:
            q, value, slope = new_q, new_value, new_slope
        row[:] = q
    return found


def main() -> None:
    lib = compile_logp(schools, "build", name="schools").load()
    print("; ".join(map(str, slices(schools))))
    rng = np.random.default_rng(3)
    n = slices(schools)[-1].stop
    started = time.perf_counter()
    draws = sample(lib.dlogp, np.zeros(n), 6000, 0.25, 16, rng)[1000:]
    values = [lib.constrain(q) for q in draws]
    print(f"5000 draws in {time.perf_counter() - started:.2f} s")
    for name in ("mu", "tau"):
        print(f"{name}: {np.mean([value[name] for value in values]):.2f}")


if __name__ == "__main__":
    main()
