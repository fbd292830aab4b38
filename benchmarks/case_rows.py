"""(h) Functions of rows and columns of a matrix: softmax along an axis, and the gradient of logsumexp along it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import Array, Contender, Model, value_and_gradient
from native import prepared_call
from scipy.special import logsumexp, softmax


class Softmax(Model):
    """softmax(X) along an axis."""

    tolerance = 1e-12

    def __init__(self, axis: int, n: int = 1000, p: int = 1000) -> None:
        self.title, self.axis = f"(h) softmax along axis {axis}, {n}x{p} float64", axis
        self.values = {"X": np.random.default_rng(0).normal(size=(n, p))}

    def reference(self) -> list[Array]:
        return [softmax(self.values["X"], axis=self.axis)]

    def aotensor(self, aot: Any) -> Any:
        X = aot.tensor.matrix("X", shape=("n", "p"))
        return aot.function([X], {"rows": aot.tensor.softmax(X, axis=self.axis)}, name="softmax")

    def jax(self, jax: Any) -> Callable[..., Any]:
        return lambda X: (jax.nn.softmax(X, axis=self.axis),)

    def torch(self, torch: Any) -> Callable[..., Any]:
        return lambda X: [torch.softmax(X, dim=self.axis)]

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        X = pt.tensor.dmatrix()
        return [X], [pt.tensor.special.softmax(X, axis=self.axis)]

    def numpy(self) -> Contender:
        return self.reference

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Array]]:
        return _by_c(kernels[f"softmax_{self.axis}"], self.values["X"])


class LogSumExpGradient(Model):
    """The gradient of Σ logsumexp(X)² along an axis."""

    tolerance = 1e-12

    def __init__(self, axis: int, n: int = 1000, p: int = 1000) -> None:
        self.title, self.axis = f"(h) gradient of logsumexp along axis {axis}, {n}x{p} float64", axis
        self.values = {"X": np.random.default_rng(0).normal(size=(n, p))}

    def reference(self) -> list[Array]:
        X = self.values["X"]
        return [2 * logsumexp(X, axis=self.axis, keepdims=True) * softmax(X, axis=self.axis)]

    def aotensor(self, aot: Any) -> Any:
        X = aot.tensor.matrix("X", shape=("n", "p"))
        loss = (aot.tensor.logsumexp(X, axis=self.axis) ** 2).sum()
        return aot.function([X], {"gradient": aot.grad(loss, X)}, name="logsumexp_gradient")

    def jax(self, jax: Any) -> Callable[..., Any]:
        gradient = jax.grad(lambda X: (jax.nn.logsumexp(X, axis=self.axis) ** 2).sum())
        return lambda X: (gradient(X),)

    def torch(self, torch: Any) -> Callable[..., Any]:
        program = value_and_gradient(torch, lambda X: (torch.logsumexp(X, dim=self.axis) ** 2).sum(), by=[0])
        return lambda X: program(X)[1:]

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        X = pt.tensor.dmatrix()
        return [X], [pt.grad((pt.tensor.logsumexp(X, axis=self.axis) ** 2).sum(), X)]

    def numpy(self) -> Contender:
        return self.reference

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Array]]:
        return _by_c(kernels[f"logsumexp_gradient_{self.axis}"], self.values["X"])


def _by_c(kernel: Callable[..., object], X: Array) -> tuple[Contender, list[Array]]:
    result = np.empty_like(X)
    return prepared_call(kernel, *X.shape, X, result), [result]
