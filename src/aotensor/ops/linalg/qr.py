"""The factorisation into an orthogonal and an upper triangular matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.types import Array, TensorType
from aotensor.graph.coercion import coerced, one_of
from aotensor.graph.op import disconnected, is_disconnected, null_gradient, sum_terms
from aotensor.graph.variable import Variable
from aotensor.ops.batching import TrailingOp
from aotensor.ops.contract import matmul
from aotensor.ops.create import zeros_like
from aotensor.ops.diagonal import tril
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.index import subtensor
from aotensor.ops.linalg.matrices import floating
from aotensor.ops.linalg.shapes import is_at_least, matrix_type, smaller
from aotensor.ops.linalg.triangular import SolveTriangular
from aotensor.ops.shape.axes import matrix_transpose
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import concatenate

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

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        (x,), (q, r), (ct_q, ct_r) = inputs, outputs, cotangents
        if not self.is_complete:
            return [_adjoint(x, q, r, ct_q, ct_r)]
        if not is_disconnected(ct_q):
            return [null_gradient(self, 0, x, "not implemented", _COMPLETE)]
        return [_adjoint(x, _thin(x, q), _upper_rows(x, r), ct_q, _upper_rows(x, ct_r))]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        (x,), (q, r), (tx,) = inputs, outputs, tangents
        if is_disconnected(tx):
            return [disconnected(), disconnected()]
        if not self.is_complete:
            return list(_tangents(x, q, r, tx))
        null = null_gradient(self, 0, x, "not implemented", _COMPLETE)
        _, t_r = _tangents(x, _thin(x, q), _upper_rows(x, r), tx)
        rest = subtensor(r, (..., slice(extent_of(x, -1), None), slice(None)))
        return [null, concatenate([t_r, zeros_like(rest)], axis=-2)]

    def lower(self, b: TensorBuilder, x: Tensor) -> tuple[Tensor, Tensor]:
        *batch, rows, columns = x.extents
        k = rows if self.is_complete else b.scalars.imin(rows, columns)
        results = [(x.dtype, [*batch, rows, k]), (x.dtype, [*batch, k, columns])]
        q, r = b.lapack("complete_qr" if self.is_complete else "qr", [x], results)
        return q, r


def _thin(x: Variable, q: Variable) -> Variable:
    """The columns of q that the reduced factors have; slices are clipped, so there are no more than x has rows."""
    return subtensor(q, (..., slice(None, extent_of(x, -1))))


def _upper_rows(x: Variable, r: Variable) -> Variable:
    """The rows of r that the reduced factors have."""
    return subtensor(r, (..., slice(None, extent_of(x, -1)), slice(None)))


def _divided(r: Variable, x: Variable, by_transposed: bool) -> Variable:
    """x·r⁻¹, or x·r⁻ᵀ"""
    return SolveTriangular(False, by_transposed, is_left=False, on_error="nan")(r, x)  # type: ignore[no-any-return]


def _is_tall(x: Variable) -> bool:
    """True if there are known to be no more columns than rows."""
    return is_at_least(*x.tensor_type.shape[-2:])


def _split(x: Variable, k: Any) -> tuple[Variable, Variable]:
    """The first k columns, and the others."""
    return subtensor(x, (..., slice(None, k))), subtensor(x, (..., slice(k, None)))


def _adjoint(x: Variable, q: Variable, r: Variable, ct_q: Variable, ct_r: Variable) -> Variable:
    """x̄ = (Q̄ + Q·copyltu(M))·R⁻ᵀ, M = R·R̄ᵀ − Q̄ᵀ·Q, where copyltu mirrors the lower triangle.

    Where x has more columns than rows, that holds for the square part in front, of which the others follow:
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


def _tangents(x: Variable, q: Variable, r: Variable, tx: Variable) -> tuple[Variable, Variable]:
    """(Q̇, Ṙ): C = Qᵀ·Ẋ·R⁻¹, Ω = tril(C, −1) − tril(C, −1)ᵀ, Ṙ = (C − Ω)·R, Q̇ = Ẋ·R⁻¹ − Q·(C − Ω)."""
    k = extent_of(r, -2)
    front, t_front = (r, tx) if _is_tall(x) else (_split(r, k)[0], _split(tx, k)[0])
    moved = _divided(front, t_front, by_transposed=False)
    inner = matmul(matrix_transpose(q), moved)
    below = tril(inner, -1)
    upper = inner - below + matrix_transpose(below)
    t_q, t_r = moved - matmul(q, upper), matmul(upper, front)
    if _is_tall(x):
        return t_q, t_r
    others = matmul(matrix_transpose(t_q), _split(x, k)[1]) + matmul(matrix_transpose(q), _split(tx, k)[1])
    return t_q, concatenate([t_r, others], axis=-1)


_MODES: Final = {"reduced": "reduced", "economic": "reduced", "complete": "complete", "full": "complete", "r": "r"}


@coerced
def qr(a: Any, mode: str = "reduced") -> Any:
    """[q, r] with a = q·r, q orthogonal, r upper triangular with the signs of LAPACK.   k = min(m, n)

    mode: "reduced" or "economic" gives (…, m, k), (…, k, n); "complete" or "full" (…, m, m), (…, m, n); "r" only
    (…, k, n). Derivatives hold at full rank, and are nan below; q has none where it is completed with further columns.

    Raises: GraphTypeError below rank 2, GraphValueError for another mode.
    """
    a = floating(a)
    if _MODES[one_of("qr: mode", mode, _MODES)] == "r":
        return Qr(is_complete=False)(a)[1]
    has_no_more_rows = a.ndim > 1 and is_at_least(*a.tensor_type.shape[:-3:-1])
    return Qr(_MODES[mode] == "complete" and not has_no_more_rows)(a)
