"""Lower `aot.pattern product`: the sorted pattern of a sparse product, row by row, without a sort.

A row is collected in a bit set, one bit per column, 64 per word; a second bit set marks the words that are not empty.
Extracting bits from both, the lowest first, yields the columns in order, and leaves the sets empty for the next row:
the work is one step per term and per entry, and one word of the second set per 4096 columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from xdsl.dialects import math

from aotensor.ir.dialect_sparse import PatternOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i64
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.patterns.index_vectors import IndexVector, Pattern
from aotensor.passes.emit.patterns.lower_product_rows import Row, each_term, lower_product_count, write_indptr
from aotensor.passes.emit.shape_cache import is_wanted
from aotensor.passes.target import Target

BITS: Final = 64
LOG_BITS: Final = 6
WORDS_PER_TERM: Final = 2
"""A row that spans at most this many words per term is dense: all its words are scanned."""


def lower_product_pattern(b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
    """Lower `product`: write the indptr of a sparse product and, if they are used, its indices."""
    if not is_wanted(op.tensors[0]):
        lower_product_count(b, buffers, op, target)
        return
    p, q = (Pattern(b, buffers, *op.arguments[k : k + 2]) for k in (0, 2))
    (minor,) = (buffers.scalar(n) for n in op.extents)
    indices, indptr = (IndexVector(b, buffers.buffer(x)) for x in op.tensors)
    write_indptr(b, p, indptr, _writer(b, p, q, minor, indices))


def _writer(b: LoopBuilder, p: Pattern, q: Pattern, minor: Extent, indices: IndexVector) -> Row:
    """Return a function that writes the columns of a row of the product in order."""
    columns = _BitSet(b, minor)

    def column(j: Scalar, at: Scalar) -> Scalar:
        indices.put(j, at)
        return b.add(at, b.index(1))

    def row(i: Scalar, start: Scalar) -> Scalar:
        low, high, terms = _span_of_row(b, p, q, i)

        def crowded() -> list[Scalar]:
            each_term(b, p, q, i, [], lambda j, _: columns.insert_unnoted(j))
            return [columns.take_between(low, high, start, column)]

        def scattered() -> list[Scalar]:
            (length,) = each_term(b, p, q, i, [b.index(0)], lambda j, state: [columns.insert(j, state[0])])
            return [columns.take(length, start, column)]

        is_crowded = b.compare("le", b.sub(high, low), b.mul(terms, b.index(WORDS_PER_TERM)))
        return b.branch(is_crowded, crowded, scattered)[0]

    return row


def _span_of_row(b: LoopBuilder, p: Pattern, q: Pattern, i: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """The first and last word of the bit set for row i of the product, and the row's number of terms.

    Rows of q are sorted.
    """
    last = b.isub(q.count, 1)

    def entry(e: Scalar, state: list[Scalar]) -> list[Scalar]:
        p.prefetch(e, q)
        low, high, terms = state
        first, end = q.bounds(p.indices[e])
        is_empty = b.compare("eq", first, end)
        ends = q.indices[b.minimum(first, b.index(last))], q.indices[b.maximum(b.sub(end, b.index(1)), b.index(0))]
        left, right = (b.shift_right(j, b.index(LOG_BITS)) for j in ends)
        return [
            b.select(is_empty, low, b.minimum(low, left)),
            b.select(is_empty, high, b.maximum(high, b.add(right, b.index(1)))),
            b.add(terms, b.sub(end, first)),
        ]

    start, stop = p.bounds(i)
    stop = b.select(b.compare("eq", b.index(q.count), b.index(0)), start, stop)
    largest = b.index(1 << 62)
    low, high, terms = b.loop(
        start, stop, [largest, b.index(0), b.index(0)], entry, is_vectorisable=False, is_unrolled=False
    )
    return low, high, terms


def lower_product_room(b: LoopBuilder, buffers: Buffers, op: PatternOp) -> None:
    """Lower `product_room`: an upper bound on the entries of the product.

    The bound is Σ over rows of min(Σ lengths of the rows of q that contribute, minor).
    """
    p = Pattern(b, buffers, *op.arguments[:2])
    lengths = IndexVector(b, buffers.buffer(op.arguments[2]))
    (minor,) = (buffers.scalar(n) for n in op.extents)

    def row(i: Scalar, carried: list[Scalar]) -> list[Scalar]:
        def entry(e: Scalar, state: list[Scalar]) -> list[Scalar]:
            k = p.indices[e]
            return [b.add(state[0], b.sub(lengths[b.add(k, b.index(1))], lengths[k]))]

        (terms,) = b.loop(*p.bounds(i), [b.index(0)], entry)
        return [b.add(carried[0], b.minimum(terms, minor))]

    (total,) = b.loop(0, p.slices, [b.index(0)], row, is_vectorisable=False, is_unrolled=False)
    IndexVector(b, buffers.buffer(op.tensors[0])).put(total, b.index(0))


class _Words:
    """A buffer of 64-bit words, initially 0, as a set of bits."""

    def __init__(self, b: LoopBuilder, bits: Extent) -> None:
        self.b = b
        self.count = b.ifloordiv(b.iadd(bits, BITS - 1), BITS)
        self.buffer = b.allocate(i64, [self.count])
        b.nest([self.count], lambda at: b.store(b.constant(0, "int64"), self.buffer, at))

    def insert(self, number: Scalar) -> tuple[Scalar, Scalar]:
        """Set a bit; return the index of its word, and the word's former value."""
        b = self.b
        word = b.shift_right(number, b.index(LOG_BITS))
        bit = b.shift_left(b.constant(1, "int64"), b.cast(b.and_(number, b.index(BITS - 1)), "int64"))
        before = b.fetch(self.buffer, [word], "int64")
        b.store(b.or_(before, bit), self.buffer, [word])
        return word, before

    def take(self, at: Scalar) -> Scalar:
        """Return word number `at`, and clear it."""
        found = self.b.fetch(self.buffer, [at], "int64")
        self.b.store(self.b.constant(0, "int64"), self.buffer, [at])
        return found


class _BitSet:
    """A bit set of columns, with a list of its non-empty words, and a bit set of these to iterate in order."""

    def __init__(self, b: LoopBuilder, extent: Extent) -> None:
        self.b = b
        self.words = _Words(b, extent)
        self.above = _Words(b, self.words.count)
        self.filled = IndexVector.allocated(b, "int64", b.iadd(self.words.count, 1))

    def insert_unnoted(self, j: Scalar) -> Sequence[Scalar]:
        """Add a column to the set, without recording its word in the list of non-empty words."""
        self.words.insert(j)
        return ()

    def insert(self, j: Scalar, length: Scalar) -> Scalar:
        """Add a column to the set, given the length of the list of non-empty words; return the new length.

        The word's index is always written after the end of the list, but counted only if the word was empty:
        branch-free.
        """
        b = self.b
        word, before = self.words.insert(j)
        self.filled.put(word, length)
        return b.add(length, b.cast(b.compare("eq", before, b.constant(0, "int64")), "index"))

    def take_between(
        self, low: Scalar, high: Scalar, carried: Scalar, body: Callable[[Scalar, Scalar], Scalar]
    ) -> Scalar:
        """Emit carried = body(column, carried) for each column in order; scans and clears words low … high."""
        b = self.b

        def of_word(number: Scalar, carried: list[Scalar]) -> list[Scalar]:
            return [each_bit(b, number, self.words.take(number), carried[0], body)]

        return b.loop(low, high, [carried], of_word, is_vectorisable=False, is_unrolled=False)[0]

    def take(self, length: Scalar, carried: Scalar, body: Callable[[Scalar, Scalar], Scalar]) -> Scalar:
        """Emit carried = body(column, carried) for each column in ascending order; empties the set."""
        b = self.b

        def of_above(number: Scalar, carried: list[Scalar]) -> list[Scalar]:
            return [each_bit(b, number, self.above.take(number), carried[0], of_word)]

        def of_word(number: Scalar, carried: Scalar) -> Scalar:
            return each_bit(b, number, self.words.take(number), carried, body)

        span = self._span(length)
        return b.loop(*span, [carried], of_above, is_vectorisable=False, is_unrolled=False)[0]

    def _span(self, length: Scalar) -> tuple[Scalar, Scalar]:
        """Move the list of non-empty words to the second bit set; return the range of that set's words."""
        b = self.b

        def note(at: Scalar, span: list[Scalar]) -> list[Scalar]:
            word, _ = self.above.insert(self.filled[at])
            return [b.minimum(span[0], word), b.maximum(span[1], b.add(word, b.index(1)))]

        start = [b.index(self.above.count), b.index(0)]
        low, high = b.loop(0, length, start, note, is_vectorisable=False, is_unrolled=False)
        return low, high


def each_bit(
    b: LoopBuilder, word: Scalar, bits: Scalar, carried: Scalar, body: Callable[[Scalar, Scalar], Scalar]
) -> Scalar:
    """Emit carried = body(number, carried) for every set bit of a word, from the lowest one."""
    first = b.shift_left(word, b.index(LOG_BITS))

    def take(state: list[Scalar]) -> list[Scalar]:
        rest, value = state
        lowest = b.emit(math.CountTrailingZerosOp(rest.ssa), "int64")
        after = body(b.or_(first, b.cast(lowest, "index")), value)
        return [b.and_(rest, b.sub(rest, b.constant(1, "int64"))), after]

    zero = b.constant(0, "int64")
    _, after = b.loop_while([bits, carried], lambda state: b.compare("ne", state[0], zero), take)
    return after
