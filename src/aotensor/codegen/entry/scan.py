"""Scan the indices of a compressed matrix in one sweep: are they valid, and strictly ascending in each slice?

A descent is an index that is not larger than the one before it. The indices are canonical if all descents are between
slices, which are counted separately:

    block b of B:   entries k = b·e … (b + 1)·e:   range of indices[k], descents from k to k + 1
                    slices  i = b·r … (b + 1)·r:   fall of indptr, descent from the entry before slice i to its first

Entries and slices are distributed evenly, independently of each other, so that a long slice does not delay a core, and
no read is out of bounds for any content. If slices have similar lengths, the first entries of a block's slices are
still in cache. The counts of the blocks are added: the result is the same for any number of threads. A second,
sequential sweep finds the invalid entry.
"""

from __future__ import annotations

import ctypes
from typing import Final

from aotensor.codegen.entry.code import Slot, number
from aotensor.codegen.entry.indices import CANONICAL, INVALID, UNSORTED, Indices
from aotensor.codegen.entry.threads import Job, declare_parallel
from aotensor.codegen.llvm import Function, Module, Type, Value, constant, i32, i64, pointer, void

_BLOCK: Final = 1 << 14
"""Entries and slices per block: its indices stay in the second level cache, its count fits an index."""
_CHUNK_BLOCKS: Final = 4
"""Smallest number of blocks that amortises another core: about 10 microseconds."""
_MOST_CHUNKS: Final = 64


class _Scan(ctypes.Structure):
    """The job of a scan, with the values that its chunks read. last: the largest valid index.

    per_block, slices_per_block: entries and slices per block. found, wrong: number of descents within slices, and
    whether an index is invalid.
    """

    _fields_ = (
        *Job._fields_,
        ("indptr", ctypes.c_void_p),
        ("indices", ctypes.c_void_p),
        ("major", ctypes.c_int64),
        ("last", ctypes.c_int64),
        ("nnz", ctypes.c_int64),
        ("per_block", ctypes.c_int64),
        ("slices_per_block", ctypes.c_int64),
        ("found", ctypes.c_int64),
        ("wrong", ctypes.c_int64),
    )


def define_scan(module: Module, kind: Type, has_threads: bool) -> Function:
    """Define i64 scan(indptr, indices, major, minor, nnz, context): CANONICAL, UNSORTED or INVALID."""
    chunk = _define_chunk(module, kind, has_threads)
    c = Indices(module, "scan", i64, [pointer, pointer, i64, i64, i64, pointer], kind)
    indptr, indices, major, minor, nnz, context = c.arguments
    b = c.builder
    ends = c.any(c.differs(c.index(indptr, number(0)), number(0)), c.differs(c.index(indptr, major), nnz))
    c.ret_if(ends, number(INVALID))
    limit = (1 << 31) - 1 if kind == i32 else (1 << 63) - 1
    blocks = _shares(c, b.add(nnz, major), number(_BLOCK))
    c.ret_if(c.equal(blocks, number(0)), number(CANONICAL))
    step = c.larger(_shares(c, blocks, number(_MOST_CHUNKS)), number(_CHUNK_BLOCKS))
    if has_threads:
        several = c.less(step, blocks)
    else:
        step, several = blocks, None
    scan = c.structs(_Scan, number(1))
    values = {
        "run": chunk, "step": step, "upper": blocks, "indptr": indptr, "indices": indices, "major": major,
        "last": c.smaller(b.sub(minor, number(1)), number(limit)), "nnz": nnz,
        "per_block": _shares(c, nnz, blocks), "slices_per_block": _shares(c, major, blocks),
        **dict.fromkeys(("next", "done", "started", "lanes", "found", "wrong"), number(0)),
    }  # fmt: skip
    for name, value in values.items():
        c.put_field(scan, _Scan, name, value)
    if several is None:
        b.call(chunk, [scan, number(0), number(0)])
    else:
        with b.if_else(several) as (many, one):
            with many:
                b.call(declare_parallel(module), [context, scan])
            with one:
                b.call(chunk, [scan, number(0), number(0)])
    c.ret_if(c.differs(c.field(scan, _Scan, "wrong"), number(0)), number(INVALID))
    is_canonical = c.equal(c.field(scan, _Scan, "found"), number(0))
    c.ret(b.select(is_canonical, number(CANONICAL), number(UNSORTED)))
    return c.function


def _define_chunk(module: Module, kind: Type, has_threads: bool) -> Function:
    """Define void scan_chunk(scan, start, lane): scan blocks from `start` on. has_threads: add counts atomically?"""
    c = Indices(module, "scan_chunk", void, [pointer, i64, i64], kind)
    scan, start, _ = c.arguments
    b = c.builder
    step, upper = (c.field(scan, _Scan, name) for name in ("step", "upper"))
    signs, descents = c.slot(kind, constant(kind, 0)), c.slot(i64, number(0))
    two = c.alloca(i64, 2)
    c.clear(two, number(2))
    with c.loop(c.smaller(b.add(start, step), upper), start) as block:
        _look_at_entries(c, scan, block, signs, descents)
        _look_at_slices(c, scan, block, two, signs, descents)
    is_wrong = b.zext(c.less(signs.get(), constant(kind, 0)), i64)
    if has_threads:
        b.atomic_rmw("add", c.field_address(scan, _Scan, "found"), descents.get(), "acq_rel")
        b.atomic_rmw("or", c.field_address(scan, _Scan, "wrong"), is_wrong, "acq_rel")
    else:  # 64 bits are not atomic on every machine
        c.put_field(scan, _Scan, "found", b.add(c.field(scan, _Scan, "found"), descents.get()))
        c.put_field(scan, _Scan, "wrong", b.or_(c.field(scan, _Scan, "wrong"), is_wrong))
    b.ret_void()
    return c.function


def _range(c: Indices, scan: Value, block: Value, share: str, count: str) -> tuple[Value, Value]:
    """The start and end of a block's share of entries or slices."""
    size, total = c.field(scan, _Scan, share), c.field(scan, _Scan, count)
    first = c.smaller(c.builder.mul(block, size), total)
    return first, c.smaller(c.builder.add(first, size), total)


def _look_at_entries(c: Indices, scan: Value, block: Value, signs: Slot, descents: Slot) -> None:
    """Emit the scan of a block's indices: check that they are in range, and count the descents."""
    b, kind, indices = c.builder, c.kind, c.field(scan, _Scan, "indices")
    last = c.field(scan, _Scan, "last")
    last = last if kind == i64 else b.trunc(last, i32)

    def note(value: Value) -> None:
        """Accumulate the sign of value | (last - value), which is negative for an index out of range."""
        signs.set(b.or_(signs.get(), b.or_(value, b.sub(last, value))))

    first, stop = _range(c, scan, block, "per_block", "nnz")
    with c.when(c.less(first, stop)):
        note(c.item(indices, b.sub(stop, number(1)), kind))
    here = c.slot(kind, constant(kind, 0))
    with c.loop(c.smaller(stop, b.sub(c.field(scan, _Scan, "nnz"), number(1))), first) as k:
        value, after = c.item(indices, k, kind), c.item(indices, b.add(k, number(1)), kind)
        note(value)
        here.set(b.sub(here.get(), b.sext(b.icmp_signed("<=", after, value), kind)))
    descents.add(here.get() if kind == i64 else b.sext(here.get(), i64))


def _look_at_slices(c: Indices, scan: Value, block: Value, two: Value, signs: Slot, descents: Slot) -> None:
    """Emit the scan of a block's slices: check that indptr ascends, and subtract descents at starts of slices.

    Positions are clamped to the array for any content of indptr; with less than two entries, a local array of two is
    read.
    """
    b, kind, indptr = c.builder, c.kind, c.field(scan, _Scan, "indptr")
    nnz = c.field(scan, _Scan, "nnz")
    is_short = c.less(nnz, number(2))
    indices = b.select(is_short, two, c.field(scan, _Scan, "indices"))
    limit = b.select(is_short, number(0), b.sub(nnz, number(2)))
    limit = limit if kind == i64 else b.trunc(limit, i32)
    first, stop = _range(c, scan, block, "slices_per_block", "major")
    here = c.slot(kind, constant(kind, 0))
    zero, one = constant(kind, 0), constant(kind, 1)
    with c.loop(stop, first) as i:
        start, end = c.item(indptr, i, kind), c.item(indptr, b.add(i, number(1)), kind)
        signs.set(b.or_(signs.get(), b.sext(c.less(end, start), kind)))
        before = b.sub(start, one)
        before = b.select(c.below(before, limit), before, limit)
        value, after = c.pair(indices, before)
        is_descent = b.icmp_signed("<=", after, value)
        is_border = c.all(c.less(start, end), c.less(zero, start), is_descent)
        here.set(b.add(here.get(), b.zext(is_border, kind)))
    here = here.get() if kind == i64 else b.sext(here.get(), i64)
    descents.set(b.sub(descents.get(), here))


def _shares(c: Indices, count: Value, parts: Value) -> Value:
    """The size of equal shares: ⌈count / parts⌉."""
    return c.builder.udiv(c.builder.add(count, c.builder.sub(parts, number(1))), parts)
