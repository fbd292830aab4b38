"""Kernels of patterns of compressed matrices: transpose, positions of entries, union and others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from aotensor.kernels.language import Bool, Index, Indices, alloc, rolled, serial
from aotensor.kernels.source import Kernel


class Pattern(NamedTuple):
    """The pattern of a compressed matrix. slices, entries: their numbers."""

    indices: Indices
    indptr: Indices
    slices: Index
    entries: Index


def erase(marks: Indices, n: Index) -> None:
    """Write −1 to n marks."""
    for j in range(n):
        marks[j] = -1


def transpose(p: Pattern, minor: Index, permutation: Indices, slices: Indices, starts: Indices) -> None:
    """Transpose by a counting sort: count the entries of each minor index, add the counts up, place the entries.

    starts: the indptr of the transposed matrix, minor + 1. slices: its indices. permutation: which entry each one is.
    """
    following = alloc(starts, minor)
    for j in range(minor + 1):
        starts[j] = 0
    for e in serial(p.entries):
        starts[p.indices[e] + 1] += 1
    total = 0
    for j in serial(minor):
        following[j] = total
        total += starts[j + 1]
        starts[j + 1] = total
    for i in rolled(p.slices):
        for e in rolled(p.indptr[i], p.indptr[i + 1]):
            j = p.indices[e]
            at = following[j]
            following[j] = at + 1
            permutation[at] = e
            slices[at] = i


def are_few(p: Pattern, q: Pattern, minor: Index) -> Bool:
    """Is comparing all pairs of entries in one slice faster than writing a note for each minor index?"""
    pairs = 0
    for i in serial(p.slices):
        pairs = min(pairs + 8 * (p.indptr[i + 1] - p.indptr[i]) * (q.indptr[i + 1] - q.indptr[i]), minor + 1)
    return pairs <= minor


def place_in_slice(q: Pattern, i: Index, j: Index) -> Index:
    """The position of minor index j in slice i of q, or −1."""
    at = -1
    for e in serial(q.indptr[i], q.indptr[i + 1]):
        at = e if q.indices[e] == j else at
    return at


def positions(p: Pattern, q: Pattern, minor: Index, found: Indices) -> None:
    """For each entry of p, its position in q, or −1.

    Each slice of q notes its entries by their minor index. Notes of former slices are positions before the first entry
    of this one, so they need not be cleared. Few entries, as of a matrix with a billion columns, are compared instead.
    """
    noted = alloc(found, minor)
    if are_few(p, q, minor):
        for i in serial(p.slices):
            for e in serial(p.indptr[i], p.indptr[i + 1]):
                found[e] = place_in_slice(q, i, p.indices[e])
    else:
        erase(noted, minor)
        for i in serial(p.slices):
            start = q.indptr[i]
            for e in serial(start, q.indptr[i + 1]):
                noted[q.indices[e]] = e
            for e in range(p.indptr[i], p.indptr[i + 1]):
                at = noted[p.indices[e]]
                found[e] = at if at >= start else -1


def intersection(
    p: Pattern, q: Pattern, minor: Index, indices: Indices, indptr: Indices, in_p: Indices, in_q: Indices
) -> None:
    """The entries of p that q also has, in order, and their positions in both. Notes are those of `positions`.

    The loops are branch-free: an entry that q lacks is written as well, and overwritten by the next one.
    """
    noted = alloc(indptr, minor)
    n = 0
    if are_few(p, q, minor):
        for i in serial(p.slices):
            indptr[i] = n
            for e in serial(p.indptr[i], p.indptr[i + 1]):
                j = p.indices[e]
                at = place_in_slice(q, i, j)
                indices[n] = j
                in_p[n] = e
                in_q[n] = at
                n += int(at >= 0)
    else:
        erase(noted, minor)
        for i in serial(p.slices):
            indptr[i] = n
            start = q.indptr[i]
            for e in serial(start, q.indptr[i + 1]):
                noted[q.indices[e]] = e
            for e in serial(p.indptr[i], p.indptr[i + 1]):
                j = p.indices[e]
                at = noted[j]
                indices[n] = j
                in_p[n] = e
                in_q[n] = at
                n += int(at >= start)
    indptr[p.slices] = n


def union(
    p: Pattern, q: Pattern, indices: Indices, indptr: Indices, slot_p: Indices, slot_q: Indices, in_p: Indices,
    in_q: Indices,
) -> None:  # fmt: skip
    """Merge pairs of sorted slices. slot: where an entry of p or q goes. in_p, in_q: which entry one is, or −1.

    The smaller index advances, or both if they are equal, without branches: both entries are written in each step, and
    the next step overwrites the one that has not advanced.
    """
    n = 0
    for i in serial(p.slices):
        indptr[i] = n
        e, end_p = p.indptr[i], p.indptr[i + 1]
        f, end_q = q.indptr[i], q.indptr[i + 1]
        while e < end_p and f < end_q:
            left, right = p.indices[e], q.indices[f]
            indices[n] = min(left, right)
            slot_p[e] = n
            slot_q[f] = n
            in_p[n] = e if left <= right else -1
            in_q[n] = f if right <= left else -1
            e += int(left <= right)
            f += int(right <= left)
            n += 1
        for k in serial(e, end_p):
            indices[n] = p.indices[k]
            slot_p[k] = n
            in_p[n] = k
            in_q[n] = -1
            n += 1
        for k in serial(f, end_q):
            indices[n] = q.indices[k]
            slot_q[k] = n
            in_q[n] = k
            in_p[n] = -1
            n += 1
    indptr[p.slices] = n


def product_room(p: Pattern, lengths: Indices, minor: Index, room: Indices) -> None:
    """An upper bound on the entries of p·q: Σ over rows of min(Σ lengths of the rows of q that contribute, minor).

    lengths: the indptr of q. room: one element, the result.
    """
    total = 0
    for i in rolled(p.slices):
        terms = 0
        for e in range(p.indptr[i], p.indptr[i + 1]):
            k = p.indices[e]
            terms += lengths[k + 1] - lengths[k]
        total += min(terms, minor)
    room[0] = total


KERNELS: Final[Mapping[str, Kernel]] = {
    x.__name__: x for x in (transpose, positions, intersection, union, product_room)
}
"""Kind of `aot.pattern` → its kernel: of one or two patterns, further vectors, extents and results, in this order."""
