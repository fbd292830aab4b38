"""Lyapunov and Riccati equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphLinAlgError, GraphTypeError, GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.op import connected, sum_terms
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.complex.parts import conj
from aotensor.ops.contract import matmul
from aotensor.ops.create import zeros_like
from aotensor.ops.diagonal import eye
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.linalg.general.schur import Sylvester
from aotensor.ops.linalg.lapack import MatrixOp, adjoint, is_complex, lapack
from aotensor.ops.linalg.matrices import (
    both_floating,
    common_batch,
    common_dim,
    floating_matrix,
    per_matrix,
    scipy_linalg,
    square_dim,
    with_common_batch,
)
from aotensor.ops.linalg.qr import Qr
from aotensor.ops.linalg.shapes import as_square
from aotensor.ops.linalg.solve import inv, solve
from aotensor.ops.linear import LinearisedOp
from aotensor.ops.shape.axes import expand_dims, matrix_transpose
from aotensor.ops.shape.extents import extent_of, extents_of, product
from aotensor.ops.shape.join import concatenate
from aotensor.ops.shape.reshape import reshape

_DIRECT: Final = 10
"""Rows below which a discrete equation is solved as n² linear ones, as in SciPy."""
_ROWS: Final = "extents of the matrices of the equation"
_UNSTABLE: Final = "there is no stabilising solution"


def _common_square_matrices(name: str, *xs: Any) -> list[Variable]:
    """Convert operands to square matrices of one dtype and batch.   Raises: GraphValueError for sizes that differ"""
    found = both_floating(*(floating_matrix(name, x) for x in xs))
    try:
        common_dim(_ROWS, *(n for x in found for n in x.tensor_type.shape[-2:]))
    except GraphValueError as error:
        raise GraphValueError(f"{name}: {error}", lines=[x.describe() for x in found]) from error
    return with_common_batch(*((as_square(name, x), 2) for x in found))


@coerced
def solve_continuous_lyapunov(a: Any, q: Any) -> Variable:
    """x with a·x + x·aᴴ = q, by the Schur form of a.   (…, n, n), (…, n, n) → (…, n, n)

    The solution is unique if no eigenvalue of a is the negative conjugate of another; else it is huge, as in
    SciPy.

    Raises: GraphTypeError below rank 2, GraphValueError for extents that differ (at run time where they are not known).
    """
    a, q = _common_square_matrices("solve_continuous_lyapunov", a, q)
    return Sylvester(False, True)(a, a, q)  # type: ignore[no-any-return]


@coerced
def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Variable:
    """x with a·x·aᴴ − x + q = 0.   (…, n, n), (…, n, n) → (…, n, n)

    method: "direct" solves n² linear equations, "bilinear" a continuous equation, for which −1 must be no eigenvalue of
    a; None is direct where fewer than ten rows are known.

    Raises: GraphTypeError below rank 2, GraphValueError for extents that differ (at run time where they are not known)
    or another method; LinAlgError at run time where the solution is not unique.
    """
    name = "solve_discrete_lyapunov"
    check_choice(f"{name}: method", method, (None, "direct", "bilinear"))
    a, q = _common_square_matrices(name, a, q)
    rows = a.static_shape[-1]
    if method == "direct" or (method is None and rows is not None and rows < _DIRECT):
        return _direct(a, q)
    one = eye(extent_of(a, -1), dtype=dtypes.part_of(a.dtype) if is_complex(a) else a.dtype)
    ah = adjoint(a)
    right = inv(ah + one)
    b = matmul(ah - one, right)
    c = 2 * matmul(solve(a + one, q), right)
    bh = adjoint(b)
    return Sylvester(False, True)(bh, bh, -c)  # type: ignore[no-any-return]


def _direct(a: Variable, q: Variable) -> Variable:
    """(1 − a⊗ā)·vec x = vec q, row by row."""
    *batch, n, _ = extents_of(a)
    square = product([n, n])
    pairs = expand_dims(a, [-3, -1]) * expand_dims(conj(a), [-4, -2])  # (…, n, n, n, n)
    one = eye(square, dtype=dtypes.part_of(a.dtype) if is_complex(a) else a.dtype)
    system = one - reshape(pairs, [*batch, square, square])
    return reshape(solve(system, reshape(q, [*batch, square]), b_ndim=1), [*batch, n, n])


@frozen_dataclass
class Riccati(MatrixOp, LinearisedOp):
    """a, b, q, r → the stabilising x of aᵀxa − x − aᵀxb·(r + bᵀxb)⁻¹·bᵀxa + q = 0.   (…, n, n), (…, n, m), …

    By the stable subspace of the extended pencil. Source: Arnold & Laub, Generalized eigenproblem algorithms and
    software for algebraic Riccati equations (1984). With the gain k = (r + bᵀxb)⁻¹·bᵀxa and c = a − b·k, derivatives
    solve ẋ − cᵀ·ẋ·c = ȧᵀxc + cᵀxȧ − cᵀxḃk − kᵀḃᵀxc + q̇ + kᵀṙk. Source: Kao & Hennequin, Automatic differentiation of
    Sylvester, Lyapunov, and algebraic Riccati equations (2020). Only the symmetric parts of q and r are used.
    """

    name: ClassVar[str] = "solve_discrete_are"

    def infer_type(self, a: TensorType, b: TensorType, q: TensorType, r: TensorType) -> TensorType:
        for x in (a, b, q, r):
            if dtypes.is_complex(x.dtype):
                raise GraphTypeError(f"does not accept complex values, not {x}")
        batch = common_batch(*(x.shape[:-2] for x in (a, b, q, r)))
        n = common_dim(_ROWS, square_dim(a), square_dim(q), b.shape[-2])
        common_dim(_ROWS, square_dim(r), b.shape[-1])
        return TensorType(dtypes.promote(*(x.dtype for x in (a, b, q, r))), (*batch, n, n))

    def reference(self, a: Array, b: Array, q: Array, r: Array) -> Array:
        return per_matrix(self._solved, [a, b, q, r], [np.empty_like(a)])  # type: ignore[no-any-return]

    def _solved(self, a: Array, b: Array, q: Array, r: Array) -> Any:
        if not a.size:
            return a
        if not all(np.isfinite(x).all() for x in (a, b, q, r)):
            return np.nan
        try:
            return scipy_linalg().solve_discrete_are(a, b, (q + q.T) / 2, (r + r.T) / 2)
        except np.linalg.LinAlgError as error:
            raise GraphLinAlgError(f"{self.name}: {_UNSTABLE}") from error

    def _gain(self, a: Variable, b: Variable, r: Variable, x: Variable) -> tuple[Variable, Variable]:
        """(k, c): the gain (r + bᵀxb)⁻¹·bᵀxa of a solution x, and the closed loop a − b·k"""
        bt = matrix_transpose(b)
        k = solve(r + matmul(matmul(bt, x), b), matmul(matmul(bt, x), a), on_error="nan")
        return k, a - matmul(b, k)

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (a, b, _, r), (x,) = inputs, outputs
        gain, c = self._gain(a, b, r, x)
        left = matmul(matrix_transpose(c), x)
        halves: list[Callable[[Variable], Variable]] = [
            lambda ta: matmul(left, ta),
            lambda tb: -matmul(matmul(left, tb), gain),
            lambda tq: tq / 2,
            lambda tr: matmul(matmul(matrix_transpose(gain), tr / 2), gain),
        ]
        half = sum_terms([halves[k](t) for k, t in connected(tangents).items()], add)
        return [solve_discrete_lyapunov(matrix_transpose(c), half + matrix_transpose(half))]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        a, b, q, r = inputs
        q, r = (q + matrix_transpose(q)) / 2, (r + matrix_transpose(r)) / 2
        n, m = extent_of(a, -1), extent_of(b, -1)
        one = eye(n, dtype=a.dtype) + zeros_like(a)
        zero, beside, below = zeros_like(a), zeros_like(b), zeros_like(matrix_transpose(b))
        at, bt = matrix_transpose(a), matrix_transpose(b)
        h = _blocks([[a, zero, b], [-q, one, beside], [below, below, r]])
        j = _blocks([[one, zero, beside], [zero, at, beside], [below, -bt, zeros_like(r)]])
        # the orthogonal complement of the control's columns leaves a pencil of 2·n rows
        q_full = Qr(is_complete=True)(h[..., 2 * n :])[0]
        rest = matrix_transpose(q_full[..., m:])
        (u,) = lapack("stable_subspace", [matmul(rest, x[..., : 2 * n]) for x in (h, j)], _UNSTABLE)
        first, second = (matrix_transpose(half) for half in (u[..., :n, :], u[..., n:, :]))
        x = solve(first, second, on_error="nan")  # x = U₂·U₁⁻¹ is (U₁ᵀ)⁻¹·U₂ᵀ transposed
        return [(x + matrix_transpose(x)) / 2]


def _blocks(rows: Sequence[Sequence[Variable]]) -> Variable:
    return concatenate([concatenate(list(row), axis=-1) for row in rows], axis=-2)


@coerced
def solve_discrete_are(a: Any, b: Any, q: Any, r: Any) -> Variable:
    """The stabilising x of the discrete Riccati equation aᵀxa − x − aᵀxb·(r + bᵀxb)⁻¹·bᵀxa + q = 0.

    a: (…, n, n), b: (…, n, m), q: (…, n, n), r: (…, m, m) → (…, n, n), symmetric. Only symmetric parts of q and r are
    used.

    Raises: GraphTypeError below rank 2 and for complex values, GraphValueError for extents that differ (at run time
    where they are not known); LinAlgError at run time where no solution is stabilising.
    """
    name = "solve_discrete_are"
    a, b, q, r = both_floating(*(floating_matrix(name, x) for x in (a, b, q, r)))
    pairs = [(as_square(name, a), 2), (b, 2), (as_square(name, q), 2), (as_square(name, r), 2)]
    return Riccati()(*with_common_batch(*pairs))  # type: ignore[no-any-return]
