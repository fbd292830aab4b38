"""(a) Logistic regression, 10000 x 100: value and gradient, and (e) the product of its Hessian with a vector."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import Array, Contender, Model, value_and_gradient
from native import prepared_call
from scipy.special import expit


class Logistic(Model):
    """loss = mean log(1 + exp(-y * Xw)) and its gradient."""

    tolerance = 1e-12

    def __init__(self, n: int = 10000, p: int = 100) -> None:
        self.title = f"(a) logistic {n}x{p} float64"
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(n, p)), np.sign(rng.normal(size=n))
        self.values = {"X": X, "y": y, "w": rng.normal(size=p) / p**0.5}

    def reference(self) -> list[Array]:
        return self._by_numpy()

    def aotensor(self, aot: Any) -> Any:
        X, y, w, loss = _aotensor_loss(aot)
        return aot.function([X, y, w], {"loss": loss, "grad_w": aot.grad(loss, w)}, name="logistic")

    def jax(self, jax: Any) -> Callable[..., Any]:
        gradient: Callable[..., Any] = jax.value_and_grad(_jax_loss(jax), argnums=2)
        return gradient

    def torch(self, torch: Any) -> Callable[..., Any]:
        return value_and_gradient(torch, _torch_loss(torch), by=[2])

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        X, y, w, loss = _pytensor_loss(pt)
        return [X, y, w], [loss, pt.grad(loss, w)]

    def numpy(self) -> Contender:
        return self._by_numpy

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Array]]:
        X, y, w = self.values.values()
        results = [np.empty(()), np.empty(len(w))]
        return prepared_call(kernels.logistic, *X.shape, X, y, w, *results), results

    def _by_numpy(self) -> list[Any]:
        X, y, w = self.values.values()
        margin = -y * (X @ w)
        return [np.logaddexp(0.0, margin).mean(), X.T @ (-y * expit(margin)) / len(y)]


class HessianVector(Model):
    """H·v for the Hessian H of the same loss, forward over reverse: it needs one sweep over X."""

    tolerance = 1e-12

    def __init__(self, n: int = 10000, p: int = 100) -> None:
        self.title = f"(e) Hessian·vector of logistic {n}x{p} float64"
        self.values = Logistic(n, p).values | {"v": np.random.default_rng(1).normal(size=p)}

    def reference(self) -> list[Array]:
        return self._by_numpy()

    def aotensor(self, aot: Any) -> Any:
        X, y, w, loss = _aotensor_loss(aot)
        v = aot.tensor.vector("v", shape=("p",))
        product = aot.gradient.hessian_vector_product(loss, w, v)
        return aot.function([X, y, w, v], {"product": product}, name="hessian_vector")

    def jax(self, jax: Any) -> Callable[..., Any]:
        gradient = jax.grad(_jax_loss(jax), argnums=2)
        return lambda X, y, w, v: (jax.jvp(lambda at: gradient(X, y, at), (w,), (v,))[1],)

    def torch(self, torch: Any) -> Callable[..., Any]:
        gradient = torch.func.grad(_torch_loss(torch), argnums=2)
        return lambda X, y, w, v: [torch.func.jvp(lambda at: gradient(X, y, at), (w,), (v,))[1]]

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        X, y, w, loss = _pytensor_loss(pt)
        v = pt.tensor.dvector()
        return [X, y, w, v], [pt.tensor.grad((pt.grad(loss, w) * v).sum(), w)]

    def casadi(self, ca: Any) -> Any:
        n, p = self.values["X"].shape
        X, y, w, v = (ca.MX.sym(name, *shape) for name, shape in zip("Xywv", ((n, p), (n,), (p,), (p,)), strict=True))
        loss = ca.sum1(ca.log1p(ca.exp(-y * (X @ w)))) / n
        return ca.Function("hessian_vector", [X, y, w, v], [ca.jtimes(ca.gradient(loss, w), w, v)])

    def numpy(self) -> Contender:
        return self._by_numpy

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Array]]:
        X, y, w, v = self.values.values()
        results = [np.empty(len(w))]
        return prepared_call(kernels.logistic_hessian_vector, *X.shape, X, y, w, v, *results), results

    def _by_numpy(self) -> list[Any]:
        X, y, w, v = self.values.values()
        s = expit(-y * (X @ w))
        return [X.T @ (s * (1 - s) * y * y * (X @ v)) / len(y)]


def _aotensor_loss(aot: Any) -> tuple[Any, Any, Any, Any]:
    at = aot.tensor
    X, y, w = at.matrix("X", shape=("n", "p")), at.vector("y", shape=("n",)), at.vector("w", shape=("p",))
    return X, y, w, at.softplus(-y * (X @ w)).mean()


def _jax_loss(jax: Any) -> Callable[..., Any]:
    return lambda X, y, w: jax.nn.softplus(-y * (X @ w)).mean()


def _torch_loss(torch: Any) -> Callable[..., Any]:
    return lambda X, y, w: torch.nn.functional.softplus(-y * (X @ w)).mean()


def _pytensor_loss(pt: Any) -> tuple[Any, Any, Any, Any]:
    X, y, w = pt.tensor.dmatrix(), pt.tensor.dvector(), pt.tensor.dvector()
    return X, y, w, pt.tensor.softplus(-y * (X @ w)).mean()
