"""Products at stored entries only: sampling_dot, and the gradient of a structured product with respect to data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Op
from aotensor.graph.sparse_type import SparseTensorType, check_structure
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.elementwise.arithmetic import mul
from aotensor.ops.shape.extent_checks import fitting
from aotensor.ops.shape.extents import dim_of, extent_of
from aotensor.sparse.checks import CheckedStructure
from aotensor.sparse.compressed_axes import at_columns, at_rows
from aotensor.sparse.csm import MatrixShape, like, matrix_of, parts_of
from aotensor.sparse.op import Compressed, SparseOp, as_sparse, need_sparse, scipy_matrix, type_error
from aotensor.sparse.operand_checks import as_column
from aotensor.sparse.patterns import canonical
from aotensor.sparse.product.dots import sum_of_products


def products_at(p: Compressed, d: Variable, e: Variable, name: str) -> Variable:
    """Σ_k d[r, k]·e[c, k] for every stored entry (r, c).   d: (m, k), e: (n, k) → (nnz,)

    name: of the op, for the errors where extents differ.
    """
    rows = at_rows(p, as_column(d, p, f"{name}: rows"))
    columns = at_columns(p, fitting(e, 0, p.columns, p.dims[1], f"{name}: columns"))
    return sum_of_products(rows, columns)


def _check_pair(name: str, d: TensorType, e: TensorType, rows: Any, columns: Any) -> None:
    """Check that d and e are matrices with these numbers of rows and columns.   Raises: GraphTypeError,
    GraphValueError
    """
    if isinstance(d, SparseTensorType) or isinstance(e, SparseTensorType) or (d.rank, e.rank) != (2, 2):
        raise GraphTypeError(f"{name}: expected two dense matrices, found {d} and {e}")
    (m, k), (n, other) = d.static_shape, e.static_shape
    for what, a, b in (("inner dimensions", k, other), ("rows", m, rows), ("columns", n, columns)):
        if isinstance(a, int) and isinstance(b, int) and a != b:
            raise GraphValueError(f"{name}: {what} differ, {a} and {b}")


@frozen_dataclass
class SamplingDot(SparseOp):
    """(d, e, p) → p∘(d·eᵀ): products of rows, at the stored entries of p only, each times the entry.

    d: (m, k), e: (n, k), dense; p: (m, n), sparse → sparse, pattern and format of p, in the promoted dtype.

    Gradient: d ← (p∘z̄)·e and e ← (p∘z̄)ᵀ·d, dense; p ← z̄∘(d·eᵀ) at the stored entries.

    Raises: GraphTypeError for other kinds, GraphValueError for extents that differ (at the call where they are not
    known).
    """

    name: ClassVar[str] = "sampling_dot"

    def infer_type(self, d: TensorType, e: TensorType, p: TensorType) -> TensorType:
        p = need_sparse(self, p)
        _check_pair(self.name, d, e, *p.static_shape)
        return p.with_dtype(dtypes.promote(d.dtype, e.dtype, p.dtype))

    def reference(self, d: Array, e: Array, p: Any) -> Any:
        if d.shape[1] != e.shape[1] or p.shape != (len(d), len(e)):
            raise GraphValueError(
                f"{self.name}: expected shapes (m, k), (n, k) and (m, n), found {d.shape}, {e.shape} and {p.shape}"
            )
        at = p.tocoo(copy=False)
        with np.errstate(all="ignore"):
            data = p.data * np.einsum("pk,pk->p", d[at.row], e[at.col])
        return scipy_matrix(p.format, data, p.indices, p.indptr, p.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        d, e, x = inputs
        p = parts_of(x)
        return [like(x, mul(p.data, products_at(p, d, e, self.name)))]


@coerced
def sampling_dot(x: Any, y: Any, p: Any) -> Variable:
    """p∘(x·yᵀ), computed at the stored entries of p only; see SamplingDot.   Raises: as SamplingDot."""
    return SamplingDot()(x, y, as_sparse(p))  # type: ignore[no-any-return]


@frozen_dataclass
class StructuredDotGrad(Op):
    """(indices, indptr, d, ḡ) → the gradient of dot(A, d) with respect to the data of A: ḡ[r, :]·d[c, :] per entry.

    indices, indptr: the pattern of A, (m, n). d: (n, k). ḡ: (m, k), the cotangent of the product. → (nnz,)

    Gradient: it is linear in d and in ḡ.

    Raises: GraphTypeError for other kinds, GraphValueError for extents that differ or a pattern that is none (at the
    call where they are not known).
    """

    format: ClassVar[str]

    def infer_type(self, indices: TensorType, indptr: TensorType, d: TensorType, ct: TensorType) -> TensorType:
        for found in (indices, indptr):
            if found.rank != 1 or found.dtype not in ("int32", "int64"):
                raise type_error(self, "vectors of int32 or int64 for the pattern", indices, indptr)
        _check_pair(self.name, ct, d, None, None)
        return TensorType(dtypes.promote(d.dtype, ct.dtype), indices.shape)

    def reference(self, indices: Array, indptr: Array, d: Array, ct: Array) -> Array:
        shape = (len(ct), len(d))
        check_structure(indices, indices, indptr, shape, self.format)
        at = scipy_matrix(self.format, np.ones(len(indices)), indices, indptr, shape).tocoo(copy=False)
        with np.errstate(all="ignore"):
            found: Array = np.einsum("pk,pk->p", ct[at.row], d[at.col])
        return found

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        indices, indptr, d, ct = inputs
        rows, columns = extent_of(ct, 0), extent_of(d, 0)
        shape = MatrixShape()(as_tensor(rows), as_tensor(columns))
        _, indices, indptr = CheckedStructure(self.format)(indices, indices, indptr, shape)
        p = Compressed(
            self.format, indices, indices, indptr, rows, columns, (dim_of(rows), dim_of(columns)), is_canonical=False
        )
        return [products_at(p, ct, d, self.name)]


class StructuredDotGradCSR(StructuredDotGrad):
    """StructuredDotGrad for a matrix in compressed rows."""

    format: ClassVar[str] = "csr"
    name: ClassVar[str] = "structured_dot_grad_csr"
    notation: ClassVar[str] = "structured_dot_grad"


class StructuredDotGradCSC(StructuredDotGrad):
    """StructuredDotGrad for a matrix in compressed columns."""

    format: ClassVar[str] = "csc"
    name: ClassVar[str] = "structured_dot_grad_csc"
    notation: ClassVar[str] = "structured_dot_grad"


sdg_csr: Final = StructuredDotGradCSR()
sdg_csc: Final = StructuredDotGradCSC()


@coerced
def structured_dot_grad(sparse_A: Any, dense_B: Any, ga: Any) -> Variable:
    """P(A)∘(ḡ·Bᵀ): the gradient of structured_dot(A, B) with respect to A, sparse, in its format.

    A: (m, n), B: (n, k), ḡ: (m, k). Duplicate entries of A are there once.   Raises: as StructuredDotGrad.
    """
    A = as_sparse(sparse_A)
    d, ct = as_tensor(dense_B), as_tensor(ga)
    _check_pair("structured_dot_grad", ct.tensor_type, d.tensor_type, *A.static_shape)
    p = canonical(parts_of(A))
    return matrix_of(replace(p, data=products_at(replace(p, data=p.indices), ct, d, "structured_dot_grad")))
