"""Solutions with L·U factors in the layout of `sparse.direct.lu`, for one right-hand side and for several.

y holds the right-hand side in the order of pivots and becomes the solution; of several, element k has a row of `width`.
"""

from __future__ import annotations

from typing import Final

from aotensor.kernels.language import Index, Indices, Reals

NAN: Final = float("nan")


def gather(n: Index, width: Index, place: Indices, b: Reals, y: Reals) -> None:
    """y[k] = b[place[k]]"""
    for k in range(n):
        for e in range(width):
            y[k * width + e] = b[place[k] * width + e]


def scatter(n: Index, width: Index, place: Indices, y: Reals, b: Reals) -> None:
    """b[place[k]] = y[k]"""
    for k in range(n):
        for e in range(width):
            b[place[k] * width + e] = y[k * width + e]


def solve_lower(n: Index, table: Indices, rows: Indices, lower: Reals, info: Indices, y: Reals, sums: Reals) -> None:
    """Solve L·y' = y in place: for each node a triangular solve, then an update of all rows below."""
    m = n + 1
    for t in range(info[1]):
        start = table[t]
        width, height, base = table[t + 1] - start, table[2 * m + t], table[3 * m + t]
        for c in range(width - 1):
            value, at = y[start + c], base + c * height
            for d in range(c + 1, width):
                y[start + d] = y[start + d] - lower[at + d] * value
        rest, below, at = height - width, table[m + t] + width, base + width
        if width == 1:
            value = y[start]
            for r in range(rest):
                i = rows[below + r]
                y[i] = y[i] - lower[at + r] * value
        else:
            for r in range(rest):
                sums[r] = lower[at + r] * y[start] + lower[at + height + r] * y[start + 1]
            for c in range(2, width):
                value, a = y[start + c], at + c * height
                for r in range(rest):
                    sums[r] = sums[r] + lower[a + r] * value
            for r in range(rest):
                i = rows[below + r]
                y[i] -= sums[r]


def solve_upper(
    n: Index, table: Indices, lower: Reals, segments: Indices, upper: Reals, info: Indices, y: Reals
) -> None:
    """Solve U·y' = y in place, column by column from the last one."""
    m = n + 1
    for s in range(info[1]):
        t = info[1] - 1 - s
        start, height = table[t], table[2 * m + t]
        width = table[t + 1] - start
        for e in range(width):
            c = width - 1 - e
            k, at = start + c, table[3 * m + t] + c * height
            value = y[k] / lower[at + c]
            y[k] = value
            for d in range(c):
                y[start + d] = y[start + d] - lower[at + d] * value
            p, g = table[5 * m + k], table[4 * m + k]
            while g < table[4 * m + k + 1]:
                low, length = segments[g], segments[g + 1]
                for d in range(length):
                    y[low + d] = y[low + d] - upper[p + d] * value
                p += length
                g += 2


def solve_upper_transposed(
    n: Index, table: Indices, lower: Reals, segments: Indices, upper: Reals, info: Indices, y: Reals
) -> None:
    """Solve Uᵀ·y' = y in place: an inner product for each column of U."""
    m = n + 1
    for t in range(info[1]):
        start, height = table[t], table[2 * m + t]
        for c in range(table[t + 1] - start):
            k, at = start + c, table[3 * m + t] + c * height
            value, p, g = y[k], table[5 * m + k], table[4 * m + k]
            while g < table[4 * m + k + 1]:
                low, length = segments[g], segments[g + 1]
                for d in range(length):
                    value = value - upper[p + d] * y[low + d]
                p += length
                g += 2
            for d in range(c):
                value = value - lower[at + d] * y[start + d]
            y[k] = value / lower[at + c]


def solve_lower_transposed(
    n: Index, table: Indices, rows: Indices, lower: Reals, info: Indices, y: Reals, sums: Reals
) -> None:
    """Solve Lᵀ·y' = y in place: for each node, from the last one, an update from the rows below, then a triangular
    solve.
    """
    m = n + 1
    for s in range(info[1]):
        t = info[1] - 1 - s
        start, height = table[t], table[2 * m + t]
        width = table[t + 1] - start
        rest, below = height - width, table[m + t] + width
        for r in range(rest):
            sums[r] = y[rows[below + r]]
        for e in range(width):
            c = width - 1 - e
            at, value = table[3 * m + t] + c * height, y[start + c]
            for r in range(rest):
                value = value - lower[at + width + r] * sums[r]
            for d in range(c + 1, width):
                value = value - lower[at + d] * y[start + d]
            y[start + c] = value


def solve_lower_several(
    n: Index, many: Index, table: Indices, rows: Indices, lower: Reals, info: Indices, y: Reals
) -> None:
    """Solve L·y' = y in place for several right-hand sides."""
    m = n + 1
    for t in range(info[1]):
        start, height = table[t], table[2 * m + t]
        for c in range(table[t + 1] - start):
            at = table[3 * m + t] + c * height
            own = (start + c) * many
            for r in range(c + 1, height):
                value = lower[at + r]
                to = rows[table[m + t] + r] * many
                for e in range(many):
                    y[to + e] = y[to + e] - value * y[own + e]


def solve_upper_several(
    n: Index, many: Index, table: Indices, lower: Reals, segments: Indices, upper: Reals, info: Indices, y: Reals
) -> None:
    """Solve U·y' = y in place for several right-hand sides."""
    m = n + 1
    for s in range(info[1]):
        t = info[1] - 1 - s
        start, height = table[t], table[2 * m + t]
        width = table[t + 1] - start
        for f in range(width):
            c = width - 1 - f
            k = start + c
            own, at = k * many, table[3 * m + t] + c * height
            pivot = lower[at + c]
            for e in range(many):
                y[own + e] = y[own + e] / pivot
            for d in range(c):
                value = lower[at + d]
                to = (start + d) * many
                for e in range(many):
                    y[to + e] = y[to + e] - value * y[own + e]
            p, g = table[5 * m + k], table[4 * m + k]
            while g < table[4 * m + k + 1]:
                low, length = segments[g], segments[g + 1]
                for d in range(length):
                    value = upper[p + d]
                    to = (low + d) * many
                    for e in range(many):
                        y[to + e] = y[to + e] - value * y[own + e]
                p += length
                g += 2


def solve_upper_transposed_several(
    n: Index, many: Index, table: Indices, lower: Reals, segments: Indices, upper: Reals, info: Indices, y: Reals
) -> None:
    """Solve Uᵀ·y' = y in place for several right-hand sides."""
    m = n + 1
    for t in range(info[1]):
        start, height = table[t], table[2 * m + t]
        for c in range(table[t + 1] - start):
            k = start + c
            own, at, p = k * many, table[3 * m + t] + c * height, table[5 * m + k]
            g = table[4 * m + k]
            while g < table[4 * m + k + 1]:
                low, length = segments[g], segments[g + 1]
                for d in range(length):
                    value = upper[p + d]
                    source = (low + d) * many
                    for e in range(many):
                        y[own + e] = y[own + e] - value * y[source + e]
                p += length
                g += 2
            for d in range(c):
                value = lower[at + d]
                source = (start + d) * many
                for e in range(many):
                    y[own + e] = y[own + e] - value * y[source + e]
            pivot = lower[at + c]
            for e in range(many):
                y[own + e] = y[own + e] / pivot


def solve_lower_transposed_several(
    n: Index, many: Index, table: Indices, rows: Indices, lower: Reals, info: Indices, y: Reals
) -> None:
    """Solve Lᵀ·y' = y in place for several right-hand sides."""
    m = n + 1
    for s in range(info[1]):
        t = info[1] - 1 - s
        start, height = table[t], table[2 * m + t]
        width = table[t + 1] - start
        for f in range(width):
            c = width - 1 - f
            own = (start + c) * many
            at = table[3 * m + t] + c * height
            for r in range(c + 1, height):
                value = lower[at + r]
                source = rows[table[m + t] + r] * many
                for e in range(many):
                    y[own + e] = y[own + e] - value * y[source + e]


def solve_factored(
    n: Index, many: Index, transposed: Index, order: Indices, position: Indices, table: Indices, info: Indices,
    rows: Indices, lower: Reals, segments: Indices, upper: Reals, b: Reals, y: Reals, sums: Reals, x: Reals,
) -> None:  # fmt: skip
    """Solve A·x = b, or Aᵀ·x = b, with L·U factors; x is nan without factors.

    b, x: n rows of `many`; y: as long; sums: n
    """
    if info[0] != 0:
        for k in range(n * many):
            x[k] = NAN
    elif transposed == 0:
        scatter(n, many, position, b, y)
        if many == 1:
            solve_lower(n, table, rows, lower, info, y, sums)
            solve_upper(n, table, lower, segments, upper, info, y)
        else:
            solve_lower_several(n, many, table, rows, lower, info, y)
            solve_upper_several(n, many, table, lower, segments, upper, info, y)
        scatter(n, many, order, y, x)
    else:
        gather(n, many, order, b, y)
        if many == 1:
            solve_upper_transposed(n, table, lower, segments, upper, info, y)
            solve_lower_transposed(n, table, rows, lower, info, y, sums)
        else:
            solve_upper_transposed_several(n, many, table, lower, segments, upper, info, y)
            solve_lower_transposed_several(n, many, table, rows, lower, info, y)
        gather(n, many, position, y, x)


def solve_symmetric(
    n: Index, many: Index, order: Indices, table: Indices, info: Indices, rows: Indices, lower: Reals, b: Reals,
    y: Reals, sums: Reals, x: Reals,
) -> None:  # fmt: skip
    """Solve A·x = b with the factors L·D·Lᵀ of `sparse.direct.cholesky`; x is nan without factors.

    b, x: n rows of `many`; y: as long; sums: n
    """
    m = n + 1
    if info[0] != 0:
        for k in range(n * many):
            x[k] = NAN
    else:
        gather(n, many, order, b, y)
        if many == 1:
            solve_lower(n, table, rows, lower, info, y, sums)
        else:
            solve_lower_several(n, many, table, rows, lower, info, y)
        for t in range(info[1]):
            start = table[t]
            for c in range(table[t + 1] - start):
                pivot = lower[table[3 * m + t] + c * (table[2 * m + t] + 1)]
                for e in range(many):
                    y[(start + c) * many + e] = y[(start + c) * many + e] / pivot
        if many == 1:
            solve_lower_transposed(n, table, rows, lower, info, y, sums)
        else:
            solve_lower_transposed_several(n, many, table, rows, lower, info, y)
        scatter(n, many, order, y, x)


def solve_half(
    n: Index, many: Index, transposed: Index, order: Indices, table: Indices, info: Indices, rows: Indices,
    lower: Reals, b: Reals, y: Reals, sums: Reals, x: Reals,
) -> None:  # fmt: skip
    """Pᵀ·x = L⁻ᵀ·Pᵀ·b, or L⁻¹·Pᵀ·b if `transposed`.   b, x: n rows of `many`; y: as long; sums: n"""
    gather(n, many, order, b, y)
    if transposed == 1:
        if many == 1:
            solve_lower(n, table, rows, lower, info, y, sums)
        else:
            solve_lower_several(n, many, table, rows, lower, info, y)
    else:
        if many == 1:
            solve_lower_transposed(n, table, rows, lower, info, y, sums)
        else:
            solve_lower_transposed_several(n, many, table, rows, lower, info, y)
    scatter(n, many, order, y, x)
