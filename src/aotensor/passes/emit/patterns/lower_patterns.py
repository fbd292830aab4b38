"""Lower the kinds of `aot.pattern` that read indices only: transpose, positions, intersection and union."""

from __future__ import annotations

from collections.abc import Sequence

from aotensor.ir.dialect_sparse import PatternOp
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.patterns.index_vectors import IndexVector, Pattern
from aotensor.passes.emit.patterns.lower_block_product import lower_block_product, lower_transposed_product
from aotensor.passes.emit.patterns.lower_product_pattern import lower_product_pattern, lower_product_room
from aotensor.passes.emit.patterns.lower_product_rows import lower_product_count, lower_product_rows
from aotensor.passes.emit.patterns.lower_product_values import lower_product_values
from aotensor.passes.emit.shape_cache import is_wanted
from aotensor.passes.target import Target


def lower_pattern(b: LoopBuilder, buffers: Buffers, op: PatternOp, target: Target) -> None:
    """Lower one `aot.pattern` operation by its kind."""
    match op.kind.data:
        case "transpose":
            lower_transpose(b, buffers, op)
        case "positions":
            lower_positions(b, buffers, op)
        case "intersection":
            lower_intersection(b, buffers, op)
        case "union":
            lower_union(b, buffers, op)
        case "product_room":
            lower_product_room(b, buffers, op)
        case "product":
            lower_product_pattern(b, buffers, op, target)
        case "product_count":
            lower_product_count(b, buffers, op, target)
        case "product_rows":
            lower_product_rows(b, buffers, op, target)
        case "block_product":
            lower_block_product(b, buffers, op, target)
        case "block_product_turned":
            lower_transposed_product(b, buffers, op, target)
        case _:
            lower_product_values(b, buffers, op, target)


def lower_transpose(b: LoopBuilder, buffers: Buffers, op: PatternOp) -> None:
    """Lower `transpose` by a counting sort: count entries per minor index, prefix-sum the counts, place the entries.

    for p: starts[indices[p] + 1] += 1
    for j: starts[j + 1] += starts[j];  next[j] = starts[j]
    for i: for p of slice i:  at = next[indices[p]]++;  permutation[at] = p;  slices[at] = i
    """
    p = Pattern(b, buffers, op.arguments[0], op.arguments[1])
    (minor,) = (buffers.scalar(n) for n in op.extents)
    permutation, slices, starts = (IndexVector(b, buffers.buffer(x)) for x in op.tensors)
    b.loop(0, b.iadd(minor, 1), (), lambda j, _: starts.put(b.index(0), j))

    def count(e: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
        after = b.iadd(p.indices[e], 1)
        return starts.put(b.iadd(starts[after], 1), after)

    b.loop(0, p.count, (), count, is_vectorisable=False)
    following = IndexVector.allocated(b, starts.dtype, minor)

    def add_up(j: Scalar, carried: list[Scalar]) -> list[Scalar]:
        following.put(carried[0], j)
        total = b.add(carried[0], starts[b.iadd(j, 1)])
        starts.put(total, b.iadd(j, 1))
        return [total]

    b.loop(0, minor, [b.index(0)], add_up, is_vectorisable=False)

    def move(i: Scalar, e: Scalar) -> None:
        j = p.indices[e]
        at = following[j]
        following.put(b.add(at, b.index(1)), j)
        permutation.put(e, at)
        slices.put(i, at)

    p.each_entry(move)


def lower_positions(b: LoopBuilder, buffers: Buffers, op: PatternOp) -> None:
    """Lower `positions`: for each entry of p, its position in q."""
    found = IndexVector(b, buffers.buffer(op.tensors[0]))
    search = _Search(b, buffers, op, found.dtype)

    def one_slice(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
        def look_up(e: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            is_there, at = search.found(e)
            return found.put(b.select(is_there, at, b.index(-1)), e)

        search.note(i)
        b.loop(*search.p.bounds(i), (), look_up)
        return ()

    b.loop(0, search.p.slices, (), one_slice, is_vectorisable=False)


def lower_intersection(b: LoopBuilder, buffers: Buffers, op: PatternOp) -> None:
    """Lower `intersection`: the entries of p that q also has, in order. The loops are branch-free.

    An entry that q lacks is written as well, and overwritten by the next one: there is room for all entries of p.
    """
    indices, _, in_p, in_q = _wanted(b, buffers, op)
    indptr = IndexVector(b, buffers.buffer(op.tensors[1]))
    search = _Search(b, buffers, op, indptr.dtype)

    def one_slice(i: Scalar, carried: list[Scalar]) -> list[Scalar]:
        def entry(e: Scalar, state: list[Scalar]) -> list[Scalar]:
            (n,) = state
            is_there, at = search.found(e)
            for vector, value in ((indices, search.p.indices[e]), (in_p, e), (in_q, at)):
                _put(vector, value, n)
            return [b.add(n, b.cast(is_there, "index"))]

        indptr.put(carried[0], i)
        search.note(i)
        return b.loop(*search.p.bounds(i), carried, entry, is_vectorisable=False)

    (total,) = b.loop(0, search.p.slices, [b.index(0)], one_slice, is_vectorisable=False)
    indptr.put(total, b.index(search.p.slices))


def _wanted(b: LoopBuilder, buffers: Buffers, op: PatternOp) -> list[IndexVector | None]:
    """The index vectors of a pattern op's results; None for unused ones."""
    return [IndexVector(b, buffers.buffer(x)) if is_wanted(x) else None for x in op.tensors]


def _put(vector: IndexVector | None, value: Scalar, at: Scalar) -> None:
    if vector is not None:
        vector.put(value, at)


class _Search:
    """Membership test: each slice of q records its entries in a workspace, where entries of p are looked up.

    Records of former slices are positions before the first entry of this slice, so the workspace need not be
    cleared.
    """

    def __init__(self, b: LoopBuilder, buffers: Buffers, op: PatternOp, dtype: str) -> None:
        self.b = b
        self.p, self.q = (Pattern(b, buffers, *op.arguments[k : k + 2]) for k in (0, 2))
        (minor,) = (buffers.scalar(n) for n in op.extents)
        self.noted = IndexVector.allocated(b, dtype, minor)
        b.loop(0, minor, (), lambda j, _: self.noted.put(b.index(-1), j))
        self.start: Scalar = b.index(0)

    def note(self, i: Scalar) -> None:
        """Record the entries of slice i of q in the workspace."""
        self.start, stop = self.q.bounds(i)
        self.b.loop(self.start, stop, (), lambda e, _: self.noted.put(e, self.q.indices[e]), is_vectorisable=False)

    def found(self, e: Scalar) -> tuple[Scalar, Scalar]:
        """(found, position): does the last recorded slice of q have an entry at the coordinates of entry e of p?"""
        at = self.noted[self.p.indices[e]]
        return self.b.compare("ge", at, self.start), at


def lower_union(b: LoopBuilder, buffers: Buffers, op: PatternOp) -> None:
    """Lower `union`: merge pairs of sorted slices. The smaller index advances, or both if they are equal; branch-free.

    Both entries are written in each step; the next step overwrites the one that has not advanced.
    """
    p, q = (Pattern(b, buffers, *op.arguments[k : k + 2]) for k in (0, 2))
    indices, _, slot_p, slot_q, in_p, in_q = _wanted(b, buffers, op)
    indptr = IndexVector(b, buffers.buffer(op.tensors[1]))
    absent = b.index(-1)

    def one_slice(i: Scalar, carried: list[Scalar]) -> list[Scalar]:
        indptr.put(carried[0], i)
        (start_p, stop_p), (start_q, stop_q) = p.bounds(i), q.bounds(i)

        def both_left(state: list[Scalar]) -> Scalar:
            return b.and_(b.compare("lt", state[0], stop_p), b.compare("lt", state[1], stop_q))

        def merge(state: list[Scalar]) -> list[Scalar]:
            e, f, n = state
            left, right = p.indices[e], q.indices[f]
            _put(indices, b.minimum(left, right), n)
            _put(slot_p, n, e)
            _put(slot_q, n, f)
            goes_on = [b.compare("le", x, y) for x, y in ((left, right), (right, left))]
            for positions, goes, own in zip((in_p, in_q), goes_on, (e, f), strict=True):
                _put(positions, b.select(goes, own, absent), n)
            steps = (b.cast(goes, "index") for goes in goes_on)
            return [b.add(x, step) for x, step in zip((e, f, n), (*steps, b.index(1)), strict=True)]

        def rest(
            own: Pattern, vectors: Sequence[IndexVector | None], bounds: tuple[Scalar, Scalar], n: Scalar
        ) -> Scalar:
            """Append the remaining entries of one matrix.

            vectors: its slots, its positions, the other matrix's positions; None for an unused one.
            """
            slots, positions, others = vectors

            def entry(at: Scalar, state: list[Scalar]) -> list[Scalar]:
                _put(indices, own.indices[at], state[0])
                _put(slots, state[0], at)
                _put(positions, at, state[0])
                _put(others, absent, state[0])
                return [b.add(state[0], b.index(1))]

            return b.loop(*bounds, [n], entry, is_vectorisable=False)[0]

        e, f, n = b.loop_while([start_p, start_q, carried[0]], both_left, merge)
        n = rest(p, (slot_p, in_p, in_q), (e, stop_p), n)
        return [rest(q, (slot_q, in_q, in_p), (f, stop_q), n)]

    (total,) = b.loop(0, p.slices, [b.index(0)], one_slice, is_vectorisable=False)
    indptr.put(total, b.index(p.slices))
