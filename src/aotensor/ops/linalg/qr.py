"""The factorisation into an orthogonal and an upper triangular matrix."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.op import Apply, disconnected, null_gradient
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.batching import TrailingOp
from aotensor.ops.complex.parts import complex as complex_of_parts
from aotensor.ops.complex.parts import imag
from aotensor.ops.contract import matmul
from aotensor.ops.create import zeros_like
from aotensor.ops.diagonal import tril, triu
from aotensor.ops.index import subtensor
from aotensor.ops.linalg.lapack import Lapack, MatrixOp, adjoint, is_complex, lapack
from aotensor.ops.linalg.matrices import floating, per_matrix, scipy_linalg
from aotensor.ops.linalg.shapes import is_at_least, matrix_type, smaller
from aotensor.ops.linalg.triangular import SolveTriangular, solve_triangular
from aotensor.ops.linear import LinearisedOp
from aotensor.ops.shape.axes import expand_dims, matrix_transpose
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.take import take_along_axis
from aotensor.ops.updates import set_subtensor

_COMPLETE: Final = "q has a derivative in the mode 'reduced', or where there are known to be no more rows than columns"


@frozen_dataclass
class Qr(TrailingOp, LinearisedOp):
    """x → (q, r): x = q·r, qᴴ·q = 1, r upper triangular with a real diagonal, signs as in LAPACK.   k = min(m, n)

    (…, m, n) → (…, m, k), (…, k, n), or (…, m, m), (…, m, n) if `is_complete`.
    Source: Walter & Lehmann, Algorithmic differentiation of linear algebra functions (2010).
    """

    name: ClassVar[str] = "qr"
    takes_complex: ClassVar[bool] = True
    is_complete: bool

    def infer_type(self, x: TensorType) -> tuple[TensorType, TensorType]:
        *batch, rows, columns = matrix_type(x.with_dtype(dtypes.part_of(x.dtype))).shape
        k = rows if self.is_complete else smaller(rows, columns)
        return TensorType(x.dtype, (*batch, rows, k)), TensorType(x.dtype, (*batch, k, columns))

    @property
    def _kind(self) -> str:
        return "complete_qr" if self.is_complete else "qr"

    def reference(self, x: Array) -> tuple[Array, Array]:
        q, r = np.linalg.qr(x, mode="complete" if self.is_complete else "reduced")
        return q, r

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (q, r), (tx,) = inputs, outputs, tangents
        if not self.is_complete:
            return list(moved_factors(x, q, r, tx))
        null = null_gradient(self, 0, x, "not implemented", _COMPLETE)
        reduced_q, reduced_r = Qr(is_complete=False)(x)  # this q has derivatives, too
        _, t_r = moved_factors(x, reduced_q, reduced_r, tx)
        return [null, set_subtensor(zeros_like(r)[..., : extent_of(x, -1), :], t_r)]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        """The outputs for a complex x."""
        return lapack(self._kind, inputs, fails=False) if is_complex(*inputs) else None

    def lower(self, b: TensorBuilder, x: Tensor) -> tuple[Tensor, ...]:
        return Lapack(self._kind, fails=False).lower(b, x)


def _divided(x: Variable, r: Variable) -> Variable:
    """x·r⁻¹ for an upper triangular r."""
    if is_complex(r):
        return matrix_transpose(solve_triangular(r, matrix_transpose(x), trans=1, b_ndim=2, on_error="nan"))
    return SolveTriangular(False, is_left=False, on_error="nan")(r, x)  # type: ignore[no-any-return]


def _is_tall(x: Variable) -> bool:
    """Is the number of columns provably at most the number of rows?"""
    return is_at_least(*x.tensor_type.shape[-2:])


def moved_factors(x: Variable, q: Variable, r: Variable, tx: Variable) -> tuple[Variable, Variable]:
    """(Q̇, Ṙ): C = Qᴴ·Ẋ·R⁻¹, Ω = tril(C, −1) − tril(C, −1)ᴴ + i·Im diag C, Ṙ = (C − Ω)·R, Q̇ = Ẋ·R⁻¹ − Q·(C − Ω).

    The diagonal of R is real. Where x has more columns than rows, C is that of its leading square part, which
    determines Q, and Ṙ = Qᴴ·Ẋ − Ω·R.
    """
    front, t_front = (r, tx) if _is_tall(x) else (subtensor(m, (..., slice(None, extent_of(r, -2)))) for m in (r, tx))
    moved = _divided(t_front, front)
    inner = matmul(adjoint(q), moved)
    below = tril(inner, -1)
    turn = below - adjoint(below)
    if is_complex(inner):
        turn = turn + complex_of_parts(0 * imag(inner), triu(tril(imag(inner))))
    upper = inner - turn
    t_q = moved - matmul(q, upper)
    return t_q, matmul(upper, front) if _is_tall(x) else triu(matmul(adjoint(q), tx) - matmul(turn, r))


@frozen_dataclass
class PivotedQr(MatrixOp, LinearisedOp):
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

    def _permute_columns(self, x: Variable, p: Variable) -> Variable:
        return take_along_axis(x, expand_dims(p, -2), -1)

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (q, r, p), (tx,) = inputs, outputs, tangents
        pushed = Qr(self.is_complete).pushforward([self._permute_columns(x, p)], [q, r], [self._permute_columns(tx, p)])
        return [*pushed, disconnected()]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return lapack("pivoted_qr", inputs, is_complete=self.is_complete)


_MODES: Final = {"reduced": "reduced", "economic": "reduced", "complete": "complete", "full": "complete", "r": "r"}


@public(numpy="linalg.qr")
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
    is_complete = _MODES[check_choice("qr: mode", mode, _MODES)] == "complete" and not has_no_more_rows
    found = (PivotedQr(is_complete) if pivoting else Qr(is_complete))(a)
    if _MODES[mode] == "r":
        return found[1:] if pivoting else found[1]
    return found
