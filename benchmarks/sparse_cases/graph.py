"""A graph convolution, forward and backward."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import Contender
from native import prepared_call

from sparse_cases.matrices import random
from sparse_cases.model import SparseModel, aligned, csr_arrays, normal, workspace


class GraphConvolution(SparseModel):
    """Y = max(0, A·(H·W)) and the pullback of a cotangent of Y to H and W."""

    def __init__(self, nodes: int = 50_000, edges: int = 1_000_000, features: int = 128, hidden: int = 64) -> None:
        self.title = f"graph convolution, {nodes} nodes, {edges} edges, {features}-{hidden}: Y, pullback to H and W"
        rng = np.random.default_rng(4)
        A = random(nodes, nodes, edges)
        A.data = abs(A.data) / np.repeat(np.maximum(1, np.diff(A.indptr)), np.diff(A.indptr))
        self.products = 2.0 * 3 * nodes * features * hidden
        self.operations = self.products + 2.0 * 2 * edges * hidden
        H, W, cotangent = (normal(rng, *s) for s in ((nodes, features), (features, hidden), (nodes, hidden)))
        self.values = {"A": A, "H": H, "W": W, "cotangent": cotangent}
        self.gathered = cotangent, A.indices

    def reference(self) -> list[Any]:
        return self._values(lambda a, b: a @ b)

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        features, hidden = self.values["W"].shape
        A = aot.sparse.csr_matrix("A", dtype="float64", shape=("n", "n"))
        H, W = at.matrix("H", shape=("n", features)), at.matrix("W", shape=(features, hidden))
        cotangent = at.matrix("cotangent", shape=("n", hidden))
        Y = at.maximum(aot.sparse.structured_dot(A, H @ W), 0.0)
        grad_h, grad_w = aot.gradient.Lop(Y, [H, W], cotangent)
        outputs = {"Y": Y, "grad_H": grad_h, "grad_W": grad_w}
        return aot.function([A, H, W, cotangent], outputs, name="convolution")

    def jax(self, jax: Any) -> Callable[..., Any]:
        def outputs(A: Any, H: Any, W: Any, cotangent: Any) -> list[Any]:
            Y, pullback = jax.vjp(lambda h, w: jax.numpy.maximum(A @ (h @ w), 0.0), H, W)
            return [Y, *pullback(cotangent)]

        return outputs

    def torch(self, torch: Any) -> Callable[..., Any]:
        def outputs(A: Any, H: Any, W: Any, cotangent: Any) -> list[Any]:
            H, W = H.detach().requires_grad_(), W.detach().requires_grad_()
            Y = torch.relu(A @ (H @ W))
            return [Y, *torch.autograd.grad(Y, [H, W], cotangent)]

        return outputs

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        A = pt.sparse.csr_matrix("A", dtype="float64")
        H, W, cotangent = (pt.tensor.dmatrix() for _ in range(3))
        Y = pt.tensor.maximum(pt.sparse.structured_dot(A, H @ W), 0.0)
        return [A, H, W, cotangent], [Y, *pt.grad(None, [H, W], known_grads={Y: cotangent})]

    def numpy(self) -> Contender:
        return lambda: self._values(lambda a, b: a @ b)

    def mkl(self, multiply: Callable[..., Any]) -> Contender:
        return lambda: self._values(multiply)

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Any]]:
        A, H, W, cotangent = self.values.values()
        results = [aligned(*cotangent.shape), aligned(*H.shape), aligned(*W.shape)]
        work = workspace(cotangent.size + W.size), aligned(*cotangent.shape), aligned(*W.shape)
        arguments = len(H), *csr_arrays(A), H, W, cotangent, *results, *work
        return prepared_call(kernels.convolution_128_64, *arguments), results

    def _values(self, multiply: Callable[[Any, Any], Any]) -> list[Any]:
        A, H, W, cotangent = self.values.values()
        scores = multiply(A, multiply(H, W))
        back = multiply(A.T, cotangent * (scores > 0))
        return [np.maximum(scores, 0.0), multiply(back, W.T), multiply(H.T, back)]
