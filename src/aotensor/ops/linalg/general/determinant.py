"""Determinants of complex matrices, and their logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.complex.parts import complex as complex_of_parts
from aotensor.ops.complex.parts import imag, real
from aotensor.ops.contract import matmul
from aotensor.ops.diagonal import diagonal
from aotensor.ops.elementwise.arithmetic import abs as absolute
from aotensor.ops.elementwise.arithmetic import neg
from aotensor.ops.elementwise.compare import eq, switch
from aotensor.ops.elementwise.elementary import log
from aotensor.ops.linalg.lapack import MatrixOp, adjoint, lapack, square_core
from aotensor.ops.linalg.matrices import check_square, per_matrix
from aotensor.ops.linalg.shapes import if_finite
from aotensor.ops.linalg.solve import inv
from aotensor.ops.linalg.svd import FAILED
from aotensor.ops.linear import LinearisedOp
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.sums import prod
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import expand_dims, matrix_transpose
from aotensor.ops.shape.extents import extent_of


def _signed_pivots(x: Variable) -> Variable:
    """The pivots, negated where columns were exchanged: their product is the determinant."""
    factors, exchanges = lapack("lu", [x], fails=False)
    pivots = diagonal(factors, 0, -2, -1)
    return switch(eq(exchanges, arange(extent_of(exchanges, -1)) + 1), pivots, neg(pivots))


def _scaled(factor: Variable, matrix: Variable) -> Variable:
    """A batch of matrices, each multiplied by its own scalar.   (…), (…, n, n) → (…, n, n)"""
    return expand_dims(factor, [-2, -1]) * matrix


def _trace_of_product(x: Variable, y: Variable) -> Variable:
    return sum_over(matrix_transpose(x) * y, axis=(-2, -1))


@frozen_dataclass
class ComplexDeterminant(LinearisedOp, MatrixOp):
    """x → det x.   (…, n, n) → (…)   ddet = tr(adj(x)·dx), also where x is singular."""

    name: ClassVar[str] = "det"
    is_holomorphic: ClassVar[bool] = True

    def infer_type(self, x: TensorType) -> TensorType:
        square_core(x)
        return TensorType(x.dtype, x.shape[:-2])

    def reference(self, x: Array) -> Array:
        check_square(self.name, x)
        with np.errstate(all="ignore"):
            return np.asarray(np.linalg.det(x))

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (tx,) = tangents
        return [_trace_of_product(ComplexAdjugate()(*inputs), tx)]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return [prod(_signed_pivots(inputs[0]), axis=-1)]


@frozen_dataclass
class ComplexAdjugate(LinearisedOp, MatrixOp):
    """x → m = det(x)·x⁻¹, also where x is singular; dm = (tr(m·dx)·m − m·dx·m)/det x, nan there."""

    name: ClassVar[str] = "adjugate"
    notation: ClassVar[str] = "grad(det({0}))"

    def infer_type(self, x: TensorType) -> TensorType:
        n = square_core(x)
        return TensorType(x.dtype, (*x.shape[:-2], n, n))

    def reference(self, x: Array) -> Array:
        return per_matrix(self._adjugate, [x], [np.empty_like(x)])  # type: ignore[no-any-return]

    def _adjugate(self, x: Array) -> Any:
        if not x.size:
            return x
        left, values, right = if_finite(np.linalg.svd, x)
        n = len(values)
        others = np.prod(np.where(np.eye(n, dtype=bool), 1, values), axis=-1)
        return np.linalg.det(left @ right) * (right.conj().T * others) @ left.conj().T

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (m,), (tx,) = outputs, tangents
        determinant = ComplexDeterminant()(*inputs)
        both = matmul(matmul(m, tx), m)
        is_singular = eq(determinant, 0)
        scale = switch(is_singular, float("nan"), 1 / switch(is_singular, 1, determinant))
        return [_scaled(scale, _scaled(_trace_of_product(m, tx), m) - both)]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        left, values, right = lapack("svd", inputs, FAILED)
        numbers = arange(extent_of(values, -1))
        is_left_out = eq(expand_dims(numbers, 1), numbers)
        others = prod(switch(is_left_out, 1, expand_dims(values, -2)), axis=-1)
        phase = prod(_signed_pivots(matmul(left, right)), axis=-1)
        return [_scaled(phase, matmul(adjoint(right) * expand_dims(others, -2), adjoint(left)))]


@frozen_dataclass
class ComplexSlogdet(LinearisedOp, MatrixOp):
    """x → det x/|det x| and log |det x|; (0, −inf) where x is singular.   (…, n, n) → complex (…), real (…)"""

    name: ClassVar[str] = "slogdet"

    def infer_type(self, x: TensorType) -> tuple[TensorType, TensorType]:
        square_core(x)
        kind = TensorType(x.dtype, x.shape[:-2])
        return kind, kind.with_dtype(dtypes.part_of(x.dtype))

    def reference(self, x: Array) -> tuple[Array, Array]:
        check_square(self.name, x)
        with np.errstate(all="ignore"):
            sign, logarithm = np.linalg.slogdet(x)
        return np.asarray(sign), np.asarray(logarithm)

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (sign, _), (tx,) = outputs, tangents
        moved = _trace_of_product(inv(inputs[0], on_error="nan"), tx)
        return [sign * complex_of_parts(0 * imag(moved), imag(moved)), real(moved)]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        pivots = _signed_pivots(inputs[0])
        sizes = absolute(pivots)
        is_zero = eq(sizes, 0)
        signs = switch(is_zero, 0, pivots / switch(is_zero, 1, sizes))
        return [prod(signs, axis=-1), sum_over(log(sizes), axis=-1)]
