"""Kernels of selection by rank along a line: each round partitions the candidates and keeps one part.

    candidates = keys of x
    while they are many, and their keys differ:
        u, v = two keys of a sample, likely to enclose the wanted one
        count keys < u and keys ≤ v, keep those of the part that contains the rank

Keys are integers in the order of the elements, so that nan is an element like any other. Samples are equidistant, so
that the same line gets the same rounds. If a round has kept more than half, the next one halves the range of the keys
instead, which bounds the number of rounds by about 130; most lines need three. Source: R. W. Floyd and R. L. Rivest,
Expected time bounds for selection (1975); the fallback is that of introselect.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from aotensor.kernels.language import (
    LEAST,
    MOST,
    Bool,
    Elements,
    Index,
    Indices,
    Word,
    Words,
    order_key,
    rolled,
    serial,
    word,
)

SAMPLE: Final = 256
"""Largest number of keys in a sample; one key is sampled per this many candidates:"""
SHARE: Final = 32
FEW: Final = 64
"""Up to this many candidates, every pair is compared."""
TILE: Final = 8
"""Keys that are compared with one at once."""
BLOCK: Final = 32
"""Elements that are tested at once for one that is kept."""
RARE: Final = 64
"""Blocks are tested if fewer than one element in this many is kept."""


class Memory(NamedTuple):
    """Workspace of a line: keys of its candidates, TILE more than elements, of a sample, and ranks of as many."""

    candidates: Words
    sample: Words
    ranks: Indices


def at_ranks(x: Elements, n: Index, ranks: Indices, many: Index, positions: Indices, memory: Memory) -> None:
    """The positions of the elements at `many` ranks. A rank that is at most 1 above the one before takes one sweep."""
    last, found, equal = -2, word(0), 0
    for k in rolled(many):
        rank = ranks[k]
        if 0 <= rank - last <= 1:
            found, equal = next_rank(x, n, rank, last, found, equal)
        else:
            found, equal = find(x, n, rank, memory)
        positions[k] = position(x, found, equal)
        last = rank


def next_rank(x: Elements, n: Index, rank: Index, last: Index, found: Word, equal: Index) -> tuple[Word, Index]:
    """The result of `find` for rank `last`, whose result is (found, equal), or for the rank after it, in one sweep."""
    upto, above = 0, word(MOST)
    for k in range(n):
        key = order_key(x[k])
        is_above = key > found
        upto += int(not is_above)
        above = min(above, key if is_above else MOST)
    is_equal = rank < upto
    return found if is_equal else above, equal + rank - last if is_equal else 0


def find(x: Elements, n: Index, rank: Index, memory: Memory) -> tuple[Word, Index]:
    """The key at a rank, and how many keys equal to it precede it in the sorted line."""
    low, high, count, ahead, is_halved = word(LEAST), word(MOST), n, rank, False
    if n > FEW:
        low, high, count, ahead, is_halved = one_round(x, low, high, n, rank, False, memory)
    else:
        for k in range(n):
            memory.candidates[k] = order_key(x[k])
    return find_candidate(low, high, count, ahead, is_halved, memory)


def find_candidate(
    low: Word, high: Word, count: Index, ahead: Index, is_halved: Bool, memory: Memory
) -> tuple[Word, Index]:
    """The result of `find` among the candidates. ahead: the rank; the others as of a round."""
    while low != high and count > FEW:
        low, high, count, ahead, is_halved = one_round(memory.candidates, low, high, count, ahead, is_halved, memory)
    if low == high:
        found, equal = low, ahead
    else:
        rank_few(memory.candidates, count, memory.ranks)
        found, less = of_few(memory.candidates, count, ahead, memory.ranks)
        equal = ahead - less
    return found, equal


def one_round(
    x: Elements, low: Word, high: Word, count: Index, rank: Index, is_halved: Bool, memory: Memory
) -> tuple[Word, Word, Index, Index, Bool]:
    """Choose two keys; of the candidates below, between and above, keep the part with the rank.

    low, high: range of the candidates' keys. count: their number. is_halved: is the range of keys halved?
    Returns the same of the part that is kept.
    """
    if is_halved:
        u = (low & high) + ((low ^ high) >> 1)
        v = u
    else:
        u, v = pivots(x, count, rank, memory)
    less, upto = 0, 0
    for k in range(count):
        key = order_key(x[k])
        less += int(key < u)
        upto += int(key <= v)
    is_less, is_more = rank < less, rank >= upto
    first = low if is_less else v + 1 if is_more else u
    last = u - 1 if is_less else high if is_more else v
    kept = less if is_less else count - upto if is_more else upto - less
    if first != last:
        keep_between(x, count, first, last, kept, memory.candidates)
    return first, last, kept, rank - (0 if is_less else upto if is_more else less), kept + kept > count


def pivots(x: Elements, count: Index, rank: Index, memory: Memory) -> tuple[Word, Word]:
    """Two keys of a sample, chosen by rank so that they likely enclose the wanted key."""
    n = max(min(count // SHARE, SAMPLE), 1)
    distance = count // n
    for k in range(n):
        memory.sample[k] = order_key(x[k * distance])
    middle, apart = rank * n // count, n // 16 + 4
    rank_few(memory.sample, n, memory.ranks)
    u, _ = of_few(memory.sample, n, max(middle - apart, 0), memory.ranks)
    v, _ = of_few(memory.sample, n, min(middle + apart, n - 1), memory.ranks)
    return u, v


def keep_between(x: Elements, count: Index, low: Word, high: Word, kept: Index, candidates: Words) -> None:
    """Make the keys from low to high the candidates. kept: their number."""
    if kept * RARE < count:
        whole, end = count // BLOCK * BLOCK, 0
        for first in rolled(0, whole, BLOCK):
            number = 0
            for k in range(first, first + BLOCK):
                key = order_key(x[k])
                number += int(low <= key <= high)
            if number > 0:
                end = keep_some(x, first, first + BLOCK, low, high, candidates, end)
        keep_some(x, whole, count, low, high, candidates, end)
    else:
        keep_some(x, 0, count, low, high, candidates, 0)


def keep_some(x: Elements, start: Index, stop: Index, low: Word, high: Word, candidates: Words, end: Index) -> Index:
    """Append the keys from low to high of elements start … stop to `end` candidates; returns their new number."""
    for k in serial(start, stop):
        key = order_key(x[k])
        candidates[end] = key  # the next one overwrites a discarded candidate
        end += int(low <= key <= high)
    return end


def rank_few(keys: Words, count: Index, ranks: Indices) -> None:
    """Store for each of a few keys how many keys are smaller: compares every pair, a tile at a time.

    There is room for a tile after the keys, which is filled with keys that are larger than or equal to all.
    """
    end = (count + (TILE - 1)) // TILE * TILE
    for k in rolled(count, end):
        keys[k] = MOST
    for k in range(end):
        ranks[k] = 0
    for tile in rolled(0, end, TILE):
        for i in rolled(count):
            key = keys[i]
            for k in range(tile, tile + TILE):
                ranks[k] += int(key < keys[k])


def of_few(keys: Words, count: Index, rank: Index, ranks: Indices) -> tuple[Word, Index]:
    """The key at a rank, and how many keys are smaller, after `rank_few`: the largest ones with a rank up to this."""
    found, below = word(LEAST), 0
    for k in rolled(count):
        key, less = keys[k], ranks[k]
        found = max(found, key if less <= rank else LEAST)
        below = max(below, less if less <= rank else 0)
    return found, below


def position(x: Elements, found: Word, equal: Index) -> Index:
    """The position of the element with key `found` that has `equal` elements of the same key before it."""
    k, left = 0, equal
    while (left > 0) | (order_key(x[k]) != found):
        left -= int(order_key(x[k]) == found)
        k += 1
    return k
