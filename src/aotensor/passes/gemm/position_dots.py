"""Products of elements at positions with few columns: dot products of rows of A, which are read in place.

    X[j, p] = B[bᵖ + bʲ]             the columns of B as rows
    C[cⁱ + cʲ] = Σ_p A[aⁱ + p]·X[j, p]

A convolution of few positions reads each filter for a few windows only, so that packing filters takes longer than the
products. It applies where the terms of a row of A are contiguous, as those of a filter are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i64
from aotensor.passes.gemm.cache_blocks import Form
from aotensor.passes.gemm.direct import LONGEST, accumulate_dots, cover_by_dots, is_cheaper_by_dots
from aotensor.passes.gemm.position_windows import is_run, position
from aotensor.passes.gemm.tile import ALIGNMENT, KernelBuilder, Tile, define

_PACKING: Final = 3
"""Quarters of a cycle that an element at a position takes to be packed or copied."""
_MOST_SUMS: Final = 16  # sums of a tile of dot products


@dataclass(frozen=True)
class _Few:
    """A part of a product: operands with their tables of positions, first row, column and term, and extents."""

    a: SSAValue
    a_rows: SSAValue
    a_depth: SSAValue
    a_start: Scalar
    x: SSAValue
    x_columns: SSAValue
    x_depth: SSAValue
    x_start: Scalar
    c: SSAValue
    c_rows: SSAValue
    c_columns: SSAValue
    c_start: Scalar
    corner: Sequence[Scalar]
    extents: Sequence[Scalar]

    @staticmethod
    def from_args(args: Sequence[SSAValue]) -> _Few:
        """The part that the arguments of `@aot_gemm_at_part` describe."""
        a, a_rows, a_depth, a_start, x, x_columns, x_depth, x_start, c, c_rows, c_columns, c_start = args[:12]
        of_a, of_x, of_c = (Scalar(start, "index") for start in (a_start, x_start, c_start))
        numbers = [Scalar(n, "index") for n in args[12:]]
        return _Few(
            a, a_rows, a_depth, of_a, x, x_columns, x_depth, of_x, c, c_rows, c_columns, of_c, numbers[:3], numbers[3:]
        )


def is_few(b: KernelBuilder, tile: Tile, most: int, args: Sequence[SSAValue]) -> Scalar:
    """Emit the test whether dot products take less time than packing, and can read rows of A in place.

    most: multiply-adds of a part with little work. args: of @aot_gemm_at_part
    """
    few = _Few.from_args(args)
    m, n, k = few.extents
    has_terms = b.index(b.imin(n, k)) >= 1
    work = b.imin(m, LONGEST) * b.imin(n, LONGEST) * b.imin(k, LONGEST)
    is_little = has_terms & (b.index(work) <= most)
    (found,) = b.branch(
        is_little & is_cheaper_by_dots(b, tile, m, n, k, copied=n, packing=_PACKING),
        lambda: [is_run(b, few.a_depth, few.corner[2], k)],
        lambda: [b.constant(False, "bool")],
    )
    return found


def define_dots_at(tile: Tile, form: Form, kinds: Sequence[Attribute]) -> func.FuncOp:
    """Define @aot_gemm_at_dots, with the arguments of @aot_gemm_at_part, of these types.

    It returns 0, or nonzero with C unchanged if there is no memory for the columns of B.
    """

    def body(b: KernelBuilder, args: Sequence[SSAValue]) -> Sequence[Scalar]:
        few = _Few.from_args(args)
        (_, j0, p0), (_, n, k) = few.corner, few.extents
        kind = memref_type_of(tile.element, [None, None])
        rows = memref.AllocOp([n.ssa, k.ssa], [], kind, alignment=IntegerAttr(ALIGNMENT, i64))
        scratch = memref.AllocaOp.get(tile.element, ALIGNMENT, [_MOST_SUMS])
        b.builder.insert(rows)
        b.builder.insert(scratch)

        def gather(j: Scalar) -> None:
            first = few.x_start + position(b, few.x_columns, j0 + j)

            def copy(p: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                at = first + position(b, few.x_depth, p0 + p)
                b.store(b.fetch(few.x, [at], tile.dtype), rows.memref, [j, p])
                return ()

            b.loop(0, k, (), copy)

        b.emit_loop(n, gather)
        _products(b, tile, few, rows.memref, scratch.memref)
        b.builder.insert(memref.DeallocOp.get(rows.memref))
        return [b.constant(0, "int32")]

    return define(form.symbol("dots", tile), tile.dtype, kinds, body, [i32])


def _products(b: KernelBuilder, tile: Tile, few: _Few, x: SSAValue, scratch: SSAValue) -> None:
    (i0, j0, p0), (m, n, k) = few.corner, few.extents
    is_line = is_run(b, few.c_columns, j0, n)
    depth = few.a_start + position(b, few.a_depth, p0)

    def place(i: Extent, j: Extent) -> Extent:
        row, column = position(b, few.c_rows, i0 + i), position(b, few.c_columns, j0 + j)
        return few.c_start + (row + column)

    def dots(rows: int, columns: int, i: Scalar, j: Scalar) -> None:
        starts = [depth + position(b, few.a_rows, i0 + (i + r)) for r in range(rows)]
        sums = accumulate_dots(
            b, tile, k, (rows, columns),
            lambda r, p, mask: b.read(few.a, [starts[r] + p], tile.lanes, mask),
            lambda s, p, mask: b.read(x, [j + s, p], tile.lanes, mask),
        )  # fmt: skip

        def write_rows() -> Sequence[Scalar]:
            for r in range(rows):
                at: Extent = place(i + r, j)
                for part in b.sums_of_lanes(sums[r * columns : (r + 1) * columns]):
                    b.write(part, few.c, [at])
                    at += b.lanes_of(part)
            return ()

        def write_elements() -> Sequence[Scalar]:
            at = 0
            for part in b.sums_of_lanes(sums):
                b.write(part, scratch, [at])
                at += b.lanes_of(part)

            def put(r: Scalar, s: Scalar) -> None:
                value = b.fetch(scratch, [r * columns + s], tile.dtype)
                b.store(value, few.c, [place(i + r, j + s)])

            b.emit_loop(rows, lambda r: b.emit_loop(columns, lambda s: put(r, s)))
            return ()

        if columns == 1:
            write_elements()
        else:
            b.branch(is_line, write_rows, write_elements)

    cover_by_dots(b, tile, (0, m), n, dots)
