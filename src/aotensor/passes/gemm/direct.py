"""Small and skinny matrix products, straight from the operands: no panels, no blocks.

B as stored, rows along n:   a tile of C = Σ_p column of op(A) × row of B
B transposed, rows along k:  a tile of C = dot products of rows of A and rows of B
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from xdsl.dialects import func
from xdsl.ir import SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i1
from aotensor.passes.gemm.tile import KernelBuilder, Tile, accumulate, define, view_type

_NARROW: Final = 4  # columns of a tile of few rows if there is no room for all: such products are small
_ROWS: Final = 8  # of a tile at most: more pointers to rows than that do not fit the registers of x86
_FEW_ROWS: Final = 2
_DOT_ROWS, _DOT_COLUMNS = 2, 4  # of a tile of dot products


def direct_symbol(tile: Tile) -> str:
    """Symbol of the kernel that reads its operands in place."""
    return f"aot_gemm_direct.{tile.suffix}"


def define_direct(tile: Tile) -> func.FuncOp:
    """@aot_gemm_direct(transpose_b, op(A), B, C): C = op(A)·op(B). Extents may be 0; with `transpose_b` A is row-major.

    op(A) is a strided view of shape (m, k).
    """
    matrix = memref_type_of(tile.element, [None, None])

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> Sequence[Scalar]:
        transpose_b = Scalar(args[0], "bool")
        a, x, c = args[1:]
        m, k = b.extent_of(a, 0), b.extent_of(a, 1)
        return b.branch(
            transpose_b,
            lambda: _dot_products(b, tile, b.reinterpret(a, [m, k]), x, c),
            lambda: _rank_one_updates(b, tile, a, x, c),
        )

    return define(direct_symbol(tile), tile.dtype, [i1, view_type(tile.dtype), matrix, matrix], body)


def _cover(
    b: KernelBuilder, extent: Extent, sizes: Sequence[int], body: Callable[[int, Scalar], None]
) -> Sequence[Scalar]:
    """Cover an axis by pieces of the first size that it has room for. The last piece overlaps the one before it."""
    size, *smaller = sizes

    def pieces() -> Sequence[Scalar]:
        last = b.isub(extent, size)
        b.each(b.ceildiv(extent, size), lambda number: body(size, b.index(b.imin(b.imul(number, size), last))))
        return ()

    if not smaller:
        return pieces()
    fits = b.compare("ge", b.index(extent), b.index(size))
    return b.branch(fits, pieces, lambda: _cover(b, extent, smaller, body))


# --- rank-one updates ------------------------------------------------------------------------------------------------


def _rank_one_updates(b: KernelBuilder, tile: Tile, a: SSAValue, x: SSAValue, c: SSAValue) -> Sequence[Scalar]:
    """C = Σ_p A[:, p]·B[p, :], tile by tile."""
    m, k, n = b.extent_of(a, 0), b.extent_of(a, 1), b.extent_of(c, 1)

    def update(rows: int, width: int, i: Scalar, j: Scalar) -> None:
        lanes = min(width, tile.lanes)
        _update(b, Tile(tile.dtype, rows, width // lanes, lanes), (i, j), (a, x, c), k)

    def several(rows: int, i: Scalar) -> None:
        widths = [tile.columns >> halvings for halvings in range(tile.columns.bit_length())]
        if rows != most:
            widths = [width for width in widths if width in (tile.columns, _NARROW, 1)]
        _cover(b, n, widths, lambda width, j: update(rows, width, i, j))

    most = min(tile.rows, _ROWS)
    return _cover(b, m, [most, _FEW_ROWS, 1], several)


def _update(
    b: KernelBuilder,
    tile: Tile,
    corner: tuple[Scalar, Scalar],
    matrices: tuple[SSAValue, SSAValue, SSAValue],
    k: Extent,
) -> None:
    i, j = corner
    a, x, c = matrices
    sums = accumulate(
        b, tile, k,
        lambda p, r: b.fetch(a, [b.iadd(i, r), p], tile.dtype),
        lambda p, v: b.read(x, [p, b.iadd(j, v * tile.lanes)], tile.lanes),
    )  # fmt: skip
    for number, value in enumerate(sums):
        r, v = divmod(number, tile.vectors)
        b.write(value, c, [b.iadd(i, r), b.iadd(j, v * tile.lanes)])


# --- dot products ----------------------------------------------------------------------------------------------------


def _dot_products(b: KernelBuilder, tile: Tile, a: SSAValue, x: SSAValue, c: SSAValue) -> Sequence[Scalar]:
    """C[i, j] = Σ_p A[i, p]·B[j, p], both contiguous along p: several i and j at once."""
    k = b.extent_of(a, 1)
    whole = b.imul(b.ifloordiv(k, tile.lanes), tile.lanes)

    def dots(rows: int, columns: int, i: Scalar, j: Scalar) -> None:
        pairs = [(r, s) for r in range(rows) for s in range(columns)]

        def advance(lanes: int) -> Callable[[Scalar, list[Scalar]], Sequence[Scalar]]:
            def step(p: Scalar, sums: list[Scalar]) -> Sequence[Scalar]:
                left = [b.read(a, [b.iadd(i, r), p], lanes) for r in range(rows)]
                right = [b.read(x, [b.iadd(j, s), p], lanes) for s in range(columns)]
                return [b.fma(left[r], right[s], total) for (r, s), total in zip(pairs, sums, strict=True)]

            return step

        vectors = b.sweep(0, whole, b.zeros(len(pairs), tile.lanes), advance(tile.lanes), step=tile.lanes)
        sums = b.sweep(whole, k, [b.sum_of_lanes(v) for v in vectors], advance(1))
        for (r, s), value in zip(pairs, sums, strict=True):
            b.store(value, c, [b.iadd(i, r), b.iadd(j, s)])

    def several(columns: int, j: Scalar) -> None:
        _cover(b, b.extent_of(c, 0), [_DOT_ROWS, 1], lambda rows, i: dots(rows, columns, i, j))

    return _cover(b, b.extent_of(c, 1), [_DOT_COLUMNS, 1], several)
