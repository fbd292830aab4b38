"""Fixed functions on one array: size in bytes, range of addresses, test for row-major order, strided copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aotensor.codegen.calls.memory import sized
from aotensor.codegen.entry.code import Code, number
from aotensor.codegen.llvm import Function, Module, Value, constant, i1, i64, integer, pointer, void
from aotensor_runtime.abi import Array

_TILE: Final = 8
"""Rows that are copied together: a cache line of float64."""


@dataclass(frozen=True)
class Arrays:
    """The fixed functions on one array, as declared in a module."""

    bytes: Function
    is_packed: Function
    reach: Function
    copy: Function
    strides: Function


def define_arrays(module: Module) -> Arrays:
    """Add the functions on array descriptors to a module."""
    return Arrays(
        define_bytes(module),
        define_is_packed(module),
        define_reach(module),
        define_copy(module),
        define_strides(module),
    )


def define_bytes(module: Module) -> Function:
    """Define i64 entry.bytes(shape, rank, itemsize): bytes of an array, or -1 if it is too large.

    Arrays of 2^60 elements, or 2^59 of 16 bytes, are too large, so that sizes in bytes fit 63 bits. Extents of 0 count
    as 1, as in NumPy.
    """
    c = Code(module, "entry.bytes", i64, [pointer, i64, i64])
    shape, rank, itemsize = c.arguments
    unit = c.larger(itemsize, number(8))
    total, is_empty = c.slot(i64, unit), c.slot(i1, constant(i1, 0))
    with c.loop(rank) as axis:
        extent = c.item(shape, axis)
        is_empty.set(c.any(is_empty.get(), c.equal(extent, number(0))))
        pair = c.builder.smul_with_overflow(total.get(), c.larger(extent, number(1)))
        c.ret_if(c.builder.extract_value(pair, 1), number(-1))
        total.set(c.builder.extract_value(pair, 0))
    small = c.builder.mul(c.builder.lshr(total.get(), number(3)), itemsize)
    size = c.builder.select(c.equal(unit, number(8)), small, total.get())
    c.ret(c.builder.select(is_empty.get(), number(0), size))
    return c.function


def define_is_packed(module: Module) -> Function:
    """Define i1 entry.is_packed(array, shape, rank, itemsize, columns): is it row-major, without gaps, and aligned?

    columns: if true, test for column-major order instead.
    """
    c = Code(module, "entry.is_packed", i1, [pointer, pointer, i64, i64, i1])
    array, shape, rank, itemsize, columns = c.arguments
    no, yes = constant(i1, 0), constant(i1, 1)
    low_bits = c.builder.and_(c.address(c.field(array, Array, "data")), c.builder.sub(itemsize, number(1)))
    c.ret_if(c.differs(low_bits, number(0)), no)
    strides = c.field(array, Array, "strides")
    with c.when(c.is_null(strides)):  # it is row-major
        c.ret(c.any(c.builder.not_(columns), c.less(rank, number(2))))
    step = c.slot(i64, number(1))
    with c.loop(rank) as i:
        axis = c.builder.select(columns, i, c.builder.sub(c.builder.sub(rank, number(1)), i))
        extent = c.item(shape, axis)
        with c.when(c.all(c.differs(extent, number(1)), c.differs(c.item(strides, axis), step.get()))):
            c.ret(no)
        step.set(c.builder.mul(step.get(), extent))
    c.ret(yes)
    return c.function


def define_reach(module: Module) -> Function:
    """Define void entry.reach(array, shape, rank, itemsize, bytes, low, high): an array's range of addresses.

    low is the address of the first byte, high the one after the last byte; both are 0 for an array without elements.
    """
    c = Code(module, "entry.reach", void, [pointer, pointer, i64, i64, i64, pointer, pointer])
    b = c.builder
    array, shape, rank, itemsize, size, low, high = c.arguments
    b.store(number(0), low)
    b.store(number(0), high)
    with c.when(c.equal(size, number(0))):
        b.ret_void()
    data, strides = c.address(c.field(array, Array, "data")), c.field(array, Array, "strides")
    with c.when(c.is_null(strides)):
        b.store(data, low)
        b.store(b.add(data, size), high)
        b.ret_void()
    first, last = c.slot(i64, data), c.slot(i64, b.add(data, itemsize))
    with c.loop(rank) as axis:
        span = b.mul(b.mul(b.sub(c.item(shape, axis), number(1)), c.item(strides, axis)), itemsize)
        is_backward = c.less(span, number(0))
        first.add(b.select(is_backward, span, number(0)))
        last.add(b.select(is_backward, number(0), span))
    b.store(first.get(), low)
    b.store(last.get(), high)
    b.ret_void()
    return c.function


def define_copy(module: Module) -> Function:
    """Define void entry.copy(to, to_strides, from, from_strides, shape, rank, itemsize): a strided copy.

    Strides are in elements; data may have any alignment. The last two axes are tiled by a few rows, so that a
    transposed array is read and written by whole cache lines.
    """
    tile = _define_copy_tile(module)
    c = Code(module, "entry.copy", void, [pointer, pointer, pointer, pointer, pointer, i64, i64])
    b = c.builder
    to, to_strides, source, source_strides, shape, rank, itemsize = c.arguments
    one, zero = number(1), number(0)
    with c.when(c.equal(rank, zero)):
        b.call(tile, [to, zero, zero, source, zero, zero, one, one, itemsize])
        b.ret_void()
    extent, to_step, step = (c.item(x, 0) for x in (shape, to_strides, source_strides))
    with c.when(c.equal(rank, one)):
        b.call(tile, [to, to_step, zero, source, step, zero, extent, one, itemsize])
        b.ret_void()

    def row(base: Value, by: Value, index: Value) -> Value:
        return c.at(base, b.mul(b.mul(index, by), itemsize), 1)

    with c.when(c.equal(rank, number(2))):
        columns, to_inner, inner = (c.item(x, 1) for x in (shape, to_strides, source_strides))
        blocks = b.ashr(b.add(extent, number(_TILE - 1)), number(_TILE.bit_length() - 1))
        with c.loop(blocks) as block:
            first = b.mul(block, number(_TILE))
            left = b.sub(extent, first)
            rows = b.select(c.less(left, number(_TILE)), left, number(_TILE))
            arguments = [row(to, to_step, first), to_step, to_inner, row(source, step, first), step, inner]
            b.call(tile, [*arguments, rows, columns, itemsize])
        b.ret_void()
    rest = [c.at(x, 1, 8) for x in (to_strides, source_strides, shape)]
    with c.loop(extent) as i:
        arguments = [row(to, to_step, i), rest[0], row(source, step, i), rest[1], rest[2]]
        b.call(c.function, [*arguments, b.sub(rank, one), itemsize])
    b.ret_void()
    return c.function


def _define_copy_tile(module: Module) -> Function:
    """Define void entry.copy_tile(to, to_step, to_inner, from, step, inner, rows, columns, itemsize).

    It copies a tile of two axes, column by column.
    """
    c = Code(module, "entry.copy_tile", void, [pointer, i64, i64, pointer, i64, i64, i64, i64, i64])
    b = c.builder
    to, to_step, to_inner, source, step, inner, rows, columns, itemsize = c.arguments
    memcpy = sized(module, "memcpy")
    with c.when(c.all(c.equal(inner, number(1)), c.equal(to_inner, number(1)))):
        with c.loop(rows) as i:
            addresses = [c.at(base, b.mul(i, by), itemsize) for base, by in ((to, to_step), (source, step))]
            b.call(memcpy, [*addresses, b.mul(columns, itemsize)])
        b.ret_void()
    for size in (1, 2, 4, 8, 16):
        with c.when(c.equal(itemsize, number(size))):
            with c.loop(columns) as j, c.loop(rows) as i:
                offset = b.add(b.mul(i, step), b.mul(j, inner))
                value = b.load(c.at(source, offset, size), typ=integer(8 * size), align=1)
                offset = b.add(b.mul(i, to_step), b.mul(j, to_inner))
                b.store(value, c.at(to, offset, size), align=1)
            b.ret_void()
    b.ret_void()
    return c.function


def define_strides(module: Module) -> Function:
    """Define void entry.strides(shape, rank, strides, columns): row- or column-major strides, in elements."""
    c = Code(module, "entry.strides", void, [pointer, i64, pointer, i1])
    shape, rank, strides, columns = c.arguments
    step = c.slot(i64, number(1))
    with c.loop(rank) as i:
        axis = c.builder.select(columns, i, c.builder.sub(c.builder.sub(rank, number(1)), i))
        c.store_at(strides, axis, step.get())
        step.set(c.builder.mul(step.get(), c.item(shape, axis)))
    c.builder.ret_void()
    return c.function
