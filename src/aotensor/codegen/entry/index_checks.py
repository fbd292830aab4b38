"""Check at memory speed whether compressed indices are valid and canonical; find the order that makes them so.

Canonical means that indices ascend within each major slice. Every function exists for 32-bit and 64-bit indices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aotensor.codegen.entry.code import Code, number
from aotensor.codegen.entry.indices import FAST, Indices
from aotensor.codegen.entry.scan import define_scan
from aotensor.codegen.llvm import (
    Function,
    Module,
    Type,
    Value,
    constant,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
    integer,
    pointer,
    void,
)
from aotensor_runtime.abi import DTYPE_CODES

_KINDS: Final[tuple[tuple[tuple[str, ...], Type, int, int], ...]] = (
    (("bool",), i8, 1, 1),
    (("int8", "uint8"), i8, 1, 1),
    (("int16", "uint16"), integer(16), 2, 1),
    (("int32", "uint32"), i32, 4, 1),
    (("int64", "uint64"), i64, 8, 1),
    (("float32",), f32, 4, 1),
    (("float64",), f64, 8, 1),
    (("complex64",), f32, 4, 2),
    (("complex128",), f64, 8, 2),
)
"""Dtypes that one instruction adds, its type, its bytes, and the count of such numbers per element."""


@dataclass(frozen=True)
class Compressed:
    """The fixed functions on compressed indices of one width.

    i64 scan(indptr, indices, major, minor, nnz, context): CANONICAL, UNSORTED or INVALID.

    i64 arrange(indptr, indices, major, new_indptr, new_indices, order, target): sort
    entries by slice and index, merge duplicates, and return their number. order[k]: former position of entry k.
    target[k]: its new position.
    """

    scan: Function
    arrange: Function


def define_compressed(module: Module, bits: int, has_threads: bool) -> Compressed:
    """Define the functions for indices of 32 or 64 bits.   has_threads: do several cores scan large matrices?"""
    kind = i32 if bits == 32 else i64
    return Compressed(define_scan(module, kind, has_threads), _define_arrange(module, kind))


def _define_arrange(module: Module, kind: Type) -> Function:
    sort = _define_sort(module, kind)
    c = Indices(module, "arrange", i64, [pointer, pointer, i64, pointer, pointer, pointer, pointer], kind)
    indptr, indices, major, new_indptr, new_indices, order, target = c.arguments
    b = c.builder
    count = c.slot(i64, number(0))
    c.put_index(new_indptr, number(0), number(0))
    with c.loop(major) as i:
        low, high = c.index(indptr, i), c.index(indptr, b.add(i, number(1)))
        b.call(sort, [indices, c.at(order, low, 8), c.at(target, low, 8), low, b.sub(high, low)])
        with c.loop(high, low) as k:
            value = c.index(indices, c.item(order, k))
            before = c.index(indices, c.item(order, c.larger(b.sub(k, number(1)), low)))
            is_new = c.any(c.equal(k, low), c.differs(value, before))
            count.add(b.zext(is_new, i64))
            position = b.sub(count.get(), number(1))
            c.store_at(target, k, position)
            c.put_index(new_indices, position, value)
        c.put_index(new_indptr, b.add(i, number(1)), count.get())
    c.ret(count.get())
    return c.function


def _define_sort(module: Module, kind: Type) -> Function:
    """Define void sort(indices, order, spare, first, count): order = first + 0..count-1, sorted stably by index.

    A sorted slice costs one pass. If indices fit 32 bits, the sorted numbers have the index as upper half and the
    position as lower half; otherwise positions are sorted by their indices.
    """
    c = Indices(module, "sort", void, [pointer, pointer, pointer, i64, i64], kind)
    indices, order, spare, first, count = c.arguments
    b = c.builder
    is_mixed, bits = c.slot(i64, number(0)), c.slot(i64, number(0))
    with c.loop(count) as k:
        position = b.add(first, k)
        c.store_at(order, k, position)
        before, value = c.larger(b.sub(position, number(1)), first), c.index(indices, position)
        is_mixed.set(b.or_(is_mixed.get(), b.zext(c.less(value, c.index(indices, before)), i64)))
        bits.set(b.or_(bits.get(), b.or_(value, k)))
    with c.when(c.equal(is_mixed.get(), number(0))):
        b.ret_void()
    with c.when(c.less(bits.get(), number(1 << 31))):
        with c.loop(count) as k:
            value = c.index(indices, b.add(first, k))
            c.store_at(order, k, b.or_(b.shl(value, number(32)), k))
        found = _sort_keys(c, order, spare, count, lambda x: x)
        with c.loop(count) as k:
            c.store_at(order, k, b.add(first, b.and_(c.item(found, k), number((1 << 32) - 1))))
        b.ret_void()
    if kind == i64:
        found = _sort_keys(c, order, spare, count, lambda x: c.index(indices, x))
        with c.loop(count) as k:
            c.store_at(order, k, c.item(found, k))
    b.ret_void()
    return c.function


def _sort_keys(c: Indices, keys: Value, spare: Value, count: Value, rank: Callable[[Value], Value]) -> Value:
    """Emit merges of runs of 1, 2, 4, ... numbers between two buffers; return the buffer with the result."""
    b = c.builder
    source, to = c.slot(pointer, keys), c.slot(pointer, spare)
    rounds = b.sub(number(64), b.ctlz(b.sub(count, number(1)), constant(i1, 0)))
    with c.loop(rounds) as round_:
        width, double = b.shl(number(1), round_), b.add(round_, number(1))
        blocks = b.ashr(b.add(count, b.sub(b.shl(number(1), double), number(1))), double)
        with c.loop(blocks) as block:
            low = b.shl(block, double)
            middle = c.smaller(b.add(low, width), count)
            _merge(c, source.get(), to.get(), (low, middle, c.smaller(b.add(middle, width), count)), rank)
        old = source.get()
        source.set(to.get())
        to.set(old)
    return source.get()


def _merge(
    c: Indices, source: Value, to: Value, bounds: tuple[Value, Value, Value], rank: Callable[[Value], Value]
) -> None:
    """Emit a stable merge of the sorted runs source[low:middle] and source[middle:high] into to[low:high].

    The merge runs from both ends at once: from one end alone, each step would wait for a comparison. The ends may meet
    in one element, which both of them write.
    """
    low, middle, high = bounds
    b = c.builder
    last, end = b.sub(middle, number(1)), b.sub(high, number(1))
    i, j, p, q = (c.slot(i64, start) for start in (low, middle, last, end))
    floor = c.smaller(middle, end)
    half = b.ashr(b.add(b.sub(high, low), number(1)), number(1))
    with c.loop(half) as k:
        one, other = c.item(source, c.smaller(i.get(), last)), c.item(source, c.smaller(j.get(), end))
        is_one = c.all(
            c.less(i.get(), middle), c.any(c.less(end, j.get()), b.icmp_signed("<=", rank(one), rank(other)))
        )
        c.store_at(to, b.add(low, k), b.select(is_one, one, other))
        i.add(b.zext(is_one, i64))
        j.add(b.zext(b.not_(is_one), i64))
        one, other = c.item(source, c.larger(p.get(), low)), c.item(source, c.larger(q.get(), floor))
        is_one = c.all(
            b.icmp_signed(">=", p.get(), low), c.any(c.less(q.get(), middle), c.less(rank(other), rank(one)))
        )
        c.store_at(to, b.sub(end, k), b.select(is_one, one, other))
        p.add(b.sext(is_one, i64))
        q.add(b.sext(b.not_(is_one), i64))


def define_gather(module: Module) -> Function:
    """Define void entry.gather(data, order, target, count, size, dtype, result): result[target[k]] = Σ data[order[k]].

    size: numbers per entry, contiguous in memory: more than one for blocks. Entries with one target are consecutive.
    Integers wrap, bools are combined by or.
    """
    c = Code(module, "entry.gather", void, [pointer, pointer, pointer, i64, i64, i64, pointer], attributes=FAST)
    data, order, target, count, width, dtype, result = c.arguments
    b = c.builder
    for names, kind, size, numbers in _KINDS:
        with c.when(c.any(*(c.equal(dtype, number(DTYPE_CODES[name])) for name in names))):
            extent = b.mul(width, number(numbers))
            with c.loop(count) as k:
                position = c.item(target, k)
                before = c.item(target, c.larger(b.sub(k, number(1)), number(0)))
                is_more = c.all(c.less(number(0), k), c.equal(before, position))
                source, goal = b.mul(c.item(order, k), extent), b.mul(position, extent)
                with c.loop(extent) as e:
                    value = b.load(c.at(data, b.add(source, e), size), typ=kind)
                    to = c.at(result, b.add(goal, e), size)
                    with b.if_else(is_more) as (more, first):
                        with more:
                            old = b.load(to, typ=kind)
                            b.store(_sum(c, names[0], old, value), to)
                        with first:
                            b.store(value, to)
            b.ret_void()
    b.ret_void()
    return c.function


def _sum(c: Code, dtype: str, x: Value, y: Value) -> Value:
    if dtype == "bool":
        return c.builder.or_(x, y)
    return c.builder.fadd(x, y) if dtype.startswith(("float", "complex")) else c.builder.add(x, y)
