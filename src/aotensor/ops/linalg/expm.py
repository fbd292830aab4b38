"""The exponential of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.batching import TrailingOp
from aotensor.ops.complex.blocks import by_blocks, is_complex
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.arithmetic import abs as absolute
from aotensor.ops.elementwise.compare import eq, switch
from aotensor.ops.gradient_control import disconnected_grad
from aotensor.ops.index import subtensor
from aotensor.ops.linalg.matrices import check_square, floating, lowered_square, scipy_linalg
from aotensor.ops.linalg.shapes import as_square, lowered_product, square_type
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import matrix_transpose
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import concatenate

_PADE: Final = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip
"""Coefficients of the [13/13] Padé approximant of exp, by powers."""

_RADIUS: Final = 5.371920351148152
"""The largest 1-norm for which the approximant is exact to float64 rounding."""


@frozen_dataclass
class Expm(TrailingOp):
    """y = Σ xᵏ/k!, by scaling and squaring.   (…, n, n) → (…, n, n)

    y = r(x/2ˢ)^(2ˢ) with the [13/13] Padé approximant r = q⁻¹·p and an s, chosen for each matrix, that brings x/2ˢ into
    its range. Source: Higham, The scaling and squaring method for the matrix exponential revisited (2005).
    """

    name: ClassVar[str] = "expm"

    def infer_type(self, x: TensorType) -> TensorType:
        return square_type(x)

    def reference(self, x: Array) -> Array:
        check_square(self.name, x)
        with np.errstate(all="ignore"):
            return np.asarray(scipy_linalg().expm(x)) if x.size else x.copy()

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (ct,) = inputs, cotangents
        return [self._derivative(matrix_transpose(x), ct)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (tx,) = inputs, tangents
        return [self._derivative(x, tx)]

    def _derivative(self, x: Variable, direction: Variable) -> Variable:
        """d/dt exp(x + t·direction): the upper right block of exp([[x, direction], [0, x]]).

        It is linear in the direction, which is scaled down first: otherwise a large one would determine the scaling.
        """
        size = sum_over(absolute(direction), axis=(-2, -1), keepdims=True)
        scale = disconnected_grad(switch(eq(size, 0), 1, size))
        upper = concatenate([x, direction / scale], axis=-1)
        lower = concatenate([zeros_like(x), x], axis=-1)
        n = extent_of(x, -1)
        block = subtensor(self(concatenate([upper, lower], axis=-2)), (..., slice(None, n), slice(n, None)))
        return block * scale

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        extents = lowered_square(b, x)
        squarings, scaled = _scaled(b, x)
        p, q = _approximant(b, scaled)
        results = [(x.dtype, extents)]
        factors, pivots = b.lapack("lu", [q], [*results, ("int32", extents[:-1])])
        (ratio,) = b.lapack("lu_solve", [factors, pivots, p], results, is_transposed=False)
        return b.lapack("square_repeatedly", [ratio, squarings], results)[0]


def _scaled(b: TensorBuilder, x: Tensor) -> tuple[Tensor, Tensor]:
    """(s, x/2ˢ) for each matrix; s = 0 where the norm is nan or inf, and exp is nan.   → (…, 1) int32, (…, n, n)"""
    rank = len(x.extents)
    columns = b.reduce("add", b.map(lambda v, x: v.abs(x), x, dtype=x.dtype), [rank - 2])
    norm = b.permute(b.reduce("maximum", columns, [rank - 2]), [*range(rank - 2), None])

    def exponent(v: ScalarBuilder, norm: Scalar) -> Scalar:
        radius = v.constant(_RADIUS, norm.dtype)
        is_large = (norm > radius) & ~v.is_inf(norm)
        return v.select(is_large, v.math("ceil", v.math("log2", norm / radius)), v.constant(0, norm.dtype))

    s = b.map(exponent, norm, dtype=x.dtype)
    factor = b.permute(b.map(lambda v, s: v.math("exp2", -s), s, dtype=x.dtype), [*range(rank - 1), None])
    return b.cast(s, "int32"), b.map(lambda v, x, f: x * f, x, factor, dtype=x.dtype)


def _approximant(b: TensorBuilder, x: Tensor) -> tuple[Tensor, Tensor]:
    """(p, q) with exp(x) ≈ q⁻¹·p: p = v + u and q = v − u of the even powers v and the odd ones u. Six products."""
    square = lowered_product(b, "ik,kj->ij", x, x)
    fourth = lowered_product(b, "ik,kj->ij", square, square)
    sixth = lowered_product(b, "ik,kj->ij", fourth, square)
    powers = (square, fourth, sixth)

    def half(first: int) -> Tensor:
        """Σ of every second term of the polynomial from coefficient `first` on, as a polynomial in the square."""
        high = b.map(_combination(_PADE[first + 8 :: 2]), *powers, dtype=x.dtype)
        product = lowered_product(b, "ik,kj->ij", sixth, high)
        low = _combination(_PADE[first + 2 : first + 8 : 2])

        def element(v: ScalarBuilder, *at: Scalar) -> Scalar:
            known = [v.load(power, *at) for power in powers]
            one = v.cast(v.compare("eq", at[-2], at[-1]), x.dtype)
            constant = v.constant(_PADE[first], x.dtype) * one
            return v.load(product, *at) + low(v, *known) + constant

        return b.tabulate(x.extents, x.dtype, element)

    even, odd = half(0), lowered_product(b, "ik,kj->ij", x, half(1))
    p = b.map(lambda v, e, o: e + o, even, odd, dtype=x.dtype)
    return p, b.map(lambda v, e, o: e - o, even, odd, dtype=x.dtype)


def _combination(factors: Sequence[float]) -> Callable[..., Scalar]:
    """(builder, x, y, z) ↦ factors[0]·x + factors[1]·y + factors[2]·z"""

    def element(v: ScalarBuilder, *xs: Scalar) -> Scalar:
        terms = [x * factor for x, factor in zip(xs, factors, strict=True)]
        return terms[0] + (terms[1] + terms[2])

    return element


@coerced
def expm(a: Any) -> Variable:
    """exp(a) = Σ aᵏ/k! of a square matrix.   (…, n, n) → (…, n, n)

    Raises: GraphTypeError below rank 2, GraphValueError for a matrix that is not square.
    """
    if is_complex(as_tensor(a)):
        return by_blocks(expm, as_square("expm", as_tensor(a)))
    return Expm()(floating(a))  # type: ignore[no-any-return]
