"""Kernels that sort lines: a bottom-up merge sort of short runs, which are sorted by counting smaller elements.

Two whole runs are merged from both ends at once: two independent chains of loads and comparisons that cannot leave
their run before the middle (a parity merge, as in van den Hoven's quadsort).

A single long line is split into chunks: each chunk is sorted independently, and chunks are then merged in pairs, where
each core computes a piece of the merged run; bisection finds how many elements of either run precede the piece (the
merge path of Odeh, Green, Mwassi, Shmueli and Birk).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from aotensor.kernels.language import (
    Bool,
    Element,
    Elements,
    Index,
    Words,
    is_nan,
    parallel,
    rolled,
    serial,
    unrolled,
    vectorised,
    word,
)

LARGEST: Final = 48
"""Merge passes: enough for 2^48 elements along an axis."""
RUN: Final = 16
"""Elements of a run that is sorted by counting."""
UNROLLED: Final = 4
"""Unrolled steps of a merge; they divide a run."""


class Line(NamedTuple):
    """Elements of a line with their original positions: the line to sort, or scratch memory."""

    values: Elements
    positions: Words


def precedes(x: Element, y: Element) -> Bool:
    """Is x < y, in an order where nan is larger than every number?"""
    return x < y or (is_nan(y) and not is_nan(x))


def sort_on_cores(source: Elements, line: Line, scratch: Line, n: Index, size: Index, rounds: Index) -> None:
    """Sort n elements on several cores: chunks of `size` elements, then merges of at most 4^rounds of them.

    Each round makes two passes, to the scratch memory and back. In the last pass there may be a single run.
    """
    for start in parallel(0, n, size):
        sort_chunk(source, line, scratch, start, min(start + size, n))
    for number in serial(rounds):
        width = size << (number + number)
        if width < n:
            merge_pass(line, scratch, n, size, width)
            merge_pass(scratch, line, n, size, width + width)


def sort_chunk(source: Elements, line: Line, scratch: Line, start: Index, stop: Index) -> None:
    """Sort elements start … stop on one core, stable: sort short runs, and merge them in pairs. O(n log n) moves."""
    for k in range(start, stop):
        line.values[k], line.positions[k] = source[k], word(k)
    for begin in rolled(start, stop, RUN):
        sort_run(line, scratch, begin, min(begin + RUN, stop))
    copy(scratch, line, start, stop)
    for number in rolled(LARGEST):
        width = RUN << number
        if width < stop - start:
            for begin in rolled(start, stop, width + width):
                if begin + (width + width) <= stop:
                    merge_whole(line, scratch, begin, width)
                else:
                    merge_rest(line, scratch, begin, width, stop)
            copy(scratch, line, start, stop)


def copy(source: Line, target: Line, start: Index, stop: Index) -> None:
    """Copy elements start … stop."""
    for k in range(start, stop):
        target.values[k], target.positions[k] = source.values[k], source.positions[k]


def sort_run(source: Line, target: Line, start: Index, stop: Index) -> None:
    """Sort a short run: place each element after the smaller ones and after equal ones that precede it."""
    for k in rolled(start, stop):
        x = source.values[k]
        rank = 0
        for i in vectorised(start, stop):
            y = source.values[i]
            is_equal = not precedes(x, y) and i < k
            rank += 1 if precedes(y, x) or is_equal else 0
        target.values[start + rank], target.positions[start + rank] = x, source.positions[k]


def merge_whole(source: Line, target: Line, start: Index, width: Index) -> None:
    """Merge two runs of `width` elements: half of the result from the front and half from the back."""
    middle = start + width
    last = middle + width - 1
    left, right, upper_left, upper_right = start, middle, middle - 1, last
    for first in rolled(0, width, UNROLLED):
        for number in unrolled(UNROLLED):
            k = first + number
            is_left = not precedes(source.values[right], source.values[left])
            chosen = left if is_left else right
            target.values[start + k], target.positions[start + k] = source.values[chosen], source.positions[chosen]
            is_right = not precedes(source.values[upper_right], source.values[upper_left])
            taken = upper_right if is_right else upper_left
            target.values[last - k], target.positions[last - k] = source.values[taken], source.positions[taken]
            left = left + 1 if is_left else left
            right = right if is_left else right + 1
            upper_left = upper_left if is_right else upper_left - 1
            upper_right = upper_right - 1 if is_right else upper_right


def merge_rest(source: Line, target: Line, start: Index, width: Index, stop: Index) -> None:
    """Merge the last two runs before `stop`, the first of `width` elements; the second one may be short or empty."""
    middle, end = min(start + width, stop), min(start + 2 * width, stop)
    left, right = start, middle
    for k in serial(start, end):
        left, right = merge_step(source, target, k, left, right, middle, end, stop)


def merge_pass(source: Line, target: Line, n: Index, size: Index, width: Index) -> None:
    """Merge adjacent runs of `width` elements, by independent pieces of `size` elements, on several cores."""
    for piece in parallel(0, n, size):
        start = piece // (width + width) * (width + width)
        middle, end = min(start + width, n), min(start + 2 * width, n)
        left, right = merge_path(source, start, middle, end, piece - start)
        for k in serial(piece, min(piece + size, n)):
            left, right = merge_step(source, target, k, left, right, middle, end, n)


def merge_step(
    source: Line, target: Line, k: Index, left: Index, right: Index, middle: Index, end: Index, stop: Index
) -> tuple[Index, Index]:
    """Element k of the merged run is that at `left` or at `right`; returns both positions after it.

    middle, end: where the left and the right run end. stop: the end of the readable elements.
    """
    x, y = source.values[min(left, stop - 1)], source.values[min(right, stop - 1)]
    is_left = left < middle and (right >= end or not precedes(y, x))
    target.values[k] = x if is_left else y
    target.positions[k] = source.positions[left if is_left else right]
    return left + 1 if is_left else left, right if is_left else right + 1


def merge_path(source: Line, start: Index, middle: Index, end: Index, count: Index) -> tuple[Index, Index]:
    """The positions (left, right) of the next elements of two runs after `count` merged elements, by bisection.

    low … high are the possible numbers of merged elements that come from the left run.
    """
    low, high = max(count - (end - middle), 0), min(count, middle - start)
    while low < high:
        half = (low + high) >> 1
        is_in = not precedes(source.values[middle + count - half - 1], source.values[start + half])
        low = half + 1 if is_in else low
        high = high if is_in else half
    return start + low, middle + count - low
