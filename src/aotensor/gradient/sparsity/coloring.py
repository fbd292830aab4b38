"""Graph colouring: groups of structurally orthogonal columns, which one sweep evaluates together.

Columns that share no row may have one colour (Curtis, Powell & Reid 1974): each entry of their sum is one entry of J.
A symmetric matrix needs fewer colours where an entry may be read from its row or from its column; a star colouring
guarantees that (Coleman & Moré 1984). Both are greedy, in the orders of Gebremedhin, Manne & Pothen (2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aotensor.core.types import Array


def color_columns(pattern: Any) -> Array:
    """(n,) colours from 0 of the columns of an (m, n) CSR pattern: two columns of one colour share no row.

    A row stores the first colour that is free, and the later ones that are not as bits: full rows cost no more than
    others.
    """
    by_column = pattern.tocsc()
    starts, entries = by_column.indptr.tolist(), by_column.indices.tolist()
    free, later = [0] * pattern.shape[0], [0] * pattern.shape[0]
    colors = np.full(pattern.shape[1], -1, np.int64)
    for column in np.argsort(-np.diff(by_column.indptr), kind="stable").tolist():
        rows = entries[starts[column] : starts[column + 1]]
        least, taken = max((free[row] for row in rows), default=0), 0
        for row in rows:
            taken |= later[row] >> (least - free[row])
        color = colors[column] = least + _smallest_free(taken)
        for row in rows:
            bits = later[row] | 1 << (color - free[row])
            skipped = _smallest_free(bits)
            free[row], later[row] = free[row] + skipped, bits >> skipped
    return colors


def color_stars(pattern: Any) -> Array:
    """(n,) colours of a symmetric (n, n) CSR pattern: neighbours differ, and every path of four has three colours.

    A vertex stores the colours that end such a path through it, so that vertices with many neighbours cost no more
    than their edges. Sets of colours are bits of numbers.
    """
    count = pattern.shape[0]
    starts, entries = pattern.indptr.tolist(), pattern.indices.tolist()
    neighbours = [[j for j in entries[starts[i] : starts[i + 1]] if j != i] for i in range(count)]
    colors = [-1] * count
    around = [0] * count  # colours of neighbours
    repeated = [0] * count  # colours of at least two neighbours
    ends = [0] * count  # of neighbours with another neighbour of the vertex's colour
    first: list[dict[int, int]] = [{} for _ in range(count)]  # colour → the first neighbour that has it
    for v in sorted(range(count), key=lambda i: -len(neighbours[i])):
        taken = 0
        for w in neighbours[v]:
            taken |= around[w] if colors[w] < 0 else 1 << colors[w] | ends[w]
        color = colors[v] = _smallest_free(taken)
        for w in neighbours[v]:
            if colors[w] >= 0 and repeated[v] >> colors[w] & 1:
                ends[w] |= 1 << color
            around[w] |= 1 << color
            other = first[w].setdefault(color, v)
            if other != v:
                repeated[w] |= 1 << color
                if colors[w] >= 0:
                    ends[v] |= 1 << colors[w]
                    ends[other] |= 1 << colors[w]
    return np.array(colors, np.int64)


def _smallest_free(taken: int) -> int:
    """The lowest bit that is 0."""
    return (~taken & (taken + 1)).bit_length() - 1


def readable_entries(pattern: Any, colors: Array) -> tuple[Array, Array]:
    """For each stored entry (i, j) of a symmetric pattern, (row, colour) of its value in the compressed product.

    That is (i, colour of j) where no other entry of row i has that colour, else (j, colour of i).
    """
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    columns = pattern.indices.astype(np.int64)
    count = int(colors.max(initial=-1)) + 1
    shared = np.bincount(rows * count + colors[columns], minlength=max(pattern.shape[0] * count, 1))
    is_alone = shared[rows * count + colors[columns]] == 1
    return np.where(is_alone, rows, columns), np.where(is_alone, colors[columns], colors[rows])
