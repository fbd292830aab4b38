"""Emit scf.parallel: its chunks form a job for several threads, or are executed sequentially without threads.

scf.parallel (%i) = (0) to (%n) step (%k) {        call f.chunk0.loop(context, n, k, x)
  func.call @f.chunk0(%x, %i, …)              →
}                                                  f.chunk0.loop(context, n, k, x):
                                                     if k < n: entry.parallel(context, &{f.chunk0.run, k, n, …, x})
                                                     else if 0 < n: f.chunk0(x, 0, …)

Loops around calls of one function, which `merge-functions` makes, share `f.chunk0.loop`; LLVM inlines one with a
single caller.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Final, TypeGuard

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Operation, OpResult, SSAValue

from aotensor.codegen import llvm
from aotensor.codegen.emit_state import SCALAR_FUNCTION_PREFIX, Emitter, Handler, flat_types
from aotensor.codegen.entry.code import number
from aotensor.codegen.entry.threads import CACHE_LINE, Job, declare_parallel
from aotensor.codegen.llvm import Function, Type, Value
from aotensor.ir.upstream import ParallelOp, ReduceOp, walk
from aotensor.passes.keys import Numbers, block_parts
from aotensor.passes.memory.plan_memory import LANE


def _parallel(e: Emitter, op: ParallelOp) -> None:
    if e.has_threads and _call(op) is not None:
        _on_threads(e, op)
    else:
        bounds = e.extent(op.lower), e.extent(op.upper), e.extent(op.step)
        e.loop(bounds, [], lambda start, _: _chunk(e, op, start, number(0)))


def _call(op: ParallelOp) -> func.CallOp | None:
    """The only call in a chunk, of the function that was outlined from it; None without outlining."""
    calls = (x for x in op.body.block.ops if isinstance(x, func.CallOp))
    return next((x for x in calls if not x.callee.root_reference.data.startswith(SCALAR_FUNCTION_PREFIX)), None)


def _chunk(e: Emitter, op: ParallelOp, start: Value, lane: Value) -> Sequence[Value]:
    """Emit a chunk of a parallel loop that uses the memory of a lane."""
    block = op.body.block
    e.set(block.args[0], start)
    for inner in block.ops:
        if LANE in inner.attributes:
            e.set(inner.results[0], lane)
        elif not isinstance(inner, ReduceOp):
            e.run([inner])
    return []


def _on_threads(e: Emitter, op: ParallelOp) -> None:
    captured = _captured(e, op)
    numbers: Numbers = {x: (k, x.type) for k, x in enumerate(captured)}
    numbers |= {x: x.op.properties["value"] for x in _read_around(op) if _is_literal(x)}
    key = tuple(block_parts(op.body.block, numbers))
    bounds = [e.register(e.extent(x)) for x in (op.upper, op.step)]
    shared = e.loops.get(key)
    if shared is None:
        shared = e.loops[key] = _define_loop(e, op, captured)
    else:
        llvm.mark_function(shared, "noinline")
    e.builder.call(shared, [e.function.args[-1], *bounds, *e.flatten(captured)])


def _define_loop(e: Emitter, op: ParallelOp, captured: Sequence[SSAValue]) -> Function:
    """Define void f.chunk0.loop(context, upper, step, values), which runs the chunks of a loop.

    values: those that chunks read from outside.
    """
    kinds = flat_types([x.type for x in captured])
    function = _private(e, op, "loop", [llvm.pointer, llvm.i64, llvm.i64, *kinds])
    loop = e.inside(function, op.location)
    context, upper, step, *flat = function.args
    _bind(loop, op, captured, flat)
    b = loop.builder
    many, few, one, after = (function.append_basic_block(name) for name in ("chunks", "few", "chunk", "done"))
    b.cbranch(b.icmp_signed("<", step, upper), many, few)
    b.position_at_end(many)
    job, run = _job(loop, len(flat)), _define_run(e, op, captured)
    _fill(loop, job, {"run": run, "step": step, "upper": upper, **dict.fromkeys(_COUNTERS, number(0))})
    for k, value in enumerate(flat):
        b.store(value, _address(loop, job, ctypes.sizeof(Job) + 8 * k))
    b.call(declare_parallel(e.module), [context, job])
    b.branch(after)
    b.position_at_end(few)
    b.cbranch(b.icmp_signed("<", number(0), upper), one, after)
    b.position_at_end(one)
    _chunk(loop, op, number(0), number(0))
    b.branch(after)
    b.position_at_end(after)
    b.ret_void()
    return function


def _captured(e: Emitter, op: ParallelOp) -> list[SSAValue]:
    """The values that a chunk reads from outside, except literals."""
    return [x for x in _read_around(op) if not _is_literal(x)]


def _is_literal(x: SSAValue) -> TypeGuard[OpResult]:
    """Is a value a constant that belongs to the code? Loops that share code may differ in floating-point numbers."""
    return isinstance(x.owner, arith.ConstantOp) and not isinstance(x.owner.value, FloatAttr)


def _read_around(op: ParallelOp) -> dict[SSAValue, None]:
    """The values from outside a loop that its chunks read."""
    block = op.body.block
    inner = list(walk(block))
    inside = {x for one in inner for x in (*one.results, *(a for r in one.regions for b in r.blocks for a in b.args))}
    return dict.fromkeys(x for one in inner for x in one.operands if x not in inside and x not in block.args)


_COUNTERS: Final = ("next", "done", "started", "lanes")


def _job(e: Emitter, captured: int) -> Value:
    """Allocate stack memory for a job, followed by room for the values that its chunks read."""
    current = e.builder.block
    e.builder.position_at_start(e.entry)
    size = ctypes.sizeof(Job) + 8 * captured
    job = llvm.opaque(e.builder.alloca(llvm.ir.ArrayType(llvm.i8, size)))
    job.align = CACHE_LINE
    e.builder.position_at_end(current)
    return job


def _address(e: Emitter, base: Value, offset: int) -> Value:
    return e.builder.gep(base, [number(offset)], source_etype=llvm.i8)


def _fill(e: Emitter, job: Value, values: Mapping[str, Value]) -> None:
    for name, value in values.items():
        e.builder.store(value, _address(e, job, getattr(Job, name).offset))


def _define_run(e: Emitter, op: ParallelOp, captured: Sequence[SSAValue]) -> Function:
    """Define void f.chunk0.run(job, i, lane), which runs a chunk with the values stored after the job."""
    function = _private(e, op, "run", [llvm.pointer, llvm.i64, llvm.i64])
    run = e.inside(function, op.location)
    job, start, lane = function.args
    kinds = flat_types([x.type for x in captured])
    values = [
        run.builder.load(_address(run, job, ctypes.sizeof(Job) + 8 * k), typ=kind) for k, kind in enumerate(kinds)
    ]
    _bind(run, op, captured, values)
    _chunk(run, op, start, lane)
    run.builder.ret_void()
    return function


def _private(e: Emitter, op: ParallelOp, kind: str, arguments: Sequence[Type]) -> Function:
    """Declare the internal function of this kind for a loop, f.chunk0.loop or f.chunk0.run."""
    call = _call(op)
    assert call is not None
    name = f"{call.callee.root_reference.data}.{kind}"
    if name in e.module.globals:  # loops that differ around the call of one function
        name += str(len(e.loops))
    function = llvm.function(e.module, name, llvm.void, arguments)
    function.linkage = "internal"
    llvm.mark_function(function, "nounwind")
    return function


def _bind(inside: Emitter, op: ParallelOp, captured: Sequence[SSAValue], values: Sequence[Value]) -> None:
    """Give the values that chunks read from outside their counterparts in another function."""
    inside.run(x.op for x in _read_around(op) if _is_literal(x))
    inside.bind(captured, values)


HANDLERS: Final[Mapping[type[Operation], Handler]] = {ParallelOp: _parallel}
