"""Emit vector operations, which process several elements along one axis, as vectors of rank 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from xdsl.dialects import vector
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from aotensor.codegen import llvm
from aotensor.codegen.emit_state import Emitter, Extent, Handler, alignment, fast_math, memory_type, register_type
from aotensor.codegen.llvm import Value
from aotensor.errors import InternalError
from aotensor.ir.types import type_of_buffer
from aotensor.ir.upstream import GatherOp

# kind of reduction: the intrinsic that reduces lanes, and the builder method or intrinsic that adds one more value
_REDUCTIONS: Final = {
    "add": ("add", "add"), "mul": ("mul", "mul"), "and": ("and", "and_"), "or": ("or", "or_"), "xor": ("xor", "xor"),
    "minsi": ("smin", "smin"), "maxsi": ("smax", "smax"), "minui": ("umin", "umin"), "maxui": ("umax", "umax"),
    "minimumf": ("fminimum", "minimum"), "maximumf": ("fmaximum", "maximum"),
    "minnumf": ("fmin", "minnum"), "maxnumf": ("fmax", "maxnum"),
}  # fmt: skip
_INSTRUCTIONS: Final = ("add", "mul", "and_", "or_", "xor")
_FLOAT_NEUTRAL: Final = {"add": -0.0, "mul": 1.0}


def _load(e: Emitter, op: vector.LoadOp) -> None:
    e.set(op.result, _read(e, op.base, [e.extent(i) for i in op.indices], register_type(op.result.type)))


def _store(e: Emitter, op: vector.StoreOp) -> None:
    _write(e, op.base, [e.extent(i) for i in op.indices], e.value(op.vector))


def _transfer_read(e: Emitter, op: vector.TransferReadOp) -> None:
    _check_plain(op)
    e.set(op.result, _read(e, op.source, [e.extent(i) for i in op.indices], register_type(op.result.type)))


def _transfer_write(e: Emitter, op: vector.TransferWriteOp) -> None:
    _check_plain(op)
    _write(e, op.source, [e.extent(i) for i in op.indices], e.value(op.vector))


def _check_plain(op: vector.TransferReadOp | vector.TransferWriteOp) -> None:
    """Check that a transfer is a plain load or store: no mask, in bounds, along the last axis of a memref."""
    last = AffineMapAttr(AffineMap.minor_identity(type_of_buffer(op.source).get_num_dims(), 1))
    in_bounds = all(bool(flag.value.data) for flag in op.in_bounds.data)
    if op.mask is not None or not in_bounds or op.permutation_map != last:
        raise InternalError(f"emit: {op.name} must be unmasked, in bounds and along the last axis")


def _read(e: Emitter, base: SSAValue, indices: Sequence[Extent], kind: llvm.Type) -> Value:
    buffer, source = e.buffer(base), type_of_buffer(base)
    return e.load(buffer, e.address(buffer, source, indices), kind)


def _write(e: Emitter, base: SSAValue, indices: Sequence[Extent], value: Value) -> None:
    buffer, target = e.buffer(base), type_of_buffer(base)
    e.store(buffer, e.address(buffer, target, indices), value)


def _create_mask(e: Emitter, op: vector.CreateMaskOp) -> None:
    """Emit the mask of the first n lanes; no lane for a negative n."""
    (count,) = op.mask_dim_sizes
    lanes = llvm.count_of(register_type(op.mask_vector.type))
    assert lanes is not None
    numbers = llvm.constant(llvm.vector(llvm.i64, lanes), list(range(lanes)))
    e.set(op.mask_vector, e.builder.icmp_signed(">", llvm.splat(e.builder, e.value(count), lanes), numbers))


def _masked_load(e: Emitter, op: vector.MaskedLoadOp) -> None:
    address = e.address(e.buffer(op.base), type_of_buffer(op.base), [e.extent(i) for i in op.indices])
    e.set(op.result, _masked_read(e, "masked.load", op, address))


def _masked_store(e: Emitter, op: vector.MaskedStoreOp) -> None:
    value, buffer = e.value(op.value_to_store), e.buffer(op.base)
    address = e.address(buffer, type_of_buffer(op.base), [e.extent(i) for i in op.indices])
    arguments = [value, address, llvm.constant(llvm.i32, alignment(value.type)), e.value(op.mask)]
    call = llvm.intrinsic(e.builder, "masked.store", arguments, result=llvm.void, overloads=[value.type, address.type])
    e.tag(call, buffer)


def _gather(e: Emitter, op: GatherOp) -> None:
    """Emit a gather of elements at offsets from one element; masked-off elements may be out of bounds."""
    kind = type_of_buffer(op.base)
    start = e.address(e.buffer(op.base), kind, [e.extent(i) for i in op.indices])
    index_vec = e.value(op.index_vec)
    addresses = e.builder.gep(start, [index_vec], source_etype=memory_type(kind.element_type))
    addresses.type = llvm.vector(llvm.pointer, index_vec.type.count)  # llvmlite infers a single pointer
    e.set(op.result, _masked_read(e, "masked.gather", op, addresses))


def _masked_read(e: Emitter, name: str, op: vector.MaskedLoadOp | GatherOp, address: Value) -> Value:
    otherwise = e.value(op.operands[-1])
    where = llvm.constant(llvm.i32, alignment(otherwise.type))
    arguments, kinds = [address, where, e.value(op.mask), otherwise], [otherwise.type, address.type]
    value = llvm.intrinsic(e.builder, name, arguments, result=otherwise.type, overloads=kinds)
    e.tag(value, e.buffer(op.base))
    return value


def _broadcast(e: Emitter, op: vector.BroadcastOp) -> None:
    value = e.value(op.source)
    lanes = llvm.count_of(register_type(op.vector.type))
    assert lanes is not None
    e.set(op.vector, value if value.type == register_type(op.vector.type) else llvm.splat(e.builder, value, lanes))


def _fma(e: Emitter, op: vector.FMAOp) -> None:
    e.set(op.res, llvm.intrinsic(e.builder, "fma", [e.value(op.lhs), e.value(op.rhs), e.value(op.acc)]))


def _extract(e: Emitter, op: vector.ExtractOp) -> None:
    (position,) = e.extents(op.static_position.get_values(), op.dynamic_position)
    e.set(op.result, e.builder.extract_element(e.value(op.vector), e.register(position)))


def _insert(e: Emitter, op: vector.InsertOp) -> None:
    (position,) = e.extents(op.static_position.get_values(), op.dynamic_position)
    e.set(op.result, e.builder.insert_element(e.value(op.dest), e.value(op.source), e.register(position)))


def _shuffle(e: Emitter, op: vector.ShuffleOp) -> None:
    mask = op.mask.get_values()
    order = llvm.constant(llvm.vector(llvm.i32, len(mask)), mask)
    e.set(op.result, e.builder.shuffle_vector(e.value(op.v1), e.value(op.v2), order))


def _bitcast(e: Emitter, op: vector.BitcastOp) -> None:
    e.set(op.result, e.builder.bitcast(e.value(op.source), register_type(op.result.type)))


def _reduction(e: Emitter, op: vector.ReductionOp) -> None:
    """Reduce all lanes and, if given, an accumulator to one value."""
    lanes, kind, flags = e.value(op.vector), op.kind.data.value, fast_math(op.fastmath)
    element = llvm.element_of(lanes.type)
    start = e.value(op.acc) if op.acc is not None else None
    if element in (llvm.f32, llvm.f64) and kind in _FLOAT_NEUTRAL:
        first = llvm.constant(element, _FLOAT_NEUTRAL[kind]) if start is None else start
        arguments, reduce = [first, lanes], f"vector.reduce.f{kind}"
        e.set(op.dest, llvm.intrinsic(e.builder, reduce, arguments, overloads=[lanes.type], flags=flags))
        return
    reduce, join = _REDUCTIONS[kind]
    total = llvm.intrinsic(
        e.builder, f"vector.reduce.{reduce}", [lanes], result=element, overloads=[lanes.type], flags=flags
    )
    if start is not None and join in _INSTRUCTIONS:
        total = getattr(e.builder, join)(total, start)
    elif start is not None:
        total = llvm.intrinsic(e.builder, join, [total, start], flags=flags)
    e.set(op.dest, total)


HANDLERS: Final[Mapping[type[Operation], Handler]] = {
    vector.LoadOp: _load,
    vector.StoreOp: _store,
    vector.TransferReadOp: _transfer_read,
    vector.TransferWriteOp: _transfer_write,
    vector.CreateMaskOp: _create_mask,
    vector.MaskedLoadOp: _masked_load,
    vector.MaskedStoreOp: _masked_store,
    GatherOp: _gather,
    vector.BroadcastOp: _broadcast,
    vector.FMAOp: _fma,
    vector.ExtractOp: _extract,
    vector.InsertOp: _insert,
    vector.ShuffleOp: _shuffle,
    vector.BitcastOp: _bitcast,
    vector.ReductionOp: _reduction,
}
