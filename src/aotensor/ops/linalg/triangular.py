"""Solves and products with a triangular matrix; only the named triangle is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.op import Apply, Op, connected, sum_terms
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.batching import all_batched
from aotensor.ops.complex.blocks import is_complex, solved_unit_triangular
from aotensor.ops.complex.holomorphic import holomorphic_in
from aotensor.ops.complex.parts import conj
from aotensor.ops.create import ones_like
from aotensor.ops.diagonal import Triangle, diagonal
from aotensor.ops.elementwise.arithmetic import abs as absolute
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.linalg.banded import BandedSolve
from aotensor.ops.linalg.matrices import (
    INNER,
    ON_ERROR,
    ZERO_ON_DIAGONAL,
    both_floating,
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
    with_common_batch,
)
from aotensor.ops.linear import SolveOp
from aotensor.ops.shape.axes import dimshuffle, expand_dims, matrix_transpose
from aotensor.ops.shape.extents import extents_of
from aotensor.ops.shape.extents import product as total
from aotensor.ops.shape.reshape import reshape


@frozen_dataclass
class TriangularOp(Op):
    """Base of solves and products.   a: (…, n, n), b: (…, n, k), (…, k, n) on the right side, or (…, n)

    b_ndim: 2, or 1 for vectors. is_unit: the diagonal is taken as ones, and not read.
    """

    is_lower: bool
    is_transposed: bool = False
    is_unit: bool = False
    is_left: bool = True
    b_ndim: int = 2

    def infer_type(self, a: TensorType, b: TensorType) -> TensorType:
        n = square_dim(a)
        if b.rank < self.b_ndim:
            raise GraphTypeError(f"the right-hand side has rank {b.rank}, expected {self.b_ndim} or more")
        axis = b.rank - (self.b_ndim if self.is_left else 1)
        core = list(b.shape)
        core[axis] = common_dim(INNER, n, core[axis])
        batch = common_batch(a.shape[:-2], b.shape[: b.rank - self.b_ndim])
        return TensorType(dtypes.promote(a.dtype, b.dtype), (*batch, *core[b.rank - self.b_ndim :]))

    def _triangle(self, x: Variable) -> Variable:
        """x with zeros outside of the triangle that is read."""
        return Triangle(self.is_lower, 0 if not self.is_unit else -1 if self.is_lower else 1)(x)  # type: ignore[no-any-return]

    def _outer(self, x: Variable, y: Variable) -> Variable:
        """The cotangent of the triangle of a in op(a)·y for a cotangent x of the product (y·op(a) on the right
        side).
        """
        if self.b_ndim == 1:
            spec = "j,i->ij" if self.is_transposed else "i,j->ij"
        elif self.is_left:
            spec = "jk,ik->ij" if self.is_transposed else "ik,jk->ij"
        else:
            spec = "ki,kj->ij" if self.is_transposed else "kj,ki->ij"
        return self._triangle(product(spec, x, y))

    def _checked_operands(self, a: Array, b: Array) -> tuple[Array, Array]:
        check_square(self.name, a)
        axis = b.ndim - (self.b_ndim if self.is_left else 1)
        if b.shape[axis] != a.shape[-1]:
            raise GraphValueError(f"{self.name}: {INNER} differ: {a.shape[-1]} and {b.shape[axis]}")
        common = np.result_type(a, b)
        return a.astype(common), b.astype(common)

    def _lowered(self, b: TensorBuilder, a: Tensor, x: Tensor, kind: str, error: str, **options: bool) -> Tensor:
        common = dtypes.promote(a.dtype, x.dtype)
        axis = len(x.extents) - (self.b_ndim if self.is_left else 1)
        *batch, n, _ = lowered_square(b, a)
        extents = list(x.extents)
        extents[axis] = b.same_extent([extents[axis], n], INNER)
        extents[: len(batch)] = lowered_batch(b, extents[: len(batch)], batch)
        operands = [b.cast(a, common), b.cast(x, common)]
        flags = {
            "is_left": self.is_left, "is_lower": self.is_lower, "is_transposed": self.is_transposed,
            "is_unit": self.is_unit,
        }  # fmt: skip
        return b.lapack(kind, operands, [(common, extents)], error, **flags, **options)[0]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        a, b = inputs
        if is_batched[0] or a.ndim > 2:
            return self.apply(*all_batched(inputs, is_batched)).outputs
        return [self._samples_side_by_side(a, b)]

    def _samples_side_by_side(self, a: Variable, b: Variable) -> Variable:
        """Merge samples of b for one matrix into columns (rows on the right side) of one right-hand side."""
        if self.b_ndim == 1:
            op = replace(self, is_left=False, is_transposed=not self.is_transposed, b_ndim=2)
            return op(a, b)  # type: ignore[no-any-return]
        if not self.is_left:
            samples, rows, n = extents_of(b)
            return reshape(self(a, reshape(b, [total([samples, rows]), n])), [samples, rows, n])
        return side_by_side(lambda columns: self(a, columns), b)


def side_by_side(solve: Callable[[Variable], Variable], b: Variable) -> Variable:
    """Solve for several right-hand sides of one matrix at once, merged as columns.   (s, n, k) → (s, n, k)"""
    transposed_matrix = dimshuffle(b, [1, 0, 2])
    n, samples, columns = extents_of(transposed_matrix)
    flat = solve(reshape(transposed_matrix, [n, total([samples, columns])]))
    return dimshuffle(reshape(flat, [n, samples, columns]), [1, 0, 2])


@frozen_dataclass
class SolveTriangular(TriangularOp, SolveOp):
    """x with op(a)·x = b, or x·op(a) = b on the right side, where op optionally transposes.

    on_error: "raise", or "nan" for a matrix with a zero on its diagonal. The pullback reads the same triangle: the
    cotangent of b is op(a)⁻ᵀ·x̄, that of a is −b̄·xᵀ, masked.
    """

    name: ClassVar[str] = "solve_triangular"
    on_error: str = "raise"

    def reference(self, a: Array, b: Array) -> Array:
        a, b = self._checked_operands(a, b)
        return per_matrix(self._solved, [a, b], [np.empty_like(b)])  # type: ignore[no-any-return]

    def _solved(self, a: Array, b: Array) -> Any:
        zeros = np.flatnonzero(np.diagonal(a) == 0)
        if len(zeros) and not self.is_unit:
            return failed(self.name, ZERO_ON_DIAGONAL.format(found=zeros[0] + 1), self.on_error)
        if not b.size:
            return b
        options = {"lower": self.is_lower, "unit_diagonal": self.is_unit, "check_finite": False}
        solve = scipy_linalg().solve_triangular
        if self.is_left:
            return solve(a, b, trans=int(self.is_transposed), **options)
        return solve(a, b.T, trans=int(not self.is_transposed), **options).T

    def again(self, inputs: Sequence[Variable], b: Variable, is_transposed: bool = False) -> Variable:
        op = replace(self, is_transposed=self.is_transposed != is_transposed, on_error="nan")
        return op(inputs[0], b)  # type: ignore[no-any-return]

    def times(self, position: int, inputs: Sequence[Variable], tangent: Variable, x: Variable) -> Variable:
        op = MultiplyTriangular(self.is_lower, self.is_transposed, False, self.is_left, self.b_ndim)
        return op(self._triangle(tangent), x)  # type: ignore[no-any-return]

    def outer(self, position: int, inputs: Sequence[Variable], y: Variable, x: Variable) -> Variable:
        return self._outer(y, x)

    def lower(self, b: TensorBuilder, a: Tensor, x: Tensor) -> Tensor:
        error = ZERO_ON_DIAGONAL if self.on_error == "raise" else ""
        return self._lowered(b, a, x, "solve_triangular", error, nan_on_failure=not error)


@frozen_dataclass
class MultiplyTriangular(TriangularOp):
    """op(a)·b, or b·op(a) on the right side: half the work of a product of full matrices."""

    name: ClassVar[str] = "multiply_triangular"
    notation: ClassVar[str] = "@"

    def reference(self, a: Array, b: Array) -> Array:
        a, b = self._checked_operands(a, b)
        return per_matrix(self._multiplied, [a, b], [np.empty_like(b)])  # type: ignore[no-any-return]

    def _multiplied(self, a: Array, b: Array) -> Array:
        read = np.tril(a) if self.is_lower else np.triu(a)
        if self.is_unit:
            np.fill_diagonal(read, 1)
        read = read.T if self.is_transposed else read
        return np.asarray(read @ b if self.is_left else b @ read)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (a, b), (ct,) = inputs, cotangents
        return [self._outer(ct, b), replace(self, is_transposed=not self.is_transposed)(a, ct)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (a, b), along = inputs, replace(self, is_unit=False)
        moving = connected(tangents).items()
        return [sum_terms([self(a, t) if k else along(self._triangle(t), b) for k, t in moving], add)]

    def lower(self, b: TensorBuilder, a: Tensor, x: Tensor) -> Tensor:
        return self._lowered(b, a, x, "multiply_triangular", "", nan_on_failure=True)


def transposition(name: str, trans: Any) -> bool:
    """Is the matrix transposed, by SciPy's option `trans`: no for 0, "N"; yes for 1, "T", 2, "C".   Raises:
    GraphValueError
    """
    known = {0: False, "N": False, 1: True, "T": True, 2: True, "C": True}
    check_choice(f"{name}: trans", trans, known)
    return known[trans]


def right_hand_side(name: str, a: Variable, b: Variable, b_ndim: int | None) -> int:
    """The rank of the core of b: as given, else 1 for a vector and 2 for others.

    Raises: GraphValueError for another number, GraphTypeError for a scalar.
    """
    check_choice(f"{name}: b_ndim", b_ndim, (None, 1, 2))
    core = b_ndim if b_ndim is not None else 1 if b.ndim == 1 else 2
    if b.ndim < core or a.ndim < 2:
        lines = [a.describe(), b.describe()]
        raise GraphTypeError(f"{name}: expected a matrix and a right-hand side of rank {core} or more", lines=lines)
    return core


def _solve_complex(a: Variable, b: Variable, is_lower: bool, is_unit: bool, core: int, on_error: str) -> Variable:
    """`solve_triangular` for complex matrices, whose rows are divided by their pivots first."""
    if not is_unit:
        size = BandedSolve(0, b_ndim=1, on_error=on_error)(absolute(a), ones_like(absolute(diagonal(a, 0, -2, -1))))
        inverse = conj(diagonal(a, 0, -2, -1)) * size * size
        a = a * expand_dims(inverse, -1)
        b = b * (inverse if core == 1 else expand_dims(inverse, -1))
    op = SolveTriangular(is_lower, is_unit=True, b_ndim=core)
    return solved_unit_triangular(op, a, b, core, is_lower)


@coerced
def solve_triangular(
    a: Any,
    b: Any,
    *,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    b_ndim: int | None = None,
    on_error: str = "raise",
) -> Variable:
    """x with op(a)·x = b for a triangular a; the other triangle is not read.   (…, n, n), (…, n[, k]) → (…, n[, k])

    trans: 0 or "N" for op(a) = a, 1 or "T" for aᵀ, 2 or "C" for aᴴ. b_ndim: 1 for vectors, 2 for matrices; by default b
    of rank 1 is a vector and all else are matrices. Leading dims broadcast along dims that are statically 1. on_error:
    for a zero on the diagonal, "raise" (LinAlgError, at run time) or "nan".

    Raises: GraphValueError if a is not square or extents differ (at run time where they are not known).
    """
    name = "solve_triangular"
    check_choice(f"{name}: on_error", on_error, ON_ERROR)
    is_transposed = transposition(name, trans)
    a, b = both_floating(a, b)
    core = right_hand_side(name, a, b, b_ndim)
    a, b = with_common_batch((a, 2), (b, core))
    if is_complex(a):
        transposed_matrix = matrix_transpose(a) if is_transposed else a
        transposed_matrix = conj(transposed_matrix) if trans in (2, "C") else transposed_matrix
        found = _solve_complex(transposed_matrix, b, bool(lower) != is_transposed, bool(unit_diagonal), core, on_error)
        return holomorphic_in(found, transposed_matrix, b)
    op = SolveTriangular(bool(lower), is_transposed, bool(unit_diagonal), True, core, on_error)
    return op(a, b)  # type: ignore[no-any-return]
