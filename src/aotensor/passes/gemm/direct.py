"""Matrix products without packing or blocking: for small and skinny products, and operands that fit in cache.

B as stored, rows along n:   a tile of C = Σ_p column of op(A) × row of B
B transposed, rows along k:  a tile of C = dot products of rows of A and rows of B
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i1
from aotensor.passes.gemm.tile import KernelBuilder, Tile, accumulate, define, view_type

ROWS: Final = 8  # largest height of a tile: more row pointers do not fit the registers of x86
_FEW_ROWS: Final = 2
_CALLS: Final = 4000  # quarters of a cycle for memory and calls of the blocked kernel

LONGEST: Final = 1 << 20
"""Extents are clamped to this in a product of three, which then stays below 2⁶³."""

# Rows and columns of a tile of dot products by bytes of a vector register, then those for fewer rows
_DOTS: Final = {16: ((2, 4), (1, 4)), 32: ((2, 4), (1, 8)), 64: ((4, 4), (2, 8), (1, 8))}
DOT_COLUMNS: Final = 4


def rows_at_once(tile: Tile) -> int:
    """The height of a tile. Chunks of rows are multiples of it, as the last tile of each overlaps the one before."""
    return min(tile.rows, ROWS)


def direct_symbol(tile: Tile) -> str:
    """Symbol of the kernel that reads its operands in place."""
    return f"aot_gemm_direct.{tile.suffix}"


def define_direct(tile: Tile) -> func.FuncOp:
    """Define @aot_gemm_direct(start, size, transpose_b, op(A), B, C): `size` rows of C = op(A)·op(B) from `start` on.

    Extents may be 0; with `transpose_b` A is row-major. op(A) is a strided view of shape (m, k).
    """
    matrix, index = memref_type_of(tile.element, [None, None]), IndexType()

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> Sequence[Scalar]:
        start, size = (Scalar(n, "index") for n in args[:2])
        transpose_b = Scalar(args[2], "bool")
        a, x, c = args[3:]
        m, k = b.extent_of(a, 0), b.extent_of(a, 1)
        rows = start, b.imin(m - start, size)
        return b.branch(
            transpose_b,
            lambda: _dot_products(b, tile, rows, b.reinterpret(a, [m, k]), x, c),
            lambda: _rank_one_updates(b, tile, rows, a, x, c),
        )

    return define(direct_symbol(tile), tile.dtype, [index, index, i1, view_type(tile.dtype), matrix, matrix], body)


def _cover(
    b: KernelBuilder, extent: Extent, sizes: Sequence[int], body: Callable[[int, Scalar], None], start: Extent = 0
) -> Sequence[Scalar]:
    """Cover `extent` positions of an axis by pieces of the first size that fits.

    The last piece overlaps the one before it.
    """
    size, *smaller = sizes

    def pieces() -> Sequence[Scalar]:
        last = extent - size
        b.emit_loop(
            b.ceildiv(extent, size),
            lambda number: body(size, b.index(start + b.imin(number * size, last))),
        )
        return ()

    if not smaller:
        return pieces()
    fits = b.index(extent) >= size
    return b.branch(fits, pieces, lambda: _cover(b, extent, smaller, body, start))


# --- rank-one updates ------------------------------------------------------------------------------------------------


Rows: TypeAlias = tuple[Extent, Extent]
"""First row of C, and number of rows."""


def _rank_one_updates(
    b: KernelBuilder, tile: Tile, rows: Rows, a: SSAValue, x: SSAValue, c: SSAValue
) -> Sequence[Scalar]:
    """Emit C = Σ_p A[:, p]·B[p, :], tile by tile."""
    n = b.extent_of(c, 1)
    whole = n // tile.columns * tile.columns

    def several(rows: int, i: Scalar) -> None:
        def update(vectors: int, lanes: int, j: Extent, last: SSAValue | None = None) -> Sequence[Scalar]:
            part = Tile(tile.dtype, rows, vectors, lanes)
            _update(b, part, (i, b.index(j)), (a, x, c), [*[None] * (vectors - 1), last])
            return ()

        b.sweep(0, whole, (), lambda j, _: update(tile.vectors, tile.lanes, j), step=tile.columns)
        rest = _masked_rest if tile.has_masks else _rest_in_pieces
        rest(b, tile, whole, n, update)

    return _cover(b, rows[1], [rows_at_once(tile), _FEW_ROWS, 1], several, rows[0])


_Update: TypeAlias = Callable[..., Sequence[Scalar]]
"""(vectors, lanes, first column, mask of the last vector): compute a tile of some columns."""


def _masked_rest(b: KernelBuilder, tile: Tile, start: Extent, n: Extent, update: _Update) -> None:
    """Emit the columns from `start` on, fewer than a tile has: as few vectors as possible, the last one masked."""
    rest = n - start

    def some(vectors: int) -> Sequence[Scalar]:
        before = (vectors - 1) * tile.lanes

        def last() -> Sequence[Scalar]:
            return update(vectors, tile.lanes, start, b.first_lanes(rest - before, tile.lanes))

        def these() -> Sequence[Scalar]:
            if vectors == tile.vectors:
                return last()
            return b.branch(b.index(rest) > before + tile.lanes, lambda: some(vectors + 1), last)

        return b.branch(b.index(rest) > before, these, lambda: ())

    some(1)


def _rest_in_pieces(b: KernelBuilder, tile: Tile, start: Extent, n: Extent, update: _Update) -> None:
    """Emit the remaining columns from `start` on: whole vectors while they fit, then scalars."""
    vectors = (n - start) // tile.lanes * tile.lanes
    single = start + vectors
    b.sweep(start, single, (), lambda j, _: update(1, tile.lanes, j), step=tile.lanes)
    b.sweep(single, n, (), lambda j, _: update(1, 1, j))


def _update(
    b: KernelBuilder,
    tile: Tile,
    corner: tuple[Scalar, Scalar],
    matrices: tuple[SSAValue, SSAValue, SSAValue],
    masks: Sequence[SSAValue | None],
) -> None:
    """Emit one tile of C. masks: one mask per vector of columns, or None."""
    i, j = corner
    a, x, c = matrices
    sums = accumulate(
        b, tile, b.extent_of(a, 1),
        lambda p, r: b.fetch(a, [i + r, p], tile.dtype),
        lambda p, v: b.read(x, [p, j + v * tile.lanes], tile.lanes, masks[v]),
    )  # fmt: skip
    for number, value in enumerate(sums):
        r, v = divmod(number, tile.vectors)
        b.write(value, c, [i + r, j + v * tile.lanes], masks[v])


# --- dot products ----------------------------------------------------------------------------------------------------


_Dots: TypeAlias = Callable[[int, int, Scalar, Scalar], None]
"""(rows, columns, first row, first column): compute a tile of dot products."""


def _dot_products(b: KernelBuilder, tile: Tile, some: Rows, a: SSAValue, x: SSAValue, c: SSAValue) -> Sequence[Scalar]:
    """Emit C[i, j] = Σ_p A[i, p]·B[j, p], contiguous along p: several i and j at once, the last p masked."""
    return cover_by_dots(b, tile, some, b.extent_of(c, 1), _dots_of_matrices(b, tile, a, x, c))


def _dots_of_matrices(b: KernelBuilder, tile: Tile, a: SSAValue, x: SSAValue, c: SSAValue) -> _Dots:
    def dots(rows: int, columns: int, i: Scalar, j: Scalar) -> None:
        sums = accumulate_dots(
            b, tile, b.extent_of(a, 1), (rows, columns),
            lambda r, p, mask: b.read(a, [i + r, p], tile.lanes, mask),
            lambda s, p, mask: b.read(x, [j + s, p], tile.lanes, mask),
        )  # fmt: skip
        for r in range(rows):
            row = b.sums_of_lanes(sums[r * columns : (r + 1) * columns])
            at = 0
            for part in row:
                b.write(part, c, [i + r, j + at])
                at += b.lanes_of(part)

    return dots


def few_rows_symbol(tile: Tile) -> str:
    """Symbol of the kernel for few rows of A."""
    return f"aot_gemm_few_rows.{tile.suffix}"


def define_few_rows(tile: Tile) -> func.FuncOp:
    """Define @aot_gemm_few_rows(start, size, A, B, C): `size` columns of C = A·Bᵀ from `start` on.

    Rows of B are read once, for all rows of A, which stay in cache.
    """
    matrix, index = memref_type_of(tile.element, [None, None]), IndexType()

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> Sequence[Scalar]:
        start, size = (Scalar(n, "index") for n in args[:2])
        a, x, c = args[2:]
        dots = _dots_of_matrices(b, tile, a, x, c)
        heights = [rows for rows, _ in _DOTS[tile.vector_bytes]]

        def columns(width: int, j: Scalar) -> None:
            _cover(b, b.extent_of(c, 0), heights, lambda rows, i: dots(rows, width, i, j))

        count = b.imin(b.extent_of(c, 1) - start, size)
        return _cover(b, count, [DOT_COLUMNS, 1], columns, start)

    return define(few_rows_symbol(tile), tile.dtype, [index, index, matrix, matrix, matrix], body)


def cover_by_dots(b: KernelBuilder, tile: Tile, some: Rows, columns: Extent, dots: _Dots) -> Sequence[Scalar]:
    """Emit `dots` for tiles (rows, columns, first row, first column) that cover some rows and all columns of C."""
    shapes = _DOTS[tile.vector_bytes]

    def several(rows: int, i: Scalar) -> None:
        most = dict(shapes)[rows]
        sizes = [most, *([DOT_COLUMNS] if most > DOT_COLUMNS else []), 1]
        _cover(b, columns, sizes, lambda width, j: dots(rows, width, i, j))

    return _cover(b, some[1], [rows for rows, _ in shapes], several, some[0])


Reader: TypeAlias = Callable[[int, Scalar, "SSAValue | None"], Scalar]
"""(number of a row or column, p, mask): a vector of its elements from p on, 0 where the mask is false."""


def accumulate_dots(
    b: KernelBuilder, tile: Tile, k: Extent, shape: tuple[int, int], left: Reader, right: Reader
) -> list[Scalar]:
    """Emit Σ_p left(r, p)·right(s, p) for all rows r and columns s of a tile: one vector each, whose lanes are partial
    sums. The last p are masked.
    """
    rows, columns = shape
    pairs = [(r, s) for r in range(rows) for s in range(columns)]
    whole = k // tile.lanes * tile.lanes
    rest = b.first_lanes(k - whole, tile.lanes)

    def advance(mask: SSAValue | None) -> Callable[[Scalar, list[Scalar]], Sequence[Scalar]]:
        def step(p: Scalar, sums: list[Scalar]) -> Sequence[Scalar]:
            above = [left(r, p, mask) for r in range(rows)]
            beside = [right(s, p, mask) for s in range(columns)]
            return [b.fma(above[r], beside[s], total) for (r, s), total in zip(pairs, sums, strict=True)]

        return step

    sums = b.sweep(0, whole, b.zeros(len(pairs), tile.lanes), advance(None), step=tile.lanes)
    return b.sweep(whole, k, sums, advance(rest), step=tile.lanes)


def is_cheaper_by_dots(
    b: KernelBuilder, tile: Tile, m: Extent, n: Extent, k: Extent, copied: Extent = 0, packing: int = 2
) -> Scalar:
    """Emit the test whether dot products cost less than packing, on a core with two vector FMAs per cycle.

    A dot product reduces its lanes at the end; a packed tile is computed whole. Only for products of little work, whose
    operands fit in cache. copied: the columns that dot products copy first. packing: cost of an element that is packed
    or copied, in quarters of a cycle.
    """
    m, n, k, copied = (b.imin(extent, LONGEST) for extent in (m, n, k, copied))
    steps = b.ceildiv(k, tile.lanes) * 2
    dots = m * n * (steps + tile.lanes // 2) + copied * k * packing
    height = b.ceildiv(m, tile.rows) * tile.rows
    width = b.ceildiv(n, tile.columns) * tile.columns
    tiles = height * (width // tile.lanes * 2) * k
    packed = (height + width) * k * packing + _CALLS
    return b.index(dots) < tiles + packed
