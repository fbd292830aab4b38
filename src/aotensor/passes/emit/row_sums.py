"""Sums over the entries of several slices at once, one per vector lane, by one of three algorithms.

at most `terms` entries, equally many in each slice: a scalar loop over entries for each slice

at most `terms` entries: compute all terms as if of one slice, then one vector per slice
  for p = indptr[i] … indptr[i + 8] by 8:  t[p …] = data[p …]·x[indices[p …]]
  v = t[indptr[i] …] + t[indptr[i] + 8 …]                                   under masks
  while (p += 8) < indptr[i + 1]: v += …                                    (rare)

otherwise, for each slice: a vector of partial sums, under a mask
  p = indptr[i]:  v = data[p …]·x[indices[p …]]
  while (p += 8) < indptr[i + 1]: v += …                                    (rare)

At the end the lanes of the vectors are added in pairs: y[i …] = …

a0 a1 a2 a3     a0+a1 b0+b1 a2+a3 b2+b3     a b
b0 b1 b2 b3  →                           →           (here for two slices of four lanes)

No branch of the second algorithm depends on the length of a single slice, so none is mispredicted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, VectorType, i1, i64
from xdsl.ir import Attribute, SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.nest.loops import EntriesOp
from aotensor.ir.scalar_builder import NO_FAST_MATH, Scalar
from aotensor.ir.types import f64
from aotensor.passes.emit.frame import Frame, Lanes

if TYPE_CHECKING:
    from aotensor.passes.emit.tree import TreeEmitter

_VECTORS: Final = 2
"""Vectors of terms per slice that are always added."""


def emit_row_sums(tree: TreeEmitter, loop: EntriesOp, frame: Frame, sums: Sequence[SSAValue], count: int) -> None:
    """Emit the loops over the entries of `count` slices; afterwards the registers `sums` hold vectors of their sums."""
    b, rows = tree.b, _RowSums(tree, loop, frame, sums, count)
    for x, total in zip(sums, rows.totals(), strict=True):
        holder = frame.holder_of(x)
        start = holder.registers[x]
        assert start is not None
        begin = b.emit(vector.BroadcastOp(start, rows.kind), "raw")
        with b.using(NO_FAST_MATH):
            holder.registers[x] = (begin + total).ssa


class _RowSums:
    """Emits the sums of `count` slices, one slice per lane. ends: the start of each slice, and the last end."""

    def __init__(self, tree: TreeEmitter, loop: EntriesOp, frame: Frame, sums: Sequence[SSAValue], count: int) -> None:
        self.tree, self.loop, self.frame, self.sums, self.count = tree, loop, frame, sums, count
        self.b = b = tree.b
        self.first, self.indptr = Scalar(frame.value(loop.slice), "index"), tree.memory.buffer(loop.indptr)
        self.slices = [self.first + r if r else self.first for r in range(count)]
        last = self.first + count
        self.ends = [b.position(self.indptr, at) for at in (*self.slices, last)]
        self.kind: VectorType[Attribute] = VectorType(f64, [count])
        self.nothing = [Scalar(b.zero_vector(self.kind), "raw")] * len(sums)

    def totals(self) -> list[Scalar]:
        """For each summed register, a vector that holds the sum of each slice in one lane."""
        b, most = self.b, self.loop.schedule.terms
        if most == 1:
            return self._by_slices()
        entries = self.ends[-1] - self.ends[0]

        def few() -> list[Scalar]:
            return b.branch(self._have_equal_lengths(), self._one_by_one, lambda: self._terms_first(entries, most))

        return b.branch(entries <= most, few, self._by_slices)

    def _have_equal_lengths(self) -> Scalar:
        """Emit the test whether all slices have equally many entries."""
        b = self.b
        starts, ends = (b.load_vector(self.indptr, [at], self.count, None) for at in self.slices[:2])
        lengths = ends - starts
        assert isinstance(lengths.ssa.type, VectorType)
        element = lengths.ssa.type.element_type
        one = b.emit(vector.ExtractOp(lengths.ssa, [0], element), "raw").ssa
        differences = lengths ^ b.emit(vector.BroadcastOp(one, lengths.ssa.type), "raw")
        properties: dict[str, Attribute] = {"kind": vector.CombiningKindAttr(vector.CombiningKindFlag.OR)}
        found = vector.ReductionOp.create(operands=[differences.ssa], result_types=[element], properties=properties)
        return b.compare("eq", b.emit(found, "raw"), b.zero(element))

    # --- the three ways ----------------------------------------------------------------------------------------------

    def _one_by_one(self) -> list[Scalar]:
        """Emit the first algorithm: a scalar loop over entries for each slice."""

        def of(slice: Scalar, ends: tuple[Scalar, Scalar]) -> list[Scalar]:
            def step(p: Scalar, carried: list[Scalar]) -> list[Scalar]:
                inner = Frame(self.frame, {self.loop.slice: slice.ssa, self.loop.counter: p.ssa})
                return self._body(inner, carried)

            start = [self.b.zero(f64)] * len(self.sums)
            return self.b.loop(*ends, start, step, is_vectorisable=False, is_unrolled=False)

        rows = [of(slice, ends) for slice, ends in zip(self.slices, pairwise(self.ends), strict=True)]
        return [self._vector_of(numbers) for numbers in zip(*rows, strict=True)]

    def _by_slices(self) -> list[Scalar]:
        """Emit the third algorithm: one vector of entries of a slice at a time."""

        def of(low: Scalar, high: Scalar) -> list[Scalar]:
            def step(p: Scalar, carried: list[Scalar]) -> list[Scalar]:
                return self._entries(p, carried, self._mask(high - p))

            return self._rest(low + self.count, high, step(low, self.nothing), step)

        return self._reduce_vectors([of(low, high) for low, high in pairwise(self.ends)])

    def _terms_first(self, entries: Scalar, most: int) -> list[Scalar]:
        """Emit the second algorithm: store all terms in a buffer, then add the terms of each slice."""
        b, low, high = self.b, self.ends[0], self.ends[-1]
        terms = [b.allocate(f64, [most + self.count]) for _ in self.sums]

        def make(p: Scalar, mask: SSAValue | None) -> None:
            for buffer, x in zip(terms, self._entries(p, self.nothing, mask), strict=True):
                b.store_vector(x.ssa, buffer, [p - low], None)

        def whole(p: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            make(p, None)
            return ()

        vectors = entries // self.count * self.count
        b.loop(low, low + vectors, (), whole, self.count, is_vectorisable=False, is_unrolled=False)
        rest = b.index(low + vectors)
        make(rest, self._mask(high - rest))

        def of(start: Scalar, end: Scalar) -> list[Scalar]:
            def step(p: Scalar, carried: list[Scalar]) -> list[Scalar]:
                mask, at = self._mask(end - p), p - low
                found = (b.load_vector(buffer, [at], self.count, mask) for buffer in terms)
                with b.using(NO_FAST_MATH):
                    return [old + x for old, x in zip(carried, found, strict=True)]

            total = self.nothing
            for k in range(_VECTORS):
                total = step(b.index(start + k * self.count), total)
            return self._rest(start + _VECTORS * self.count, end, total, step)

        return self._reduce_vectors([of(start, end) for start, end in pairwise(self.ends)])

    # --- parts of them -----------------------------------------------------------------------------------------------

    def _body(self, inner: Frame, carried: Sequence[Scalar]) -> list[Scalar]:
        """Emit the statements of the loop body with the carried sums; return the updated sums."""
        inner.registers.update((x, value.ssa) for x, value in zip(self.sums, carried, strict=True))
        self.tree.emit(self.loop.body.block.ops, [inner])
        return [Scalar(inner.registers[x], "raw") for x in self.sums]  # type: ignore[arg-type]

    def _entries(self, p: Scalar, carried: Sequence[Scalar], mask: SSAValue | None) -> list[Scalar]:
        """Emit the terms of a vector of entries from p on, added to the carried vectors of sums; return these."""
        counter = self.loop.counter
        return self._body(self.frame.inside({counter: p.ssa}, Lanes(counter, self.count, mask)), carried)

    def _rest(
        self,
        start: Extent,
        end: Scalar,
        begun: Sequence[Scalar],
        step: Callable[[Scalar, list[Scalar]], Sequence[Scalar]],
    ) -> list[Scalar]:
        """Emit the loop over the entries after the first vector of a slice; few slices have any."""
        return self.b.loop(start, end, begun, step, self.count, is_vectorisable=False, is_unrolled=False)

    def _mask(self, n: Scalar) -> SSAValue:
        """The mask of the first n lanes."""
        return self.b.emit(vector.CreateMaskOp([n.ssa], VectorType(i1, [self.count])), "raw").ssa

    def _reduce_vectors(self, rows: Sequence[Sequence[Scalar]]) -> list[Scalar]:
        """For each sum, reduce the vectors of all slices (`rows`) to one vector that holds one sum per slice."""
        found = (_add_lanes(self.b, [x.ssa for x in vectors], self.count) for vectors in zip(*rows, strict=True))
        return [Scalar(x, "raw") for x in found]

    def _vector_of(self, numbers: Sequence[Scalar]) -> Scalar:
        """Build a vector with the given numbers in its lanes."""
        made = self.b.zero_vector(self.kind)
        for lane, x in enumerate(numbers):
            made = self.b.emit(vector.InsertOp(x.ssa, made, [lane]), "raw").ssa
        return Scalar(made, "raw")


def _add_lanes(b: LoopBuilder, rows: list[SSAValue], n: int) -> SSAValue:
    """Reduce each vector of `rows`; lane k of the result is the sum over the lanes of vector k."""
    neighbours = [[k + odd + n * second for k in range(0, n, 2) for second in (0, 1)] for odd in (0, 1)]
    halves = [[k + j for k in range(start, 2 * n, 4) for j in (0, 1)] for start in (0, 2)]
    orders = neighbours
    while len(rows) > 1:
        rows = [_add_shuffled(b, x, y, orders, n) for x, y in zip(rows[::2], rows[1::2], strict=True)]
        orders = halves
    return rows[0]


def _add_shuffled(b: LoopBuilder, x: SSAValue, y: SSAValue, orders: Sequence[Sequence[int]], n: int) -> SSAValue:
    kind = VectorType(f64, [n])
    even, odd = (
        b.emit(vector.ShuffleOp(x, y, DenseArrayBase.from_list(i64, order), result_type=kind), "raw")
        for order in orders
    )
    with b.using(NO_FAST_MATH):
        return (even + odd).ssa
