"""Conversion between sparse and dense matrices, and the transpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.graph.coercion import coerced
from aotensor.graph.op import has_value
from aotensor.graph.sparse_type import (
    BLOCKED,
    SparseTensorType,
    SparseVariable,
    canonical_matrix,
    container,
    is_matrix,
)
from aotensor.graph.variable import Variable, Variables, as_tensor, constant
from aotensor.ops.elementwise.compare import cast as cast_dense
from aotensor.ops.elementwise.compare import neq
from aotensor.ops.mask import Nonzero
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.cumulate import cumsum
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import atleast_2d, dimshuffle, matrix_transpose
from aotensor.ops.shape.extents import SymbolicExtent, extent_of, product
from aotensor.ops.shape.join import join
from aotensor.ops.shape.rearrange import tile
from aotensor.ops.shape.reshape import ravel, reshape
from aotensor.sparse.checks import check_countable
from aotensor.sparse.compressed_axes import TakeAt
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import (
    OTHER,
    Compressed,
    SparseOp,
    as_sparse,
    as_sparse_or_tensor,
    need_sparse,
    scipy_matrix,
    type_error,
)
from aotensor.sparse.patterns import other_format
from aotensor.sparse.reformat import in_format, to_bsr
from aotensor.sparse.sample import at_pattern, densified


@frozen_dataclass
class DenseFromSparse(SparseOp):
    """Convert a sparse matrix to a dense one.   x: (m, n) sparse → (m, n), dtype of x

    structured: the gradient is kept on the pattern of x; else it is the true one, all of it stored.
    """

    name: ClassVar[str] = "dense_from_sparse"
    notation: ClassVar[str] = "{0}"
    takes_blocks: ClassVar[bool] = True
    structured: bool = True

    def infer_type(self, x: TensorType) -> TensorType:
        return TensorType(need_sparse(self, x).dtype, x.shape)

    def reference(self, x: Any) -> Array:
        found: Array = x.toarray()
        return found

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return [densified(parts_of(inputs[0]))]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (ct,) = inputs, cotangents
        return [at_pattern(ct, x) if self.structured else everywhere_as(x, ct)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [as_dense(tangents[0])]


@coerced
def dense_from_sparse(x: Any, structured: bool = True) -> Variable:
    """The dense matrix of a sparse one; a dense variable passes.   (m, n) → (m, n)

    structured: the gradient has the pattern of x; else it stores every element. Both are in the format of x.

    Raises: GraphTypeError for what is neither.
    """
    x = as_sparse_or_tensor(x)
    found: Variable = DenseFromSparse(structured)(x) if x.is_sparse else x
    return found


def as_dense(x: Variable) -> Variable:
    """A sparse or dense derivative as a dense matrix, with the regular gradient of all elements."""
    return dense_from_sparse(x, structured=False)


@frozen_dataclass
class SparseFromDense(SparseOp):
    """The elements that are not 0, in the given format.   x: (m, n), (n,) or () → (m, n), (1, n) or (1, 1) sparse

    A nan is stored, −0.0 is not. Gradient: regular, so that elements that are not stored have one; `structured`: only
    those that are.

    Raises: GraphTypeError for a rank above 2, and for a dtype that sparse matrices do not have.
    """

    name: ClassVar[str] = "sparse_from_dense"
    notation: ClassVar[str] = "csr_from_dense"
    format: str
    structured: bool = False

    def convert_inputs(self, inputs: Sequence[Any]) -> list[Variable]:
        return [atleast_2d(x) for x in super().convert_inputs(inputs)]

    def infer_type(self, x: TensorType) -> TensorType:
        if isinstance(x, SparseTensorType) or x.rank != 2:
            raise type_error(self, "a dense tensor of rank 2 at most", x)
        return SparseTensorType(self.format, x.dtype, x.shape)

    def reference(self, x: Array) -> Any:
        return container(self.format)(x)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        (x,) = inputs
        type = SparseTensorType(self.format, x.dtype, x.tensor_type.shape)
        is_csr = self.format == "csr"
        mask = neq(x, constant(0, dtype=x.dtype))
        major, minor = Nonzero().apply(mask if is_csr else matrix_transpose(mask)).outputs
        rows, columns = (major, minor) if is_csr else (minor, major)
        extents, dims = (extent_of(x, 0), extent_of(x, 1)), (x.tensor_type.shape[0], x.tensor_type.shape[1])
        data = TakeAt()(ravel(x), rows * as_tensor(extents[1]) + columns)
        counts = sum_over(cast_dense(mask, type.index_dtype), axis=1 if is_csr else 0, dtype=type.index_dtype)
        counts = check_countable(counts, sum_over(counts, dtype="int64"), type.index_dtype, _ENTRIES)
        indices = cast_dense(minor, type.index_dtype)
        return [matrix_of(Compressed(self.format, data, indices, starts(counts), *extents, dims, is_canonical=True))]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (y,), (ct,) = outputs, cotangents
        return [as_dense(at_pattern(ct, y) if self.structured else ct)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [at_pattern(tangents[0], outputs[0])]

    def is_dual(self) -> bool:
        return self.structured  # the tangent is kept at what is stored, the regular cotangent is not


def starts(counts: Variable) -> Variable:
    """indptr of slices with given numbers of entries: 0 and their cumulative sums."""
    return join(0, constant([0], dtype=counts.dtype), cumsum(counts, axis=0, dtype=counts.dtype))


@coerced
def csr_from_dense(x: Any, structured: bool = False) -> SparseVariable:
    """The nonzero elements in compressed rows; see SparseFromDense. A sparse matrix is converted to csr."""
    return from_dense(x, "csr", structured)


@coerced
def csc_from_dense(x: Any, structured: bool = False) -> SparseVariable:
    """The nonzero elements in compressed columns; see SparseFromDense. A sparse matrix is converted to csc."""
    return from_dense(x, "csc", structured)


@coerced
def bsr_from_dense(x: Any, blocksize: Sequence[int], structured: bool = False) -> SparseVariable:
    """The blocks with a nonzero element; see SparseFromDense. A sparse matrix is converted to bsr.

    Raises: as csr_from_dense, and GraphValueError for a blocksize that does not divide the extents (at the call where
    they are not known).
    """
    return to_bsr(csr_from_dense(x, structured), blocksize)


def from_dense(x: Any, format: str, structured: bool = False) -> SparseVariable:
    """The nonzero elements of a dense matrix in a given format; see SparseFromDense."""
    if isinstance(x, SparseVariable) or is_matrix(x):
        return in_format(as_sparse(x), format)
    return SparseFromDense(format, structured)(x)  # type: ignore[no-any-return]


@frozen_dataclass
class StoredEverywhere(SparseOp):
    """A dense matrix as a sparse one that stores all of its elements.   x: (m, n) → (m, n) sparse, dtype of x

    Gradient: regular, and dense.

    blocksize: of bsr; the extents are known to be multiples of it.

    Raises: GraphTypeError for what is not a dense matrix.
    """

    name: ClassVar[str] = "stored_everywhere"
    notation: ClassVar[str] = "{0}"
    takes_blocks: ClassVar[bool] = True
    format: str
    blocksize: tuple[int, int] | None = None

    def infer_type(self, x: TensorType) -> TensorType:
        if isinstance(x, SparseTensorType) or x.rank != 2:
            raise type_error(self, "a dense matrix", x)
        return SparseTensorType(self.format, x.dtype, x.shape, blocksize=self.blocksize)

    def reference(self, x: Array) -> Any:
        if self.blocksize is not None:
            full = StoredEverywhere("csr").reference(x)
            return canonical_matrix(full.tobsr(self.blocksize))
        (rows, columns), is_csr = x.shape, self.format == "csr"
        major, minor = (rows, columns) if is_csr else (columns, rows)
        data = np.ravel(x, order="C" if is_csr else "F")
        wide = SparseTensorType(self.format, x.dtype.name, x.shape).index_dtype
        indices, indptr = np.tile(np.arange(minor, dtype=wide), major), np.arange(major + 1, dtype=wide) * minor
        return scipy_matrix(self.format, data, indices, indptr.astype(wide), (rows, columns))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        (x,), format = inputs, self.format
        rows, columns = extent_of(x, 0), extent_of(x, 1)
        dims = x.tensor_type.shape[0], x.tensor_type.shape[1]
        if self.blocksize is not None:
            return [matrix_of(_full_blocks(x, (rows, columns), dims, self.blocksize))]
        slices = x if format == "csr" else matrix_transpose(x)
        major, minor = (rows, columns) if format == "csr" else (columns, rows)
        wide = SparseTensorType(format, x.dtype, dims).index_dtype
        indices = tile(arange(minor, dtype=wide), major)
        indptr = _starts_of_full(major, minor, wide)
        return [matrix_of(Compressed(format, ravel(slices), indices, indptr, rows, columns, dims, is_canonical=True))]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [as_dense(cotangents[0])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [self(as_dense(tangents[0]))]


_ENTRIES: Final = "the sparse form of a dense matrix has {found} entries"


def _starts_of_full(major: SymbolicExtent, minor: SymbolicExtent, wide: str) -> Variable:
    """indptr of a matrix that stores every element, in the dtype `wide`."""
    width = check_countable(as_tensor(minor), product([major, minor]), wide, _ENTRIES)
    return arange(as_tensor(major) + 1, dtype=wide) * cast_dense(width, wide)


def _full_blocks(
    x: Variable, extents: tuple[SymbolicExtent, SymbolicExtent], dims: tuple[Dim, Dim], blocksize: tuple[int, int]
) -> Compressed:
    """A dense matrix as bsr, with all blocks stored."""
    height, width = blocksize
    major, minor = extents[0] // height, extents[1] // width
    apart = dimshuffle(reshape(x, (major, height, minor, width)), [0, 2, 1, 3])
    wide = SparseTensorType("csr", x.dtype, dims).index_dtype
    indices = tile(arange(minor, dtype=wide), major)
    indptr = _starts_of_full(major, minor, wide)
    data = reshape(apart, (extent_of(indices, 0), height, width))
    return Compressed("bsr", data, indices, indptr, *extents, dims, is_canonical=True, blocksize=blocksize)


def stored_everywhere(x: Variable, format: str, blocksize: tuple[int, int] | None = None) -> SparseVariable:
    """A dense matrix as a sparse one that stores all of its elements."""
    return StoredEverywhere(format, blocksize)(x)  # type: ignore[no-any-return]


def dense_origin(x: Variable) -> Variable:
    """The dense matrix from which x was made by StoredEverywhere; x itself if it was not.

    Rules that take a cotangent read of a dense one what they need of it; a sparse one they would merge entry by entry.
    """
    is_full = x.owner is not None and isinstance(x.owner.op, StoredEverywhere)
    return x.owner.inputs[0] if is_full else x  # type: ignore[union-attr]


def everywhere_as(x: Variable, term: Variable) -> Variable:
    """A dense derivative converted to the format of a sparse x, with all elements stored; others are unchanged."""
    is_dense = has_value(term) and not term.is_sparse
    if not isinstance(x, SparseVariable) or not is_dense:
        return term
    return stored_everywhere(term, x.format, x.blocksize)


@frozen_dataclass
class Transpose(SparseOp):
    """xᵀ in the other format, on the same vectors.   (m, n) csr → (n, m) csc, and the other way

    That of bsr is bsr, in new vectors: blocks in another order, each transposed.

    Gradient: regular.
    """

    name: ClassVar[str] = "sparse_transpose"
    takes_blocks: ClassVar[bool] = True

    def infer_type(self, x: TensorType) -> TensorType:
        x = need_sparse(self, x)
        if x.blocksize is None:
            return x.with_shape(x.shape[::-1]).in_format(OTHER[x.format])
        return x.with_shape((None, None)).in_format(BLOCKED, x.blocksize[::-1]).with_shape(x.shape[::-1])

    def reference(self, x: Any) -> Any:
        return canonical_matrix(x.T) if x.format == BLOCKED else x.T

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        p = parts_of(inputs[0])
        return [matrix_of(p.transposed if p.blocksize is None else other_format(p.transposed))]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [transposed(cotangents[0])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [transposed(tangents[0])]


def transpose(x: Any) -> SparseVariable:
    """xᵀ in the other format, on the same vectors; the transpose of a transpose is the matrix itself.

    Raises: GraphTypeError unless x is a sparse matrix.
    """
    x = as_sparse(x)
    if x.owner is not None and isinstance(x.owner.op, Transpose):
        return as_sparse(x.owner.inputs[0])
    return Transpose()(x)  # type: ignore[no-any-return]


def transposed(x: Variable) -> Variable:
    """The transpose of a sparse or a dense matrix."""
    return transpose(x) if x.is_sparse else matrix_transpose(x)
