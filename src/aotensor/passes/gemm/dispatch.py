"""Define `@aot_gemm.f32` and `@aot_gemm.f64`: BLAS for huge products, our own kernels otherwise.

func.func private @aot_gemm.f64(...)    →    func.func private @aot_gemm.f64(...) {
                                               scf.if %big { %done = func.call @aot_blas_gemm.f64(...) }
                                               scf.if not %done { direct or blocked kernel } }

C = op(A)·op(B) with row-major A, B, C, where op transposes if its flag is set. The bodies of `@aot_gemm_at.*`, the
products of elements at positions, are built by `position_product.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from aotensor.core import dtypes
from aotensor.core.dtypes import DTYPES
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import element_type, i1, i8
from aotensor.passes.gemm.cache_blocks import FUSED, Form, define_blocked, define_panels, define_tiles
from aotensor.passes.gemm.direct import (
    DOT_COLUMNS,
    LONGEST,
    ROWS,
    define_direct,
    define_few_rows,
    direct_symbol,
    few_rows_symbol,
    is_cheaper_by_dots,
    rows_at_once,
)
from aotensor.passes.gemm.pack import define_pack
from aotensor.passes.gemm.position_product import PREFIX_AT, arguments_at, functions_at
from aotensor.passes.gemm.tile import KernelBuilder, Tile, define
from aotensor.passes.gemm.tile_of_panels import define_tile
from aotensor.passes.nest.work import quotient, rows_of_chunk
from aotensor.passes.registry import ir_pass
from aotensor.passes.target import Target

BLAS_PREFIX: Final = "aot_blas_gemm"
"""The function that tries BLAS; codegen defines it."""

_DTYPES: Final = {
    f"{prefix}.{DTYPES[dtype].ir}": dtype for prefix in ("aot_gemm", PREFIX_AT) for dtype in dtypes.FLOATS
}

_DOT_COLUMNS: Final = 9  # columns of Bᵀ from which packing pays
_TYPICAL: Final = Target()
_PASS: Final = 4  # rows of A for which rows of B are read once by any kernel
_PART_OF_CACHE: Final = 8  # the rows of A may take this part of the second level cache
_CROSSING_PAYS: Final = 16  # m·n / (m + n) per byte of an element from which packing costs less than crossing lines
_FEW_PASSES: Final = 4  # sweeps over B in the last level cache that are faster than packing it


@ir_pass("add-gemm-kernels", level="loops", topic="products")
def add_gemm_kernels(module: ModuleOp, vector_bytes: int = 32, target: Target = _TYPICAL) -> None:
    """Adds bodies of `@aot_gemm.*` for the vector registers of the target, in the module of the products.

    The blocked kernel allocates and frees its panels itself, so this runs after plan-memory.

    vector_bytes: of the machine's vector registers, 16, 32 or 64; code for longer ones than it has is correct but slow.
    target: the sizes of its caches, and how much work amortises another core
    """
    for op in list(module.body.block.ops):
        if isinstance(op, func.FuncOp) and op.is_declaration and op.sym_name.data in _DTYPES:
            tile = Tile.for_registers(_DTYPES[op.sym_name.data], vector_bytes)
            is_at = op.sym_name.data.startswith(PREFIX_AT)
            Rewriter.erase_op(op)
            module.body.block.add_ops((functions_at if is_at else _functions)(tile, target))


def declared_products(symbols: Iterable[str]) -> list[str]:
    """Filter a sequence of symbols: return the names of matrix products."""
    return [symbol for symbol in symbols if symbol in _DTYPES]


def product_module(symbol: str) -> ModuleOp:
    """A module that declares one matrix product and nothing else."""
    element = element_type(_DTYPES[symbol])
    is_at = symbol.startswith(PREFIX_AT)
    arguments = arguments_at(element) if is_at else _arguments(memref_type_of(element, [None, None]))
    return ModuleOp([func.FuncOp.external(symbol, arguments, [])])


def _arguments(matrix: Attribute) -> list[Attribute]:
    """The argument types of @aot_gemm: flags to transpose A and B, the buffers A, B and C, and the caller's BLAS."""
    return [i1, i1, matrix, matrix, matrix, memref_type_of(i8, [1])]


def _functions(tile: Tile, target: Target) -> list[func.FuncOp]:
    form = Form.for_matrices(tile)
    arguments = _arguments(memref_type_of(tile.element, [None, None]))
    always = [
        define(f"aot_gemm.{tile.suffix}", tile.dtype, arguments, lambda b, args: _dispatch(b, tile, target, args)),
        func.FuncOp.external(_blas_symbol(tile), arguments, [i1]),
        define_direct(tile),
    ]
    if not target.packs_products:
        return always
    return [
        *always,
        define_blocked(tile, target),
        define_panels(tile, form),
        define_tiles(tile, form),
        define_tile(tile),
        define_few_rows(tile),
        *(define_pack(tile, width) for width in sorted({tile.rows, tile.columns})),
    ]


def _blas_symbol(tile: Tile) -> str:
    return f"{BLAS_PREFIX}.{tile.suffix}"


def _dispatch(b: KernelBuilder, tile: Tile, target: Target, args: Sequence[SSAValue]) -> Sequence[Scalar]:
    transpose_a, a, c = Scalar(args[0], "bool"), args[2], args[4]
    m, n = b.extent_of(c, 0), b.extent_of(c, 1)
    first, second = b.extent_of(a, 0), b.extent_of(a, 1)
    assert isinstance(first, Scalar) and isinstance(second, Scalar)
    k = b.select(transpose_a, first, second)
    work = b.imin(m, LONGEST) * b.imin(n, LONGEST) * b.imin(k, LONGEST)
    (done,) = b.branch(
        b.index(work) >= target.blas_work,
        lambda: [b.emit(func.CallOp(_blas_symbol(tile), args, [i1]), "bool")],
        lambda: [b.constant(False, "bool")],
    )
    return b.branch(done, lambda: (), lambda: _own_kernel(b, tile, target, args, (m, n, k), work))


def _own_kernel(
    b: KernelBuilder,
    tile: Tile,
    target: Target,
    args: Sequence[SSAValue],
    extents: tuple[Extent, Extent, Extent],
    work: Extent,
) -> Sequence[Scalar]:
    m, n, k = extents
    transpose_a, transpose_b = (Scalar(x, "bool") for x in args[:2])
    a, x, c, context = args[2:]

    def call(symbol: str, *operands: SSAValue) -> Sequence[Scalar]:
        b.builder.insert(func.CallOp(symbol, operands, []))
        return ()

    def direct(is_transposed: Scalar, *matrices: SSAValue) -> Sequence[Scalar]:
        rows = b.index(b.extent_of(matrices[-1], 0))
        return call(direct_symbol(tile), b.index(0).ssa, rows.ssa, is_transposed.ssa, *matrices)

    def one_column() -> Sequence[Scalar]:
        """Emit a product with one column as a row: Cᵀ = op(B)ᵀ·op(A)ᵀ, where op(B) is a vector in any order."""
        row = b.matrix(x, b.constant(False, "bool"), 1, k)
        return direct(~transpose_a, row, a, b.reinterpret(c, [b.index(1), m]))

    def several_columns() -> Sequence[Scalar]:
        view = b.matrix(a, transpose_a, m, k)
        if not target.packs_products:
            is_possible = ~(transpose_a & transpose_b)
            return b.branch(
                b.compare("eq", b.index(m), b.index(1)) | is_possible,
                lambda: on_cores(view),
                lambda: _without_memory(b, tile, view, b.matrix(x, transpose_b, k, n), c),
            )
        flags = transpose_a, transpose_b
        return b.branch(
            _has_few_rows(b, tile, target, flags, (m, n, k), work),
            few_rows,
            lambda: b.branch(
                _is_direct(b, tile, target, flags, (m, n, k), work),
                lambda: direct(transpose_b, view, x, c),
                lambda: b.branch(
                    _is_in_cache(b, tile, target, flags, (m, n, k), x), lambda: on_cores(view), lambda: blocked(view)
                ),
            ),
        )

    def few_rows() -> Sequence[Scalar]:
        """Emit calls of the kernel for few rows of A, for chunks of columns."""
        work = quotient(b, m * k * FUSED, tile.lanes)
        size = b.index(rows_of_chunk(b, n, work, target.chunk_work, target.most_chunks, DOT_COLUMNS))

        def chunk(start: Scalar) -> None:
            call(few_rows_symbol(tile), start.ssa, size.ssa, a, x, c)

        b.parallel(n, size, chunk)
        return ()

    def on_cores(view: SSAValue) -> Sequence[Scalar]:
        """Emit calls of the direct kernel for chunks of rows."""
        work = quotient(b, n * k * FUSED, tile.lanes)
        size = b.index(rows_of_chunk(b, m, work, target.chunk_work, target.most_chunks, rows_at_once(tile)))
        operands = [size.ssa, transpose_b.ssa, view, x, c]

        def chunk(start: Scalar) -> None:
            call(direct_symbol(tile), start.ssa, *operands)

        b.parallel(m, size, chunk)
        return ()

    def blocked(view: SSAValue) -> Sequence[Scalar]:
        operands = [transpose_a.ssa, transpose_b.ssa, a, x, c, context]
        status = b.emit(func.CallOp(Form.for_matrices(tile).symbol("blocked", tile), operands, [i32]), "int32")
        other = b.matrix(x, transpose_b, k, n)
        has_memory = b.compare("eq", status, b.constant(0, "int32"))
        return b.branch(has_memory, lambda: (), lambda: _without_memory(b, tile, view, other, c))

    return b.branch(b.compare("eq", b.index(n), b.index(1)), one_column, several_columns)


def _without_memory(b: KernelBuilder, tile: Tile, a: SSAValue, x: SSAValue, c: SSAValue) -> Sequence[Scalar]:
    """Emit C = A·B element by element, for operands with any strides: slow, but without memory for panels."""

    def element(i: Scalar, j: Scalar) -> None:
        def add(p: Scalar, total: list[Scalar]) -> Sequence[Scalar]:
            return [b.fma(b.fetch(a, [i, p], tile.dtype), b.fetch(x, [p, j], tile.dtype), total[0])]

        (total,) = b.sweep(0, b.extent_of(a, 1), b.zeros(1, 1), add)
        b.store(total, c, [i, j])

    b.emit_loop(b.extent_of(c, 0), lambda i: b.emit_loop(b.extent_of(c, 1), lambda j: element(i, j)))
    return ()


def _has_few_rows(
    b: KernelBuilder,
    tile: Tile,
    target: Target,
    flags: tuple[Scalar, Scalar],
    extents: tuple[Extent, Extent, Extent],
    work: Extent,
) -> Scalar:
    """Emit the test whether A·Bᵀ is much work for rows of A that stay in cache while rows of B are read once."""
    m, _, k = extents
    transpose_a, transpose_b = flags
    bytes_of_a = b.imin(m, LONGEST) * b.imin(k, LONGEST) * dtypes.itemsize(tile.dtype)
    is_few = (b.index(m) > _PASS) & (b.index(m) <= tile.rows)
    is_held = b.index(bytes_of_a) <= target.direct_bytes // _PART_OF_CACHE
    is_much = b.index(work) > target.direct_work
    return transpose_b & ~transpose_a & (is_few & (is_held & is_much))


def _is_direct(
    b: KernelBuilder,
    tile: Tile,
    target: Target,
    flags: tuple[Scalar, Scalar],
    extents: tuple[Extent, Extent, Extent],
    work: Extent,
) -> Scalar:
    """Emit the test for the direct kernel: is the product one row, or too small to pack? It lacks Aᵀ·Bᵀ."""
    m, n, k = extents
    transpose_a, transpose_b = flags
    is_little = b.index(work) <= target.direct_work
    is_small = is_little & (~transpose_b | is_cheaper_by_dots(b, tile, m, n, k))
    is_flat = b.index(m) <= tile.rows
    few = b.select(transpose_b, b.index(_DOT_COLUMNS), b.index(tile.columns * 3 // 4))
    is_thin = ~transpose_a & (b.index(n) < few)
    is_single = b.compare("eq", b.index(m), b.index(1))
    is_possible = ~(transpose_a & transpose_b)
    return is_single | (is_possible & (is_small | (is_flat | is_thin)))


def _is_in_cache(
    b: KernelBuilder,
    tile: Tile,
    target: Target,
    flags: tuple[Scalar, Scalar],
    extents: tuple[Extent, Extent, Extent],
    x: SSAValue,
) -> Scalar:
    """Emit the test whether reading B in place, once per few rows of C, is faster than packing it.

    It is if its rows are so short that the cache lines of some columns span few pages, and if the second level cache
    holds all of B, or it is read only a few times. The same holds for the rows of A if these are columns of op(A).
    Vectors of B that cross cache lines take longer than aligned ones in panels, which pays for packing where m and n
    are large. Both kernels give the same bits up to the depth of a panel; beyond, the choice must not depend on the
    alignment, and B counts as unaligned, as the arrays of most callers are.
    """
    m, n, k = (b.imin(extent, LONGEST) for extent in extents)
    transpose_a, transpose_b = flags
    itemsize = dtypes.itemsize(tile.dtype)
    row = n * itemsize
    is_short = (b.index(row) <= target.direct_row) & (~transpose_a | (b.index(m * itemsize) < target.direct_row))
    is_held = b.index(row * k) <= target.direct_bytes
    is_held |= b.index(m) <= ROWS * _FEW_PASSES
    is_best = ~transpose_b & (is_short & is_held)
    if not tile.has_masks:
        return is_best  # short vectors rarely cross cache lines
    address = b.emit(memref.ExtractAlignedPointerAsIndexOp.get(x), "index")
    is_aligned = b.compare("eq", b.index((address + row) % tile.vector_bytes), b.index(0))
    is_aligned &= b.compare("eq", b.index(row % tile.vector_bytes), b.index(0))
    is_one_panel = b.index(k) <= target.product_depth // itemsize
    is_packed_fast = b.index(m * n) >= (m + n) * (_CROSSING_PAYS * itemsize)
    return is_best & ~(is_packed_fast & ~(is_aligned & is_one_panel))
