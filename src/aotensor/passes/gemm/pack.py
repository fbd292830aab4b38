"""Pack blocks of an operand into panels, so that the tile's loop reads memory sequentially.

X[w, p] of a block    →    panels[w div W, p, w mod W], with zeros where the block ends within a panel
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i1
from aotensor.passes.gemm.tile import KernelBuilder, Tile, define

_TOGETHER: Final = 8  # panels whose rows are loaded together: adjacent cache lines, which hardware prefetches
BLOCK: Final = 4  # lanes of the vectors that are transposed in registers


def define_pack(tile: Tile, width: int) -> func.FuncOp:
    """Define @aot_gemm_pack<W>(first, last, is_row, X, w₀, p₀, live, count, panels).

    It packs X[w₀ : w₀ + live, p₀ : p₀ + count] into panels. first, last: the range of panels to pack. is_row: X is
    stored with w as its second axis
    """
    index = IndexType()
    matrix = memref_type_of(tile.element, [None, None])
    panels = memref_type_of(tile.element, [None, None, width])

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> Sequence[Scalar]:
        first, last, w, p, live, count = (Scalar(args[k], "index") for k in (0, 1, 4, 5, 6, 7))
        _Pack(b, tile, width, Scalar(args[2], "bool"), args[3], args[8]).run((first, last), w, p, live, count)
        return ()

    return define(
        f"aot_gemm_pack{width}.{tile.suffix}", tile.dtype, [index, index, i1, matrix, *[index] * 4, panels], body
    )


class _Pack:
    def __init__(
        self, b: KernelBuilder, tile: Tile, width: int, is_row: Scalar, source: SSAValue, target: SSAValue
    ) -> None:
        self.b = b
        self.width = width
        self.lanes = tile.lanes if width % tile.lanes == 0 else BLOCK
        self.offsets = [min(at, width - self.lanes) for at in range(0, width, self.lanes)]
        self.is_row = is_row
        self.source = source
        self.target = target
        first, second = b.extent_of(source, 0), b.extent_of(source, 1)
        assert isinstance(first, Scalar) and isinstance(second, Scalar)
        rows, columns = b.select(is_row, second, first), b.select(is_row, first, second)
        self.view = b.matrix(source, is_row, rows, columns)

    def run(self, numbers: tuple[Scalar, Scalar], w: Scalar, p: Scalar, live: Scalar, count: Scalar) -> None:
        b = self.b

        def pack_panel(panel: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            shift = panel * self.width
            start, rest = w + shift, b.imin(live - shift, self.width)
            whole = b.compare("eq", b.index(rest), b.index(self.width))
            (done,) = b.branch(whole, lambda: self._pack_whole(panel, start, p, count), lambda: [b.index(0)])
            self._copy_elements(panel, start, p, (done, count), rest)
            return ()

        def pack_all() -> Sequence[Scalar]:
            b.sweep(*numbers, (), pack_panel)
            return ()

        first, last = numbers
        end = b.imin(last, live // self.width)  # of a contiguous array
        is_many = self.is_row & (b.index(end - first) >= _TOGETHER)

        def pack_together() -> Sequence[Scalar]:
            groups = (end - first) // _TOGETHER * _TOGETHER

            def pack_group(start: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                self._copy_together(start, w + start * self.width, p, count)
                return ()

            rest = first + groups
            b.sweep(first, rest, (), pack_group, _TOGETHER)
            b.sweep(rest, last, (), pack_panel)
            return ()

        b.branch(is_many, pack_together, pack_all)

    def _copy_together(self, panel: Scalar, w: Extent, p: Extent, count: Scalar) -> None:
        """Emit copies of rows of several panels: elements contiguous in memory are loaded together."""
        b = self.b

        def copy_row(q: Scalar) -> None:
            row = p + q
            for number in range(_TOGETHER):
                for at in self.offsets:
                    value = b.read(self.source, [row, w + (number * self.width + at)], self.lanes)
                    b.write(value, self.target, [panel + number, q, at])

        b.emit_loop(count, copy_row)

    def _pack_whole(self, panel: Scalar, w: Extent, p: Extent, count: Scalar) -> list[Scalar]:
        """Emit the packing of a full panel; return how many of its rows are packed."""
        return self.b.branch(
            self.is_row,
            lambda: self._copy_rows(panel, w, p, count),
            lambda: self._transpose(panel, w, p, count),
        )

    def _copy_rows(self, panel: Scalar, w: Extent, p: Extent, count: Scalar) -> Sequence[Scalar]:
        b = self.b

        def copy_row(q: Scalar) -> None:
            values = [b.read(self.source, [p + q, w + at], self.lanes) for at in self.offsets]
            for at, value in zip(self.offsets, values, strict=True):
                b.write(value, self.target, [panel, q, at])

        b.emit_loop(count, copy_row)
        return [count]

    def _transpose(self, panel: Scalar, w: Extent, p: Extent, count: Scalar) -> Sequence[Scalar]:
        """Emit a transposition by blocks of 4 × 4.

        The last block of columns may overlap; remaining rows are not packed.
        """
        b = self.b
        blocks = count // BLOCK

        def transpose_blocks(block: Scalar) -> None:
            q = block * BLOCK

            def transpose_block(number: Scalar) -> None:
                at = b.imin(number * BLOCK, self.width - BLOCK)
                first = w + at
                rows = [b.read(self.source, [first + r, p + q], BLOCK) for r in range(BLOCK)]
                for r, value in enumerate(transposed(b, rows)):
                    b.write(value, self.target, [panel, q + r, at])

            b.emit_loop(-(-self.width // BLOCK), transpose_block)

        b.emit_loop(blocks, transpose_blocks)
        return [b.index(blocks * BLOCK)]

    def _copy_elements(self, panel: Scalar, w: Extent, p: Extent, rows: tuple[Extent, Extent], live: Extent) -> None:
        """Emit copies of single elements: some rows of a panel that has only `live` columns."""
        b = self.b

        def copy_row(q: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            def copy(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                b.store(b.fetch(self.view, [w + i, p + q], b.dtype), self.target, [panel, q, i])
                return ()

            def clear(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                b.store(b.constant(0.0, b.dtype), self.target, [panel, q, i])
                return ()

            b.sweep(0, live, (), copy)
            b.sweep(live, self.width, (), clear)
            return ()

        b.sweep(*rows, (), copy_row)


def transposed(b: KernelBuilder, rows: Sequence[Scalar]) -> list[Scalar]:
    """The columns of a 4 × 4 block as vectors: shuffle pairs of lanes, then pairs of pairs."""
    low, high = ([b.shuffle(rows[r], rows[r + 1], order) for r in (0, 2)] for order in ([0, 4, 1, 5], [2, 6, 3, 7]))
    return [b.shuffle(x, y, order) for x, y in (low, high) for order in ([0, 1, 4, 5], [2, 3, 6, 7])]
