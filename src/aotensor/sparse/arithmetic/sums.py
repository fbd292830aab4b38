"""Sums and means of sparse matrices, over all elements or along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, normalise_axes
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.sparse_type import SparseVariable
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.complex.parts import real
from aotensor.ops.create import alloc
from aotensor.ops.elementwise.base import unbroadcast
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import reexpand
from aotensor.ops.shape.extents import product
from aotensor.sparse.arithmetic.operands import CanonicalOp
from aotensor.sparse.compressed_axes import at_columns, at_rows, broadcast_to_entries, sum_columns, sum_rows
from aotensor.sparse.convert import as_dense, everywhere_as
from aotensor.sparse.csm import parts_of
from aotensor.sparse.duplicate_entries import from_entries
from aotensor.sparse.op import Compressed, as_sparse, need_sparse

Axis = int | Sequence[int] | None


def one_axis(axis: Axis) -> int | None:
    """An axis of a matrix as 0 or 1, or None for both.   Raises: GraphValueError for one that it does not have."""
    axes = normalise_axes(axis, 2)
    if not axes:
        raise GraphValueError(
            "axis is an empty list, so there is nothing to sum over", hint="axis=None sums over both axes"
        )
    return None if len(axes) == 2 else axes[0]


@frozen_dataclass
class SpSum(CanonicalOp):
    """Σ x over both axes (None), over the rows (axis 0: one sum per column) or the columns (axis 1: one per row).

    (m, n) sparse → (), (n,) or (m,); integers widen to 64 bits, floats are accumulated in float64.

    sparse_grad: the gradient is structured, z̄ at the stored entries; else regular, z̄ everywhere, all of it stored.

    Raises: GraphValueError for another axis.
    """

    name: ClassVar[str] = "sp_sum"
    takes_blocks: ClassVar[bool] = True
    axis: int | None = None
    sparse_grad: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", one_axis(self.axis))

    def infer_type(self, x: TensorType) -> TensorType:
        need_sparse(self, x)
        kept = () if self.axis is None else (x.shape[1 - self.axis],)
        return TensorType(dtypes.sum_of(x.dtype), kept)

    def reference(self, x: Any) -> Array:
        out = dtypes.sum_of(x.dtype.name)
        data = x.data.astype(dtypes.accumulator_of(out))
        if self.axis is None:
            return np.asarray(data.sum())
        result = np.zeros(x.shape[1 - self.axis], data.dtype)
        with np.errstate(all="ignore"):
            np.add.at(result, x.tocoo(copy=False).coords[1 - self.axis], data.ravel())
        return result

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        p = parts_of(inputs[0])
        out = dtypes.sum_of(p.data.dtype)
        if self.axis is None:
            return [sum_over(p.data)]
        return [cast(along(self.axis)(p, cast(p.data, dtypes.accumulator_of(out))), out)]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (ct,) = inputs, cotangents
        p = parts_of(x)
        if self.sparse_grad:
            return [from_entries(as_sparse(x), at_entries(self.axis, p, ct))]
        axes = (0, 1) if self.axis is None else (self.axis,)
        everywhere = alloc(reexpand(ct, axes, 2), [p.rows, p.columns])
        return [everywhere_as(x, everywhere)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (tx,) = tangents
        return [self(tx) if tx.is_sparse else sum_over(tx, axis=self.axis)]


def along(axis: int) -> Any:
    """A function (parts, data) → vector that sums entries over an axis."""
    return (sum_columns, sum_rows)[axis]


def at_entries(axis: int | None, p: Compressed, v: Variable) -> Variable:
    """For each stored entry, the element of v, the result of a reduction over `axis`, to which the entry belongs."""
    return broadcast_to_entries(p, v if axis is None else (at_columns, at_rows)[axis](p, v))


def kept(x: Variable, found: Variable, axis: int | None, keepdims: bool) -> Variable:
    """The result of a reduction, with the reduced axes as extent 1 if `keepdims`."""
    return reexpand(found, (0, 1) if axis is None else (axis,), 2) if keepdims else found


def sum_to(x: Variable, d: Variable) -> Variable:
    """Sum a sparse or dense matrix over the axes along which the dense d broadcasts, to the shape of d.

    Of complex derivatives by a real d these are the real parts.
    """
    x = x if dtypes.is_complex(d.dtype) else real(x)
    if not isinstance(x, SparseVariable):
        return unbroadcast(x, d)
    if d.ndim == 0:
        return sp_sum(x)
    padded = (1,) * (2 - d.ndim) + d.static_shape
    repeated = [a == 1 != b for a, b in zip(padded, x.static_shape, strict=True)]
    if not any(repeated):
        return unbroadcast(as_dense(x), d)
    return unbroadcast(sp_sum(x, None if all(repeated) else repeated.index(True), keepdims=True), d)


@coerced
def sp_sum(x: Any, axis: Axis = None, sparse_grad: bool = False, keepdims: bool = False) -> Variable:
    """Σ x over an axis, or over all elements.   sparse_grad: the gradient has the pattern of x. See SpSum.

    Raises: GraphTypeError for a dense x, GraphValueError for an axis that does not exist.
    """
    chosen = one_axis(axis)
    return kept(x, SpSum(chosen, sparse_grad)(as_sparse(x)), chosen, keepdims)


@coerced
def sparse_mean(x: Any, axis: Axis = None, keepdims: bool = False) -> Variable:
    """Σ x / n over an axis, or all elements, those that are not stored included; float64 for integers.

    Gradient: regular. Raises: as `sp_sum`.
    """
    x = as_sparse(x)
    chosen = one_axis(axis)
    p, out = parts_of(x), dtypes.mean_of(x.dtype)
    total = sp_sum(cast(x, dtypes.accumulator_of(out)), chosen, keepdims=keepdims)
    count = product([p.rows, p.columns]) if chosen is None else (p.rows, p.columns)[chosen]
    return cast(total / cast(as_tensor(count), "float64"), out)
