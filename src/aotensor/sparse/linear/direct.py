"""Solutions by sparse factors; the elimination order is found once for all equations with a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.graph.sparse_type import scipy_sparse
from aotensor.graph.variable import Constant, Variable, as_tensor, constant
from aotensor.ops.shape.extents import extent_of
from aotensor.sparse.direct.fields import CholeskyPivots
from aotensor.sparse.direct.ops import (
    CholeskyFactors,
    CholeskySolve,
    EliminationOrder,
    LuFactors,
    LuSolve,
    elimination_order,
)
from aotensor.sparse.linear.implicit import Solve, square
from aotensor.sparse.op import OTHER, Compressed
from aotensor.sparse.patterns import OtherFormat

_IN_PLACE: Final = {"SymmetricMode": True}
"""SuperLU takes pivots on the diagonal."""


def _is_positive(factors: Any) -> bool:
    """Has SuperLU found positive pivots only, all of them on the diagonal?"""
    return np.array_equal(factors.perm_r, factors.perm_c) and not (factors.U.diagonal() <= 0).any()


@frozen_dataclass
class SymmetricFactors:
    """Factors of a symmetric positive definite matrix, used by reference implementations.

    solve: A⁻¹·b in float64.   (n,) or (n, k). pivots: D of L·D·Lᵀ, in the order of the columns of A.   (n,)
    """

    solve: Callable[[Array], Array]
    pivots: Array


def symmetric_solver(
    slice: str, data: Array, indices: Array, indptr: Array, on_error: str = "raise"
) -> SymmetricFactors:
    """Factors by SuperLU in float64 with diagonal pivots; by our kernels if SuperLU finds the matrix singular.

    slice: what the user calls a column. on_error: as in CholeskyFactors.

    Raises: GraphLinAlgError for a matrix that is not symmetric or not positive definite, as CholeskyFactors does.
    """
    n = len(indptr) - 1
    values, pattern = (
        scipy_sparse().csc_array((x, indices, indptr), (n, n), copy=True)
        for x in (data.astype(np.float64), np.ones(len(indices), bool))
    )
    try:
        factors = scipy_sparse().linalg.splu(values, "MMD_AT_PLUS_A", 0.0, options=_IN_PLACE)
    except RuntimeError:
        factors = None
    if factors is not None and _is_positive(factors) and not (pattern != pattern.T).nnz:
        return SymmetricFactors(factors.solve, factors.U.diagonal()[factors.perm_c])
    order, _ = elimination_order(indices, indptr)
    found = CholeskyFactors(slice, on_error).reference(data.astype(np.float64), indices, indptr, order)
    return SymmetricFactors(
        lambda b: CholeskySolve().reference(b, order, *found), CholeskyPivots().reference(order, *found)
    )


def order_of(indices: Variable, indptr: Variable) -> Sequence[Variable]:
    """The outputs of EliminationOrder; as constants if the pattern is constant."""
    if isinstance(indices, Constant) and isinstance(indptr, Constant):
        return [constant(x) for x in elimination_order(indices.data, indptr.data)]
    n = extent_of(indptr, 0) - 1  # not that of b: the order is the same for all equations with this matrix
    _, *transposed = OtherFormat(n if isinstance(n, int) else None)(indices, indptr, as_tensor(n))
    return EliminationOrder()(indices, indptr, *transposed)  # type: ignore[no-any-return]


def symmetric_factors(
    slice: str, data: Variable, indices: Variable, indptr: Variable, *, on_error: str = "raise"
) -> tuple[Variable, Sequence[Variable]]:
    """(elimination order, the outputs of CholeskyFactors) of a symmetric matrix."""
    order, _ = order_of(indices, indptr)
    return order, CholeskyFactors(slice, on_error)(data, indices, indptr, order)


@frozen_dataclass
class DirectSolve(Solve):
    """(data, indices, indptr, b) → x with A·x = b, or Aᵀ·x = b; equations with the same A share one factorisation.

    is_symmetric: A is symmetric and positive definite, and one of each pair of its entries is read. is_of_parts: A was
    made of a complex matrix, which messages say. on_error: "raise", or "nan" for a solution of nan.

    Raises: GraphTypeError for other ranks or dtypes; unless on_error is "nan", GraphLinAlgError at run time for a
    matrix that is singular, or not positive definite.
    """

    name: ClassVar[str] = "sparse_direct_solve"
    notation: ClassVar[str] = "spsolve"
    format: str
    is_symmetric: bool = False
    is_transposed: bool = False
    is_of_parts: bool = False
    on_error: str = "raise"

    def infer_type(self, data: TensorType, indices: TensorType, indptr: TensorType, b: TensorType) -> TensorType:
        self.check_types(data, b)
        return b

    def reference(self, data: Array, indices: Array, indptr: Array, b: Array) -> Array:
        n = len(indptr) - 1
        if n == 0 or b.size == 0:
            return np.zeros_like(b)
        if self.is_symmetric:
            factors = symmetric_solver(self._slice, data, indices, indptr, self.on_error)
            return factors.solve(b.astype(np.float64)).astype(b.dtype)
        matrix = scipy_sparse().csc_array((data, indices, indptr), (n, n), copy=True)  # which SciPy sorts
        try:
            return scipy_sparse().linalg.splu(matrix).solve(b, "T" if self._is_of_transpose else "N")  # type: ignore[no-any-return]
        except RuntimeError:
            order, is_full = elimination_order(indices, indptr)  # says where the pivot is
        found = LuFactors(self._slice, self.on_error).reference(data, indices, indptr, order, is_full)
        return LuSolve(self._is_of_transpose).reference(b, order, *found)

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        data, indices, indptr, b = inputs
        if self.is_symmetric:
            order, found = symmetric_factors(self._slice, data, indices, indptr, on_error=self.on_error)
            return [CholeskySolve()(b, order, *found)]
        order, is_full = order_of(indices, indptr)
        factors = LuFactors(self._slice, self.on_error)(data, indices, indptr, order, is_full)
        return [LuSolve(self._is_of_transpose)(b, order, *factors)]

    @property
    def _slice(self) -> str:
        found = "column" if self.format == "csc" else "row"
        return f"{found}, counting real and imaginary parts apart," if self.is_of_parts else found

    @property
    def _is_of_transpose(self) -> bool:
        """Is the solve one with the transpose of the matrix that is stored in compressed columns?"""
        return self.is_transposed != (self.format == "csr")

    def matrix(self, inputs: Sequence[Variable]) -> Compressed:
        return square(OTHER[self.format] if self.is_transposed else self.format, inputs)

    def again(self, inputs: Sequence[Variable], b: Variable, is_transposed: bool = False) -> Variable:
        op = replace(self, is_transposed=self.is_transposed != is_transposed)
        return op(*inputs[:3], b)  # type: ignore[no-any-return]
