"""Lower nest level to loop level: loop nests over tensors become loops over buffers.

    nest.for %i in %n {                                scf.for %i = %c0 to %n step %c1 {
      nest.for %k in %p { … -> (%z[]) }          →       %z = scf.for %k … iter_args(%s) { … }
      nest.do(%v = %z[]) -> (%r[%i])                     …
    }                                                    memref.store %r, %out[%i]

`@f` becomes `@f.kernel(inputs, outputs, workspace, detail, context) -> i32`, `@f.extents` becomes
`@f.extents(inputs, extents, detail, context) -> i32`. Both return 0, or the number of the check that failed after
writing the found and the expected value into `detail`. Values that `.extents` keeps for the kernel
(`passes/memory/reuse_shape_results.py`) are an argument of both: a table of addresses and bytes in `.extents`, the
memory itself in the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, Region
from xdsl.rewriter import InsertPoint

from aotensor.ir.context import functions_of
from aotensor.ir.forms import NEST_FORM
from aotensor.ir.location import LocatedBuilder
from aotensor.ir.loop_builder import LoopBuilder, memref_type_of
from aotensor.ir.types import i8, i32, memref_type
from aotensor.ir.upstream import declare_special_functions, value_name
from aotensor.passes.emit.buffers import returned_values
from aotensor.passes.emit.frame import KernelState
from aotensor.passes.emit.function import FunctionEmitter
from aotensor.passes.emit.shape_cache import kept_count
from aotensor.passes.formulas import share_equal
from aotensor.passes.nest.cores.chunks import write_chunks
from aotensor.passes.registry import ir_pass
from aotensor.passes.target import Target


@ir_pass(
    "emit-loops",
    level="loops",
    topic="products",
    needed="it makes the loops that code is generated from",
    needs=NEST_FORM,
)
def emit_loops(module: ModuleOp, target: Target) -> None:
    """Lowers nests to loops, see above."""
    functions = functions_of(module)
    for function in functions:
        share_equal(function.body.block)
    write_chunks(module)
    called = {op.sym_name.data: op for op in functions if op.sym_visibility is not None}
    for function in functions:
        if function.sym_name.data not in called:
            lowered = _lowered(module, function, called, target)
            module.body.block.insert_op_before(lowered, function)
    for function in functions:
        function.detach()
        function.erase()
    declare_special_functions(module)  # those of vectors


def _lowered(module: ModuleOp, function: func.FuncOp, called: Mapping[str, func.FuncOp], target: Target) -> func.FuncOp:
    """Return the loop-level function over buffers for a function at nest level."""
    arguments, results = list(function.body.block.args), returned_values(function)
    is_extents = function.sym_name.data.endswith(".extents")
    inputs = [_argument_type(a.type) for a in arguments]
    count = kept_count(function)
    if is_extents:
        table: list[Attribute] = [memref_type("int64", [2 * count])] if count else []
        extra: list[Attribute] = [*table, memref_type("int64", [None])]
        name = function.sym_name.data
    else:
        extra = [*(_argument_type(x.type) for x in results), *[memref_type_of(i8, [None])] * (count + 1)]
        name = function.sym_name.data + ".kernel"
    extra += [memref_type("int64", [4]), memref_type_of(i8, [1])]
    block = Block(arg_types=[*inputs, *extra])
    for old, new in zip(arguments, block.args, strict=False):
        new.name_hint, new.location = old.name_hint, old.location
    for new, hint in zip(block.args[len(inputs) :], _extra_names(function, is_extents, count), strict=True):
        new.name_hint = hint
    b = LoopBuilder(LocatedBuilder(InsertPoint.at_end(block)))
    detail, context = block.args[-2:]
    outside = KernelState(module, called, detail, context, target)
    middle = list(block.args[len(inputs) : -2 if is_extents else -3])
    split = len(middle) - (1 if is_extents else count)
    outputs, kept = (middle[split:], middle[:split]) if is_extents else (middle[:split], middle[split:])
    lowering = FunctionEmitter(outside, function, b, list(block.args[: len(inputs)]), outputs, is_extents, kept)
    with b.active():
        status, *_ = lowering.run()
    b.builder.insert(func.ReturnOp(status.ssa))
    lowered = func.FuncOp(name, ([*inputs, *extra], [i32]), Region(block))
    lowered.attributes["dims"] = function.attributes["dims"]
    return lowered


def _extra_names(function: func.FuncOp, is_extents: bool, count: int) -> list[str | None]:
    """Names of the arguments after the inputs, for readers of the IR.

    count: number of values that the shape cache keeps.
    """
    if is_extents:
        return [*["kept"] * min(count, 1), "extents", "detail", "context"]
    given = function.attributes.get("results")
    names = [n.data for n in given if isinstance(n, StringAttr)] if isinstance(given, ArrayAttr) else []
    outputs = [value_name(n) for n in names] or [None] * len(returned_values(function))
    return [*outputs, *(f"kept{k}" for k in range(count)), "workspace", "detail", "context"]


def _argument_type(type: Attribute) -> Attribute:
    """The memref type of a tensor type; scalars are passed as memref<f64>."""
    if isinstance(type, TensorType):
        return MemRefType(type.element_type, type.get_shape())
    return MemRefType(type, [])
