"""Products with a sparse operand: dot, with true gradients, and structured_dot, with gradients at stored entries only.

    y[i, …] = Σ_p data[p]·x[column p, …] over the entries p of row i

so a product is a copy to the entries, a product of entries, and a sum over rows (or columns, for dense @ sparse).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.sparse_type import SparseTensorType, canonical_matrix, is_matrix
from aotensor.graph.variable import Variable
from aotensor.ops.contract import matmul, outer
from aotensor.ops.elementwise.arithmetic import mul
from aotensor.ops.linear import MultilinearOp
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extent_checks import fitting
from aotensor.sparse.blocks.product import block_times
from aotensor.sparse.compressed_axes import at_columns, at_rows, sum_columns, sum_rows
from aotensor.sparse.convert import transposed
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import Compressed, SparseOp, need_sparse, scipy_matrix, type_error
from aotensor.sparse.patterns import entries_at, slices_of
from aotensor.sparse.patterns_product import triples
from aotensor.sparse.sample import at_pattern, densified
from aotensor.sparse.sparse_product import entries_by_first_term, sparse_product


def times(p: Compressed, y: Variable, name: str = "dot") -> Variable:
    """A @ y for the matrix A of parts.   y: (k,) or (k, n) → (m,) or (m, n)

    name: of the op, for the error where the inner dimensions differ.
    """
    y = fitting(y, 0, p.columns, p.dims[1], f"{name}: inner dimensions")
    if p.blocksize is not None:
        return block_times(p, y)
    return sum_rows(p, scaled(p.data, at_columns(p, y)))


def times_from_left(x: Variable, p: Compressed, name: str = "dot") -> Variable:
    """x @ A for the matrix A of parts.   x: (k,) or (m, k) → (n,) or (m, n)"""
    x = fitting(x, x.ndim - 1, p.rows, p.dims[0], f"{name}: inner dimensions")
    if p.blocksize is not None:
        return transposed_matrix(block_times(p, transposed_matrix(x), is_transposed=True))
    return transposed_matrix(sum_columns(p, scaled(p.data, at_rows(p, transposed_matrix(x)))))


def scaled(data: Variable, entries: Variable) -> Variable:
    """data[p]·entries[p, …]: entries scaled by the stored values."""
    return mul(data if entries.ndim == 1 else dimshuffle(data, [0, None]), entries)


def sum_of_products(x: Variable, y: Variable, rank: int = 1) -> Variable:
    """Σ x[p, …]·y[p, …] over all axes but the first, accumulated in the dtype of the products, as matrices are.

    rank: of the data: 3 for blocks, whose axes stay too
    """
    terms = mul(x, y)
    return sum_over(terms, axis=tuple(range(rank, terms.ndim)), dtype=terms.dtype, acc_dtype=terms.dtype)


def transposed_matrix(x: Variable) -> Variable:
    """The transpose of a sparse or dense matrix; a vector is unchanged."""
    return x if x.ndim < 2 else transposed(x)


class ProductOp(SparseOp):
    """x @ y with one or two sparse operands. Two sparse ones have single entries, not blocks."""

    takes_blocks: ClassVar[bool] = True

    def keeps_blocks(self, inputs: Sequence[Variable]) -> bool:
        return super().keeps_blocks(inputs) and sum(x.is_sparse for x in inputs) == 1

    def common_type(self, x: TensorType, y: TensorType) -> TensorType:
        """The type of the product as a dense tensor.

        Raises: GraphTypeError for two dense operands or a rank other than 1 or 2, GraphValueError for inner
        dimensions that differ.
        """
        if not (isinstance(x, SparseTensorType) or isinstance(y, SparseTensorType)):
            raise type_error(self, "a sparse operand", x, y)
        if x.rank not in (1, 2) or y.rank not in (1, 2):
            raise type_error(self, "matrices or vectors", x, y)
        inner = x.static_shape[-1], y.static_shape[0]
        if None not in inner and inner[0] != inner[1]:
            raise GraphValueError(f"{self.name}: inner dimensions differ, {inner[0]} and {inner[1]}")
        return TensorType(dtypes.promote(x.dtype, y.dtype), (*x.shape[:-1], *y.shape[1:]))

    def sparse_type(self, x: TensorType, y: TensorType) -> SparseTensorType:
        """The type of the product as a sparse matrix, in the format of the first sparse operand.

        Rows of a product of two sparse matrices are not sorted.   Raises: as above
        """
        found = self.common_type(x, y)
        if found.rank != 2:
            raise type_error(self, "two matrices", x, y)
        first = need_sparse(self, x if are_sparse(x) else y)
        is_canonical = not are_sparse(x, y)
        return SparseTensorType(
            first.format, found.dtype, found.shape, index_dtype=_index_dtype(x, y), is_canonical=is_canonical
        )

    def product(self, x: Any, y: Any) -> Any:
        """The product of SciPy matrices and arrays in the promoted dtype.   Raises: GraphValueError"""
        if x.shape[-1] != y.shape[0]:
            raise GraphValueError(f"{self.name}: inner dimensions differ, {x.shape[-1]} and {y.shape[0]}")
        common = dtypes.promote(dtypes.name_of(x.dtype), dtypes.name_of(y.dtype))
        with np.errstate(all="ignore"):
            return x.astype(common) @ y.astype(common)

    def dense_product(self, x: Variable, y: Variable) -> Variable:
        """The product as a dense tensor, by the entries of the sparse operands."""
        if x.is_sparse and y.is_sparse:
            return densified(sparse_product(parts_of(x), parts_of(y)))
        return times(parts_of(x), y, self.name) if x.is_sparse else times_from_left(x, parts_of(y), self.name)


@frozen_dataclass
class Dot(ProductOp, MultilinearOp):
    """(x, y) → x @ y, dense, in the promoted dtype; at least one operand is sparse, the other one a matrix or vector.

    Gradient: regular, x ← z̄·yᵀ and y ← xᵀ·z̄, dense for sparse operands too; with `sparse_grad`, those of sparse
    operands are kept at the stored entries only. Where a gradient is used at the entries of a sparse matrix, as that
    of its data is, only these are computed.

    Raises: GraphTypeError for two dense operands or a rank other than 1 or 2, GraphValueError for inner dimensions that
    differ (at the call where they are not known).
    """

    name: ClassVar[str] = "sparse_dot"
    notation: ClassVar[str] = "@"
    is_analytic: ClassVar[bool] = False
    sparse_grad: bool = False

    def infer_type(self, x: TensorType, y: TensorType) -> TensorType:
        return self.common_type(x, y)

    def reference(self, x: Any, y: Any) -> Array:
        found = self.product(x, y)
        return found if isinstance(found, np.ndarray) else found.toarray()

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        return [self.dense_product(*inputs)]

    def adjoints(self, inputs: Sequence[Variable], cotangent: Variable) -> Sequence[Variable]:
        x, y = inputs
        terms = [regular_left(cotangent, y), regular_right(x, cotangent)]
        return [
            at_pattern(term, of) if self.sparse_grad and of.is_sparse else term
            for term, of in zip(terms, inputs, strict=True)
        ]

    def along(self, group: tuple[int, ...], inputs: Sequence[Variable], tangents: Sequence[Variable]) -> Variable:
        return any_product(*(tangents[k] if k in group else x for k, x in enumerate(inputs)))


def regular_left(ct: Variable, y: Variable) -> Variable:
    """z̄·yᵀ, dense: the cotangent of x in x @ y."""
    if y.is_sparse:
        return transposed_matrix(any_product(y, transposed_matrix(ct)))
    return outer(ct, y) if y.ndim == 1 else matmul(ct, transposed_matrix(y))


def regular_right(x: Variable, ct: Variable) -> Variable:
    """xᵀ·z̄, dense: the cotangent of y in x @ y."""
    if x.is_sparse:
        return transposed_matrix(any_product(transposed_matrix(ct), x))
    return outer(x, ct) if x.ndim == 1 else matmul(transposed_matrix(x), ct)


def any_product(x: Variable, y: Variable) -> Variable:
    """x @ y, dense, of any two operands."""
    return Dot()(x, y) if x.is_sparse or y.is_sparse else matmul(x, y)


@frozen_dataclass
class StructuredDot(ProductOp):
    """(x, y) → x @ y in the promoted dtype; at least one operand is sparse, the other one a matrix or vector.

    The product is dense; that of two sparse matrices is sparse, in the format of x, with an entry wherever the patterns
    make one, be it 0.

    Gradient: structured, x ← P(x)∘(z̄·yᵀ) and y ← xᵀ·z̄, at the stored entries where the operand is sparse.

    Raises: GraphTypeError for two dense operands or a rank other than 1 or 2, GraphValueError for inner dimensions that
    differ (at the call where they are not known).
    """

    name: ClassVar[str] = "structured_dot"
    notation: ClassVar[str] = "@"
    gives_canonical: ClassVar[bool] = True

    def infer_type(self, x: TensorType, y: TensorType) -> TensorType:
        return self.sparse_type(x, y) if are_sparse(x, y) else self.common_type(x, y)

    def reference(self, x: Any, y: Any) -> Any:
        return structural_product(self.product(x, y), x, y) if is_matrix(x) and is_matrix(y) else self.product(x, y)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        x, y = inputs
        if x.is_sparse and y.is_sparse:
            return [matrix_of(sparse_product(parts_of(x), parts_of(y)))]
        return [self.dense_product(x, y)]


def _index_dtype(*types: TensorType) -> str:
    return "int64" if any(isinstance(t, SparseTensorType) and t.index_dtype == "int64" for t in types) else "int32"


def are_sparse(*types: TensorType) -> bool:
    """Are all types those of sparse matrices?"""
    return all(isinstance(type, SparseTensorType) for type in types)


def structural_product(product: Any, x: Any, y: Any) -> Any:
    """A SciPy product x @ y with an entry for each entry of the pattern, in the order of `SparseProduct`.

    SciPy may leave out what is 0. The order is part of the meaning: what derivatives give entry by entry follows it.
    """
    y = y.asformat(x.format)
    left, right = (x, canonical_matrix(y)) if x.format == "csr" else (y, canonical_matrix(x))
    p, q = triples(left.indices, left.indptr, right.indptr)
    rows = slices_of(left.indptr)[p]
    indices, indptr, _ = entries_by_first_term(rows, right.indices[q], len(left.indptr) - 1)
    at = entries_at(slices_of(indptr), indices, product.indices, product.indptr)
    data = np.append(product.data, product.dtype.type(0))[at]
    return scipy_matrix(x.format, data, indices, indptr, product.shape)


def _checked(name: str, x: Any, y: Any) -> None:
    """Check that no operand has rank 0.   Raises: GraphTypeError with the hint to multiply"""
    for operand in (x, y):
        if getattr(operand, "ndim", 0 if isinstance(operand, int | float) else None) == 0:
            raise GraphTypeError(f"{name}: expected a vector or a matrix, found a scalar", hint="use x * y")


@coerced
def dot(x: Any, y: Any, sparse_grad: bool = False) -> Variable:
    """x @ y, dense, of a sparse matrix and a matrix or vector; see Dot.   Raises: as Dot."""
    _checked("sparse_dot", x, y)
    return Dot(sparse_grad)(x, y)  # type: ignore[no-any-return]


@coerced
def structured_dot(x: Any, y: Any) -> Variable:
    """x @ y of a sparse matrix and a matrix or vector, with a gradient at stored entries only; see StructuredDot.

    Raises: as StructuredDot.
    """
    _checked("structured_dot", x, y)
    return StructuredDot()(x, y)  # type: ignore[no-any-return]
