"""Assign every buffer of a kernel an offset in one workspace, by liveness.

    %t = memref.alloc(%n) : memref<?xf64>    →    %t = memref.view %workspace[%offset][%n] {scope = 0}

Two buffers share a slot when they have the same size and are never alive together. What a kernel needs follows from
the dims of its inputs alone: `@f.workspace_bytes(dims)` says it, and `@f.extents` reports it behind the extents of the
outputs. A buffer whose size depends on data is allocated and freed where it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from xdsl.builder import Builder
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.transforms.dead_code_elimination import dce

from aotensor.errors import InternalError
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import index
from aotensor.passes.remarks import applied, missed

ALIGNMENT: Final = 64  # bytes: a cache line, and the widest vector
LARGEST_WORKSPACE: Final = 1 << 62  # bytes


def plan_memory(module: ModuleOp) -> None:
    """Assign offsets to the buffers of every `@f.kernel` of the module, and complete its `@f.extents`."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
    for name, kernel in functions.items():
        if name.endswith(".kernel"):
            stem = name.removesuffix(".kernel")
            total = _assign_offsets(kernel)
            _report_total(total, functions[f"{stem}.extents"])
            module.body.block.add_op(_workspace_function(stem, kernel, total))
    for function in functions.values():
        if not function.is_declaration:
            _free_the_rest(function)
    dce(module)  # what only the size of the workspace needed


@dataclass(eq=False)
class _Slot:
    """A part of the workspace and the spans of program order in which it is taken."""

    key: tuple[object, ...]
    extents: tuple[Extent, ...]
    itemsize: int
    spans: list[tuple[int, int]] = field(default_factory=list)
    offset: Extent = 0


def _assign_offsets(kernel: func.FuncOp) -> SSAValue:
    block = kernel.body.block
    workspace = block.args[-3]
    inputs = block.args[: len(_names_of_dims(kernel))]
    allocs = [op for op in kernel.walk() if isinstance(op, memref.AllocOp)]
    buffers = [op for op in allocs if _follows_from_dims(op.dynamic_sizes, inputs)]
    positions, ends = _program_order(kernel)
    prologue = _hoist(block, [x for op in buffers for x in op.dynamic_sizes])
    b = LoopBuilder(Builder(prologue))
    slots: list[_Slot] = []
    chosen: list[_Slot] = []
    for op in buffers:
        slot = _find_slot(slots, op, _span(op, positions, ends))
        chosen.append(slot)
    total: Extent = 0
    for slot in slots:
        slot.offset = total
        size: Extent = slot.itemsize
        for n in slot.extents:
            size = b.imul(size, n)
        total = b.iadd(total, _aligned(b, size))
    total = _saturated(b, total, slots)
    for op in buffers:
        applied("{} lies in the workspace", op, size=[op.memref])
    if len(slots) < len(buffers):
        applied("{} buffers share {} slots in the workspace of {}", len(buffers), len(slots), buffers[0])
    planned = set(buffers)
    for op in allocs:
        if op not in planned:
            missed("{} is allocated at each call: its size depends on values", op)
    for op, slot in zip(buffers, chosen, strict=True):
        _replace(op, workspace, b, b.index(slot.offset).ssa, slots.index(slot))
    return b.index(total).ssa


def _saturated(b: LoopBuilder, total: Extent, slots: Sequence[_Slot]) -> Extent:
    """The total, or what no machine has where the true one does not fit 63 bits: allocating it fails, as it must."""
    if isinstance(total, int):
        return total
    estimate = b.constant(0.0, "float64")
    for slot in slots:
        size = b.constant(slot.itemsize, "float64")
        for n in slot.extents:
            size = b.mul(size, b.cast(b.index(n), "float64"))
        estimate = b.add(estimate, size)
    fits = b.compare("lt", estimate, b.constant(float(LARGEST_WORKSPACE), "float64"))
    return b.select(fits, total, b.index(LARGEST_WORKSPACE))


def _aligned(b: LoopBuilder, size: Extent) -> Extent:
    return b.imul(b.ifloordiv(b.iadd(size, ALIGNMENT - 1), ALIGNMENT), ALIGNMENT)


def _find_slot(slots: list[_Slot], op: memref.AllocOp, span: tuple[int, int]) -> _Slot:
    kind = op.memref.type
    assert isinstance(kind, MemRefType)
    dynamic = iter(op.dynamic_sizes)
    extents: list[Extent] = [int(n) if n >= 0 else Scalar(next(dynamic), "index") for n in kind.get_shape()]
    itemsize = _itemsize(kind.element_type)
    names = sorted(str(n) if isinstance(n, int) else f"%{id(n.ssa)}" for n in extents if n != 1)
    key = (itemsize, *names)
    for slot in slots:
        if slot.key == key and all(span[1] < a or b < span[0] for a, b in slot.spans):
            slot.spans.append(span)
            return slot
    slots.append(_Slot(key, tuple(extents), itemsize, [span]))
    return slots[-1]


def _itemsize(element: Attribute) -> int:
    if isinstance(element, IntegerType):
        bits: int = element.width.data
        return max(bits // 8, 1)
    if element == index:
        return 8
    assert isinstance(element, Float32Type | Float64Type)
    return 4 if isinstance(element, Float32Type) else 8


def _replace(op: memref.AllocOp, workspace: SSAValue, b: LoopBuilder, offset: SSAValue, scope: int) -> None:
    """Views stand at the top, outside of all loops: the same memory in each iteration."""
    kind = op.memref.type
    assert isinstance(kind, MemRefType)
    view = memref.ViewOp(workspace, offset, op.dynamic_sizes, kind)
    view.attributes["scope"] = IntegerAttr(scope, i64)
    view.location = op.location
    b.builder.insert(view)
    op.memref.replace_all_uses_with(view.result)
    op.detach()
    op.erase()


# --- liveness ------------------------------------------------------------------------------------------------------


def _program_order(function: func.FuncOp) -> tuple[dict[Operation, int], dict[Operation, int]]:
    """Position of each operation, and of the last one inside it."""
    positions = {op: number for number, op in enumerate(function.walk())}
    ends = dict(positions)
    for op in reversed(list(positions)):
        parent = op.parent_op()
        if parent is not None and parent in ends:
            ends[parent] = max(ends[parent], ends[op])
    return positions, ends


def _span(op: memref.AllocOp, positions: dict[Operation, int], ends: dict[Operation, int]) -> tuple[int, int]:
    """From the first to the last moment at which a buffer, or a view of it, may be used."""
    home = op.parent
    first, last = None, positions[op]
    pending: list[SSAValue] = [op.memref]
    while pending:
        for use in pending.pop().uses:
            user = use.operation
            if isinstance(user, memref.ReinterpretCastOp | memref.SubviewOp | memref.CastOp):
                pending.append(user.results[0])
                continue
            outermost = _outermost_loop(user, home)
            first = positions[outermost] if first is None else min(first, positions[outermost])
            last = max(last, ends[outermost])
    return (positions[op] if first is None else first, last)


def _outermost_loop(user: Operation, home: Block | None) -> Operation:
    """The outermost loop around `user` within the buffer's home block: a buffer lives through all its iterations."""
    result, op = user, user
    while op.parent is not home:
        parent = op.parent_op()
        if parent is None or isinstance(parent, func.FuncOp):
            break
        op = parent
        if isinstance(op, scf.ForOp | scf.WhileOp):
            result = op
    return result


# --- what follows from the dims ------------------------------------------------------------------------------------


def _follows_from_dims(values: Iterable[SSAValue], inputs: Sequence[SSAValue]) -> bool:
    """True if index values are made of constants and the dims of inputs alone; those of outputs may depend on data."""
    for op in _slice(values):
        if isinstance(op, memref.DimOp):
            if op.source not in inputs:
                return False
        elif not (op.name.startswith("arith.")):
            return False
    return not any(isinstance(x, BlockArgument) and x.type == index for x in _leaves(values))


def _slice(values: Iterable[SSAValue]) -> list[Operation]:
    """The operations that compute some values, each after its operands. Without recursion: sums can be long chains."""
    order: dict[Operation, None] = {}
    pending = [x.owner for x in reversed(list(values))]
    while pending:
        op = pending[-1]
        missing = [] if not isinstance(op, Operation) or op in order else [
            x.owner for x in reversed(op.operands) if isinstance(x.owner, Operation) and x.owner not in order
        ]  # fmt: skip
        if missing:
            pending.extend(missing)
            continue
        pending.pop()
        if isinstance(op, Operation):
            order.setdefault(op)
    return list(order)


def _leaves(values: Iterable[SSAValue]) -> list[SSAValue]:
    direct = list(values)
    return [*direct, *(x for op in _slice(direct) for x in op.operands)]


def _hoist(block: Block, values: Sequence[SSAValue]) -> InsertPoint:
    """Move what computes `values` to the top of a function; the point behind it."""
    last: Operation | None = None
    for op in _slice(values):
        op.detach()
        if last is not None:
            block.insert_op_after(op, last)
        elif block.first_op is not None:
            block.insert_op_before(op, block.first_op)
        last = op
    if last is not None:
        return InsertPoint.after(last)
    return InsertPoint.at_start(block)


def _report_total(total: SSAValue, extents: func.FuncOp) -> None:
    """Let `.extents` write the bytes of workspace behind the extents of the outputs."""
    block = extents.body.block
    while (last := block.last_op) is not None and (branch := last.operands[0].owner if last.operands else None):
        if not isinstance(branch, scf.IfOp):
            break
        block = branch.true_region.block
    terminator = block.last_op
    assert terminator is not None
    b = LoopBuilder(Builder(InsertPoint.before(terminator)))
    kernel = _slice([total])
    mapping: dict[SSAValue, SSAValue] = {}
    for op in kernel:
        for x in op.operands:
            if isinstance(x, BlockArgument):
                mapping[x] = extents.body.block.args[x.index]
        copy = op.clone(mapping)
        b.builder.insert(copy)
        mapping.update(zip(op.results, copy.results, strict=True))
    target = extents.body.block.args[-3]
    count = sum(isinstance(op, memref.StoreOp) and op.memref is target for op in extents.walk())
    b.store(b.cast(Scalar(mapping[total], "index"), "int64"), target, [count])


def _workspace_function(stem: str, kernel: func.FuncOp, total: SSAValue) -> func.FuncOp:
    """@f.workspace_bytes(dims) -> bytes"""
    table = _names_of_dims(kernel)
    distinct = list(dict.fromkeys(name for row in table for name in row if name))
    block = Block(arg_types=[index for _ in distinct])
    for argument, name in zip(block.args, distinct, strict=True):
        argument.name_hint = name
    mapping: dict[SSAValue, SSAValue] = {}
    for op in _slice([total]):
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
    """Of each input; "" stands for a dim that is a number."""
    names = kernel.attributes["dims"]
    assert isinstance(names, ArrayAttr)
    return [[str(n.data) for n in row.data if isinstance(n, StringAttr)] for row in names.data]


def _free_the_rest(function: func.FuncOp) -> None:
    for op in list(function.walk()):
        if isinstance(op, memref.AllocOp):
            block = op.parent
            assert block is not None and block.last_op is not None
            free = memref.DeallocOp.get(op.memref)
            free.location = op.location
            block.insert_op_before(free, block.last_op)
