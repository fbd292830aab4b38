"""The Cholesky factor, and solves with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.types import Array, TensorType
from aotensor.graph.op import disconnected, is_disconnected
from aotensor.graph.public import public
from aotensor.graph.variable import Variable
from aotensor.ops.batching import TrailingOp
from aotensor.ops.diagonal import Triangle
from aotensor.ops.linalg.matrices import (
    ON_ERROR,
    check_option,
    check_square,
    failed,
    floating,
    lowered_square,
    per_matrix,
    scipy_linalg,
    square_dim,
)
from aotensor.ops.linalg.triangular import MultiplyTriangular, SolveTriangular
from aotensor.ops.shape.axes import matrix_transpose

NOT_POSITIVE = "the matrix is not positive definite: its leading minor of order {found} is not positive"


@dataclass(frozen=True)
class Cholesky(TrailingOp):
    """L with L·Lᵀ = A, of the lower triangle of A, the only one that is read; zeros above.   (…, n, n) → (…, n, n)

    With Φ(M) the lower triangle of M with half its diagonal, L̇ = L·Φ(L⁻¹·Ȧ·L⁻ᵀ), and its adjoint. Source: Murray,
    Differentiation of the Cholesky decomposition (2016). The cotangent of A lives in the lower triangle.
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
        return failed(self.name, NOT_POSITIVE.format(found=order), self.on_error) if order else factor

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        (factor,), (ct,) = outputs, cotangents
        inner = _half_diagonal(MultiplyTriangular(True, True)(factor, _lower(ct)))
        left = SolveTriangular(True, True, on_error="nan")(factor, inner)
        both = SolveTriangular(True, False, is_left=False, on_error="nan")(factor, left)
        return [_lower(both) + _strictly_lower(matrix_transpose(both))]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        (factor,), (tangent,) = outputs, tangents
        if is_disconnected(tangent):
            return [disconnected()]
        symmetric = _lower(tangent) + matrix_transpose(_strictly_lower(tangent))
        left = SolveTriangular(True, False, on_error="nan")(factor, symmetric)
        both = SolveTriangular(True, True, is_left=False, on_error="nan")(factor, left)
        return [_lower(MultiplyTriangular(True)(factor, _half_diagonal(both)))]

    def lower(self, b: TensorBuilder, a: Tensor) -> Tensor:
        error = NOT_POSITIVE if self.on_error == "raise" else ""
        results = [(a.dtype, lowered_square(b, a))]
        return b.lapack("cholesky", [a], results, error, nan_on_failure=not error)[0]


def _lower(x: Variable) -> Variable:
    return Triangle(True, 0)(x)  # type: ignore[no-any-return]


def _strictly_lower(x: Variable) -> Variable:
    return Triangle(True, -1)(x)  # type: ignore[no-any-return]


def _half_diagonal(x: Variable) -> Variable:
    """Φ: the lower triangle with half the diagonal."""
    return (_lower(x) + _strictly_lower(x)) / 2


@public
def cholesky(x: Any, lower: bool = True, on_error: str = "raise") -> Variable:
    """L with L·Lᵀ = x, or U with Uᵀ·U = x if not `lower`; only that triangle of x is read.   (…, n, n) → (…, n, n)

    The gradient lives in the triangle that is read. on_error: what a matrix that is not positive definite gives,
    "raise" (LinAlgError, at run time) or "nan".

    Raises: GraphTypeError below rank 2, GraphValueError if x is not square (at run time where that is not known).
    """
    check_option("cholesky", "on_error", on_error, ON_ERROR)
    x = floating(x)
    factor: Variable = Cholesky(on_error)(x if lower else matrix_transpose(x))
    return factor if lower else matrix_transpose(factor)
