"""The Schur form of a matrix, and Sylvester equations, which are solved by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.op import null_gradient
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.complex.parts import conj, to_complex
from aotensor.ops.contract import matmul
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.linalg.lapack import (
    MatrixOp,
    adjoint,
    is_complex,
    lapack,
    square_core,
)
from aotensor.ops.linalg.matrices import (
    both_floating,
    check_square,
    common_batch,
    common_dim,
    floating_matrix,
    per_matrix,
    scipy_linalg,
    with_common_batch,
)
from aotensor.ops.linalg.shapes import as_square, converged
from aotensor.ops.linear import SolveOp
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import matrix_transpose

FAILED: Final = "the eigenvalues did not converge"
UNSORTED: Final = "the eigenvalues did not converge, or cannot be sorted: some are too close to others or the border"
NO_RULE: Final = "the Schur form has no derivative here: its blocks come in an order that may jump"
SORTS: Final = ("lhp", "rhp", "iuc", "ouc")
_LEFT: Final = "rows of q and of the left matrix"
_RIGHT: Final = "columns of q and rows of the right matrix"


@frozen_dataclass
class Schur(MatrixOp):
    """x → (t, z): x = z·t·zᴴ, z unitary, t triangular, for a real x with blocks of two.   (…, n, n)

    sort: which eigenvalues come first; their number (int64) is then a third result.
    """

    name: ClassVar[str] = "schur"
    sort: str | None = None

    def infer_type(self, x: TensorType) -> tuple[TensorType, ...]:
        n = square_core(x)
        kind = TensorType(x.dtype, (*x.shape[:-2], n, n))
        return (kind, kind, TensorType("int64", x.shape[:-2])) if self.sort else (kind, kind)

    def reference(self, x: Array) -> tuple[Array, ...]:
        check_square(self.name, x)

        def decomposed(matrices: Array) -> tuple[Array, ...]:
            results = [np.empty_like(x), np.empty_like(x), np.empty(x.shape[:-2], np.int64)]
            return per_matrix(  # type: ignore[no-any-return]
                lambda m: scipy_linalg().schur(m, sort=self.sort), [matrices], results if self.sort else results[:2]
            )

        return converged(self.name, UNSORTED if self.sort else FAILED, decomposed, x)  # type: ignore[no-any-return]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [null_gradient(self, 0, inputs[0], "not implemented", NO_RULE)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        null = null_gradient(self, 0, inputs[0], "not implemented", NO_RULE)
        return [null] * len(outputs)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        (x,) = inputs
        if self.sort is None:
            return schur_factors(x)
        t, z, chosen = lapack("sorted_schur", [x], UNSORTED, sort=self.sort)
        return [t, z, cast(sum_over(chosen, axis=-1), "int64")]


def schur_factors(x: Variable) -> list[Variable]:
    """(t, z) of Schur, by LAPACK."""
    return lapack("schur", [x], FAILED)


@frozen_dataclass
class Sylvester(SolveOp, MatrixOp):
    """a, b, q → x with op(a)·x + x·op(b) = q, op(m) = mᴴ where requested.   (…, m, m), (…, n, n), (…, m, n)

    Sums of eigenvalues of op(a) and op(b) that are 0 count as tiny numbers, as in SciPy. The adjoint equation has the
    same Schur forms, which are computed once. Source: Bartels & Stewart, Solution of the matrix equation AX + XB = C
    (1972).
    """

    name: ClassVar[str] = "solve_sylvester"
    matrices: ClassVar[tuple[int, ...]] = (0, 1)
    is_left_adjoint: bool
    is_right_adjoint: bool

    @property
    def is_holomorphic(self) -> bool:  # type: ignore[override]
        return not self.is_left_adjoint and not self.is_right_adjoint

    def infer_type(self, a: TensorType, b: TensorType, q: TensorType) -> TensorType:
        if q.rank < 2:
            raise GraphValueError(f"q has rank {q.rank}, expected 2 or more")
        batch = common_batch(a.shape[:-2], b.shape[:-2], q.shape[:-2])
        rows = common_dim(_LEFT, square_core(a), q.shape[-2])
        columns = common_dim(_RIGHT, square_core(b), q.shape[-1])
        return TensorType(dtypes.promote(a.dtype, b.dtype, q.dtype), (*batch, rows, columns))

    def reference(self, a: Array, b: Array, q: Array) -> Array:
        for matrix, n, what in ((a, q.shape[-2], _LEFT), (b, q.shape[-1], _RIGHT)):
            check_square(self.name, matrix)
            if matrix.shape[-1] != n:
                raise GraphValueError(f"{self.name}: {what} differ: {n} and {matrix.shape[-1]}")
        return per_matrix(self._solved, [a, b, q], [np.empty(q.shape, np.result_type(a, b, q))])  # type: ignore[no-any-return]

    def _solved(self, a: Array, b: Array, q: Array) -> Any:
        if not q.size:
            return q
        if not all(np.isfinite(x).all() for x in (a, b)):
            return np.nan
        if not np.isfinite(q).all():
            return np.nan
        left, right = a.conj().T if self.is_left_adjoint else a, b.conj().T if self.is_right_adjoint else b
        return scipy_linalg().solve_sylvester(left, right, q)

    def again(self, inputs: Sequence[Variable], b: Variable, is_transposed: bool = False) -> Variable:
        if not is_transposed:
            return self(*inputs[:2], b)  # type: ignore[no-any-return]
        flipped = replace(self, is_left_adjoint=not self.is_left_adjoint, is_right_adjoint=not self.is_right_adjoint)
        return conj(flipped(*inputs[:2], conj(b)))

    def times(self, position: int, inputs: Sequence[Variable], tangent: Variable, x: Variable) -> Variable:
        moved = adjoint(tangent) if self._is_adjoint(position) else tangent
        return matmul(x, moved) if position else matmul(moved, x)

    def outer(self, position: int, inputs: Sequence[Variable], y: Variable, x: Variable) -> Variable:
        xt = matrix_transpose(x)
        term = matmul(xt, y) if position else matmul(y, xt)
        return adjoint(term) if self._is_adjoint(position) else term

    def _is_adjoint(self, position: int) -> bool:
        return self.is_right_adjoint if position else self.is_left_adjoint

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        a, b, q = inputs
        (t, u), (s, v) = (Schur().apply(x).outputs for x in (a, b))
        inner = matmul(matmul(adjoint(u), q), v)
        (y,) = lapack(
            "triangular_sylvester",
            [t, s, inner],
            is_left_adjoint=self.is_left_adjoint,
            is_right_adjoint=self.is_right_adjoint,
        )
        return [matmul(matmul(u, y), adjoint(v))]


@coerced
def schur(a: Any, output: str = "real", sort: str | None = None) -> list[Variable]:
    """[t, z] with a = z·t·zᴴ, z unitary and t upper triangular.   (…, n, n) → two of (…, n, n)

    Of a real a, t and z are real and t has a block of two rows for every pair of complex eigenvalues; output "complex"
    gives the triangular form, as it is for a complex a. There are no derivatives. Non-finite input gives nan.

    sort: which eigenvalues λ come first, as in SciPy; their number is then a third result, (…) of int64: "lhp" takes
    Re λ < 0, "rhp" Re λ ≥ 0, "iuc" |λ| ≤ 1, "ouc" |λ| > 1. Pairs of a real form stay together.

    Raises: GraphTypeError below rank 2, GraphValueError for a matrix that is not square, another output or sort (also a
    function); LinAlgError at run time where the iteration does not converge, or where eigenvalues cannot be sorted.
    """
    x = as_square("schur", floating_matrix("schur", a))
    check_choice("schur: sort", sort, (None, *SORTS))
    return list(Schur(sort).apply(complex_if_asked("schur", x, output)).outputs)


def complex_if_asked(name: str, x: Variable, output: str) -> Variable:
    """x, made complex for output "complex".   Raises: GraphValueError for an output other than "complex" or "real"."""
    if check_choice(f"{name}: output", output, ("real", "r", "complex", "c"))[0] == "c" and not is_complex(x):
        return to_complex(x, dtypes.complex_of(x.dtype))
    return x


@coerced
def solve_sylvester(a: Any, b: Any, q: Any) -> Variable:
    """x with a·x + x·b = q.   (…, m, m), (…, n, n), (…, m, n) → (…, m, n)

    The solution is unique if no eigenvalue of a is the negative of one of b; else it is huge, as in SciPy.

    Raises: GraphTypeError below rank 2, GraphValueError for extents that differ (at run time where they are not known).
    """
    name = "solve_sylvester"
    a, b, q = both_floating(*(floating_matrix(name, x) for x in (a, b, q)))
    a, b, q = with_common_batch((as_square(name, a), 2), (as_square(name, b), 2), (q, 2))
    return Sylvester(False, False)(a, b, q)  # type: ignore[no-any-return]
