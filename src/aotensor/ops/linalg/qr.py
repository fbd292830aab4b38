"""The factorisation into an orthogonal and an upper triangular matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.types import Array, TensorType
from aotensor.graph.coercion import coerced, one_of
from aotensor.graph.op import Apply, disconnected, is_disconnected, is_null, null_gradient, sum_terms
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.batching import TrailingOp
from aotensor.ops.complex.parts import complex as complex_of_parts
from aotensor.ops.complex.parts import imag
from aotensor.ops.contract import matmul
from aotensor.ops.create import zeros_like
from aotensor.ops.diagonal import tril, triu
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.index import subtensor
from aotensor.ops.linalg.lapack import Linearised, MatrixOp, adjoint, from_lapack, is_complex, lapack, to_lapack
from aotensor.ops.linalg.matrices import floating, per_matrix, scipy_linalg
from aotensor.ops.linalg.shapes import is_at_least, matrix_type, smaller
from aotensor.ops.linalg.triangular import SolveTriangular, solve_triangular
from aotensor.ops.reduce.sort import argsort
from aotensor.ops.shape.axes import expand_dims, matrix_transpose
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import concatenate
from aotensor.ops.take import take_along_axis

_COMPLETE: Final = "q has a derivative in the mode 'reduced', or where there are known to be no more rows than columns"


@dataclass(frozen=True)
class Qr(TrailingOp):
    """x → (q, r): x = q·r, qᵀ·q = 1, r upper triangular, with the signs of LAPACK.   k = min(m, n)

    (…, m, n) → (…, m, k), (…, k, n), or (…, m, m), (…, m, n) if `is_complete`.
    Source: Walter & Lehmann, Algorithmic differentiation of linear algebra functions (2010).
    """

    name: ClassVar[str] = "qr"
    is_complete: bool

    def infer_type(self, x: TensorType) -> tuple[TensorType, TensorType]:
        *batch, rows, columns = matrix_type(x).shape
        k = rows if self.is_complete else smaller(rows, columns)
        return TensorType(x.dtype, (*batch, rows, k)), TensorType(x.dtype, (*batch, k, columns))

    def reference(self, x: Array) -> tuple[Array, Array]:
        q, r = np.linalg.qr(x, mode="complete" if self.is_complete else "reduced")
        return q, r

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (q, r), (ct_q, ct_r) = inputs, outputs, cotangents
        if not self.is_complete:
            return [_adjoint(x, q, r, ct_q, ct_r)]
        if not is_disconnected(ct_q):
            return [null_gradient(self, 0, x, "not implemented", _COMPLETE)]
        return [_adjoint(x, *_reduced(x), ct_q, _upper_rows(x, ct_r))]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (q, r), (tx,) = inputs, outputs, tangents
        if not self.is_complete:
            return list(moved_factors(x, q, r, tx))
        null = null_gradient(self, 0, x, "not implemented", _COMPLETE)
        _, t_r = moved_factors(x, *_reduced(x), tx)
        rest = subtensor(r, (..., slice(extent_of(x, -1), None), slice(None)))
        return [null, concatenate([t_r, zeros_like(rest)], axis=-2)]

    def lower(self, b: TensorBuilder, x: Tensor) -> tuple[Tensor, Tensor]:
        *batch, rows, columns = x.extents
        k = rows if self.is_complete else b.scalars.imin(rows, columns)
        results = [(x.dtype, [*batch, rows, k]), (x.dtype, [*batch, k, columns])]
        q, r = b.lapack("complete_qr" if self.is_complete else "qr", [x], results)
        return q, r


def _reduced(x: Variable) -> tuple[Variable, Variable]:
    """The reduced factors of x, whose q has derivatives, too."""
    q, r = (ComplexQr(is_complete=False, is_pivoted=False) if is_complex(x) else Qr(is_complete=False))(x)
    return q, r


def _upper_rows(x: Variable, r: Variable) -> Variable:
    """The rows of r in the reduced factors."""
    return subtensor(r, (..., slice(None, extent_of(x, -1)), slice(None)))


def _divided(r: Variable, x: Variable, by_transposed: bool) -> Variable:
    """x·r⁻¹, or x·r⁻ᵀ"""
    if is_complex(r):
        found = solve_triangular(r, matrix_transpose(x), trans=0 if by_transposed else 1, b_ndim=2, on_error="nan")
        return matrix_transpose(found)
    return SolveTriangular(False, by_transposed, is_left=False, on_error="nan")(r, x)  # type: ignore[no-any-return]


def _is_tall(x: Variable) -> bool:
    """Is the number of columns known to be at most that of rows?"""
    return is_at_least(*x.tensor_type.shape[-2:])


def _split(x: Variable, k: Any) -> tuple[Variable, Variable]:
    """The first k columns, and the others."""
    return subtensor(x, (..., slice(None, k))), subtensor(x, (..., slice(k, None)))


def _adjoint(x: Variable, q: Variable, r: Variable, ct_q: Variable, ct_r: Variable) -> Variable:
    """x̄ = (Q̄ + Q·copyltu(M))·R⁻ᵀ, M = R·R̄ᵀ − Q̄ᵀ·Q, where copyltu mirrors the lower triangle.

    Where x has more columns than rows, that holds for its leading square part, which determines the others:
    x = [X, Y], r = [U, V] with V = Qᵀ·Y, so that Ȳ = Q·V̄ and Y·V̄ᵀ adds to Q̄.
    """
    k = extent_of(r, -2)
    of_q = [] if is_disconnected(ct_q) else [ct_q]
    rest: Variable | None = None
    if not _is_tall(x):
        r = _split(r, k)[0]
        if not is_disconnected(ct_r):
            ct_r, ct_v = _split(ct_r, k)
            of_q.append(matmul(_split(x, k)[1], matrix_transpose(ct_v)))
            rest = matmul(q, ct_v)
    terms = [] if is_disconnected(ct_r) else [matmul(r, matrix_transpose(ct_r))]
    for_q = sum_terms(of_q, add)
    if of_q:
        terms.append(-matmul(matrix_transpose(for_q), q))
    inner = sum_terms(terms, add)
    mirrored = matmul(q, tril(inner) + matrix_transpose(tril(inner, -1)))
    front = _divided(r, sum_terms([mirrored, *of_q], add), by_transposed=True)
    if _is_tall(x):
        return front
    return concatenate([front, zeros_like(_split(x, k)[1]) if rest is None else rest], axis=-1)


def moved_factors(x: Variable, q: Variable, r: Variable, tx: Variable) -> tuple[Variable, Variable]:
    """(Q̇, Ṙ): C = Qᴴ·Ẋ·R⁻¹, Ω = tril(C, −1) − tril(C, −1)ᴴ + i·Im diag C, Ṙ = (C − Ω)·R, Q̇ = Ẋ·R⁻¹ − Q·(C − Ω).

    The diagonal of R is real.
    """
    k = extent_of(r, -2)
    front, t_front = (r, tx) if _is_tall(x) else (_split(r, k)[0], _split(tx, k)[0])
    moved = _divided(front, t_front, by_transposed=False)
    inner = matmul(adjoint(q), moved)
    below = tril(inner, -1)
    upper = inner - below + adjoint(below)
    if is_complex(inner):
        upper = upper - complex_of_parts(0 * imag(inner), triu(tril(imag(inner))))
    t_q, t_r = moved - matmul(q, upper), matmul(upper, front)
    if _is_tall(x):
        return t_q, t_r
    others = matmul(adjoint(t_q), _split(x, k)[1]) + matmul(adjoint(q), _split(tx, k)[1])
    return t_q, concatenate([t_r, others], axis=-1)


@dataclass(frozen=True)
class PivotedQr(MatrixOp):
    """x → (q, r, p): x[:, p] = q·r as in Qr, and the diagonal of r has descending magnitude.   k = min(m, n)

    (…, m, n) → (…, m, k), (…, k, n), (…, n) int32; (…, m, m), (…, m, n) if `is_complete`. p is constant for small
    changes of x: derivatives are those of the factors of x[:, p].
    """

    name: ClassVar[str] = "qr"
    is_complete: bool

    def infer_type(self, x: TensorType) -> tuple[TensorType, ...]:
        return (*Qr(self.is_complete).infer_type(x), TensorType("int32", (*x.shape[:-2], x.shape[-1])))

    def reference(self, x: Array) -> Any:
        *batch, m, n = x.shape
        k = m if self.is_complete else min(m, n)
        results = [
            np.empty((*batch, m, k), x.dtype),
            np.empty((*batch, k, n), x.dtype),
            np.empty((*batch, n), np.int32),
        ]
        mode = "full" if self.is_complete else "economic"
        return per_matrix(partial(scipy_linalg().qr, mode=mode, pivoting=True, check_finite=False), [x], results)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, True, False]]

    def _of_columns(self, x: Variable, p: Variable) -> Variable:
        return take_along_axis(x, expand_dims(p, -2), -1)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (q, r, p) = inputs, outputs
        (pulled,) = Qr(self.is_complete).pullback([self._of_columns(x, p)], [q, r], cotangents[:2])
        if is_null(pulled):
            return [pulled]
        return [self._of_columns(pulled, argsort(p, axis=-1))]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (q, r, p), (tx,) = inputs, outputs, tangents
        pushed = Qr(self.is_complete).pushforward([self._of_columns(x, p)], [q, r], [self._of_columns(tx, p)])
        return [*pushed, disconnected()]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return lapack("pivoted_qr", inputs, is_complete=self.is_complete)


@dataclass(frozen=True)
class ComplexQr(Linearised):
    """x → (q, r), or (q, r, p) if `is_pivoted`, of complex x: x[:, p] = q·r, qᴴ·q = 1, the diagonal of r real."""

    name: ClassVar[str] = "qr"
    is_complete: bool
    is_pivoted: bool

    def infer_type(self, x: TensorType) -> tuple[TensorType, ...]:
        real = PivotedQr(self.is_complete).infer_type(x.with_dtype(dtypes.part_of(x.dtype)))
        return (real[0].with_dtype(x.dtype), real[1].with_dtype(x.dtype), real[2])[: 2 + self.is_pivoted]

    def reference(self, x: Array) -> Any:
        if self.is_pivoted:
            return PivotedQr(self.is_complete).reference(x)
        q, r = np.linalg.qr(x, mode="complete" if self.is_complete else "reduced")
        return q, r

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, True, False][: 2 + self.is_pivoted]]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        if self.is_pivoted:
            rules = PivotedQr(self.is_complete)
            return rules.pushforward(inputs, outputs, tangents)
        return Qr(self.is_complete).pushforward(inputs, outputs, tangents)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        options = {"is_complete": self.is_complete, "is_pivoted": self.is_pivoted}
        q, r, *order = lapack("complex_qr", [to_lapack(inputs[0])], "", **options)
        return [from_lapack(q, True), from_lapack(r, True), *order]


_MODES: Final = {"reduced": "reduced", "economic": "reduced", "complete": "complete", "full": "complete", "r": "r"}


@coerced
def qr(a: Any, mode: str = "reduced", pivoting: bool = False) -> Any:
    """[q, r] with a = q·r, q orthogonal, r upper triangular with the signs of LAPACK.   k = min(m, n)

    mode: "reduced" or "economic" gives (…, m, k), (…, k, n); "complete" or "full" (…, m, m), (…, m, n); "r" only
    (…, k, n). Derivatives hold at full rank, and are nan below; the additional columns of a complete q have none.
    pivoting: [q, r, p], or [r, p], with a[:, p] = q·r, p int32 of (…, n), with a descending diagonal of r in magnitude.

    Raises: GraphTypeError below rank 2, GraphValueError for another mode.
    """
    a = floating(a)
    has_no_more_rows = a.ndim > 1 and is_at_least(*a.tensor_type.shape[:-3:-1])
    is_complete = _MODES[one_of("qr: mode", mode, _MODES)] == "complete" and not has_no_more_rows
    if is_complex(a):
        found = list(ComplexQr(is_complete, bool(pivoting)).apply(a).outputs)
    else:
        found = (PivotedQr(is_complete) if pivoting else Qr(is_complete))(a)
    if _MODES[mode] == "r":
        return found[1:] if pivoting else found[1]
    return found
