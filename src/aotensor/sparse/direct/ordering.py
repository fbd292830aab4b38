"""An order of elimination that keeps factors sparse: approximate minimum degree (Amestoy, Davis & Duff 1996).

Eliminating a variable makes neighbours of all its neighbours: an *element*. The graph is kept as a quotient graph, in
which a variable has adjacent variables and elements, and elements that an element contains are absorbed. Variables
with the same neighbours are one *supervariable*. Degrees are bounds from above that cost one look at the elements of
a variable.

The functions are kernels (`aotensor.kernels`).
"""

from __future__ import annotations

from aotensor.kernels.language import Index, Indices, root


def graph_room(
    n: Index, indptr: Indices, indices: Indices, rows: Indices, columns: Indices, symmetric: Index, dense: Index
) -> Index:
    """An upper bound of the total number of neighbours.   rows, columns: indptr and indices of the transposed
    pattern
    """
    room = 0
    if symmetric == 1:
        room = 2 * indptr[n]
    else:
        for i in range(n):
            length = rows[i + 1] - rows[i]
            if length <= dense:
                room += length * length
    return room


def has_diagonal(n: Index, indptr: Indices, indices: Indices) -> Index:
    """1 if every diagonal element is stored, else 0."""
    count = 0
    for j in range(n):
        found = 0
        for p in range(indptr[j], indptr[j + 1]):
            if indices[p] == j:
                found = 1
        count += found
    return int(count == n)


def longest_sparse(n: Index) -> Index:
    """The largest number of entries of a row that is not dense, 10·√n; dense rows are ignored by the ordering."""
    return max(16, 10 * root(n))


def size_of_lists(n: Index, room: Index) -> Index:
    """The memory for the adjacency lists, with a reserve, so that they are seldom compacted."""
    return room + room // 4 + 2 * n + 1


def neighbours(
    n: Index, indptr: Indices, indices: Indices, rows: Indices, columns: Indices, symmetric: Index, dense: Index,
    start: Indices, length: Indices, lists: Indices, mark: Indices,
) -> Index:  # fmt: skip
    """The graph of A + Aᵀ, or of Aᵀ·A without dense rows: lists[start[j] : start[j] + length[j]] are the neighbours of
    column j.
    """
    at = 0
    for j in range(n):
        mark[j] = -1
    for j in range(n):
        start[j] = at
        mark[j] = j
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            if symmetric == 1:
                if mark[i] != j:
                    mark[i] = j
                    lists[at] = i
                    at += 1
            elif rows[i + 1] - rows[i] <= dense:
                for q in range(rows[i], rows[i + 1]):
                    k = columns[q]
                    if mark[k] != j:
                        mark[k] = j
                        lists[at] = k
                        at += 1
        if symmetric == 1:
            for q in range(rows[j], rows[j + 1]):
                k = columns[q]
                if mark[k] != j:
                    mark[k] = j
                    lists[at] = k
                    at += 1
        length[j] = at - start[j]
    return at


def minimum_degree(
    n: Index, dense: Index, size: Index, used: Index, start: Indices, length: Indices, lists: Indices,
    spare: Indices, elements: Indices, weight: Indices, degree: Indices, first: Indices, after: Indices,
    before: Indices, tag: Indices, parent: Indices, heads: Indices, order: Indices,
) -> None:  # fmt: skip
    """Compute `order`: the columns in the order of their elimination.

    start, length, lists[: used]: the graph, which is used up; lists and spare are of `size`, at least used + n.
    elements[i]: how many of the list of i are elements, in front; −1 for an element, −2 for what is merged into its
    parent weight[i]: variables that i stands for, 0 when it is none any more, negative while it is in the new element
    degree[i]: bound of the degree, of an element its weight
    first, after, before: variables of each degree
    tag[e]: for elements, the mark of this round and what of e is outside of the new element; 0 when absorbed
    parent[i]: the element or variable that has absorbed i, −1 for none
    heads: of variables with equal checksums, and, later, of children
    """
    free, done, lowest, mark = used, 0, 0, 1
    last_dense = -1
    for i in range(n):
        spare[i] = -1
        first[i] = -1
        heads[i] = -1
        parent[i] = -1
        tag[i] = 1
        weight[i] = 1
        elements[i] = 0
        degree[i] = length[i]
    for i in range(n):
        if degree[i] > dense:
            weight[i] = 0
            elements[i] = -3
            after[i] = last_dense
            last_dense = i
            done += 1
        else:
            d = degree[i]
            other = first[d]
            after[i] = other
            before[i] = -1
            if other >= 0:
                before[other] = i
            first[d] = i
    while done < n:
        while first[lowest] < 0:
            lowest += 1
        p = first[lowest]
        follower = after[p]
        first[lowest] = follower
        if follower >= 0:
            before[follower] = -1
        pivots = weight[p]
        done += pivots
        if free + n > size:
            free = 0
            for i in range(n):
                if weight[i] != 0 or (elements[i] == -1 and tag[i] != 0):
                    at = start[i]
                    start[i] = free
                    for k in range(length[i]):
                        spare[free] = lists[at + k]
                        free += 1
            for k in range(free):
                lists[k] = spare[k]
        # the new element: all that stand beside p, by itself or in an element
        weight[p] = -pivots
        begin, own = free, 0
        for e in range(elements[p] + 1):
            source = p
            low = start[p] + elements[p]
            high = start[p] + length[p]
            if e < elements[p]:
                source = lists[start[p] + e]
                low = start[source]
                high = low + length[source]
            for k in range(low, high):
                i = lists[k]
                w = weight[i]
                if w > 0:
                    own += w
                    weight[i] = -w
                    lists[free] = i
                    free += 1
                    left, right = before[i], after[i]
                    if right >= 0:
                        before[right] = left
                    if left >= 0:
                        after[left] = right
                    else:
                        first[degree[i]] = right
            if source != p:
                parent[source] = p
                tag[source] = 0
        elements[p] = -1
        start[p] = begin
        tag[p] = mark
        # what of each element is outside of the new one
        for k in range(begin, free):
            i = lists[k]
            w = weight[i]
            for q in range(start[i], start[i] + elements[i]):
                e = lists[q]
                if tag[e] >= mark:
                    tag[e] += w
                elif tag[e] != 0:
                    tag[e] = degree[e] + mark + w
        # new lists, degrees and checksums of the variables in the element
        for k in range(begin, free):
            i = lists[k]
            low = start[i]
            middle, high = low + elements[i], low + length[i]
            at, d, checksum = low, 0, 0
            for q in range(low, middle):
                e = lists[q]
                if tag[e] != 0:
                    outside = tag[e] - mark
                    if outside > 0:
                        d += outside
                        lists[at] = e
                        at += 1
                        checksum += e
                    else:
                        parent[e] = p
                        tag[e] = 0
            count, variables = at - low + 1, at
            for q in range(middle, high):
                j = lists[q]
                w = weight[j]
                if w > 0:
                    d += w
                    lists[at] = j
                    at += 1
                    checksum += j
            if d == 0:
                pivots -= weight[i]
                done -= weight[i]
                own += weight[i]
                weight[i] = 0
                elements[i] = -2
                parent[i] = p
            else:
                degree[i] = min(degree[i], d)
                lists[at] = lists[variables]
                lists[variables] = lists[low]
                lists[low] = p
                elements[i] = count
                length[i] = at - low + 1
                bucket = checksum % n
                before[i] = bucket
                after[i] = heads[bucket]
                heads[bucket] = i
        degree[p] = own
        mark = mark + n + 1
        # variables with equal lists are one
        for k in range(begin, free):
            i = lists[k]
            if weight[i] < 0:
                bucket = before[i]
                i = heads[bucket]
                heads[bucket] = -1
                while i >= 0:
                    other = after[i]
                    if other >= 0:
                        for q in range(start[i] + 1, start[i] + length[i]):
                            tag_of = lists[q]
                            spare[tag_of] = mark
                        previous = i
                        while other >= 0:
                            same = 0
                            if length[other] == length[i] and elements[other] == elements[i]:
                                same, q = 1, start[other] + 1
                                end = start[other] + length[other]
                                while q < end:
                                    if spare[lists[q]] != mark:
                                        same, q = 0, end
                                    q += 1
                            if same == 1:
                                weight[i] += weight[other]
                                weight[other] = 0
                                elements[other] = -2
                                parent[other] = i
                                after[previous] = after[other]
                            else:
                                previous = other
                            other = after[other]
                        mark += 1
                    i = after[i]
        # back into the lists of degrees
        at = begin
        for k in range(begin, free):
            i = lists[k]
            w = -weight[i]
            if w > 0:
                weight[i] = w
                d = min(degree[i] + own - w, n - done - w)
                degree[i] = d
                other = first[d]
                if other >= 0:
                    before[other] = i
                after[i] = other
                before[i] = -1
                first[d] = i
                lowest = min(lowest, d)
                lists[at] = i
                at += 1
        weight[p] = 0
        length[p] = at - begin
        degree[p] = own
        free = at
        if length[p] == 0:
            tag[p] = 0
    # the tree of what absorbed what, elements before what is merged, both before their parent; dense columns come last
    for i in range(n):
        heads[i] = -1
    for kind in range(2):
        for k in range(n):
            i = n - 1 - k
            up = parent[i]
            if elements[i] == kind - 2 and up >= 0:
                after[i] = heads[up]
                heads[up] = i
    at = 0
    for i in range(n):
        if elements[i] != -3 and parent[i] < 0:
            depth = 0
            before[0] = i
            while depth >= 0:
                top = before[depth]
                child = heads[top]
                if child >= 0:
                    heads[top] = after[child]
                    depth += 1
                    before[depth] = child
                else:
                    order[at] = top
                    at += 1
                    depth -= 1
    while last_dense >= 0:
        order[at] = last_dense
        at += 1
        last_dense = after[last_dense]
