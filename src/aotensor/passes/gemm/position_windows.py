"""Windows of an image are read where they are, not packed, if their terms are neighbours.

    X[columns[j + s] + depths[p]], s < lanes     one vector, or two pieces of adjacent elements under masks

Packing reads an element of an image for each term of a window and stores it, for tiles that read it again. The terms of
a row of a window are neighbours: a tile that reads the image finds most elements in the first level cache. Terms that
are further apart, such as those of filters of one element, would be in a page of memory each: they are packed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from xdsl.dialects import vector
from xdsl.ir import SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.gemm.tile import KernelBuilder, Tile, accumulate


def position(b: KernelBuilder, table: SSAValue, at: Extent) -> Scalar:
    """Load an entry of a table of positions."""
    return b.cast(b.fetch(table, [at], "int64"), "index")


def follows(b: KernelBuilder, table: SSAValue, at: Extent, place: Extent) -> Scalar:
    """Emit 1 if an entry of a table of positions is `place`, else 0."""
    is_there = b.compare("eq", b.fetch(table, [at], "int64"), b.cast(b.index(place), "int64"))
    return b.select(is_there, b.constant(1, "int64"), b.constant(0, "int64"))


def is_run(b: KernelBuilder, table: SSAValue, start: Extent, count: Extent) -> Scalar:
    """Emit the test whether `count` ≥ 1 positions from number `start` on are contiguous."""
    return b.compare("eq", _run_length(b, table, start, count), b.index(count))


def _run_length(b: KernelBuilder, table: SSAValue, start: Extent, count: Extent) -> Scalar:
    """Emit the number of entries among `count` ≥ 1 that are as far behind the first one as their numbers are."""
    first = position(b, table, start)
    (found,) = b.loop(
        0, count, [b.constant(0, "int64")],
        lambda i, found: [found[0] + follows(b, table, start + i, first + i)],
    )  # fmt: skip
    return b.cast(found, "index")


@dataclass(frozen=True)
class Pieces:
    """Two pieces of contiguous positions that consecutive entries of a table consist of.

    The first `split` entries are first, first + 1, …; entry i behind them is last + i. is_known: do they consist of
    these?
    """

    first: Scalar
    last: Scalar
    split: Scalar
    is_known: Scalar

    @staticmethod
    def of(b: KernelBuilder, table: SSAValue, start: Extent, count: Extent) -> Pieces:
        """Emit the search for the pieces of the entries from `start` on. count: at least 1"""
        first = position(b, table, start)
        end = position(b, table, start + (count - 1))
        last = b.index(end - (count - 1))
        split = _run_length(b, table, start, count)

        def note(i: Scalar, found: list[Scalar]) -> Sequence[Scalar]:
            origin = b.select(i < split, first, last)
            return [found[0] + follows(b, table, start + i, origin + i)]

        (placed,) = b.loop(0, count, [b.constant(0, "int64")], note)
        return Pieces(first, last, split, b.compare("eq", b.cast(placed, "index"), b.index(count)))

    def masks(self, b: KernelBuilder, live: Extent, lanes: int) -> tuple[SSAValue, SSAValue]:
        """The lanes of the first piece, and those of the second one, of `live` lanes."""
        before, alive = b.first_lanes(b.imin(self.split, live), lanes), b.first_lanes(live, lanes)
        return before, (Scalar(before, "raw") ^ Scalar(alive, "raw")).ssa

    def load(
        self, b: KernelBuilder, source: SSAValue, at: Extent, lanes: int, masks: tuple[SSAValue, SSAValue]
    ) -> Scalar:
        """Load both pieces under their masks.   at: a distance that is added to all positions"""
        one = b.read(source, [at + self.first], lanes, masks[0])
        where = [b.index(at + self.last).ssa]
        return Scalar(b.emit(vector.MaskedLoadOp(source, where, masks[1], one.ssa), "raw").ssa, b.dtype)


@dataclass(frozen=True)
class Windows:
    """The windows of a tile: columns of B, described by the form's arguments, and `count` terms from `term` on.

    is_direct: can tiles read them? is_whole: is each vector one piece?
    """

    source: SSAValue
    depths: SSAValue
    start: Scalar
    term: Extent
    vectors: Sequence[Pieces]
    is_direct: Scalar
    is_whole: Scalar

    @staticmethod
    def of(
        b: KernelBuilder, tile: Tile, operand: Sequence[SSAValue], column: Extent, term: Extent, count: Extent
    ) -> Windows:
        """Emit the test of the columns from `column` on.   operand: X, positions of columns and depths, start"""
        x, columns, depths, start = operand
        is_full = b.index(b.extent_of(columns, 0) - column) >= tile.columns
        no, nowhere = b.constant(False, "bool"), b.index(0)

        def search() -> Sequence[Scalar]:
            vectors = [Pieces.of(b, columns, column + v * tile.lanes, tile.lanes) for v in range(tile.vectors)]
            is_whole = is_known = b.constant(True, "bool")
            for one in vectors:
                is_whole = is_whole & b.compare("eq", one.split, b.index(tile.lanes))
                is_known = is_known & one.is_known
            of_vectors = [n for one in vectors for n in (one.first, one.last, one.split)]
            return [is_whole, is_known if tile.has_cheap_masks else is_whole, *of_vectors]

        is_whole, is_direct, *found = b.branch(
            is_full & _are_neighbours(b, tile, depths, term, count),
            search,
            lambda: [no, no, *[nowhere] * (3 * tile.vectors)],
        )
        of_vectors = zip(found[::3], found[1::3], found[2::3], strict=True)
        vectors = [Pieces(first, last, split, is_direct) for first, last, split in of_vectors]
        return Windows(x, depths, Scalar(start, "index"), term, vectors, is_direct, is_whole)

    def accumulate(
        self, b: KernelBuilder, tile: Tile, count: Extent, a: Callable[[Scalar, int], Scalar]
    ) -> list[Scalar]:
        """Emit the sums of a tile of direct windows.   a(p, r): elements of A"""

        def at(p: Scalar) -> Extent:
            return self.start + position(b, self.depths, self.term + p)

        def whole(p: Scalar, v: int) -> Scalar:
            return b.read(self.source, [at(p) + self.vectors[v].first], tile.lanes)

        def in_pieces() -> list[Scalar]:
            masks = [one.masks(b, tile.lanes, tile.lanes) for one in self.vectors]
            return accumulate(
                b, tile, count, a,
                lambda p, v: self.vectors[v].load(b, self.source, at(p), tile.lanes, masks[v]),
            )  # fmt: skip

        if not tile.has_cheap_masks:
            return accumulate(b, tile, count, a, whole)
        return b.branch(self.is_whole, lambda: accumulate(b, tile, count, a, whole), in_pieces)


def _are_neighbours(b: KernelBuilder, tile: Tile, depths: SSAValue, term: Extent, count: Extent) -> Scalar:
    """Emit the test whether two of the first three terms are less than a vector apart.

    With a stride of 2 these are the first and the third one, as elements are ordered by remainders. Terms of the
    gradient by the input are in descending order.
    """

    def some() -> Sequence[Scalar]:
        places = [position(b, depths, term + n) for n in range(3)]
        found = b.constant(False, "bool")
        for before, after in combinations(places, 2):
            step = b.index(b.imax(after - before, before - after))
            is_near = (step >= 1) & (step < tile.lanes)
            found = found | is_near
        return [found]

    (found,) = b.branch(b.index(count) >= 3, some, lambda: [b.constant(False, "bool")])
    return found
