"""Sums of sparse matrices, and of a sparse and a dense one; the sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, broadcast_shapes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import connected, sum_terms
from aotensor.graph.sparse_type import SparseVariable
from aotensor.graph.variable import Constant, Variable, Variables
from aotensor.ops.elementwise import arithmetic
from aotensor.ops.elementwise.base import Elementwise, broadcast_to_result
from aotensor.sparse.arithmetic.operands import (
    CanonicalOp,
    check_same_shape,
    check_sizes,
    is_literal,
    need_operand,
    operands,
    sparse_result,
    term_for,
    with_common_shape,
)
from aotensor.sparse.arithmetic.pairs import Join, PairOp
from aotensor.sparse.compressed_axes import at_columns
from aotensor.sparse.convert import as_dense
from aotensor.sparse.csm import like, matrix_of, parts_of
from aotensor.sparse.duplicate_entries import sum_of_entries
from aotensor.sparse.op import Compressed, SparseOp, need_sparse, scipy_matrix
from aotensor.sparse.reformat import PassingOp
from aotensor.sparse.sample import densified


@frozen_dataclass
class Neg(PassingOp):
    """−x on the sparsity pattern of x; unsigned integers wrap. Gradient: regular, −z̄."""

    name: ClassVar[str] = "sparse_neg"
    notation: ClassVar[str] = "-"
    takes_blocks: ClassVar[bool] = True

    def infer_type(self, x: TensorType) -> TensorType:
        return need_sparse(self, x)

    def reference(self, x: Any) -> Any:
        return scipy_matrix(x.format, np.negative(x.data), x.indices, x.indptr, x.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        return [like(inputs[0], -parts_of(inputs[0]).data)]

    def pulled(self, ct: Variable, x: Variable) -> Variable:
        return -ct

    def pushed(self, tangent: Variable, y: Variable) -> Variable:
        return -tangent


@frozen_dataclass
class AddSS(PairOp):
    """x + y of two sparse matrices, in the format of x and the promoted dtype.

    The pattern is the union of both: explicit zeros, and entries that cancel, stay. Gradient: regular, z̄ and z̄.

    Raises: GraphValueError for shapes that differ (at run time where they are not known).
    """

    function: Elementwise = field(default=arithmetic.add, repr=False)
    join: Join = field(default="either", repr=False)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [term_for(x, cotangents[0]) for x in inputs]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        total = sum_terms(tangents, arithmetic.add)
        return [term_for(outputs[0], total)]


@frozen_dataclass
class AddSD(CanonicalOp):
    """x + d, dense in the promoted dtype.   x: (m, n) sparse; d: (m, n), (1, n), (m, 1), (n,) or a scalar

    Gradient: x ← P(x)∘z̄, structured; d ← z̄, summed where it was repeated.

    Raises: GraphValueError for shapes that do not go together (at run time where they are not known).
    """

    name: ClassVar[str] = "add_s_d"
    notation: ClassVar[str] = "+"
    takes_blocks: ClassVar[bool] = True

    def infer_type(self, x: TensorType, d: TensorType) -> TensorType:
        need_operand(self, x, d)
        return TensorType(dtypes.promote(x.dtype, d.dtype), fitted_dims(self.name, x, d))

    def reference(self, x: Any, d: Array) -> Array:
        check_fits(self.name, x, d)
        return np.asarray(x.toarray() + d)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        x, d = inputs
        p = parts_of(x)
        return [densified(p) + check_static_ones(self.name, d, p)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        terms = [broadcast_to_result(as_dense(t), outputs[0]) for t in connected(tangents).values()]
        return [sum_terms(terms, arithmetic.add)]


def fitted_dims(name: str, x: TensorType, d: TensorType) -> tuple[Any, ...]:
    """Dims of x with a dense operand d, which broadcasts to x along dims that are statically 1.

    Raises: GraphValueError if it does not fit, or would repeat x.
    """
    if d.rank > 2:
        raise GraphValueError(f"{name}: the dense operand has rank {d.rank}, expected at most 2")
    dims = broadcast_shapes([x.shape, d.shape])
    if any(one == 1 and isinstance(other, int) and other != 1 for one, other in zip(x.shape, dims, strict=True)):
        raise GraphValueError(f"{name}: {x} is sparse, so it is not broadcast to the shape of {d}")
    return tuple(1 if one == 1 else other for one, other in zip(x.shape, dims, strict=True))


def check_static_ones(name: str, d: Variable, p: Compressed) -> Variable:
    """d, after a run-time check that it has extent 1 along each axis on which the matrix has static extent 1."""
    axes = [axis if p.dims[axis] == 1 else None for axis in range(2 - d.ndim, 2)]
    return check_sizes(name, d, p, axes)


def check_fits(name: str, x: Any, d: Array) -> None:
    """Check that the extents of a dense d are those of x, or 1.   Raises: GraphValueError"""
    for axis in range(-d.ndim, 0):
        if d.shape[axis] not in (1, x.shape[axis]):
            raise GraphValueError(f"{name}: extents {x.shape[axis]} and {d.shape[axis]} along axis {axis + 2} differ")


@frozen_dataclass
class AddSSData(CanonicalOp):
    """x + y of two sparse matrices that are known to have the same sparsity pattern, which the result has too.

    The reference checks the pattern, compiled code the number of entries. Gradient: structured, z̄ and z̄.

    Raises: GraphTypeError for formats or dtypes that differ, GraphValueError for patterns that do.
    """

    name: ClassVar[str] = "add_s_s_data"
    takes_blocks: ClassVar[bool] = True

    def infer_type(self, x: TensorType, y: TensorType) -> TensorType:
        found = sparse_result(self, x, y)
        if x.dtype != y.dtype or x.format != y.format:  # type: ignore[attr-defined]
            raise GraphTypeError(f"{self.name}: expected one format and dtype, found {x} and {y}")
        return found

    def reference(self, x: Any, y: Any) -> Any:
        check_same_shape(self, x, y)
        if not (np.array_equal(x.indices, y.indices) and np.array_equal(x.indptr, y.indptr)):
            raise GraphValueError(
                f"{self.name}: x and y do not have the same stored entries", hint="add_s_s adds any two matrices"
            )
        return scipy_matrix(x.format, x.data + y.data, x.indices, x.indptr, x.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        p, q = with_common_shape(*map(parts_of, inputs))
        return [matrix_of(replace(p, data=p.data + q.data))]


@frozen_dataclass
class StructuredAddSV(CanonicalOp):
    """x + P(x)∘v: v along the columns, at stored entries only.   x: (m, n) sparse, v: (n,) → sparse, promoted dtype

    Gradient: structured; x ← z̄ at P(x), v ← column sums of P(x)∘z̄.

    Raises: GraphValueError for a vector of another length (at run time where it is not known).
    """

    name: ClassVar[str] = "structured_add_s_v"
    takes_blocks: ClassVar[bool] = True

    def infer_type(self, x: TensorType, v: TensorType) -> TensorType:
        return vector_result(self, x, v, 1)

    def reference(self, x: Any, v: Array) -> Any:
        check_fits(self.name, x, v)
        added = v[x.tocoo(copy=False).col].reshape(x.data.shape)
        return scipy_matrix(x.format, x.data + added, x.indices, x.indptr, x.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        x, v = inputs
        p = parts_of(x)
        return [matrix_of(replace(p, data=p.data + at_columns(p, check_sizes(self.name, v, p, [1]))))]


def vector_result(op: SparseOp, x: TensorType, v: TensorType, axis: int) -> TensorType:
    """The type of a sparse matrix combined with a vector along an axis.   Raises: GraphTypeError, GraphValueError"""
    need_operand(op, x, v)
    if v.rank != 1:
        raise GraphTypeError(f"{op.name}: expected a vector, found {v}")
    known, found = x.static_shape[axis], v.static_shape[0]
    if known is not None and found is not None and known != found:
        raise GraphValueError(
            f"{op.name}: the vector has {found} elements, and the matrix has extent {known} along axis {axis}"
        )
    return x.with_dtype(dtypes.promote(x.dtype, v.dtype))


add_s_s: Final = AddSS()
add_s_d: Final = AddSD()
add_s_s_data: Final = AddSSData()
structured_add_s_v: Final = StructuredAddSV()


@coerced
def sparse_neg(x: Any) -> Variable:
    """−x of a sparse matrix.   Raises: GraphTypeError for a dense one."""
    return Neg()(x)  # type: ignore[no-any-return]


neg = sparse_neg


@coerced
def sparse_add(x: Any, y: Any) -> Variable:
    """x + y, at least one of them sparse: sparse if both are, else dense.

    A dense operand may be a matrix, a row, a column, a vector along the columns or a scalar. A literal 0 adds nothing,
    so that Python's `sum` works.

    Raises: GraphTypeError if both are dense, GraphValueError for shapes that do not go together.
    """
    for literal, other in ((x, y), (y, x)):
        if is_literal(literal) and literal == 0 and isinstance(other, SparseVariable):
            return other
    first, second = operands([x, y])
    if first.is_sparse and second.is_sparse:
        by_entry = sum_of_entries(first, second)
        return add_s_s(first, second) if by_entry is None else by_entry
    if not first.is_sparse and not second.is_sparse:
        raise both_dense("add", first, second)
    return add_s_d(first, second) if first.is_sparse else add_s_d(second, first)  # type: ignore[no-any-return]


@coerced
def sparse_sub(x: Any, y: Any) -> Variable:
    """x − y, at least one of them sparse; formats, dtypes and errors as `sparse_add`."""
    if is_literal(y) and y == 0:
        return sparse_add(x, y)
    first, second = operands([x, y])
    if not first.is_sparse and not second.is_sparse:
        raise both_dense("sub", first, second)
    if isinstance(first, Constant) and not first.is_sparse and is_literal(x) and x == 0:
        return -second
    return sparse_add(first, -second)


def both_dense(name: str, x: Variable, y: Variable) -> GraphTypeError:
    """The error raised if a sparse function is called without a sparse operand."""
    return GraphTypeError(
        f"{name}: expected a sparse operand, found two dense ones",
        lines=[x.describe(), y.describe()],
        hint="use aotensor.tensor",
    )


add = sparse_add
sub = subtract = sparse_sub
