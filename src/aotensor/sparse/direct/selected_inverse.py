"""Entries of the inverse of a symmetric matrix at the entries of its factors, and their derivatives along directions.

With A = L·D·Lᵀ the inverse Z has, below the diagonal, Z[:, c] = −Z·L[:, c] and Z[c, c] = 1/D[c] − L[:, c]ᵀ·Z[:, c],
where sums run over the rows that column c of L stores. So the entries of Z in the pattern of L follow from each
other, from the last column to the first one (Takahashi, Fagan & Chen 1973; Erisman & Tinney 1975).

Derivatives along k directions are the same recursion for numbers with 2^k parts; part S holds the derivative
along the directions of the set S (its bits): (x·y)[S] = Σ x[T]·y[S∖T] over the subsets T of S. Part 0 of the factors
is known; the other ones are factorised part after part. Entries of a direction count with those across the diagonal,
half each.

lower, scaled, inverse: 2^k parts of info[3] numbers each, in the layout of `sparse.direct.cholesky`; scaled is L·D.
splits, begins: the pairs (T, S∖T) of part S are `splits[2·begins[S]:2·begins[S + 1]]`.
"""

from __future__ import annotations

from aotensor.kernels.language import Index, Indices, Reals


def read_pivots(n: Index, order: Indices, table: Indices, info: Indices, lower: Reals, pivots: Reals) -> None:
    """Copy the pivots D to `pivots`, in the order of the columns of A."""
    m = n + 1
    for t in range(info[1]):
        start = table[t]
        for c in range(table[t + 1] - start):
            pivots[order[start + c]] = lower[table[3 * m + t] + c * (table[2 * m + t] + 1)]


def count_parts(k: Index) -> Index:
    """2^k"""
    parts = 1
    for _ in range(k):
        parts = parts * 2
    return parts


def count_splits(k: Index) -> Index:
    """3^k"""
    splits = 1
    for _ in range(k):
        splits = splits * 3
    return splits


def is_subset(t: Index, s: Index) -> Index:
    """1 if all bits of t are bits of s, else 0."""
    answer, a, b = 1, t, s
    while a > 0:
        if a % 2 > b % 2:
            answer = 0
        a, b = a // 2, b // 2
    return answer


def find_splits(parts: Index, splits: Indices, begins: Indices) -> None:
    """List all pairs of disjoint sets, grouped by their union s, from (empty set, s) to (s, empty set)."""
    count = 0
    begins[0] = 0
    for s in range(parts):
        for t in range(s + 1):
            if is_subset(t, s) == 1:
                splits[2 * count] = t
                splits[2 * count + 1] = s - t
                count += 1
        begins[s + 1] = count


def name_nodes(n: Index, order: Indices, table: Indices, info: Indices, position: Indices, node_of: Indices) -> Index:
    """The place of each column in the order, and the node of each place. Gives the largest number of rows of a node."""
    tallest = 1
    for k in range(n):
        position[order[k]] = k
    for t in range(info[1]):
        tallest = max(tallest, table[2 * (n + 1) + t])
        for k in range(table[t], table[t + 1]):
            node_of[k] = t
    return tallest


def place_of(row: Index, begin: Index, count: Index, rows: Indices) -> Index:
    """The position of `row` among `count` ascending rows from `begin` on, which contain it (binary search)."""
    low, high = 0, count
    while low + 1 < high:
        middle = (low + high) // 2
        if rows[begin + middle] <= row:
            low = middle
        else:
            high = middle
    return low


def entry_at(n: Index, a: Index, b: Index, node_of: Indices, table: Indices, rows: Indices) -> Index:
    """The position in the blocks of the entry at places a and b of the elimination order, in either order."""
    m = n + 1
    t = node_of[min(a, b)]
    r = place_of(max(a, b), table[m + t], table[2 * m + t], rows)
    return table[3 * m + t] + (min(a, b) - table[t]) * table[2 * m + t] + r


def factor_parts(
    n: Index, parts: Index, nnz: Index, indptr: Indices, indices: Indices, directions: Reals, position: Indices,
    table: Indices, rows: Indices, info: Indices, lower: Reals, scaled: Reals, node_of: Indices, splits: Indices,
    begins: Indices, where: Indices, heads: Indices, following: Indices, places: Indices, sums: Reals,
) -> None:  # fmt: skip
    """Parts 1 and on of L, D and L·D: derivatives of the factors along directions.   directions: k vectors of nnz"""
    m, size = n + 1, info[3]
    for t in range(info[1]):
        height = table[2 * m + t]
        for c in range(table[t + 1] - table[t]):
            column = table[3 * m + t] + c * height
            pivot = lower[column + c]
            scaled[column + c] = pivot
            for r in range(c + 1, height):
                scaled[column + r] = lower[column + r] * pivot
    direction, single = 0, 1
    for s in range(1, parts):
        own = s * size
        for p in range(size):
            scaled[own + p] = 0.0
        if s == single:
            for j in range(n):
                for p in range(indptr[j], indptr[j + 1]):
                    i, value = indices[p], directions[direction * nnz + p]
                    if i != j:
                        value = value * 0.5
                    at = own + entry_at(n, position[i], position[j], node_of, table, rows)
                    scaled[at] += value
            direction += 1
            single = single * 2
        for t in range(info[1]):
            heads[t] = -1
        for t in range(info[1]):
            start = table[t]
            width, list_at, height = table[t + 1] - start, table[m + t], table[2 * m + t]
            base = table[3 * m + t]
            for r in range(height):
                where[rows[list_at + r]] = r
            d = heads[t]
            while d >= 0:
                after, rows_of, long = following[d], table[m + d], table[2 * m + d]
                wide = table[d + 1] - table[d]
                values, j = table[3 * m + d], places[d]
                while j < long and rows[rows_of + j] < start + width:
                    rest = long - j
                    for r in range(rest):
                        sums[r] = 0.0
                    for g in range(begins[s], begins[s + 1]):
                        left, right = splits[2 * g] * size + values + j, splits[2 * g + 1] * size + values + j
                        add_columns(rest, wide, long, left, right, lower, scaled, sums)
                    column = own + base + (rows[rows_of + j] - start) * height
                    for r in range(rest):
                        at = column + where[rows[rows_of + j + r]]
                        scaled[at] -= sums[r]
                    j += 1
                places[d] = j
                if j < long:
                    u = node_of[rows[rows_of + j]]
                    following[d] = heads[u]
                    heads[u] = d
                d = after
            for c in range(width):
                for r in range(height - c):
                    sums[r] = 0.0
                for g in range(begins[s], begins[s + 1]):
                    left, right = splits[2 * g] * size + base + c, splits[2 * g + 1] * size + base + c
                    add_columns(height - c, c, height, left, right, lower, scaled, sums)
                column = base + c * height + c
                for r in range(height - c):
                    scaled[own + column + r] -= sums[r]
                    sums[r] = scaled[own + column + r]
                lower[own + column] = scaled[own + column]
                for g in range(begins[s], begins[s + 1] - 1):
                    left = splits[2 * g] * size + column
                    value = lower[splits[2 * g + 1] * size + column]
                    for r in range(1, height - c):
                        sums[r] = sums[r] - lower[left + r] * value
                pivot = lower[column]
                for r in range(1, height - c):
                    lower[own + column + r] = sums[r] / pivot
            if width < height:
                places[t] = width
                u = node_of[rows[list_at + width]]
                following[t] = heads[u]
                heads[u] = t


def add_columns(
    rest: Index, count: Index, stride: Index, left: Index, right: Index, a: Reals, b: Reals, sums: Reals
) -> None:
    """sums[r] += Σ_e a[left + e·stride + r]·b[right + e·stride] for `rest` rows and `count` columns."""
    e = 0
    while e + 3 < count:
        p, q = left + e * stride, right + e * stride
        v0, v1, v2 = b[q], b[q + stride], b[q + 2 * stride]
        v3 = b[q + 3 * stride]
        for r in range(rest):
            sums[r] = (
                sums[r]
                + a[p + r] * v0
                + a[p + stride + r] * v1
                + a[p + 2 * stride + r] * v2
                + a[p + 3 * stride + r] * v3
            )
        e += 4
    while e < count:
        p, v0 = left + e * stride, b[right + e * stride]
        for r in range(rest):
            sums[r] = sums[r] + a[p + r] * v0
        e += 1


def add_product(rest: Index, stride: Index, left: Index, right: Index, a: Reals, b: Reals, sums: Reals) -> None:
    """sums[r] += Σ_e a[left + e·stride + r]·b[right + e] for a square of `rest` rows and columns."""
    e = 0
    while e + 3 < rest:
        p, v0, v1 = left + e * stride, b[right + e], b[right + e + 1]
        v2, v3 = b[right + e + 2], b[right + e + 3]
        for r in range(rest):
            sums[r] = (
                sums[r]
                + a[p + r] * v0
                + a[p + stride + r] * v1
                + a[p + 2 * stride + r] * v2
                + a[p + 3 * stride + r] * v3
            )
        e += 4
    while e < rest:
        p, v0 = left + e * stride, b[right + e]
        for r in range(rest):
            sums[r] = sums[r] + a[p + r] * v0
        e += 1


def invert_selected(
    n: Index, parts: Index, tallest: Index, table: Indices, rows: Indices, info: Indices, lower: Reals,
    node_of: Indices, splits: Indices, begins: Indices, places: Indices, square: Reals, reciprocals: Reals,
    sums: Reals, inverse: Reals,
) -> None:  # fmt: skip
    """Compute the entries of the inverse in the blocks of the factors.

    square: parts·tallest² numbers: of all rows of a node the part of Z among them, whole. places: of these rows in
    another node.
    """
    m, size, area = n + 1, info[3], tallest * tallest
    for k in range(info[1]):
        t = info[1] - 1 - k
        start = table[t]
        width, list_at, height = table[t + 1] - start, table[m + t], table[2 * m + t]
        base, u = table[3 * m + t], -1
        for i in range(width, height):
            if node_of[rows[list_at + i]] != u:
                u = node_of[rows[list_at + i]]
                place = 0
                for j in range(i, height):
                    while rows[table[m + u] + place] < rows[list_at + j]:
                        place += 1
                    places[j] = place
            column = table[3 * m + u] + (rows[list_at + i] - table[u]) * table[2 * m + u]
            for s in range(parts):
                for j in range(i, height):
                    value = inverse[s * size + column + places[j]]
                    square[s * area + i * height + j] = value
                    square[s * area + j * height + i] = value
        for back in range(width):
            c = width - 1 - back
            below = c + 1
            rest, column = height - below, base + c * height
            for s in range(parts):
                for r in range(rest):
                    sums[r] = 0.0
                for g in range(begins[s], begins[s + 1]):
                    left = splits[2 * g] * area + below * height + below
                    add_product(rest, height, left, splits[2 * g + 1] * size + column + below, square, lower, sums)
                at = s * area + c * height + below
                for r in range(rest):
                    square[at + r] = -sums[r]
                    square[s * area + (below + r) * height + c] = -sums[r]
            pivot = lower[column + c]
            for s in range(parts):
                total = 0.0
                if s == 0:
                    total = 1.0 / pivot
                else:
                    for g in range(begins[s], begins[s + 1] - 1):
                        total = total - reciprocals[splits[2 * g]] * lower[splits[2 * g + 1] * size + column + c]
                    total = total / pivot
                reciprocals[s] = total
                for g in range(begins[s], begins[s + 1]):
                    left = splits[2 * g] * size + column + below
                    right = splits[2 * g + 1] * area + c * height + below
                    for r in range(rest):
                        total = total - lower[left + r] * square[right + r]
                square[s * area + c * height + c] = total
        for c in range(width):
            for s in range(parts):
                for r in range(c, height):
                    inverse[s * size + base + c * height + r] = square[s * area + c * height + r]


def read_entries(
    n: Index, start: Index, indptr: Indices, indices: Indices, position: Indices, node_of: Indices, table: Indices,
    rows: Indices, values: Reals, x: Reals,
) -> None:  # fmt: skip
    """Copy entries of a symmetric matrix from blocks to the entries of a pattern.   start: of its part in `values`"""
    for j in range(n):
        for p in range(indptr[j], indptr[j + 1]):
            x[p] = values[start + entry_at(n, position[indices[p]], position[j], node_of, table, rows)]
