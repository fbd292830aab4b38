"""Split products of elements at positions into parts for several cores, each with private panels.

A part is a block of columns of C, or of rows if these are few, of one group; if C is small and sums are long, it is a
part of the sums: these are stored in separate memory and added in order. The split depends on extents only, and so do
results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue

from aotensor.core import dtypes
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i64
from aotensor.passes.gemm.cache_blocks import FUSED, Form, call_on_cores, range_of_chunk
from aotensor.passes.gemm.direct import LONGEST
from aotensor.passes.gemm.position_windows import position
from aotensor.passes.gemm.tile import ALIGNMENT, KernelBuilder, Tile, define
from aotensor.passes.nest.work import quotient
from aotensor.passes.target import Target

_INDEX: Final = IndexType()
_TABLE: Final = memref_type_of(i64, [None])
_MOST_PARTS: Final = 16  # parts of the columns that cores can share evenly; a limit for all axes
_FEWEST_PANELS: Final = (4, 8)  # panels of a part along rows, columns, at least; each part packs its panels of A again
_DEPTHS: Final = 2  # smallest number of blocks of a part of a sum
_ADDED: Final = 2  # the work of adding one number to another, in units of `passes/nest/work.py`


def parts_at(tile: Tile, target: Target, form: Form, arguments: Sequence[Attribute]) -> list[func.FuncOp]:
    """Build `@aot_gemm_at.*` and the helper functions that split its product into parts.

    arguments: argument types of `@aot_gemm_at.*`, the context last.
    """
    *operands, context = arguments
    vector = memref_type_of(tile.element, [None])
    of_parts = [*operands, *[_INDEX] * 4]
    of_split = [*operands, *[_INDEX] * 3, context]
    of_sums = [*[_INDEX] * 3, vector, *[_INDEX] * 4, vector, *[_TABLE] * 3]

    def named(role: str, kinds: Sequence[Attribute], body: _Body, results: Sequence[Attribute] = ()) -> func.FuncOp:
        symbol = form.symbol(role, tile) if role else f"{form.name}.{tile.suffix}"
        return define(symbol, tile.dtype, kinds, lambda b, args: body(b, tile, target, form, args), results)

    functions = [
        named("", arguments, _units_per_part),
        named("parts", [*of_parts, context], _parts),
        named("units", [*[_INDEX] * 3, *of_parts], _units),
    ]
    if target.packs_products:
        functions += [named("split", of_split, _split, [i32]), named("sums", of_sums, _sums)]
    return functions


_Body: TypeAlias = "Callable[[KernelBuilder, Tile, Target, Form, Sequence[SSAValue]], Sequence[Scalar]]"


@dataclass(frozen=True)
class _Operands:
    """The arguments of `@aot_gemm_at.*` without the context: buffers of A, B and C, and their tables of positions."""

    a: SSAValue
    x: SSAValue
    c: SSAValue
    a_positions: Sequence[SSAValue]  # positions of groups, rows, depths
    x_positions: Sequence[SSAValue]  # of groups, depths, columns
    c_positions: Sequence[SSAValue]  # of groups, rows, columns

    @staticmethod
    def from_args(args: Sequence[SSAValue]) -> _Operands:
        a, x, c = args[:3]
        return _Operands(a, x, c, args[3:6], args[6:9], args[9:12])

    def into(self, c: SSAValue, of_c: Sequence[SSAValue]) -> list[SSAValue]:
        """The argument list with another buffer and other positions for C."""
        return [self.a, self.x, c, *self.a_positions, *self.x_positions, *of_c]

    def extents(self, b: KernelBuilder) -> list[Extent]:
        """The extents of the product: (groups, m, n, k)."""
        return [b.extent_of(x, 0) for x in (*self.c_positions, self.a_positions[2])]


def _units_per_part(
    b: KernelBuilder, tile: Tile, target: Target, form: Form, args: Sequence[SSAValue]
) -> Sequence[Scalar]:
    """Emit the body of `@aot_gemm_at.*`: choose the sizes of parts; a single part if there is little work."""
    groups, m, n, k = _Operands.from_args(args).extents(b)
    fewest = b.imin(quotient(b, _work(b, tile, groups, m, n, k), target.chunk_work), _MOST_PARTS)
    down, across = b.ceildiv(m, tile.rows), b.ceildiv(n, tile.columns)

    def cut(units: Extent, parts: Extent, least: int) -> tuple[Extent, Extent]:
        """Split units into at most `parts` parts of at least `least` units each: (units per part, number of parts)."""
        parts = b.imax(b.imin(parts, quotient(b, units, least)), 1)
        size = b.imax(b.ceildiv(units, parts), 1)
        return size, b.imax(b.ceildiv(units, size), 1)

    most = b.select(b.index(fewest) >= 2, b.index(_MOST_PARTS), b.index(1))
    width, count = cut(across, b.ceildiv(most, b.imax(groups, 1)), _FEWEST_PANELS[1])
    so_far = b.imax(count * groups, 1)
    height, count = cut(down, quotient(b, fewest, so_far), _FEWEST_PANELS[0])
    so_far *= count
    block = target.product_depth // dtypes.itemsize(tile.dtype)
    depth, count = cut(k, quotient(b, fewest, so_far), _DEPTHS * block)
    sizes = [b.index(x).ssa for x in (height * tile.rows, width * tile.columns, depth)]
    *operands, context = args

    def parts() -> Sequence[Scalar]:
        whole = [*sizes[:2], b.index(b.imax(k, 1)).ssa, b.index(0).ssa]
        b.builder.insert(func.CallOp(form.symbol("parts", tile), [*operands, *whole, context], []))
        return ()

    def split() -> Sequence[Scalar]:
        status = b.emit(func.CallOp(form.symbol("split", tile), [*operands, *sizes, context], [i32]), "int32")
        return b.branch(b.compare("eq", status, b.constant(0, "int32")), lambda: (), parts)

    if not target.packs_products:
        return parts()
    return b.branch(b.index(count) > 1, split, parts)


def _work(b: KernelBuilder, tile: Tile, groups: Extent, *extents: Extent) -> Extent:
    """The estimated work of all tiles, in units of `passes/nest/work.py`."""
    m, n, k = (b.imin(x, LONGEST) for x in extents)
    return b.imin(quotient(b, m * n * k, tile.lanes), 1 << 40) * (b.imin(groups, LONGEST) * FUSED)


@dataclass(frozen=True)
class _Division:
    """The parts of one product, in reverse order of (group, part of the sums, of the rows, of the columns).

    sizes: m, n and k of a part. stride: elements of C between the partial sums of consecutive parts of the sums.
    """

    groups: Extent
    extents: Sequence[Extent]
    sizes: Sequence[Scalar]
    stride: Scalar
    counts: Sequence[Extent]
    units: Extent

    @staticmethod
    def from_operands(b: KernelBuilder, operands: _Operands, args: Sequence[SSAValue]) -> _Division:
        groups, *extents = operands.extents(b)
        *sizes, stride = (Scalar(x, "index") for x in args[:4])
        down, across, deep = (b.ceildiv(extent, size) for extent, size in zip(extents, sizes, strict=True))
        counts = [down, across, b.imax(deep, 1)]  # an empty sum is 0
        units = groups * counts[2] * (down * across)
        return _Division(groups, extents, sizes, stride, counts, units)


def _parts(b: KernelBuilder, tile: Tile, target: Target, form: Form, args: Sequence[SSAValue]) -> Sequence[Scalar]:
    """Body of @aot_gemm_at_parts(…, m, n, k, stride, context): compute all parts of m rows, n columns and k terms each.

    Partial sums are not added, but stored `stride` elements apart in C.
    """
    *operands, _ = args
    parts = _Division.from_operands(b, _Operands.from_args(operands), operands[12:])
    shape = [b.imin(size, extent) for size, extent in zip(parts.sizes, parts.extents, strict=True)]
    work = _work(b, tile, 1, *shape)
    call_on_cores(b, target, form.symbol("units", tile), parts.units, work, operands)
    return ()


def _units(b: KernelBuilder, tile: Tile, target: Target, form: Form, args: Sequence[SSAValue]) -> Sequence[Scalar]:
    """Body of @aot_gemm_at_units(start, size, count, …, m, n, k, stride): compute some of the parts."""
    call = _Operands.from_args(args[3:])
    parts = _Division.from_operands(b, call, args[15:])

    def divided(number: Extent, count: Extent) -> tuple[Extent, Extent]:
        whole = number // count
        return whole, number - whole * count

    def one(unit: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
        rest, jc = divided(unit, parts.counts[1])
        rest, ic = divided(rest, parts.counts[0])
        g, pc = divided(rest, parts.counts[2])
        corner = [number * size for number, size in zip((ic, jc, pc), parts.sizes, strict=True)]
        extents = [
            b.imin(extent - first, size) for extent, first, size in zip(parts.extents, corner, parts.sizes, strict=True)
        ]
        starts = [position(b, table[0], g) for table in (call.a_positions, call.x_positions, call.c_positions)]
        into = starts[2] + pc * parts.stride
        operands = [
            call.a, *call.a_positions[1:], starts[0].ssa, call.x, *reversed(call.x_positions[1:]), starts[1].ssa,
            call.c, *call.c_positions[1:], b.index(into).ssa, *(b.index(x).ssa for x in (*corner, *extents)),
        ]  # fmt: skip
        b.builder.insert(func.CallOp(form.symbol("part", tile), operands, []))
        return ()

    b.sweep(*range_of_chunk(b, args), (), one)
    return ()


# --- parts of sums ---------------------------------------------------------------------------------------------------


def _split(b: KernelBuilder, tile: Tile, target: Target, form: Form, args: Sequence[SSAValue]) -> Sequence[Scalar]:
    """Body of @aot_gemm_at_split(…, m, n, k, context): compute partial sums in separate memory, then add them.

    Returns 0, or nonzero with C unchanged if there is no memory.
    """
    call = _Operands.from_args(args)
    *sizes, context = args[12:]
    groups, m, n, k = call.extents(b)
    rows = groups * m
    stride = rows * n
    parts = b.ceildiv(k, Scalar(sizes[2], "index"))
    sums = _memory(b, tile.element, parts * stride)
    tables = [_memory(b, i64, extent) for extent in (groups, m, n)]
    for table, extent, step in zip(tables, (groups, m, n), (m * n, n, 1), strict=True):
        _fill(b, table, extent, step)
    operands = [*call.into(sums, tables), *sizes, b.index(stride).ssa, context]
    b.builder.insert(func.CallOp(form.symbol("parts", tile), operands, []))
    numbers = [b.index(x).ssa for x in (parts, stride, m, n)]
    work = n * (parts * _ADDED)
    call_on_cores(b, target, form.symbol("sums", tile), rows, work, [sums, *numbers, call.c, *call.c_positions])
    for memory in (*reversed(tables), sums):
        b.builder.insert(memref.DeallocOp.get(memory))
    return [b.constant(0, "int32")]


def _sums(b: KernelBuilder, tile: Tile, target: Target, form: Form, args: Sequence[SSAValue]) -> Sequence[Scalar]:
    """Body of @aot_gemm_at_sums(start, size, count, sums, parts, stride, m, n, C, groups, rows, columns).

    It adds the partial sums of some rows of all groups.
    """
    sums, c, groups, rows, columns = args[3], *args[8:]
    parts, stride, m, n = (Scalar(x, "index") for x in args[4:8])

    def row(number: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
        first = number * n

        def add(part: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            other = first + part * stride

            def element(j: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
                total, term = (b.fetch(sums, [at + j], tile.dtype) for at in (first, other))
                b.store(total + term, sums, [first + j])
                return ()

            b.loop(0, n, (), element)
            return ()

        b.sweep(1, parts, (), add)
        g = number // m
        i = number - g * m
        place = position(b, groups, g) + position(b, rows, i)

        def put(j: Scalar) -> None:
            value = b.fetch(sums, [first + j], tile.dtype)
            b.store(value, c, [place + position(b, columns, j)])

        b.emit_loop(n, put)
        return ()

    b.sweep(*range_of_chunk(b, args), (), row)
    return ()


def _memory(b: KernelBuilder, element: Attribute, count: Extent) -> SSAValue:
    op = memref.AllocOp(
        [b.index(count).ssa], [], memref_type_of(element, [None]), alignment=IntegerAttr(ALIGNMENT, i64)
    )
    b.builder.insert(op)
    return op.memref


def _fill(b: KernelBuilder, table: SSAValue, extent: Extent, step: Extent) -> None:
    """Fill a table of positions with 0, step, 2·step, …"""
    b.emit_loop(extent, lambda at: b.store(b.cast(b.index(at * step), "int64"), table, [at]))
