"""(f) Marginal likelihood of a Gaussian process by Cholesky, and its gradient by the hyperparameters."""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi
from typing import Any

import numpy as np
from contenders import Array, Contender, Model, value_and_gradient
from scipy.linalg import cho_solve, cholesky


class Process(Model):
    """loss = ½·y'K⁻¹y + Σ log diag L + ½·n·log 2π, by (log l, log a, log s).

    K = LL' = a²·exp(-½·|(x - x')/l|²) + s²·I
    """

    tolerance = 1e-9  # condition of K times rounding

    def __init__(self, n: int = 300, d: int = 3) -> None:
        self.title = f"(f) Gaussian process n={n} float64"
        self.n, self.d = n, d
        rng = np.random.default_rng(0)
        X = rng.uniform(-2, 2, size=(n, d))
        y = np.sin(X).sum(axis=1) + 0.1 * rng.normal(size=n)
        self.values = {"X": X, "y": y, "theta": np.append(np.log(np.linspace(0.5, 1.5, d)), [0.1, -1.0])}

    def reference(self) -> list[Array]:
        return self._by_numpy()

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        X, y = at.matrix("X", shape=("n", self.d)), at.vector("y", shape=("n",))
        theta = at.vector("theta", shape=(self.d + 2,))

        def solve(L: Any, b: Any) -> Any:
            return at.solve_triangular(L, b, lower=True)

        loss = self._loss(at, X, y, theta, at.cholesky, solve)
        return aot.function([X, y, theta], {"loss": loss, "grad_theta": aot.grad(loss, theta)}, name="process")

    def jax(self, jax: Any) -> Callable[..., Any]:
        def solve(L: Any, b: Any) -> Any:
            return jax.scipy.linalg.solve_triangular(L, b, lower=True)

        def loss(theta: Any, X: Any, y: Any) -> Any:
            return self._loss(jax.numpy, X, y, theta, jax.numpy.linalg.cholesky, solve)

        return lambda X, y, theta: jax.value_and_grad(loss)(theta, X, y)

    def torch(self, torch: Any) -> Callable[..., Any]:
        def solve(L: Any, b: Any) -> Any:
            return torch.linalg.solve_triangular(L, b[:, None], upper=False)[:, 0]

        def loss(X: Any, y: Any, theta: Any) -> Any:
            return self._loss(torch, X, y, theta, torch.linalg.cholesky, solve)

        return value_and_gradient(torch, loss, by=[2])

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        X, y, theta = pt.tensor.dmatrix(), pt.tensor.dvector(), pt.tensor.dvector()

        def solve(L: Any, b: Any) -> Any:
            return pt.tensor.linalg.solve_triangular(L, b, lower=True)

        loss = self._loss(pt.tensor, X, y, theta, pt.tensor.linalg.cholesky, solve)
        return [X, y, theta], [loss, pt.grad(loss, theta)]

    def _loss(
        self, np: Any, X: Any, y: Any, theta: Any, cholesky: Callable[[Any], Any], solve: Callable[[Any, Any], Any]
    ) -> Any:
        """The loss, by functions that aotensor, JAX, PyTorch and PyTensor all have."""
        scaled = X / np.exp(theta[: self.d])
        squares = (scaled**2).sum(axis=1)
        distance = squares[:, None] + squares[None, :] - 2 * (scaled @ scaled.T)
        K = np.exp(2 * theta[self.d] - 0.5 * distance) + np.exp(2 * theta[self.d + 1]) * np.eye(self.n)
        L = cholesky(K)
        z = solve(L, y)
        return 0.5 * (z**2).sum() + np.log(np.diag(L)).sum() + 0.5 * self.n * log(2 * pi)

    def numpy(self) -> Contender:
        return self._by_numpy

    def _by_numpy(self) -> list[Any]:
        X, y, theta = self.values.values()
        n, d = X.shape
        scaled = X / np.exp(theta[:d])
        squares = (scaled**2).sum(axis=1)
        kernel = np.exp(2 * theta[d] - 0.5 * (squares[:, None] + squares - 2 * (scaled @ scaled.T)))
        noise = np.exp(2 * theta[d + 1])
        L = cholesky(kernel + noise * np.eye(n), lower=True)
        weights = cho_solve((L, True), y)
        loss = 0.5 * y @ weights + np.log(np.diag(L)).sum() + 0.5 * n * log(2 * pi)
        derivatives = 0.5 * (cho_solve((L, True), np.eye(n)) - np.outer(weights, weights))
        pull = derivatives * kernel
        by_lengths = 2 * ((pull.sum(axis=0) @ scaled**2) - ((pull @ scaled) * scaled).sum(axis=0))
        return [loss, np.append(by_lengths, [2 * pull.sum(), 2 * noise * np.trace(derivatives)])]
