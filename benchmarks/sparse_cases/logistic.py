"""Logistic regression on a sparse matrix: value and gradient."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import Array, Contender, value_and_gradient
from native import prepared_call
from scipy.special import expit

from sparse_cases.matrices import random_rows
from sparse_cases.model import SparseModel, csr_arrays, workspace


class SparseLogistic(SparseModel):
    """loss = mean log(1 + exp(-y * Xw)), its gradient by w and, if asked for, by the stored values of X."""

    def __init__(self, by_matrix: bool, n: int = 50_000, p: int = 20_000, per_row: int = 50) -> None:
        self.title = f"logistic {n}x{p}, {per_row} per row: loss, gradient by w{' and X.data' if by_matrix else ''}"
        self.by_matrix = by_matrix
        rng = np.random.default_rng(2)
        X, y, w = random_rows(n, p, per_row), np.sign(rng.normal(size=n)), rng.normal(size=p) / per_row**0.5
        self.values = {"X": X, "y": y, "w": w}
        self.operations, self.gathered = 4.0 * X.nnz + (X.nnz if by_matrix else 0), (w, X.indices)

    def reference(self) -> list[Any]:
        return self._values(lambda matrix, vector: matrix @ vector)

    def aotensor(self, aot: Any) -> Any:
        at, sp = aot.tensor, aot.sparse
        X = sp.csr_matrix("X", dtype="float64", shape=("n", "p"))
        y, w = at.vector("y", shape=("n",)), at.vector("w", shape=("p",))
        loss = at.softplus(-y * sp.structured_dot(X, w)).mean()
        outputs = {"loss": loss, "grad_w": aot.grad(loss, w)}
        if self.by_matrix:
            outputs["grad_data"] = sp.csm_data(aot.grad(loss, X))
        return aot.function([X, y, w], outputs, name="logistic")

    def jax(self, jax: Any) -> Callable[..., Any]:
        def loss(w: Any, data: Any, X: Any, y: Any) -> Any:
            matrix = type(X)((data, X.indices), shape=X.shape, indices_sorted=True, unique_indices=True)
            return jax.nn.softplus(-y * (matrix @ w)).mean()

        def outputs(X: Any, y: Any, w: Any) -> list[Any]:
            by = (0, 1) if self.by_matrix else (0,)
            value, gradients = jax.value_and_grad(loss, argnums=by)(w, X.data, X, y)
            return [value, *gradients]

        return outputs

    def torch(self, torch: Any) -> Callable[..., Any]:
        """The loss and its gradient; PyTorch's autograd lacks derivatives by CSR entries, which are written by hand."""
        softplus = torch.nn.functional.softplus
        if not self.by_matrix:
            return value_and_gradient(torch, lambda X, y, w: softplus(-y * (X @ w)).mean(), by=[2])
        rows = torch.repeat_interleave(torch.arange(len(self.values["y"])), torch.from_numpy(self._lengths()))

        def outputs(X: Any, y: Any, w: Any) -> list[Any]:
            margin = -y * (X @ w)
            derivative = -y * torch.sigmoid(margin) / len(y)
            return [softplus(margin).mean(), X.t() @ derivative, derivative[rows] * w[X.col_indices()]]

        return outputs

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        X = pt.sparse.csr_matrix("X", dtype="float64")
        y, w = pt.tensor.dvector(), pt.tensor.dvector()
        scores = pt.sparse.structured_dot(X, w[:, None])[:, 0]
        loss = pt.tensor.softplus(-y * scores).mean()
        gradients = [pt.grad(loss, w)] + ([pt.sparse.csm_data(pt.grad(loss, X))] if self.by_matrix else [])
        return [X, y, w], [loss, *gradients]

    def numpy(self) -> Contender:
        return lambda: self._values(lambda matrix, vector: matrix @ vector)

    def mkl(self, multiply: Callable[..., Any]) -> Contender:
        return lambda: self._values(multiply)

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Any]]:
        X, y, w = self.values.values()
        results = [np.empty(()), np.empty(len(w))] + ([np.empty(X.nnz)] if self.by_matrix else [])
        kernel = kernels.logistic_by_data if self.by_matrix else kernels.logistic
        return prepared_call(kernel, *X.shape, *csr_arrays(X), y, w, *results, workspace(len(w))), results

    def _lengths(self) -> Array:
        lengths: Array = np.diff(self.values["X"].indptr)
        return lengths

    def _values(self, multiply: Callable[[Any, Any], Any]) -> list[Any]:
        X, y, w = self.values.values()
        margin = -y * multiply(X, w)
        derivative = -y * expit(margin) / len(y)
        gradients = [multiply(X.T, derivative)]
        if self.by_matrix:
            gradients.append(np.repeat(derivative, self._lengths()) * w[X.indices])
        return [np.logaddexp(0.0, margin).mean(), *gradients]
