"""L·D·Lᵀ factors of a sparse symmetric positive definite matrix, by supernodes (Ng & Peyton 1993).

Pᵀ·A·P = L·D·Lᵀ, where L has ones on its diagonal. Where column k of L has entries follows from the pattern alone: where
column k of A has some below the diagonal, and the columns whose first entry is in row k. So patterns come first, then
numbers. Columns with the same entries below a full triangle are a node, kept as a dense block; a node takes what
earlier ones say of its columns, a dense product for each, and is factorised itself. Only entries of A on or below the
diagonal of Pᵀ·A·P are read.

The layout is that of L in `sparse.direct.lu`, with D on the diagonals of the blocks and rows in rising order:
    table      4 parts of n + 1 numbers: of node t its first column, where its rows begin in `rows`, how many there are,
               where its values begin in `lower`
    info       the column of A whose pivot is not positive, plus 1, or −1 less the one that stores an entry without the
               one across the diagonal, or 0; nodes; used parts of rows and lower
"""

from __future__ import annotations

from aotensor.kernels.language import Index, Indices, Reals


def begin_patterns(
    n: Index, order: Indices, position: Indices, table: Indices, info: Indices, marks: Indices, children: Indices
) -> None:
    """Initialise the search for patterns, before any column is processed."""
    for k in range(n):
        position[order[k]] = k
        marks[k] = -1
        children[k] = -1
    for i in range(4):
        table[i * (n + 1)] = 0
        info[i] = 0


def first_unpaired(
    n: Index, indptr: Indices, indices: Indices, starts: Indices, columns: Indices, marks: Indices
) -> Index:
    """1 plus the first column whose entries and those of its row are not in the same places, or 0 if there is none."""
    for i in range(n + 1):
        starts[i] = 0
    for p in range(indptr[0], indptr[n]):
        starts[indices[p] + 1] = starts[indices[p] + 1] + 1
    for i in range(n):
        starts[i + 1] += starts[i]
        marks[i] = -1
    for j in range(n):
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            columns[starts[i]] = j
            starts[i] += 1
    found, begin, j = 0, 0, 0
    while j < n and found == 0:
        for p in range(indptr[j], indptr[j + 1]):
            marks[indices[p]] = j
        for p in range(begin, starts[j]):
            if marks[columns[p]] != j:
                found = j + 1
        begin = starts[j]
        j += 1
    j, begin = 0, 0
    for i in range(n):
        marks[i] = -1
    while j < n and found == 0:
        for p in range(begin, starts[j]):
            marks[columns[p]] = j
        for p in range(indptr[j], indptr[j + 1]):
            if marks[indices[p]] != j:
                found = j + 1
        begin = starts[j]
        j += 1
    return found


def find_patterns(
    begin: Index, n: Index, room: Index, indptr: Indices, indices: Indices, order: Indices, position: Indices,
    table: Indices, rows: Indices, info: Indices, marks: Indices, children: Indices, siblings: Indices,
    node_of: Indices, found: Indices,
) -> Index:  # fmt: skip
    """Find the patterns of columns from `begin` on while there is memory; returns the first column that is not done.

    room: of rows; a column needs n + 1 at most. marks: the last column that a row was seen in. children, siblings:
    nodes whose first row below is column k.
    """
    m, k, used = n + 1, begin, info[2]
    while k < n and used + m <= room:
        count, q = 0, order[k]
        for p in range(indptr[q], indptr[q + 1]):
            i = position[indices[p]]
            if i > k and marks[i] != k:
                marks[i] = k
                found[count] = i
                count += 1
        last, joins, t = info[1] - 1, 0, children[k]
        while t >= 0:
            at = table[m + t]
            for r in range(at, at + table[2 * m + t]):
                i = rows[r]
                if i > k and marks[i] != k:
                    marks[i] = k
                    found[count] = i
                    count += 1
            if t == last:
                joins = 1
            t = siblings[t]
        if joins == 1 and count != table[2 * m + last] - (k - table[last]) - 1:
            joins = 0
        node = last + 1 - joins
        if joins == 0:
            table[node] = k
            table[m + node] = used
            table[2 * m + node] = count + 1
            table[3 * m + node] = info[3]
            rows[used] = k
            for r in range(count):
                rows[used + 1 + r] = found[r]
            used = used + count + 1
        info[1] = node + 1
        info[2] = used
        info[3] = info[3] + table[2 * m + node]
        table[node + 1] = k + 1
        node_of[k] = node
        parent = n
        for r in range(count):
            parent = min(parent, found[r])
        if parent < n:
            siblings[node] = children[parent]
            children[parent] = node
        k += 1
    return k


def sort_rows(n: Index, table: Indices, rows: Indices, info: Indices, first: Indices, owners: Indices) -> None:
    """Sort the rows of every node in ascending order, by counting."""
    m = n + 1
    for i in range(n + 1):
        first[i] = 0
    for p in range(info[2]):
        first[rows[p] + 1] = first[rows[p] + 1] + 1
    for i in range(n):
        first[i + 1] += first[i]
    for t in range(info[1]):
        at = table[m + t]
        for p in range(at, at + table[2 * m + t]):
            i = rows[p]
            owners[first[i]] = t
            first[i] += 1
    begin = 0
    for i in range(n):
        for p in range(begin, first[i]):
            t = owners[p]
            at = table[m + t]
            rows[at] = i
            table[m + t] = at + 1
        begin = first[i]
    for t in range(info[1]):
        table[m + t] = table[m + t] - table[2 * m + t]


def factor_nodes(
    n: Index, indptr: Indices, indices: Indices, data: Reals, order: Indices, position: Indices, table: Indices,
    rows: Indices, lower: Reals, info: Indices, node_of: Indices, where: Indices, heads: Indices,
    following: Indices, places: Indices, sums: Reals,
) -> None:  # fmt: skip
    """Compute the numbers of L and D.

    where: the place of a row in the node that is made. heads, following: nodes that say something of the columns of a
    node; places: the first row of theirs that is there.
    """
    m = n + 1
    for t in range(info[1]):
        heads[t] = -1
    for p in range(info[3]):
        lower[p] = 0.0
    t = 0
    while t < info[1] and info[0] == 0:
        start = table[t]
        width, list_at, height = table[t + 1] - start, table[m + t], table[2 * m + t]
        base = table[3 * m + t]
        for r in range(height):
            where[rows[list_at + r]] = r
        for c in range(width):
            q, column = order[start + c], base + c * height
            for p in range(indptr[q], indptr[q + 1]):
                i = position[indices[p]]
                if i >= start + c:
                    at = column + where[i]
                    lower[at] += data[p]
        d = heads[t]
        while d >= 0:
            after, rows_of, long = following[d], table[m + d], table[2 * m + d]
            wide = table[d + 1] - table[d]
            values, j = table[3 * m + d], places[d]
            while j < long and rows[rows_of + j] < start + width:
                rest, a = long - j, values + j
                v0 = lower[a] * lower[values]
                for r in range(rest):
                    sums[r] = lower[a + r] * v0
                e = 1
                while e + 3 < wide:
                    a, b = values + e * long + j, values + e * long + e
                    v0 = lower[a] * lower[b]
                    v1 = lower[a + long] * lower[b + long + 1]
                    v2 = lower[a + 2 * long] * lower[b + 2 * long + 2]
                    v3 = lower[a + 3 * long] * lower[b + 3 * long + 3]
                    for r in range(rest):
                        sums[r] = (
                            sums[r]
                            + lower[a + r] * v0
                            + lower[a + long + r] * v1
                            + lower[a + 2 * long + r] * v2
                            + lower[a + 3 * long + r] * v3
                        )
                    e += 4
                while e < wide:
                    a = values + e * long + j
                    v0 = lower[a] * lower[values + e * long + e]
                    for r in range(rest):
                        sums[r] = sums[r] + lower[a + r] * v0
                    e += 1
                column = base + (rows[rows_of + j] - start) * height
                for r in range(rest):
                    at = column + where[rows[rows_of + j + r]]
                    lower[at] -= sums[r]
                j += 1
            places[d] = j
            if j < long:
                u = node_of[rows[rows_of + j]]
                following[d] = heads[u]
                heads[u] = d
            d = after
        c = 0
        while c < width and info[0] == 0:
            column = base + c * height
            for r in range(height - c):
                sums[r] = 0.0
            e = 0
            while e + 3 < c:
                a, b = base + e * height + c, base + e * height + e
                v0 = lower[a] * lower[b]
                v1 = lower[a + height] * lower[b + height + 1]
                v2 = lower[a + 2 * height] * lower[b + 2 * height + 2]
                v3 = lower[a + 3 * height] * lower[b + 3 * height + 3]
                for r in range(height - c):
                    sums[r] = (
                        sums[r]
                        + lower[a + r] * v0
                        + lower[a + height + r] * v1
                        + lower[a + 2 * height + r] * v2
                        + lower[a + 3 * height + r] * v3
                    )
                e += 4
            while e < c:
                a = base + e * height + c
                v0 = lower[a] * lower[base + e * height + e]
                for r in range(height - c):
                    sums[r] = sums[r] + lower[a + r] * v0
                e += 1
            pivot = lower[column + c] - sums[0]
            if pivot <= 0.0:
                info[0] = order[start + c] + 1
            else:
                lower[column + c] = pivot
                for r in range(1, height - c):
                    lower[column + c + r] = (lower[column + c + r] - sums[r]) / pivot
            c += 1
        if width < height:
            places[t] = width
            u = node_of[rows[list_at + width]]
            following[t] = heads[u]
            heads[u] = t
        t += 1
