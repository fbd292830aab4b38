"""Equations with a sparse matrix, solved by factors: SciPy's SuperLU is the peer."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as ss
from contenders import Contender
from scipy.sparse.linalg import spsolve, spsolve_triangular

from sparse_cases.matrices import Csr
from sparse_cases.model import SparseModel, normal


class Solution(SparseModel):
    """x with A·x = b, from the values of A to x: an order of elimination, factors and triangles.

    The diagonal is made larger than its row, so that all contenders give the same digits.
    """

    tolerance = 1e-8
    peers = ()

    def __init__(self, kind: str, A: Csr) -> None:
        lengths = np.asarray(abs(A).sum(axis=1)).ravel()
        raised = (A + ss.diags_array(1 + lengths, format="csr")).tocsc()
        self.title = f"{kind} {A.shape[0]}x{A.shape[1]}, {raised.nnz} stored: A⁻¹·b by factors"
        self.values = {"A": ss.csc_matrix(raised), "b": normal(np.random.default_rng(1), A.shape[0])}

    def reference(self) -> list[Any]:
        return self._by_scipy()

    def aotensor(self, aot: Any) -> Any:
        A = aot.sparse.csc_matrix("A", dtype="float64", shape=("n", "n"))
        b = aot.tensor.vector("b", shape=("n",))
        return aot.function([A, b], {"x": aot.sparse.spsolve(A, b)}, name="solution")

    def numpy(self) -> Contender:
        return self._by_scipy

    def _by_scipy(self) -> list[Any]:
        return [spsolve(*self.values.values())]


class TriangularSolution(Solution):
    """x with L·x = b for the lower triangle of A."""

    def __init__(self, kind: str, A: Csr) -> None:
        super().__init__(kind, A)
        self.values["A"] = ss.csr_matrix(ss.tril(self.values["A"]))
        self.title = f"{kind} {A.shape[0]}x{A.shape[1]}, {self.values['A'].nnz} stored: a triangle"

    def aotensor(self, aot: Any) -> Any:
        A = aot.sparse.csr_matrix("A", dtype="float64", shape=("n", "n"))
        b = aot.tensor.vector("b", shape=("n",))
        return aot.function([A, b], {"x": aot.sparse.spsolve_triangular(A, b)}, name="solution")

    def _by_scipy(self) -> list[Any]:
        return [spsolve_triangular(*self.values.values())]
