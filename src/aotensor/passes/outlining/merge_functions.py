"""Merge outlined functions that are equal: keep one, and redirect all calls to it.

    func.call @f.chunk0(%x, %y, %i)          func.call @f.chunk0(%x, %y, %i)
    func.call @f.chunk1(%z, %t, %i)     →    func.call @f.chunk0(%z, %t, %i)

Layers of a network and terms of a sum give equal loops over different buffers, and buffers are arguments of the
functions that `outline` and `outline-chunks` have made. Later passes and LLVM compile each such loop once. Equal loops
of different source lines are not merged: line tables and error messages name the lines.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    found = [op for op in module.body.block.ops if isinstance(op, func.FuncOp) and OUTLINED in op.attributes]
    equal: dict[object, list[func.FuncOp]] = {}
    while found:
        for function in found:
            code = tuple(block_parts(function.body.block, {}, numbered=[SCOPE], located=True))
            key = NO_ALIAS in function.attributes, code
            equal.setdefault(key, []).append(function)
        merged = {x.sym_name.data: group[0].sym_name.data for group in equal.values() for x in group[1:]}
        for group in equal.values():
            if len(group) > 1:
                applied("merged functions: {} and {} more have equal code", group[0], len(group) - 1)
            for function in group[1:]:
                function.detach()
                function.erase()
            del group[1:]
        found = _redirected(module, merged)  # may be equal now to others that call the same
        equal = {key: [x for x in group if x not in found] for key, group in equal.items()}


def _redirected(module: ModuleOp, merged: Mapping[str, str]) -> list[func.FuncOp]:
    """Redirect calls to other functions; return the outlined functions that contain some."""
    changed: dict[func.FuncOp, None] = {}
    for function in [op for op in module.body.block.ops if isinstance(op, func.FuncOp)] if merged else ():
        for call in walk(function):
            if type(call) is func.CallOp and call.callee.string_value() in merged:
                call.properties["callee"] = SymbolRefAttr(merged[call.callee.string_value()])
                if OUTLINED in function.attributes:
                    changed[function] = None
    return list(changed)
