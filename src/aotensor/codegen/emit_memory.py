"""Emit memref operations: allocation, views, loads and stores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, NoneAttr
from xdsl.ir import Operation

from aotensor.codegen import llvm
from aotensor.codegen.calls.memory import sized
from aotensor.codegen.emit_state import (
    Buffer,
    Emitter,
    Extent,
    Handler,
    element_bytes,
    known_strides,
    memory_type,
    register_type,
)
from aotensor.codegen.entry.layout import pointer_bytes
from aotensor.codegen.llvm import Value
from aotensor.codegen.targets.systems import system_of
from aotensor.codegen.weights.reads import address_of, scope_of_reads
from aotensor.errors import InternalError
from aotensor.ir.types import kept_axes, type_of_buffer
from aotensor.ir.upstream import PrefetchOp, ReallocOp
from aotensor.passes.direct.lower import RESIZABLE
from aotensor.passes.emit.shape_cache import NOT_FREED

NO_MEMORY: Final = -1
"""The status that a kernel returns, instead of the number of a check, if an allocation fails."""
_MALLOC_ALIGNMENT: Final = 16  # bytes, what malloc gives on every 64-bit target


# --- elements --------------------------------------------------------------------------------------------------------


def _load(e: Emitter, op: memref.LoadOp) -> None:
    buffer, kind = e.buffer(op.memref), type_of_buffer(op.memref)
    address = e.address(buffer, kind, [e.extent(i) for i in op.indices])
    e.set(op.res, e.load(buffer, address, register_type(kind.element_type)))


def _store(e: Emitter, op: memref.StoreOp) -> None:
    buffer = e.buffer(op.memref)
    address = e.address(buffer, type_of_buffer(op.memref), [e.extent(i) for i in op.indices])
    e.store(buffer, address, e.value(op.value))


def _prefetch(e: Emitter, op: PrefetchOp) -> None:
    address = e.address(e.buffer(op.memref), type_of_buffer(op.memref), [e.extent(i) for i in op.indices], exists=False)
    flags = [llvm.constant(llvm.integer(32), n) for n in (int(bool(op.is_write)), op.locality.value.data, 1)]
    llvm.intrinsic(e.builder, "prefetch", [address, *flags], result=llvm.void, overloads=[llvm.pointer])


def _dim(e: Emitter, op: memref.DimOp) -> None:
    axis = e.extent(op.index)
    if not isinstance(axis, int):
        raise InternalError("emit: memref.dim needs a constant axis")
    e.set(op.result, e.register(e.buffer(op.source).sizes[axis]))


def _copy(e: Emitter, op: memref.CopyOp) -> None:
    """Emit a copy of all elements; a memcpy if both sides are row-major."""
    source, target, kind = e.buffer(op.source), e.buffer(op.destination), type_of_buffer(op.source)
    if isinstance(kind.layout, NoneAttr) and isinstance(type_of_buffer(op.destination).layout, NoneAttr):
        size = e.register(e.multiply(e.product(source.sizes), element_bytes(kind)))
        if pointer_bytes(e.module) == 4:
            size = e.builder.trunc(size, llvm.i32)
        arguments = [target.pointer, source.pointer, size, llvm.constant(llvm.i1, 0)]
        overloads = [llvm.pointer, llvm.pointer, size.type]
        llvm.intrinsic(e.builder, "memmove", arguments, result=llvm.void, overloads=overloads)
    else:
        _copy_elements(e, source, target, kind, [])


def _copy_elements(e: Emitter, source: Buffer, target: Buffer, kind: MemRefType[Any], indices: list[Extent]) -> None:
    if len(indices) == len(source.sizes):
        value = e.load(source, e.address(source, kind, indices), register_type(kind.element_type))
        e.store(target, e.address(target, kind, indices), value)
        return

    def body(i: Value, carried: list[Value]) -> Sequence[Value]:
        _copy_elements(e, source, target, kind, [*indices, i])
        return carried

    e.loop((0, source.sizes[len(indices)], 1), [], body)


# --- storage ---------------------------------------------------------------------------------------------------------


def _alloc(e: Emitter, op: memref.AllocOp) -> None:
    """Emit a heap allocation. If it fails, or the size overflows, a kernel returns NO_MEMORY."""
    kind = type_of_buffer(op.memref)
    sizes = e.extents(kind.get_shape(), op.dynamic_sizes)
    size = _checked_product(e, [*sizes, element_bytes(kind)])
    alignment = op.alignment.value.data if op.alignment is not None else 1
    is_freed = NOT_FREED not in op.attributes
    has_aligned = system_of(e.module.triple).has_aligned_alloc
    if alignment <= _MALLOC_ALIGNMENT or not (has_aligned or is_freed):
        start = first = e.builder.call(sized(e.module, "malloc"), [size])
    elif has_aligned:
        start = first = _call_aligned_alloc(e, size, alignment)
    else:
        start, first = _align_in_malloc(e, size, alignment)
    if e.function.function_type.return_type == llvm.i32:
        _return_without_memory(e, start, size)
    number = op.attributes.get(RESIZABLE)
    if isinstance(number, IntegerAttr):
        e.growing[number.value.data] = slot = _slot(e)
        e.builder.store(start, slot)
    elif is_freed:
        e.on_heap[op.memref] = start
    e.set(op.memref, replace(e.make_buffer(kind, first, sizes), base=start))


def _call_aligned_alloc(e: Emitter, size: Value, alignment: int) -> Value:
    """Allocate by aligned_alloc, which requires multiples of the alignment; a negative size fails."""
    padded = e.builder.add(size, llvm.constant(llvm.i64, alignment - 1))
    padded = e.builder.and_(padded, llvm.constant(llvm.i64, -alignment))
    is_fine = e.builder.icmp_signed(">=", size, llvm.constant(llvm.i64, 0))
    padded = e.builder.select(is_fine, padded, llvm.constant(llvm.i64, -alignment))
    return e.builder.call(sized(e.module, "aligned_alloc"), [llvm.constant(llvm.i64, alignment), padded])


def _align_in_malloc(e: Emitter, size: Value, alignment: int) -> tuple[Value, Value]:
    """Allocate by malloc, with room for alignment: return (address to free, address of the elements)."""
    is_fine = e.builder.icmp_signed(">=", size, llvm.constant(llvm.i64, 0))
    room = e.builder.add(size, llvm.constant(llvm.i64, alignment))
    room = e.builder.select(is_fine, room, llvm.constant(llvm.i64, -1))
    start = e.builder.call(sized(e.module, "malloc"), [room])
    past = e.builder.and_(e.builder.ptrtoint(start, llvm.i64), llvm.constant(llvm.i64, alignment - 1))
    ahead = e.builder.sub(llvm.constant(llvm.i64, alignment), past)
    return start, e.builder.gep(start, [ahead], source_etype=llvm.i8)


def _slot(e: Emitter) -> Value:
    """A stack slot for the address of a buffer, initially null."""
    current = e.builder.block
    e.builder.position_at_start(e.entry)
    slot = llvm.opaque(e.builder.alloca(llvm.pointer))
    e.builder.store(llvm.ir.Constant(llvm.pointer, None), slot)
    e.builder.position_at_end(current)
    return slot


def _realloc(e: Emitter, op: ReallocOp) -> None:
    """Emit a reallocation; the new address is stored in the buffer's stack slot."""
    kind, source, number = type_of_buffer(op.result), e.buffer(op.source), op.attributes[RESIZABLE]
    assert isinstance(number, IntegerAttr)
    count = e.extent(op.size)
    size = _checked_product(e, [count, element_bytes(kind)])
    start = e.builder.call(sized(e.module, "realloc"), [source.pointer, size])
    if e.function.function_type.return_type == llvm.i32:
        _return_without_memory(e, start, size)
    e.builder.store(start, e.growing[number.value.data])
    e.set(op.result, e.make_buffer(kind, start, [count]))


def _pointer_as_index(e: Emitter, op: memref.ExtractAlignedPointerAsIndexOp) -> None:
    e.set(op.aligned_pointer, e.builder.ptrtoint(e.buffer(op.source).pointer, llvm.i64))


def _checked_product(e: Emitter, factors: Sequence[Extent]) -> Value:
    """The product of factors as an i64; a negative number, for which malloc fails, if it exceeds 63 bits."""
    zero, none = llvm.constant(llvm.i64, 0), llvm.constant(llvm.i64, -1)
    known = math.prod(factor for factor in factors if isinstance(factor, int))
    size = llvm.constant(llvm.i64, known)
    for factor in factors:
        if not isinstance(factor, int):
            pair = e.builder.smul_with_overflow(size, factor)
            is_bad = e.builder.or_(e.builder.extract_value(pair, 1), e.builder.icmp_signed("<", factor, zero))
            size = e.builder.select(is_bad, none, e.builder.extract_value(pair, 0))
    return size


def _return_without_memory(e: Emitter, start: Value, size: Value) -> None:
    """Emit: if `start` is NULL and the size is not 0, free all buffers and return NO_MEMORY."""
    is_null = e.builder.icmp_unsigned("==", start, llvm.ir.Constant(llvm.pointer, None))
    is_needed = e.builder.icmp_signed("!=", size, llvm.constant(llvm.i64, 0))
    failed, present = (e.function.append_basic_block(name) for name in ("without_memory", "with_memory"))
    e.builder.cbranch(e.builder.and_(is_null, is_needed), failed, present)
    e.builder.position_at_end(failed)
    for other in e.on_heap.values():
        _free(e, other)
    for slot in e.growing.values():
        _free(e, e.builder.load(slot, typ=llvm.pointer))
    e.builder.ret(llvm.constant(llvm.i32, NO_MEMORY))
    e.builder.position_at_end(present)


def _dealloc(e: Emitter, op: memref.DeallocOp) -> None:
    e.on_heap.pop(op.memref, None)
    if isinstance(number := op.attributes.get(RESIZABLE), IntegerAttr):
        e.growing.pop(number.value.data)
    _free(e, e.buffer(op.memref).base)


def _free(e: Emitter, start: Value) -> None:
    e.builder.call(llvm.function(e.module, "free", llvm.void, [llvm.pointer]), [start])


def _alloca(e: Emitter, op: memref.AllocaOp) -> None:
    """Emit an allocation on the stack, in the function's first block, so that loops do not grow the stack."""
    kind = type_of_buffer(op.memref)
    sizes = kind.get_shape()
    if DYNAMIC_INDEX in sizes:
        raise InternalError(f"emit: memref.alloca needs known extents, not {kind}")
    count = e.product(sizes)
    assert isinstance(count, int)
    current = e.builder.block
    e.builder.position_at_start(e.entry)
    start = llvm.opaque(e.builder.alloca(llvm.ir.ArrayType(memory_type(kind.element_type), count)))
    e.builder.position_at_end(current)
    if op.alignment is not None:
        start.align = op.alignment.value.data
    e.set(op.memref, e.make_buffer(kind, start, sizes))


def _get_global(e: Emitter, op: memref.GetGlobalOp) -> None:
    kind, symbol = type_of_buffer(op.memref), op.name_.root_reference.data
    if symbol not in e.weights:
        e.set(op.memref, e.make_buffer(kind, e.module.globals[symbol], kind.get_shape()))
        return
    with e.builder.goto_entry_block():
        start = address_of(e.builder, e.weights[symbol])
    made = e.make_buffer(kind, start, kind.get_shape())
    e.set(op.memref, replace(made, scope=scope_of_reads(e.module), is_weights=True))


# --- views -----------------------------------------------------------------------------------------------------------


def _view(e: Emitter, op: memref.ViewOp) -> None:
    """Emit a typed view of a buffer of bytes.

    Its offset is a formula of all extents. It is made opaque to the optimizer: LLVM's loop strength reduction used nine
    tenths of the compile time of a large kernel to compare such formulas.
    """
    kind = type_of_buffer(op.result)
    shift = e.extent(op.byte_shift)
    shift = shift if isinstance(shift, int) else llvm.hidden(e.builder, shift)
    start = e.shifted(e.buffer(op.source).pointer, llvm.i8, shift)
    made = e.make_buffer(kind, start, e.extents(kind.get_shape(), op.sizes))
    e.set(op.result, replace(made, scope=e.scopes.get(op.result, {})))


def _subview(e: Emitter, op: memref.SubviewOp) -> None:
    source, kind = e.buffer(op.source), type_of_buffer(op.result)
    offsets = e.extents(op.static_offsets.get_values(), op.offsets)
    sizes = e.extents(op.static_sizes.get_values(), op.sizes)
    steps = e.extents(op.static_strides.get_values(), op.strides)
    shift: Extent = 0
    for offset, stride in zip(offsets, source.strides, strict=True):
        shift = e.add(shift, e.multiply(offset, stride))
    strides = [e.multiply(step, stride) for step, stride in zip(steps, source.strides, strict=True)]
    kept = kept_axes(op.static_sizes.get_values(), kind.get_shape())
    view = Buffer(
        e.shifted(source.pointer, memory_type(kind.element_type), shift),
        source.base,
        tuple(sizes[axis] for axis in kept),
        tuple(strides[axis] for axis in kept),
        source.scope,
        source.is_weights,
    )
    e.set(op.result, _with_known(view, kind))


def _reinterpret_cast(e: Emitter, op: memref.ReinterpretCastOp) -> None:
    """Emit a view of a memref's parent buffer with new extents and strides."""
    source, kind = e.buffer(op.source), type_of_buffer(op.result)
    (offset,) = e.extents(op.static_offsets.get_values(), op.offsets)
    sizes = e.extents(op.static_sizes.get_values(), op.sizes)
    strides = e.extents(op.static_strides.get_values(), op.strides)
    start = e.shifted(source.base, memory_type(kind.element_type), offset)
    made = replace(source, pointer=start, sizes=tuple(sizes), strides=tuple(strides))
    e.set(op.result, _with_known(made, kind))


def _expand_shape(e: Emitter, op: memref.ExpandShapeOp) -> None:
    """Emit memref.expand_shape: in a group the last axis keeps the stride, the other axes are row-major."""
    source, kind = e.buffer(op.src), type_of_buffer(op.result)
    sizes = e.extents(op.static_output_shape.get_values(), op.output_shape)
    strides: list[Extent] = [1] * len(sizes)
    for axis, group in enumerate(_groups(op)):
        stride = source.strides[axis]
        for position in reversed(group):
            strides[position] = stride
            stride = e.multiply(stride, sizes[position])
    e.set(op.result, _with_known(replace(source, sizes=tuple(sizes), strides=tuple(strides)), kind))


def _collapse_shape(e: Emitter, op: memref.CollapseShapeOp) -> None:
    """Emit memref.collapse_shape: a group has the stride of its last axis with more than one element."""
    source, kind = e.buffer(op.src), type_of_buffer(op.result)
    sizes, strides = [], []
    for group in _groups(op):
        long = [axis for axis in group if source.sizes[axis] != 1]
        sizes.append(e.product(source.sizes[axis] for axis in group))
        strides.append(source.strides[long[-1] if long else group[-1]])
    e.set(op.result, _with_known(replace(source, sizes=tuple(sizes), strides=tuple(strides)), kind))


def _groups(op: memref.ExpandShapeOp | memref.CollapseShapeOp) -> list[list[int]]:
    return [[position.value.data for position in group.data] for group in op.reassociation.data]


def _cast(e: Emitter, op: memref.CastOp) -> None:
    e.set(op.dest, _with_known(e.buffer(op.source), type_of_buffer(op.dest)))


def _assume_alignment(e: Emitter, op: memref.AssumeAlignmentOp) -> None:
    e.set(op.result, e.buffer(op.memref))


def _with_known(buffer: Buffer, kind: MemRefType[Any]) -> Buffer:
    """A buffer with constants in place of registers where its type has static extents or strides."""
    sizes = tuple(old if new == DYNAMIC_INDEX else new for old, new in zip(buffer.sizes, kind.get_shape(), strict=True))
    strides = tuple(old if new is None else new for old, new in zip(buffer.strides, known_strides(kind), strict=True))
    return replace(buffer, sizes=sizes, strides=strides)


HANDLERS: Final[Mapping[type[Operation], Handler]] = {
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    PrefetchOp: _prefetch,
    memref.DimOp: _dim,
    memref.CopyOp: _copy,
    memref.AllocOp: _alloc,
    ReallocOp: _realloc,
    memref.ExtractAlignedPointerAsIndexOp: _pointer_as_index,
    memref.DeallocOp: _dealloc,
    memref.AllocaOp: _alloca,
    memref.GetGlobalOp: _get_global,
    memref.ViewOp: _view,
    memref.SubviewOp: _subview,
    memref.ReinterpretCastOp: _reinterpret_cast,
    memref.ExpandShapeOp: _expand_shape,
    memref.CollapseShapeOp: _collapse_shape,
    memref.CastOp: _cast,
    memref.AssumeAlignmentOp: _assume_alignment,
}
