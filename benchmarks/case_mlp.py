"""(c) MLP 784-256-10, softmax cross-entropy, batch of 128, float32: loss and the gradients of all four parameters."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import peers
from contenders import Array, Comparison

import aotensor as aot
import aotensor.tensor as at

SIZES = (784, 256, 10)


def comparison(kernels: ctypes.CDLL | None, batch: int = 128) -> Comparison:
    del kernels  # nobody writes this one by hand: the time is in the matrix products
    rng = np.random.default_rng(0)
    pixels, hidden, classes = SIZES
    X = rng.random((batch, pixels), dtype="float32")
    T = np.eye(classes, dtype="float32")[rng.integers(classes, size=batch)]
    W1 = (rng.normal(size=(pixels, hidden)) / pixels**0.5).astype("float32")
    W2 = (rng.normal(size=(hidden, classes)) / hidden**0.5).astype("float32")
    b1, b2 = (0.1 * rng.normal(size=n).astype("float32") for n in (hidden, classes))
    values = {"X": X, "T": T, "W1": W1, "b1": b1, "W2": W2, "b2": b2}
    wide = [v.astype("float64") for v in values.values()]
    c = Comparison(f"(c) MLP {pixels}-{hidden}-{classes} batch {batch} float32", 2e-5, _by_numpy(*wide))

    s = {name: at.tensor(name, dtype="float32", shape=_shape(name, v)) for name, v in values.items()}
    log_p = at.log_softmax(at.maximum(s["X"] @ s["W1"] + s["b1"], 0) @ s["W2"] + s["b2"], axis=1)
    loss = -(s["T"] * log_p).sum(axis=1).mean()
    slopes = aot.grad(loss, [s[k] for k in ("W1", "b1", "W2", "b2")])
    outputs = {"loss": loss} | {f"grad_{k}": g for k, g in zip(("W1", "b1", "W2", "b2"), slopes, strict=True)}
    peers.add_aotensor(c, aot.function([*s.values()], outputs, name="mlp"), values)
    _add_jax(c, list(values.values()))
    _add_pytensor(c, list(values.values()))
    c.add("NumPy", lambda: _by_numpy(*values.values()), lambda result: list(result))
    return c


def _shape(name: str, value: Array) -> tuple[int | str, ...]:
    """Layer widths are known, the batch is not."""
    return ("batch", *value.shape[1:]) if name in ("X", "T") else value.shape


def _by_numpy(X: Array, T: Array, W1: Array, b1: Array, W2: Array, b2: Array) -> list[Array]:
    h = np.maximum(X @ W1 + b1, 0)
    z = h @ W2 + b2
    z -= z.max(axis=1, keepdims=True)
    e = np.exp(z)
    total = e.sum(axis=1, keepdims=True)
    n = X.dtype.type(len(X))
    loss = -(T * (z - np.log(total))).sum() / n
    dz = (e / total - T) / n
    dh = (dz @ W2.T) * (h > 0)
    return [np.asarray(loss), X.T @ dh, dh.sum(axis=0), h.T @ dz, dz.sum(axis=0)]


def _add_jax(c: Comparison, values: list[Array]) -> None:
    jax = peers.find_jax(c)
    if jax is None:
        return

    def loss(parameters: list[Any], X: Any, T: Any) -> Any:
        W1, b1, W2, b2 = parameters
        return -(T * jax.nn.log_softmax(jax.numpy.maximum(X @ W1 + b1, 0) @ W2 + b2)).sum(axis=1).mean()

    def flat(X: Any, T: Any, *parameters: Any) -> Any:
        value, slopes = jax.value_and_grad(loss)(list(parameters), X, T)
        return (value, *slopes)

    peers.add_jax(c, jax, flat, values)


def _add_pytensor(c: Comparison, values: list[Array]) -> None:
    pt = peers.find_pytensor(c)
    if pt is None:
        return
    X, T, W1, b1, W2, b2 = (pt.tensor.tensor(dtype="float32", shape=(None,) * v.ndim) for v in values)
    log_p = pt.tensor.special.log_softmax(pt.tensor.maximum(X @ W1 + b1, 0) @ W2 + b2, axis=1)
    loss = -(T * log_p).sum(axis=1).mean()
    peers.add_pytensor(c, pt, [X, T, W1, b1, W2, b2], [loss, *pt.grad(loss, [W1, b1, W2, b2])], values)
