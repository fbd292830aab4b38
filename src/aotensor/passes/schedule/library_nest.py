"""Combine the nests of single functions into the nest of a library."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func

from aotensor.ir.context import functions_of, parse_module
from aotensor.ir.text import text_of
from aotensor.ir.upstream import walk


def replace_functions(library: str, nests: Mapping[str, str]) -> str:
    """The nest of a library, in which functions are replaced by the given ones. nests: function name → its new nest."""
    module = parse_module(library)
    known = {op.sym_name.data: op for op in walk(module) if isinstance(op, func.FuncOp)}
    for name, text in nests.items():
        for op in functions_of(parse_module(text)):
            old = known.get(op.sym_name.data)
            if old is None or op.sym_name.data.partition(".")[0] != name:
                continue
            op.detach()
            assert old.parent is not None
            old.parent.insert_ops_before([op], old)
            old.detach()
            old.erase()
    return text_of(module, brief=True)
