"""Call the elementary functions of a long block instead of inlining them.

    %y0 = func.call @aot.sin.f64(%x0)                %y0 = func.call @aot.sin.f64.outlined(%x0)
    …  hundreds of such calls in one block    →      …
                                                     func.func private @aot.sin.f64.outlined(%x: f64) {aot.apart}

`expand-math` gives each function a body that LLVM inlines, so that it is scheduled and vectorized with the surrounding
code. LLVM's time grows with the square of the length of a block: a chain of 1,000 operations, half of them sines, and
its gradient took 20 s inlined and 2 s called, and ran no slower.

For an innermost loop the variant with as many lanes as `vectorizer-hints` says is defined, too, and LLVM's vectorizer
calls it. Calls cost more there: 200 sines and tanhs of a vector took 1.3 times as long to run, and sines with cosines
of the same angles 2.1 times. So loops keep inlined functions until the operations of a module exceed five times the
limit.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, SymbolRefAttr, UnitAttr
from xdsl.ir import Block

from aotensor.ir.upstream import walk
from aotensor.passes.expand_math import add_definitions
from aotensor.passes.exponentials import PREFIX
from aotensor.passes.registry import Option, ir_pass
from aotensor.passes.remarks import applied
from aotensor.passes.scalar_math.table import CALLED, is_vector_symbol, outlined_symbol, vector_symbol
from aotensor.passes.target import Target


@ir_pass(
    "outline-math",
    level="loops",
    topic="code",
    unless=("scalar",),
    options={
        "operations": Option(
            0,
            1 << 30,
            "call elementary functions if a block, or all loops together, has more operations than this; 0: always",
            ("inlined_operations", "inlined_in_module"),
        )
    },
)
def outline_math(module: ModuleOp, target: Target) -> None:
    """Calls the elementary functions of a block instead of inlining them, if their bodies have more than 2000
    operations outside of loops, or more than 10 000 in all innermost loops of a module: LLVM's time grows with the
    square of a block. Loops call functions of vectors.

    `target.inlined_operations` and `target.inlined_in_module` are the limits of operations that LLVM is given at
    once.
    """
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
    lengths = {symbol: sum(1 for _ in walk(op)) for symbol, op in functions.items() if _is_inlined(symbol, op)}
    kernels = [op for symbol, op in functions.items() if not symbol.startswith(PREFIX)]
    found = [(block, calls) for op in kernels for block in _blocks(op) if (calls := _calls(block, lengths))]
    in_loops = sum(lengths[_callee(call)] for block, calls in found if _is_innermost(block) for call in calls)
    lanes: dict[str, set[int]] = {}
    for block, calls in found:
        length, most = sum(lengths[_callee(call)] for call in calls), target.inlined_operations
        what = "{} calls of {} not inlined: their bodies have {} operations, the limit is {}"
        if _is_innermost(block):
            length, most = in_loops, target.inlined_in_module
            what = "{} calls of {} not inlined: the bodies in all loops have {} operations, the limit is {}"
        if length <= most:
            continue
        names = ", ".join(sorted({_callee(call).split(".")[1] for call in calls}))
        applied(what, len(calls), names, length, most, calls[0])
        for call in calls:
            name = _callee(call)
            lanes.setdefault(name, set()).update(_lanes(block, call, target))
            call.properties["callee"] = SymbolRefAttr(outlined_symbol(name))
    for name, counts in lanes.items():
        module.body.block.add_op(_outlined(functions[name], outlined_symbol(name)))
        add_definitions(module, [vector_symbol(name, count) for count in sorted(counts)], target)


def _calls(block: Block, known: Container[str]) -> list[func.CallOp]:
    return [op for op in block.ops if type(op) is func.CallOp and _callee(op) in known]


def _callee(call: func.CallOp) -> str:
    return call.callee.root_reference.data


def _is_inlined(symbol: str, op: func.FuncOp) -> bool:
    is_scalar = symbol.startswith(PREFIX) and not is_vector_symbol(symbol)
    return is_scalar and bool(op.body.blocks) and CALLED not in op.attributes


def _blocks(function: func.FuncOp) -> Iterator[Block]:
    """All blocks of a function, including those inside its loops and branches."""
    yield from function.body.blocks
    for op in walk(function.body):
        for region in op.regions:
            yield from region.blocks


def _is_innermost(block: Block) -> bool:
    """Is this block the body of an innermost loop?"""
    return isinstance(block.parent_op(), scf.ForOp) and not any(op.regions for op in block.ops)


def _lanes(block: Block, call: func.CallOp, target: Target) -> set[int]:
    """The lane counts, at most one, with which LLVM may vectorize an innermost loop around a call."""
    loop = block.parent_op()
    if loop is None or "novector" in loop.attributes or not _is_innermost(block):
        return set()
    bits = loop.attributes.get("lane_bits")
    width = bits.value.data if isinstance(bits, IntegerAttr) else call.results[0].type.bitwidth  # type: ignore[attr-defined]
    count = target.register_bits // width
    return {count} if count > 1 else set()


def _outlined(function: func.FuncOp, symbol: str) -> func.FuncOp:
    """Define a function that only calls an inlined function, so that the latter is compiled once out of line."""
    kind = function.function_type
    made = func.FuncOp(symbol, (list(kind.inputs), list(kind.outputs)), visibility="private")
    call = func.CallOp(function.sym_name.data, made.body.block.args, list(kind.outputs))
    made.body.block.add_ops([call, func.ReturnOp(*call.results)])
    made.attributes[CALLED] = UnitAttr()
    return made
