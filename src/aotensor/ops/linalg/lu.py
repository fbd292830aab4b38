"""LU factors: the internal factorisation, and SciPy's functions for users.

Internally columns are exchanged, A·P = L·U, with ones on the diagonal of U, as LAPACK does with a
row-major matrix, so solves, inverses and determinants need no transpose. SciPy's factors are those of the transpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply, disconnected
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.batching import RepeatingOp, TrailingOp
from aotensor.ops.complex.parts import real
from aotensor.ops.contract import matmul
from aotensor.ops.diagonal import Triangle, eye
from aotensor.ops.elementwise.compare import cast, eq
from aotensor.ops.linalg.lapack import Lapack, MatrixOp, is_complex, lapack
from aotensor.ops.linalg.matrices import (
    NO_ROW,
    ZERO_PIVOT,
    as_pair,
    both_floating,
    check_square,
    exchanged_rows,
    failed,
    floating_matrix,
    per_matrix,
    scipy_linalg,
    square_dim,
    with_common_batch,
)
from aotensor.ops.linalg.triangular import (
    MultiplyTriangular,
    SolveTriangular,
    right_hand_side,
    solve_triangular,
    transposition,
)
from aotensor.ops.linear import ConstantOp, LinearisedOp
from aotensor.ops.ranges import arange
from aotensor.ops.shape.axes import expand_dims, matrix_transpose
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.take import take_along_axis


@frozen_dataclass
class ColumnLu(TrailingOp):
    """A → F, p with A·P = L·U: L the lower triangle of F, U the rest with ones on its diagonal.   (…, n, n)

    p (int32): column k was swapped with column p[k], for k in order, both counted from 1. on_error: for a singular
    matrix, "raise", "nan", or "ignore" to return the factors.

    dF = L·tril(G) + triu(G, 1)·U with G = L⁻¹·dA·P·U⁻¹, and its adjoint.
    """

    name: ClassVar[str] = "lu"
    on_error: str

    def infer_type(self, a: TensorType) -> tuple[TensorType, TensorType]:
        n = square_dim(a)
        return TensorType(a.dtype, (*a.shape[:-2], n, n)), TensorType("int32", (*a.shape[:-2], n))

    def reference(self, a: Array) -> tuple[Array, Array]:
        check_square(self.name, a)
        return per_matrix(self._factors, [a], [np.empty_like(a), np.empty(a.shape[:-1], np.int32)])  # type: ignore[no-any-return]

    def _factors(self, a: Array) -> tuple[Any, Array]:
        if not a.size:
            return a, np.empty(0)
        factors, exchanges, order = scipy_linalg().get_lapack_funcs("getrf", (a,))(a.T)
        if order and self.on_error != "ignore":
            return failed(self.name, ZERO_PIVOT.format(found=order), self.on_error), exchanges + 1
        return factors.T, exchanges + 1

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, False]]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (factors, exchanges), (ct, _) = outputs, cotangents
        lower = _lower(MultiplyTriangular(True, True)(factors, _lower(ct)))
        upper = _upper(MultiplyTriangular(False, True, True, is_left=False)(factors, _upper(ct)))
        left = SolveTriangular(True, True, on_error="nan")(factors, lower + upper)
        both = SolveTriangular(False, True, True, is_left=False, on_error="nan")(factors, left)
        return [_with_columns(both, Permutation(True)(factors, exchanges))]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (factors, exchanges), (tangent,) = outputs, tangents
        exchanged = _with_columns(tangent, Permutation(False)(factors, exchanges))
        left = SolveTriangular(True, on_error="nan")(factors, exchanged)
        both = SolveTriangular(False, False, True, is_left=False, on_error="nan")(factors, left)
        lower = MultiplyTriangular(True)(factors, _lower(both))
        upper = MultiplyTriangular(False, False, True, is_left=False)(factors, _upper(both))
        return [_lower(lower) + _upper(upper), disconnected()]

    def lower(self, b: TensorBuilder, a: Tensor) -> tuple[Tensor, ...]:
        error = ZERO_PIVOT if self.on_error == "raise" else ""
        return Lapack("lu", error, fails=self.on_error == "nan").lower(b, a)


@frozen_dataclass
class ComplexLu(LinearisedOp, MatrixOp):
    """A → F, p of complex matrices: A = P·L·U, L below the diagonal of F with ones on it, U on and above.

    Row k was swapped with row p[k], in order, counted from 1. dF = L·tril(G, −1) + triu(G)·U with G = L⁻¹·Pᵀ·dA·U⁻¹.
    """

    name: ClassVar[str] = "lu"

    def infer_type(self, a: TensorType) -> tuple[TensorType, TensorType]:
        factors, exchanges = ColumnLu("ignore").infer_type(a.with_dtype(dtypes.part_of(a.dtype)))
        return factors.with_dtype(a.dtype), exchanges

    def reference(self, a: Array) -> Any:
        check_square(self.name, a)
        return per_matrix(self._factors, [a], [np.empty_like(a), np.empty(a.shape[:-1], np.int32)])

    def _factors(self, a: Array) -> tuple[Any, Array]:
        if not a.size:
            return a, np.empty(0)
        factors, exchanges, _ = scipy_linalg().get_lapack_funcs("getrf", (a,))(a)
        return factors, exchanges + 1

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, False]]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (factors, exchanges), (tangent,) = outputs, tangents
        order = Permutation(False)(real(factors), exchanges)
        exchanged = take_along_axis(tangent, expand_dims(order, -1), -2)
        options: dict[str, Any] = {"b_ndim": 2, "on_error": "nan"}
        left = solve_triangular(factors, exchanged, lower=True, unit_diagonal=True, **options)
        inner = matrix_transpose(solve_triangular(factors, matrix_transpose(left), trans=1, **options))
        below, above = Triangle(True, -1)(inner), Triangle(False, 0)(inner)
        return [
            below + matmul(Triangle(True, -1)(factors), below) + matmul(above, Triangle(False, 0)(factors)),
            disconnected(),
        ]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        factors, exchanges = lapack("lu", [matrix_transpose(inputs[0])], fails=False)
        return [matrix_transpose(factors), exchanges]


def packed_factors(name: str, a: Any) -> tuple[Variable, Variable]:
    """(L and U of square matrices packed in one matrix, row exchanges counted from 1)."""
    a = floating_matrix(name, a)
    if is_complex(a):
        factors, exchanges = ComplexLu().apply(a).outputs
        return factors, exchanges
    factors, exchanges = ColumnLu("ignore").apply(matrix_transpose(a)).outputs
    return matrix_transpose(factors), exchanges


def _lower(x: Variable) -> Variable:
    return Triangle(True, 0)(x)  # type: ignore[no-any-return]


def _upper(x: Variable) -> Variable:
    return Triangle(False, 1)(x)  # type: ignore[no-any-return]


def _with_columns(x: Variable, order: Variable) -> Variable:
    """x with its columns permuted: column k of the result is column order[k] of x."""
    return take_along_axis(x, expand_dims(order, -2), -1)


@frozen_dataclass
class Permutation(RepeatingOp, ConstantOp):
    """The factors, exchanges → q (int64): column q[k] of A is column k of A·P; the other way round if inverse.

    is_given: the exchanges come from the caller, so that compiled code checks them.
    """

    name: ClassVar[str] = "lu_permutation"
    notation: ClassVar[str] = "lu({0})"
    is_inverse: bool
    is_given: bool = False

    def infer_type(self, factors: TensorType, exchanges: TensorType) -> TensorType:
        return exchanges.with_dtype("int64")

    def reference(self, factors: Array, exchanges: Array) -> Array:
        return per_matrix(self._order, [factors, exchanges], [np.empty(exchanges.shape, np.int64)])  # type: ignore[no-any-return]

    def _order(self, factors: Array, exchanges: Array) -> Array:
        rows = exchanged_rows("lu_solve" if self.is_given else self.name, exchanges)
        order, steps = np.arange(len(rows)), np.arange(len(rows))
        for k in steps[::-1] if self.is_inverse else steps:
            order[[k, rows[k]]] = order[[rows[k], k]]
        return order

    def lower(self, b: TensorBuilder, factors: Tensor, exchanges: Tensor) -> Tensor:
        if self.is_given:
            _check_rows(b, exchanges)
        results = [("int64", exchanges.extents)]
        return b.lapack("lu_permutation", [factors, exchanges], results, is_inverse=self.is_inverse)[0]


def _check_rows(b: TensorBuilder, exchanges: Tensor) -> None:
    """Emit the run-time check of `exchanged_rows`."""
    v, n, axes = b.scalars, exchanges.extents[-1], range(len(exchanges.extents))
    lowest = v.cast(b.item(b.reduce("minimum", exchanges, axes, "int64")), dtypes.INDEX)
    highest = v.cast(b.item(b.reduce("maximum", exchanges, axes, "int64")), dtypes.INDEX)
    below, above = highest <= n, lowest >= 1
    found = v.select(above, highest, lowest) - 1
    b.check(above & below, f"lu_solve: {NO_ROW}", found=found, expected=n, kind="index")


class FactoredOp(RepeatingOp):
    """An op of a matrix A, its factors F, p, and other inputs: computed from the factors, differentiated by A."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        varying = [True, False, False, *[True] * (len(node.inputs) - 3)]
        return [[connected] * len(node.outputs) for connected in varying]


# --- SciPy's functions -----------------------------------------------------------------------------------------------


@coerced
def lu_factor(a: Any) -> tuple[Variable, Variable]:
    """(lu, piv) of scipy.linalg.lu_factor, for square matrices: row k was swapped with row piv[k], from 0.

    a: (…, n, n) → (…, n, n) with L below the diagonal (ones on it are left out) and U on and above, (…, n) int32.
    A singular matrix gives its factors, as in SciPy. Raises: GraphValueError if a is not square.
    """
    packed, exchanges = packed_factors("lu_factor", a)
    return packed, cast(exchanges - 1, "int32")


@coerced
def lu_solve(lu_and_piv: Sequence[Any], b: Any, trans: int | str = 0, *, b_ndim: int | None = None) -> Variable:
    """x with op(a)·x = b, from the result of lu_factor(a); trans and b_ndim as in solve_triangular.

    Derivatives reach b and lu; piv is an array of integers. Raises: as solve_triangular.
    """
    lu, pivots = as_pair("lu_solve", "lu_and_piv", lu_and_piv)
    is_transposed = transposition("lu_solve", trans)
    lu, b = both_floating(lu, b)
    pivots = as_tensor(pivots)
    core = right_hand_side("lu_solve", lu, b, b_ndim)
    lu, pivots, b = with_common_batch((lu, 2), (pivots, 1), (b, core))
    order = Permutation(is_transposed, is_given=True)(real(lu), cast(pivots, "int64") + 1)
    axis, positions = -core, order if core == 1 else expand_dims(order, -1)
    if is_transposed:
        inner = solve_triangular(lu, b, trans=trans, b_ndim=core)
        outer = solve_triangular(lu, inner, trans=trans, lower=True, unit_diagonal=True, b_ndim=core)
        return take_along_axis(outer, positions, axis)
    exchanged = take_along_axis(b, positions, axis)
    inner = solve_triangular(lu, exchanged, lower=True, unit_diagonal=True, b_ndim=core)
    return solve_triangular(lu, inner, b_ndim=core)


@coerced
def lu(a: Any, permute_l: bool = False, p_indices: bool = False) -> tuple[Variable, ...]:
    """(P, L, U) with a = P·L·U of a square matrix, ones on the diagonal of L.   (…, n, n) → three of (…, n, n)

    permute_l: (P·L, U) instead; p_indices: (p, L, U) with a = L[p]·U, p int64 of (…, n). P and p have no gradient.

    Raises: GraphValueError if a is not square, GraphTypeError if both options are set.
    """
    if permute_l and p_indices:
        raise GraphTypeError("lu: permute_l and p_indices cannot both be True")
    packed, exchanges = packed_factors("lu", a)
    n, kind = extent_of(packed, -1), real(packed).dtype
    lower, upper = Triangle(True, -1)(packed) + eye(n, dtype=kind), Triangle(False, 0)(packed)
    positions = Permutation(True)(real(packed), exchanges)
    if p_indices:
        return positions, lower, upper
    if permute_l:
        return take_along_axis(lower, expand_dims(positions, -1), -2), upper
    return cast(eq(expand_dims(positions, -1), arange(n)), kind), lower, upper
