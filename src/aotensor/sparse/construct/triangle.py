"""The entries of a sparse matrix on one side of a diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType, within_reach
from aotensor.graph.coercion import coerced
from aotensor.graph.sparse_type import SparseVariable
from aotensor.graph.variable import Variable, Variables, constant
from aotensor.ops.diagonal import tril as dense_tril
from aotensor.ops.diagonal import triu as dense_triu
from aotensor.ops.elementwise.compare import cast, ge, le
from aotensor.sparse.compressed_axes import major_of_entries
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import SparseOp, as_sparse, need_sparse, scipy_matrix
from aotensor.sparse.patterns import compress, slices_of


@frozen_dataclass
class SparseTriangle(SparseOp):
    """The entries x[i, j] with j − i ≤ offset (lower) or j − i ≥ offset (upper), in the format and order of x.

    Stored zeros stay. Gradient: regular, the same triangle of the cotangent.
    """

    name: ClassVar[str] = "sparse_triangle"
    notation: ClassVar[str] = "tril"
    is_lower: bool
    offset: int

    def infer_type(self, x: TensorType) -> TensorType:
        return need_sparse(self, x)

    def reference(self, x: Any) -> Any:
        major, minor = slices_of(x.indptr), x.indices.astype(np.int64)
        diagonals = minor - major if x.format == "csr" else major - minor
        keep = diagonals <= self.offset if self.is_lower else diagonals >= self.offset
        counts = np.bincount(major[keep], minlength=len(x.indptr) - 1)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(x.indptr.dtype)
        return scipy_matrix(x.format, x.data[keep], x.indices[keep], indptr, x.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        p = parts_of(inputs[0])
        major, minor = cast(major_of_entries(p), "int64"), cast(p.indices, "int64")
        diagonals = minor - major if p.by_rows else major - minor
        keep = (le if self.is_lower else ge)(diagonals, constant(self.offset, dtype="int64"))
        return [matrix_of(compress(p, keep))]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [self._triangle_of(cotangents[0])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [self._triangle_of(tangents[0])]

    def _triangle_of(self, x: Variable) -> Variable:
        """The triangle of a sparse or dense matrix."""
        found: Variable = self(x) if x.is_sparse else (dense_tril if self.is_lower else dense_triu)(x, self.offset)
        return found


@coerced
def tril(x: Any, k: int = 0) -> SparseVariable:
    """The entries of x on diagonal k and below it, in the format of x (csr for bsr); stored zeros stay.

    Raises: GraphTypeError unless x is a sparse matrix and k an int.
    """
    return SparseTriangle(is_lower=True, offset=within_reach(k))(as_sparse(x))  # type: ignore[no-any-return]


@coerced
def triu(x: Any, k: int = 0) -> SparseVariable:
    """The entries of x on diagonal k and above it, in the format of x (csr for bsr); stored zeros stay.

    Raises: GraphTypeError unless x is a sparse matrix and k an int.
    """
    return SparseTriangle(is_lower=False, offset=within_reach(k))(as_sparse(x))  # type: ignore[no-any-return]
