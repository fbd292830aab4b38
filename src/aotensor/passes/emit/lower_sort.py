"""Sort lines: a bottom-up merge sort of short runs, which are sorted by counting smaller elements.

Two whole runs are merged from both ends at once: two independent chains of loads and comparisons that cannot leave
their run before the middle (a parity merge, as in van den Hoven's quadsort).

Many lines are distributed over the cores. A single long line is split into chunks: each chunk is sorted independently,
and chunks are then merged in pairs, where each core computes a piece of the merged run; bisection finds how many
elements of either run precede the piece (the merge path of Odeh, Green, Mwassi, Shmueli and Birk).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from aotensor.ir.dialect import SortOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.nest.ops import PARALLEL_LINES
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i64
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.lower_window import STEP, element_dtype
from aotensor.passes.emit.parallel_lines import each_line
from aotensor.passes.nest.work import rows_of_chunk
from aotensor.passes.target import Target

LARGEST_SORT: Final = 48  # merge passes: enough for 2^48 elements along an axis
_RUN: Final = 16
"""Elements of a run that is sorted by counting."""
_UNROLLED: Final = 4
"""Unrolled steps of a merge; they divide a run."""
_MERGE: Final = 2 * STEP
"""The work of moving an element in a merge."""


def lower_sort(b: LoopBuilder, buffers: Buffers, op: SortOp, target: Target) -> None:
    """Bottom-up merge sort of each line along the axis, stable, nan last.   O(n log n) moves, two lines of scratch."""
    axis = op.axis.value.data
    shape = buffers.shape(op.source)
    length = shape[axis]
    source, values, permutation = (buffers.buffer(x) for x in (op.source, op.values, op.permutation))
    assert isinstance(op.source.type, TensorType)
    kind = op.source.type.element_type
    dtype = element_dtype(op.source, is_unsigned=op.unsigned is not None)
    others = [n for d, n in enumerate(shape) if d != axis]
    is_cut = PARALLEL_LINES in op.attributes and not others
    size = rows_of_chunk(b, length, _MERGE, target.chunk_work, target.most_chunks, target.row_group) if is_cut else 0
    if isinstance(size, int) and isinstance(length, int) and size >= length:
        is_cut = False

    def begin() -> Callable[[list[Scalar]], None]:
        scratch = _Runs(b, b.allocate(kind, [length]), b.allocate(i64, [length]), dtype, lambda k: [k])

        def sort(where: list[Scalar]) -> None:
            def at(k: Extent) -> list[Extent]:
                return [*where[:axis], k, *where[axis:]]

            line = _Runs(b, values, permutation, dtype, at)

            def number(k: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                line.put(k, b.fetch(source, at(k), dtype), b.cast(k, "int64"))
                return ()

            def sort_part(start: Extent, stop: Extent) -> None:
                b.loop(start, stop, (), number)
                _sort_part(b, line, scratch, start, stop)

            if is_cut:
                b.parallel(length, size, lambda start: sort_part(start, b.imin(b.iadd(start, size), length)))
                _merge_chunks(b, line, scratch, length, size, target.most_chunks)
            else:
                sort_part(0, length)

        return sort

    each_line(b, op, target, others, b.imul(length, STEP * LARGEST_SORT // 2), begin)


@dataclass(frozen=True)
class _Runs:
    """Elements of a line with their original positions: the line to sort, or scratch memory.

    at(k): the indices of element k.
    """

    b: LoopBuilder
    values: SSAValue
    positions: SSAValue
    dtype: str
    at: Callable[[Extent], list[Extent]]

    def value(self, k: Extent) -> Scalar:
        return self.b.fetch(self.values, self.at(k), self.dtype)

    def position(self, k: Extent) -> Scalar:
        return self.b.fetch(self.positions, self.at(k), "int64")

    def put(self, k: Extent, value: Scalar, position: Scalar) -> None:
        self.b.store(value, self.values, self.at(k))
        self.b.store(position, self.positions, self.at(k))


@dataclass(frozen=True)
class _Pair:
    """Two adjacent sorted runs of elements, start … middle and middle … end."""

    start: Extent
    middle: Extent
    end: Extent

    @staticmethod
    def of(b: LoopBuilder, start: Extent, width: Extent, stop: Extent) -> _Pair:
        """Two adjacent runs of `width` elements from `start` on, both cut off at `stop`."""
        return _Pair(start, b.imin(b.iadd(start, width), stop), b.imin(b.iadd(start, b.imul(width, 2)), stop))


def _sort_part(b: LoopBuilder, line: _Runs, scratch: _Runs, start: Extent, stop: Extent) -> None:
    """Emit the sort of elements start … stop on one core: sort short runs, and merge them in pairs."""
    count = b.isub(stop, start)

    def back(k: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
        line.put(k, scratch.value(k), scratch.position(k))
        return ()

    def short(begin: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
        _sort_run(b, line, scratch, begin, b.index(b.imin(b.iadd(begin, _RUN), stop)))
        return ()

    b.loop(start, stop, (), short, step=_RUN, is_vectorisable=False, is_unrolled=False)
    b.loop(start, stop, (), back)

    def merge_pass(number: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
        width = b.shift_left(b.index(_RUN), number)

        def merge_all() -> Sequence[Scalar]:
            def merge(begin: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                pair = _Pair.of(b, begin, width, stop)
                is_whole = b.compare("le", b.add(begin, b.add(width, width)), b.index(stop))
                b.branch(
                    is_whole, lambda: _merge_whole(b, line, scratch, begin, width),
                    lambda: _merge_rest(b, line, scratch, pair, stop),
                )  # fmt: skip
                return ()

            b.loop(start, stop, (), merge, step=b.add(width, width), is_vectorisable=False, is_unrolled=False)
            b.loop(start, stop, (), back)
            return ()

        b.branch(b.compare("lt", width, b.index(count)), merge_all, lambda: ())
        return ()

    b.loop(0, LARGEST_SORT, (), merge_pass, is_vectorisable=False, is_unrolled=False)


def _sort_run(b: LoopBuilder, source: _Runs, target: _Runs, start: Scalar, stop: Scalar) -> None:
    """Emit the sort of a short run: place each element after the smaller ones and after equal ones that precede it."""
    zero, one = b.index(0), b.index(1)

    def place(k: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
        x = source.value(k)

        def before(i: Scalar, counted: list[Scalar]) -> list[Scalar]:
            y = source.value(i)
            is_equal = b.and_(b.not_(_less(b, x, y)), b.compare("lt", i, k))
            return [b.add(counted[0], b.select(b.or_(_less(b, y, x), is_equal), one, zero))]

        (rank,) = b.loop(start, stop, [zero], before)
        target.put(b.add(start, rank), x, source.position(k))
        return ()

    b.loop(start, stop, (), place, is_vectorisable=False, is_unrolled=False)


def _merge_whole(b: LoopBuilder, source: _Runs, target: _Runs, start: Scalar, width: Scalar) -> Sequence[Scalar]:
    """Emit the merge of two runs of `width` elements: half of the result from the front and half from the back."""
    one, middle = b.index(1), b.add(start, width)
    last = b.sub(b.add(middle, width), one)

    def steps(k: Scalar, carried: list[Scalar]) -> list[Scalar]:
        for number in range(_UNROLLED):
            carried = step(b.index(b.iadd(k, number)), carried)
        return carried

    def step(k: Scalar, carried: list[Scalar]) -> list[Scalar]:
        left, right, upper_left, upper_right = carried
        is_left = b.not_(_less(b, source.value(right), source.value(left)))
        chosen = b.select(is_left, left, right)
        target.put(b.add(start, k), source.value(chosen), source.position(chosen))
        is_right = b.not_(_less(b, source.value(upper_right), source.value(upper_left)))
        taken = b.select(is_right, upper_right, upper_left)
        target.put(b.sub(last, k), source.value(taken), source.position(taken))
        return [
            b.select(is_left, b.add(left, one), left),
            b.select(is_left, right, b.add(right, one)),
            b.select(is_right, upper_left, b.sub(upper_left, one)),
            b.select(is_right, b.sub(upper_right, one), upper_right),
        ]

    ends = [start, middle, b.sub(middle, one), last]
    b.loop(0, width, ends, steps, step=_UNROLLED, is_vectorisable=False, is_unrolled=False)
    return ()


def _merge_rest(b: LoopBuilder, source: _Runs, target: _Runs, pair: _Pair, stop: Extent) -> Sequence[Scalar]:
    """Emit the merge of the last two runs of a line; the second one may be short or empty."""
    first = [b.index(pair.start), b.index(pair.middle)]
    b.loop(
        pair.start, pair.end, first, lambda k, at: _merge_step(b, source, target, pair, stop, k, at),
        is_vectorisable=False,
    )  # fmt: skip
    return ()


def _merge_chunks(b: LoopBuilder, line: _Runs, scratch: _Runs, length: Extent, size: Extent, most: int) -> None:
    """Merge at most `most` sorted runs of `size` elements until there is one, on several cores.

    Each iteration makes two passes, to the scratch memory and back. In the last pass there may be a single run.
    """

    def two_passes(number: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
        width = b.shift_left(b.index(size), b.add(number, number))

        def merge_all() -> Sequence[Scalar]:
            _merge_pass(b, line, scratch, length, size, width)
            _merge_pass(b, scratch, line, length, size, b.add(width, width))
            return ()

        b.branch(b.compare("lt", width, b.index(length)), merge_all, lambda: ())
        return ()

    passes = (most - 1).bit_length()
    b.loop(0, (passes + 1) // 2, (), two_passes, is_vectorisable=False)


def _merge_pass(b: LoopBuilder, source: _Runs, target: _Runs, length: Extent, size: Extent, width: Scalar) -> None:
    """Emit a pass that merges adjacent runs of `width` elements, by independent pieces of `size` elements."""

    def piece(start: Scalar) -> None:
        double = b.add(width, width)
        pair = _Pair.of(b, b.mul(b.div(start, double), double), width, length)
        stop = b.imin(b.iadd(start, size), length)
        first = _merge_path(b, source, pair, b.index(b.isub(start, pair.start)))
        b.loop(
            start, stop, first, lambda k, at: _merge_step(b, source, target, pair, length, k, at), is_vectorisable=False
        )

    b.parallel(length, size, piece)


def _merge_step(
    b: LoopBuilder, source: _Runs, target: _Runs, pair: _Pair, stop: Extent, k: Scalar, carried: list[Scalar]
) -> list[Scalar]:
    """Emit one step of a merge: target[k] = the next element of two runs; return the positions (left, right) after it.

    carried: the positions (left, right) before the step. stop: the end of the readable elements.
    """
    left, right = carried
    last = b.isub(stop, 1)
    a, c = source.value(b.imin(left, last)), source.value(b.imin(right, last))
    has_left, has_right = (b.compare("lt", x, b.index(end)) for x, end in ((left, pair.middle), (right, pair.end)))
    take_left = b.and_(has_left, b.or_(b.not_(has_right), b.not_(_less(b, c, a))))
    target.put(k, b.select(take_left, a, c), source.position(b.select(take_left, left, right)))
    one = b.index(1)
    return [b.select(take_left, b.add(left, one), left), b.select(take_left, right, b.add(right, one))]


def _merge_path(b: LoopBuilder, source: _Runs, pair: _Pair, count: Scalar) -> list[Scalar]:
    """The positions (left, right) of the next elements of two runs after `count` merged elements, by bisection.

    low … high are the possible numbers of merged elements that come from the left run.
    """
    start, middle = b.index(pair.start), b.index(pair.middle)
    low = b.imax(b.sub(count, b.sub(b.index(pair.end), middle)), 0)
    high = b.imin(count, b.sub(middle, start))

    def halve(range: list[Scalar]) -> list[Scalar]:
        low, high = range
        half = b.shift_right(b.add(low, high), b.index(1))
        right = b.sub(b.sub(b.add(middle, count), half), b.index(1))
        is_in = b.not_(_less(b, source.value(right), source.value(b.add(start, half))))
        return [b.select(is_in, b.add(half, b.index(1)), low), b.select(is_in, high, half)]

    found, _ = b.loop_while([b.index(low), b.index(high)], lambda range: b.compare("lt", *range), halve)
    return [b.add(start, found), b.sub(b.add(middle, count), found)]


def _less(b: LoopBuilder, x: Scalar, y: Scalar) -> Scalar:
    """Emit x < y in an order where nan is larger than every number."""
    if x.dtype in ("float32", "float64"):
        return b.or_(b.compare("lt", x, y), b.and_(b.is_nan(y), b.not_(b.is_nan(x))))
    return b.compare("lt", x, y)
