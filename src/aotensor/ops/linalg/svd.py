"""Singular values and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core.builders import Extent, Scalar, ScalarVerbs, Tensor, TensorBuilder
from aotensor.core.types import Array, TensorType
from aotensor.graph.op import disconnected, is_disconnected, null_gradient, sum_terms
from aotensor.graph.public import public
from aotensor.graph.variable import Variable
from aotensor.ops.batching import TrailingOp
from aotensor.ops.contract import matmul
from aotensor.ops.diagonal import diagonal
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.elementwise.compare import eq, switch
from aotensor.ops.index import subtensor
from aotensor.ops.linalg.matrices import floating
from aotensor.ops.linalg.shapes import converged, is_at_least, matrix_type, smaller
from aotensor.ops.linalg.signs import lower_signs, signs_of
from aotensor.ops.shape.axes import expand_dims, matrix_transpose
from aotensor.ops.shape.extents import extent_of

FAILED: Final = "the singular values did not converge"
_FULL: Final = "singular vectors have derivatives where full_matrices=False, or where the matrix is known to be square"


@dataclass(frozen=True)
class Svd(TrailingOp):
    """x → (u, s, vt): x = u·diag(s)·vt, s descending, signs of the columns of u as in `signs`.   k = min(m, n)

    (…, m, n) → (…, m, k), (…, k), (…, k, n), or u and vt square if `full_matrices`.
    Derivatives of vectors between equal singular values are 0, and so are those that divide by a zero.
    """

    name: ClassVar[str] = "svd"
    full_matrices: bool

    def infer_type(self, x: TensorType) -> tuple[TensorType, ...]:
        *batch, rows, columns = matrix_type(x).shape
        k = smaller(rows, columns)
        width, height = (rows, columns) if self.full_matrices else (k, k)
        shapes = [(*batch, rows, width), (*batch, k), (*batch, height, columns)]
        return tuple(TensorType(x.dtype, shape) for shape in shapes)

    def reference(self, x: Array) -> tuple[Array, Array, Array]:
        svd = partial(np.linalg.svd, full_matrices=self.full_matrices)
        u, s, vt = converged(self.name, FAILED, svd, x)
        signs, right = signs_of(u), signs_of(np.swapaxes(vt, -1, -2))
        right[..., : s.shape[-1]] = signs[..., : s.shape[-1]]
        return u * signs[..., None, :], s, vt * right[..., :, None]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        (x,), (ct_u, _, ct_vt) = inputs, cotangents
        if not self.full_matrices:
            return [_svd_adjoint(x, outputs, cotangents)]
        if is_disconnected(ct_u) and is_disconnected(ct_vt):
            return [_svd_adjoint(x, _thin(outputs), cotangents)]
        return [null_gradient(self, 0, x, "not implemented", _FULL)]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        (x,), (tx,) = inputs, tangents
        if is_disconnected(tx):
            return [disconnected() for _ in outputs]
        if not self.full_matrices:
            return _svd_tangents(x, outputs, tx)
        u, _, vt = _thin(outputs)
        null = null_gradient(self, 0, x, "not implemented", _FULL)
        return [null, diagonal(matmul(matmul(matrix_transpose(u), tx), matrix_transpose(vt)), 0, -2, -1), null]

    def lower(self, b: TensorBuilder, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return _lower_signed_svd(b, x, self.full_matrices)


def lower_thin_svd(b: TensorBuilder, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(u, s, vt) with the signs that LAPACK gave.   (…, m, n) → (…, m, k), (…, k), (…, k, n)"""
    return _lower_svd(b, x, full_matrices=False)


def _lower_svd(b: TensorBuilder, x: Tensor, full_matrices: bool) -> tuple[Tensor, Tensor, Tensor]:
    *batch, rows, columns = x.extents
    k = b.scalars.imin(rows, columns)
    width, height = (rows, columns) if full_matrices else (k, k)
    shapes: list[tuple[Extent, ...]] = [(*batch, rows, width), (*batch, k), (*batch, height, columns)]
    results = [(x.dtype, shape) for shape in shapes]
    u, s, vt = b.lapack("full_svd" if full_matrices else "svd", [x], results, FAILED)
    return u, s, vt


def _lower_signed_svd(b: TensorBuilder, x: Tensor, full_matrices: bool) -> tuple[Tensor, Tensor, Tensor]:
    """(u, s, vt) with the signs of `signs`."""
    u, s, vt = _lower_svd(b, x, full_matrices)
    signs = lower_signs(b, u, len(s.extents) - 1)
    right = _paired_signs(b, vt, signs, s.extents[-1]) if full_matrices else signs

    def column(v: ScalarVerbs, *at: Scalar) -> Scalar:
        return v.mul(v.load(u, *at), v.load(signs, *at[:-2], at[-1]))

    def row(v: ScalarVerbs, *at: Scalar) -> Scalar:
        return v.mul(v.load(vt, *at), v.load(right, *at[:-1]))

    return b.tabulate(u.extents, x.dtype, column), s, b.tabulate(vt.extents, x.dtype, row)


def _paired_signs(b: TensorBuilder, vt: Tensor, signs: Tensor, k: Extent) -> Tensor:
    """The signs of the rows of vt: those of their columns of u for the first k, their own for the others."""
    *batch, width = signs.extents
    own = lower_signs(b, vt, len(batch) + 1)
    one = b.broadcast(b.constant(1, vt.dtype), [*batch, 1])
    padded = b.concatenate([signs, one], len(batch))

    def element(v: ScalarVerbs, *at: Scalar) -> Scalar:
        *outer, i = at
        is_paired = v.compare("lt", i, v.index(k))
        place = v.select(is_paired, i, v.index(width))
        return v.select(is_paired, v.load(padded, *outer, place), v.load(own, *at))

    return b.tabulate(own.extents, vt.dtype, element)


def _thin(outputs: Sequence[Variable]) -> list[Variable]:
    """(u, s, vt) without the vectors that belong to no singular value."""
    u, s, vt = outputs
    k = extent_of(s, -1)
    return [subtensor(u, (..., slice(None, k))), s, subtensor(vt, (..., slice(None, k), slice(None)))]


def _inverse_gaps(s: Variable) -> Variable:
    """1/(s_j² − s_i²), and 0 where both are equal.   (…, k) → (…, k, k)"""
    row, column = expand_dims(s, -2), expand_dims(s, -1)
    gaps = (row - column) * (row + column)
    is_equal = eq(gaps, 0)
    return switch(is_equal, 0, 1 / switch(is_equal, 1, gaps))


def _inverse(s: Variable) -> Variable:
    """1/s, and 0 for 0."""
    is_zero = eq(s, 0)
    return switch(is_zero, 0, 1 / switch(is_zero, 1, s))


def _svd_adjoint(x: Variable, outputs: Sequence[Variable], cotangents: Sequence[Variable]) -> Variable:
    """x̄ of the thin factors: U[diag(s̄) + (F⊙(UᵀŪ − ŪᵀU))S + S(F⊙(VᵀV̄ − V̄ᵀV))]Vᵀ + what leaves the spans of U, V.

    Source: Townsend, Differentiating the singular value decomposition (2016).
    """
    (u, s, vt), (ct_u, ct_s, ct_vt) = outputs, cotangents
    left = [] if is_disconnected(ct_s) else [u * expand_dims(ct_s, -2)]
    right: list[Variable] = []
    inverse, gaps = _inverse(s), _inverse_gaps(s)
    rows, columns = x.tensor_type.shape[-2:]
    if not is_disconnected(ct_u):
        turn = matmul(matrix_transpose(u), ct_u)
        rotation = gaps * (turn - matrix_transpose(turn))
        left.append(matmul(u, rotation * expand_dims(s, -2)))
        if not is_at_least(columns, rows):
            left.append((ct_u - matmul(u, turn)) * expand_dims(inverse, -2))
    if not is_disconnected(ct_vt):
        turn = matmul(vt, matrix_transpose(ct_vt))
        rotation = gaps * (turn - matrix_transpose(turn))
        left.append(matmul(u, expand_dims(s, -1) * rotation))
        if not is_at_least(rows, columns):
            outside = ct_vt - matmul(matrix_transpose(turn), vt)
            right.append(matmul(u * expand_dims(inverse, -2), outside))
    return sum_terms([matmul(sum_terms(left, add), vt), *right], add)


def _svd_tangents(x: Variable, outputs: Sequence[Variable], tx: Variable) -> list[Variable]:
    """(u̇, ṡ, v̇t) of the thin factors, the transpose of `_svd_adjoint`."""
    u, s, vt = outputs
    v = matrix_transpose(vt)
    moved, gaps, inverse = matmul(tx, v), _inverse_gaps(s), expand_dims(_inverse(s), -2)
    inner = matmul(matrix_transpose(u), moved)
    flipped = matrix_transpose(inner)
    row, column = expand_dims(s, -2), expand_dims(s, -1)
    t_u = matmul(u, gaps * (inner * row + column * flipped))
    t_v = matmul(v, gaps * (column * inner + flipped * row))
    rows, columns = x.tensor_type.shape[-2:]
    if not is_at_least(columns, rows):
        t_u = t_u + (moved - matmul(u, inner)) * inverse
    if not is_at_least(rows, columns):
        t_v = t_v + (matmul(matrix_transpose(tx), u) - matmul(v, flipped)) * inverse
    return [t_u, diagonal(inner, 0, -2, -1), matrix_transpose(t_v)]


@dataclass(frozen=True)
class SingularValues(TrailingOp):
    """The singular values of x, descending.   (…, m, n) → (…, k), k = min(m, n)

    At a zero the derivative is that of one choice of vectors: U·Vᵀ is a subgradient of the sum.
    """

    name: ClassVar[str] = "singular_values"

    def infer_type(self, x: TensorType) -> TensorType:
        *batch, rows, columns = matrix_type(x).shape
        return TensorType(x.dtype, (*batch, smaller(rows, columns)))

    def reference(self, x: Array) -> Array:
        return converged(self.name, FAILED, partial(np.linalg.svd, compute_uv=False), x)  # type: ignore[no-any-return]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable]:
        triple = Svd(full_matrices=False).apply(*inputs)
        return triple.op.pullback(inputs, triple.outputs, [disconnected(), cotangents[0], disconnected()])

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> Sequence[Variable]:
        triple = Svd(full_matrices=False).apply(*inputs)
        return triple.op.pushforward(inputs, triple.outputs, tangents)[1:2]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        *batch, rows, columns = x.extents
        k = b.scalars.imin(rows, columns)
        return b.lapack("singular_values", [x], [(x.dtype, (*batch, k))], FAILED)[0]


@public
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """[u, s, vt] with a = u·diag(s)·vt, s descending; s alone without compute_uv.   k = min(m, n)

    (…, m, n) → (…, m, m), (…, k), (…, n, n), or (…, m, k) and (…, k, n) for u and vt without full_matrices. In each
    column of u the first component that is not small is positive. u and vt have derivatives without full_matrices
    only, or where a is known to be square; they are 0 between equal singular values. What is not finite gives nan.

    Raises: GraphTypeError below rank 2; LinAlgError at run time where the iteration does not converge.
    """
    a = floating(a)
    if not compute_uv:
        return SingularValues()(a)
    is_square = a.ndim > 1 and is_at_least(*a.tensor_type.shape[-2:]) and is_at_least(*a.tensor_type.shape[:-3:-1])
    return Svd(bool(full_matrices) and not is_square)(a)
