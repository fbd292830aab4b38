"""Solutions of linear systems, and inverses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.op import Apply
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.complex.blocks import by_blocks, is_complex, solve_blocks
from aotensor.ops.linalg.banded import BandedSolve
from aotensor.ops.linalg.cholesky import Cholesky, fold_lower, symmetric_of_lower
from aotensor.ops.linalg.lu import ColumnLu, FactoredOp
from aotensor.ops.linalg.matrices import (
    INNER,
    ON_ERROR,
    both_floating,
    common_batch,
    common_dim,
    exchanged_rows,
    floating_matrix,
    lowered_batch,
    per_matrix,
    product,
    scipy_linalg,
    square_dim,
    with_common_batch,
)
from aotensor.ops.linalg.shapes import as_square
from aotensor.ops.linalg.triangular import SolveTriangular, right_hand_side, side_by_side, solve_triangular
from aotensor.ops.linear import LinearisedOp, SolveOp
from aotensor.ops.shape.axes import matrix_transpose


def _solution_type(a: TensorType, b: TensorType, b_ndim: int) -> TensorType:
    n = common_dim(INNER, square_dim(a), b.shape[b.rank - b_ndim])
    batch = common_batch(a.shape[:-2], b.shape[: b.rank - b_ndim])
    return TensorType(dtypes.promote(a.dtype, b.dtype), (*batch, n, *b.shape[b.rank - b_ndim + 1 :]))


def _lowered_extents(b: TensorBuilder, factors: Tensor, x: Tensor, b_ndim: int) -> list[Any]:
    """The extents of a solution; a run-time check compares unknown extents of the factors and the right-hand side."""
    *batch, n, _ = factors.extents
    extents = list(x.extents)
    extents[-b_ndim] = b.same_extent([extents[-b_ndim], n], INNER)
    extents[: len(batch)] = lowered_batch(b, extents[: len(batch)], batch)
    return extents


def _check_extents(name: str, a: Array, b: Array, b_ndim: int) -> None:
    if b.shape[-b_ndim] != a.shape[-1]:
        raise GraphValueError(f"{name}: {INNER} differ: {a.shape[-1]} and {b.shape[-b_ndim]}")


def _samples(solve: Callable[[Variable], Variable], b: Variable, b_ndim: int) -> Variable:
    """Solve for several right-hand sides of one matrix (leading axis of b) at once, with the right-hand sides as
    columns.
    """
    return side_by_side(solve, b) if b_ndim == 2 else matrix_transpose(solve(matrix_transpose(b)))


def _times(a: Variable, x: Variable, b_ndim: int, is_transposed: bool = False) -> Variable:
    """op(a)·x for a vector (b_ndim 1) or matrix x."""
    left = "ji" if is_transposed else "ij"
    return product(f"{left},j->i" if b_ndim == 1 else f"{left},jk->ik", a, x)


def _outer(x: Variable, y: Variable, b_ndim: int) -> Variable:
    """x·yᵀ for vectors (b_ndim 1) or matrices."""
    return product("i,j->ij" if b_ndim == 1 else "ik,jk->ij", x, y)


@frozen_dataclass
class LuSolve(SolveOp, FactoredOp):
    """A, its factors, b → x with op(A)·x = b.   b: (…, n, k), or (…, n) for b_ndim 1

    b̄ = op(A)⁻ᵀ·x̄ and Ā = −b̄·xᵀ, or its transpose, with the same factors.
    """

    name: ClassVar[str] = "lu_solve"
    is_transposed: bool
    b_ndim: int

    def infer_type(self, a: TensorType, factors: TensorType, exchanges: TensorType, b: TensorType) -> TensorType:
        return _solution_type(a, b, self.b_ndim)

    def reference(self, a: Array, factors: Array, exchanges: Array, b: Array) -> Array:
        _check_extents(self.name, factors, b, self.b_ndim)
        return per_matrix(self._solved, [factors, exchanges, b], [np.empty_like(b)])  # type: ignore[no-any-return]

    def _solved(self, factors: Array, exchanges: Array, b: Array) -> Any:
        if not b.size:
            return b
        if not np.all(np.isfinite(factors)):
            return np.nan
        rows = exchanged_rows(self.name, exchanges)
        return scipy_linalg().lu_solve((factors.T, rows), b, int(not self.is_transposed), check_finite=False)

    def again(self, inputs: Sequence[Variable], b: Variable, is_transposed: bool = False) -> Variable:
        op = replace(self, is_transposed=not self.is_transposed) if is_transposed else self
        return op(*inputs[:3], b)  # type: ignore[no-any-return]

    def times(self, position: int, inputs: Sequence[Variable], tangent: Variable, x: Variable) -> Variable:
        return _times(tangent, x, self.b_ndim, self.is_transposed)

    def outer(self, position: int, inputs: Sequence[Variable], y: Variable, x: Variable) -> Variable:
        return _outer(x, y, self.b_ndim) if self.is_transposed else _outer(y, x, self.b_ndim)

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        a, factors, exchanges, b = inputs
        if any(is_batched[:3]) or a.ndim > 2:
            return super().batch(node, inputs, is_batched)
        return [_samples(partial(replace(self, b_ndim=2), a, factors, exchanges), b, self.b_ndim)]

    def lower(self, b: TensorBuilder, a: Tensor, factors: Tensor, exchanges: Tensor, x: Tensor) -> Tensor:
        extents = _lowered_extents(b, factors, x, self.b_ndim)
        operands = [factors, exchanges, b.cast(x, factors.dtype)]
        results = [(factors.dtype, extents)]
        return b.lapack("lu_solve", operands, results, is_transposed=self.is_transposed, nan_on_failure=True)[0]


@frozen_dataclass
class CholeskySolve(SolveOp, FactoredOp):
    """A (only its lower triangle is read), its Cholesky factor L, b → x with A·x = b.

    b̄ = A⁻¹·x̄, and Ā = −b̄·xᵀ folded onto the lower triangle.
    """

    name: ClassVar[str] = "cholesky_solve"
    notation: ClassVar[str] = "solve({0}, {2})"
    b_ndim: int

    def infer_type(self, a: TensorType, factor: TensorType, b: TensorType) -> TensorType:
        return _solution_type(a, b, self.b_ndim)

    def reference(self, a: Array, factor: Array, b: Array) -> Array:
        _check_extents(self.name, factor, b, self.b_ndim)
        return per_matrix(self._solved, [factor, b], [np.empty_like(b)])  # type: ignore[no-any-return]

    def _solved(self, factor: Array, b: Array) -> Any:
        return scipy_linalg().cho_solve((factor, True), b, check_finite=False) if b.size else b

    def again(self, inputs: Sequence[Variable], b: Variable, is_transposed: bool = False) -> Variable:
        return self(*inputs[:2], b)  # type: ignore[no-any-return]

    def times(self, position: int, inputs: Sequence[Variable], tangent: Variable, x: Variable) -> Variable:
        return _times(symmetric_of_lower(tangent), x, self.b_ndim)

    def outer(self, position: int, inputs: Sequence[Variable], y: Variable, x: Variable) -> Variable:
        return fold_lower(_outer(y, x, self.b_ndim))

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        a, factor, b = inputs
        if any(is_batched[:2]) or a.ndim > 2:
            return super().batch(node, inputs, is_batched)
        return [_samples(partial(replace(self, b_ndim=2), a, factor), b, self.b_ndim)]

    def lower(self, b: TensorBuilder, a: Tensor, factor: Tensor, x: Tensor) -> Tensor:
        x = b.cast(x, factor.dtype)
        results = [(factor.dtype, _lowered_extents(b, factor, x, self.b_ndim))]
        options: dict[str, Any] = {"is_left": True, "is_lower": True, "is_unit": False, "nan_on_failure": True}
        (inner,) = b.lapack("solve_triangular", [factor, x], results, is_transposed=False, **options)
        return b.lapack("solve_triangular", [factor, inner], results, is_transposed=True, **options)[0]


_ASSUMPTIONS = {
    "gen": "gen", "general": "gen", "sym": "sym", "symmetric": "sym", "her": "sym", "hermitian": "sym", "pos": "pos",
    "positive definite": "pos", "lower triangular": "lower", "upper triangular": "upper", "banded": "gen",
    "tridiagonal": "tridiagonal", "diagonal": "diagonal",
}  # fmt: skip


def _solve_complex(
    a: Variable, b: Variable, assume_a: str, lower: bool, transposed: bool, b_ndim: int | None, on_error: str
) -> Variable:
    """`solve` for complex a or b, by real matrices of twice the size; "pos" stays positive definite.

    Raises: GraphTypeError for "sym", which is ambiguous for complex matrices.
    """
    names = {"general": "gen", "symmetric": "sym", "hermitian": "her", "positive definite": "pos"}
    assume_a = names.get(assume_a, assume_a)
    if assume_a == "sym":
        raise GraphTypeError(
            'solve: assume_a="sym" is for real matrices, but A is complex',
            lines=[a.describe()],
            hint='use assume_a="gen", or "her" for a Hermitian matrix',
        )
    core = right_hand_side("solve", a, b, b_ndim)
    if assume_a.endswith("triangular"):
        trans, is_lower = int(transposed), assume_a.startswith("lower")
        return solve_triangular(a, b, trans=trans, lower=is_lower, b_ndim=core, on_error=on_error)
    kind = "pos" if assume_a == "pos" else "gen"

    def real(m: Variable, y: Variable) -> Variable:
        return solve(m, y, assume_a=kind, lower=True, b_ndim=core, on_error=on_error)

    if transposed:
        a, lower = matrix_transpose(a), not lower
    return solve_blocks(real, a, b, core, assume_a, lower)


@coerced
def solve(
    a: Any,
    b: Any,
    *,
    assume_a: str = "gen",
    lower: bool = False,
    transposed: bool = False,
    b_ndim: int | None = None,
    on_error: str = "raise",
) -> Variable:
    """x with a·x = b, or aᵀ·x = b if `transposed`.   a: (…, n, n), b: (…, n[, k]) → (…, n[, k])

    assume_a: SciPy's names: "gen", and "banded", which is the same here; "sym" (or "her") and "pos", where only
    the triangle that `lower` names is read; "lower triangular", "upper triangular"; "tridiagonal" and "diagonal",
    where only these diagonals are read, in linear time. b_ndim: 1 for vectors, 2 for matrices; by default b of rank 1
    is a vector and all else are matrices. Leading dims broadcast along dims that are statically 1. on_error: for a
    singular matrix (for "pos": one that is not positive definite), "raise" (LinAlgError, at run time) or "nan".

    Raises: GraphValueError if a is not square, extents differ (at run time where they are not known) or an option is
    unknown. Cost: one factorisation, which the gradient shares.
    """
    check_choice("solve: assume_a", assume_a, _ASSUMPTIONS)
    check_choice("solve: on_error", on_error, ON_ERROR)
    if is_complex(as_tensor(a), as_tensor(b)):
        return _solve_complex(as_tensor(a), as_tensor(b), assume_a, lower, transposed, b_ndim, on_error)
    a, b = both_floating(a, b)
    core = right_hand_side("solve", a, b, b_ndim)
    match _ASSUMPTIONS[assume_a]:
        case "gen":
            return _solve_by_lu(a, b, core, transposed, on_error)
        case "sym":
            full = symmetric_of_lower(a if lower else matrix_transpose(a))
            return _solve_by_lu(full, b, core, False, on_error)
        case "pos":
            read = a if lower else matrix_transpose(a)
            factor = Cholesky(on_error)(read)
            operands = with_common_batch((read, 2), (factor, 2), (b, core))
            return CholeskySolve(core)(*operands)  # type: ignore[no-any-return]
        case "diagonal" | "tridiagonal" as kind:
            op = BandedSolve(int(kind == "tridiagonal"), bool(transposed), core, on_error)
            return op(*with_common_batch((a, 2), (b, core)))  # type: ignore[no-any-return]
        case side:
            triangular = SolveTriangular(side == "lower", bool(transposed), b_ndim=core, on_error=on_error)
            return triangular(*with_common_batch((a, 2), (b, core)))  # type: ignore[no-any-return]


def _solve_by_lu(a: Variable, b: Variable, core: int, is_transposed: bool, on_error: str) -> Variable:
    factors, exchanges = ColumnLu(on_error).apply(a).outputs
    operands = with_common_batch((a, 2), (factors, 2), (exchanges, 1), (b, core))
    return LuSolve(bool(is_transposed), core)(*operands)  # type: ignore[no-any-return]


@frozen_dataclass
class LuInverse(FactoredOp, LinearisedOp):
    """A, its factors → A⁻¹, nan for a singular matrix.   dY = −Y·dA·Y"""

    name: ClassVar[str] = "inv"

    def infer_type(self, a: TensorType, factors: TensorType, exchanges: TensorType) -> TensorType:
        return factors

    def reference(self, a: Array, factors: Array, exchanges: Array) -> Array:
        return per_matrix(self._inverse, [factors, exchanges], [np.empty_like(factors)])  # type: ignore[no-any-return]

    def _inverse(self, factors: Array, exchanges: Array) -> Any:
        if not factors.size:
            return factors
        inverse, order = scipy_linalg().get_lapack_funcs("getri", (factors,))(
            factors.T, exchanged_rows(self.name, exchanges)
        )
        return np.nan if order else inverse.T

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (y,), tangent = outputs, tangents[0]
        return [-product("ij,jk->ik", product("ij,jk->ik", y, tangent), y)]

    def lower(self, b: TensorBuilder, a: Tensor, factors: Tensor, exchanges: Tensor) -> Tensor:
        results = [(factors.dtype, factors.extents)]
        return b.lapack("lu_inverse", [factors, exchanges], results, nan_on_failure=True)[0]


@public(numpy="linalg.inv")
@coerced
def inv(x: Any, on_error: str = "raise") -> Variable:
    """x⁻¹ of square matrices.   (…, n, n) → (…, n, n), floating

    on_error: for a singular matrix, "raise" (LinAlgError, at run time) or "nan".

    Raises: GraphTypeError below rank 2, GraphValueError if x is not square (at run time where that is not known).
    """
    check_choice("inv: on_error", on_error, ON_ERROR)
    if is_complex(as_tensor(x)):
        return by_blocks(lambda m: inv(m, on_error), as_square("inv", as_tensor(x)))
    x = floating_matrix("inv", x)
    return LuInverse()(x, *ColumnLu(on_error).apply(x).outputs)  # type: ignore[no-any-return]


matrix_inverse = inv
