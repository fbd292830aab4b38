"""Buffers of int32 or int64 positions, and compressed patterns that consist of two of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from xdsl.ir import SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import element_type
from aotensor.passes.emit.buffers import Buffers

AHEAD: Final = 16
"""Prefetch distance, in entries."""


class IndexVector:
    """A buffer of positions, read and written as index values."""

    def __init__(self, b: LoopBuilder, buffer: SSAValue) -> None:
        self.b, self.buffer = b, buffer
        self.dtype = f"int{buffer.type.element_type.width.data}"  # type: ignore[attr-defined]

    @classmethod
    def allocated(cls, b: LoopBuilder, dtype: str, extent: Extent) -> IndexVector:
        """Allocate a buffer of positions."""
        return cls(b, b.allocate(element_type(dtype), [extent]))

    def __getitem__(self, at: Extent) -> Scalar:
        return self.b.cast(self.b.fetch(self.buffer, [at], self.dtype), "index")

    def put(self, value: Extent, at: Extent) -> Sequence[Scalar]:
        """Write element `at`. Returns (), so that a loop without carried values accepts it as body."""
        self.b.store(self.b.cast(self.b.index(value), self.dtype), self.buffer, [at])
        return ()


class Pattern:
    """The pattern of a compressed matrix: its vectors `indices` and `indptr`."""

    def __init__(self, b: LoopBuilder, buffers: Buffers, indices: SSAValue, indptr: SSAValue) -> None:
        self.b = b
        self.indices, self.indptr = (IndexVector(b, buffers.buffer(x)) for x in (indices, indptr))
        self.count = buffers.shape(indices)[0]
        self.slices = b.isub(buffers.shape(indptr)[0], 1)

    def bounds(self, i: Scalar) -> tuple[Scalar, Scalar]:
        """The first entry of slice i, and the first entry after it."""
        return self.indptr[i], self.indptr[self.b.add(i, self.b.index(1))]

    def prefetch(self, e: Scalar, q: Pattern, *values: tuple[SSAValue, Sequence[Scalar]]) -> None:
        """Prefetch the slices of q that later entries than e refer to.

        values: pairs of a buffer with one element per entry of q, and its leading indices.
        """
        b = self.b
        last = b.index(b.isub(self.count, 1))
        far, near = (b.minimum(b.add(e, b.index(distance)), last) for distance in (2 * AHEAD, AHEAD))
        b.prefetch(q.indptr.buffer, [self.indices[far]])
        start = q.indptr[self.indices[near]]
        b.prefetch(q.indices.buffer, [start])
        for buffer, outer in values:
            b.prefetch(buffer, [*outer, start])

    def each_entry(self, body: Callable[[Scalar, Scalar], None]) -> None:
        """Emit body(slice, entry) for all entries in order."""

        def entries(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            def entry(e: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                body(i, e)
                return ()

            self.b.loop(*self.bounds(i), (), entry, is_vectorisable=False, is_unrolled=False)
            return ()

        self.b.loop(0, self.slices, (), entries, is_vectorisable=False, is_unrolled=False)
