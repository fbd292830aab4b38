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
        span = _collect(b, p, q, columns, i)
        after = _count(columns, span, carried[0]) if indices is None else _write(columns, span, indices, carried[0])
        return [after]

    (total,) = b.loop(0, p.slices, [b.index(0)], row, is_vectorisable=False)
    indptr.put(total, b.index(p.slices))


class _BitSet:
    """A set of columns, and above it the set of its words that are not empty."""

    def __init__(self, b: LoopBuilder, extent: Extent) -> None:
        self.b = b
        count = _words(b, extent)
        self.above_count = _words(b, count)
        self.words, self.above = (self._empty(n) for n in (count, self.above_count))

    def _empty(self, count: Extent) -> SSAValue:
        buffer = self.b.allocate(i64, [count])
        self.b.nest([count], lambda at: self.b.store(self.b.constant(0, "int64"), buffer, at))
        return buffer

    def insert(self, j: Scalar) -> Scalar:
        """Add a column; the number of the word above that knows of it."""
        word = self._set_bit(self.words, j)
        return self._set_bit(self.above, word)

    def _set_bit(self, words: SSAValue, number: Scalar) -> Scalar:
        b = self.b
        word = b.shift_right(number, b.index(LOG_BITS))
        bit = b.shift_left(b.constant(1, "int64"), b.cast(b.and_(number, b.index(BITS - 1)), "int64"))
        b.store(b.or_(b.fetch(words, [word], "int64"), bit), words, [word])
        return word

    def take_words(
        self, span: tuple[Scalar, Scalar], carried: Scalar, body: Callable[[Scalar, Scalar, Scalar], Scalar]
    ) -> Scalar:
        """carried = body(first column, bits, carried) for each word of a span above that is not empty, in order."""

        def each_above(number: Scalar, state: list[Scalar]) -> list[Scalar]:
            def each_word(at: Scalar, state: Scalar) -> Scalar:
                return body(self.b.shift_left(at, self.b.index(LOG_BITS)), self._taken(self.words, at), state)

            bits = self._taken(self.above, number)
            return [each_bit(self.b, self.b.shift_left(number, self.b.index(LOG_BITS)), bits, state[0], each_word)]

        (after,) = self.b.loop(*span, [carried], each_above, is_vectorisable=False)
        return after

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


def _collect(b: LoopBuilder, p: Pattern, q: Pattern, columns: _BitSet, i: Scalar) -> tuple[Scalar, Scalar]:
    """Put row i of the product into the set; from which to which word above it lies."""

    def entry(e: Scalar, span: list[Scalar]) -> Sequence[Scalar]:
        def term(f: Scalar, span: list[Scalar]) -> list[Scalar]:
            at = columns.insert(q.indices[f])
            return [b.minimum(span[0], at), b.maximum(span[1], b.add(at, b.index(1)))]

        return b.loop(*q.bounds(p.indices[e]), span, term, is_vectorisable=False)

    low, high = b.loop(*p.bounds(i), [b.index(columns.above_count), b.index(0)], entry, is_vectorisable=False)
    return low, high


def _count(columns: _BitSet, span: tuple[Scalar, Scalar], start: Scalar) -> Scalar:
    """How many columns there are, added to `start`."""
    b = columns.b

    def add(_: Scalar, bits: Scalar, total: Scalar) -> Scalar:
        return b.add(total, b.cast(b.emit(math.CtPopOp(bits.ssa), "int64"), "index"))

    return columns.take_words(span, start, add)


def _write(columns: _BitSet, span: tuple[Scalar, Scalar], indices: IndexVector, start: Scalar) -> Scalar:
    """The columns in order, from position `start` on; the position behind them."""
    b = columns.b

    def column(j: Scalar, at: Scalar) -> Scalar:
        indices.put(j, at)
        return b.add(at, b.index(1))

    return columns.take_words(span, start, lambda first, bits, at: each_bit(b, first, bits, at, column))
