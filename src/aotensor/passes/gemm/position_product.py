"""Products of elements at positions: contractions and convolutions without matrix copies of their operands.

C[cᵍ + cⁱ + cʲ] = Σ_p A[aᵍ + aⁱ + aᵖ]·B[bᵍ + bᵖ + bʲ]    for every g, i and j, which address each element of C once

Each operand is a whole tensor in C order; a vector of positions for each of its axes addresses its elements. The
windows of a convolution are such a matrix: an element's position is that of the window plus the offset in the window.
Blocks, panels and tiles are those of matrices; only the functions that pack panels and write tiles use positions, and
cores compute parts of the whole (`position_chunks.py`). After Matthews, High-performance tensor contraction without
transposition (2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import Attribute, SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i1, i8, i64
from aotensor.passes.gemm.cache_blocks import Blocked, Form, define_panels, define_tiles
from aotensor.passes.gemm.position_chunks import parts_at
from aotensor.passes.gemm.position_dots import define_dots_at, is_few
from aotensor.passes.gemm.position_packing import define_pack_at
from aotensor.passes.gemm.position_windows import Windows, is_run, position
from aotensor.passes.gemm.tile import ALIGNMENT, KernelBuilder, Tile, accumulate, by_height, define
from aotensor.passes.target import Target

PREFIX_AT: Final = "aot_gemm_at"
_TABLE: Final = memref_type_of(i64, [None])
_PREFETCHED: Final = 128
"""Fewest terms of the sums of a tile whose elements of C are prefetched, which takes as long as three terms."""


def arguments_at(element: Attribute) -> list[Attribute]:
    """Argument types of `@aot_gemm_at`: A, B, C; the positions of each along g and its two axes; the context."""
    flat = memref_type_of(element, [None])
    return [flat, flat, flat, *[_TABLE] * 9, memref_type_of(i8, [1])]


def functions_at(tile: Tile, target: Target) -> list[func.FuncOp]:
    """Build `@aot_gemm_at.*` and its helper functions."""
    form = _form(tile)
    parts = [
        *parts_at(tile, target, form, arguments_at(tile.element)),
        _define_part(tile, target, form, target.packs_products),
    ]
    if not target.packs_products:
        return parts
    return [
        *parts,
        _define_blocked(tile, target, form),
        define_dots_at(tile, form, _kinds(form)),
        define_panels(tile, form),
        define_tiles(tile, form),
        _define_tile(tile, form, target.reads_windows),
        *(define_pack_at(tile, width, form, target.reads_windows) for width in sorted({tile.rows, tile.columns})),
    ]  # fmt: skip


def _form(tile: Tile) -> Form:
    """The form of operands at positions: a buffer, positions of its rows and along the depth, and its start index."""
    where = (memref_type_of(tile.element, [None]), _TABLE, _TABLE, IndexType())
    return Form(PREFIX_AT, where, (*where, *where))


def _kinds(form: Form) -> list[Attribute]:
    """Argument types of a part: A, B and C with positions and starts; the part's start and extent along m, n, k."""
    return [*form.source, *form.result, *[IndexType()] * 6]


def _define_part(tile: Tile, target: Target, form: Form, packs: bool) -> func.FuncOp:
    """Define @aot_gemm_at_part(A, rows, depths, start, B, columns, depths, start, C, rows, columns, start,
    i, j, p, m, n, k).

    C[i : i + m, j : j + n] = A[…, p : p + k]·B[p : p + k, …]   packs: may it allocate memory for panels?
    """

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> Sequence[Scalar]:
        if not packs:
            return _without_memory(b, tile, args)
        (status,) = b.branch(
            is_few(b, tile, target.direct_work, args),
            lambda: [b.emit(func.CallOp(form.symbol("dots", tile), list(args), [i32]), "int32")],
            lambda: [b.emit(func.CallOp(form.symbol("blocked", tile), list(args), [i32]), "int32")],
        )
        has_memory = b.compare("eq", status, b.constant(0, "int32"))
        b.branch(has_memory, lambda: (), lambda: _without_memory(b, tile, args))
        return ()

    return define(form.symbol("part", tile), tile.dtype, _kinds(form), body)


def _define_blocked(tile: Tile, target: Target, form: Form) -> func.FuncOp:
    """Define @aot_gemm_at_blocked, with the arguments of @aot_gemm_at_part.

    It returns 0, or nonzero with C unchanged if there is no memory for panels.
    """

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> Sequence[Scalar]:
        widest = target.near_bytes // target.product_depth  # few filters, many windows: their panels are reused soon
        corner, extents = _part(args)
        operands = (args[:8], args[4:12])
        Blocked(b, tile, target, form, extents, operands, widest, corner, on_cores=False).run()
        return [b.constant(0, "int32")]

    return define(form.symbol("blocked", tile), tile.dtype, _kinds(form), body, [i32])


def _part(args: Sequence[SSAValue]) -> tuple[tuple[Scalar, Scalar, Scalar], tuple[Scalar, Scalar, Scalar]]:
    """The start (i, j, p) and the extents (m, n, k) of a part, from the arguments of its function."""
    i, j, p, m, n, k = (Scalar(x, "index") for x in args[12:])
    return (i, j, p), (m, n, k)


def _without_memory(b: KernelBuilder, tile: Tile, operands: Sequence[SSAValue]) -> Sequence[Scalar]:
    """Emit a product element by element: slow, but without memory for panels."""
    a, a_rows, a_depth, a_start, x, x_columns, x_depth, x_start, c, c_rows, c_columns, c_start = operands[:12]
    (i0, j0, p0), (m, n, k) = _part(operands)

    def at(start: SSAValue, first: tuple[SSAValue, Extent], second: tuple[SSAValue, Extent]) -> Extent:
        return Scalar(start, "index") + (position(b, *first) + position(b, *second))

    def element(row: Scalar, column: Scalar) -> None:
        i, j = i0 + row, j0 + column

        def add(depth: Scalar, total: list[Scalar]) -> Sequence[Scalar]:
            p = p0 + depth
            left = b.fetch(a, [at(a_start, (a_rows, i), (a_depth, p))], tile.dtype)
            right = b.fetch(x, [at(x_start, (x_depth, p), (x_columns, j))], tile.dtype)
            return [b.fma(left, right, total[0])]

        (total,) = b.sweep(0, k, b.zeros(1, 1), add)
        b.store(total, c, [at(c_start, (c_rows, i), (c_columns, j))])

    b.emit_loop(m, lambda i: b.emit_loop(n, lambda j: element(i, j)))
    return ()


# --- tiles -----------------------------------------------------------------------------------------------------------


def _define_tile(tile: Tile, form: Form, reads_windows: bool) -> func.FuncOp:
    """Define @aot_gemm_at_tile(is_first, i, j, p, ip, jp, count, panels of A, panels of B, B, columns, depths, start,
    C, rows, columns, start).

    It computes one tile: stores (if `is_first`) or adds Σ_q A[ip, q, r]·B[p + q, j + s], q < count, for row i + r and
    column j + s of C. B is read from panel `jp`, or where it is.   reads_windows: may B be read where it is?
    """
    kinds = [memref_type_of(tile.element, [None, None, width]) for width in (tile.rows, tile.columns)]
    arguments = [i1, *[IndexType()] * 6, *kinds, *form.result]

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> Sequence[Scalar]:
        i, j, p, ip, jp, count = (Scalar(x, "index") for x in args[1:7])
        panels_a, panels_b = args[7:9]
        c, rows, columns, start = args[13:17]
        live = b.extent_of(rows, 0) - i
        windows = Windows.of(b, tile, args[9:13], j, p, count)

        def compute(tile: Tile) -> None:
            writer = _Writer(b, tile, Scalar(args[0], "bool"), c, (rows, columns), Scalar(start, "index"), (i, j))
            is_long = b.index(count) >= _PREFETCHED
            b.branch(is_long, writer.prefetch, lambda: ())

            def element(q: Scalar, r: int) -> Scalar:
                return b.fetch(panels_a, [ip, q, r], tile.dtype)

            def of_panels() -> list[Scalar]:
                return accumulate(
                    b, tile, count, element, lambda q, v: b.read(panels_b, [jp, q, v * tile.lanes], tile.lanes)
                )

            def of_windows() -> list[Scalar]:
                return windows.accumulate(b, tile, count, element)

            writer.run(b.branch(windows.is_direct, of_windows, of_panels) if reads_windows else of_panels())

        by_height(b, tile, live, compute)
        return ()

    return define(form.symbol("tile", tile), tile.dtype, arguments, body)


class _Writer:
    """Writes the sums of one tile to their positions in C."""

    def __init__(
        self,
        b: KernelBuilder,
        tile: Tile,
        is_first: Scalar,
        c: SSAValue,
        tables: tuple[SSAValue, SSAValue],
        start: Scalar,
        corner: tuple[Scalar, Scalar],
    ) -> None:
        self.b, self.tile, self.is_first, self.c = b, tile, is_first, c
        self.rows, self.columns = tables
        self.start, self.corner = start, corner
        self.live = tuple(b.extent_of(table, 0) - at for table, at in zip(tables, corner, strict=True))

    def prefetch(self) -> Sequence[Scalar]:
        """Prefetch the cache lines of C while the sums are computed, as if the lanes of vectors were contiguous."""
        b, tile = self.b, self.tile
        rows, columns = (b.extent_of(table, 0) - 1 for table in (self.rows, self.columns))
        for r in range(tile.rows):
            row = self.start + position(b, self.rows, b.imin(self.corner[0] + r, rows))
            for v in range(tile.vectors):
                column = b.imin(self.corner[1] + v * tile.lanes, columns)
                b.prefetch(self.c, [row + position(b, self.columns, column)], is_write=True)
        return ()

    def run(self, sums: Sequence[Scalar]) -> None:
        b, tile = self.b, self.tile
        is_full = (b.index(self.live[0]) >= tile.rows) & (b.index(self.live[1]) >= tile.columns)
        (is_plain,) = b.branch(is_full, lambda: [self._are_neighbours()], lambda: [b.constant(False, "bool")])
        b.branch(is_plain, lambda: self._vectors(sums), lambda: self._elements(sums))

    def _are_neighbours(self) -> Scalar:
        """Emit the test whether the lanes of each vector are contiguous in C."""
        b, lanes = self.b, self.tile.lanes
        total = b.constant(True, "bool")
        for v in range(self.tile.vectors):
            total = total & is_run(b, self.columns, self.corner[1] + v * lanes, lanes)
        return total

    def _place(self, r: Extent, s: Extent) -> Extent:
        b = self.b
        row, column = (
            position(b, self.rows, self.corner[0] + r),
            position(b, self.columns, self.corner[1] + s),
        )
        return self.start + (row + column)

    def _vectors(self, sums: Sequence[Scalar]) -> Sequence[Scalar]:
        b, tile = self.b, self.tile
        places = [self._place(r, v * tile.lanes) for r in range(tile.rows) for v in range(tile.vectors)]

        def write(is_set: bool) -> Sequence[Scalar]:
            for place, value in zip(places, sums, strict=True):
                b.write(value if is_set else b.read(self.c, [place], tile.lanes) + value, self.c, [place])
            return ()

        return b.branch(self.is_first, lambda: write(True), lambda: write(False))

    def _elements(self, sums: Sequence[Scalar]) -> Sequence[Scalar]:
        """Write the sums via a scratch tile, only those elements that are inside C."""
        b, tile = self.b, self.tile
        scratch = memref.AllocaOp.get(tile.element, ALIGNMENT, [tile.rows, tile.columns])
        b.builder.insert(scratch)
        for number, value in enumerate(sums):
            r, v = divmod(number, tile.vectors)
            b.write(value, scratch.memref, [r, v * tile.lanes])

        def write(r: Scalar, s: Scalar) -> None:
            place, value = self._place(r, s), b.fetch(scratch.memref, [r, s], tile.dtype)
            old = b.branch(
                self.is_first,
                lambda: [b.constant(0.0, tile.dtype)],
                lambda: [b.fetch(self.c, [place], tile.dtype)],
            )
            b.store(old[0] + value, self.c, [place])

        columns = b.imin(self.live[1], tile.columns)
        b.emit_loop(b.imin(self.live[0], tile.rows), lambda r: b.emit_loop(columns, lambda s: write(r, s)))
        return ()
