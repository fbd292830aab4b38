"""Stack matrices horizontally, vertically, and along a diagonal. No pattern is sorted: slots follow from indptr.

Blocks that follow each other along the axis that is compressed are put one after another. Along the other axis slice i
of the result is slice i of each block in turn: it begins at Σ_b indptr_b[i], and block b in it behind those before b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import accumulate
from operator import add
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Dim, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.sparse_type import SparseTensorType, SparseVariable, is_matrix, scipy_sparse
from aotensor.graph.variable import Variable, Variables, as_tensor
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.index import subtensor
from aotensor.ops.linear import filled, zero_gradient
from aotensor.ops.ranges import arange
from aotensor.ops.shape.extents import SymbolicExtent, extent_of
from aotensor.ops.shape.join import join
from aotensor.sparse.checks import Agreeing, agreeing, check_count, check_countable
from aotensor.sparse.compressed_axes import at_major, sum_at
from aotensor.sparse.convert import from_dense, stored_everywhere
from aotensor.sparse.csm import matrix_extent, matrix_of, parts_of
from aotensor.sparse.index.getitem import sparse_getitem
from aotensor.sparse.op import Compressed, SparseOp, as_sparse, need_sparse
from aotensor.sparse.patterns import other_format
from aotensor.sparse.reformat import convert_derivative, in_format


class Stack(SparseOp):
    """Blocks that follow each other along the axes `along`, and have the same extents along the others.

    format: of the result. dtype: of the result, by default what the blocks promote to.

    Gradient: regular, each block gets its part of the cotangent in its own format and dtype, zeros if it is discrete.
    """

    along: ClassVar[tuple[int, ...]]
    format: str
    dtype: str | None = None

    def infer_type(self, *blocks: TensorType) -> TensorType:
        types = [need_sparse(self, block) for block in blocks]
        dims = [self._dim(axis, [type.shape[axis] for type in types]) for axis in range(2)]
        dtype = self.dtype or dtypes.promote(*(type.dtype for type in types))
        wide = "int64" if any(type.index_dtype == "int64" for type in types) else None
        return SparseTensorType(self.format, dtypes.canonical(dtype), dims, index_dtype=wide)

    def _dim(self, axis: int, dims: Sequence[Dim]) -> Dim:
        numbers = [dim for dim in dims if isinstance(dim, int)]
        if axis in self.along:
            return sum(numbers) if len(numbers) == len(dims) else None
        if len(set(numbers)) > 1:
            raise GraphValueError(f"{self._what(axis)} differ: {' and '.join(map(str, sorted(set(numbers))[:2]))}")
        return numbers[0] if numbers else next((dim for dim in dims if dim is not None), None)

    def _sum(self, axis: int) -> str:
        return f"{self._shown} has {{found}} {('rows', 'columns')[axis]}"

    def _what(self, axis: int) -> str:
        return f"{self._shown}: {('rows', 'columns')[axis]} of the blocks"

    @property
    def _shown(self) -> str:
        """The name of the function that a user calls, for errors."""
        return self.name.removeprefix("sparse_").replace("diagonal", "diag")

    def reference(self, *blocks: Any) -> Any:
        for axis in {0, 1} - set(self.along):
            extents = [np.asarray(block.shape[axis]) for block in blocks]
            Agreeing(self._what(axis)).reference(extents[0], *extents)
        minor = 1 if self.format == "csr" else 0
        if minor in self.along and all(block.indices.dtype == np.int32 for block in blocks):
            check_count(sum(block.shape[minor] for block in blocks), self._sum(minor))
        sparse = scipy_sparse()
        put = {(1,): sparse.hstack, (0,): sparse.vstack, (0, 1): _block_diagonal}[self.along]
        return put(blocks, self.format, self.dtype)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        type = self.infer_type(*(x.tensor_type for x in inputs))
        assert isinstance(type, SparseTensorType)
        blocks = self._checked([_prepared(parts_of(x), type) for x in inputs], inputs)
        if 1 - type.major in self.along:
            blocks = _shift_indices(blocks, self._sum(1 - type.major))
        entries = f"{self._shown} has {{found}} entries"
        found = _concatenate_slices(blocks, entries) if type.major in self.along else _interleaved(blocks, entries)
        rows, columns = (self._extent(axis, inputs) for axis in range(2))
        return [matrix_of(replace(found, rows=rows, columns=columns, dims=(type.shape[0], type.shape[1])))]

    def _extent(self, axis: int, blocks: Sequence[Variable]) -> SymbolicExtent:
        """The extent of the result along an axis."""
        extents = [matrix_extent(as_sparse(x), axis) for x in blocks]
        if axis in self.along:
            return sums_of(extents)[-1]
        dims = {x.tensor_type.shape[axis] for x in blocks}
        number = next((dim for dim in dims if isinstance(dim, int)), None)
        return agreeing(as_tensor(extents[0]), dims, extents, self._what(axis)) if number is None else number

    def _checked(self, parts: Sequence[Compressed], blocks: Sequence[Variable]) -> list[Compressed]:
        """The vectors of the blocks, after a check that the blocks have equal extents along the axes not stacked."""
        found = list(parts)
        for axis in {0, 1} - set(self.along):
            dims = [x.tensor_type.shape[axis] for x in blocks]
            extents = [matrix_extent(as_sparse(x), axis) for x in blocks]
            for k, p in enumerate(found):
                vectors = [agreeing(x, dims, extents, self._what(axis)) for x in (p.data, p.indices, p.indptr)]
                found[k] = replace(p, data=vectors[0], indices=vectors[1], indptr=vectors[2])
        return found

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        ends = [sums_of([0, *(matrix_extent(as_sparse(x), axis) for x in inputs)]) for axis in range(2)]
        terms: list[Variable] = []
        for k, x in enumerate(inputs):
            window = tuple(
                slice(ends[axis][k], ends[axis][k + 1]) if axis in self.along else slice(None) for axis in range(2)
            )
            terms.append(zero_gradient(x) if dtypes.is_discrete(x.dtype) else _part(cotangents[0], window, x))
        return terms

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        pairs = zip(inputs, filled(tangents, inputs), strict=True)
        known = [zero_gradient(x) if dtypes.is_discrete(x.dtype) else t for x, t in pairs]
        return [self(*(t if t.is_sparse else stored_everywhere(t, self.format) for t in known))]


def _block_diagonal(blocks: Sequence[Any], format: str, dtype: str | None) -> Any:
    """scipy.sparse.block_diag with 64-bit coordinates: with 32 bits SciPy's coordinates of the result can overflow."""
    ends = np.cumsum([(0, 0), *(block.shape for block in blocks)], axis=0)
    entries = [block.tocoo() for block in blocks]
    places = [
        np.concatenate([getattr(x, name).astype(np.int64) + end[axis] for x, end in zip(entries, ends, strict=False)])
        for axis, name in enumerate(("row", "col"))
    ]
    data = np.concatenate([x.data for x in entries])
    return scipy_sparse().coo_matrix((data, tuple(places)), tuple(ends[-1]), dtype=dtype).asformat(format)


def sums_of(extents: Sequence[SymbolicExtent]) -> list[SymbolicExtent]:
    """Cumulative sums of extents: ints where all summands are ints."""
    return list(
        accumulate(extents, lambda a, b: a + b if isinstance(a, int) and isinstance(b, int) else as_tensor(a) + b)
    )


def _part(ct: Variable, window: tuple[slice, ...], x: Variable) -> Variable:
    """A window of a cotangent in the dtype of the block x, and in its format if it is sparse."""
    part = convert_derivative(sparse_getitem(ct, window) if ct.is_sparse else subtensor(ct, window), x)
    return in_format(part, as_sparse(x).format) if isinstance(part, SparseVariable) else part


def _prepared(p: Compressed, type: SparseTensorType) -> Compressed:
    """The vectors of a block, converted to the format and dtypes of the result."""
    p = p if p.format == type.format else other_format(p)
    indices, indptr = (cast(x, type.index_dtype) for x in (p.indices, p.indptr))
    return replace(p, data=cast(p.data, type.dtype), indices=indices, indptr=indptr)


def _shift_indices(blocks: Sequence[Compressed], what: str) -> list[Compressed]:
    """Blocks with their indices shifted to their place in the result.   what: name of the total extent in errors"""
    *before, total = sums_of([0, *(p.minor for p in blocks)])
    wide = blocks[0].indices.dtype
    steps = [cast(check_countable(as_tensor(n), total, wide, what), wide) for n in before]
    return [replace(p, indices=p.indices + n) for p, n in zip(blocks, steps, strict=True)]


def _concatenate_slices(blocks: Sequence[Compressed], what: str) -> Compressed:
    """The slices of all blocks, one block after another, as one compressed matrix."""
    data, indices = (join(0, *(getattr(p, part) for p in blocks)) for part in ("data", "indices"))
    wide = indices.dtype
    *before, total = sums_of([0, *(extent_of(p.data, 0) for p in blocks)])
    steps = [cast(check_countable(as_tensor(n), total, wide, what), wide) for n in before]
    ends = [p.indptr[1:] + n for p, n in zip(blocks, steps, strict=True)]
    return replace(
        blocks[0],
        data=data,
        indices=indices,
        indptr=join(0, blocks[0].indptr[:1], *ends),
        is_canonical=_all_canonical(blocks),
    )


def _interleaved(blocks: Sequence[Compressed], what: str) -> Compressed:
    """A compressed matrix whose slice i consists of slice i of each block in turn."""
    total = sums_of([extent_of(p.data, 0) for p in blocks])[-1]
    indptr = check_countable(reduce(add, [p.indptr for p in blocks]), total, blocks[0].indptr.dtype, what)
    starts, slots = indptr[:-1], []
    for p in blocks:
        entries = arange(extent_of(p.data, 0), dtype=p.indices.dtype)
        slots.append(entries + at_major(p, starts - p.indptr[:-1]))
        starts = starts + p.indptr[1:] - p.indptr[:-1]
    targets = join(0, *slots)
    data, indices = (
        sum_at(join(0, *(getattr(p, part) for p in blocks)), targets, total) for part in ("data", "indices")
    )
    return replace(blocks[0], data=data, indices=indices, indptr=indptr, is_canonical=_all_canonical(blocks))


def _all_canonical(blocks: Sequence[Compressed]) -> bool:
    return all(p.is_canonical for p in blocks)


@frozen_dataclass
class HStack(Stack):
    """Stack matrices of as many rows horizontally."""

    name: ClassVar[str] = "hstack"
    along: ClassVar[tuple[int, ...]] = (1,)
    format: str = "csc"
    dtype: str | None = None


@frozen_dataclass
class VStack(Stack):
    """Matrices of as many columns below each other."""

    name: ClassVar[str] = "vstack"
    along: ClassVar[tuple[int, ...]] = (0,)
    format: str = "csc"
    dtype: str | None = None


@frozen_dataclass
class SparseBlockDiagonal(Stack):
    """Stack matrices of any extents along a diagonal, without entries elsewhere.   n_inputs: number of matrices"""

    name: ClassVar[str] = "sparse_block_diagonal"
    notation: ClassVar[str] = "block_diag"
    along: ClassVar[tuple[int, ...]] = (0, 1)
    n_inputs: int
    format: str = "csc"

    def infer_type(self, *blocks: TensorType) -> TensorType:
        if len(blocks) != self.n_inputs:
            raise GraphValueError(f"expected {self.n_inputs} blocks, found {len(blocks)}")
        return super().infer_type(*blocks)


def _is_sparse(x: Any) -> bool:
    return isinstance(x, SparseVariable) or is_matrix(x)


@coerced
def hstack(blocks: Sequence[Any], format: str | None = None, dtype: DTypeLike | None = None) -> SparseVariable:
    """Stack sparse matrices of as many rows horizontally, csc unless `format` says csr.   (m, n₁), (m, n₂), … → (m, Σn)

    dtype: of the result, by default what the blocks promote to.

    Raises: GraphTypeError for a dense block; GraphValueError for no blocks, another format, or rows that differ, at run
    time where they are not known.
    """
    return _stacked(HStack, blocks, format, dtype)


@coerced
def vstack(blocks: Sequence[Any], format: str | None = None, dtype: DTypeLike | None = None) -> SparseVariable:
    """Sparse matrices of as many columns below each other, csc unless `format` says csr.   Raises: as hstack"""
    return _stacked(VStack, blocks, format, dtype)


def _stacked(
    kind: type[HStack] | type[VStack], blocks: Sequence[Any], format: str | None, dtype: DTypeLike | None
) -> SparseVariable:
    if not blocks:
        raise GraphValueError(f"{kind.name}: the list of blocks is empty")
    wanted = None if dtype is None else dtypes.canonical(dtype)
    return kind(format or "csc", wanted)(*map(as_sparse, blocks))  # type: ignore[no-any-return]


@coerced
def block_diag(*matrices: Any, format: str = "csc") -> SparseVariable:
    """Sparse or dense matrices along a diagonal; of dense ones what is not 0 is stored.   → (Σm, Σn), promoted dtype

    matrices: one after the other, or a list in which one is sparse, as SciPy takes them.

    Raises: GraphValueError for no matrices or another format, GraphTypeError for a rank above 2.
    """
    if len(matrices) == 1 and isinstance(matrices[0], list | tuple) and any(map(_is_sparse, matrices[0])):
        matrices = tuple(matrices[0])
    if not matrices:
        raise GraphValueError("block_diag: expected at least one matrix")
    blocks = [x if isinstance(x, SparseVariable) else from_dense(x, format) for x in matrices]
    if len(blocks) == 1:
        return in_format(blocks[0], format)
    return SparseBlockDiagonal(len(blocks), format)(*blocks)  # type: ignore[no-any-return]
