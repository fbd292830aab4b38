"""Values of a sparse Hessian for a batch of points in one call, against a call for each point."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from contenders import Array, Contender

from sparse_cases.model import SparseModel


class HessianValues(SparseModel):
    """The stored entries of ∂²f for f = Σ exp(-d²) + sin(x·x⁺), d = x⁺ - x of neighbours: three diagonals."""

    plain = "single calls"
    peers = ("JAX", "torch")
    without: ClassVar = {"torch": "it has no sparse Hessian"}

    def __init__(self, points: int = 100, n: int = 300) -> None:
        self.title = f"Hessian of {n} variables, {3 * n - 2} stored, values at {points} points"
        self.values = {"X": np.random.default_rng(0).normal(size=(points, n))}

    def reference(self) -> list[Array]:
        X = self.values["X"]
        x, y = X[:, :-1], X[:, 1:]
        bell, d, p = np.exp(-((y - x) ** 2)), y - x, x * y
        pair = (4 * d * d - 2) * bell  # second derivative of exp(-d²) by d
        mixed = -pair + np.cos(p) - p * np.sin(p)
        result = np.zeros((*X.shape, 3))
        result[:, 1:, 0] = result[:, :-1, 2] = mixed
        result[:, :-1, 1] += pair - y * y * np.sin(p)
        result[:, 1:, 1] += pair - x * x * np.sin(p)
        return [result.reshape(len(X), -1)[:, 1:-1]]

    def _values(self, aot: Any) -> tuple[Any, Any]:
        at, x = aot.tensor, aot.tensor.vector("x", shape=(self.values["X"].shape[1],))
        hessian = importlib.import_module("aotensor.gradient").hessian
        d = x[1:] - x[:-1]
        cost = (at.exp(-d * d) + at.sin(x[1:] * x[:-1])).sum()
        return x, aot.sparse.csm_data(hessian(cost, x, sparse=True))

    def collect(self, values: list[Any]) -> list[Any]:
        """Stack the results of single calls."""
        return values if len(values) == 1 else [np.stack(values)]

    def aotensor(self, aot: Any) -> Any:
        x, values = self._values(aot)
        X = aot.tensor.matrix("X", shape=self.values["X"].shape)
        return aot.function([X], {"V": aot.tensor.vectorize_graph(values, {x: X})}, name="batch")

    def jax(self, jax: Any) -> Callable[..., Any]:
        """By three Hessian-vector products, whose vectors have every third element."""
        jnp, n = jax.numpy, self.values["X"].shape[1]

        def cost(x: Any) -> Any:
            d = x[1:] - x[:-1]
            return (jnp.exp(-d * d) + jnp.sin(x[1:] * x[:-1])).sum()

        rows = np.repeat(np.arange(n), 3)[1:-1]
        columns = (np.arange(n)[:, None] + np.arange(-1, 2)).ravel()[1:-1]
        seeds = (np.arange(3)[:, None] == np.arange(n) % 3).astype("float64")

        def values(x: Any) -> Any:
            products = jax.vmap(lambda v: jax.jvp(jax.grad(cost), (x,), (v,))[1])(seeds)
            return products[columns % 3, rows]

        return lambda X: (jax.vmap(values)(X),)

    def numpy(self) -> Contender:
        """Calls bound to the points, one after the other, each with an output of its own."""
        aot = importlib.import_module("aotensor")
        x, values = self._values(aot)
        library = aot.compile(aot.function([x], {"v": values}, name="single"), tempfile.mkdtemp()).load()
        calls = [library.single.bind(x=point) for point in self.values["X"]]

        def each() -> list[Array]:
            return [call()["v"] for call in calls]

        return each
