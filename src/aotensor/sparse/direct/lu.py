"""L·U factors of a sparse matrix, column by column, by supernodes (Gilbert & Peierls 1988; Demmel et al. 1999).

P·A·Q = L·U for a matrix in compressed columns. Column k of the factors is L⁻¹ applied to column Q[k] of A: which
columns of L it needs is found by a walk along their entries, from the ones that column Q[k] has. Columns of L with
the same entries below a full triangle are a *supernode*, kept as a dense block: rows in one list, columns of values
one behind the other, the part of U in it included. So updates are products of dense matrices and vectors.

Rows of L are rows of A until all columns are done. The walk skips entries below the first common one of a column of L
and a row of U: their descendants are reached through that (symmetric pruning, Eisenstat & Liu 1992).

Layout of the factors, of nodes t, with rows(t) = the list of node t and width(t) = its columns:
    table      6 parts of n + 1 numbers: of node t its first column, where its rows begin in `rows`, how many there
               are, where its values begin in `lower`; of column k of U where it begins in `segments`, in `upper`
    rows       of each node: all rows, those of its columns first, then a copy for the walk
    lower      of each node: a column of values after the other, as long as its rows
    segments   of column k of U: (first column, length) of each run of entries in another node
    upper      the values of these runs
    info       the column of A where no pivot was found, plus 1, or 0; nodes; used parts of rows, lower, segments, upper
"""

from __future__ import annotations

from aotensor.kernels.language import Index, Indices, Real, Reals


def begin_factors(
    n: Index, position: Indices, table: Indices, info: Indices, x: Reals, marks: Indices, seen: Indices
) -> None:
    """Initialise a factorisation, before any column is factorised."""
    for i in range(n):
        position[i] = -1
        x[i] = 0.0
        marks[i] = -1
        seen[i] = -1
    for i in range(6):
        table[i * (n + 1)] = 0
        info[i] = 0


def factor_columns(
    begin: Index, n: Index, tolerance: Real, room: Index, indptr: Indices, indices: Indices, data: Reals,
    order: Indices, position: Indices, table: Indices, rows: Indices, lower: Reals, segments: Indices, upper: Reals,
    info: Indices, x: Reals, part: Reals, sums: Reals, marks: Indices, seen: Indices, node_of: Indices,
    first: Indices, stack: Indices, places: Indices, path: Indices, found: Indices, ends: Indices, pruned: Indices,
) -> Index:  # fmt: skip
    """Factorise columns from `begin` on while there is memory; returns the first column that is not done.

    tolerance: a diagonal element is the pivot if it is so large, relative to the largest one.
    room: what each of rows, lower, segments and upper has; a column needs 2·n + 2 at most.
    x: zeros. part, sums: for dense work. marks, seen: the last column that has reached a row, a node. first: and from
    which column of the node on. ends: where the rows of a node end that the walk looks at. pruned: are they fewer
    already?
    """
    m, k, used_rows = n + 1, begin, info[2]
    used_lower, used_segments, used_upper = info[3], info[4], info[5]
    limit = room - 2 * n - 2
    while (
        k < n
        and info[0] == 0
        and used_rows <= limit
        and used_lower <= limit
        and used_segments <= limit
        and used_upper <= limit
    ):
        q, last = order[k], info[1] - 1
        count, top = 0, n
        # the rows and nodes that the column reaches, nodes in the order of their updates
        for p in range(indptr[q], indptr[q + 1]):
            i = indices[p]
            x[i] += data[p]
            if marks[i] != k:
                marks[i] = k
                at = position[i]
                if at < 0:
                    found[count] = i
                    count += 1
                else:
                    s = node_of[at]
                    if seen[s] == k:
                        first[s] = min(first[s], at)
                    else:
                        seen[s] = k
                        first[s] = at
                        depth = 0
                        stack[0] = s
                        places[0] = table[m + s] + table[2 * m + s]
                        while depth >= 0:
                            t, place = stack[depth], places[depth]
                            end, entered = ends[t], 0
                            while place < end:
                                j = rows[place]
                                place += 1
                                if marks[j] != k:
                                    to = position[j]
                                    if to < 0:
                                        marks[j] = k
                                        found[count] = j
                                        count += 1
                                    else:
                                        u = node_of[to]
                                        if u != t:
                                            marks[j] = k
                                            if seen[u] == k:
                                                first[u] = min(first[u], to)
                                            else:
                                                seen[u] = k
                                                first[u] = to
                                                places[depth] = place
                                                stack[depth + 1] = u
                                                places[depth + 1] = table[m + u] + table[2 * m + u]
                                                entered, place = 1, end
                            if entered == 1:
                                depth += 1
                            else:
                                top -= 1
                                path[top] = t
                                depth -= 1
        # does the column continue the last node?
        joins = int(last >= 0 and seen[last] == k and count == table[2 * m + last] - (k - table[last]))
        node = last + 1 - joins
        if joins == 0:
            table[node] = k
            table[m + node] = used_rows
            table[2 * m + node] = count
            table[3 * m + node] = used_lower
            for i in range(count):
                rows[used_rows + i] = found[i]
            used_rows += 2 * count
            pruned[node] = 0
        own = used_lower
        table[4 * m + k] = used_segments
        table[5 * m + k] = used_upper
        # updates by the nodes
        for where in range(top, n):
            t = path[where]
            start, low = table[t], first[t]
            width, height, list_at = table[t + 1] - low, table[2 * m + t], table[m + t]
            skipped = low - start
            block, column = skipped + width, table[3 * m + t] + skipped * height
            for c in range(width):
                i = rows[list_at + skipped + c]
                part[c] = x[i]
                x[i] = 0.0
            for c in range(width - 1):
                value, at = part[c], column + c * height + skipped
                for d in range(c + 1, width):
                    part[d] = part[d] - lower[at + d] * value
            if t == node:
                for c in range(skipped):
                    lower[own + c] = 0.0
                for c in range(width):
                    lower[own + skipped + c] = part[c]
            else:
                segments[used_segments] = low
                segments[used_segments + 1] = width
                used_segments += 2
                for c in range(width):
                    upper[used_upper + c] = part[c]
                used_upper += width
            rest = height - block
            if width == 1:
                value, at, below = part[0], column + block, list_at + block
                for r in range(rest):
                    i = rows[below + r]
                    x[i] = x[i] - lower[at + r] * value
            else:
                column += block
                for r in range(rest):
                    sums[r] = lower[column + r] * part[0] + lower[column + height + r] * part[1]
                c = 2
                while c + 3 < width:
                    a, p0, p1 = column + c * height, part[c], part[c + 1]
                    p2, p3 = part[c + 2], part[c + 3]
                    for r in range(rest):
                        sums[r] = (
                            sums[r]
                            + lower[a + r] * p0
                            + lower[a + height + r] * p1
                            + lower[a + 2 * height + r] * p2
                            + lower[a + 3 * height + r] * p3
                        )
                    c += 4
                while c < width:
                    a, value = column + c * height, part[c]
                    for r in range(rest):
                        sums[r] = sums[r] + lower[a + r] * value
                    c += 1
                below = list_at + block
                for r in range(rest):
                    i = rows[below + r]
                    x[i] -= sums[r]
        # the pivot
        start, height, list_at = table[node], table[2 * m + node], table[m + node]
        above = k - start
        best, best_at, diagonal, diagonal_at = 0.0, above, 0.0, -1
        for r in range(above, height):
            i = rows[list_at + r]
            value = x[i]
            x[i] = 0.0
            lower[own + r] = value
            size = abs(value)
            if size > best or size != size:
                best, best_at = size, r
            if i == q:
                diagonal, diagonal_at = size, r
        used_lower += height
        if best == 0.0:
            info[0] = q + 1
        else:
            if diagonal_at >= 0 and diagonal >= tolerance * best:
                best_at = diagonal_at
            pivot_row = rows[list_at + best_at]
            rows[list_at + best_at] = rows[list_at + above]
            rows[list_at + above] = pivot_row
            base = table[3 * m + node]
            for c in range(above + 1):
                at = base + c * height
                value = lower[at + best_at]
                lower[at + best_at] = lower[at + above]
                lower[at + above] = value
            pivot = lower[own + above]
            for r in range(above + 1, height):
                lower[own + r] = lower[own + r] / pivot
            position[pivot_row] = k
            node_of[k] = node
            table[node + 1] = k + 1
            if joins == 0:
                for r in range(1, height):
                    rows[list_at + height + r - 1] = rows[list_at + r]
                ends[node] = list_at + 2 * height - 1
                info[1] = node + 1
            # walks through nodes of the column need rows that have been pivots only, if the new pivot is one of theirs
            for where in range(top, n):
                t = path[where]
                if t != node and pruned[t] == 0:
                    low = table[m + t] + table[2 * m + t]
                    end, place = ends[t], low
                    while place < end:
                        if rows[place] == pivot_row:
                            pruned[t] = 1
                            place = end
                        place += 1
                    if pruned[t] == 1:
                        while low < end:
                            i = rows[low]
                            if position[i] >= 0:
                                low += 1
                            else:
                                end -= 1
                                rows[low] = rows[end]
                                rows[end] = i
                        ends[t] = low
            k += 1
        info[2] = used_rows
        info[3] = used_lower
        info[4] = used_segments
        info[5] = used_upper
    table[4 * m + k] = used_segments
    table[5 * m + k] = used_upper
    return k


def name_rows(n: Index, position: Indices, table: Indices, rows: Indices, info: Indices) -> None:
    """Replace the row numbers of L by positions of pivots."""
    m = n + 1
    for t in range(info[1]):
        at = table[m + t]
        for r in range(table[2 * m + t]):
            rows[at + r] = position[rows[at + r]]
