"""Matrix products of any size: blocks that fit the caches, panels packed from them, tiles in registers.

    for every block of n, for every block of k:  pack B    (last level cache)
      for every block of m:  pack A                        (second level)
        for every panel of B, for every panel of A:        (first level)
          one tile of C

After Goto & van de Geijn, Anatomy of high-performance matrix multiplication (2008). Extents are divided into blocks of
equal size, so a result depends on the extents alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, i64
from xdsl.ir import SSAValue

from aotensor.core import dtypes
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i1
from aotensor.passes.gemm.pack import pack_symbol
from aotensor.passes.gemm.tile import KernelBuilder, Tile, accumulate, define

_ALIGNMENT: Final = 64  # bytes: a cache line, and the widest vector

# Largest blocks: of k in bytes of one row of A, of m in rows, of n in columns
_DEPTH_BYTES: Final = 2048
_BLOCK_ROWS: Final = 240
_BLOCK_COLUMNS: Final = 3072


def blocked_symbol(tile: Tile) -> str:
    """Symbol of the kernel that works in cache blocks."""
    return f"aot_gemm_blocked.{tile.suffix}"


def _tile_symbol(tile: Tile) -> str:
    return f"aot_gemm_tile.{tile.suffix}"


# --- blocks ----------------------------------------------------------------------------------------------------------


def define_blocked(tile: Tile) -> func.FuncOp:
    """@aot_gemm_blocked(transpose_a, transpose_b, A, B, C): C = op(A)·op(B); extents may be 0."""
    matrix = memref_type_of(tile.element, [None, None])

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> None:
        flags = [Scalar(x, "bool") for x in args[:2]]
        _Blocked(b, tile, flags, args[2], args[3], args[4]).run()

    return define(blocked_symbol(tile), tile.dtype, [i1, i1, matrix, matrix, matrix], body)


@dataclass(frozen=True)
class _Partition:
    """An axis in `count` blocks of `size` elements, the last one maybe shorter."""

    extent: Extent
    count: Extent
    size: Extent


class _Blocked:
    def __init__(
        self, b: KernelBuilder, tile: Tile, flags: Sequence[Scalar], a: SSAValue, x: SSAValue, c: SSAValue
    ) -> None:
        self.b = b
        self.tile = tile
        self.a, self.x, self.c = a, x, c
        self.transpose_a, self.transpose_b = flags
        first, second = b.extent_of(a, 0), b.extent_of(a, 1)
        assert isinstance(first, Scalar) and isinstance(second, Scalar)
        depth = b.select(self.transpose_a, first, second)
        self.m = self._partition(b.extent_of(c, 0), _BLOCK_ROWS, tile.rows)
        self.n = self._partition(b.extent_of(c, 1), _BLOCK_COLUMNS, tile.columns)
        self.k = self._partition(depth, _DEPTH_BYTES // dtypes.itemsize(tile.dtype), 1)

    def _partition(self, extent: Extent, largest: int, multiple: int) -> _Partition:
        b = self.b
        units = b.ceildiv(extent, multiple)
        count = b.imax(b.ceildiv(units, largest // multiple), 1)
        return _Partition(extent, count, b.imul(b.ceildiv(units, count), multiple))

    def run(self) -> None:
        b, tile = self.b, self.tile
        packed_a = self._panels(self.m, tile.rows)
        packed_b = self._panels(self.n, tile.columns)
        is_row = b.not_(self.transpose_b)

        def columns(jb: Scalar) -> None:
            j, width = self._block(self.n, jb)

            def depths(pb: Scalar) -> None:
                p, count = self._block(self.k, pb)
                self._pack(tile.columns, is_row, self.x, (j, p, width, count), packed_b)

                def rows(ib: Scalar) -> None:
                    i, height = self._block(self.m, ib)
                    self._pack(tile.rows, self.transpose_a, self.a, (i, p, height, count), packed_a)
                    self._tiles((i, j), (height, width), (p, count), (packed_a, packed_b))

                b.each(self.m.count, rows)

            b.each(self.k.count, depths)

        b.each(self.n.count, columns)
        for panels in (packed_b, packed_a):
            b.builder.insert(memref.DeallocOp.get(panels))

    def _panels(self, axis: _Partition, width: int) -> SSAValue:
        """Memory for the panels of one block."""
        b = self.b
        sizes = [b.index(b.ifloordiv(axis.size, width)).ssa, b.index(self.k.size).ssa]
        kind = memref_type_of(self.tile.element, [None, None, width])
        op = memref.AllocOp(sizes, [], kind, alignment=IntegerAttr(_ALIGNMENT, i64))
        b.builder.insert(op)
        return op.memref

    def _block(self, axis: _Partition, number: Scalar) -> tuple[Extent, Extent]:
        """Where a block begins and how many elements it has."""
        start = self.b.imul(number, axis.size)
        return start, self.b.imin(self.b.isub(axis.extent, start), axis.size)

    def _pack(self, width: int, is_row: Scalar, source: SSAValue, block: Sequence[Extent], panels: SSAValue) -> None:
        b = self.b
        operands = [is_row.ssa, source, *(b.index(x).ssa for x in block), panels]
        b.builder.insert(func.CallOp(pack_symbol(self.tile, width), operands, []))

    def _tiles(
        self,
        corner: tuple[Extent, Extent],
        extents: tuple[Extent, Extent],
        depth: tuple[Extent, Extent],
        packed: tuple[SSAValue, SSAValue],
    ) -> None:
        """All tiles of a block of C. A panel of B stays in the first level cache while those of A pass by."""
        b, tile = self.b, self.tile
        is_first = b.compare("eq", b.index(depth[0]), b.index(0))

        def across(jp: Scalar) -> None:
            j = b.iadd(corner[1], b.imul(jp, tile.columns))

            def down(ip: Scalar) -> None:
                i = b.iadd(corner[0], b.imul(ip, tile.rows))
                numbers = [b.index(x).ssa for x in (i, j, ip, jp, depth[1])]
                b.builder.insert(func.CallOp(_tile_symbol(tile), [is_first.ssa, *numbers, *packed, self.c], []))

            b.each(b.ceildiv(extents[0], tile.rows), down)

        b.each(b.ceildiv(extents[1], tile.columns), across)


# --- one tile --------------------------------------------------------------------------------------------------------


def define_tile(tile: Tile) -> func.FuncOp:
    """@aot_gemm_tile(is_first, i, j, ip, jp, count, panels of A, panels of B, C): one tile over one block of k.

    C[i + r, j + s] is set if `is_first`, else added to: Σ_p A[ip, p, r]·B[jp, p, s], p < count, where C has it.
    """
    index = IndexType()
    kinds = [memref_type_of(tile.element, [None, None, width]) for width in (tile.rows, tile.columns)]
    arguments = [i1, *[index] * 5, *kinds, memref_type_of(tile.element, [None, None])]

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> None:
        is_first = Scalar(args[0], "bool")
        i, j, ip, jp, count = (Scalar(x, "index") for x in args[1:6])
        panels_a, panels_b, c = args[6:]
        sums = accumulate(
            b, tile, count,
            lambda p, r: b.fetch(panels_a, [ip, p, r], tile.dtype),
            lambda p, v: b.read(panels_b, [jp, p, v * tile.lanes], tile.lanes),
        )  # fmt: skip
        height, width = b.isub(b.extent_of(c, 0), i), b.isub(b.extent_of(c, 1), j)
        is_full = b.and_(
            b.compare("ge", b.index(height), b.index(tile.rows)), b.compare("ge", b.index(width), b.index(tile.columns))
        )
        b.branch(
            is_full,
            lambda: _write_whole(b, tile, sums, is_first, c, (i, j)),
            lambda: _write_part(b, tile, sums, is_first, c, (i, j), (height, width)),
        )

    return define(_tile_symbol(tile), tile.dtype, arguments, body)


def _write_whole(
    b: KernelBuilder, tile: Tile, sums: Sequence[Scalar], is_first: Scalar, c: SSAValue, corner: tuple[Scalar, Scalar]
) -> Sequence[Scalar]:
    positions = [
        [b.iadd(corner[0], r), b.iadd(corner[1], v * tile.lanes)] for r in range(tile.rows) for v in range(tile.vectors)
    ]

    def set_all() -> Sequence[Scalar]:
        for position, value in zip(positions, sums, strict=True):
            b.write(value, c, position)
        return ()

    def add_all() -> Sequence[Scalar]:
        for position, value in zip(positions, sums, strict=True):
            b.write(b.add(b.read(c, position, tile.lanes), value), c, position)
        return ()

    b.branch(is_first, set_all, add_all)
    return ()


def _write_part(
    b: KernelBuilder,
    tile: Tile,
    sums: Sequence[Scalar],
    is_first: Scalar,
    c: SSAValue,
    corner: tuple[Scalar, Scalar],
    live: tuple[Extent, Extent],
) -> Sequence[Scalar]:
    """By way of a scratch tile, whose elements that C has are written one by one."""
    scratch = memref.AllocaOp.get(tile.element, _ALIGNMENT, [tile.rows, tile.columns])
    b.builder.insert(scratch)
    for number, value in enumerate(sums):
        r, v = divmod(number, tile.vectors)
        b.write(value, scratch.memref, [r, v * tile.lanes])

    def write(r: Scalar, s: Scalar) -> None:
        position = [b.iadd(corner[0], r), b.iadd(corner[1], s)]
        value = b.fetch(scratch.memref, [r, s], tile.dtype)
        total = b.add(b.fetch(c, position, tile.dtype), value)
        b.store(b.select(is_first, value, total), c, position)

    height, width = b.imin(live[0], tile.rows), b.imin(live[1], tile.columns)
    b.each(height, lambda r: b.each(width, lambda s: write(r, s)))
    return ()
