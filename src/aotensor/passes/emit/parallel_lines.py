"""Loops over lines of a tensor or rows of a matrix, split into chunks for several cores.

    for i in 0 … n:  body(i)      →      parallel for chunk of rows:  for i in chunk:  body(i)

Memory that a chunk allocates is private to it. Only operations that `parallelize` has marked are split.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

from xdsl.ir import Operation, SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.nest.ops import PARALLEL_LINES
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.emit.balance import balanced_row
from aotensor.passes.nest.work import rows_of_chunk
from aotensor.passes.target import Target

Body = Callable[[Scalar], object]
_MOVE: Final = 4
"""The work of moving an element, in the unit of `nest.work`."""


def each_row(
    b: LoopBuilder,
    op: Operation,
    target: Target,
    count: Extent,
    work: Extent,
    begin: Callable[[], Body],
    own: Extent = 0,
    indptr: SSAValue | None = None,
) -> None:
    """Emit body(i) for i = 0 … count; each chunk calls body = begin(), which may allocate memory for the chunk.

    work: estimated work per row. own: elements that each chunk initializes for itself.
    indptr: row starts of a compressed matrix whose entries are divided evenly among chunks.
    """

    def rows(start: Extent, stop: Extent) -> None:
        body = begin()

        def step(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            body(i)
            return ()

        b.loop(start, stop, (), step, is_vectorisable=False, is_unrolled=False)

    if PARALLEL_LINES not in op.attributes:
        rows(0, count)
        return
    least = target.chunk_work + own * (target.row_group * 8)
    size = rows_of_chunk(b, count, work, least, target.most_chunks, target.row_group)

    def chunk(start: Scalar) -> None:
        first, last = start, b.imin(start + size, count)
        if indptr is not None:
            first, last = (balanced_row(b, i, count, size, target.row_group, indptr) for i in (first, last))
        rows(first, last)

    b.parallel(count, size, chunk)


def each_line(
    b: LoopBuilder, op: Operation, target: Target, others: Sequence[Extent], work: Extent,
    begin: Callable[[], Callable[[list[Scalar]], None]],
) -> None:  # fmt: skip
    """Emit body(where) for all positions along all axes but one; each chunk calls body = begin().

    work: estimate per line.
    """
    if not others:
        begin()([])
        return
    first, *rest = others
    lines = reduce(operator.mul, rest, work)

    def whole() -> Body:
        body = begin()
        return lambda i: b.nest(rest, lambda where: body([i, *where]))

    each_row(b, op, target, first, lines, whole)


def each_element(
    b: LoopBuilder, op: Operation, target: Target, shape: Sequence[Extent], body: Callable[[list[Scalar]], None]
) -> None:
    """Emit body(where) for all positions of a tensor, where body moves one element."""
    if PARALLEL_LINES in op.attributes and len(shape) > 1:
        each_line(b, op, target, shape, _MOVE, lambda: body)
    else:
        b.nest(shape, body)
