"""Kernels of the few smallest or largest elements of a line: the least key of each block says which blocks to search.

    keys = the least key of each block                     one sweep, in vectors
    bound = the key at rank `many` − 1 of keys             at least `many` elements have keys ≤ bound
    blocks = the first `many` blocks in the order of keys
    the `many` smallest elements of these blocks

So `many` blocks are searched, whatever the elements: a block that is left out has no key below the bound, and at least
`many` elements precede its keys that equal the bound. Lines that are not long enough for long blocks have small ones,
and others are searched as a whole. Keys of the largest elements are complements, and lines are read from the end, as of
equal elements the last one is the largest.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from aotensor.kernels.language import (
    LEAST,
    MOST,
    Bool,
    Element,
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
from aotensor.kernels.selection import BLOCK, Memory, find_candidate

SMALL: Final = 8
"""Elements of a block of a line that is not long enough for blocks of BLOCK elements."""
WORTH: Final = 2
"""A line is searched by blocks if it has at least this many for each element."""


class Kept(NamedTuple):
    """Workspace of a line: keys, and what has them: positions of elements, or numbers of blocks."""

    keys: Words
    places: Indices


def at_one_end(
    x: Elements, n: Index, many: Index, is_last: Bool, by_blocks: Bool, positions: Indices, memory: Memory, kept: Kept
) -> None:
    """The positions of the `many` smallest, or largest (is_last), elements, in their order along the line."""
    size, end = 1, 0
    if by_blocks and n >= many * (WORTH * BLOCK):
        size, end = BLOCK, least_keys(x, n, BLOCK, is_last, kept)
    elif by_blocks and n >= many * (WORTH * SMALL):
        size, end = SMALL, least_keys(x, n, SMALL, is_last, kept)
    else:
        end = all_keys(x, n, is_last, kept)
    for stage in rolled(0 if size > 1 else 1, 2):
        for k in range(end):
            memory.candidates[k] = kept.keys[k]
        bound, equal = find_candidate(word(LEAST), word(MOST), end, many - 1, False, memory)
        keep(kept, end, bound, equal + 1, many, is_last, positions)
        if stage == 0:
            end = keys_of_blocks(x, n, size, bound, many, is_last, positions, kept)


def least_keys(x: Elements, n: Index, size: Index, is_last: Bool, kept: Kept) -> Index:
    """Store the least key of each block and its number, in the order of the search; return how many there are."""
    whole, count = n // size, (n + (size - 1)) // size
    for number in rolled(whole):
        least = word(MOST)
        for k in range(number * size, number * size + size):
            least = min(least, key_towards(x[k], is_last))
        at = count - 1 - number if is_last else number
        kept.keys[at], kept.places[at] = least, number
    if whole < count:
        least = word(MOST)
        for k in serial(whole * size, n):
            least = min(least, key_towards(x[k], is_last))
        at = 0 if is_last else whole
        kept.keys[at], kept.places[at] = least, whole
    return count


def all_keys(x: Elements, n: Index, is_last: Bool, kept: Kept) -> Index:
    """Store the key and the position of each element, in the order of the search; return how many there are."""
    for at in range(n):
        k = n - 1 - at if is_last else at
        kept.keys[at], kept.places[at] = key_towards(x[k], is_last), k
    return n


def key_towards(x: Element, is_last: Bool) -> Word:
    """A key that is smallest for the smallest, or for the largest (is_last), element."""
    return ~order_key(x) if is_last else order_key(x)


def keep(kept: Kept, end: Index, bound: Word, quota: Index, many: Index, is_last: Bool, positions: Indices) -> None:
    """Store the places of the `many` keys below the bound and of the first `quota` ones that equal it.

    They are stored in reverse order if is_last, so that positions ascend.
    """
    stored, equal = 0, 0
    for at in serial(end):
        key = kept.keys[at]
        is_equal = key == bound
        if stored < many:
            positions[many - 1 - stored if is_last else stored] = kept.places[at]  # overwritten if discarded
        stored += int(key < bound or (is_equal and equal < quota))
        equal += int(is_equal)


def keys_of_blocks(
    x: Elements, n: Index, size: Index, bound: Word, many: Index, is_last: Bool, numbers: Indices, kept: Kept
) -> Index:
    """Store the keys up to the bound of `many` blocks, and their positions; return how many there are."""
    end = 0
    for i in rolled(many):
        first = numbers[many - 1 - i if is_last else i] * size
        stop = min(first + size, n)
        for at in serial(first, stop):
            k = first + stop - 1 - at if is_last else at
            key = key_towards(x[k], is_last)
            kept.keys[end], kept.places[end] = key, k  # overwritten if discarded
            end += int(key <= bound)
    return end
