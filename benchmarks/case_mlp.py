"""(c) MLP 784-256-10, softmax cross-entropy, batch of 128, float32: loss and the gradients of all four parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import Array, Contender, Model, value_and_gradient

PARAMETERS = ("W1", "b1", "W2", "b2")


class Mlp(Model):
    tolerance = 2e-5

    def __init__(self, batch: int = 128, pixels: int = 784, hidden: int = 256, classes: int = 10) -> None:
        self.title = f"(c) MLP {pixels}-{hidden}-{classes} batch {batch} float32"
        rng = np.random.default_rng(0)
        X = rng.random((batch, pixels), dtype="float32")
        T = np.eye(classes, dtype="float32")[rng.integers(classes, size=batch)]
        W1 = (rng.normal(size=(pixels, hidden)) / pixels**0.5).astype("float32")
        W2 = (rng.normal(size=(hidden, classes)) / hidden**0.5).astype("float32")
        self.products = 2.0 * batch * hidden * (2 * pixels + 3 * classes)
        b1, b2 = (0.1 * rng.normal(size=n).astype("float32") for n in (hidden, classes))
        self.values = {"X": X, "T": T, "W1": W1, "b1": b1, "W2": W2, "b2": b2}

    def reference(self) -> list[Array]:
        return _by_numpy(*(x.astype("float64") for x in self.values.values()))

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        s = {name: at.tensor(name, dtype="float32", shape=_shape(name, x)) for name, x in self.values.items()}
        log_p = at.log_softmax(at.maximum(s["X"] @ s["W1"] + s["b1"], 0) @ s["W2"] + s["b2"], axis=1)
        loss = -(s["T"] * log_p).sum(axis=1).mean()
        derivatives = aot.grad(loss, [s[name] for name in PARAMETERS])
        outputs = {"loss": loss} | {f"grad_{name}": g for name, g in zip(PARAMETERS, derivatives, strict=True)}
        return aot.function([*s.values()], outputs, name="mlp")

    def jax(self, jax: Any) -> Callable[..., Any]:
        def loss(parameters: list[Any], X: Any, T: Any) -> Any:
            W1, b1, W2, b2 = parameters
            return -(T * jax.nn.log_softmax(jax.numpy.maximum(X @ W1 + b1, 0) @ W2 + b2)).sum(axis=1).mean()

        def flat(X: Any, T: Any, *parameters: Any) -> Any:
            value, derivatives = jax.value_and_grad(loss)(list(parameters), X, T)
            return (value, *derivatives)

        return flat

    def torch(self, torch: Any) -> Callable[..., Any]:
        def loss(X: Any, T: Any, W1: Any, b1: Any, W2: Any, b2: Any) -> Any:
            return -(T * torch.log_softmax(torch.relu(X @ W1 + b1) @ W2 + b2, dim=1)).sum(dim=1).mean()

        return value_and_gradient(torch, loss, by=range(2, 6))

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        inputs = [pt.tensor.tensor(dtype="float32", shape=(None,) * x.ndim) for x in self.values.values()]
        X, T, W1, b1, W2, b2 = inputs
        log_p = pt.tensor.special.log_softmax(pt.tensor.maximum(X @ W1 + b1, 0) @ W2 + b2, axis=1)
        loss = -(T * log_p).sum(axis=1).mean()
        return inputs, [loss, *pt.grad(loss, [W1, b1, W2, b2])]

    def numpy(self) -> Contender:
        return lambda: _by_numpy(*self.values.values())


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
