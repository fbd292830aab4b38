"""Pack elements at positions into panels: contiguous elements by vectors, also vectors of two contiguous pieces.

X[rows[w] + depths[p]]    →    panels[w div W, p, w mod W], with zeros where the block ends within a panel

The rows of an image are such pieces: most vectors of adjacent window elements are within one row, few span two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.gemm.cache_blocks import Form
from aotensor.passes.gemm.pack import BLOCK, transposed
from aotensor.passes.gemm.position_windows import Pieces, Windows, position
from aotensor.passes.gemm.tile import KernelBuilder, Tile, define

_AHEAD: Final = 2
"""Vectors of a row between the one that is packed and the one whose elements are prefetched."""


def define_pack_at(tile: Tile, width: int, form: Form, reads_windows: bool) -> func.FuncOp:
    """Define @aot_gemm_at_pack<W>(first, last, X, rows, depths, start, w₀, p₀, live, count, panels).

    It packs elements of X: `live` rows from w₀ on, `count` elements each from p₀ on. first, last: the range of panels
    to pack. start: offset added to all positions. reads_windows: do panels of B stay empty that tiles read in place?
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
            if width != tile.columns or not reads_windows:
                return pack_vectors(panel)
            windows = Windows.of(b, tile, (source, rows, depths, start), w + panel * width, p, count)
            return b.branch(windows.is_direct, lambda: (), lambda: pack_vectors(panel))

        def pack_vectors(panel: Scalar) -> Sequence[Scalar]:
            def pack_vector(number: Scalar) -> None:
                at = b.imin(number * lanes, width - lanes)  # the last one may overlap
                shift = panel * width + at
                alive = b.index(b.imax(b.imin(live - shift, lanes), 0))
                pack.run(_Vector(panel, at, w + shift, alive), p, count)

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
        start = b.imin(x.row, b.imax(b.extent_of(self.rows, 0) - 1, 0))
        pieces = Pieces.of(b, self.rows, start, b.imax(x.live, 1))
        b.branch(
            b.compare("eq", pieces.split, b.index(self.lanes)),
            lambda: self._each(x, p, count, pieces, lambda at: b.read(self.source, [at + pieces.first], self.lanes)),
            lambda: self._in_pieces(x, p, count, pieces),
        )

    def _in_pieces(self, x: _Vector, p: Extent, count: Scalar, pieces: Pieces) -> Sequence[Scalar]:
        b = self.b
        if not self.tile.has_masks:
            return self._by_depth(x, p, count)
        masks = pieces.masks(b, x.live, self.lanes)
        return b.branch(
            pieces.is_known,
            lambda: self._each(x, p, count, pieces, lambda at: pieces.load(b, self.source, at, self.lanes, masks)),
            lambda: self._by_depth(x, p, count),
        )

    def _each(
        self, x: _Vector, p: Extent, count: Scalar, pieces: Pieces, value: Callable[[Extent], Scalar]
    ) -> Sequence[Scalar]:
        b = self.b

        def copy(q: Scalar) -> None:
            at = self._depth(p + q)
            b.prefetch(self.source, [at + (pieces.first + _AHEAD * self.lanes)])
            b.write(value(at), self.target, [x.panel, q, x.at])

        b.emit_loop(count, copy)
        return ()

    def _by_depth(self, x: _Vector, p: Extent, count: Scalar) -> Sequence[Scalar]:
        """Pack 4 × 4 blocks if the elements of a row are contiguous along the depth, else single elements."""
        b = self.b
        blocks = b.select(b.compare("eq", x.live, b.index(self.lanes)), b.index(count // BLOCK), b.index(0))

        def block(number: Scalar) -> None:
            q = number * BLOCK
            where = p + q
            first = position(b, self.depths, where)
            is_run = b.constant(True, "bool")
            for k in range(1, BLOCK):
                entry = position(b, self.depths, where + k)
                is_run &= b.compare("eq", entry, b.index(first + k))
            b.branch(
                is_run,
                lambda: self._transpose(x, q, self.start + first),
                lambda: self._elements(x, p, (q, q + BLOCK)),
            )

        b.emit_loop(blocks, block)
        return self._elements(x, p, (blocks * BLOCK, count))

    def _transpose(self, x: _Vector, q: Extent, depth: Extent) -> Sequence[Scalar]:
        b = self.b

        def part(number: Scalar) -> None:
            at = number * BLOCK
            first = x.row + at
            starts = [depth + self._row(first + r) for r in range(BLOCK)]
            vectors = [b.read(self.source, [start], BLOCK) for start in starts]
            for r, value in enumerate(transposed(b, vectors)):
                b.write(value, self.target, [x.panel, q + r, x.at + at])

        b.emit_loop(self.lanes // BLOCK, part)
        return ()

    def _elements(self, x: _Vector, p: Extent, depths: tuple[Extent, Extent]) -> Sequence[Scalar]:
        b = self.b

        def at_depth(q: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            at = self._depth(p + q)

            def copy(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                value = b.fetch(self.source, [at + self._row(x.row + i)], b.dtype)
                b.store(value, self.target, [x.panel, q, x.at + i])
                return ()

            def clear(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                b.store(b.constant(0.0, b.dtype), self.target, [x.panel, q, x.at + i])
                return ()

            b.sweep(0, x.live, (), copy)
            b.sweep(x.live, self.lanes, (), clear)
            return ()

        b.sweep(*depths, (), at_depth)
        return ()

    def _row(self, number: Extent) -> Scalar:
        return position(self.b, self.rows, number)

    def _depth(self, number: Extent) -> Extent:
        return self.start + position(self.b, self.depths, number)
