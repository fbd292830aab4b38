"""The pseudoinverse."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.batching import TrailingOp
from aotensor.ops.complex.blocks import by_blocks, hermitian_of, is_complex
from aotensor.ops.contract import matmul
from aotensor.ops.linalg.eigen import symmetric
from aotensor.ops.linalg.lapack import Lapack
from aotensor.ops.linalg.matrices import floating
from aotensor.ops.linalg.shapes import as_square, converged, lowered_product, matrix_type
from aotensor.ops.linalg.svd import FAILED
from aotensor.ops.linear import LinearisedOp
from aotensor.ops.shape.axes import matrix_transpose


@frozen_dataclass
class Pinv(TrailingOp, LinearisedOp):
    """y = V·diag(1/s)·Uᵀ over the singular values s above rcond times the largest.   (…, m, n) → (…, n, m)

    The derivative is that at constant rank. Source: Golub & Pereyra, The differentiation of pseudo-inverses (1973).
    """

    name: ClassVar[str] = "pinv"
    rcond: float

    def infer_type(self, x: TensorType) -> TensorType:
        *batch, rows, columns = matrix_type(x).shape
        return TensorType(x.dtype, (*batch, columns, rows))

    def reference(self, x: Array) -> Array:
        return converged(self.name, FAILED, partial(np.linalg.pinv, rcond=self.rcond), x)  # type: ignore[no-any-return]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        """−Y·Ẋ·Y + Y·Yᵀ·Ẋᵀ·(I − X·Y) + (I − Y·X)·Ẋᵀ·Yᵀ·Y

        Both projections are applied twice: where they are 0, at full rank, one leaves a rounding error that Y·Yᵀ
        multiplies by the square of the condition.
        """
        (x,), (y,), (tx,) = inputs, outputs, tangents
        yt, txt = matrix_transpose(y), matrix_transpose(tx)
        inside = matmul(matmul(y, tx), y)
        outside, below = txt, txt
        for _ in range(2):
            outside = outside - matmul(matmul(outside, x), y)
            below = below - matmul(y, matmul(x, below))
        left, right = matmul(y, matmul(yt, outside)), matmul(matmul(below, yt), y)
        return [left + right - inside]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        u, s, vt = Lapack("svd", FAILED).lower(b, x)
        axis = len(s.extents) - 1
        largest = b.permute(b.reduce("maximum", s, [axis]), [*range(axis), None])

        def inverse(v: ScalarBuilder, s: Scalar, most: Scalar) -> Scalar:
            is_kept = s > most * self.rcond
            zero, one = v.constant(0, s.dtype), v.constant(1, s.dtype)
            return v.select(is_kept, one / s, zero)

        column = b.permute(b.map(inverse, s, largest, dtype=x.dtype), [*range(axis + 1), None])
        scaled = b.map(lambda v, row, factor: row * factor, vt, column, dtype=x.dtype)
        return lowered_product(b, "ki,jk->ij", scaled, u)


@public(numpy="linalg.pinv")
@coerced
def pinv(a: Any, rcond: float = 1e-15, hermitian: bool = False) -> Variable:
    """np.linalg.pinv: the Moore-Penrose inverse.   (…, m, n) → (…, n, m)

    rcond: singular values up to this times the largest count as 0, a number known at compile time.
    hermitian: only the lower triangle of the square a is read. Derivatives are those at constant rank.

    Raises: GraphTypeError below rank 2 or for a symbolic rcond; LinAlgError at run time where the singular
    values do not converge. Non-finite input gives nan.
    """
    if is_complex(as_tensor(a)):
        z = hermitian_of(as_square("pinv", as_tensor(a)), lower=True) if hermitian else as_tensor(a)
        return by_blocks(lambda m: pinv(m, rcond), z, is_holomorphic=False)
    a = floating(a)
    if isinstance(rcond, bool) or not isinstance(rcond, int | float | np.floating):
        hint = "hermitian=True" if rcond is True else None
        text = f"pinv: rcond is a number known at compile time, not {rcond!r}"
        raise GraphTypeError(text, lines=[a.describe()], hint=hint)
    return Pinv(float(rcond))(symmetric(as_square("pinv", a), "L") if hermitian else a)  # type: ignore[no-any-return]
