"""Sorting of lines: a merge sort from runs of one element upwards.

Many lines are shared out among the cores. One line alone is cut into chunks where it is long: each chunk is sorted by
itself, and chunks are then merged in pairs, where each core makes a piece of the merged run: how many elements of
either run are in front of the piece is found by bisection (the merge path of Odeh, Green, Mwassi, Shmueli and Birk).
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
from aotensor.ir.nest.ops import ON_CORES
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i64
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.lower_window import STEP, verb_dtype
from aotensor.passes.emit.on_cores import each_line
from aotensor.passes.nest.work import rows_of_chunk
from aotensor.passes.target import Target

LARGEST_SORT: Final = 48  # merge passes: enough for 2^48 elements along an axis
_MERGE: Final = 2 * STEP
"""The work of moving an element to its place in a merged run."""


def lower_sort(b: LoopBuilder, buffers: Buffers, op: SortOp, target: Target) -> None:
    """Bottom-up merge sort of each line along the axis, stable, nan last.   O(n log n) moves, two lines of scratch."""
    axis = op.axis.value.data
    shape = buffers.shape(op.source)
    length = shape[axis]
    source, values, permutation = (buffers.buffer(x) for x in (op.source, op.values, op.permutation))
    assert isinstance(op.source.type, TensorType)
    kind = op.source.type.element_type
    dtype = verb_dtype(op.source, is_unsigned=op.unsigned is not None)
    others = [n for d, n in enumerate(shape) if d != axis]
    is_cut = ON_CORES in op.attributes and not others
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
    """Elements of a line, with the positions that they had: what is sorted, or scratch memory.

    at: the indices of element k.
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
    """Two sorted runs next to each other, start … middle … end."""

    start: Extent
    middle: Extent
    end: Extent

    @staticmethod
    def of(b: LoopBuilder, start: Extent, width: Extent, stop: Extent) -> _Pair:
        """Runs of `width` elements, or those that there are in front of `stop`."""
        return _Pair(start, b.imin(b.iadd(start, width), stop), b.imin(b.iadd(start, b.imul(width, 2)), stop))


def _sort_part(b: LoopBuilder, line: _Runs, scratch: _Runs, start: Extent, stop: Extent) -> None:
    """Sort the elements from start to stop, on one core: runs of 1, 2, 4, … elements are merged in pairs."""
    count = b.isub(stop, start)

    def merge_pass(number: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
        width = b.shift_left(b.index(1), number)

        def merge_all() -> Sequence[Scalar]:
            bits = b.add(number, b.index(1))

            def element(k: Scalar, carried: list[Scalar]) -> list[Scalar]:
                begin = b.iadd(b.shift_left(b.shift_right(b.index(b.isub(k, start)), bits), bits), start)
                pair = _Pair.of(b, begin, width, stop)
                is_start = b.compare("eq", k, b.index(begin))
                left, right = (
                    b.select(is_start, b.index(first), x)
                    for first, x in zip((pair.start, pair.middle), carried, strict=True)
                )
                return _merge_step(b, line, scratch, pair, stop, k, [left, right])

            def back(k: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                line.put(k, scratch.value(k), scratch.position(k))
                return ()

            zero = b.index(0)
            b.loop(start, stop, [zero, zero], element, is_vectorisable=False)
            b.loop(start, stop, (), back)
            return ()

        b.branch(b.compare("lt", width, b.index(count)), merge_all, lambda: ())
        return ()

    b.loop(0, LARGEST_SORT, (), merge_pass, is_vectorisable=False)


def _merge_chunks(b: LoopBuilder, line: _Runs, scratch: _Runs, length: Extent, size: Extent, most: int) -> None:
    """Merge sorted runs of `size` elements, `most` at most, until there is one; on several cores.

    Runs go to the scratch memory and back by two passes, of which the last one may find one run only.
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
    """Merge neighbouring runs of `width` elements, by pieces of `size` elements, of which a run has a whole number."""

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
    """target[k] = the next element of two runs, whose next ones are (left, right); gives these as they are after it.

    stop: where elements end that may be read.
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
    """The next elements (left, right) of two runs when `count` have been merged: a bisection.

    low … high are the possible numbers of them that come from the left run.
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
    """x < y in an order where nan is larger than every number."""
    if x.dtype in ("float32", "float64"):
        return b.or_(b.compare("lt", x, y), b.and_(b.is_nan(y), b.not_(b.is_nan(x))))
    return b.compare("lt", x, y)
