"""Determinants, and their logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core.builders import Extent, Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, broadcast_shapes
from aotensor.graph.coercion import coerced
from aotensor.graph.op import connected, disconnected, sum_terms
from aotensor.graph.operations import sweeps
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.batching import RepeatingOp
from aotensor.ops.contract import matmul
from aotensor.ops.diagonal import diagonal
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.elementwise.base import unbroadcast
from aotensor.ops.elementwise.compare import eq, or_, rint, switch
from aotensor.ops.linalg.general.determinant import ComplexDeterminant, ComplexSlogdet
from aotensor.ops.linalg.lapack import is_complex
from aotensor.ops.linalg.lu import ColumnLu, FactoredOp
from aotensor.ops.linalg.matrices import floating_matrix, per_matrix
from aotensor.ops.linalg.solve import LuInverse
from aotensor.ops.linalg.svd import Svd
from aotensor.ops.linear import zero_gradient
from aotensor.ops.products import matvec
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.sums import prod
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import dimshuffle, expand_dims, matrix_transpose
from aotensor.ops.shape.extents import extent_of


def _signed_pivots(factors: Array, exchanges: Array) -> Array:
    """The pivots, negated where columns were exchanged: their product is the determinant."""
    pivots = np.diagonal(factors, 0, -2, -1)
    return np.where(exchanges == np.arange(exchanges.shape[-1]) + 1, pivots, -pivots)


def _lowered_pivots(b: TensorBuilder, factors: Tensor, exchanges: Tensor, part: Any = None) -> Tensor:
    """The pivots in tensor IR, negated where columns were exchanged; or `part`(builder, pivot) of each pivot."""

    def pivot(v: ScalarBuilder, *at: Scalar) -> Scalar:
        k: Extent = at[-1]
        value = v.load(factors, *at, k)
        position = v.cast(v.load(exchanges, *at), "index")
        signed = v.select(v.compare("eq", position, v.index(k + 1)), value, -value)
        return signed if part is None else part(v, signed)

    return b.tabulate(exchanges.extents, factors.dtype, pivot)


def _scaled(factor: Variable, matrix: Variable) -> Variable:
    """A batch of matrices, each multiplied by its own scalar.   (…), (…, n, n) → (…, n, n)"""
    return dimshuffle(factor, [*range(factor.ndim), None, None]) * matrix


def _inner(x: Variable, y: Variable) -> Variable:
    """Σ x·y over the elements of each matrix.   (…, n, n), (…, n, n) → (…)"""
    return sum_over(x * y, axis=(-2, -1))


@frozen_dataclass
class Determinant(FactoredOp):
    """A, its factors → det A.   (…, n, n) → (…)   ddet = ⟨adj(A)ᵀ, dA⟩, also where A is singular."""

    name: ClassVar[str] = "det"

    def infer_type(self, a: TensorType, factors: TensorType, exchanges: TensorType) -> TensorType:
        return TensorType(factors.dtype, factors.shape[:-2])

    def reference(self, a: Array, factors: Array, exchanges: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.prod(_signed_pivots(factors, exchanges), axis=-1))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        cofactors = matrix_transpose(Adjugate()(*inputs))
        return [_scaled(cotangents[0], cofactors), disconnected(), disconnected()]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [_inner(matrix_transpose(Adjugate()(*inputs)), tangents[0])]

    def lower(self, b: TensorBuilder, a: Tensor, factors: Tensor, exchanges: Tensor) -> Tensor:
        pivots = _lowered_pivots(b, factors, exchanges)
        return b.reduce("mul", pivots, [len(pivots.extents) - 1])


@frozen_dataclass
class Adjugate(FactoredOp):
    """A, its factors → M = det(A)·A⁻¹, the transposed cofactors, to rounding errors of A also where A is singular."""

    name: ClassVar[str] = "adjugate"
    notation: ClassVar[str] = "grad(det({0}))"

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

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        term = matrix_transpose(AdjugateTangent()(inputs[0], matrix_transpose(cotangents[0])))
        return [term, disconnected(), disconnected()]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [AdjugateTangent()(inputs[0], tangents[0])]

    def lower(self, b: TensorBuilder, a: Tensor, factors: Tensor, exchanges: Tensor) -> Tensor:
        results = [(factors.dtype, factors.extents)]
        return b.lapack("lu_adjugate", [factors, exchanges], results, nan_on_failure=True)[0]


@frozen_dataclass
class AdjugateTangent(RepeatingOp):
    """A, X → the derivative of adj A along X, also where A is singular.   (…, n, n), (…, n, n) → (…, n, n)

    With A = U·S·Vᵀ, E = UᵀXV and P_ij the product of all singular values but the i-th and the j-th, 0 for i = j:
    det(U·Vᵀ)·V·(diag(P·diag E) − P⊙E)·Uᵀ. Linear in X, and tr(Y·adj′[X]) = tr(X·adj′[Y]).
    With respect to A: from (tr(M·X)·M − M·X·M)/det A, M = adj A; that needs a regular matrix, and gives nan for others.
    """

    name: ClassVar[str] = "adjugate_tangent"
    notation: ClassVar[str] = "grad(det({0}))"

    def infer_type(self, a: TensorType, x: TensorType) -> TensorType:
        return TensorType(a.dtype, broadcast_shapes([a.shape, x.shape]))

    def reference(self, a: Array, x: Array) -> Array:
        both = np.broadcast_shapes(a.shape, x.shape)
        matrices = [np.broadcast_to(m, both) for m in (a, x)]
        return per_matrix(self._tangent, matrices, [np.empty(both, a.dtype)])  # type: ignore[no-any-return]

    def _tangent(self, a: Array, x: Array) -> Any:
        if not np.all(np.isfinite(a)):
            return np.nan
        left, values, right = np.linalg.svd(a)
        inner, n = left.T @ x @ right.T, len(values)
        others = np.ones((n, n))
        for k in range(n):
            others *= np.where((np.arange(n) == k)[:, None] | (np.arange(n) == k), 1, values[k])
        np.fill_diagonal(others, 0)
        middle = np.diag(others @ np.diagonal(inner)) - others * inner
        return np.round(np.linalg.det(left @ right)) * right.T @ middle @ left.T

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        a, x = inputs
        left, values, right = Svd(full_matrices=False)(a)
        transposed = matrix_transpose(left), matrix_transpose(right)
        inner = matmul(matmul(transposed[0], x), transposed[1])
        numbers = arange(extent_of(values, -1))
        is_diagonal = eq(expand_dims(numbers, 1), expand_dims(numbers, 0))
        is_left_out = or_(eq(expand_dims(numbers, [1, 2]), numbers), eq(expand_dims(numbers, 1), numbers))
        products = prod(switch(is_left_out, 1, expand_dims(values, [-3, -2])), axis=-1)
        others = switch(is_diagonal, 0, products)
        trace = matvec(others, diagonal(inner, 0, -2, -1))
        middle = switch(is_diagonal, expand_dims(trace, -1), 0) - others * inner
        sign = rint(det(matmul(left, right)))
        return [_scaled(sign, matmul(matmul(transposed[1], middle), transposed[0]))]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (a, x), (ct,) = inputs, cotangents
        for_x = matrix_transpose(self(a, matrix_transpose(ct)))
        for_a, _ = sweeps.pulled_terms([_regular_tangent(a, x)], [a, x], [ct])
        return [unbroadcast(term, y) for term, y in ((for_a, a), (for_x, x))]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (a, x), moving = inputs, connected(tangents)
        terms = [self(a, moving[1])] if 1 in moving else []
        if 0 in moving:
            terms += sweeps.pushed_terms([_regular_tangent(a, x)], inputs, [moving[0], disconnected()])
        return [sum_terms(terms, add)]


def _regular_tangent(a: Variable, x: Variable) -> Variable:
    """The derivative of adj A along X for a regular A."""
    factors = ColumnLu("ignore").apply(a).outputs
    m = Adjugate()(a, *factors)
    both = matmul(matmul(m, x), m)
    return _scaled(1 / Determinant()(a, *factors), _scaled(_inner(matrix_transpose(m), x), m) - both)


@frozen_dataclass
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

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        ct = connected(cotangents).get(1)
        term = zero_gradient(inputs[0]) if ct is None else _scaled(ct, matrix_transpose(LuInverse()(*inputs)))
        return [term, disconnected(), disconnected()]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [zero_gradient(outputs[0]), _inner(matrix_transpose(LuInverse()(*inputs)), tangents[0])]

    def lower(self, b: TensorBuilder, a: Tensor, factors: Tensor, exchanges: Tensor) -> tuple[Tensor, Tensor]:
        axis = len(exchanges.extents) - 1
        dtype = factors.dtype

        def sign(v: ScalarBuilder, pivot: Any) -> Scalar:
            zero, one = v.constant(0, dtype), v.constant(1, dtype)
            size = v.select(pivot < zero, v.constant(-1, dtype), v.select(v.is_nan(pivot), pivot, one))
            return v.select(v.compare("eq", pivot, zero), zero, size)

        signs = _lowered_pivots(b, factors, exchanges, sign)
        logarithms = _lowered_pivots(b, factors, exchanges, lambda v, pivot: v.math("log", v.abs(pivot)))
        total = b.reduce("add", logarithms, [axis], "float64")
        return b.reduce("mul", signs, [axis]), b.cast(total, dtype)


@public(numpy="linalg.det")
@coerced
def det(x: Any) -> Variable:
    """Determinants; 1 for a matrix without rows.   (…, n, n) → (…), floating

    The derivatives are the cofactors; these and second derivatives are finite for singular matrices, third ones nan; of
    complex matrices second ones are nan there.

    Raises: GraphTypeError below rank 2, GraphValueError if x is not square (at run time where that is not known).
    """
    x = floating_matrix("det", x)
    if is_complex(x):
        return ComplexDeterminant()(x)  # type: ignore[no-any-return]
    return Determinant()(x, *ColumnLu("ignore").apply(x).outputs)  # type: ignore[no-any-return]


@public(numpy="linalg.slogdet")
@coerced
def slogdet(x: Any) -> tuple[Variable, Variable]:
    """(sign, log |det x|), (0, −inf) for singular matrices.   (…, n, n) → (…), (…)

    The sign of a real determinant has derivative 0; that of a complex one is a complex number of size 1.

    Raises: GraphTypeError below rank 2, GraphValueError if x is not square (at run time where that is not known).
    """
    x = floating_matrix("slogdet", x)
    if is_complex(x):
        sign, logarithm = ComplexSlogdet().apply(x).outputs
        return sign, logarithm
    sign, logarithm = SignLogDeterminant().apply(x, *ColumnLu("ignore").apply(x).outputs).outputs
    return sign, logarithm
