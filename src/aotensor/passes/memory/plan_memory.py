"""Plan memory: assign every buffer of a kernel an offset in one workspace, by liveness.

    %t = memref.alloc(%n) : memref<?xf64>    →    %t = memref.view %workspace[%offset][%n] {scope = 0}

Two buffers share a slot if they have the same size and are never live together. The workspace size depends on the dims
of the inputs only: `@f.workspace_bytes(dims)` returns it, and `@f.extents` writes it after the extents of the outputs.
A buffer of data-dependent size is allocated and freed where it is used, and so is any buffer of `@f.extents` except
those that it keeps for the kernel.

A buffer that a chunk of a parallel loop needs is replicated for the largest number of chunks: concurrent chunks have
separate slots.

    scf.parallel (%i) … {                         %lane = %i / %step {lane}
      %t = memref.alloc(%n)                →      %t = memref.view %workspace[%offset + %lane · %bytes][%n]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final

from xdsl.builder import Builder
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.errors import InternalError
from aotensor.ir.index_builder import Extent
from aotensor.ir.location import builder_before
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import element_bytes, i8, index
from aotensor.ir.upstream import ParallelOp, parallel_loop_around, value_name, walk
from aotensor.passes.dead_code import erase_dead
from aotensor.passes.direct.lower import RESIZABLE
from aotensor.passes.emit.shape_cache import NOT_FREED
from aotensor.passes.formulas import follows_from_dims, hoist, slice_of
from aotensor.passes.memory.liveness import outermost_loop, program_order, span_of
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed

ALIGNMENT: Final = 64  # bytes: a cache line, which is also the widest vector
LANES: Final = 64  # largest number of concurrent chunks of a loop
LANE: Final = "lane"
"""Attribute of the operation that computes a chunk's lane, the number of its slot."""
SCOPE: Final = "scope"
"""Attribute of a view of the workspace: a number, equal for views that may overlap while both are in use."""
LARGEST_WORKSPACE: Final = 1 << 62  # bytes


@ir_pass(
    "plan-memory",
    level="loops",
    topic="memory",
    needed="it computes the size of the workspace, which the entries of a library need",
)
def plan_memory(module: ModuleOp) -> None:
    """Gives every buffer an offset in one workspace, by lifetime; buffers of one size with disjoint lifetimes share
    it. `@f.workspace_bytes` returns the total.
    """
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
    for name, kernel in functions.items():
        if name.endswith(".kernel"):
            stem = name.removesuffix(".kernel")
            total = _assign_offsets(kernel)
            _report_total(total, functions[f"{stem}.extents"])
            module.body.block.add_op(_workspace_function(stem, kernel, total))
        elif name.endswith(".extents"):
            _allocate_lanes(kernel)
    for function in functions.values():
        if not function.is_declaration:
            _free_the_rest(function)
    erase_dead(module.body.block)  # operations that only the workspace size needs


@dataclass(eq=False)
class _Slot:
    """A part of the workspace, with the spans of program order in which it is in use.

    key: equal for slots of one size.
    """

    key: tuple[object, ...]
    extents: tuple[Extent, ...] = ()
    itemsize: int = 1
    spans: list[tuple[int, int]] = field(default_factory=list)
    offset: Extent = 0


def _assign_offsets(kernel: func.FuncOp) -> SSAValue:
    block = kernel.body.block
    workspace = block.args[-3]
    inputs = block.args[: len(_names_of_dims(kernel))]
    _make_serial(kernel, inputs)
    allocs = [op for op in walk(kernel) if type(op) is memref.AllocOp and RESIZABLE not in op.attributes]
    is_known = follows_from_dims(inputs)
    buffers = [op for op in allocs if is_known(op.dynamic_sizes)]
    positions, ends = program_order(kernel)
    homes = {op: parallel_loop_around(op) for op in buffers}
    loops = [loop for loop in dict.fromkeys(homes.values()) if loop is not None]
    counted = [loop for loop in loops if is_known((loop.upper, loop.step))]
    needed = [x for op in buffers for x in op.dynamic_sizes]
    prologue = hoist(block, [*needed, *(x for loop in counted for x in (loop.upper, loop.step))])
    b = LoopBuilder(Builder(prologue))
    slots: dict[ParallelOp | None, list[_Slot]] = {None: [], **{loop: [] for loop in loops}}
    chosen = [_find_slot(slots[homes[op]], op, span_of(op, positions, ends)) for op in buffers]
    shared = slots[None]
    lanes: dict[ParallelOp, tuple[_Slot, Extent]] = {}
    twins: dict[_Slot, _Slot] = {}
    for loop in loops:
        place = outermost_loop(loop, block)
        chunks = (loop.upper, loop.step) if loop in counted else None
        key = ("lanes", chunks, *(slot.key for slot in slots[loop]))
        own = _slot_for(shared, key, (positions[place], ends[place]))
        twin = next((other for other, (slot, _) in lanes.items() if slot is own), None)
        if twin is None:
            size = _saturate(b, _pack_slots(b, slots[loop]), slots[loop])
            own.extents = _count(b, loop) if loop in counted else LANES, size
            lanes[loop] = own, size
        else:
            lanes[loop] = lanes[twin]
            twins.update(zip(slots[loop], slots[twin], strict=True))
            slots[loop] = []
    chosen = [twins.get(slot, slot) for slot in chosen]
    total = _saturate(b, _pack_slots(b, shared), shared)
    for op in buffers:
        applied("placed {} in the workspace", op, size=[op.memref])
    used = len(set(chosen))
    if used < len(buffers):
        applied("{} buffers share {} slots of the workspace of {}", len(buffers), used, buffers[0])
    planned = set(buffers)
    for op in allocs:
        if op not in planned:
            hint = "let extents follow from those of the inputs: where(mask, x, 0) instead of x[mask]"
            missed("{} allocated at each call: its size is data-dependent", op, hint=hint)
    scopes = {slot: number for number, slot in enumerate(x for group in slots.values() for x in group)}
    starts = {loop: _start_of_lane(loop, *lanes[loop]) for loop in loops}
    for op, slot in zip(buffers, chosen, strict=True):
        home = homes[op]
        if home is None:
            _replace(op, workspace, b, b.index(slot.offset).ssa, scopes[slot])
        else:
            inside, start = starts[home]
            with inside.active():
                _replace(op, workspace, inside, inside.index(start + slot.offset).ssa, scopes[slot])
    return b.index(total).ssa


def _allocate_lanes(extents: func.FuncOp) -> None:
    """Allocate the buffers of parallel loops in `.extents` before the loop, with one part per concurrent chunk.

    `.extents` has no workspace, since it computes the size of the workspace.
    """
    block = extents.body.block
    inputs = block.args[: len(_names_of_dims(extents))]
    _make_serial(extents, inputs)
    homes = {op: loop for op in walk(extents) if type(op) is memref.AllocOp and (loop := parallel_loop_around(op))}
    hoist(block, [x for op in homes for x in op.dynamic_sizes])
    positions, ends = program_order(extents)
    for loop in dict.fromkeys(homes.values()):
        slots: list[_Slot] = []
        buffers = [op for op, home in homes.items() if home is loop]
        chosen = [_find_slot(slots, op, span_of(op, positions, ends)) for op in buffers]
        b = LoopBuilder(builder_before(loop))
        size = _saturate(b, _pack_slots(b, slots), slots)
        lanes = _Slot(("lanes",), (b.imin(_count(b, loop), LANES), size))
        memory = b.allocate(i8, [_saturate(b, _pack_slots(b, [lanes]), [lanes])])
        inside, start = _start_of_lane(loop, lanes, size)
        for op, slot in zip(buffers, chosen, strict=True):
            with inside.active():
                _replace(op, memory, inside, inside.index(start + slot.offset).ssa, slots.index(slot))


def _pack_slots(b: LoopBuilder, slots: Iterable[_Slot]) -> Extent:
    """Assign consecutive offsets to slots; return their total size in bytes."""
    with b.active():
        total: Extent = 0
        sizes: dict[tuple[object, ...], Extent] = {}
        for slot in slots:
            slot.offset = total
            if slot.key not in sizes:
                sizes[slot.key] = _align_size(prod(slot.extents, start=slot.itemsize))
            total += sizes[slot.key]
    return total


def _make_serial(kernel: func.FuncOp, inputs: Sequence[SSAValue]) -> None:
    """Make parallel loops with data-dependent allocations sequential: a chunk cannot report a failed allocation."""
    is_known = follows_from_dims(inputs)
    for op in [op for op in walk(kernel) if type(op) is memref.AllocOp]:
        loop = parallel_loop_around(op)
        if loop is None or is_known(op.dynamic_sizes):
            continue
        hint = "let extents follow from those of the inputs"
        missed("{} not parallelized: it allocates {}, whose size is data-dependent", loop, op, hint=hint)
        body = loop.detach_region(loop.body)
        last = body.block.last_op
        assert last is not None and loop.parent is not None
        body.block.erase_op(last)
        end = scf.YieldOp()
        end.location = loop.location
        body.block.add_op(end)
        serial = scf.ForOp(loop.lower, loop.upper, loop.step, [], body)
        serial.location = loop.location
        loop.parent.insert_op_before(serial, loop)
        loop.parent.erase_op(loop)


def _count(b: LoopBuilder, loop: ParallelOp) -> Extent:
    """The number of chunks of a parallel loop."""
    upper, step = (b.as_extent(Scalar(x, "index")) for x in (loop.upper, loop.step))
    with b.active():
        return b.as_extent(b.index(upper + (step - 1)) / step)


def _start_of_lane(loop: ParallelOp, slot: _Slot, size: Extent) -> tuple[LoopBuilder, Extent]:
    """A builder at the beginning of a chunk, and the offset of the chunk's memory.

    A chunk's number serves as its lane; a runtime that runs several at once may assign other numbers below the
    limit.
    """
    block = loop.body.block
    assert block.first_op is not None
    b = LoopBuilder(builder_before(block.first_op))
    lane = b.unsigned_div(Scalar(block.args[0], "index"), Scalar(loop.step, "index"))
    assert isinstance(lane.ssa.owner, Operation)
    lane.ssa.owner.attributes[LANE] = UnitAttr()
    with b.active():
        return b, lane * size + slot.offset


def _saturate(b: LoopBuilder, total: Extent, slots: Sequence[_Slot]) -> Extent:
    """The total size; if it overflows 63 bits, a size that no machine has, so that the allocation fails."""
    if isinstance(total, int):
        return total
    with b.active():
        estimate = b.constant(0.0, "float64")
        for key, count in Counter(slot.key for slot in slots).items():
            slot = next(slot for slot in slots if slot.key == key)
            size = b.constant(count * slot.itemsize, "float64")
            for n in slot.extents:
                size *= b.cast(b.index(n), "float64")
            estimate += size
        fits = estimate < float(LARGEST_WORKSPACE)
    return b.select(fits, total, b.index(LARGEST_WORKSPACE))


def _align_size(size: Extent) -> Extent:
    return (size + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT


def _find_slot(slots: list[_Slot], op: memref.AllocOp, span: tuple[int, int]) -> _Slot:
    kind = op.memref.type
    assert isinstance(kind, MemRefType)
    dynamic = iter(op.dynamic_sizes)
    extents: list[Extent] = [int(n) if n >= 0 else Scalar(next(dynamic), "index") for n in kind.get_shape()]
    itemsize = element_bytes(kind.element_type)
    names = sorted(str(n) if isinstance(n, int) else f"%{id(n.ssa)}" for n in extents if n != 1)
    slot = _slot_for(slots, (itemsize, *names), span)
    slot.extents, slot.itemsize = tuple(extents), itemsize
    return slot


def _slot_for(slots: list[_Slot], key: tuple[object, ...], span: tuple[int, int]) -> _Slot:
    """A slot of this key that is free in a span, or a new one."""
    for slot in slots:
        if slot.key == key and all(span[1] < a or b < span[0] for a, b in slot.spans):
            slot.spans.append(span)
            return slot
    slots.append(_Slot(key, spans=[span]))
    return slots[-1]


def _replace(op: memref.AllocOp, workspace: SSAValue, b: LoopBuilder, offset: SSAValue, scope: int) -> None:
    """Replace an allocation by a view of the workspace outside all loops, shared by all iterations."""
    kind = op.memref.type
    assert isinstance(kind, MemRefType)
    view = memref.ViewOp.create(operands=(workspace, offset, *op.dynamic_sizes), result_types=[kind])
    view.attributes[SCOPE] = IntegerAttr(scope, i64)
    view.location = op.location
    b.builder.insert(view)
    op.memref.replace_all_uses_with(view.results[0])
    op.detach()
    op.erase()


# --- totals ----------------------------------------------------------------------------------------------------------


def _report_total(total: SSAValue, extents: func.FuncOp) -> None:
    """Let `.extents` write the bytes of workspace after the extents of the outputs."""
    block = extents.body.block
    while (last := block.last_op) is not None and (branch := last.operands[0].owner if last.operands else None):
        if not isinstance(branch, scf.IfOp):
            break
        block = branch.true_region.block
    terminator = block.last_op
    assert terminator is not None
    b = LoopBuilder(Builder(InsertPoint.before(terminator)))
    kernel = slice_of([total])
    mapping: dict[SSAValue, SSAValue] = {}
    for op in kernel:
        for x in op.operands:
            if isinstance(x, BlockArgument):
                mapping[x] = extents.body.block.args[x.index]
        copy = op.clone(mapping)
        b.builder.insert(copy)
        mapping.update(zip(op.results, copy.results, strict=True))
    target = extents.body.block.args[-3]
    count = sum(isinstance(op, memref.StoreOp) and op.memref is target for op in walk(extents))
    b.store(b.cast(Scalar(mapping[total], "index"), "int64"), target, [count])


def _workspace_function(stem: str, kernel: func.FuncOp, total: SSAValue) -> func.FuncOp:
    """Define @f.workspace_bytes(dims) -> bytes."""
    table = _names_of_dims(kernel)
    distinct = list(dict.fromkeys(name for row in table for name in row if name))
    block = Block(arg_types=[index for _ in distinct])
    for argument, name in zip(block.args, distinct, strict=True):
        argument.name_hint = value_name(name)
    mapping: dict[SSAValue, SSAValue] = {}
    for op in slice_of([total]):
        if isinstance(op, memref.DimOp):
            source, axis = op.source, op.index.owner
            if not isinstance(source, BlockArgument) or not isinstance(axis, arith.ConstantOp):
                raise InternalError(f"{stem}: the workspace depends on more than the dims of the inputs")
            assert isinstance(axis.value, IntegerAttr)
            number = axis.value.value.data
            mapping[op.result] = block.args[distinct.index(table[source.index][number])]
            continue
        copy = op.clone(mapping)
        block.add_op(copy)
        mapping.update(zip(op.results, copy.results, strict=True))
    b = LoopBuilder(Builder(InsertPoint.at_end(block)))
    result = b.cast(Scalar(mapping[total], "index"), "int64")
    block.add_op(func.ReturnOp(result.ssa))
    return func.FuncOp(f"{stem}.workspace_bytes", ([index] * len(distinct), [i64]), Region(block))


def _names_of_dims(kernel: func.FuncOp) -> list[list[str]]:
    """The names of each input's dims; "" for a static dim."""
    names = kernel.attributes["dims"]
    assert isinstance(names, ArrayAttr)
    return [[str(n.data) for n in row.data if isinstance(n, StringAttr)] for row in names.data]


def _free_the_rest(function: func.FuncOp) -> None:
    for op in [op for op in walk(function) if type(op) in (memref.AllocOp, memref.ReinterpretCastOp)]:
        grows = op.attributes.get(RESIZABLE)
        if isinstance(op, memref.AllocOp) and NOT_FREED not in op.attributes and grows is None:
            free = memref.DeallocOp.get(op.memref)
        elif isinstance(op, memref.ReinterpretCastOp) and grows is not None:  # finally it is in the last allocation
            free = memref.DeallocOp.get(op.source)
            free.attributes[RESIZABLE] = grows
        else:
            continue
        block = op.parent
        assert block is not None and block.last_op is not None
        free.location = op.location
        block.insert_op_before(free, block.last_op)
