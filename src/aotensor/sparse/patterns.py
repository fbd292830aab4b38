"""Patterns of compressed matrices: transposition, union, intersection, selection, sorting.

All functions take matrices in parts and give dense vectors; values follow the patterns by copies and sums, so that
they are differentiable. Statements about matrices without duplicates hold for `canonical(p)`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Apply, Op
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.batching import ExtentsOp
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.arithmetic import maximum
from aotensor.ops.elementwise.compare import cast, eq, lt, neq, switch
from aotensor.ops.index import subtensor
from aotensor.ops.linear import ConstantOp
from aotensor.ops.mask import flatnonzero
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.cumulate import cumsum
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import concatenate
from aotensor.sparse.checks import lowered_count
from aotensor.sparse.compressed_axes import TakeAt, TakePresent, lowered_extent, major_of_entries, sum_at
from aotensor.sparse.op import Compressed, have_same_pattern

SHAPES_DIFFER = "extents of two sparse matrices"


class IndexOp(Op):
    """An op on vectors of indices."""

    def index_dtype(self, *vectors: TensorType) -> str:
        """The dtype that holds all indices.   Raises: GraphTypeError for a value that is not a vector of indices."""
        for found in vectors:
            if found.rank != 1 or found.dtype not in ("int32", "int64"):
                raise GraphTypeError(f"{self.name}: expected a vector of int32 or int64, found {found}")
        return dtypes.promote(*(found.dtype for found in vectors))


class PatternRule(ExtentsOp, IndexOp, ConstantOp):
    """An op between index vectors. Patterns are equal for all samples of a batch."""


class UnsortedMatrix(IndexOp):
    """An op whose outputs are (data, indices, indptr) of a matrix that has no duplicates, in any order."""

    @abstractmethod
    def in_order(self, node: Apply) -> tuple[Variable, ...]:
        """(data, indices, indptr) of the sorted matrix, computed by another op."""


# --- the other format ------------------------------------------------------------------------------------------------


@frozen_dataclass
class OtherFormat(PatternRule):
    """(indices, indptr, minor) → (permutation, indices, indptr) of the same entries compressed along the other axis.

    Entry p of the result is entry permutation[p]; its slices are sorted, whatever the order of the input, and entries
    for one element stay in theirs. dim: the extent `minor`, where it is known.
    """

    name: ClassVar[str] = "other_format"
    notation: ClassVar[str] = "transpose"
    dim: Dim = None

    def infer_type(self, indices: TensorType, indptr: TensorType, minor: TensorType) -> tuple[TensorType, ...]:
        dtype = self.index_dtype(indices, indptr)
        slices = self.dim + 1 if isinstance(self.dim, int) else None
        entries = TensorType(dtype, indices.shape)
        return entries, entries, TensorType(dtype, (slices,))

    def reference(self, indices: Array, indptr: Array, minor: Array) -> tuple[Array, ...]:
        permutation = np.argsort(indices, kind="stable")
        counts = np.bincount(indices, minlength=int(minor))
        return permutation, slices_of(indptr)[permutation], np.concatenate([[0], np.cumsum(counts)])

    def lower(self, b: TensorBuilder, indices: Tensor, indptr: Tensor, minor: Tensor) -> tuple[Tensor, ...]:
        extent, dtype, nnz = lowered_extent(b, self.dim, minor), _index_dtype(indices, indptr), indices.extents
        results = [(dtype, nnz), (dtype, nnz), (dtype, (extent + 1,))]
        return b.pattern("transpose", [indices, indptr], [extent], results)


def slices_of(indptr: Array) -> Array:
    """The number of the slice of every entry, for NumPy arrays."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def pattern_of(p: Compressed) -> tuple[Variable, Variable, Variable]:
    """(indices, indptr, extent of the minor axis): the inputs of the rules in this module."""
    return p.indices, p.indptr, as_tensor(p.minor)


def other_format(p: Compressed) -> Compressed:
    """The same matrix compressed along the other axis, sorted; duplicate entries stay apart.   O(nnz + m + n)"""
    found = OtherFormat(p.minor_dim if isinstance(p.minor, int) else None)
    permutation, indices, indptr = found(*pattern_of(p))
    return replace(p, format=p.other, data=TakeAt()(p.data, permutation), indices=indices, indptr=indptr)


# --- comparing two patterns ------------------------------------------------------------------------------------------


@frozen_dataclass
class PositionsIn(PatternRule):
    """(indices, indptr, minor) of p, then of q → for each entry of p its position in q, or −1.

    Of duplicate entries of q the last one counts. Any order will do.
    """

    name: ClassVar[str] = "positions_in"
    notation: ClassVar[str] = "searchsorted({2}, {0})"

    def infer_type(
        self, ip: TensorType, pp: TensorType, minor_p: TensorType, iq: TensorType, pq: TensorType, minor_q: TensorType
    ) -> TensorType:
        self.index_dtype(ip, pp)
        return TensorType(self.index_dtype(iq, pq), ip.shape)

    def reference(self, ip: Array, pp: Array, minor_p: Array, iq: Array, pq: Array, minor_q: Array) -> Array:
        check_same_shape(pp, minor_p, pq, minor_q)
        return entries_at(slices_of(pp), ip, iq, pq)

    def lower(
        self, b: TensorBuilder, ip: Tensor, pp: Tensor, minor_p: Tensor, iq: Tensor, pq: Tensor, minor_q: Tensor
    ) -> Tensor:
        extent = lowered_same_shape(b, pp, minor_p, pq, minor_q)
        (found,) = b.pattern("positions", [ip, pp, iq, pq], [extent], [(_index_dtype(iq, pq), ip.extents)])
        return found


def entries_at(major: Array, minor: Array, indices: Array, indptr: Array) -> Array:
    """The position in a pattern of the entry at these coordinates: the last of duplicates, −1 where there is none."""
    width = int(max(minor.max(initial=-1), indices.max(initial=-1))) + 1
    wanted, known = major * width + minor, slices_of(indptr) * width + indices
    order = np.argsort(known, kind="stable")
    found = np.searchsorted(known[order], wanted, side="right") - 1
    positions = order[found] if len(order) else np.zeros(len(wanted), np.int64)
    return np.where((found >= 0) & (known[positions] == wanted) if len(order) else False, positions, -1)


def check_same_shape(pp: Array, minor_p: Array, pq: Array, minor_q: Array) -> None:
    """Check that two matrices have the same extents.   Raises: GraphValueError"""
    for a, b in ((len(pp) - 1, len(pq) - 1), (int(minor_p), int(minor_q))):
        if a != b:
            raise GraphValueError(f"{SHAPES_DIFFER} differ: {a} and {b}")


def lowered_same_shape(b: TensorBuilder, pp: Tensor, minor_p: Tensor, pq: Tensor, minor_q: Tensor) -> Extent:
    """Emit the check that two matrices have the same shape; returns the common extent of the minor axis."""
    b.same_extent([pp.extents[0], pq.extents[0]], SHAPES_DIFFER)
    return b.same_extent([b.scalars.cast(b.item(x), dtypes.INDEX) for x in (minor_p, minor_q)], SHAPES_DIFFER)


def _index_dtype(*vectors: Tensor) -> str:
    return dtypes.promote(*(x.dtype for x in vectors))


def positions_in(p: Compressed, q: Compressed) -> Variable:
    """For each entry of p the position in q of the same coordinates, or −1; integers, (nnz of p,).

    The formats may differ. Raises: GraphValueError at run time if the shapes differ.
    """
    if p.format != q.format:
        flipped = replace(q, data=arange(extent_of(q.indices, 0), dtype=q.indices.dtype))
        t = other_format(flipped)  # its data say where its entries are in q
        found = positions_in(p, t)
        return switch(lt(found, 0), -1, TakePresent()(t.data, found))
    return PositionsIn()(*pattern_of(p), *pattern_of(q))  # type: ignore[no-any-return]


def _in_format_of(p: Compressed, q: Compressed) -> Compressed:
    return q if q.format == p.format else other_format(q)


# --- unions ----------------------------------------------------------------------------------------------------------


@frozen_dataclass
class Union(PatternRule):
    """(indices, indptr, minor) of p, then of q → (indices, indptr) of all coordinates that one of them has, the slots
    in it of the entries of p and of q, and for each slot its position in p and in q, or −1.

    Both are canonical, and so is the union.
    """

    name: ClassVar[str] = "union"
    notation: ClassVar[str] = "union1d"

    def infer_type(
        self, ip: TensorType, pp: TensorType, minor_p: TensorType, iq: TensorType, pq: TensorType, minor_q: TensorType
    ) -> tuple[TensorType, ...]:
        dtype = self.index_dtype(ip, pp, iq, pq)
        slots = (TensorType(dtype, x.shape) for x in (ip, iq))
        wide = TensorType(dtype, (None,))
        return (wide, TensorType(dtype, pp.shape), *slots, wide, wide)

    def reference(
        self, ip: Array, pp: Array, minor_p: Array, iq: Array, pq: Array, minor_q: Array
    ) -> tuple[Array, ...]:
        check_same_shape(pp, minor_p, pq, minor_q)
        width = max(int(minor_p), 1)
        coordinates = [slices_of(ptr) * width + indices for indices, ptr in ((ip, pp), (iq, pq))]
        found, slots = np.unique(np.concatenate(coordinates), return_inverse=True)
        counts = np.bincount(found // width, minlength=len(pp) - 1)
        both = slots[: len(ip)], slots[len(ip) :]
        positions = [np.full(len(found), -1) for _ in both]
        for at, own in zip(positions, both, strict=True):
            at[own] = np.arange(len(own))
        return found % width, np.concatenate([[0], np.cumsum(counts)]), *both, *positions

    def lower(
        self, b: TensorBuilder, ip: Tensor, pp: Tensor, minor_p: Tensor, iq: Tensor, pq: Tensor, minor_q: Tensor
    ) -> tuple[Tensor, ...]:
        lowered_same_shape(b, pp, minor_p, pq, minor_q)
        dtype, bound = _index_dtype(ip, pp, iq, pq), ip.extents[0] + iq.extents[0]
        if dtype == "int32":
            lowered_count(b, bound, "two matrices together have {found} entries")
        wide = (dtype, (bound,))
        results = [wide, (dtype, pp.extents), (dtype, ip.extents), (dtype, iq.extents), wide, wide]
        indices, indptr, slot_p, slot_q, *positions = b.pattern("union", [ip, pp, iq, pq], [], results)
        indices, *positions = first_elements(b, [indices, *positions], indptr)
        return indices, indptr, slot_p, slot_q, *positions


def first_elements(b: TensorBuilder, vectors: Sequence[Tensor], indptr: Tensor) -> list[Tensor]:
    """The first elements of over-long vectors, as many as the last element of indptr says."""
    v = b.scalars
    count = v.cast(v.load(indptr, indptr.extents[0] - 1), dtypes.INDEX)

    def part(wide: Tensor) -> Tensor:
        return b.tabulate([count], wide.dtype, lambda w, p: w.load(wide, p))

    return [part(wide) for wide in vectors]


def on_union(p: Compressed, q: Compressed) -> tuple[Compressed, Compressed]:
    """Two canonical matrices on one pattern, that of both together in the format of p, with 0 where one has no entry.

    Costs nothing where the patterns are known to be the same.   Raises: GraphValueError at run time if shapes differ.
    """
    if have_same_pattern(p, q):
        return p, q
    q = _in_format_of(p, q)
    indices, indptr, slot_p, slot_q, in_p, in_q = Union()(*pattern_of(p), *pattern_of(q))
    whole = replace(p, indices=indices, indptr=indptr)
    first, second = TakePresent()(p.data, in_p, slot_p), TakePresent()(q.data, in_q, slot_q)
    return replace(whole, data=first), replace(whole, data=second)


# --- intersections ---------------------------------------------------------------------------------------------------


@frozen_dataclass
class Intersection(PatternRule):
    """(indices, indptr, minor) of p, then of q → (indices, indptr) of the entries of p whose coordinates q has, and for
    each of these its position in p and in q.   Neither has duplicates; the order is that of p.
    """

    name: ClassVar[str] = "intersection"
    notation: ClassVar[str] = "multiply"

    def infer_type(
        self, ip: TensorType, pp: TensorType, minor_p: TensorType, iq: TensorType, pq: TensorType, minor_q: TensorType
    ) -> tuple[TensorType, ...]:
        dtype = self.index_dtype(ip, pp, iq, pq)
        entries = TensorType(dtype, (None,))
        return entries, TensorType(dtype, pp.shape), entries, entries

    def reference(
        self, ip: Array, pp: Array, minor_p: Array, iq: Array, pq: Array, minor_q: Array
    ) -> tuple[Array, ...]:
        check_same_shape(pp, minor_p, pq, minor_q)
        slices = slices_of(pp)
        found = entries_at(slices, ip, iq, pq)
        (in_p,) = np.nonzero(found >= 0)
        counts = np.bincount(slices[in_p], minlength=len(pp) - 1)
        return ip[in_p], np.concatenate([[0], np.cumsum(counts)]), in_p, found[in_p]

    def lower(
        self, b: TensorBuilder, ip: Tensor, pp: Tensor, minor_p: Tensor, iq: Tensor, pq: Tensor, minor_q: Tensor
    ) -> tuple[Tensor, ...]:
        extent = lowered_same_shape(b, pp, minor_p, pq, minor_q)
        dtype = _index_dtype(ip, pp, iq, pq)
        wide = (dtype, ip.extents)
        indices, indptr, *positions = b.pattern(
            "intersection", [ip, pp, iq, pq], [extent], [wide, (dtype, pp.extents), wide, wide]
        )
        indices, *positions = first_elements(b, [indices, *positions], indptr)
        return indices, indptr, *positions


def on_intersection(p: Compressed, q: Compressed) -> tuple[Compressed, Compressed]:
    """Two matrices without duplicates on the entries of p whose coordinates q has, in the format and order of p.

    Costs nothing where the patterns are known to be the same.   Raises: GraphValueError at run time if shapes differ.
    """
    if have_same_pattern(p, q):
        return p, q
    q = _in_format_of(p, q)
    indices, indptr, in_p, in_q = Intersection()(*pattern_of(p), *pattern_of(q))
    common = replace(p, indices=indices, indptr=indptr)
    return replace(common, data=TakeAt()(p.data, in_p)), replace(common, data=TakeAt()(q.data, in_q))


# --- fewer entries ---------------------------------------------------------------------------------------------------


def compress(p: Compressed, keep: Variable) -> Compressed:
    """The entries where the bool vector `keep` holds, in their order."""
    positions = cast(flatnonzero(keep), p.indices.dtype)
    data, indices = (TakeAt()(x, positions) for x in (p.data, p.indices))
    return replace(p, data=data, indices=indices, indptr=TakeAt()(_ranks(keep, p.indptr.dtype), p.indptr))


def _ranks(flags: Variable, dtype: str) -> Variable:
    """The exclusive cumulative sum of bool flags, with the total as an additional last element."""
    return concatenate([zeros([1], dtype=dtype), cumsum(cast(flags, dtype), dtype=dtype)])


def may_repeat(p: Compressed) -> bool:
    """May there be duplicate entries?"""
    made_by = p.indices.owner
    return not p.is_canonical and not (made_by is not None and isinstance(made_by.op, UnsortedMatrix))


def canonical(p: Compressed) -> Compressed:
    """The same matrix with sorted slices, duplicates added up; p itself if it is known to be canonical."""
    if p.is_canonical:
        return p
    if (made := _sorted_variant(p)) is not None:
        return made
    q = other_format(other_format(p))
    merged, slots = distinct(q)
    return replace(merged, data=sum_at(q.data, slots, extent_of(merged.indices, 0)))


def distinct(q: Compressed) -> tuple[Compressed, Variable]:
    """(pattern of a sorted matrix without duplicates, but with the data of q; for each entry its number in the
    pattern).
    """
    entries = arange(extent_of(q.indices, 0), dtype=q.indices.dtype)
    before = maximum(entries - 1, 0)
    changes = [neq(x, TakeAt()(x, before)) for x in (major_of_entries(q), q.indices)]
    is_new = eq(entries, 0) | changes[0] | changes[1]
    positions = cast(flatnonzero(is_new), q.indices.dtype)
    ranks = _ranks(is_new, q.indptr.dtype)
    indices, indptr = TakeAt()(q.indices, positions), TakeAt()(ranks, q.indptr)
    found = replace(q, indices=indices, indptr=indptr, is_canonical=True)
    return found, subtensor(ranks, slice(1, None)) - 1


def _sorted_variant(p: Compressed) -> Compressed | None:
    """The sorted matrix computed by a sorting variant of the op that computed p; None if there is no such variant."""
    node = p.data.owner
    if node is None or not isinstance(node.op, UnsortedMatrix):
        return None
    if any(x is not y for x, y in zip((p.data, p.indices, p.indptr), node.outputs, strict=True)):
        return None
    data, indices, indptr = node.op.in_order(node)
    return replace(p, data=data, indices=indices, indptr=indptr, is_canonical=True)
