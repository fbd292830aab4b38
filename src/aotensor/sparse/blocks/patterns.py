"""Conversion of patterns between csr and bsr: the position of each element of compressed rows in its block.

Row r·I + i of an r×c bsr matrix has the elements (i, ·) of all blocks of row I of blocks, c of each, in their order:

    element k of the row           column k % c of block first(I) + k / c
    element (i, j) of block p      at r·c·first(I) + i·c·count(I) + c·(p − first(I)) + j
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.index import subtensor
from aotensor.ops.linear import ConstantOp
from aotensor.ops.ranges import arange
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, extent_of
from aotensor.ops.shape.join import concatenate
from aotensor.ops.shape.reshape import ravel, reshape
from aotensor.sparse.checks import check_countable
from aotensor.sparse.compressed_axes import ExpandSlices, TakeAt, at_major, major_of_entries, sum_at
from aotensor.sparse.op import Compressed
from aotensor.sparse.patterns import distinct, other_format


def unblocked(p: Compressed) -> Compressed:
    """A bsr matrix converted to csr, with all elements of its blocks stored; sorted if the blocks are.   O(elements)"""
    assert p.blocksize is not None
    (height, width), wide = p.blocksize, p.indices.dtype
    size = height * width
    nnz = as_tensor(extent_of(p.indices, 0))
    total = as_extent(check_countable(nnz * size, as_extent(nnz * size), wide, "blocks have {found} elements"))
    first, counts = (cast(x, "int64") for x in (p.indptr[:-1], p.indptr[1:] - p.indptr[:-1]))
    inside = arange(height, dtype="int64")
    starts = ravel(_columns(first * size) + _columns(counts * width) * inside)
    indptr = concatenate([starts, reshape(as_tensor(total), (1,))])
    places = ravel(_columns(first * size) + inside * width)  # of the elements of a row in its first block
    elements = arange(total, dtype="int64")
    before = ExpandSlices()(starts, indptr, elements)
    blocks = (elements - before) // width
    offsets = elements - before - blocks * width
    source = ExpandSlices()(places, indptr, elements) + blocks * size + offsets
    columns = check_countable(p.indices, p.columns, wide, "a matrix of blocks has {found} columns")
    indices = TakeAt()(columns, source // size) * width + cast(offsets, wide)
    data = TakeAt()(ravel(p.data), source)
    return replace(p, format="csr", blocksize=None, data=data, indices=cast(indices, wide), indptr=cast(indptr, wide))


def _columns(x: Variable) -> Variable:
    return dimshuffle(x, [0, None])


def elements_of(p: Compressed) -> Variable:
    """For every element of the blocks, in C order, its int64 position among the entries of `unblocked(p)`."""
    assert p.blocksize is not None
    height, width = p.blocksize
    first, counts = (at_major(p, cast(x, "int64")) for x in (p.indptr[:-1], p.indptr[1:] - p.indptr[:-1]))
    blocks = arange(extent_of(p.indices, 0), dtype="int64")
    i, j = (arange(n, dtype="int64") for n in p.blocksize)
    start = first * (height * width) + (blocks - first) * width
    rows = _columns(start) + _columns(counts * width) * i
    return ravel(dimshuffle(rows, [0, 1, None]) + j)


def blocked(p: Compressed, blocksize: tuple[int, int]) -> Compressed:
    """A csr matrix converted to bsr: blocks with at least one entry are stored, duplicates add up.   O(nnz + m + n)

    Raises: GraphValueError for extents that the blocksize does not divide (at run time where they are not known).
    """
    height, width = blocksize
    rows, columns = (_divided(n, by, word) for n, by, word in zip((p.rows, p.columns), blocksize, _WORDS, strict=True))
    p = replace(p, rows=rows, columns=columns)
    grid = replace(
        p,
        format="bsr",
        data=arange(extent_of(p.indices, 0), dtype=p.indices.dtype),
        indices=p.indices // width,
        indptr=subtensor(p.indptr, slice(None, None, height)),
        is_canonical=False,
        blocksize=blocksize,
    )
    q = other_format(other_format(grid))
    found, slots = distinct(q)
    row, column = (TakeAt()(cast(x, "int64"), q.data) for x in (major_of_entries(p), p.indices))
    places = cast(slots, "int64") * (height * width) + (row % height) * width + column % width
    count = as_tensor(extent_of(found.indices, 0))
    data = sum_at(TakeAt()(p.data, q.data), places, as_extent(cast(count, "int64") * (height * width)))
    return replace(found, data=reshape(data, (count, height, width)))


_WORDS = ("rows", "columns")


def _divided(extent: SymbolicExtent, by: int, word: str) -> SymbolicExtent:
    """An extent, after a check that the blocksize divides it.   Raises: GraphValueError"""
    if by == 1 or isinstance(extent, int):
        if isinstance(extent, int) and extent % by:
            raise GraphValueError(f"{extent} {word} are not a multiple of the {by} of a block")
        return extent
    return as_extent(Divided(by, word)(extent))


@frozen_dataclass
class Divided(ConstantOp):
    """An integer scalar, after a check that it is a multiple of `by`.   word: its meaning, for the error"""

    name: ClassVar[str] = "divided"
    notation: ClassVar[str] = "{0}"
    by: int
    word: str

    def infer_type(self, extent: TensorType) -> TensorType:
        return extent

    def reference(self, extent: Array) -> Array:
        if extent % self.by:
            raise GraphValueError(f"{extent} {self.word} are not a multiple of the {self.by} of a block")
        return extent

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        return node.outputs

    def lower(self, b: TensorBuilder, extent: Tensor) -> Tensor:
        v = b.scalars
        found = v.cast(b.item(extent), dtypes.INDEX)
        message = f"{{found}} {self.word} are not a multiple of the {{expected}} of a block"
        b.check(v.compare("eq", found % self.by, v.index(0)), message, found, self.by)
        return extent
