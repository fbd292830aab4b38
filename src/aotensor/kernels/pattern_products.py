"""Kernels of a sparse product x·y of patterns p and q: its pattern, its values, and values at given entries.

    bound, count   entries of the product, from rows whose columns are marked          branch-free
    sorted_rows    the pattern, with sorted columns
    filled_row     a row with its columns in order of first occurrence, and values     branch-free in irregular rows
    product_row    values at the entries of c; left_row, right_row: their derivatives with respect to x and y

A sorted row is collected in a bit set, one bit per column, 64 per word; a second bit set marks the words that are not
empty. Extracting bits from both, the lowest first, yields the columns in order, and leaves the sets empty for the next
row: the work is one step per term and per entry, and one word of the second set per 4096 columns.
"""

from __future__ import annotations

from typing import Final

from aotensor.kernels.language import (
    Bool,
    Elements,
    Index,
    Indices,
    Word,
    Words,
    alloc,
    alloc_indices,
    alloc_words,
    count_ones,
    prefetch,
    rolled,
    trailing_zeros,
    word,
    zero,
)
from aotensor.kernels.patterns import Pattern, erase

AHEAD: Final = 16
"""Prefetch distance, in entries."""
NEAR: Final = 64
"""Rows of q that the cache keeps, or hardware prefetches, after one that is read."""
PERIOD: Final = 64
"""Rows between two looks at what rows have in common, a power of two: the more, the less do regular rows wait."""
BITS: Final = 64
LOG_BITS: Final = 6
WORDS_PER_TERM: Final = 2
"""A row that spans at most this many words per term is dense: all its words are scanned."""
LARGEST: Final = 1 << 62


def prefetch_rows(e: Index, p: Pattern, q: Pattern, values: Elements | None) -> None:
    """Prefetch rows of q for entries of p after e. values: a vector with an element for each entry of q."""
    last = p.entries - 1
    far, near = min(e + 2 * AHEAD, last), min(e + AHEAD, last)
    prefetch(q.indptr, p.indices[far])
    start = q.indptr[p.indices[near]]
    prefetch(q.indices, start)
    prefetch(values, start)


def is_far(i: Index, p: Pattern) -> Bool:
    """Is the middle column of row i far from that of the row before, so that rows of q must be prefetched?"""
    start, end = p.indptr[i], p.indptr[i + 1]
    moved = 0
    if start < end:
        moved = abs(p.indices[start + end >> 1] - p.indices[p.indptr[max(i - 1, 0)] + start >> 1])
    return moved > NEAR


def count_row(i: Index, p: Pattern, q: Pattern, seen: Indices, far: Words) -> Index:
    """The number of entries of row i.

    seen: for each column, the last row with an entry there, −1 before the first. far: 1 while rows are far apart.
    """
    if i & PERIOD - 1 == 0:
        far[0] = word(int(is_far(i, p)))
    return count_terms(i, p, q, False, seen) if far[0] == 0 else count_terms(i, p, q, True, seen)


def count_terms(i: Index, p: Pattern, q: Pattern, prefetches: Bool, seen: Indices) -> Index:
    """`count_row`, with or without prefetching."""
    n = 0
    for e in rolled(p.indptr[i], p.indptr[i + 1]):
        if prefetches:
            prefetch_rows(e, p, q, None)
        k = p.indices[e]
        for f in rolled(q.indptr[k], q.indptr[k + 1]):
            j = q.indices[f]
            n += int(seen[j] != i)
            seen[j] = i
    return n


def note_length(i: Index, p: Pattern, q: Pattern, seen: Indices, far: Words, lengths: Indices) -> None:
    """Write the length of row i."""
    lengths[i] = count_row(i, p, q, seen, far)


def begin_rows(past: Words) -> None:
    """The state of `count_row` or `filled_row` before the first row: nothing is known of its neighbours."""
    for k in range(len(past)):
        past[k] = 1


def add_lengths(slices: Index, indptr: Indices) -> None:
    """Make the indptr of rows from their lengths, in place."""
    n = 0
    for i in rolled(slices):
        end = n + indptr[i]
        indptr[i] = n
        n = end
    indptr[slices] = n


def count_rows(p: Pattern, q: Pattern, minor: Index, indptr: Indices) -> None:
    """The indptr of the product."""
    seen, far = alloc(q.indptr, minor), alloc_words(1)
    erase(seen, minor)
    far[0] = 1
    n = 0
    for i in rolled(p.slices):
        indptr[i] = n
        n += count_row(i, p, q, seen, far)
    indptr[p.slices] = n


def sorted_rows(p: Pattern, q: Pattern, many: Index, groups: Index, indices: Indices, indptr: Indices) -> None:
    """The pattern of the product, with sorted columns. many: words for all columns. groups: words for `many` bits."""
    words, above, filled = alloc_words(many), alloc_words(groups), alloc_indices(many + 1)
    for w in range(many):
        words[w] = 0
    for w in range(groups):
        above[w] = 0
    n = 0
    for i in rolled(p.slices):
        indptr[i] = n
        low, high, terms = span_of_row(i, p, q)
        if high - low <= WORDS_PER_TERM * terms:
            for e in rolled(p.indptr[i], p.indptr[i + 1]):
                k = p.indices[e]
                for f in rolled(q.indptr[k], q.indptr[k + 1]):
                    insert(words, q.indices[f])
            for w in rolled(low, high):
                n = take_columns(words, w, indices, n)
        else:
            length = 0
            for e in rolled(p.indptr[i], p.indptr[i + 1]):
                k = p.indices[e]
                for f in rolled(q.indptr[k], q.indptr[k + 1]):
                    j = q.indices[f]
                    filled[length] = j >> LOG_BITS  # always written, but counted only if the word was empty
                    length += int(insert(words, j) == 0)
            first, end = groups, 0
            for at in rolled(length):
                w = filled[at]
                insert(above, w)
                first, end = min(first, w >> LOG_BITS), max(end, (w >> LOG_BITS) + 1)
            for group in rolled(first, end):
                rest = above[group]
                above[group] = 0
                while rest != 0:
                    n = take_columns(words, group << LOG_BITS | trailing_zeros(rest), indices, n)
                    rest &= rest - 1
    indptr[p.slices] = n


def span_of_row(i: Index, p: Pattern, q: Pattern) -> tuple[Index, Index, Index]:
    """The first word of row i, the one after the last, and the number of terms. Rows of q are sorted."""
    low, high, terms = LARGEST, 0, 0
    start = p.indptr[i]
    for e in rolled(start, p.indptr[i + 1] if q.entries > 0 else start):
        prefetch_rows(e, p, q, None)
        k = p.indices[e]
        first, end = q.indptr[k], q.indptr[k + 1]
        left, right = q.indices[min(first, q.entries - 1)] >> LOG_BITS, q.indices[max(end - 1, 0)] >> LOG_BITS
        low = low if first == end else min(low, left)
        high = high if first == end else max(high, right + 1)
        terms += end - first
    return low, high, terms


def insert(words: Words, bit: Index) -> Word:
    """Set a bit of a set; return the former value of its word."""
    before = words[bit >> LOG_BITS]
    words[bit >> LOG_BITS] = before | word(1) << word(bit & BITS - 1)
    return before


def take_columns(words: Words, w: Index, indices: Indices, n: Index) -> Index:
    """Append the columns of a word to n indices, in order, and clear the word; return the new number."""
    first = w << LOG_BITS
    rest = words[w]
    words[w] = 0
    while rest != 0:
        indices[n] = first | trailing_zeros(rest)
        rest &= rest - 1
        n += 1
    return n


def filled_row(
    i: Index, p: Pattern, q: Pattern, x: Elements, y: Elements, indptr: Indices, has_data: Bool, is_apart: Bool,
    marks: Indices, past: Words, indices: Indices, row: Elements, data: Elements,
) -> None:  # fmt: skip
    """Row i of the product, with columns in order of first occurrence: indices and, with has_data, values.

    marks: for each column its entry, less than indptr[i] if it has none in this row. row: where values are added up, in
    `data` itself, or with is_apart in a workspace from its start on. past: of the last row that was looked at, which
    terms had an entry already, in 64 bits; by how much these differ from those of the row before it beyond an eighth of
    the entries; and 1 if it was far from that row.

    Where rows resemble each other, as in matrices of grids, branches are predicted, and a term does not wait for the
    mark of its column. Else no branch is taken, so none is mispredicted.
    """
    start = indptr[i]
    shift = start if is_apart else 0
    n, known = start, word(0)
    if i & PERIOD - 1 < 2:
        n, known = filled_terms(p, q, x, y, i, start, shift, has_data, False, True, marks, indices, row)
        past[1] = word(count_ones(known ^ past[0]) - (min(n - start, 64) >> 3))
        past[0], past[2] = known, word(int(is_far(i, p)))
    elif past[1] > 0:
        n, known = filled_terms(p, q, x, y, i, start, shift, has_data, False, True, marks, indices, row)
    elif past[2] == 0:
        n, known = filled_terms(p, q, x, y, i, start, shift, has_data, True, False, marks, indices, row)
    else:
        n, known = filled_terms(p, q, x, y, i, start, shift, has_data, True, True, marks, indices, row)
    if is_apart:
        for t in range(start, n):
            data[t] = row[t - start]


def filled_terms(
    p: Pattern, q: Pattern, x: Elements, y: Elements, i: Index, start: Index, shift: Index, has_data: Bool,
    has_branch: Bool, prefetches: Bool, marks: Indices, indices: Indices, row: Elements,
) -> tuple[Index, Word]:  # fmt: skip
    """Add up the terms of a row. → the end of its entries, and 64 bits in which terms that had an entry already leave
    one each, on top of each other beyond 64 terms.

    has_branch: between terms that open an entry, and others. The other arguments: as of `filled_row`.
    """
    n, known = start, word(0)
    for e in rolled(p.indptr[i], p.indptr[i + 1]):
        if prefetches:
            prefetch_rows(e, p, q, y if has_data else None)
        k = p.indices[e]
        if has_data:
            factor = x[e]
        for f in rolled(q.indptr[k], q.indptr[k + 1]):
            j = q.indices[f]
            noted = marks[j]
            is_new = noted < start
            if not has_branch:
                known = known << 1 ^ known >> BITS - 1 & 1 ^ word(int(not is_new))
                at = n if is_new else noted
                marks[j] = at
                indices[at] = j
                if has_data:
                    before = row[at - shift]
                    row[at - shift] = (0 if is_new else before) + factor * y[f]
                n += int(is_new)
            elif is_new:
                marks[j] = n
                indices[n] = j
                if has_data:
                    row[n - shift] = 0 + factor * y[f]
                n += 1
            elif has_data:
                row[noted - shift] += factor * y[f]
    return n, known


def product_row(
    i: Index, p: Pattern, q: Pattern, c: Pattern, x: Elements, y: Elements, z: Elements, row: Elements
) -> None:
    """z = the values of row i of x·y at the entries of c. row: an element for each column."""
    for e in rolled(c.indptr[i], c.indptr[i + 1]):
        row[c.indices[e]] = 0
    for e in rolled(p.indptr[i], p.indptr[i + 1]):
        prefetch_rows(e, p, q, y)
        factor, k = x[e], p.indices[e]
        for f in rolled(q.indptr[k], q.indptr[k + 1]):
            row[q.indices[f]] += factor * y[f]
    for e in rolled(c.indptr[i], c.indptr[i + 1]):
        z[e] = row[c.indices[e]]


def left_row(
    i: Index, p: Pattern, q: Pattern, c: Pattern, x: Elements, y: Elements, z: Elements, row: Elements,
    writer: Indices, is_whole: Bool,
) -> None:  # fmt: skip
    """z[i, k] = Σ_j x[i, j]·y[k, j] at the entries of row i of p, with x at the entries of c.

    writer: for each column the last row that has written it; with is_whole, c has all columns and it is not used.
    """
    fill_row(i, c, x, row, writer, is_whole)
    for e in rolled(p.indptr[i], p.indptr[i + 1]):
        prefetch_rows(e, p, q, y)
        total, k = zero(row), p.indices[e]
        for f in rolled(q.indptr[k], q.indptr[k + 1]):
            j = q.indices[f]
            term = row[j] * y[f]
            total += term if is_whole or writer[j] == i else 0
        z[e] = total


def right_row(
    i: Index, p: Pattern, q: Pattern, c: Pattern, x: Elements, y: Elements, z: Elements, row: Elements,
    writer: Indices, is_whole: Bool,
) -> None:  # fmt: skip
    """z[k, j] += x[i, k]·y[i, j] at the entries of q, with y at the entries of c.

    writer, is_whole: as in `left_row`.
    """
    fill_row(i, c, y, row, writer, is_whole)
    for e in rolled(p.indptr[i], p.indptr[i + 1]):
        prefetch_rows(e, p, q, z)
        factor, k = x[e], p.indices[e]
        for f in rolled(q.indptr[k], q.indptr[k + 1]):
            j = q.indices[f]
            term = factor * row[j]
            z[f] += term if is_whole or writer[j] == i else 0


def fill_row(i: Index, c: Pattern, values: Elements, row: Elements, writer: Indices, is_whole: Bool) -> None:
    """Write the values of row i of c to their columns."""
    for e in rolled(c.indptr[i], c.indptr[i + 1]):
        j = c.indices[e]
        row[j] = values[e]
        if not is_whole:
            writer[j] = i
