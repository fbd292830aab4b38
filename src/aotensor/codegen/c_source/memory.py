"""C of buffers: loads, stores, views, memory on the stack or, where an extent depends on values, on the heap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr
from xdsl.ir import Operation, SSAValue

from aotensor.codegen.c_source.spelling import bits_of, element_of, memory_type
from aotensor.codegen.c_source.writer import Buffer, Expr, Extent, Handler, Writer
from aotensor.codegen.emit_memory import NO_MEMORY
from aotensor.codegen.emit_state import element_bytes, known_strides
from aotensor.errors import InternalError
from aotensor.ir.types import i32, kept_axes, type_of_buffer
from aotensor.ir.upstream import PrefetchOp, ReallocOp
from aotensor.passes.direct.lower import RESIZABLE
from aotensor.passes.emit.shape_cache import NOT_FREED


def _load(w: Writer, op: memref.LoadOp) -> None:
    element = w.element(op.memref, op.indices)
    text = f"{element} != 0" if bits_of(op.res.type) == 1 else element.text
    w.set(op, Expr(text, reads=True))  # no atom: it is read once, as its memory may be written again


def _store(w: Writer, op: memref.StoreOp) -> None:
    w.put(f"{w.element(op.memref, op.indices)} = {w.expr(op.value).text};")


def _dim(w: Writer, op: memref.DimOp) -> None:
    axis = w.extent(op.index)
    if not isinstance(axis, int):
        raise InternalError("C source: memref.dim needs a constant axis")
    size = w.buffer(op.source).sizes[axis]
    w.values[op.result] = size if isinstance(size, Expr) else Expr(str(size), is_atom=True)


def _copy(w: Writer, op: memref.CopyOp) -> None:
    """Write a copy of all elements; a memcpy if both sides are row-major."""
    source, target, kind = w.buffer(op.source), w.buffer(op.destination), type_of_buffer(op.source)
    if isinstance(kind.layout, NoneAttr) and isinstance(type_of_buffer(op.destination).layout, NoneAttr):
        size = w.multiply(w.product(source.sizes), element_bytes(kind))
        w.put(f"memmove({target.pointer}, {source.pointer}, (size_t)({_text(size)}));")
        return
    indices: list[Extent] = []
    for size in source.sizes:
        counter = w.counter(None)
        w.open(f"for (int64_t {counter} = 0; {counter} < {size}; ++{counter})")
        indices.append(Expr(counter, is_atom=True))
    places = [f"{x.pointer}[{_text(w.offset(x, indices))}]" for x in (target, source)]
    w.put(f"{places[0]} = {places[1]};")
    for _ in source.sizes:
        w.close()
        w.leave()


def _text(value: Extent) -> str:
    return str(value) if isinstance(value, int) else value.text


# --- memory ----------------------------------------------------------------------------------------------------------


def _alloc(w: Writer, op: memref.AllocOp) -> None:
    """Write a heap allocation of zeroed memory. If it fails, a kernel frees its buffers and returns NO_MEMORY."""
    kind = type_of_buffer(op.memref)
    sizes = w.extents(kind.get_shape(), op.dynamic_sizes)
    size = _bytes(w, sizes, kind)
    element = memory_type(kind.element_type)
    name = w.name(w.hint(op.memref) if op.memref.name_hint else "buffer")
    w.put(f"{element} *{name} = ({element} *)calloc(1U, aot_room({size}));")
    _refuse(w, name, size)
    number = op.attributes.get(RESIZABLE)
    if isinstance(number, IntegerAttr):
        slot = w.growing[number.value.data] = w.name("grown")
        w.declare_first(f"void *{slot} = NULL;", slot)
        w.put(f"{slot} = {name};", slot)
    elif NOT_FREED not in op.attributes:
        w.on_heap[op.memref] = name
    w.values[op.memref] = replace(w.make_buffer(kind, name, sizes), base=name)


def _bytes(w: Writer, sizes: Sequence[Extent], kind: MemRefType[Any]) -> str:
    w.helper("aot_room")
    text = str(element_bytes(kind))
    for size in sizes:
        text = f"{w.helper('aot_bytes')}({text}, {_text(size)})"
    return text if not sizes else w.declared("int64_t", Expr(text), "bytes").text


def _refuse(w: Writer, name: str, size: str) -> None:
    outputs = list(w.op.function_type.outputs)
    if outputs != [i32]:
        return
    w.open(f"if ({name} == NULL)")
    for other in (*w.on_heap.values(), *w.growing.values()):
        w.put(f"free({other});")
    w.put(f"return {NO_MEMORY};")
    w.close()


def _realloc(w: Writer, op: ReallocOp) -> None:
    """Write a reallocation to a larger buffer, whose address is stored to be freed."""
    kind, source, number = type_of_buffer(op.result), w.buffer(op.source), op.attributes[RESIZABLE]
    assert isinstance(number, IntegerAttr)
    count = w.known(w.extent(op.size))
    size, element = _bytes(w, [count], kind), memory_type(kind.element_type)
    name = w.name("buffer")
    w.put(f"{element} *{name} = ({element} *)realloc({source.pointer}, aot_room({size}));")
    _refuse(w, name, size)
    slot = w.growing[number.value.data]
    w.put(f"{slot} = {name};", slot)
    w.values[op.result] = w.make_buffer(kind, name, [count])


def _dealloc(w: Writer, op: memref.DeallocOp) -> None:
    w.on_heap.pop(op.memref, None)
    if isinstance(number := op.attributes.get(RESIZABLE), IntegerAttr):
        w.growing.pop(number.value.data, None)
    w.put(f"free({w.buffer(op.memref).base});")


def _address(w: Writer, op: memref.ExtractAlignedPointerAsIndexOp) -> None:
    w.set(op, Expr(f"(int64_t)(uintptr_t){w.buffer(op.source).pointer}"))


def _alloca(w: Writer, op: memref.AllocaOp) -> None:
    kind = type_of_buffer(op.memref)
    count = w.product(kind.get_shape())
    if not isinstance(count, int) or count < 0:
        raise InternalError(f"C source: memref.alloca needs known extents, not {kind}")
    name = w.name(w.hint(op.memref) if op.memref.name_hint else "local")
    w.declare_first(f"{memory_type(kind.element_type)} {name}[{max(count, 1)}];", name)
    w.values[op.memref] = w.make_buffer(kind, name, kind.get_shape())


def _global(w: Writer, op: memref.GetGlobalOp) -> None:
    kind = type_of_buffer(op.memref)
    w.values[op.memref] = w.make_buffer(kind, w.unit.globals[op.name_.root_reference.data], kind.get_shape())


# --- views -----------------------------------------------------------------------------------------------------------


def _pointer(w: Writer, ssa: SSAValue, start: str, shift: Extent, is_cast: bool = False) -> str:
    """Declare a pointer `shift` elements after another one; return its name."""
    if shift == 0 and not is_cast:
        return start
    kind = w.pointer_type(ssa)
    text = start if shift == 0 else f"{start} + {shift}"
    if is_cast:
        text = f"({kind}){text}" if shift == 0 else f"({kind})({text})"
    name = w.name(ssa.name_hint or "part")
    w.put(f"{kind}{name} = {text};", name)
    return name


def _view(w: Writer, op: memref.ViewOp) -> None:
    kind = type_of_buffer(op.result)
    start = _pointer(w, op.result, w.buffer(op.source).pointer, w.extent(op.byte_shift), is_cast=True)
    w.values[op.result] = w.make_buffer(kind, start, w.extents(kind.get_shape(), op.sizes))


def _subview(w: Writer, op: memref.SubviewOp) -> None:
    source, kind = w.buffer(op.source), type_of_buffer(op.result)
    offsets = w.extents(op.static_offsets.get_values(), op.offsets)
    sizes = w.extents(op.static_sizes.get_values(), op.sizes)
    steps = w.extents(op.static_strides.get_values(), op.strides)
    start = _pointer(w, op.result, source.pointer, w.offset(source, offsets))
    strides = [w.known(w.multiply(x, y), "stride") for x, y in zip(steps, source.strides, strict=True)]
    kept = kept_axes(op.static_sizes.get_values(), kind.get_shape())
    view = Buffer(start, source.base, tuple(sizes[k] for k in kept), tuple(strides[k] for k in kept))
    w.values[op.result] = _with_known(view, kind)


def _reinterpret(w: Writer, op: memref.ReinterpretCastOp) -> None:
    source, kind = w.buffer(op.source), type_of_buffer(op.result)
    (offset,) = w.extents(op.static_offsets.get_values(), op.offsets)
    sizes = w.extents(op.static_sizes.get_values(), op.sizes)
    strides = w.extents(op.static_strides.get_values(), op.strides)
    start = _pointer(w, op.result, source.base, offset)
    w.values[op.result] = _with_known(Buffer(start, source.base, tuple(sizes), tuple(strides)), kind)


def _expand(w: Writer, op: memref.ExpandShapeOp) -> None:
    """Write memref.expand_shape: in a group the last axis keeps the stride, the other axes are row-major."""
    source, kind = w.buffer(op.src), type_of_buffer(op.result)
    sizes = w.extents(op.static_output_shape.get_values(), op.output_shape)
    strides: list[Extent] = [1] * len(sizes)
    for axis, group in enumerate(_groups(op)):
        stride = source.strides[axis]
        for position in reversed(group):
            strides[position] = stride
            stride = w.known(w.multiply(stride, sizes[position]), "stride")
    w.values[op.result] = _with_known(replace(source, sizes=tuple(sizes), strides=tuple(strides)), kind)


def _collapse(w: Writer, op: memref.CollapseShapeOp) -> None:
    """Write memref.collapse_shape: a group has the stride of its last axis with more than one element."""
    source, kind = w.buffer(op.src), type_of_buffer(op.result)
    sizes: list[Extent] = []
    strides: list[Extent] = []
    for group in _groups(op):
        long = [axis for axis in group if source.sizes[axis] != 1]
        sizes.append(w.known(w.product(source.sizes[axis] for axis in group)))
        strides.append(source.strides[long[-1] if long else group[-1]])
    w.values[op.result] = _with_known(replace(source, sizes=tuple(sizes), strides=tuple(strides)), kind)


def _groups(op: memref.ExpandShapeOp | memref.CollapseShapeOp) -> list[list[int]]:
    return [[position.value.data for position in group.data] for group in op.reassociation.data]


def _cast(w: Writer, op: memref.CastOp) -> None:
    w.values[op.dest] = _with_known(w.buffer(op.source), type_of_buffer(op.dest))


def _aligned(w: Writer, op: memref.AssumeAlignmentOp) -> None:
    w.values[op.result] = w.buffer(op.memref)


def _with_known(buffer: Buffer, kind: MemRefType[Any]) -> Buffer:
    """A buffer with constants in place of variables where its type has static extents or strides."""
    sizes = tuple(old if new < 0 else new for old, new in zip(buffer.sizes, kind.get_shape(), strict=True))
    strides = tuple(old if new is None else new for old, new in zip(buffer.strides, known_strides(kind), strict=True))
    return replace(buffer, sizes=sizes, strides=strides)


VIEWS: Final = (
    memref.ViewOp, memref.SubviewOp, memref.ReinterpretCastOp, memref.ExpandShapeOp, memref.CollapseShapeOp,
    memref.CastOp, memref.AssumeAlignmentOp,
)  # fmt: skip
HANDLERS: Final[Mapping[type[Operation], Handler]] = {
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    PrefetchOp: lambda w, op: None,
    memref.DimOp: _dim,
    memref.CopyOp: _copy,
    memref.AllocOp: _alloc,
    ReallocOp: _realloc,
    memref.ExtractAlignedPointerAsIndexOp: _address,
    memref.DeallocOp: _dealloc,
    memref.AllocaOp: _alloca,
    memref.GetGlobalOp: _global,
    memref.ViewOp: _view,
    memref.SubviewOp: _subview,
    memref.ReinterpretCastOp: _reinterpret,
    memref.ExpandShapeOp: _expand,
    memref.CollapseShapeOp: _collapse,
    memref.CastOp: _cast,
    memref.AssumeAlignmentOp: _aligned,
}

__all__ = ["HANDLERS", "VIEWS", "element_of"]
