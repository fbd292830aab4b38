"""The vectors of a matrix, matrices like it, and matrices of rows at given indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import DTypeLike

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.sparse_type import SparseTensorType, SparseVariable
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.create import ones_like, zeros
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import matrix_transpose
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.rearrange import tile
from aotensor.ops.shape.reshape import ravel
from aotensor.sparse.checks import CheckedStructure
from aotensor.sparse.csm import CSC, CSR, CSMProperties, MatrixShape, matrix_of, parts_of
from aotensor.sparse.op import Compressed, SparseOp, as_sparse, type_error
from aotensor.sparse.patterns import canonical, slices_of
from aotensor.sparse.sample import sample_at

csm_properties: Final = CSMProperties()


def csm_data(x: Any) -> Variable:
    """The stored values.   → (nnz,)   Raises: GraphTypeError unless x is a sparse matrix."""
    return _component(x, 0)


def csm_indices(x: Any) -> Variable:
    """The column (csr) or row (csc) of each stored entry.   → (nnz,)   Raises: as csm_data."""
    return _component(x, 1)


def csm_indptr(x: Any) -> Variable:
    """The position of the first entry of each row (csr) or column (csc).   → (major + 1,)   Raises: as csm_data."""
    return _component(x, 2)


def csm_shape(x: Any) -> Variable:
    """The extents, in the dtype of the indices.   → (2,)   Raises: as csm_data."""
    return _component(x, 3)


def _component(x: Any, position: int) -> Variable:
    found: Variable = csm_properties(as_sparse(x))[position]
    return found


@coerced
def sp_ones_like(x: Any, dtype: DTypeLike | None = None) -> SparseVariable:
    """A matrix with the pattern of x and all entries 1.   dtype: that of x by default. x gets no gradient."""
    p = canonical(parts_of(as_sparse(x)))
    return matrix_of(replace(p, data=ones_like(p.data, dtype)))


@coerced
def sp_zeros_like(x: Any, dtype: DTypeLike | None = None) -> SparseVariable:
    """A matrix of the shape and format of x that stores no entries.   dtype: that of x by default. x gets no
    gradient.
    """
    p = parts_of(as_sparse(x))
    return matrix_of(empty_like(p, p.data.dtype if dtype is None else dtype))


def empty_like(p: Compressed, dtype: DTypeLike) -> Compressed:
    """A matrix without entries, with the shape and format of p."""
    wide = p.indices.dtype
    slices = extent_of(p.indptr, 0)
    indices, indptr = zeros((0,), wide), zeros((slices,), wide)
    return replace(p, data=zeros((0, *(p.blocksize or ())), dtype), indices=indices, indptr=indptr, is_canonical=True)


def sparse_shape(x: Any) -> Variable:
    """int64 (rows, columns)."""
    p = parts_of(as_sparse(x))
    return MatrixShape()(as_tensor(p.rows), as_tensor(p.columns))  # type: ignore[no-any-return]


def sparse_size(x: Any) -> Variable:
    """int64 number of stored entries."""
    return cast(as_tensor(extent_of(parts_of(as_sparse(x)).data, 0)), "int64")


# --- ops -------------------------------------------------------------------------------------------------------------


@frozen_dataclass
class CSMGrad(SparseOp):
    """The gradient of the data of a matrix x from a cotangent g of its shape and format: g at the stored entries of x.

    (x_data, x_indices, x_indptr, x_shape, g_data, g_indices, g_indptr, g_shape) → (nnz of x,), dtype of g. Entries of x
    that g does not store get 0; those that x stores several times get the same. Linear in g_data.

    Raises: GraphTypeError for vectors of other kinds, GraphValueError at the call for vectors that do not form a
    matrix.
    """

    name: ClassVar[str] = "csm_grad"

    def infer_type(self, *types: TensorType) -> TensorType:
        if len(types) != 8:
            raise GraphTypeError(
                f"expected data, indices, indptr and shape of x and of g, 8 inputs, found {len(types)}"
            )
        for four in (types[:4], types[4:]):
            CSR.infer_type(*four)
        return TensorType(types[4].dtype, types[0].shape)

    def reference(self, *vectors: Array) -> Array:
        x, g = (
            CSR.reference(data, indices, indptr, _as_rows(indptr, shape))
            for data, indices, indptr, shape in (vectors[:4], vectors[4:])
        )
        found: Array = g.toarray()[slices_of(x.indptr), x.indices]
        return found

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        matrices = []
        for data, indices, indptr, shape in (inputs[:4], inputs[4:]):
            major = as_tensor(extent_of(indptr, 0)) - 1
            minor = sum_over(shape) - major
            matrices.append(CSR(data, indices, indptr, MatrixShape()(major, minor)))
        x, g = matrices
        return [sample_at(g, x)]


def _as_rows(indptr: Array, shape: Array) -> Array:
    """(number of slices, extent of a slice) of a matrix of either format, from its indptr and shape."""
    return np.array([len(indptr) - 1, shape.sum() - len(indptr) + 1])


csm_grad: Final = CSMGrad()


@frozen_dataclass
class ConstructSparseFromList(SparseOp):
    """Row k of `values` put into row ilist[k] of a csc matrix of the extents of a template; repeated rows add up.

    template: (m, n) dense; only its extents are used. values: (k, n). ilist: (k,) integers from 0 to m − 1.
    → (m, n) csc, dtype of values, all k·n entries stored.

    Gradient: values ← ḡ[ilist, :].

    Raises: GraphTypeError for tensors of other ranks or positions that are not integers; GraphValueError for extents
    that do not fit, at run time where they are not known, and for a row outside of the matrix.
    """

    name: ClassVar[str] = "construct_sparse_from_list"

    def infer_type(self, template: TensorType, values: TensorType, ilist: TensorType) -> SparseTensorType:
        for what, found in (("a template", template), ("values", values)):
            if isinstance(found, SparseTensorType) or found.rank != 2:
                raise type_error(self, f"a dense matrix as {what}", found)
        if ilist.rank != 1 or ilist.dtype not in dtypes.INTEGERS:
            raise type_error(self, "a vector of integers as ilist", ilist)
        for what, one, other in (
            ("columns of template and values", template.static_shape[1], values.static_shape[1]),
            ("rows of values and their positions", values.static_shape[0], ilist.static_shape[0]),
        ):
            if None not in (one, other) and one != other:
                raise GraphValueError(f"{what} differ: {one} and {other}")
        return SparseTensorType("csc", values.dtype, template.shape, is_canonical=False)

    def reference(self, template: Array, values: Array, ilist: Array) -> Any:
        count, columns = values.shape
        if count != len(ilist):
            raise GraphValueError(f"{self.name}: values has {count} rows, but ilist has {len(ilist)} elements")
        indptr = np.arange(columns + 1) * count
        return CSC.reference(values.T.ravel(), np.tile(ilist, columns), indptr, np.array(template.shape))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        template, values, ilist = inputs
        count, columns = (as_tensor(extent_of(values, axis)) for axis in range(2))
        rows, width = (extent_of(template, axis) for axis in range(2))
        vectors = (
            ravel(matrix_transpose(values)),
            tile(ilist, columns),
            arange(columns + 1) * count,
        )
        shape = MatrixShape()(as_tensor(rows), as_tensor(width))
        data, *structure = CheckedStructure("csc").apply(*vectors, shape).outputs
        type = self.infer_type(template.tensor_type, values.tensor_type, ilist.tensor_type)
        indices, indptr = (cast(x, type.index_dtype) for x in structure)
        dims = template.tensor_type.shape[0], template.tensor_type.shape[1]
        return [matrix_of(Compressed("csc", data, indices, indptr, rows, width, dims, is_canonical=False))]


construct_sparse_from_list: Final = ConstructSparseFromList()
