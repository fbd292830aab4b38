"""Products of a sparse matrix: with a dense vector or matrix, and with another sparse matrix."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as ss
from contenders import Contender
from native import prepared_call

from sparse_cases.matrices import Bsr, Csr
from sparse_cases.model import SparseModel, aligned, csr_arrays, normal, workspace


class DenseProduct(SparseModel):
    """y = A·x or y = Aᵀ·x of a CSR matrix and a vector, or a matrix of k columns."""

    def __init__(self, kind: str, A: Csr, k: int, transposed: bool) -> None:
        n, m = A.shape if not transposed else A.shape[::-1]
        self.k, self.transposed = k, transposed
        self.title = f"{kind} {A.shape[0]}x{A.shape[1]}, {A.nnz} stored: {'Aᵀ' if transposed else 'A'}·{'Xx'[k == 1]}"
        self.title += f", k={k}" if k > 1 else ""
        rng, shape = np.random.default_rng(1), (n, k)[: 1 if k == 1 else 2]
        x = normal(rng, *(m, k)[: len(shape)])
        self.values = {"A": A, "x": x}
        self.operations, self.gathered = 2.0 * A.nnz * k, (x if not transposed else normal(rng, *shape), A.indices)

    def reference(self) -> list[Any]:
        return self._by_scipy()

    def aotensor(self, aot: Any) -> Any:
        A, x = aot.sparse.csr_matrix("A", dtype="float64", shape=("n", "m")), self._dense(aot.tensor)
        product = aot.sparse.dot(A.T if self.transposed else A, x)
        return aot.function([A, x], {"y": product}, name="product")

    def _dense(self, at: Any) -> Any:
        rows = "n" if self.transposed else "m"
        return at.vector("x", shape=(rows,)) if self.k == 1 else at.matrix("x", shape=(rows, self.k))

    def jax(self, jax: Any) -> Callable[..., Any]:
        return lambda A, x: ((A.T if self.transposed else A) @ x,)

    def torch(self, torch: Any) -> Callable[..., Any]:
        return lambda A, x: [(A.t() if self.transposed else A) @ x]

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        A = pt.sparse.csr_matrix("A", dtype="float64")
        x = pt.tensor.dvector() if self.k == 1 else pt.tensor.dmatrix()
        return [A, x], [pt.sparse.dot(A.T if self.transposed else A, x)]

    def numpy(self) -> Contender:
        return self._by_scipy

    def mkl(self, multiply: Callable[..., Any]) -> Contender:
        A, x = self.values.values()
        op = A.T if self.transposed else A
        return lambda: [multiply(op, x)]

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Any]]:
        A, x = self.values.values()
        y = aligned(A.shape[int(self.transposed)], self.k)
        kernel = kernels[("transposed_" if self.transposed else "sp") + ("mv" if self.k == 1 else f"mm{self.k}")]
        work = (workspace(y.size),) if self.transposed else ()
        sizes = A.shape if self.transposed else A.shape[:1]
        return prepared_call(kernel, *sizes, *csr_arrays(A), x, y, *work), [y]

    def _by_scipy(self) -> list[Any]:
        A, x = self.values.values()
        return [(A.T if self.transposed else A) @ x]


class BlockProduct(DenseProduct):
    """y = A·x or y = Aᵀ·x of a BSR matrix."""

    without: ClassVar = dict.fromkeys(("JAX", "PyTensor Numba", "PyTensor C", "torch"), "it is compared on csr")

    def __init__(self, A: Bsr, k: int, transposed: bool) -> None:
        super().__init__("blocks of {}x{},".format(*A.blocksize), A, k, transposed)
        assert self.gathered is not None
        rows, places = self.gathered
        self.gathered = rows.reshape(-1, A.blocksize[int(not transposed)] * k), places

    def aotensor(self, aot: Any) -> Any:
        size = self.values["A"].blocksize
        A = aot.sparse.bsr_matrix("A", dtype="float64", shape=("n", "m"), blocksize=size)
        x = self._dense(aot.tensor)
        product = aot.sparse.dot(A.T if self.transposed else A, x)
        return aot.function([A, x], {"y": product}, name="product")

    def c(self, kernels: ctypes.CDLL) -> None:
        return None


class ComplexProduct(SparseModel):
    """y = A·x of complex entries and a complex vector."""

    without: ClassVar = {"MKL": "it is compared on real entries"}

    def __init__(self, kind: str, A: Csr) -> None:
        self.title = f"{kind} {A.shape[0]}x{A.shape[1]}, {A.nnz} stored: A·x"
        rng = np.random.default_rng(1)
        phases = A.copy()
        phases.data = A.data * np.exp(2j * np.pi * rng.random(A.nnz))
        self.values = {"A": phases, "x": rng.normal(size=A.shape[1]) + 1j * rng.normal(size=A.shape[1])}
        self.operations = 8.0 * A.nnz

    def reference(self) -> list[Any]:
        A, x = self.values.values()
        return [A @ x]

    def aotensor(self, aot: Any) -> Any:
        A = aot.sparse.csr_matrix("A", dtype="complex128", shape=("n", "m"))
        x = aot.tensor.zvector("x", shape=("m",))
        return aot.function([A, x], {"y": aot.sparse.dot(A, x)}, name="product")

    def jax(self, jax: Any) -> Callable[..., Any]:
        return lambda A, x: (A @ x,)

    def torch(self, torch: Any) -> Callable[..., Any]:
        return lambda A, x: [A @ x]

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        A, x = pt.sparse.csr_matrix("A", dtype="complex128"), pt.tensor.zvector()
        return [A, x], [pt.sparse.dot(A, x)]

    def numpy(self) -> Contender:
        return self.reference


class SparseProduct(SparseModel):
    """C = A·B of CSR matrices, with B = A in values of its own."""

    without: ClassVar = {"JAX": "its BCOO pairs every entry with every other"}

    def __init__(self, kind: str, A: Csr) -> None:
        self.title = f"{kind} {A.shape[0]}x{A.shape[1]}, {A.nnz} stored: A·A, sparse"
        self.values = {"A": A, "B": A.copy()}
        self.operations = 2.0 * float(np.diff(A.indptr)[A.indices].sum())

    def reference(self) -> list[Any]:
        return self._by_scipy()

    def aotensor(self, aot: Any) -> Any:
        sp = aot.sparse
        A, B = (sp.csr_matrix(name, dtype="float64", shape=tuple(shape)) for name, shape in (("A", "nk"), ("B", "km")))
        return aot.function([A, B], {"C": sp.true_dot(A, B)}, name="product")

    def jax(self, jax: Any) -> Callable[..., Any]:
        return lambda A, B: (A @ B,)

    def torch(self, torch: Any) -> Callable[..., Any]:
        return lambda A, B: [A @ B]

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        A, B = (pt.sparse.csr_matrix(name, dtype="float64") for name in "AB")
        return [A, B], [pt.sparse.true_dot(A, B)]

    def numpy(self) -> Contender:
        return self._by_scipy

    def mkl(self, multiply: Callable[..., Any]) -> Contender:
        A, B = self.values.values()
        return lambda: [multiply(A, B)]

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Any]]:
        """The C kernel, which counts entries, then fills arrays of exactly this size."""
        A, B = self.values.values()
        n, m = A.shape[0], B.shape[1]
        indptr, marks, result = np.empty(n + 1, "int32"), workspace(m, "int32"), ss.csr_matrix((n, m))
        matrices = csr_arrays(A) + csr_arrays(B)
        pattern = matrices[1:3] + matrices[4:]
        count = prepared_call(kernels.count_products, n, m, *pattern, indptr, marks)

        def call() -> None:
            count()
            data, indices = np.empty(indptr[-1]), np.empty(indptr[-1], "int32")
            prepared_call(kernels.fill_products, n, m, *matrices, data, indices, indptr, marks)()
            result.data, result.indices, result.indptr = data, indices, indptr

        return call, [result]

    def _by_scipy(self) -> list[Any]:
        A, B = self.values.values()
        return [A @ B]
