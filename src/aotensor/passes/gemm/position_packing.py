"""Pack elements at positions into panels: contiguous elements by vectors, also vectors of two contiguous pieces.

X[rows[w] + depths[p]]    →    panels[w div W, p, w mod W], with zeros where the block ends within a panel

The rows of an image are such pieces: most vectors of adjacent window elements are within one row, few span two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, vector
from xdsl.dialects.builtin import IndexType, VectorType
from xdsl.ir import SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i1
from aotensor.passes.gemm.cache_blocks import Form
from aotensor.passes.gemm.pack import BLOCK, transposed
from aotensor.passes.gemm.tile import KernelBuilder, Tile, define


def position(b: KernelBuilder, table: SSAValue, at: Extent) -> Scalar:
    """Load an entry of a table of positions."""
    return b.cast(b.fetch(table, [at], "int64"), "index")


def define_pack_at(tile: Tile, width: int, form: Form) -> func.FuncOp:
    """Define @aot_gemm_at_pack<W>(first, last, X, rows, depths, start, w₀, p₀, live, count, panels).

    It packs elements of X: `live` rows from w₀ on, `count` elements each from p₀ on. first, last: the range of panels
    to pack. start: offset added to all positions.
    """
    index = IndexType()
    panels = memref_type_of(tile.element, [None, None, width])
    behind = 2 + len(form.source)

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> Sequence[Scalar]:
        first, last = (Scalar(x, "index") for x in args[:2])
        source, rows, depths, start = args[2:behind]
        w, p, live, count = (Scalar(x, "index") for x in args[behind : behind + 4])
        lanes = tile.lanes if width % tile.lanes == 0 and tile.lanes > BLOCK else BLOCK
        pack = _PackAt(b, tile, lanes, source, rows, depths, Scalar(start, "index"), args[-1])

        def pack_panel(panel: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            def pack_vector(number: Scalar) -> None:
                at = b.imin(b.imul(number, lanes), width - lanes)  # the last one may overlap
                shift = b.iadd(b.imul(panel, width), at)
                alive = b.index(b.imax(b.imin(b.isub(live, shift), lanes), 0))
                pack.run(_Vector(panel, at, b.iadd(w, shift), alive), p, count)

            b.emit_loop(-(-width // lanes), pack_vector)
            return ()

        b.sweep(first, last, (), pack_panel)
        return ()

    arguments = [index, index, *form.source, *[index] * 4, panels]
    return define(form.symbol(f"pack{width}", tile), tile.dtype, arguments, body)


@dataclass(frozen=True)
class _Vector:
    """One vector of a panel: lanes from `at` on hold the rows from `row` on, `live` of them inside the block."""

    panel: Scalar
    at: Extent
    row: Extent
    live: Scalar


@dataclass(frozen=True)
class _PackAt:
    b: KernelBuilder
    tile: Tile
    lanes: int
    source: SSAValue
    rows: SSAValue
    depths: SSAValue
    start: Scalar
    target: SSAValue

    def run(self, x: _Vector, p: Extent, count: Scalar) -> None:
        """Pack one vector of rows over the whole depth, by the first method that its positions allow."""
        b = self.b
        end = b.isub(b.iadd(x.row, x.live), 1)
        first = self._row(b.imin(x.row, b.imax(end, 0)))
        last = b.isub(self._row(b.imax(end, 0)), b.isub(x.live, 1))

        def lengthen(i: Scalar, found: list[Scalar]) -> Sequence[Scalar]:
            goes_on = b.and_(b.compare("eq", found[0], i), self._is_at(x, i, first))
            return [b.select(goes_on, b.index(b.iadd(i, 1)), found[0])]

        (split,) = b.sweep(0, x.live, [b.index(0)], lengthen)
        (has_two,) = b.sweep(
            split, x.live, [b.constant(True, "bool")], lambda i, found: [b.and_(found[0], self._is_at(x, i, last))]
        )
        is_whole = b.compare("eq", split, b.index(self.lanes))
        b.branch(
            is_whole,
            lambda: self._each(x, p, count, lambda at: b.read(self.source, [b.iadd(at, first)], self.lanes)),
            lambda: self._in_pieces(x, p, count, (first, last), (split, has_two)),
        )

    def _in_pieces(
        self, x: _Vector, p: Extent, count: Scalar, starts: tuple[Extent, Extent], found: tuple[Scalar, Scalar]
    ) -> Sequence[Scalar]:
        b = self.b
        split, has_two = found
        if not self.tile.has_masks:
            return self._by_depth(x, p, count)
        every = VectorType(i1, [self.lanes])
        before, alive = b.first_lanes(split, self.lanes), b.first_lanes(x.live, self.lanes)
        behind = b.emit(arith.XOrIOp(before, alive, every), "raw").ssa

        def both(at: Extent) -> Scalar:
            one = b.read(self.source, [b.iadd(at, starts[0])], self.lanes, before)
            where = [b.index(b.iadd(at, starts[1])).ssa]
            return Scalar(b.emit(vector.MaskedLoadOp(self.source, where, behind, one.ssa), "raw").ssa, b.dtype)

        return b.branch(has_two, lambda: self._each(x, p, count, both), lambda: self._by_depth(x, p, count))

    def _each(self, x: _Vector, p: Extent, count: Scalar, value: Callable[[Extent], Scalar]) -> Sequence[Scalar]:
        b = self.b
        b.emit_loop(count, lambda q: b.write(value(self._depth(b.iadd(p, q))), self.target, [x.panel, q, x.at]))
        return ()

    def _by_depth(self, x: _Vector, p: Extent, count: Scalar) -> Sequence[Scalar]:
        """Pack 4 × 4 blocks if the elements of a row are contiguous along the depth, else single elements."""
        b = self.b
        blocks = b.select(b.compare("eq", x.live, b.index(self.lanes)), b.index(b.ifloordiv(count, BLOCK)), b.index(0))

        def block(number: Scalar) -> None:
            q = b.imul(number, BLOCK)
            where = b.iadd(p, q)
            first = position(b, self.depths, where)
            is_run = b.constant(True, "bool")
            for k in range(1, BLOCK):
                entry = position(b, self.depths, b.iadd(where, k))
                is_run = b.and_(is_run, b.compare("eq", entry, b.index(b.iadd(first, k))))
            b.branch(
                is_run,
                lambda: self._transpose(x, q, b.iadd(self.start, first)),
                lambda: self._elements(x, p, (q, b.iadd(q, BLOCK))),
            )

        b.emit_loop(blocks, block)
        return self._elements(x, p, (b.imul(blocks, BLOCK), count))

    def _transpose(self, x: _Vector, q: Extent, depth: Extent) -> Sequence[Scalar]:
        b = self.b

        def part(number: Scalar) -> None:
            at = b.imul(number, BLOCK)
            first = b.iadd(x.row, at)
            starts = [b.iadd(depth, self._row(b.iadd(first, r))) for r in range(BLOCK)]
            vectors = [b.read(self.source, [start], BLOCK) for start in starts]
            for r, value in enumerate(transposed(b, vectors)):
                b.write(value, self.target, [x.panel, b.iadd(q, r), b.iadd(x.at, at)])

        b.emit_loop(self.lanes // BLOCK, part)
        return ()

    def _elements(self, x: _Vector, p: Extent, depths: tuple[Extent, Extent]) -> Sequence[Scalar]:
        b = self.b

        def at_depth(q: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            at = self._depth(b.iadd(p, q))

            def copy(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                value = b.fetch(self.source, [b.iadd(at, self._row(b.iadd(x.row, i)))], b.dtype)
                b.store(value, self.target, [x.panel, q, b.iadd(x.at, i)])
                return ()

            def clear(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                b.store(b.constant(0.0, b.dtype), self.target, [x.panel, q, b.iadd(x.at, i)])
                return ()

            b.sweep(0, x.live, (), copy)
            b.sweep(x.live, self.lanes, (), clear)
            return ()

        b.sweep(*depths, (), at_depth)
        return ()

    def _row(self, number: Extent) -> Scalar:
        return position(self.b, self.rows, number)

    def _depth(self, number: Extent) -> Extent:
        return self.b.iadd(self.start, position(self.b, self.depths, number))

    def _is_at(self, x: _Vector, i: Scalar, start: Extent) -> Scalar:
        """Emit the test whether row i of a vector is at position `start` + i."""
        b = self.b
        return b.compare("eq", self._row(b.iadd(x.row, i)), b.index(b.iadd(start, i)))
