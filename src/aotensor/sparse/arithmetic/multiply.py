"""Products by element: sparse matrices with each other, with dense matrices, vectors and scalars; quotients; scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import connected, sum_terms
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.elementwise import arithmetic
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.shape.reshape import ravel
from aotensor.sparse.arithmetic.add import both_dense, check_fits, fitted_dims, vector_result
from aotensor.sparse.arithmetic.operands import (
    CanonicalOp,
    check_sizes,
    need_operand,
    operands,
    term_for,
)
from aotensor.sparse.arithmetic.pairs import Join, PairOp
from aotensor.sparse.arithmetic.sums import sum_to
from aotensor.sparse.compressed_axes import at_columns, at_rows
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import Compressed, scipy_matrix
from aotensor.sparse.sample import take_entries


@frozen_dataclass
class ProductOp(CanonicalOp):
    """x ∘ y, bilinear. Gradient: regular, y∘z̄ and x∘z̄."""

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x, y), (ct,) = inputs, cotangents
        return [_term(x, ct, y), _term(y, ct, x)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        x, y = inputs
        terms = [arithmetic.mul(x, t) if k else arithmetic.mul(t, y) for k, t in connected(tangents).items()]
        return [term_for(outputs[0], sum_terms(terms, arithmetic.add))]


def _term(x: Variable, ct: Variable, other: Variable) -> Variable:
    """The cotangent other∘z̄ of an operand x: in the format of a sparse x, summed to the shape of a dense x."""
    if x.is_sparse:
        return term_for(x, arithmetic.mul(ct, other))
    return sum_to(arithmetic.mul(other, ct), x)


@frozen_dataclass
class MulSS(PairOp, ProductOp):
    """x ∘ y of two sparse matrices of any formats, in that of the first and the promoted dtype.

    The pattern is what both have in common, with explicit zeros. Gradient: regular, each on the pattern of the other.

    Raises: GraphValueError for shapes that differ (at run time where they are not known).
    """

    function: Elementwise = field(default=arithmetic.mul, repr=False)
    join: Join = field(default="both", repr=False)


@frozen_dataclass
class MulSD(ProductOp):
    """x ∘ d on the pattern of x, in the promoted dtype.   x: (m, n) sparse; d: (m, n), (1, n), (m, 1) or a scalar

    At elements that are not stored the product is 0, also with an infinite or nan d. Gradient: regular; x ← d∘z̄,
    d ← x∘z̄ as a dense tensor, summed where d was repeated.

    Raises: GraphValueError for shapes that do not go together (at run time where they are not known).
    """

    name: ClassVar[str] = "mul_s_d"
    notation: ClassVar[str] = "*"
    takes_blocks: ClassVar[bool] = True

    def infer_type(self, x: TensorType, d: TensorType) -> TensorType:
        return scaled_type(self, x, d, dtypes.promote(x.dtype, d.dtype))

    def reference(self, x: Any, d: Array) -> Any:
        with np.errstate(all="ignore"):
            return _with_entries(self.name, x, d, np.multiply)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        p = parts_of(inputs[0])
        return [matrix_of(replace(p, data=p.data * entries_of(self.name, inputs[1], p)))]


@frozen_dataclass
class MulSV(MulSD):
    """x ∘ v on the pattern of x, v along the columns, in the promoted dtype.   x: (m, n) sparse, v: (n,) → sparse

    Gradient: regular; x ← v∘z̄, v ← column sums of x∘z̄.

    Raises: GraphTypeError unless v is a vector, GraphValueError for another length (at run time where it is not known).
    """

    name: ClassVar[str] = "mul_s_v"
    notation: ClassVar[str] = "*"

    def infer_type(self, x: TensorType, v: TensorType) -> TensorType:
        return vector_result(self, x, v, 1)


@frozen_dataclass
class DivSD(CanonicalOp):
    """x / d on the pattern of x; integers give float64.   x: (m, n) sparse; d: (m, n), (1, n), (m, 1), (n,) or a scalar

    At elements that are not stored the quotient is 0, also where d is 0. Gradient: regular; x ← z̄/d, d ← −(x∘z̄)/d².

    Raises: GraphValueError for shapes that do not go together (at run time where they are not known).
    """

    name: ClassVar[str] = "div_s_d"
    notation: ClassVar[str] = "/"
    takes_blocks: ClassVar[bool] = True

    def infer_type(self, x: TensorType, d: TensorType) -> TensorType:
        return scaled_type(self, x, d, dtypes.mean_of(dtypes.promote(x.dtype, d.dtype)))

    def reference(self, x: Any, d: Array) -> Any:
        with np.errstate(all="ignore"):
            return _with_entries(self.name, x, d, np.true_divide)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        p = parts_of(inputs[0])
        return [matrix_of(replace(p, data=p.data / entries_of(self.name, inputs[1], p)))]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (_, d), (y,), (ct,) = inputs, outputs, cotangents
        return [ct / d, sum_to(-(y * ct) / d, d)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (_, d), (y,) = inputs, outputs
        terms = [-((y * t) / d) if k else t / d for k, t in connected(tangents).items()]
        return [sum_terms(terms, arithmetic.add)]


def scaled_type(op: CanonicalOp, x: TensorType, d: TensorType, dtype: str) -> TensorType:
    """The type of x with its entries scaled by a dense d.   Raises: GraphTypeError, GraphValueError"""
    need_operand(op, x, d)
    dims = fitted_dims(op.name, x, d)
    return x.with_dtype(dtype).with_shape(dims)  # type: ignore[attr-defined,no-any-return]


def entries_of(name: str, d: Variable, p: Compressed) -> Variable:
    """The elements at the stored entries of p, from a dense matrix, row, column, vector along the columns, or
    scalar.
    """
    if d.ndim == 0:
        return d
    if d.ndim == 1:
        return ravel(d) if d.static_shape == (1,) != (p.columns,) else at_columns(p, check_sizes(name, d, p, [1]))
    repeated = [dim == 1 for dim in d.static_shape]
    match repeated:
        case [True, True]:
            return ravel(d)
        case [True, False]:
            return at_columns(p, ravel(check_sizes(name, d, p, [None, 1])))
        case [False, True]:
            return at_rows(p, ravel(check_sizes(name, d, p, [0, None])))
    return take_entries(check_sizes(name, d, p, [0, 1]), p)


def _with_entries(name: str, x: Any, d: Array, combine: np.ufunc) -> Any:
    check_fits(name, x, d)
    coordinates = x.tocoo(copy=False)
    entries = np.broadcast_to(d, x.shape)[coordinates.row, coordinates.col].reshape(x.data.shape)
    return scipy_matrix(x.format, combine(x.data, entries), x.indices, x.indptr, x.shape)


# --- scales ----------------------------------------------------------------------------------------------------------


@frozen_dataclass
class ColScaleCSC(CanonicalOp):
    """Column j of x times s[j], of either format, in the promoted dtype.   x: (m, n) sparse, s: (n,) → sparse

    Gradient: structured; x ← col_scale(z̄, s) at P(x), s ← column sums of x∘z̄.

    Raises: GraphTypeError unless s is a vector, GraphValueError for another length (at run time where it is not known).
    """

    name: ClassVar[str] = "col_scale"
    takes_blocks: ClassVar[bool] = True
    axis: ClassVar[int] = 1

    def infer_type(self, x: TensorType, s: TensorType) -> TensorType:
        return vector_result(self, x, s, self.axis)

    def reference(self, x: Any, s: Array) -> Any:
        if s.shape[0] != x.shape[self.axis]:
            raise GraphValueError(
                f"{self.name}: the vector has {s.shape[0]} factors, the matrix has extent {x.shape[self.axis]}"
            )
        at = x.tocoo(copy=False).coords[self.axis]
        return scipy_matrix(x.format, x.data * s[at].reshape(x.data.shape), x.indices, x.indptr, x.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        p = parts_of(inputs[0])
        factors = (at_rows, at_columns)[self.axis](p, check_sizes(self.name, inputs[1], p, [self.axis]))
        return [matrix_of(replace(p, data=p.data * factors))]


@frozen_dataclass
class RowScaleCSC(ColScaleCSC):
    """Row i of x times s[i], of either format, in the promoted dtype.   x: (m, n) sparse, s: (m,) → sparse

    Gradient: structured; x ← row_scale(z̄, s) at P(x), s ← row sums of x∘z̄.

    Raises: as ColScaleCSC.
    """

    name: ClassVar[str] = "row_scale"
    axis: ClassVar[int] = 0


mul_s_s: Final = MulSS()
mul_s_d: Final = MulSD()
mul_s_v: Final = MulSV()
col_scale: Final = ColScaleCSC()
row_scale: Final = RowScaleCSC()
SparseSparseMultiply, SparseDenseMultiply, SparseDenseVectorMultiply = MulSS, MulSD, MulSV


@coerced
def sparse_mul(x: Any, y: Any) -> Variable:
    """x ∘ y, at least one of them sparse, and so is the product.

    A dense operand may be a matrix, a row, a column, a vector along the columns or a scalar.

    Raises: GraphTypeError if both are dense, GraphValueError for shapes that do not go together.
    """
    first, second = operands([x, y])
    if first.is_sparse and second.is_sparse:
        return mul_s_s(first, second)  # type: ignore[no-any-return]
    if not first.is_sparse and not second.is_sparse:
        raise both_dense("mul", first, second)
    matrix, other = (first, second) if first.is_sparse else (second, first)
    return (mul_s_v if other.ndim == 1 else mul_s_d)(matrix, other)  # type: ignore[no-any-return]


mul = multiply = sparse_mul
