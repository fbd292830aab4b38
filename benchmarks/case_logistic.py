"""(a) Logistic regression, value and gradient, 10000 x 100, float64."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import peers
from contenders import Comparison
from native import prepared_call
from scipy.special import expit

import aotensor as aot
import aotensor.tensor as at


def comparison(kernels: ctypes.CDLL | None, n: int = 10000, p: int = 100) -> Comparison:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, p)), np.sign(rng.normal(size=n))
    w = rng.normal(size=p) / p**0.5

    def by_numpy() -> list[object]:
        margin = -y * (X @ w)
        return [np.logaddexp(0.0, margin).mean(), X.T @ (-y * expit(margin)) / n]

    c = Comparison(f"(a) logistic {n}x{p} float64", 1e-12, [np.asarray(x) for x in by_numpy()])
    symbols = at.matrix("X", shape=("n", "p")), at.vector("y", shape=("n",)), at.vector("w", shape=("p",))
    loss = at.softplus(-symbols[1] * (symbols[0] @ symbols[2])).mean()
    f = aot.function([*symbols], {"loss": loss, "grad_w": aot.grad(loss, symbols[2])}, name="logistic")
    peers.add_aotensor(c, f, {"X": X, "y": y, "w": w})
    if kernels is not None:
        value, gradient = np.empty(()), np.empty(p)
        c.add("C", prepared_call(kernels.logistic, n, p, X, y, w, value, gradient), lambda _: [value, gradient])
    jax = peers.find_jax(c)
    if jax is not None:

        def by_jax(w: Any, X: Any, y: Any) -> Any:
            return jax.nn.softplus(-y * (X @ w)).mean()

        peers.add_jax(c, jax, jax.value_and_grad(by_jax), [w, X, y])
    pt = peers.find_pytensor(c)
    if pt is not None:
        tX, ty, tw = pt.tensor.dmatrix(), pt.tensor.dvector(), pt.tensor.dvector()
        t_loss = pt.tensor.softplus(-ty * (tX @ tw)).mean()
        peers.add_pytensor(c, pt, [tX, ty, tw], [t_loss, pt.grad(t_loss, tw)], [X, y, w])
    c.add("NumPy", by_numpy, lambda values: list(values))
    return c
