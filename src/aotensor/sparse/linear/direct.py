"""Solutions by factors: in an order that keeps factors sparse, found once for all equations with a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core.types import Array, TensorType
from aotensor.graph.sparse_type import scipy_sparse
from aotensor.graph.variable import Constant, Variable, as_tensor, constant
from aotensor.ops.shape.extents import extent_of
from aotensor.sparse.direct.ops import (
    CholeskyFactors,
    CholeskySolve,
    EliminationOrder,
    LuFactors,
    LuSolve,
    elimination_order,
)
from aotensor.sparse.linear.implicit import Solve, square
from aotensor.sparse.op import OTHER, Parts
from aotensor.sparse.patterns import OtherFormat

_IN_PLACE: Final = {"SymmetricMode": True}
"""SuperLU takes pivots on the diagonal."""


def _is_positive(factors: Any) -> bool:
    """Has SuperLU found positive pivots, all of them on the diagonal?"""
    return np.array_equal(factors.perm_r, factors.perm_c) and not (factors.U.diagonal() <= 0).any()


@dataclass(frozen=True)
class DirectSolve(Solve):
    """(data, indices, indptr, b) → x with A·x = b, or Aᵀ·x = b, by factors of A, which all equations with A share.

    is_symmetric: A is symmetric and positive definite, and one of each pair of its entries is read. is_of_parts: A was
    made of a complex matrix, which messages say.

    Raises: GraphTypeError for other ranks or dtypes; GraphLinAlgError at run time for a matrix that is singular, or not
    positive definite.
    """

    name: ClassVar[str] = "sparse_direct_solve"
    format: str
    is_symmetric: bool = False
    is_transposed: bool = False
    is_of_parts: bool = False

    def infer_type(self, data: TensorType, indices: TensorType, indptr: TensorType, b: TensorType) -> TensorType:
        self.check_types(data, b)
        return b

    def reference(self, data: Array, indices: Array, indptr: Array, b: Array) -> Array:
        n = len(indptr) - 1
        if n == 0 or b.size == 0:
            return np.zeros_like(b)
        splu = scipy_sparse().linalg.splu
        matrix = scipy_sparse().csc_array((data, indices, indptr), (n, n), copy=True)  # which SciPy sorts
        try:
            factors = splu(matrix, "MMD_AT_PLUS_A", 0.0, options=_IN_PLACE) if self.is_symmetric else splu(matrix)
        except RuntimeError:
            factors = None
        if factors is not None and (not self.is_symmetric or _is_positive(factors)):
            return factors.solve(b, "T" if self._is_of_transpose else "N")  # type: ignore[no-any-return]
        order, is_full = elimination_order(indices, indptr)  # says where the pivot is
        if self.is_symmetric:
            found = CholeskyFactors(self._slice).reference(data, indices, indptr, order)
            return CholeskySolve().reference(b, order, *found)
        found = LuFactors(self._slice).reference(data, indices, indptr, order, is_full)
        return LuSolve(self._is_of_transpose).reference(b, order, *found)

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        data, indices, indptr, b = inputs
        if isinstance(indices, Constant) and isinstance(indptr, Constant):
            order, is_full = map(constant, elimination_order(indices.data, indptr.data))
        else:
            n = extent_of(indptr, 0) - 1  # not that of b: the order is the same for all equations with this matrix
            _, *transposed = OtherFormat(n if isinstance(n, int) else None)(indices, indptr, as_tensor(n))
            order, is_full = EliminationOrder()(indices, indptr, *transposed)
        if self.is_symmetric:
            return [CholeskySolve()(b, order, *CholeskyFactors(self._slice)(data, indices, indptr, order))]
        factors = LuFactors(self._slice)(data, indices, indptr, order, is_full)
        return [LuSolve(self._is_of_transpose)(b, order, *factors)]

    @property
    def _slice(self) -> str:
        found = "column" if self.format == "csc" else "row"
        return f"{found}, counting real and imaginary parts apart," if self.is_of_parts else found

    @property
    def _is_of_transpose(self) -> bool:
        """Are the equations with the transpose of what is in compressed columns?"""
        return self.is_transposed != (self.format == "csr")

    def matrix(self, inputs: Sequence[Variable]) -> Parts:
        return square(OTHER[self.format] if self.is_transposed else self.format, inputs)

    def again(self, inputs: Sequence[Variable], b: Variable, is_transposed: bool = False) -> Variable:
        op = replace(self, is_transposed=self.is_transposed != is_transposed)
        return op(*inputs[:3], b)  # type: ignore[no-any-return]
