"""Shared parts of the arithmetic of sparse matrices: checked operands, gradient terms, SciPy references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Op
from aotensor.graph.sparse_type import SparseTensorType, SparseVariable, block_extents, canonical_matrix
from aotensor.graph.variable import Variable, constant
from aotensor.ops.shape.extent_checks import fitting
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import Compressed, SparseOp, as_sparse_or_tensor, is_canonical, need_sparse, scipy_matrix
from aotensor.sparse.patterns import canonical, other_format
from aotensor.sparse.reformat import PassingOp, in_format

# --- operands --------------------------------------------------------------------------------------------------------


def is_literal(x: object) -> bool:
    """Is x a Python number, which does not widen the dtype of the other operands?"""
    return isinstance(x, int | float) and not isinstance(x, bool | np.generic)


def operands(inputs: Sequence[Any]) -> list[Variable]:
    """Convert inputs to sparse or dense variables; Python numbers get a dtype that does not widen the others."""
    found = [None if is_literal(x) else as_sparse_or_tensor(x) for x in inputs]
    deciding = [x.dtype for x in found if x is not None]
    common = dtypes.promote(*deciding) if deciding else None
    return [
        constant(value, dtype=dtypes.weak_scalar(value, common)) if x is None else x
        for x, value in zip(found, inputs, strict=True)
    ]


def sparse_result(op: Op, x: TensorType, y: TensorType, dtype: str | None = None) -> SparseTensorType:
    """The type of a sparse result of two sparse matrices: format of the first, promoted dtype, known dims of both.

    Raises: GraphTypeError unless both are sparse; GraphValueError for extents that are known to differ.
    """
    x, y = need_sparse(op, x), need_sparse(op, y)
    wide = "int64" if "int64" in (x.index_dtype, y.index_dtype) else "int32"
    dims = common_dims(op, x, y)
    common = dtype or dtypes.promote(x.dtype, y.dtype)
    return SparseTensorType(x.format, common, dims, index_dtype=wide, blocksize=x.blocksize)


def common_dims(op: Op, x: TensorType, y: TensorType) -> tuple[Dim, Dim]:
    """The known dims of two matrices of the same shape.   Raises: GraphValueError if they differ."""
    dims: list[Dim] = []
    for axis, (one, other) in enumerate(zip(x.shape, y.shape, strict=True)):
        if isinstance(one, int) and isinstance(other, int) and one != other:
            raise GraphValueError(f"{op.name}: extents {one} and {other} along axis {axis} differ")
        dims.append(other if one is None or (isinstance(other, int) and isinstance(one, str)) else one)
    return dims[0], dims[1]


def check_same_shape(op: Op, x: Any, y: Any) -> None:
    """Check that two values have the same shape.   Raises: GraphValueError if they differ."""
    for axis, (one, other) in enumerate(zip(x.shape, y.shape, strict=True)):
        if one != other:
            raise GraphValueError(f"{op.name}: extents {one} and {other} along axis {axis} differ")


def with_common_shape(p: Compressed, q: Compressed) -> tuple[Compressed, Compressed]:
    """Two matrices of the same shape, each with the static dims that either of them knows."""
    pairs = zip(p.dims, q.dims, strict=True)
    rows, columns = (b if a is None or (isinstance(b, int) and isinstance(a, str)) else a for a, b in pairs)
    return replace(p, dims=(rows, columns)), replace(q, dims=(rows, columns))


def check_sizes(name: str, v: Variable, p: Compressed, axes: Sequence[int | None]) -> Variable:
    """v, after a check that its axes have the extents of the matrix along `axes`; None skips an axis.   name: of the
    op

    Raises: GraphValueError if one differs (at run time where it is not known).
    """
    for position, axis in enumerate(axes):
        if axis is not None:
            v = fitting(v, position, (p.rows, p.columns)[axis], p.dims[axis], f"{name}: extents along axis {axis}")
    return v


# --- matrices in canonical form, and in another one ------------------------------------------------------------------


@frozen_dataclass
class Canonical(PassingOp):
    """x with the entries of every slice in order and no duplicates.   Gradient: regular, z̄."""

    name: ClassVar[str] = "canonical"
    notation: ClassVar[str] = "{0}"
    takes_blocks: ClassVar[bool] = True
    gives_canonical: ClassVar[bool] = True

    def infer_type(self, x: TensorType) -> TensorType:
        return need_sparse(self, x).sorted()

    def reference(self, x: Any) -> Any:
        return canonical_matrix(x)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        return [matrix_of(canonical(parts_of(inputs[0])))]


class CanonicalOp(SparseOp):
    """An op on matrices in canonical form, to which inputs are converted. Python numbers do not widen dtypes."""

    gives_canonical: ClassVar[bool] = True

    def convert_inputs(self, inputs: Sequence[Any]) -> list[Variable]:
        return [as_canonical(x) for x in operands(inputs)]


def as_canonical(x: Variable) -> Variable:
    """Convert a sparse matrix to canonical form unless it is known to be canonical; a dense tensor is unchanged."""
    return x if is_canonical(x) else Canonical()(x)


def term_for(x: Variable, term: Variable) -> Variable:
    """A derivative of x, converted to the format of x if it is sparse."""
    both = isinstance(x, SparseVariable) and isinstance(term, SparseVariable)
    return in_format(term, x.format, x.blocksize) if both else term  # type: ignore[arg-type,attr-defined]


def parts_in(x: Variable, format: str) -> Compressed:
    """The vectors of a matrix, converted to a format."""
    p = parts_of(x)
    return p if p.format == format else other_format(p)


def need_operand(op: Op, *types: TensorType) -> None:
    """Check that the first type is sparse and the second one dense.   Raises: GraphTypeError"""
    need_sparse(op, types[0])
    if isinstance(types[1], SparseTensorType):
        raise GraphTypeError(f"{op.name}: expected a dense second operand, found {types[1]}")


def coordinates_of(x: Any) -> Array:
    """For each stored entry of a SciPy matrix, its int64 number among all elements, in the order of the format."""
    major = np.repeat(np.arange(len(x.indptr) - 1, dtype=np.int64), np.diff(x.indptr))
    return np.asarray(major * minor_of(x) + x.indices)


def minor_of(x: Any) -> int:
    """The upper bound of the indices of a SciPy matrix: rows for csc, columns for csr, columns of blocks for bsr."""
    return int(x.shape[0] if x.format == "csc" else x.shape[1] // block_extents(x.data)[1])


def matrix_at(found: Array, data: Array, x: Any) -> Any:
    """A SciPy matrix of the format and shape of x, with the entries `data` at sorted element numbers `found`."""
    minor = max(minor_of(x), 1)
    bounds = np.arange(len(x.indptr), dtype=np.int64) * minor
    wide = x.indices.dtype
    indptr = np.searchsorted(found, bounds).astype(wide)
    return scipy_matrix(x.format, data, (found % minor).astype(wide), indptr, x.shape)


def canonical_pair(x: Any, y: Any) -> tuple[Any, Any]:
    """(x, y) as SciPy matrices in canonical form, both in the format of x."""
    y = canonical_matrix(y)
    return canonical_matrix(x), y if y.format == x.format else canonical_matrix(y.asformat(x.format))
