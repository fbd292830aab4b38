"""Solves of linear systems with diagonal or tridiagonal matrices: only these diagonals are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.variable import Variable
from aotensor.ops.batching import RepeatingOp
from aotensor.ops.diagonal import Triangle
from aotensor.ops.linalg.matrices import (
    INNER,
    ZERO_ON_DIAGONAL,
    ZERO_PIVOT,
    check_square,
    common_batch,
    common_dim,
    failed,
    lowered_batch,
    lowered_square,
    per_matrix,
    product,
    scipy_linalg,
    square_dim,
)
from aotensor.ops.linear import SolveOp


@frozen_dataclass
class BandedSolve(RepeatingOp, SolveOp):
    """a, b → x with op(a)·x = b for the diagonal of a, and both neighbours if `width` is 1.   b: (…, n, k), or (…, n)

    b_ndim: 2, or 1 for vectors. on_error: for a singular matrix, "raise" or "nan". b̄ = op(a)⁻ᵀ·x̄, and
    ā = −b̄·xᵀ, or its transpose, on the diagonals that are read.
    """

    name: ClassVar[str] = "solve_banded"
    notation: ClassVar[str] = "solve({0}, {1})"
    width: int
    is_transposed: bool = False
    b_ndim: int = 2
    on_error: str = "raise"

    def infer_type(self, a: TensorType, b: TensorType) -> TensorType:
        n = square_dim(a)
        if b.rank < self.b_ndim:
            raise GraphTypeError(f"the right-hand side has rank {b.rank}, expected {self.b_ndim} or more")
        core = list(b.shape[b.rank - self.b_ndim :])
        core[0] = common_dim(INNER, n, core[0])
        batch = common_batch(a.shape[:-2], b.shape[: b.rank - self.b_ndim])
        return TensorType(dtypes.promote(a.dtype, b.dtype), (*batch, *core))

    def reference(self, a: Array, b: Array) -> Array:
        check_square(self.name, a)
        if b.shape[-self.b_ndim] != a.shape[-1]:
            raise GraphValueError(f"{self.name}: {INNER} differ: {a.shape[-1]} and {b.shape[-self.b_ndim]}")
        common = np.result_type(a, b)
        a, b = a.astype(common), b.astype(common)
        return per_matrix(self._solved, [a, b], [np.empty_like(b)])  # type: ignore[no-any-return]

    def _solved(self, a: Array, b: Array) -> Any:
        if not b.size:
            return b
        if self.width == 0 or len(a) == 1:
            zeros = np.flatnonzero(np.diagonal(a) == 0)
            if len(zeros):
                return failed(self.name, ZERO_ON_DIAGONAL.format(found=zeros[0] + 1), self.on_error)
            return (b.T / np.diagonal(a)).T
        a = a.T if self.is_transposed else a
        diagonals = [np.diagonal(a, k) for k in (-1, 0, 1)]
        *_, x, order = scipy_linalg().get_lapack_funcs("gtsv", (a,))(*diagonals, b)
        return failed(self.name, ZERO_PIVOT.format(found=order), self.on_error) if order else x

    def _banded(self, x: Variable) -> Variable:
        """x with zeros outside of the diagonals that the solve reads."""
        return Triangle(False, -self.width)(Triangle(True, self.width)(x))  # type: ignore[no-any-return]

    def again(self, inputs: Sequence[Variable], b: Variable, is_transposed: bool = False) -> Variable:
        op = replace(self, is_transposed=self.is_transposed != is_transposed, on_error="nan")
        return op(inputs[0], b)  # type: ignore[no-any-return]

    def times(self, position: int, inputs: Sequence[Variable], tangent: Variable, x: Variable) -> Variable:
        left = "ji" if self.is_transposed else "ij"
        return product(f"{left},j->i" if self.b_ndim == 1 else f"{left},jk->ik", self._banded(tangent), x)

    def outer(self, position: int, inputs: Sequence[Variable], y: Variable, x: Variable) -> Variable:
        left, right = (x, y) if self.is_transposed else (y, x)
        return self._banded(product("i,j->ij" if self.b_ndim == 1 else "ik,jk->ij", left, right))

    def lower(self, b: TensorBuilder, a: Tensor, x: Tensor) -> Tensor:
        common = dtypes.promote(a.dtype, x.dtype)
        *batch, n, _ = lowered_square(b, a)
        extents = list(x.extents)
        extents[-self.b_ndim] = b.same_extent([extents[-self.b_ndim], n], INNER)
        extents[: len(batch)] = lowered_batch(b, extents[: len(batch)], batch)
        error = "" if self.on_error != "raise" else ZERO_PIVOT if self.width else ZERO_ON_DIAGONAL
        options = {"is_transposed": self.is_transposed} if self.width else {}
        kind = "tridiagonal_solve" if self.width else "diagonal_solve"
        operands = [b.cast(a, common), b.cast(x, common)]
        return b.lapack(kind, operands, [(common, extents)], error, nan_on_failure=not error, **options)[0]
