"""Running sums of floats by groups of eight elements, whose local running sums are independent:

    for g in 0 … n by 8:  p = x[g], x[g] + x[g + 1], …;   y[g + k] = (s + p[k]);   s = s + p[7]

so that only one addition in eight is on the dependence chain. A long line is split into blocks that stay in cache,
these into chunks: each chunk is summed, the totals give the offset of each, and a second pass writes y = t + (s + p).
Both passes add in the same order, so a chunk begins with the last element of the chunk before it, and running sums of
nonnegative numbers never decrease. The bounds of chunks depend on the length only.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Final

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from aotensor.ir.dialect import CumulateOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.nest.ops import PARALLEL_LINES
from aotensor.ir.scalar_builder import NO_FAST_MATH, Scalar
from aotensor.passes.nest.work import quotient, rows_of_chunk
from aotensor.passes.target import Target

GROUP: Final = 8
"""Elements per group: as many independent additions as fit into the latency of a few dependent ones."""
STEP: Final = 4
"""The work per element and pass, in the unit of `nest.work`."""
FEWEST: Final = 4
"""The smallest number of chunks of a line: with two, one core would sum the first while the other one idles."""


class Line:
    """A line of a tensor, and the line of the result for its running sums. at(k): the indices of element k."""

    def __init__(
        self, b: LoopBuilder, dtype: str, buffers: tuple[SSAValue, SSAValue], at: Callable[[Extent], list[Extent]]
    ) -> None:
        self.b, self.dtype, self._at = b, dtype, at
        self._source, self._result = buffers

    def read(self, k: Extent) -> Scalar:
        return self.b.fetch(self._source, self._at(k), self.dtype)

    def result(self, k: Extent) -> Scalar:
        return self.b.fetch(self._result, self._at(k), self.dtype)

    def write(self, k: Extent, sum: Scalar) -> None:
        self.b.store(sum, self._result, self._at(k))

    def sum(self, start: Extent, stop: Extent, before: Scalar | None, is_written: bool) -> Scalar:
        """Return the sum of the elements from start to stop; if `is_written`, write the running sums plus `before`."""
        b = self.b
        whole = b.iadd(start, b.imul(quotient(b, b.isub(stop, start), GROUP), GROUP))

        def group(k: Scalar, carried: list[Scalar]) -> list[Scalar]:
            (total,) = carried
            sums = list(accumulate((self.read(b.iadd(k, i)) for i in range(GROUP)), b.add))
            for i, sum in enumerate(sums if is_written else sums[-1:]):
                last = b.add(total, sum)
                if is_written:
                    self.write(b.iadd(k, i), last if before is None else b.add(before, last))
            return [last]

        def single(k: Scalar, carried: list[Scalar]) -> list[Scalar]:
            last = b.add(carried[0], self.read(k))
            if is_written:
                self.write(k, last if before is None else b.add(before, last))
            return [last]

        own, b.fastmath = b.fastmath, NO_FAST_MATH
        total = b.loop(start, whole, [b.constant(0, self.dtype)], group, step=GROUP, is_vectorisable=False)
        (found,) = b.loop(whole, stop, total, single, is_vectorisable=False, is_unrolled=False)
        b.fastmath = own
        return found


def sum_line(b: LoopBuilder, op: CumulateOp, line: Line, length: Extent, target: Target) -> None:
    """Emit the running sums of one line; chunks of a long line run on several cores."""
    kind = op.source.type
    assert isinstance(kind, TensorType)
    block = b.imin(length, target.line_elements)
    size = _chunk_size(b, block, target)
    is_short = isinstance(size, int) and isinstance(length, int) and size >= length
    if PARALLEL_LINES not in op.attributes or len(kind.get_shape()) > 1 or is_short:
        line.sum(0, length, None, True)
        return
    totals = b.allocate(kind.element_type, [target.most_chunks])

    def sum_block(start: Scalar, carried: list[Scalar]) -> list[Scalar]:
        stop = b.imin(b.iadd(start, target.line_elements), length)
        _sum_block(b, line, totals, size, start, stop, carried[0])
        return [line.result(b.isub(stop, 1))]

    b.loop(0, length, [b.constant(0, line.dtype)], sum_block, step=target.line_elements, is_vectorisable=False)


def _chunk_size(b: LoopBuilder, block: Extent, target: Target) -> Extent:
    """The number of elements per chunk of a block; the whole block if it would have too few chunks."""
    size = rows_of_chunk(b, block, STEP, target.chunk_work, target.most_chunks, GROUP)
    all_groups = b.imul(quotient(b, b.iadd(block, GROUP - 1), GROUP), GROUP)
    if isinstance(block, int) and isinstance(size, int):
        return size if block > (FEWEST - 1) * size else all_groups
    is_cut = b.compare("gt", b.index(block), b.index(b.imul(size, FEWEST - 1)))
    return b.select(is_cut, b.index(size), b.index(b.imax(all_groups, GROUP)))


def _sum_block(
    b: LoopBuilder, line: Line, totals: SSAValue, size: Extent, start: Extent, stop: Extent, before: Scalar
) -> None:
    """Emit the running sums from start to stop, plus `before`, by chunks of `size` elements."""
    count = b.isub(stop, start)
    b.store(before, totals, [0])

    def chunk_sum(offset: Scalar) -> None:
        first = b.iadd(start, offset)
        found = line.sum(first, b.iadd(first, size), None, False)
        b.store(found, totals, [b.iadd(quotient(b, offset, size), 1)])

    def add(k: Scalar, carried: list[Scalar]) -> list[Scalar]:
        total = b.add(carried[0], b.fetch(totals, [k], line.dtype))
        b.store(total, totals, [k])
        return [total]

    def chunk(offset: Scalar) -> None:
        first, own = b.iadd(start, offset), b.fetch(totals, [quotient(b, offset, size)], line.dtype)
        line.sum(first, b.imin(b.iadd(first, size), stop), own, True)

    b.parallel(b.isub(count, size), size, chunk_sum)  # the last chunk's sum is not needed
    chunks = quotient(b, b.iadd(count, b.isub(size, 1)), size)
    own, b.fastmath = b.fastmath, NO_FAST_MATH
    b.loop(1, chunks, [before], add, is_vectorisable=False)
    b.fastmath = own
    b.parallel(count, size, chunk)
