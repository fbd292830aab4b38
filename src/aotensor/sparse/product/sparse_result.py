"""true_dot: a product with a sparse operand that is sparse itself, with a true gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType
from aotensor.graph.coercion import coerced
from aotensor.graph.op import connected, sum_terms
from aotensor.graph.sparse_type import is_matrix, scipy_sparse
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.create import alloc, ones_like
from aotensor.ops.elementwise.arithmetic import add, mul
from aotensor.ops.elementwise.compare import cast, gt
from aotensor.ops.ranges import arange
from aotensor.ops.shape.extents import dim_of, extents_of
from aotensor.ops.shape.reshape import ravel
from aotensor.sparse.compressed_axes import at_columns, at_rows, sum_columns, sum_rows
from aotensor.sparse.convert import everywhere_as, transposed
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import Compressed
from aotensor.sparse.patterns import compress
from aotensor.sparse.product.dots import ProductOp, any_product, structural_product, transposed_matrix
from aotensor.sparse.sparse_product import sparse_product


@frozen_dataclass
class TrueDot(ProductOp):
    """(x, y) → x @ y as a sparse matrix in the promoted dtype; two matrices, at least one of them sparse.

    The format is that of the first sparse operand. Entries are where the patterns make one, be it 0; a dense operand
    counts as one that stores everything.

    Gradient: regular, x ← z̄·yᵀ and y ← xᵀ·z̄, sparse as z̄ is. grad_preserves_dense: that of a dense operand is dense.

    Raises: GraphTypeError for two dense operands or a rank other than 2, GraphValueError for inner dimensions that
    differ (at the call where they are not known).
    """

    name: ClassVar[str] = "true_dot"
    notation: ClassVar[str] = "@"
    takes_blocks: ClassVar[bool] = False
    gives_canonical: ClassVar[bool] = True
    grad_preserves_dense: bool = True

    def infer_type(self, x: TensorType, y: TensorType) -> TensorType:
        return self.sparse_type(x, y)

    def reference(self, x: Any, y: Any) -> Any:
        found = self.product(x, y)
        if is_matrix(x) and is_matrix(y):
            return structural_product(found, x, y)
        stored = x.tocsr() if is_matrix(x) else y.tocsc()
        filled = np.diff(stored.indptr) > 0
        is_stored = np.broadcast_to(filled[:, None] if is_matrix(x) else filled, found.shape)
        entries = scipy_sparse().coo_matrix((found[is_stored], is_stored.nonzero()), shape=found.shape)
        return entries.asformat(x.format if is_matrix(x) else y.format)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        x, y = inputs
        if x.is_sparse and y.is_sparse:
            return [matrix_of(sparse_product(parts_of(x), parts_of(y)))]
        p = parts_of(x if x.is_sparse else y)
        marks = ones_like(p.indices)
        full = full_pattern(self.dense_product(x, y), p.format, p.indices.dtype)
        if x.is_sparse:
            keep = at_rows(full, gt(sum_rows(p, marks), 0))
        else:
            keep = at_columns(full, gt(sum_columns(p, marks), 0))
        return [matrix_of(compress(full, keep))]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x, y), (ct,) = inputs, cotangents
        if not ct.is_sparse:
            terms = [any_product(ct, transposed_matrix(y)), any_product(transposed_matrix(x), ct)]
            return [self._stored(x, terms[0], outputs[0]), self._stored(y, terms[1], outputs[0])]
        for_x, for_y = self._term(x, ct, transposed_matrix(y)), self._term(y, transposed_matrix(x), ct)
        if for_y.is_sparse and y.is_sparse and for_y.type.format != y.type.format:
            for_y = transposed(self(transposed_matrix(ct), x))
        return [for_x, for_y]

    def _stored(self, of: Variable, term: Variable, y: Variable) -> Variable:
        """A dense product as the cotangent of `of`: stored everywhere, or dense if `of` is dense and
        grad_preserves_dense.
        """
        if of.is_sparse:
            return everywhere_as(of, term)
        return term if self.grad_preserves_dense else everywhere_as(y, term)

    def _term(self, of: Variable, a: Variable, b: Variable) -> Variable:
        """a @ b as a cotangent of `of`: dense for a dense `of` if grad_preserves_dense, else sparse."""
        return any_product(a, b) if self.grad_preserves_dense and not of.is_sparse else self(a, b)

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        x, y = inputs
        pairs = [(x, t) if k else (t, y) for k, t in connected(tangents).items()]
        return [sum_terms([self._tangent(a, b, x.is_sparse) for a, b in pairs], add)]

    def _tangent(self, a: Variable, b: Variable, is_first: bool) -> Variable:
        """a @ b as a tangent: sparse if the operand that determines the format is sparse, else dense."""
        return self(a, b) if (a if is_first else b).is_sparse else any_product(a, b)


def full_pattern(dense: Variable, format: str, dtype: str) -> Compressed:
    """A dense matrix as a compressed one with all elements stored.   dtype: of the indices"""
    values = dense if format == "csr" else transposed_matrix(dense)
    major, minor = extents_of(values)
    indices = ravel(alloc(arange(minor, dtype=dtype), major, minor))
    indptr = mul(arange(major + 1, dtype=dtype), cast(as_tensor(minor), dtype))
    rows, columns = extents_of(dense)
    return Compressed(
        format, ravel(values), indices, indptr, rows, columns, (dim_of(rows), dim_of(columns)), is_canonical=True
    )


@coerced
def true_dot(x: Any, y: Any, grad_preserves_dense: bool = True) -> Variable:
    """x @ y as a sparse matrix, with at least one sparse operand; see TrueDot.   Raises: as TrueDot"""
    return TrueDot(grad_preserves_dense)(x, y)  # type: ignore[no-any-return]
