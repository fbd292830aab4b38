"""Dense ops on compressed axes, from which all sparse ops are composed: sums over slices and copies to entries.

Entry p belongs to slice i if indptr[i] ≤ p < indptr[i + 1]; `indices[p]` is its index along the other axis.

    segment_sum    y[i, …] = Σ_p x[p, …]      transpose of      expand_slices   y[p, …] = x[i, …]
    sum_at         y[indices[p], …] += x[p, …]      of          take_at         y[p, …] = x[indices[p], …]

Alone each is a loop; where one feeds the other they share it, so that Σ_p data[p]·x[indices[p]] is one product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.op import Apply
from aotensor.graph.operations import KnownValues
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.batching import check_nondifferentiable
from aotensor.ops.create import alloc
from aotensor.ops.elementwise.compare import cast, lt, switch
from aotensor.ops.linear import LinearOp
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import SymbolicExtent, dims_at, extent_of, extents_of
from aotensor.ops.shape.reshape import reshape
from aotensor.sparse.op import Compressed


class CompressedOp(LinearOp):
    """A linear op along axis 0 of x; other axes are batch axes. The other inputs are index vectors and extents."""

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched)
        x, *rest = inputs
        found = self(dimshuffle(x, [1, 0, *range(2, x.ndim)]), *rest)
        return [dimshuffle(found, [1, 0, *range(2, found.ndim)])]

    def check_types(self, x: TensorType, *nondifferentiable: TensorType) -> None:
        """Check that x has an axis, and the other inputs are vectors of int32 or int64.   Raises: GraphTypeError"""
        if x.rank == 0:
            raise GraphTypeError(f"{self.name}: expected an array with one element per stored entry, found a scalar")
        for found in nondifferentiable:
            if found.rank != 1 or found.dtype not in ("int32", "int64"):
                raise GraphTypeError(f"{self.name}: expected a vector of int32 or int64, found {found}")


@frozen_dataclass
class SegmentSum(CompressedOp):
    """y[i, …] = Σ x[p, …] over the entries p of slice i.   x: (nnz, …), indptr: (n + 1,), n → (n, …), dtype of x

    dim: n, where it is known.
    """

    name: ClassVar[str] = "segment_sum"
    notation: ClassVar[str] = "add.reduceat({0}, {1})"
    dim: Dim = None

    def infer_type(self, x: TensorType, indptr: TensorType, extent: TensorType) -> TensorType:
        self.check_types(x, indptr)
        return TensorType(x.dtype, (self.dim, *x.shape[1:]))

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        return TensorType(
            types[0].dtype, (*dims_at(self.name, [self.dim], node.inputs[2:], known), *types[0].shape[1:])
        )

    def reference(self, x: Array, indptr: Array, extent: Array) -> Array:
        result = np.zeros((int(extent), *x.shape[1:]), x.dtype)
        with np.errstate(all="ignore"):
            np.add.at(result, np.repeat(np.arange(int(extent)), np.diff(indptr)), x)
        return result

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return ExpandSlices()(cotangent, inputs[1], inputs[0])  # type: ignore[no-any-return]

    def lower(self, b: TensorBuilder, x: Tensor, indptr: Tensor, extent: Tensor) -> Tensor:
        return b.segment_sum(x, indptr, lowered_extent(b, self.dim, extent))


@frozen_dataclass
class ExpandSlices(CompressedOp):
    """y[p, …] = x[i, …] for the entries p of slice i.   x: (n, …), indptr: (n + 1,), like: (nnz, …) → (nnz, …)

    like: gives the number of entries, its values are not read.
    """

    name: ClassVar[str] = "expand_slices"
    notation: ClassVar[str] = "repeat({0}, diff({1}))"

    def infer_type(self, x: TensorType, indptr: TensorType, like: TensorType) -> TensorType:
        self.check_types(x, indptr)
        return TensorType(x.dtype, (like.shape[0], *x.shape[1:]))

    def reference(self, x: Array, indptr: Array, like: Array) -> Array:
        return np.repeat(x, np.diff(indptr), axis=0)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        x, indptr, _ = inputs
        return segment_sum(cotangent, indptr, extent_of(x, 0), x.tensor_type.shape[0])

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        if is_batched[2]:  # only its extent counts, and that is the same for all samples
            single = node.inputs[2]
            return self.batch(node, [*inputs[:2], single], [*is_batched[:2], False]) if is_batched[0] else node.outputs
        return super().batch(node, inputs, is_batched)

    def lower(self, b: TensorBuilder, x: Tensor, indptr: Tensor, like: Tensor) -> Tensor:
        return b.expand_slices(x, indptr, like.extents[0])


@frozen_dataclass
class TakeAt(CompressedOp):
    """y[p, …] = x[indices[p], …] for indices that are in range.   x: (m, …), indices: (nnz,) → (nnz, …)"""

    name: ClassVar[str] = "take_at"

    def infer_type(self, x: TensorType, indices: TensorType) -> TensorType:
        self.check_types(x, indices)
        return TensorType(x.dtype, (*indices.shape, *x.shape[1:]))

    def reference(self, x: Array, indices: Array) -> Array:
        return x[indices]

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        x, indices = inputs
        return sum_at(cotangent, indices, extent_of(x, 0), x.tensor_type.shape[0])

    def lower(self, b: TensorBuilder, x: Tensor, indices: Tensor) -> Tensor:
        def element(v: ScalarBuilder, p: Scalar, *rest: Scalar) -> Scalar:
            return v.load(x, v.cast(v.load(indices, p), dtypes.INDEX), *rest)

        return b.tabulate([*indices.extents, *x.extents[1:]], x.dtype, element)


@frozen_dataclass
class TakePresent(CompressedOp):
    """y[k, …] = x[positions[k], …], and 0 where the position is −1.   x: (nnz, …), positions: (m,) → (m, …)

    slots: (nnz,), where it is known at which slot each entry of x is taken, positions[slots[p]] = p, and none twice.
    """

    name: ClassVar[str] = "take_present"

    def infer_type(self, x: TensorType, positions: TensorType, *slots: TensorType) -> TensorType:
        self.check_types(x, positions, *slots)
        return TensorType(x.dtype, (*positions.shape, *x.shape[1:]))

    def reference(self, x: Array, positions: Array, *slots: Array) -> Array:
        result = np.zeros((len(positions), *x.shape[1:]), x.dtype)
        result[positions >= 0] = x[positions[positions >= 0]]
        return result

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        x, positions, *slots = inputs
        if slots:
            return TakeAt()(cotangent, slots[0])  # type: ignore[no-any-return]
        nnz = extent_of(x, 0)
        shifted = switch(lt(positions, 0), cast(as_tensor(nnz), positions.dtype), positions)
        return sum_at(cotangent, shifted, nnz + 1)[:nnz]

    def lower(self, b: TensorBuilder, x: Tensor, positions: Tensor, *slots: Tensor) -> Tensor:
        def element(v: ScalarBuilder, k: Scalar, *rest: Scalar) -> Scalar:
            at = v.load(positions, k)
            is_present = at >= 0
            return v.load_if(is_present, x, [v.cast(at, dtypes.INDEX), *rest], v.constant(0, x.dtype))

        return b.tabulate([*positions.extents, *x.extents[1:]], x.dtype, element)


@frozen_dataclass
class SumAt(CompressedOp):
    """y[k, …] = Σ x[p, …] over the p with indices[p] = k, known to be below m.   x: (nnz, …), (nnz,), m → (m, …)

    dim: m, where it is known.
    """

    name: ClassVar[str] = "sum_at"
    dim: Dim = None

    def infer_type(self, x: TensorType, indices: TensorType, extent: TensorType) -> TensorType:
        self.check_types(x, indices)
        return TensorType(x.dtype, (self.dim, *x.shape[1:]))

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        return TensorType(
            types[0].dtype, (*dims_at(self.name, [self.dim], node.inputs[2:], known), *types[0].shape[1:])
        )

    def reference(self, x: Array, indices: Array, extent: Array) -> Array:
        result = np.zeros((int(extent), *x.shape[1:]), x.dtype)
        with np.errstate(all="ignore"):
            np.add.at(result, indices, x)
        return result

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return TakeAt()(cotangent, inputs[1])  # type: ignore[no-any-return]

    def lower(self, b: TensorBuilder, x: Tensor, indices: Tensor, extent: Tensor) -> Tensor:
        return b.sum_at(x, indices, lowered_extent(b, self.dim, extent))


def lowered_extent(b: TensorBuilder, dim: Dim, extent: Tensor) -> Extent:
    """An extent in the IR: the static `dim`, or else a value known not to be negative."""
    return dim if isinstance(dim, int) else b.scalars.cast(b.item(extent), dtypes.INDEX)


def segment_sum(x: Variable, indptr: Variable, extent: SymbolicExtent, dim: Dim = None) -> Variable:
    """Sums over `extent` slices; see SegmentSum."""
    return SegmentSum(dim_or(extent, dim))(x, indptr, as_tensor(extent))  # type: ignore[no-any-return]


def sum_at(x: Variable, indices: Variable, extent: SymbolicExtent, dim: Dim = None) -> Variable:
    """Sums of the entries for each of `extent` elements; see SumAt."""
    return SumAt(dim_or(extent, dim))(x, indices, as_tensor(extent))  # type: ignore[no-any-return]


def dim_or(extent: SymbolicExtent, dim: Dim) -> Dim:
    """The static dim of an extent: the number if it is an int, else `dim`."""
    return extent if isinstance(extent, int) else dim


# --- the same in terms of a matrix -----------------------------------------------------------------------------------


def sum_major(p: Compressed, x: Variable) -> Variable:
    """y[i, …] = Σ x[p, …] over the entries of row i of csr, or column i of csc."""
    return segment_sum(x, p.indptr, p.major, p.major_dim)


def sum_minor(p: Compressed, x: Variable) -> Variable:
    """y[j, …] = Σ x[p, …] over the entries in column j of csr, or row j of csc."""
    return sum_at(x, p.indices, p.minor, p.minor_dim)


def at_major(p: Compressed, x: Variable) -> Variable:
    """y[p, …] = x[i, …] for every stored entry: i is its row in csr, its column in csc."""
    return ExpandSlices()(x, p.indptr, p.indices)  # type: ignore[no-any-return]


def at_minor(p: Compressed, x: Variable) -> Variable:
    """y[p, …] = x[j, …] for every stored entry: j is its column in csr, its row in csc."""
    return TakeAt()(x, p.indices)  # type: ignore[no-any-return]


def sum_rows(p: Compressed, x: Variable) -> Variable:
    """y[r, …] = Σ x[p, …] over the entries of row r.   Of bsr x is (nnz, rows of a block, columns of a block, …)."""
    return _sum(p, x, 0)


def sum_columns(p: Compressed, x: Variable) -> Variable:
    """y[c, …] = Σ x[p, …] over the entries of column c."""
    return _sum(p, x, 1)


def _sum(p: Compressed, x: Variable, axis: int) -> Variable:
    is_major = p.by_rows == (axis == 0)
    if p.blocksize is None:
        return sum_major(p, x) if is_major else sum_minor(p, x)
    terms = sum_over(x, axis=2 - axis, dtype=x.dtype, acc_dtype=x.dtype)
    return whole(p.blocksize[axis], sum_major(p, terms) if is_major else sum_minor(p, terms))


def at_rows(p: Compressed, x: Variable) -> Variable:
    """y[p, …] = x[r, …] for every stored entry in row r.   Of bsr: (nnz, rows of a block, 1, …)"""
    return _at(p, x, 0)


def at_columns(p: Compressed, x: Variable) -> Variable:
    """y[p, …] = x[c, …] for every stored entry in column c.   Of bsr: (nnz, 1, columns of a block, …)"""
    return _at(p, x, 1)


def _at(p: Compressed, x: Variable, axis: int) -> Variable:
    is_major = p.by_rows == (axis == 0)
    if p.blocksize is None:
        return at_major(p, x) if is_major else at_minor(p, x)
    rows = in_blocks(p.blocksize[axis], x)
    found = at_major(p, rows) if is_major else at_minor(p, rows)
    return dimshuffle(found, [0, *([1, None] if axis == 0 else [None, 1]), *range(2, found.ndim)])


def broadcast_to_entries(p: Compressed, x: Variable) -> Variable:
    """x broadcast to every stored element of p: from a scalar, from entries, or from rows or columns of blocks."""
    extents: list[SymbolicExtent] = [extent_of(p.indices, 0), *(p.blocksize or ())]
    return x if x.ndim == len(extents) == 1 else alloc(x, *extents)


def in_blocks(block: int, x: Variable) -> Variable:
    """Split axis 0 of x into blocks.   x: (n, …) → (n / block, block, …); block divides n"""
    first, *rest = extents_of(x)
    return reshape(x, (first // block, block, *rest), ndim=x.ndim + 1)


def whole(block: int, x: Variable) -> Variable:
    """Merge axes 0 and 1 of x, the inverse of `in_blocks`.   x: (n, block, …) → (n · block, …)"""
    first, _, *rest = extents_of(x)
    return reshape(x, (first * block, *rest), ndim=x.ndim - 1)


def major_of_entries(p: Compressed) -> Variable:
    """For every stored entry, the number of its slice, as a vector of indices."""
    return at_major(p, arange(p.major, dtype=p.indices.dtype))
