"""Lifetimes of which some are known only as "longer than": a gamma law fitted by Newton's method.

    loss(ln k, ln θ) = −Σ ln f(k, t/θ) over the failures − Σ ln Q(k, t/θ) over what still ran at time t

Q is the upper incomplete gamma function, whose derivatives in the shape k are series and continued fractions that the
compiler differentiates term by term, twice for the Hessian.
"""

from __future__ import annotations

import numpy as np

import aotensor as aot
import aotensor.tensor as at

p = at.vector("p", shape=(2,))
t, failed = at.vector("t", shape=("n",)), at.vector("failed", shape=("n",))
k, theta = at.exp(p[0]), at.exp(p[1])
u = t / theta
log_density = (k - 1) * at.log(u) - u - at.gammaln(k) - at.log(theta)
loss = -(failed * log_density + (1 - failed) * at.log(at.gammaincc(k, u))).sum()
step = aot.function(
    [p, t, failed], {"loss": loss, "gradient": aot.grad(loss, p), "hessian": at.hessian(loss, p)}, name="lifetimes"
)

shape, probability = at.vector("shape"), at.vector("probability")
quantile = aot.function([shape, probability], {"t": at.gammaincinv(shape, probability)}, name="quantile")


if __name__ == "__main__":
    count, limit = 500, 6.0
    middles = (np.arange(count) + 0.5) / count
    lifetimes = 2.0 * quantile(np.full(count, 2.5), middles)["t"]
    seen, has_failed = np.minimum(lifetimes, limit), (lifetimes <= limit).astype(float)
    point = np.zeros(2)
    for _ in range(30):
        found = step(point, seen, has_failed)
        curvature = found["hessian"]
        if np.linalg.eigvalsh(curvature)[0] <= 0:  # far away: a step along the gradient
            curvature = np.eye(2) * np.abs(curvature).sum()
        move = np.linalg.solve(curvature, found["gradient"])
        point = point - move / max(1.0, float(np.abs(move).max()))
        if np.abs(move).max() < 1e-12:
            break
    print(f"{int(has_failed.sum())} of {count} failed before {limit}")
    print(f"shape {np.exp(point[0]):.4f}, scale {np.exp(point[1]):.4f}, loss {found['loss']:.4f}")
    print(f"largest derivative there: {abs(found['gradient']).max():.0e}")
