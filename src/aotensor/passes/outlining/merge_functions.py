"""Merge outlined functions that are equal: keep one, and redirect all calls to it.

    func.call @f.chunk0(%x, %y, %i)          func.call @f.chunk0(%x, %y, %i)
    func.call @f.chunk1(%z, %t, %i)     →    func.call @f.chunk0(%z, %t, %i)

Layers of a network and terms of a sum give equal loops over different buffers, and buffers are arguments of the
functions that `outline` and `outline-chunks` have made. Later passes and LLVM compile each such loop once. Equal loops
of different source lines are not merged: line tables and error messages name the lines.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr

from aotensor.ir.upstream import walk
from aotensor.passes.keys import block_parts
from aotensor.passes.memory.plan_memory import SCOPE
from aotensor.passes.outlining.outline import NO_ALIAS, OUTLINED
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied


@ir_pass("merge-functions", level="loops", topic="code")
def merge_functions(module: ModuleOp) -> None:
    """Merges equal outlined functions, as layers of a network and terms of a sum give: each loop is compiled once.
    Loops of different lines stay apart.
    """
    equal: dict[object, list[func.FuncOp]] = {}
    for function in module.body.block.ops:
        if isinstance(function, func.FuncOp) and OUTLINED in function.attributes:
            code = tuple(block_parts(function.body.block, {}, numbered=[SCOPE], located=True))
            key = NO_ALIAS in function.attributes, code
            equal.setdefault(key, []).append(function)
    merged: dict[str, str] = {}
    for first, *others in equal.values():
        if others:
            applied("merged functions: {} and {} more have equal code", first, len(others))
        for function in others:
            merged[function.sym_name.data] = first.sym_name.data
            function.detach()
            function.erase()
    for call in walk(module) if merged else ():
        if isinstance(call, func.CallOp) and call.callee.string_value() in merged:
            call.properties["callee"] = SymbolRefAttr(merged[call.callee.string_value()])
