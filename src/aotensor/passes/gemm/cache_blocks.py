"""Matrix products of any size: cache blocks, packed panels, register tiles.

    for every block of n, of k and of m:
      pack the panels of A and of B                        (last level cache)
      for every part of the rows, for every panel of B:    (second level: the part's panels of A; first: one of B)
        for every panel of A in the part:  one tile of C

After Goto & van de Geijn, Anatomy of high-performance matrix multiplication (2008). Panels are packed on several cores,
then tiles are computed on several cores. Extents are divided into pieces of equal size, and each element of C is summed
in a fixed order, so a result depends on the extents alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, i32, i64
from xdsl.ir import Attribute, SSAValue

from aotensor.core import dtypes
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i1, i8
from aotensor.passes.gemm.tile import ALIGNMENT, KernelBuilder, Tile, define
from aotensor.passes.nest.work import rows_of_chunk
from aotensor.passes.target import Target

_INDEX: Final = IndexType()


@dataclass(frozen=True)
class Form:
    """The operand types of a product's functions: matrices, or elements at positions.

    name: prefix of the functions' symbols. source: types of the arguments that describe A (or B) in packing functions.
    result: types of the arguments that describe C in functions that write a tile.
    """

    name: str
    source: tuple[Attribute, ...]
    result: tuple[Attribute, ...]

    @staticmethod
    def for_matrices(tile: Tile) -> Form:
        """The form of ordinary matrices: (is_row, X) describes A and B, a buffer describes C."""
        matrix = memref_type_of(tile.element, [None, None])
        return Form("aot_gemm", (i1, matrix), (matrix,))

    def symbol(self, role: str, tile: Tile) -> str:
        """The symbol of the function with a role, such as blocked, panels, tiles, tile or pack12."""
        return f"{self.name}_{role}.{tile.suffix}"


# --- blocks ----------------------------------------------------------------------------------------------------------


def define_blocked(tile: Tile, target: Target) -> func.FuncOp:
    """Define @aot_gemm_blocked(transpose_a, transpose_b, A, B, C, context): C = op(A)·op(B); extents may be 0.

    Returns 0, or nonzero with C unchanged if there is no memory for panels.
    """
    form = Form.for_matrices(tile)

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> Sequence[Scalar]:
        transpose_a, transpose_b = (Scalar(x, "bool") for x in args[:2])
        a, x, c = args[2:5]
        first, second = b.extent_of(a, 0), b.extent_of(a, 1)
        assert isinstance(first, Scalar) and isinstance(second, Scalar)
        extents = b.extent_of(c, 0), b.extent_of(c, 1), b.select(transpose_a, first, second)
        sources = [transpose_a.ssa, a, (~transpose_b).ssa, x]
        Blocked(b, tile, target, form, extents, (sources, [c])).run()
        return [b.constant(0, "int32")]

    kinds = [i1, i1, *form.source[1:], *form.source[1:], *form.result, memref_type_of(i8, [1])]
    return define(form.symbol("blocked", tile), tile.dtype, kinds, body, [i32])


@dataclass(frozen=True)
class _Partition:
    """An axis divided into `count` blocks of `size` elements; the last block may be shorter."""

    extent: Extent
    count: Extent
    size: Extent


class Blocked:
    """The product of m × k by k × n elements in cache blocks.

    operands: the arguments that describe A and B, then those that describe C, as in the form. widest: columns of a
    block of B, by default as many as fit in the last level cache. corner: start along m, n and k; the first two are
    multiples of the tile's extents. on_cores: are panels and tiles split into chunks?
    """

    def __init__(
        self,
        b: KernelBuilder,
        tile: Tile,
        target: Target,
        form: Form,
        extents: tuple[Extent, Extent, Extent],
        operands: tuple[Sequence[SSAValue], Sequence[SSAValue]],
        widest: int | None = None,
        corner: tuple[Extent, Extent, Extent] = (0, 0, 0),
        on_cores: bool = True,
    ) -> None:
        self.b, self.corner, self.on_cores = b, corner, on_cores
        self.tile, self.target, self.form = tile, target, form
        self.sources, self.result = operands
        side = target.product_side // dtypes.itemsize(tile.dtype)
        self.m = _partition(b, extents[0], side, tile.rows)
        self.n = _partition(b, extents[1], side if widest is None else widest, tile.columns)
        self.k = _partition(b, extents[2], target.product_depth // dtypes.itemsize(tile.dtype), 1)

    def run(self) -> None:
        """Emit the code of all blocks in order."""
        b, tile = self.b, self.tile
        packed = self._memory(self.m, tile.rows), self._memory(self.n, tile.columns)

        def columns(jb: Scalar) -> None:
            def depths(pb: Scalar) -> None:
                b.emit_loop(self.m.count, lambda ib: self._block((ib, jb, pb), packed))

            b.emit_loop(self.k.count, depths)

        b.emit_loop(self.n.count, columns)
        for panels in reversed(packed):
            b.builder.insert(memref.DeallocOp.get(panels))

    def _memory(self, axis: _Partition, width: int) -> SSAValue:
        """Allocate memory for the panels of one block."""
        b = self.b
        sizes = [b.index(axis.size // width).ssa, b.index(self.k.size).ssa]
        kind = memref_type_of(self.tile.element, [None, None, width])
        op = memref.AllocOp(sizes, [], kind, alignment=IntegerAttr(ALIGNMENT, i64))
        b.builder.insert(op)
        return op.memref

    def _block(self, number: tuple[Scalar, Scalar, Scalar], packed: tuple[SSAValue, SSAValue]) -> None:
        """Emit code that adds the product of a block of A and a block of B to C.

        The packed panels of B are reused for all blocks of A. If A has a single block, its panels are reused for all of
        B.
        """
        b, tile = self.b, self.tile
        axes = (self.m, self.n, self.k)
        offsets = [k * axis.size for k, axis in zip(number, axes, strict=True)]
        height, width, depth = (
            b.imin(axis.extent - offset, axis.size) for axis, offset in zip(axes, offsets, strict=True)
        )
        starts = [x + y for x, y in zip(self.corner, offsets, strict=True)]
        is_new = b.compare("eq", number[0], b.index(0))
        across = b.ceildiv(width, tile.columns)
        down = b.ceildiv(height, tile.rows)
        new = b.index(b.select(is_new, b.index(across), b.index(0)))
        is_kept = (number[1] > 0) & b.compare("eq", b.index(self.m.count * self.k.count), b.index(1))
        left = b.select(is_kept, b.index(0), b.index(down))
        elements = depth * (max(tile.columns, tile.rows) * _PACKED)
        operands = [
            new.ssa, *self.sources, *(b.index(x).ssa for x in (*starts, height, width, depth)), *packed,
        ]  # fmt: skip
        call_on_cores(b, self.target, self.form.symbol("panels", tile), new + left, elements, operands, self.on_cores)
        part = self._rows_of_part(down, across)
        parts = b.ceildiv(down, part)
        work = part * depth * (tile.rows * tile.vectors * FUSED)
        is_first = b.compare("eq", number[2], b.index(0))
        operands = [
            is_first.ssa, *(b.index(x).ssa for x in (*starts, part, down, across, depth)), *packed, *self.result,
        ]  # fmt: skip
        call_on_cores(b, self.target, self.form.symbol("tiles", tile), parts * across, work, operands, self.on_cores)

    def _rows_of_part(self, down: Extent, across: Extent) -> Extent:
        """Panels of A whose tiles are computed together: as many as fit in cache, fewer if there are few tiles."""
        b, target = self.b, self.target
        most = max(target.product_rows // self.tile.rows, 1)
        wanted = b.imin(b.ceildiv(_FEWEST_UNITS, b.imax(across, 1)), b.ceildiv(down, _FEWEST_PANELS))
        parts = b.imax(b.imax(b.ceildiv(down, most), wanted), 1)
        return b.imax(b.ceildiv(down, parts), 1)


# In units of `passes/nest/work.py`: an element that is packed, and a fused multiply-add of vectors
_PACKED: Final = 2
FUSED: Final = 2
_FEWEST_UNITS: Final = 16  # smallest number of units that cores can share evenly
_FEWEST_PANELS: Final = 4  # smallest number of panels of A per read of a panel of B from the second level cache


def _partition(b: KernelBuilder, extent: Extent, largest: int, multiple: int) -> _Partition:
    """Split an axis into equal blocks of at most about `largest` elements, in multiples of `multiple`."""
    units = b.ceildiv(extent, multiple)
    count = b.imax(b.ceildiv(units, max(largest // multiple, 1)), 1)
    return _Partition(extent, count, b.ceildiv(units, count) * multiple)


# --- what a chunk does -----------------------------------------------------------------------------------------------


def call_on_cores(
    b: KernelBuilder,
    target: Target,
    symbol: str,
    count: Extent,
    work: Extent,
    operands: Sequence[SSAValue],
    on_cores: bool = True,
) -> None:
    """Emit parallel calls of a function for units 0 … count, in chunks whose work amortises waking another core.

    The function's first three arguments are the range, see `range_of_chunk`. work: estimated work per unit.
    on_cores: if false, emit a single call instead.
    """
    end = b.index(count).ssa

    def chunk(start: Scalar, size: Scalar) -> None:
        b.builder.insert(func.CallOp(symbol, [start.ssa, size.ssa, end, *operands], []))

    if on_cores:
        size = b.index(rows_of_chunk(b, count, work, target.chunk_work, target.most_chunks, 1))
        b.parallel(count, size, lambda start: chunk(start, size))
    else:
        chunk(b.index(0), b.index(count))


def range_of_chunk(b: KernelBuilder, args: Sequence[SSAValue]) -> tuple[Scalar, Scalar]:
    """The start and the end of a chunk, from its first three arguments: start, size, and the end of all chunks."""
    start, size, count = (Scalar(x, "index") for x in args[:3])
    return start, b.index(b.imin(start + size, count))


def define_panels(tile: Tile, form: Form) -> func.FuncOp:
    """Define @aot_gemm_panels(start, size, count, new, A, B, i, j, p, m, n, k, panels of A, of B).

    It packs some panels of the blocks A[i : i + m, p : p + k] and B[p : p + k, j : j + n]: first `new` panels of B,
    then the panels of A. A and B are described as in the form.
    """
    width = len(form.source)
    arguments = [*[_INDEX] * 4, *form.source, *form.source, *[_INDEX] * 6, *_panel_types(tile)]

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> Sequence[Scalar]:
        start, end = range_of_chunk(b, args)
        new = Scalar(args[3], "index")
        a, x = args[4 : 4 + width], args[4 + width : 4 + 2 * width]
        i, j, p, m, n, k, panels_a, panels_b = args[4 + 2 * width :]

        def pack(width: int, first: Extent, last: Extent, *operands: SSAValue) -> None:
            bounds = [b.index(b.imax(x, 0)).ssa for x in (first, last)]
            b.builder.insert(func.CallOp(form.symbol(f"pack{width}", tile), [*bounds, *operands], []))

        pack(tile.columns, start, b.imin(end, new), *x, j, p, n, k, panels_b)
        pack(tile.rows, start - new, end - new, *a, i, p, m, k, panels_a)
        return ()

    return define(form.symbol("panels", tile), tile.dtype, arguments, body)


def define_tiles(tile: Tile, form: Form) -> func.FuncOp:
    """Define @aot_gemm_tiles(start, size, count, is_first, i, j, p, part, down, across, k, panels of A, of B, C).

    It computes some tiles of a block of C that begins at [i, j] and has `down` × `across` tiles. Within each part of
    the rows, which has `part` tiles, tiles are numbered panel of B by panel of B. A panel of B stays in the first level
    cache while panels of A are streamed.
    """
    arguments = [*[_INDEX] * 3, i1, *[_INDEX] * 7, *_panel_types(tile), *form.result]

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> Sequence[Scalar]:
        start, end = range_of_chunk(b, args)
        is_first = args[3]
        i, j, p, part, down, across, k = (Scalar(x, "index") for x in args[4:11])
        panels = args[11:]

        def column(unit: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            number = b.index(unit // across)
            jp = unit - number * across
            first = number * part
            last = b.imin(first + part, down)
            column = j + jp * tile.columns

            def one(ip: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                row = i + ip * tile.rows
                numbers = [b.index(x).ssa for x in (row, column, p, ip, jp, k)]
                b.builder.insert(func.CallOp(form.symbol("tile", tile), [is_first, *numbers, *panels], []))
                return ()

            b.sweep(first, last, (), one)
            return ()

        b.sweep(start, end, (), column)
        return ()

    return define(form.symbol("tiles", tile), tile.dtype, arguments, body)


def _panel_types(tile: Tile) -> list[Attribute]:
    return [memref_type_of(tile.element, [None, None, width]) for width in (tile.rows, tile.columns)]
