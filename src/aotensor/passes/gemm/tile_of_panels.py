"""The inner kernel of large products: one tile of C from a panel of A and one of B."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i1
from aotensor.passes.gemm.tile import ALIGNMENT, KernelBuilder, Tile, accumulate, by_height, define


def define_tile(tile: Tile) -> func.FuncOp:
    """Define @aot_gemm_tile(is_first, i, j, p, ip, jp, count, panels of A, panels of B, C): one tile, one block of k.

    C[i + r, j + s] is set if `is_first`, else incremented by Σ_p A[ip, p, r]·B[jp, p, s], p < count, inside the bounds
    of C.
    """
    index = IndexType()
    kinds = [memref_type_of(tile.element, [None, None, width]) for width in (tile.rows, tile.columns)]
    arguments = [i1, *[index] * 6, *kinds, memref_type_of(tile.element, [None, None])]

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> Sequence[Scalar]:
        is_first = Scalar(args[0], "bool")
        i, j, _, ip, jp, count = (Scalar(x, "index") for x in args[1:7])
        panels_a, panels_b, c = args[7:]
        height, width = b.extent_of(c, 0) - i, b.extent_of(c, 1) - j

        def compute(tile: Tile) -> None:
            _prefetch(b, tile, c, (i, j))
            sums = accumulate(
                b, tile, count,
                lambda p, r: b.fetch(panels_a, [ip, p, r], tile.dtype),
                lambda p, v: b.read(panels_b, [jp, p, v * tile.lanes], tile.lanes),
            )  # fmt: skip
            is_full = (b.index(height) >= tile.rows) & (b.index(width) >= tile.columns)
            b.branch(
                is_full,
                lambda: _write_whole(b, tile, sums, is_first, c, (i, j)),
                lambda: _write_part(b, tile, sums, is_first, c, (i, j), (height, width)),
            )

        by_height(b, tile, height, compute)
        return ()

    return define(f"aot_gemm_tile.{tile.suffix}", tile.dtype, arguments, body)


def _prefetch(b: KernelBuilder, tile: Tile, c: SSAValue, corner: tuple[Scalar, Scalar]) -> None:
    """Prefetch the cache lines of C while the sums are computed. A prefetch beyond the end of C is harmless."""
    for r in range(tile.rows):
        for v in range(tile.vectors):
            b.prefetch(c, [corner[0] + r, corner[1] + v * tile.lanes], is_write=True)


def _write_whole(
    b: KernelBuilder, tile: Tile, sums: Sequence[Scalar], is_first: Scalar, c: SSAValue, corner: tuple[Scalar, Scalar]
) -> Sequence[Scalar]:
    positions = [[corner[0] + r, corner[1] + v * tile.lanes] for r in range(tile.rows) for v in range(tile.vectors)]

    def set_all() -> Sequence[Scalar]:
        for position, value in zip(positions, sums, strict=True):
            b.write(value, c, position)
        return ()

    def add_all() -> Sequence[Scalar]:
        for position, value in zip(positions, sums, strict=True):
            b.write(b.read(c, position, tile.lanes) + value, c, position)
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
    """Write a tile at the border of C via a scratch tile: only those rows and lanes that are inside C."""
    scratch = memref.AllocaOp.get(tile.element, ALIGNMENT, [tile.rows, tile.columns])
    b.builder.insert(scratch)
    for number, value in enumerate(sums):
        r, v = divmod(number, tile.vectors)
        b.write(value, scratch.memref, [r, v * tile.lanes])
    masks = [b.first_lanes(live[1] - v * tile.lanes, tile.lanes) for v in range(tile.vectors)]

    def write(r: Scalar, is_set: bool) -> None:
        for v, mask in enumerate(masks):
            position = [corner[0] + r, corner[1] + v * tile.lanes]
            value = b.read(scratch.memref, [r, v * tile.lanes], tile.lanes)
            old = None if is_set else b.load_vector(c, position, tile.lanes, mask)
            b.store_vector((value if old is None else Scalar(old.ssa, tile.dtype) + value).ssa, c, position, mask)

    def write_all(is_set: bool) -> Sequence[Scalar]:
        b.emit_loop(b.imin(live[0], tile.rows), lambda r: write(r, is_set))
        return ()

    return b.branch(is_first, lambda: write_all(True), lambda: write_all(False))
