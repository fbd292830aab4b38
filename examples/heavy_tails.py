"""How large does a tumour look at its worst? A line whose errors follow Student's t, fitted by Newton's method.

    loss(β, ln σ, ln ν) = −Σ ln t_ν((y − X·β)/σ) + n·ln σ

A few tumours are far off the line. Least squares takes these for ordinary ones; a t distribution tells from the data
how heavy its tails are. The derivatives in the degrees of freedom ν are digamma and trigamma functions, which the
compiler makes vectors of. SciPy fits the same errors by its own means, for comparison.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.stats

import aotensor as aot
import aotensor.tensor as at

DATA = Path(__file__).parent / "data" / "breast_cancer.csv"
AREA, TEXTURE, CONCAVITY, WORST_AREA = 3, 1, 6, 23

p = at.vector("p", shape=("k",))
X, y = at.matrix("X", shape=("n", "features")), at.vector("y", shape=("n",))
beta, sigma, nu = p[:-2], at.exp(p[-2]), at.exp(p[-1])
residuals = (y - X @ beta) / sigma
log_density = (
    at.gammaln((nu + 1) / 2)
    - at.gammaln(nu / 2)
    - 0.5 * at.log(nu * at.pi)
    - (nu + 1) / 2 * at.log1p(residuals**2 / nu)
)
loss = (at.log(sigma) - log_density).sum()
step = aot.function(
    [p, X, y], {"loss": loss, "gradient": aot.grad(loss, p), "hessian": at.hessian(loss, p)}, name="heavy_tails"
)


def read() -> tuple[np.ndarray, np.ndarray]:
    """Features with a column of ones, standardised, and the logarithm of the largest area that was seen."""
    table = np.loadtxt(DATA, delimiter=",", skiprows=1)
    chosen = np.stack([np.log(table[:, AREA]), table[:, TEXTURE], table[:, CONCAVITY]], axis=1)
    chosen = (chosen - chosen.mean(axis=0)) / chosen.std(axis=0)
    return np.column_stack([np.ones(len(chosen)), chosen]), np.log(table[:, WORST_AREA])


if __name__ == "__main__":
    features, target = read()
    weights = np.linalg.lstsq(features, target, rcond=None)[0]
    spread = (target - features @ weights).std()
    point = np.array([*weights, np.log(spread), np.log(10.0)])
    for _ in range(50):
        found = step(point, features, target)
        curvature = found["hessian"]
        if np.linalg.eigvalsh(curvature)[0] <= 0:  # far away: a step along the gradient
            curvature = np.eye(len(point)) * np.abs(curvature).sum()
        move = np.linalg.solve(curvature, found["gradient"])
        point = point - move / max(1.0, float(np.abs(move).max()))
        if np.abs(move).max() < 1e-12:
            break
    normal = -scipy.stats.norm.logpdf(target - features @ weights, scale=spread).sum()
    print(f"loss {found['loss']:.4f}, of normal errors {normal:.4f}")
    print(f"degrees of freedom {np.exp(point[-1]):.4f}, scale {np.exp(point[-2]):.5f}; normal errors have {spread:.5f}")
    print(f"largest derivative there: {np.abs(found['gradient']).max():.0e}")
    errors = target - features @ point[:-2]
    degrees, _, scale = scipy.stats.t.fit(errors, floc=0)
    print(f"scipy, of these errors: degrees of freedom {degrees:.4f}, scale {scale:.5f}")
    print("weights:", " ".join(f"{w:.4f}" for w in point[:-2]), "least squares:", " ".join(f"{w:.4f}" for w in weights))
