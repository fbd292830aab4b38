"""(b) sum sigmoid(tanh(log1p(exp(x)))), value and gradient."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import Array, Contender, Model, value_and_gradient
from native import prepared_call


class Chain(Model):
    def __init__(self, n: int, dtype: str) -> None:
        self.title = f"(b) chain {n:.0e} {dtype}".replace("e+0", "e")
        self.tolerance = 1e-12 if dtype == "float64" else 1e-5 * max(1.0, n / 1e6)  # a sum in lanes loses bits with n
        self.dtype = dtype
        self.values = {"x": np.random.default_rng(0).normal(size=n).astype(dtype)}

    def reference(self) -> list[Array]:
        return _by_numpy(self.values["x"].astype("float64"))

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        x = at.vector("x", dtype=self.dtype, shape=("n",))
        loss = at.sigmoid(at.tanh(at.log1p(at.exp(x)))).sum()
        return aot.function([x], {"loss": loss, "grad_x": aot.grad(loss, x)}, name="chain")

    def jax(self, jax: Any) -> Callable[..., Any]:
        jnp = jax.numpy
        gradient: Callable[..., Any] = jax.value_and_grad(
            lambda x: jax.nn.sigmoid(jnp.tanh(jnp.log1p(jnp.exp(x)))).sum()
        )
        return gradient

    def torch(self, torch: Any) -> Callable[..., Any]:
        return value_and_gradient(torch, lambda x: torch.sigmoid(torch.tanh(torch.log1p(torch.exp(x)))).sum(), by=[0])

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        x = pt.tensor.vector(dtype=self.dtype)
        loss = pt.tensor.sigmoid(pt.tensor.tanh(pt.tensor.log1p(pt.tensor.exp(x)))).sum()
        return [x], [loss, pt.grad(loss, x)]

    def numpy(self) -> Contender:
        return lambda: _by_numpy(self.values["x"])

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Array]]:
        x = self.values["x"]
        results = [np.empty((), self.dtype), np.empty(len(x), self.dtype)]
        return prepared_call(kernels[f"chain_{self.dtype}"], len(x), x, *results), results


def _by_numpy(x: Array) -> list[Any]:
    one = x.dtype.type(1)
    e = np.exp(x)
    t = np.tanh(np.log1p(e))
    s = one / (one + np.exp(-t))
    return [s.sum(), s * (one - s) * (one - t * t) * e / (one + e)]
