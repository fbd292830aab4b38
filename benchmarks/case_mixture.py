"""(g) Log-likelihood of a Gaussian mixture with full covariances and its gradient: GMM of the ADBench suite.

Inverse covariances are Q'Q for lower triangular Q, whose diagonal is the exponential of the first d of the d(d+1)/2
parameters of a component, and whose other entries are the remaining ones. With the Wishart prior of ADBench.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import lgamma, log, pi
from typing import Any

import numpy as np
from contenders import Array, Contender, Model, value_and_gradient
from native import prepared_call

GAMMA, EXTRA = 1.0, 0  # of the prior: scale, and degrees of freedom beyond d + 1
PARAMETERS = ("alphas", "means", "factors")


class Mixture(Model):
    tolerance = 1e-11

    def __init__(self, n: int = 1000, d: int = 10, k: int = 25) -> None:
        self.title = f"(g) Gaussian mixture n={n} d={d} K={k} float64"
        self.n, self.d, self.k = n, d, k
        rng = np.random.default_rng(0)
        self.values = {
            "alphas": rng.normal(size=k),
            "means": rng.uniform(size=(k, d)),
            "factors": rng.normal(size=(k, d * (d + 1) // 2)) * 0.5,
            "x": rng.normal(size=(n, d)),
        }
        self.rows, self.columns = np.tril_indices(d, -1)
        self.place = np.zeros((d, d), dtype="int64")  # of an entry below the diagonal among those parameters
        self.place[self.rows, self.columns] = np.arange(len(self.rows))
        self.below = np.tri(d, k=-1)
        self.constant = -n * d * 0.5 * log(2 * pi) - self._prior_constant()
        self.prior = np.array([self.constant, GAMMA, EXTRA])

    def _prior_constant(self) -> float:
        d, freedom = self.d, self.d + 1 + EXTRA
        gammas = 0.25 * d * (d - 1) * log(pi) + sum(lgamma(0.5 * (freedom - i)) for i in range(d))
        return self.k * (freedom * d * (log(GAMMA) - 0.5 * log(2)) - gammas)

    def reference(self) -> list[Array]:
        return self._by_numpy()

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        alphas, means = at.vector("alphas", shape=(self.k,)), at.matrix("means", shape=(self.k, self.d))
        factors = at.matrix("factors", shape=(self.k, self.d * (self.d + 1) // 2))
        x = at.matrix("x", shape=("n", self.d))
        loss = self._likelihood(at, alphas, means, factors, x, _whiten_by_sum, at.logsumexp)
        derivatives = aot.grad(loss, [alphas, means, factors])
        outputs = {"loss": loss} | {f"grad_{name}": g for name, g in zip(PARAMETERS, derivatives, strict=True)}
        return aot.function([alphas, means, factors, x], outputs, name="mixture")

    def jax(self, jax: Any) -> Callable[..., Any]:
        def whiten(Q: Any, offset: Any) -> Any:
            return jax.numpy.einsum("kij,nkj->nki", Q, offset)  # 17 times as fast as the sum

        def loss(*inputs: Any) -> Any:
            return self._likelihood(jax.numpy, *inputs, whiten, jax.scipy.special.logsumexp)

        def flat(*inputs: Any) -> Any:
            value, derivatives = jax.value_and_grad(loss, argnums=(0, 1, 2))(*inputs)
            return (value, *derivatives)

        return flat

    def torch(self, torch: Any) -> Callable[..., Any]:
        def whiten(Q: Any, offset: Any) -> Any:
            return torch.einsum("kij,nkj->nki", Q, offset)

        def logsumexp(x: Any, axis: int) -> Any:
            return torch.logsumexp(x, dim=axis)

        constants = torch.from_numpy(self.place), torch.from_numpy(self.below)

        def loss(*inputs: Any) -> Any:
            return self._likelihood(torch, *inputs, whiten, logsumexp, constants)

        return value_and_gradient(torch, loss, by=range(3))

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        inputs = [pt.tensor.dvector(), pt.tensor.dmatrix(), pt.tensor.dmatrix(), pt.tensor.dmatrix()]
        loss = self._likelihood(pt.tensor, *inputs, _whiten_by_sum, pt.tensor.logsumexp)
        return inputs, [loss, *pt.grad(loss, inputs[:3])]

    def _likelihood(
        self, np: Any, alphas: Any, means: Any, factors: Any, x: Any,
        whiten: Callable[[Any, Any], Any], logsumexp: Callable[..., Any],
        constants: tuple[Any, Any] | None = None,
    ) -> Any:  # fmt: skip
        """The log-likelihood, by functions that aotensor, JAX, PyTorch and PyTensor all have."""
        d = self.d
        diagonal, rest = factors[:, :d], factors[:, d:]
        scale = np.exp(diagonal)
        place, below = constants or (self.place, self.below)
        Q = rest[:, place] * below + scale[:, :, None] * np.eye(d)
        offset = x[:, None, :] - means[None, :, :]
        whitened = whiten(Q, offset)
        log_density = alphas + diagonal.sum(axis=1) - 0.5 * (whitened**2).sum(axis=2)
        prior = (0.5 * GAMMA**2 * ((scale**2).sum() + (rest**2).sum())) - EXTRA * diagonal.sum()
        likelihood = logsumexp(log_density, axis=1).sum() - self.n * logsumexp(alphas, axis=0)
        return self.constant + likelihood + prior

    def numpy(self) -> Contender:
        return self._by_numpy

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Array]] | None:
        """Written for ten features and 25 components."""
        if (self.d, self.k) != (10, 25):
            return None
        alphas, means, factors, x = self.values.values()
        results = [np.empty(()), np.empty(self.k), np.empty_like(means), np.empty_like(factors)]
        return prepared_call(kernels.mixture, self.n, alphas, means, factors, x, self.prior, *results), results

    def _by_numpy(self) -> list[Any]:
        alphas, means, factors, x = self.values.values()
        d = self.d
        diagonal, rest = factors[:, :d], factors[:, d:]
        scale = np.exp(diagonal)
        Q = rest[:, self.place] * self.below + scale[:, :, None] * np.eye(d)
        whitened = np.einsum("kij,nkj->nki", Q, x[:, None, :] - means)
        density = alphas + diagonal.sum(axis=1) - 0.5 * (whitened**2).sum(axis=2)
        top = density.max(axis=1, keepdims=True)
        weights = np.exp(density - top)
        total = weights.sum(axis=1, keepdims=True)
        weights /= total
        prior = 0.5 * GAMMA**2 * ((scale**2).sum() + (rest**2).sum()) - EXTRA * diagonal.sum()
        shares = np.exp(alphas - alphas.max())
        whole = alphas.max() + np.log(shares.sum())
        loss = self.constant + (top + np.log(total)).sum() - self.n * whole + prior
        count = weights.sum(axis=0)
        pull = -weights[:, :, None] * whitened
        derivatives = np.einsum("nki,nkj->kij", pull, x[:, None, :] - means)
        by_factors = np.empty_like(factors)
        by_factors[:, :d] = count[:, None] - EXTRA + np.einsum("kii->ki", derivatives) * scale + GAMMA**2 * scale**2
        by_factors[:, d:] = derivatives[:, self.rows, self.columns] + GAMMA**2 * rest
        by_means = -np.einsum("kij,nki->kj", Q, pull)
        return [loss, count - self.n * shares / shares.sum(), by_means, by_factors]


def _whiten_by_sum(Q: Any, offset: Any) -> Any:
    """Σ_j Q[k, i, j]·offset[n, k, j]"""
    return (Q[None, :, :, :] * offset[:, :, None, :]).sum(axis=3)
