"""Dot products at the stored entries of a matrix only (SDDMM)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as ss
from contenders import Contender
from native import prepared_call

from sparse_cases.matrices import Csr, random
from sparse_cases.model import SparseModel, aligned, csr_arrays, normal, workspace


class Sampled(SparseModel):
    """S = P∘(D·Eᵀ), computed at the stored entries of P."""

    without: ClassVar = {"MKL": "it has no such product"}

    def __init__(self, n: int = 5000, stored: int = 250_000, k: int = 64) -> None:
        self.title = f"SDDMM {n}x{n}, {stored} stored, k={k}"
        rng = np.random.default_rng(3)
        self.values = {"D": normal(rng, n, k), "E": normal(rng, n, k), "P": random(n, n, stored)}
        self.operations, self.gathered = 2.0 * stored * k, (self.values["E"], self.values["P"].indices)

    def reference(self) -> list[Any]:
        return [self._sampled()]

    def aotensor(self, aot: Any) -> Any:
        D, E, P = _aotensor_inputs(aot, self.values["D"].shape[1])
        return aot.function([D, E, P], {"S": aot.sparse.sampling_dot(D, E, P)}, name="sampled")

    def jax(self, jax: Any) -> Callable[..., Any]:
        def sampled(D: Any, E: Any, P: Any) -> list[Any]:
            return [type(P)((_jax_entries(D, E, P), P.indices), shape=P.shape)]

        return sampled

    def torch(self, torch: Any) -> Callable[..., Any]:
        def sampled(D: Any, E: Any, P: Any) -> list[Any]:
            dots = torch.sparse.sampled_addmm(P, D, E.T, beta=0.0)
            parts = P.crow_indices(), P.col_indices(), P.values() * dots.values()
            return [torch.sparse_csr_tensor(*parts, P.shape, check_invariants=False)]

        return sampled

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        D, E, P = pt.tensor.dmatrix(), pt.tensor.dmatrix(), pt.sparse.csr_matrix("P", dtype="float64")
        return [D, E, P], [pt.sparse.sampling_dot(D, E, P)]

    def numpy(self) -> Contender:
        return lambda: [self._sampled()]

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Any]]:
        D, E, P = self.values.values()
        S = ss.csr_matrix((np.empty(P.nnz), P.indices, P.indptr), P.shape)
        return prepared_call(kernels.sddmm64, P.shape[0], *csr_arrays(P), D, E, S.data), [S]

    def _sampled(self) -> Csr:
        D, E, P = self.values.values()
        rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
        return ss.csr_matrix((P.data * np.einsum("pk,pk->p", D[rows], E[P.indices]), P.indices, P.indptr), P.shape)


class SampledGradient(Sampled):
    """loss = ½·Σ S² for S = P∘(D·Eᵀ), and its gradient by D and E."""

    without: ClassVar = {}

    def __init__(self, n: int = 5000, stored: int = 250_000, k: int = 64) -> None:
        super().__init__(n, stored, k)
        self.operations = 6.0 * stored * k
        self.title += ": loss ½·ΣS², gradient by D and E"

    def reference(self) -> list[Any]:
        return self._values(lambda matrix, dense: matrix @ dense)

    def aotensor(self, aot: Any) -> Any:
        sp = aot.sparse
        D, E, P = _aotensor_inputs(aot, self.values["D"].shape[1])
        loss = 0.5 * sp.sp_sum(sp.sqr(sp.sampling_dot(D, E, P)), sparse_grad=True)
        grad_d, grad_e = aot.grad(loss, [D, E])
        return aot.function([D, E, P], {"loss": loss, "grad_D": grad_d, "grad_E": grad_e}, name="sampled_gradient")

    def jax(self, jax: Any) -> Callable[..., Any]:
        def loss(D: Any, E: Any, P: Any) -> Any:
            return 0.5 * (_jax_entries(D, E, P) ** 2).sum()

        def outputs(D: Any, E: Any, P: Any) -> list[Any]:
            value, gradients = jax.value_and_grad(loss, argnums=(0, 1))(D, E, P)
            return [value, *gradients]

        return outputs

    def torch(self, torch: Any) -> Callable[..., Any]:
        """The loss and its gradient, written by hand, as PyTorch's autograd lacks derivatives by CSR entries."""
        sampled = super().torch(torch)

        def outputs(D: Any, E: Any, P: Any) -> list[Any]:
            (S,) = sampled(D, E, P)
            parts = P.crow_indices(), P.col_indices(), S.values() * P.values()
            pull = torch.sparse_csr_tensor(*parts, P.shape, check_invariants=False)
            return [0.5 * (S.values() ** 2).sum(), pull @ E, pull.t() @ D]

        return outputs

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        (D, E, P), (S,) = super().pytensor(pt)
        loss = 0.5 * pt.sparse.sp_sum(pt.sparse.sqr(S), sparse_grad=True)
        return [D, E, P], [loss, *pt.grad(loss, [D, E])]

    def numpy(self) -> Contender:
        return lambda: self._values(lambda matrix, dense: matrix @ dense)

    def mkl(self, multiply: Callable[..., Any]) -> Contender:
        return lambda: self._values(multiply)

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Any]]:
        D, E, P = self.values.values()
        results = [np.empty(()), aligned(*D.shape), aligned(*E.shape)]
        arguments = *P.shape, *csr_arrays(P), D, E, *results, workspace(E.size)
        return prepared_call(kernels.sddmm64_gradient, *arguments), results

    def _values(self, multiply: Callable[[Any, Any], Any]) -> list[Any]:
        D, E, P = self.values.values()
        S = self._sampled()
        pull = ss.csr_matrix((S.data * P.data, P.indices, P.indptr), P.shape)
        return [0.5 * (S.data**2).sum(), multiply(pull, E), multiply(pull.T, D)]


def _aotensor_inputs(aot: Any, k: int) -> tuple[Any, Any, Any]:
    D, E = aot.tensor.matrix("D", shape=("n", k)), aot.tensor.matrix("E", shape=("m", k))
    return D, E, aot.sparse.csr_matrix("P", dtype="float64", shape=("n", "m"))


def _jax_entries(D: Any, E: Any, P: Any) -> Any:
    rows, columns = P.indices.T
    return P.data * (D[rows] * E[columns]).sum(axis=1)
