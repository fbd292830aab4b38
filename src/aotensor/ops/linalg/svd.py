"""Singular values and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.graph.coercion import coerced
from aotensor.graph.op import null_gradient
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.batching import TrailingOp
from aotensor.ops.complex.parts import complex as complex_of_parts
from aotensor.ops.complex.parts import conj, real
from aotensor.ops.contract import matmul
from aotensor.ops.elementwise.compare import eq, switch
from aotensor.ops.linalg.general.phases import phase_rate, phases
from aotensor.ops.linalg.lapack import Lapack, adjoint, is_complex, lapack
from aotensor.ops.linalg.matrices import floating
from aotensor.ops.linalg.shapes import converged, is_at_least, matrix_type, smaller
from aotensor.ops.linalg.signs import paired_phases
from aotensor.ops.linear import LinearisedOp
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import expand_dims
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import concatenate

FAILED: Final = "the singular values did not converge"
_FULL: Final = "singular vectors have derivatives where full_matrices=False, or where the matrix is known to be square"


@frozen_dataclass
class Svd(TrailingOp, LinearisedOp):
    """x → (u, s, vh): x = u·diag(s)·vh, s descending, phases of the columns of u as in `signs`.   k = min(m, n)

    (…, m, n) → (…, m, k), (…, k), (…, k, n), or u and vh square if `full_matrices`.
    Between equal singular values the common rotation of u and v is undefined and counts as 0; so do divisions by 0.
    """

    name: ClassVar[str] = "svd"
    takes_complex: ClassVar[bool] = True
    full_matrices: bool

    def infer_type(self, x: TensorType) -> tuple[TensorType, ...]:
        *batch, rows, columns = matrix_type(x.with_dtype(dtypes.part_of(x.dtype))).shape
        k = smaller(rows, columns)
        width, height = (rows, columns) if self.full_matrices else (k, k)
        values = TensorType(dtypes.part_of(x.dtype), (*batch, k))
        return TensorType(x.dtype, (*batch, rows, width)), values, TensorType(x.dtype, (*batch, height, columns))

    def reference(self, x: Array) -> tuple[Array, Array, Array]:
        svd = partial(np.linalg.svd, full_matrices=self.full_matrices)
        u, s, vh = converged(self.name, FAILED, svd, x)
        left, right = paired_phases(u, vh)
        return u * left[..., None, :], s, vh * right[..., :, None]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (tx,) = inputs, tangents
        if not self.full_matrices:
            return _svd_tangents(x, outputs, tx)
        u, _, vh = Svd(full_matrices=False)(x)  # has second derivatives
        null = null_gradient(self, 0, x, "not implemented", _FULL)
        return [null, real(sum_over(conj(u) * matmul(tx, adjoint(vh)), axis=-2)), null]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        """The outputs for a complex x."""
        if not is_complex(inputs[0]):
            return None
        u, s, vh = lapack("full_svd" if self.full_matrices else "svd", inputs, FAILED)
        left = right = phases(u)
        if self.full_matrices:
            k = extent_of(s, -1)
            right = concatenate([left[..., :k], phases(adjoint(vh))[..., k:]], axis=-1)
        return [u * left, s, vh * adjoint(right)]

    def lower(self, b: TensorBuilder, x: Tensor) -> tuple[Tensor, ...]:
        return Lapack("full_svd" if self.full_matrices else "svd", FAILED).lower(b, x)


def _inverse_gaps(s: Variable) -> tuple[Variable, Variable]:
    """1/(s_j − s_i) and 1/(s_j + s_i), 0 instead of divisions by 0.   (…, k) → (…, k, k), (…, k, k)

    The first belongs to common rotations of U and V, which are undefined between equal singular values; the second to
    opposite rotations, as in U·Vᵀ, which are defined.
    """
    row, column = expand_dims(s, -2), expand_dims(s, -1)
    return _inverse(row - column), _inverse(row + column)


def _inverse(s: Variable) -> Variable:
    """1/s, and 0 where s is 0."""
    is_zero = eq(s, 0)
    return switch(is_zero, 0, 1 / switch(is_zero, 1, s))


def _svd_tangents(x: Variable, outputs: Sequence[Variable], tx: Variable) -> list[Variable]:
    """(u̇, ṡ, v̇t) of the thin factors: with F = uᴴ·ẋ·v, ṡ its diagonal, u̇ = u·(½D⊙(F + Fᴴ) + ½P⊙(F − Fᴴ)) + what
    leaves the span of u, and v̇ with −½P instead of ½P.

    D, P: the inverse gaps. Source: Townsend, Differentiating the singular value decomposition (2016), where
    2·s_j/(s_j² − s_i²) stands for D + P.
    """
    u, s, vt = outputs
    v = adjoint(vt)
    moved, (apart, together), inverse = matmul(tx, v), _inverse_gaps(s), expand_dims(_inverse(s), -2)
    inner = matmul(adjoint(u), moved)
    flipped = adjoint(inner)
    alike, against = 0.5 * apart * (inner + flipped), 0.5 * together * (inner - flipped)
    t_u, t_v = matmul(u, alike + against), matmul(v, alike - against)
    rows, columns = x.tensor_type.shape[-2:]
    if not is_at_least(columns, rows):
        t_u = t_u + (moved - matmul(u, inner)) * inverse
    if not is_at_least(rows, columns):
        t_v = t_v + (matmul(adjoint(tx), u) - matmul(v, flipped)) * inverse
    if is_complex(u):
        phase = phase_rate(t_u, u)
        t_u, t_v = (t - x * complex_of_parts(0 * phase, phase) for t, x in ((t_u, u), (t_v, v)))
    return [t_u, real(sum_over(conj(u) * moved, axis=-2)), adjoint(t_v)]


def singular_values(x: Variable) -> Variable:
    """The singular values of x, descending; the vectors are computed only if a gradient needs them.   → (…, k)

    At a zero the derivative is that of one choice of vectors: U·Vᵀ is a subgradient of the sum.
    """
    return Svd(full_matrices=False).apply(x).outputs[1]


@public(numpy="linalg.svd")
@coerced
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """[u, s, vt] with a = u·diag(s)·vt, s descending; s alone without compute_uv.   k = min(m, n)

    (…, m, n) → (…, m, m), (…, k), (…, n, n), or (…, m, k) and (…, k, n) for u and vt without full_matrices. In each
    column of u the first component that is not small is positive. u and vt have derivatives without full_matrices
    only, or where a is known to be square; between equal singular values their common rotation counts as 0. Input
    that is not finite gives nan.

    Raises: GraphTypeError below rank 2; LinAlgError at run time where the iteration does not converge.
    """
    a = floating(a)
    if not compute_uv:
        return singular_values(a)
    is_square = a.ndim > 1 and is_at_least(*a.tensor_type.shape[-2:]) and is_at_least(*a.tensor_type.shape[:-3:-1])
    is_full = bool(full_matrices) and not is_square
    return list(Svd(is_full).apply(a).outputs)
