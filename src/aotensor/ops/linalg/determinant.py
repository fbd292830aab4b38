"""Determinants, and their logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from aotensor.core.builders import Extent, Scalar, ScalarVerbs, Tensor, TensorBuilder
from aotensor.core.types import Array, TensorType
from aotensor.graph.op import disconnected, is_disconnected
from aotensor.graph.public import public
from aotensor.graph.variable import Variable
from aotensor.ops.linalg.lu import ColumnLu, FactoredOp
from aotensor.ops.linalg.matrices import floating_matrix, per_matrix, product
from aotensor.ops.linalg.solve import LuInverse
from aotensor.ops.linear import zero_gradient
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import dimshuffle, matrix_transpose


def _signed_pivots(factors: Array, exchanges: Array) -> Array:
    """The pivots, negated where columns were exchanged: their product is the determinant."""
    pivots = np.diagonal(factors, 0, -2, -1)
    return np.where(exchanges == np.arange(exchanges.shape[-1]) + 1, pivots, -pivots)


def _lowered_pivots(b: TensorBuilder, factors: Tensor, exchanges: Tensor, part: Any = None) -> Tensor:
    """The same in tensor IR, or `part` (verbs, pivot) of each."""

    def pivot(v: ScalarVerbs, *at: Scalar) -> Scalar:
        k: Extent = at[-1]
        value = v.load(factors, *at, k)
        place = v.cast(v.load(exchanges, *at), "index")
        signed = v.select(v.compare("eq", place, v.index(v.iadd(k, 1))), value, v.neg(value))
        return signed if part is None else part(v, signed)

    return b.tabulate(exchanges.extents, factors.dtype, pivot)


def _scaled(factor: Variable, matrix: Variable) -> Variable:
    """A number for each matrix, times the matrix."""
    return dimshuffle(factor, [*range(factor.ndim), None, None]) * matrix


def _inner(x: Variable, y: Variable) -> Variable:
    """Σ x·y over each matrix."""
    return sum_over(x * y, axis=(-2, -1))


@dataclass(frozen=True)
class Determinant(FactoredOp):
    """A, its factors → det A.   (…, n, n) → (…)   ddet = ⟨adj(A)ᵀ, dA⟩, also where A is singular."""

    name: ClassVar[str] = "det"

    def infer_type(self, a: TensorType, factors: TensorType, exchanges: TensorType) -> TensorType:
        return TensorType(factors.dtype, factors.shape[:-2])

    def reference(self, a: Array, factors: Array, exchanges: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.prod(_signed_pivots(factors, exchanges), axis=-1))

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        cofactors = matrix_transpose(Adjugate()(*inputs))
        return [_scaled(cotangents[0], cofactors), disconnected(), disconnected()]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        if is_disconnected(tangents[0]):
            return [disconnected()]
        return [_inner(matrix_transpose(Adjugate()(*inputs)), tangents[0])]

    def lower(self, b: TensorBuilder, a: Tensor, factors: Tensor, exchanges: Tensor) -> Tensor:
        pivots = _lowered_pivots(b, factors, exchanges)
        return b.reduce("mul", pivots, [len(pivots.extents) - 1])


@dataclass(frozen=True)
class Adjugate(FactoredOp):
    """A, its factors → M = det(A)·A⁻¹, the transposed cofactors, to rounding errors of A also where A is singular.

    dM = (tr(M·dA)·M − M·dA·M) / det A: that needs a regular matrix.
    """

    name: ClassVar[str] = "adjugate"

    def infer_type(self, a: TensorType, factors: TensorType, exchanges: TensorType) -> TensorType:
        return factors

    def reference(self, a: Array, factors: Array, exchanges: Array) -> Array:
        return per_matrix(self._adjugate, [a], [np.empty_like(factors)])  # type: ignore[no-any-return]

    def _adjugate(self, a: Array) -> Any:
        """By singular values: adj(U·S·Vᵀ) = adj(Vᵀ)·adj(S)·adj(U), where adj(S) has the products of all others."""
        if not a.size:
            return a
        if not np.all(np.isfinite(a)):
            return np.nan
        left, values, right = np.linalg.svd(a)
        before = np.concatenate([[1], np.cumprod(values[:-1])])
        after = np.concatenate([np.cumprod(values[:0:-1])[::-1], [1]])
        sign = np.linalg.det(left) * np.linalg.det(right)
        return sign * (right.T * (before * after)) @ left.T

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        (m,), (ct,) = outputs, cotangents
        both = product("ij,kj->ik", product("ji,jk->ik", m, ct), m)
        slopes = _scaled(_inner(ct, m), matrix_transpose(m)) - both
        return [_scaled(1 / Determinant()(*inputs), slopes), disconnected(), disconnected()]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        (m,), tangent = outputs, tangents[0]
        if is_disconnected(tangent):
            return [disconnected()]
        both = product("ij,jk->ik", product("ij,jk->ik", m, tangent), m)
        trace = _inner(matrix_transpose(m), tangent)
        return [_scaled(1 / Determinant()(*inputs), _scaled(trace, m) - both)]

    def lower(self, b: TensorBuilder, a: Tensor, factors: Tensor, exchanges: Tensor) -> Tensor:
        results = [(factors.dtype, factors.extents)]
        return b.lapack("lu_adjugate", [factors, exchanges], results, nan_on_failure=True)[0]


@dataclass(frozen=True)
class SignLogDeterminant(FactoredOp):
    """A, its factors → sign and logarithm of |det A|; (0, −inf) where A is singular.   (…, n, n) → (…), (…)"""

    name: ClassVar[str] = "slogdet"

    def infer_type(self, a: TensorType, factors: TensorType, exchanges: TensorType) -> tuple[TensorType, TensorType]:
        kind = TensorType(factors.dtype, factors.shape[:-2])
        return kind, kind

    def reference(self, a: Array, factors: Array, exchanges: Array) -> tuple[Array, Array]:
        pivots = _signed_pivots(factors, exchanges)
        with np.errstate(all="ignore"):
            logarithm = np.sum(np.log(np.abs(pivots)), axis=-1, dtype=np.float64)
        return np.asarray(np.prod(np.sign(pivots), axis=-1)), np.asarray(logarithm)

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        _, ct = cotangents
        if is_disconnected(ct):
            return [zero_gradient(inputs[0]), disconnected(), disconnected()]
        return [_scaled(ct, matrix_transpose(LuInverse()(*inputs))), disconnected(), disconnected()]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        if is_disconnected(tangents[0]):
            return [disconnected(), disconnected()]
        return [zero_gradient(outputs[0]), _inner(matrix_transpose(LuInverse()(*inputs)), tangents[0])]

    def lower(self, b: TensorBuilder, a: Tensor, factors: Tensor, exchanges: Tensor) -> tuple[Tensor, Tensor]:
        axis = len(exchanges.extents) - 1
        dtype = factors.dtype

        def sign(v: ScalarVerbs, pivot: Any) -> Scalar:
            zero, one = v.constant(0, dtype), v.constant(1, dtype)
            size = v.select(v.compare("lt", pivot, zero), v.constant(-1, dtype), v.select(v.is_nan(pivot), pivot, one))
            return v.select(v.compare("eq", pivot, zero), zero, size)

        signs = _lowered_pivots(b, factors, exchanges, sign)
        logarithms = _lowered_pivots(b, factors, exchanges, lambda v, pivot: v.math("log", v.abs(pivot)))
        total = b.reduce("add", logarithms, [axis], "float64")
        return b.reduce("mul", signs, [axis]), b.cast(total, dtype)


@public
def det(x: Any) -> Variable:
    """Determinants; 1 for a matrix without rows.   (…, n, n) → (…), floating

    The slopes are the cofactors, which are finite for singular matrices; second derivatives need a regular one.

    Raises: GraphTypeError below rank 2, GraphValueError if x is not square (at run time where that is not known).
    """
    x = floating_matrix("det", x)
    return Determinant()(x, *ColumnLu("ignore").apply(x).outputs)  # type: ignore[no-any-return]


@public
def slogdet(x: Any) -> tuple[Variable, Variable]:
    """(sign, log |det x|), (0, −inf) for singular matrices; the sign has slope 0.   (…, n, n) → (…), (…)

    Raises: GraphTypeError below rank 2, GraphValueError if x is not square (at run time where that is not known).
    """
    x = floating_matrix("slogdet", x)
    sign, logarithm = SignLogDeterminant().apply(x, *ColumnLu("ignore").apply(x).outputs).outputs
    return sign, logarithm
