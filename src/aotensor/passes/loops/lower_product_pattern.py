"""Loops of `aot.pattern product`: the places of a sparse product, row by row, sorted without sorting.

A row is collected as a set of bits, one for each column, 64 to a word; a second set says which words are not empty.
Taking bits out of both from the lowest one gives the columns in order, and leaves the sets empty for the next row:
work for each term and for each place, and a look at one word of the second set for 4096 columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from xdsl.dialects import math
from xdsl.ir import SSAValue

from aotensor.ir.dialect_sparse import PatternOp
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i64
from aotensor.ir.verbs import Extent
from aotensor.passes.loops.collapse import Buffers
from aotensor.passes.loops.index_vectors import IndexVector, Pattern

BITS: Final = 64
LOG_BITS: Final = 6


def lower_product_pattern(b: LoopBuilder, buffers: Buffers, op: PatternOp) -> None:
    """indptr of the product and, unless nobody reads them, its indices."""
    p, q = (Pattern(b, buffers, *op.arguments[k : k + 2]) for k in (0, 2))
    (minor,) = (buffers.scalar(n) for n in op.extents)
    indices = IndexVector(b, buffers.buffer(op.tensors[0])) if op.tensors[0].uses else None
    indptr = IndexVector(b, buffers.buffer(op.tensors[1]))
    columns = _BitSet(b, minor)

    def row(i: Scalar, carried: list[Scalar]) -> list[Scalar]:
        indptr.put(carried[0], i)
        count = _collect(b, p, q, columns, i)
        if indices is None:
            return [b.add(carried[0], columns.take_size(count))]
        return [_write(columns, count, indices, carried[0])]

    (total,) = b.loop(0, p.slices, [b.index(0)], row, is_vectorisable=False)
    indptr.put(total, b.index(p.slices))


def lower_product_room(b: LoopBuilder, buffers: Buffers, op: PatternOp) -> None:
    """How many entries the product can have: Σ over rows of the lengths of the rows that meet in it, at most minor."""
    p = Pattern(b, buffers, *op.arguments[:2])
    lengths = IndexVector(b, buffers.buffer(op.arguments[2]))
    (minor,) = (buffers.scalar(n) for n in op.extents)

    def row(i: Scalar, carried: list[Scalar]) -> list[Scalar]:
        def entry(e: Scalar, state: list[Scalar]) -> list[Scalar]:
            k = p.indices[e]
            return [b.add(state[0], b.sub(lengths[b.add(k, b.index(1))], lengths[k]))]

        (terms,) = b.loop(*p.bounds(i), [b.index(0)], entry)
        return [b.add(carried[0], b.minimum(terms, minor))]

    (total,) = b.loop(0, p.slices, [b.index(0)], row, is_vectorisable=False)
    IndexVector(b, buffers.buffer(op.tensors[0])).put(total, b.index(0))


class _BitSet:
    """A set of columns, above it the set of its words that are not empty, and a list of these while it is filled."""

    def __init__(self, b: LoopBuilder, extent: Extent) -> None:
        self.b = b
        count = _words(b, extent)
        self.above_count = _words(b, count)
        self.words, self.above = (self._empty(n) for n in (count, self.above_count))
        self.filled = b.allocate(i64, [b.iadd(count, 1)])

    def _empty(self, count: Extent) -> SSAValue:
        buffer = self.b.allocate(i64, [count])
        self.b.nest([count], lambda at: self.b.store(self.b.constant(0, "int64"), buffer, at))
        return buffer

    def insert(self, j: Scalar, count: Scalar) -> Scalar:
        """Add a column, where `count` words are not empty; how many are so afterwards.

        A word is noted in any case, behind the list, of which it becomes a part if it was empty: no branch.
        """
        b = self.b
        word, bit = self._place(j)
        before = b.fetch(self.words, [word], "int64")
        b.store(b.or_(before, bit), self.words, [word])
        b.store(b.cast(word, "int64"), self.filled, [count])
        return b.add(count, b.cast(b.compare("eq", before, b.constant(0, "int64")), "index"))

    def _place(self, number: Scalar) -> tuple[Scalar, Scalar]:
        """The word in which a number has its bit, and the bit."""
        b = self.b
        shift = b.cast(b.and_(number, b.index(BITS - 1)), "int64")
        return b.shift_right(number, b.index(LOG_BITS)), b.shift_left(b.constant(1, "int64"), shift)

    def span(self, count: Scalar) -> tuple[Scalar, Scalar]:
        """Put the list into the set above; from which to which word of it that reaches."""
        b = self.b

        def note(at: Scalar, span: list[Scalar]) -> list[Scalar]:
            word, bit = self._place(b.cast(b.fetch(self.filled, [at], "int64"), "index"))
            b.store(b.or_(b.fetch(self.above, [word], "int64"), bit), self.above, [word])
            return [b.minimum(span[0], word), b.maximum(span[1], b.add(word, b.index(1)))]

        low, high = b.loop(0, count, [b.index(self.above_count), b.index(0)], note, is_vectorisable=False)
        return low, high

    def take_words(self, count: Scalar, carried: Scalar, body: Callable[[Scalar, Scalar, Scalar], Scalar]) -> Scalar:
        """carried = body(first column, bits, carried) for each word that is not empty, in order; then all are."""
        b = self.b

        def each_above(number: Scalar, state: list[Scalar]) -> list[Scalar]:
            def each_word(at: Scalar, state: Scalar) -> Scalar:
                return body(b.shift_left(at, b.index(LOG_BITS)), self._taken(self.words, at), state)

            bits = self._taken(self.above, number)
            return [each_bit(b, b.shift_left(number, b.index(LOG_BITS)), bits, state[0], each_word)]

        (after,) = b.loop(*self.span(count), [carried], each_above, is_vectorisable=False)
        return after

    def take_size(self, count: Scalar) -> Scalar:
        """How many columns there are; then there are none."""
        b = self.b

        def add(at: Scalar, total: list[Scalar]) -> list[Scalar]:
            bits = self._taken(self.words, b.cast(b.fetch(self.filled, [at], "int64"), "index"))
            return [b.add(total[0], b.cast(b.emit(math.CtPopOp(bits.ssa), "int64"), "index"))]

        return b.loop(0, count, [b.index(0)], add, is_vectorisable=False)[0]

    def _taken(self, words: SSAValue, at: Scalar) -> Scalar:
        """A word, which is empty from then on."""
        found = self.b.fetch(words, [at], "int64")
        self.b.store(self.b.constant(0, "int64"), words, [at])
        return found


def _words(b: LoopBuilder, bits: Extent) -> Extent:
    return b.ifloordiv(b.iadd(bits, BITS - 1), BITS)


def each_bit(
    b: LoopBuilder, first: Scalar, bits: Scalar, carried: Scalar, body: Callable[[Scalar, Scalar], Scalar]
) -> Scalar:
    """carried = body(number, carried) for every bit that is set, from the lowest one; bit 0 has the number `first`."""

    def take(state: list[Scalar]) -> list[Scalar]:
        word, value = state
        lowest = b.emit(math.CountTrailingZerosOp(word.ssa), "int64")
        after = body(b.or_(first, b.cast(lowest, "index")), value)
        return [b.and_(word, b.sub(word, b.constant(1, "int64"))), after]

    zero = b.constant(0, "int64")
    _, after = b.loop_while([bits, carried], lambda state: b.compare("ne", state[0], zero), take)
    return after


def _collect(b: LoopBuilder, p: Pattern, q: Pattern, columns: _BitSet, i: Scalar) -> Scalar:
    """Put row i of the product into the set; how many words are not empty then."""

    def entry(e: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        p.fetch_ahead(e, q)

        def term(f: Scalar, carried: list[Scalar]) -> list[Scalar]:
            return [columns.insert(q.indices[f], carried[0])]

        return b.loop(*q.bounds(p.indices[e]), carried, term, is_vectorisable=False)

    return b.loop(*p.bounds(i), [b.index(0)], entry, is_vectorisable=False)[0]


def _write(columns: _BitSet, count: Scalar, indices: IndexVector, start: Scalar) -> Scalar:
    """The columns in order, from position `start` on; the position behind them."""
    b = columns.b

    def column(j: Scalar, at: Scalar) -> Scalar:
        indices.put(j, at)
        return b.add(at, b.index(1))

    return columns.take_words(count, start, lambda first, bits, at: each_bit(b, first, bits, at, column))
