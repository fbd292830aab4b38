"""Emit func and scf operations inside a function: calls, returns, branches, loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from aotensor.codegen import llvm
from aotensor.codegen.calls.lanes import mark_lane_call
from aotensor.codegen.calls.rare import mark_outlined_call, mark_rare_call
from aotensor.codegen.emit_state import Emitter, Handler, register_type
from aotensor.codegen.llvm import Node, Value
from aotensor.passes.scalar_math.table import OUTLINED, RARE_FUNCTIONS, is_lane_function


def _call(e: Emitter, op: func.CallOp) -> None:
    symbol = op.callee.root_reference.data
    result = e.builder.call(e.functions[symbol], e.flatten(op.arguments))
    if symbol in RARE_FUNCTIONS:
        mark_rare_call(result, symbol)
    elif symbol.endswith(OUTLINED):
        mark_outlined_call(result, symbol, e.functions)
    elif is_lane_function(symbol):
        mark_lane_call(result, symbol)
    if op.res:
        e.bind(op.res, [result])


def _return(e: Emitter, op: func.ReturnOp) -> None:
    values = e.flatten(op.arguments)
    if values:
        e.builder.ret(values[0])
    else:
        e.builder.ret_void()


def _if(e: Emitter, op: scf.IfOp) -> None:
    """Emit a branch; the yields of both sides become the results."""
    then = e.function.append_basic_block("then")
    otherwise = e.function.append_basic_block("else") if op.false_region.blocks else None
    after = e.function.append_basic_block("done")
    e.builder.cbranch(e.value(op.cond), then, otherwise or after)
    incoming = []
    for block, region in ((then, op.true_region), (otherwise, op.false_region)):
        if block is not None:
            e.builder.position_at_end(block)
            values = e.flatten(e.body(region.block))
            incoming.append((e.builder.block, values))
            e.builder.branch(after)
    e.builder.position_at_end(after)
    if op.output:
        e.bind(op.output, e.merge(incoming))


def _for(e: Emitter, op: scf.ForOp) -> None:
    block = op.body.block
    properties = _loop_properties(e, op)

    def body(counter: Value, carried: list[Value]) -> Sequence[Value]:
        e.set(block.args[0], counter)
        e.bind(block.args[1:], carried)
        return e.flatten(e.body(block))

    bounds = e.extent(op.lb), e.extent(op.ub), e.extent(op.step)
    kind = register_type(op.lb.type)
    parallel = "parallel_accesses" in op.attributes
    if parallel:
        e.access_groups.append(llvm.access_group(e.module))
        properties["llvm.loop.parallel_accesses"] = e.access_groups[-1]
    results = e.loop(bounds, e.flatten(op.iter_args), body, kind=kind, properties=properties)
    if parallel:
        e.access_groups.pop()
    e.bind(op.res, results)


def _loop_properties(e: Emitter, op: scf.ForOp) -> dict[str, Value | Node]:
    """LLVM loop properties from the loop's attributes.

    novector: no vectorization. unroll = N: unroll count N. nounroll: no unrolling, apart from vectors. lane_bits = N:
    vector width counts elements of N bits, although wider ones occur (LLVM would use the widest). widest = N: vectors
    of at most N bits, with lane_bits. interleave = N: interleave count N. masked: fold the tail by masking, without an
    epilogue.
    """
    properties: dict[str, Value | Node] = {}
    if "novector" in op.attributes:
        properties["llvm.loop.vectorize.enable"] = llvm.constant(llvm.i1, 0)
    lane = op.attributes.get("lane_bits")
    if isinstance(lane, IntegerAttr):
        widest = op.attributes.get("widest")
        bits = min(e.vector_bits, widest.value.data) if isinstance(widest, IntegerAttr) else e.vector_bits
        count = max(bits // lane.value.data, 1)
        properties["llvm.loop.vectorize.width"] = llvm.constant(llvm.i32, count)
    interleave = op.attributes.get("interleave")
    if isinstance(interleave, IntegerAttr):
        properties["llvm.loop.interleave.count"] = llvm.constant(llvm.i32, interleave.value.data)
    if "masked" in op.attributes:
        properties["llvm.loop.vectorize.predicate.enable"] = llvm.constant(llvm.i1, 1)
        properties["llvm.loop.interleave.count"] = llvm.constant(llvm.i32, 1)
    if "nounroll" in op.attributes:
        properties["llvm.loop.unroll.disable"] = llvm.constant(llvm.i1, 1)
    unroll = op.attributes.get("unroll")
    if isinstance(unroll, IntegerAttr):
        properties["llvm.loop.unroll.count"] = llvm.constant(llvm.i32, unroll.value.data)
    return properties


def _while(e: Emitter, op: scf.WhileOp) -> None:
    """Emit scf.while: the first region decides, and passes values to the second region or out of the loop."""
    before, after = op.before_region.block, op.after_region.block
    enter = e.builder.block
    head, again, done = (e.function.append_basic_block(name) for name in ("while", "do", "done"))
    initial = e.flatten(op.arguments)
    e.builder.branch(head)
    e.builder.position_at_end(head)
    carried = [e.builder.phi(value.type) for value in initial]
    e.bind(before.args, carried)
    condition, *handed = e.body(before)
    values = e.flatten(handed)
    e.builder.cbranch(e.value(condition), again, done)
    e.builder.position_at_end(again)
    e.bind(after.args, values)
    results = e.flatten(e.body(after))
    latch = e.builder.block
    e.builder.branch(head)
    for phi, first, next_ in zip(carried, initial, results, strict=True):
        phi.add_incoming(first, enter)
        phi.add_incoming(next_, latch)
    e.builder.position_at_end(done)
    e.bind(op.res, values)


HANDLERS: Final[Mapping[type[Operation], Handler]] = {
    func.CallOp: _call,
    func.ReturnOp: _return,
    scf.IfOp: _if,
    scf.ForOp: _for,
    scf.WhileOp: _while,
}
