"""(b) sum sigmoid(tanh(log1p(exp(x)))), value and gradient."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import peers
from contenders import Array, Comparison
from native import prepared_call

import aotensor as aot
import aotensor.tensor as at


def comparison(kernels: ctypes.CDLL | None, n: int, dtype: str) -> Comparison:
    x = np.random.default_rng(0).normal(size=n).astype(dtype)
    one = np.dtype(dtype).type(1)

    def by_numpy(x: Array = x, one: Any = one) -> list[Any]:
        e = np.exp(x)
        t = np.tanh(np.log1p(e))
        s = one / (one + np.exp(-t))
        return [s.sum(), s * (one - s) * (one - t * t) * e / (one + e)]

    reference = [np.asarray(v) for v in by_numpy(x.astype("float64"), np.float64(1))]
    c = Comparison(f"(b) chain {n:.0e} {dtype}".replace("e+0", "e"), 1e-12 if dtype == "float64" else 1e-5, reference)
    symbol = at.vector("x", dtype=dtype, shape=("n",))
    loss = at.sigmoid(at.tanh(at.log1p(at.exp(symbol)))).sum()
    f = aot.function([symbol], {"loss": loss, "grad_x": aot.grad(loss, symbol)}, name="chain")
    peers.add_aotensor(c, f, {"x": x})
    if kernels is not None:
        value, gradient = np.empty((), dtype), np.empty(n, dtype)
        c.add("C", prepared_call(kernels[f"chain_{dtype}"], n, x, value, gradient), lambda _: [value, gradient])
    jax = peers.find_jax(c)
    if jax is not None:
        jnp = jax.numpy
        by_jax = jax.value_and_grad(lambda x: jax.nn.sigmoid(jnp.tanh(jnp.log1p(jnp.exp(x)))).sum())
        peers.add_jax(c, jax, by_jax, [x])
    pt = peers.find_pytensor(c)
    if pt is not None:
        tx = pt.tensor.vector(dtype=dtype)
        t_loss = pt.tensor.sigmoid(pt.tensor.tanh(pt.tensor.log1p(pt.tensor.exp(tx)))).sum()
        peers.add_pytensor(c, pt, [tx], [t_loss, pt.grad(t_loss, tx)], [x])
    c.add("NumPy", by_numpy, lambda values: list(values))
    return c
