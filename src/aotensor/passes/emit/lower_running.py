"""Lower `aot.cumulate` and `aot.recur`: the kernels of a line (`kernels.running`), and the chunks of a long line.

Along an axis with others inside of it, row k of the result is computed from row k − 1, a strip of columns at a time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final, TypeAlias

from xdsl.ir import SSAValue

from aotensor.core import dtypes
from aotensor.ir.dialect import CumulateOp, RecurOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.nest.ops import PARALLEL_LINES
from aotensor.ir.scalar_builder import NO_FAST_MATH, Scalar
from aotensor.kernels import running
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.lower_window import STEP, element_dtype
from aotensor.passes.emit.parallel_lines import each_line
from aotensor.passes.kernels.translate import inline_kernel
from aotensor.passes.kernels.values import Vector, allocate_vector
from aotensor.passes.nest.work import quotient, rows_of_chunk
from aotensor.passes.target import Target

_ADDITION: Final = 4
"""The work per element and pass of a running sum, in the unit of `nest.work`."""
_WIDE: Final = 8
"""The smallest number of columns that are computed row by row; fewer lines are processed one after the other."""
_STRIP: Final = 1024
"""Columns of a strip, two rows of which stay in the first level cache."""
_FEWEST: Final = 4
"""The smallest number of chunks of a line: with two, one core would sum the first while the other one idles."""

_Element: TypeAlias = Callable[..., Scalar]


def lower_cumulate(b: LoopBuilder, buffers: Buffers, op: CumulateOp, target: Target) -> None:
    """Emit result[…, k, …] = Σ or Π of source[…, 0..k, …], in ascending order unless any order is permitted."""
    n, dtype = buffers.shape(op.source)[op.axis.value.data], element_dtype(op.source)
    is_last, is_sum = op.axis.value.data == len(buffers.shape(op.source)) - 1, op.kind.data == "add"

    def element(before: Scalar | None, x: Scalar) -> Scalar:
        total = b.constant(0 if is_sum else 1, dtype) if before is None else before
        return total + x if is_sum else total * x

    def run(x: Vector, y: Vector) -> None:
        first = b.constant(0 if is_sum else 1, dtype)
        if not (op.is_reassociable and is_last):
            inline_kernel(b, running.accumulate, x, y, first, n, is_sum)
            return
        own, b.fastmath = b.fastmath, NO_FAST_MATH
        block = b.imin(n, target.line_elements)
        size = _chunk_size(b, block, target)
        is_short = isinstance(size, int) and isinstance(n, int) and size >= n
        if PARALLEL_LINES not in op.attributes or len(buffers.shape(op.source)) > 1 or is_short:
            inline_kernel(b, running.sum_part, x, y, 0, n, first, True, True)
        else:
            totals = allocate_vector(b, dtype, target.most_chunks)
            inline_kernel(b, running.sum_line, x, y, totals, n, target.line_elements, size)
        b.fastmath = own

    _by_width(b, buffers, op, target, (op.source, op.result), run, element)


def lower_recur(b: LoopBuilder, buffers: Buffers, op: RecurOp, target: Target) -> None:
    """Emit result[…, k, …] = factors[…, k, …]·result[…, k − 1, …] + terms[…, k, …], in ascending order."""
    n, dtype = buffers.shape(op.terms)[op.axis.value.data], element_dtype(op.terms)

    def element(before: Scalar | None, factor: Scalar, term: Scalar) -> Scalar:
        return factor * (b.constant(0, dtype) if before is None else before) + term

    def run(*lines: Vector) -> None:
        inline_kernel(b, running.recur, *lines, n)

    own, b.fastmath = b.fastmath, op.fastmath
    _by_width(b, buffers, op, target, (op.factors, op.terms, op.result), run, element)
    b.fastmath = own


def _by_width(
    b: LoopBuilder, buffers: Buffers, op: CumulateOp | RecurOp, target: Target, tensors: Sequence[SSAValue],
    run: Callable[..., None], element: _Element,
) -> None:  # fmt: skip
    """Emit the lines of an operation one by one or, if many are adjacent in memory, all of them row by row.

    run: a line, from the lines of all tensors. element: of the result, from the one before it in its line (None for the
    first) and those of the sources.
    """

    def by_lines() -> Sequence[Scalar]:
        _along_lines(b, buffers, op, target, tensors, run)
        return ()

    def by_rows() -> Sequence[Scalar]:
        _across_lines(b, buffers, op, target, tensors, element)
        return ()

    width = reduce(operator.mul, buffers.shape(op.result)[op.axis.value.data + 1 :], 1)
    if dtypes.is_half(element_dtype(op.result)) or (isinstance(width, int) and width < _WIDE):
        by_lines()
    elif isinstance(width, int):
        by_rows()
    else:
        for x in tensors:
            buffers.buffer(x)  # declared before the branch
        b.branch(width >= _WIDE, by_rows, by_lines)


def _across_lines(
    b: LoopBuilder, buffers: Buffers, op: CumulateOp | RecurOp, target: Target, tensors: Sequence[SSAValue],
    element: _Element,
) -> None:  # fmt: skip
    """Emit all lines row by row: the loop over columns is innermost, and its iterations are independent."""
    axis, shape = op.axis.value.data, buffers.shape(op.result)
    outer, n, (columns, *rest) = shape[:axis], shape[axis], shape[axis + 1 :]
    *sources, (result, dtype) = [(buffers.buffer(x), element_dtype(x)) for x in tensors]

    def place(k: Extent) -> Extent:
        return k if op.reverse is None else n - 1 - k

    def strip(where: list[Scalar], start: Extent, stop: Extent) -> None:
        def row(k: Scalar, is_first: bool) -> Sequence[Scalar]:
            def column(j: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                b.nest(rest, lambda inside: cell([j, *inside]))
                return ()

            def cell(inside: list[Scalar]) -> None:
                at, above = [*where, place(k), *inside], [*where, place(k - 1), *inside]
                before = None if is_first else b.fetch(result, above, dtype)
                b.store(element(before, *(b.fetch(x, at, kind) for x, kind in sources)), result, at)

            b.loop(start, stop, (), column, attributes=() if rest else ("parallel_accesses",))
            return ()

        b.loop(0, b.imin(n, 1), (), lambda k, _: row(k, True), is_vectorisable=False)
        b.loop(1, n, (), lambda k, _: row(k, False), is_vectorisable=False, is_unrolled=False)

    def strips(where: list[Scalar], start: Extent, stop: Extent) -> None:
        if rest or (isinstance(columns, int) and columns <= _STRIP):
            strip(where, start, stop)
            return

        def one(at: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            strip(where, at, b.imin(at + _STRIP, stop))
            return ()

        b.loop(start, stop, (), one, _STRIP, is_vectorisable=False, is_unrolled=False)

    work = reduce(operator.mul, rest, n * STEP)
    if outer or PARALLEL_LINES not in op.attributes:
        each_line(b, op, target, outer, work * columns, lambda: lambda where: strips(where, 0, columns))
    else:
        size = rows_of_chunk(b, columns, work, target.chunk_work, target.most_chunks, running.GROUP * 8)
        b.parallel(columns, size, lambda start: strips([], start, b.imin(start + size, columns)))


def _along_lines(
    b: LoopBuilder, buffers: Buffers, op: CumulateOp | RecurOp, target: Target, tensors: Sequence[SSAValue],
    run: Callable[..., None],
) -> None:  # fmt: skip
    """Emit run(*lines of the tensors) for every line along the axis of an operation, in reverse order if it says so."""
    axis, shape = op.axis.value.data, buffers.shape(tensors[0])
    held = [(buffers.buffer(x), element_dtype(x)) for x in tensors]  # allocated outside of the loops over lines

    def line(where: list[Scalar]) -> None:
        def element(k: Extent) -> list[Extent]:
            return [*where[:axis], k if op.reverse is None else shape[axis] - 1 - k, *where[axis:]]

        run(*(Vector(buffer, dtype, element) for buffer, dtype in held))

    others = [n for d, n in enumerate(shape) if d != axis]
    each_line(b, op, target, others, shape[axis] * STEP, lambda: line)


def _chunk_size(b: LoopBuilder, block: Extent, target: Target) -> Extent:
    """The number of elements per chunk of a block; the whole block if it would have too few chunks."""
    group = running.GROUP
    size = rows_of_chunk(b, block, _ADDITION, target.chunk_work, target.most_chunks, group)
    all_groups = quotient(b, block + (group - 1), group) * group
    if isinstance(block, int) and isinstance(size, int):
        return size if block > (_FEWEST - 1) * size else all_groups
    is_cut = b.index(block) > size * (_FEWEST - 1)
    return b.select(is_cut, b.index(size), b.index(b.imax(all_groups, group)))
