"""The Cholesky factor, and solves with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.operations import sweeps
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.batching import RepeatingOp, TrailingOp
from aotensor.ops.complex.blocks import hermitian_factor, is_complex
from aotensor.ops.diagonal import Triangle
from aotensor.ops.linalg.matrices import (
    NOT_SQUARE,
    ON_ERROR,
    as_pair,
    both_floating,
    check_square,
    common_batch,
    common_dim,
    failed,
    floating_matrix,
    lowered_square,
    per_matrix,
    scipy_linalg,
    square_dim,
    with_common_batch,
)
from aotensor.ops.linalg.shapes import as_square
from aotensor.ops.linalg.triangular import MultiplyTriangular, SolveTriangular, right_hand_side, solve_triangular
from aotensor.ops.shape.axes import matrix_transpose

NOT_POSITIVE = "the matrix is not positive definite: its leading minor of order {found} is not positive"


@frozen_dataclass
class Cholesky(TrailingOp):
    """L with L·Lᵀ = A, from the lower triangle of A, the only one that is read; zeros above.   (…, n, n) → (…, n, n)

    on_error: for a matrix that is not positive definite, or has nan, "raise" or "nan".

    With Φ(M) the lower triangle of M with half its diagonal, L̇ = L·Φ(L⁻¹·Ȧ·L⁻ᵀ), and its adjoint. Source: Murray,
    Differentiation of the Cholesky decomposition (2016). The cotangent of A is lower triangular.
    """

    name: ClassVar[str] = "cholesky"
    on_error: str = "raise"

    def infer_type(self, a: TensorType) -> TensorType:
        n = square_dim(a)
        return TensorType(a.dtype, (*a.shape[:-2], n, n))

    def reference(self, a: Array) -> Array:
        check_square(self.name, a)
        return per_matrix(self._factor, [a], [np.empty_like(a)])  # type: ignore[no-any-return]

    def _factor(self, a: Array) -> Any:
        if not a.size:
            return a
        factor, order = scipy_linalg().get_lapack_funcs("potrf", (a,))(a, lower=1, clean=1)
        if not order and np.isnan(factor[-1, -1]):  # some LAPACKs do not detect it
            order = int(np.argmax(np.isnan(np.diagonal(factor)))) + 1
        return failed(self.name, NOT_POSITIVE.format(found=order), self.on_error) if order else factor

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [CholeskyPullback()(outputs[0], cotangents[0])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (factor,), (tangent,) = outputs, tangents
        left = SolveTriangular(True, False, on_error="nan")(factor, symmetric_of_lower(tangent))
        both = SolveTriangular(True, True, is_left=False, on_error="nan")(factor, left)
        return [_lower(MultiplyTriangular(True)(factor, _half_diagonal(both)))]

    def lower(self, b: TensorBuilder, a: Tensor) -> Tensor:
        error = NOT_POSITIVE if self.on_error == "raise" else ""
        results = [(a.dtype, lowered_square(b, a))]
        return b.lapack("cholesky", [a], results, error, nan_on_failure=not error)[0]


@frozen_dataclass
class CholeskyPullback(RepeatingOp):
    """L, L̄ → Ā = fold(S) with S = L⁻ᵀ·Φ(Lᵀ·L̄)·L⁻¹, all lower triangles; computed block by block.   (…, n, n)

    Its derivatives are those of the formula, step by step.
    """

    name: ClassVar[str] = "cholesky_pullback"
    notation: ClassVar[str] = "grad({0})"

    def infer_type(self, factor: TensorType, derivative: TensorType) -> TensorType:
        n = common_dim(NOT_SQUARE, square_dim(factor), square_dim(derivative))
        batch = common_batch(factor.shape[:-2], derivative.shape[:-2])
        return TensorType(dtypes.promote(factor.dtype, derivative.dtype), (*batch, n, n))

    def reference(self, factor: Array, derivative: Array) -> Array:
        common = np.result_type(factor, derivative)
        operands = [factor.astype(common), derivative.astype(common)]
        return per_matrix(self._pulled, operands, [np.empty(factor.shape, common)])  # type: ignore[no-any-return]

    def _pulled(self, factor: Array, derivative: Array) -> Array:
        if not factor.size:
            return derivative
        solve = partial(scipy_linalg().solve_triangular, factor, lower=True, trans=1, check_finite=False)
        inner = np.tril(factor.T @ np.tril(derivative))
        inner[np.diag_indices_from(inner)] /= 2
        both = solve(solve(inner).T).T
        return np.asarray(np.tril(both) + np.tril(both.T, -1))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Variables:
        return sweeps.pulled_terms([self._formula(*inputs)], inputs, cotangents)

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> Variables:
        return sweeps.pushed_terms([self._formula(*inputs)], inputs, tangents)

    def _formula(self, factor: Variable, derivative: Variable) -> Variable:
        inner = MultiplyTriangular(True, True)(factor, _lower(derivative))
        left = SolveTriangular(True, True, on_error="nan")(factor, _half_diagonal(inner))
        return fold_lower(SolveTriangular(True, is_left=False, on_error="nan")(factor, left))

    def lower(self, b: TensorBuilder, factor: Tensor, derivative: Tensor) -> Tensor:
        common = dtypes.promote(factor.dtype, derivative.dtype)
        operands = [b.cast(factor, common), b.cast(derivative, common)]
        return b.lapack("cholesky_pullback", operands, [(common, factor.extents)])[0]


def _lower(x: Variable) -> Variable:
    return Triangle(True, 0)(x)  # type: ignore[no-any-return]


def fold_lower(x: Variable) -> Variable:
    """Fold the cotangent of a symmetric matrix onto its lower triangle, from which the matrix is made."""
    return _lower(x) + _strictly_lower(matrix_transpose(x))


def symmetric_of_lower(a: Variable) -> Variable:
    """The symmetric matrix with this lower triangle."""
    return _lower(a) + matrix_transpose(_strictly_lower(a))


def _strictly_lower(x: Variable) -> Variable:
    return Triangle(True, -1)(x)  # type: ignore[no-any-return]


def _half_diagonal(x: Variable) -> Variable:
    """Φ(x): the lower triangle of x with half the diagonal."""
    return (_lower(x) + _strictly_lower(x)) / 2


@coerced
def cho_solve(c_and_lower: Sequence[Any], b: Any, *, b_ndim: int | None = None) -> Variable:
    """x with a·x = b for a = c·cᴴ (lower), or cᴴ·c; derivatives reach the triangle of c that is read, and b.

    c_and_lower: c, and whether its lower triangle is read. b_ndim, Raises: as solve_triangular.
    """
    c, is_lower = as_pair("cho_solve", "c_and_lower", c_and_lower)
    c, b = both_floating(c, b)
    core = right_hand_side("cho_solve", c, b, b_ndim)
    if is_complex(c):
        inner = solve_triangular(c, b, trans="N" if is_lower else "C", lower=bool(is_lower), b_ndim=core)
        return solve_triangular(c, inner, trans="C" if is_lower else "N", lower=bool(is_lower), b_ndim=core)
    c, b = with_common_batch((c, 2), (b, core))
    first = SolveTriangular(bool(is_lower), not is_lower, b_ndim=core)
    return replace(first, is_transposed=bool(is_lower))(c, first(c, b))  # type: ignore[no-any-return]


@coerced
def cholesky(x: Any, lower: bool = True, on_error: str = "raise") -> Variable:
    """L with L·Lᵀ = x, or U with Uᵀ·U = x if not `lower`; only that triangle of x is read.   (…, n, n) → (…, n, n)

    For a complex x, L·Lᴴ = x with a real diagonal; the real part of the diagonal of x is read.

    The gradient is in the triangle that is read. on_error: for a matrix that is not positive definite,
    "raise" (LinAlgError, at run time) or "nan".

    Raises: GraphTypeError below rank 2, GraphValueError if x is not square (at run time where that is not known).
    """
    check_choice("cholesky: on_error", on_error, ON_ERROR)
    if is_complex(as_tensor(x)):
        z = as_square("cholesky", as_tensor(x))
        found = hermitian_factor(lambda m: cholesky(m, on_error=on_error), z if lower else matrix_transpose(z).conj())
        return found if lower else matrix_transpose(found).conj()
    x = floating_matrix("cholesky", x)
    factor: Variable = Cholesky(on_error)(x if lower else matrix_transpose(x))
    return factor if lower else matrix_transpose(factor)
