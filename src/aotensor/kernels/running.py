"""Kernels of running sums, products and linear recurrences along a line.

Running sums of floats are computed in groups of eight elements, whose local running sums are independent, so that only
one addition in eight is on the dependence chain:

    for g in 0 … n by 8:  p = x[g], x[g] + x[g + 1], …;   y[g + k] = (s + p[k]);   s = s + p[7]

A long line is split into blocks that stay in cache, these into chunks: each chunk is summed, the totals give the offset
of each, and a second pass writes y = t + (s + p). Both passes add in the same order, so a chunk begins with the last
element of the chunk before it, and running sums of nonnegative numbers never decrease. The bounds of chunks depend on
the length only.
"""

from __future__ import annotations

from typing import Final

from aotensor.kernels.language import Bool, Element, Elements, Index, parallel, rolled, serial, unrolled, zero

GROUP: Final = 8
"""Elements per group: as many independent additions as fit into the latency of a few dependent ones."""


def accumulate(x: Elements, y: Elements, first: Element, n: Index, is_sum: Bool) -> None:
    """Running sums (first = 0) or products (first = 1) in ascending order."""
    total = first
    for k in range(n):
        total = total + x[k] if is_sum else total * x[k]
        y[k] = total


def recur(factors: Elements, terms: Elements, y: Elements, n: Index) -> None:
    """y[k] = factors[k]·y[k − 1] + terms[k], from 0."""
    last = zero(y)
    for k in range(n):
        last = factors[k] * last + terms[k]
        y[k] = last


def sum_part(
    x: Elements, y: Elements, start: Index, stop: Index, before: Element, is_written: Bool, is_first: Bool
) -> Element:
    """The sum of elements start … stop; if `is_written`, writes their running sums, plus `before` unless `is_first`."""
    total = zero(x)
    whole = start + (stop - start) // GROUP * GROUP
    for k in serial(start, whole, GROUP):
        own = x[k]
        last = total + own
        if is_written:
            y[k] = last if is_first else before + last
        for i in unrolled(1, GROUP):
            own += x[k + i]
            last = total + own
            if is_written:
                y[k + i] = last if is_first else before + last
        total = last
    for k in rolled(whole, stop):
        total += x[k]
        if is_written:
            y[k] = total if is_first else before + total
    return total


def sum_line(x: Elements, y: Elements, totals: Elements, n: Index, block: Index, size: Index) -> None:
    """Running sums by blocks of `block` elements, on several cores by chunks of `size`; totals: memory for a block."""
    before = zero(x)
    for start in serial(0, n, block):
        stop = min(start + block, n)
        totals[0] = before
        for offset in parallel(0, stop - start - size, size):  # the last chunk's sum is not needed
            first = start + offset
            totals[offset // size + 1] = sum_part(x, y, first, first + size, before, False, True)
        total = before
        for k in serial(1, (stop - start + (size - 1)) // size):
            total += totals[k]
            totals[k] = total
        for offset in parallel(0, stop - start, size):
            first = start + offset
            sum_part(x, y, first, min(first + size, stop), totals[offset // size], True, False)
        before = y[stop - 1]
