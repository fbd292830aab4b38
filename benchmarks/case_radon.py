"""(j) A hierarchical log density as of the radon data: intercepts and slopes of groups, and its gradient."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import Array, Contender, Model, value_and_gradient
from native import prepared_call


class Radon(Model):
    """log p(y | a[group] + b[group]·x, σ) + log p(a, b | μ, τ) and its gradient with respect to a, b, μ, τ."""

    tolerance = 1e-10

    def __init__(self, n: int = 10_000, groups: int = 85) -> None:
        self.title, self.groups = f"(j) radon-like log density, n={n}, {groups} groups, float64", groups
        rng = np.random.default_rng(0)
        self.values = {
            "y": rng.normal(size=n), "x": rng.integers(0, 2, n).astype(float), "group": rng.integers(0, groups, n),
            "a": rng.normal(size=groups), "b": rng.normal(size=groups), "mu": np.array([0.3, -0.2]),
            "tau": np.array([0.1, 0.2, 0.3]),
        }  # fmt: skip
        self.gathered = np.stack([self.values["a"], self.values["b"]], axis=1), self.values["group"]

    def reference(self) -> list[Array]:
        y, x, group, a, b, mu, tau = self.values.values()
        r = y - a[group] - b[group] * x
        u = [a - mu[0], b - mu[1]]
        weights = np.exp(-2 * tau)
        n, k = len(y), self.groups
        value = -0.5 * weights[0] * r @ r - n * tau[0]
        value += sum(-0.5 * w * v @ v - k * t for w, v, t in zip(weights[1:], u, tau[1:], strict=True))
        gradients = [weights[0] * np.bincount(group, r * part, k) for part in (1.0, x)]
        of_a, of_b = (g - w * v for g, w, v in zip(gradients, weights[1:], u, strict=True))
        of_mu = np.array([w * v.sum() for w, v in zip(weights[1:], u, strict=True)])
        sizes = ((weights[0] * r @ r, n), *((w * v @ v, k) for w, v in zip(weights[1:], u, strict=True)))
        return [np.asarray(value), of_a, of_b, of_mu, np.array([square - count for square, count in sizes])]

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        y, x, a, b = (at.vector(name, shape=(dim,)) for name, dim in (("y", "n"), ("x", "n"), ("a", "k"), ("b", "k")))
        group = at.lvector("group", shape=("n",))
        mu, tau = at.vector("mu", shape=(2,)), at.vector("tau", shape=(3,))
        value = _log_density(at, y, x, group, a, b, mu, tau)
        gradients = dict(zip(("da", "db", "dmu", "dtau"), aot.grad(value, [a, b, mu, tau]), strict=True))
        return aot.function([y, x, group, a, b, mu, tau], {"value": value, **gradients}, name="radon")

    def jax(self, jax: Any) -> Callable[..., Any]:
        density = jax.value_and_grad(lambda *inputs: _log_density(jax.numpy, *inputs), argnums=(3, 4, 5, 6))

        def call(*inputs: Any) -> Any:
            value, gradients = density(*inputs)
            return (value, *gradients)

        return call

    def torch(self, torch: Any) -> Callable[..., Any]:
        return value_and_gradient(torch, lambda *inputs: _log_density(torch, *inputs), by=range(3, 7))

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        y, x, a, b, mu, tau = (pt.tensor.dvector() for _ in range(6))
        group = pt.tensor.lvector()
        value = _log_density(pt.tensor, y, x, group, a, b, mu, tau)
        return [y, x, group, a, b, mu, tau], [value, *pt.grad(value, [a, b, mu, tau])]

    def numpy(self) -> Contender:
        return self.reference

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Array]]:
        results = [np.empty(()), np.empty(self.groups), np.empty(self.groups), np.empty(2), np.empty(3)]
        return prepared_call(
            kernels.radon, len(self.values["y"]), self.groups, *self.values.values(), *results
        ), results


def _log_density(np: Any, y: Any, x: Any, group: Any, a: Any, b: Any, mu: Any, tau: Any) -> Any:
    r = y - a[group] - b[group] * x
    value = -0.5 * np.exp(-2 * tau[0]) * (r**2).sum() - y.shape[0] * tau[0]
    for k, u in enumerate((a - mu[0], b - mu[1])):
        value = value - 0.5 * np.exp(-2 * tau[k + 1]) * (u**2).sum() - a.shape[0] * tau[k + 1]
    return value
