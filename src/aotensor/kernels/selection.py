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
FEW: Final = 24
"""Up to this many candidates, every pair is compared."""
BLOCK: Final = 32
"""Elements that are tested at once for one that is kept."""
RARE: Final = 64
"""Blocks are tested if fewer than one element in this many is kept."""


class Memory(NamedTuple):
    """Workspace of a line: keys of its candidates, as many as elements, and of a sample of them."""

    candidates: Words
    sample: Words


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


def at_one_end(x: Elements, n: Index, many: Index, is_last: Bool, positions: Indices, memory: Memory) -> None:
    """The positions of the `many` smallest, or largest (is_last), elements, in their order along the line.

    A bound separates both parts. Of the keys equal to it, the first `equal` count as smaller, the others as larger.
    """
    found, equal = find(x, n, n - many if is_last else many - 1, memory)
    quota = equal if is_last else equal + 1
    end, seen = 0, 0
    if many * RARE < n:
        whole = n // BLOCK * BLOCK
        for first in rolled(0, whole, BLOCK):
            number = 0
            for k in range(first, first + BLOCK):
                key = order_key(x[k])
                number += int(key >= found if is_last else key <= found)
            if number > 0:
                end, seen = choose(x, first, first + BLOCK, found, quota, many, is_last, end, seen, positions)
        end, seen = choose(x, whole, n, found, quota, many, is_last, end, seen, positions)
    else:
        end, seen = choose(x, 0, n, found, quota, many, is_last, end, seen, positions)


def choose(
    x: Elements, start: Index, stop: Index, found: Word, quota: Index, many: Index, is_last: Bool, end: Index,
    seen: Index, positions: Indices,
) -> tuple[Index, Index]:  # fmt: skip
    """Append the positions of chosen elements from start to stop to `end` others.

    found: the bound. seen: the number of keys before that equal it. Returns the new `end` and `seen`.
    """
    for k in serial(start, stop):
        key = order_key(x[k])
        is_equal, in_front = key == found, seen < quota
        is_chosen = (
            (key > found or (is_equal and not in_front)) if is_last else (key < found or (is_equal and in_front))
        )
        if end < many:
            positions[end] = k  # the next one overwrites an element that is not chosen
        end += int(is_chosen)
        seen += int(is_equal)
    return end, seen


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
    low, high, count, ahead, is_halved = one_round(x, word(LEAST), word(MOST), n, rank, False, memory)
    while low != high and count > FEW:
        low, high, count, ahead, is_halved = one_round(memory.candidates, low, high, count, ahead, is_halved, memory)
    if low == high:
        found, equal = low, ahead
    else:
        found, _, less, _ = of_few(memory.candidates, count, ahead, ahead)
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
        u, v = pivots(x, count, rank, memory.sample)
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


def pivots(x: Elements, count: Index, rank: Index, sample: Words) -> tuple[Word, Word]:
    """Two keys of a sample, chosen by rank so that they likely enclose the wanted key."""
    n = max(min(count // SHARE, SAMPLE), 1)
    distance = count // n
    for k in range(n):
        sample[k] = order_key(x[k * distance])
    middle, apart = rank * n // count, n // 16 + 4
    u, v, _, _ = of_few(sample, n, max(middle - apart, 0), min(middle + apart, n - 1))
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


def of_few(keys: Words, count: Index, first: Index, second: Index) -> tuple[Word, Word, Index, Index]:
    """The keys at two ranks, and how many keys are smaller than each, for few keys: compares every pair."""
    low, high, below, above = word(0), word(0), 0, 0
    for i in rolled(count):
        key = keys[i]
        less, upto = 0, 0
        for k in range(count):
            less += int(keys[k] < key)
            upto += int(keys[k] <= key)
        is_first, is_second = less <= first < upto, less <= second < upto
        low, below = key if is_first else low, less if is_first else below
        high, above = key if is_second else high, less if is_second else above
    return low, high, below, above


def position(x: Elements, found: Word, equal: Index) -> Index:
    """The position of the element with key `found` that has `equal` elements of the same key before it."""
    k, left = 0, equal
    while (left > 0) | (order_key(x[k]) != found):
        left -= int(order_key(x[k]) == found)
        k += 1
    return k
