"""What matrices are made of and what they are made like: their vectors, ones and zeros on a pattern, lists of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from numpy.typing import DTypeLike

from aotensor.graph.public import public
from aotensor.graph.sparse_type import SparseVariable
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.create import ones_like, zeros
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.shape.extents import extent_of
from aotensor.sparse.csm import CSMProperties, MatrixShape, matrix_of, parts_of
from aotensor.sparse.op import Parts, as_sparse
from aotensor.sparse.patterns import canonical

csm_properties: Final = CSMProperties()


def csm_data(x: Any) -> Variable:
    """The stored values.   → (nnz,)   Raises: GraphTypeError unless x is a sparse matrix."""
    return _component(x, 0)


def csm_indices(x: Any) -> Variable:
    """Columns of the entries of csr, rows of those of csc.   → (nnz,)   Raises: as csm_data."""
    return _component(x, 1)


def csm_indptr(x: Any) -> Variable:
    """Where the entries of each row of csr, or column of csc, begin.   → (major + 1,)   Raises: as csm_data."""
    return _component(x, 2)


def csm_shape(x: Any) -> Variable:
    """The extents, in the dtype of the indices.   → (2,)   Raises: as csm_data."""
    return _component(x, 3)


def _component(x: Any, position: int) -> Variable:
    found: Variable = csm_properties(as_sparse(x))[position]
    return found


@public
def sp_ones_like(x: Any, dtype: DTypeLike | None = None) -> SparseVariable:
    """The pattern of x with ones, in its dtype or another one. Nothing flows back to x."""
    p = canonical(parts_of(as_sparse(x)))
    return matrix_of(replace(p, data=ones_like(p.data, dtype)))


@public
def sp_zeros_like(x: Any, dtype: DTypeLike | None = None) -> SparseVariable:
    """A matrix of the shape and format of x that stores nothing, in its dtype or another one. Nothing flows back."""
    p = parts_of(as_sparse(x))
    return matrix_of(empty_like(p, p.data.dtype if dtype is None else dtype))


def empty_like(p: Parts, dtype: DTypeLike) -> Parts:
    """A matrix without entries in the shape of another one."""
    wide = p.indices.dtype
    slices = extent_of(p.indptr, 0)
    indices, indptr = zeros((0,), wide), zeros((slices,), wide)
    return replace(p, data=zeros((0,), dtype), indices=indices, indptr=indptr, is_canonical=True)


def sparse_shape(x: Any) -> Variable:
    """int64 (rows, columns)."""
    p = parts_of(as_sparse(x))
    return MatrixShape()(as_tensor(p.rows), as_tensor(p.columns))  # type: ignore[no-any-return]


def sparse_size(x: Any) -> Variable:
    """int64 number of stored entries."""
    return cast(as_tensor(extent_of(parts_of(as_sparse(x)).data, 0)), "int64")


public(sparse_shape, "sparse_shape")
public(sparse_size, "sparse_size")
