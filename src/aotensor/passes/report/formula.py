"""Statements and extents of nests as formulas in the terms of the model: `⟨X @ w⟩ += X[i, k] * w[k]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from xdsl.dialects import arith, func, math, tensor
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from aotensor.ir.dialect import ExtractIfOp
from aotensor.ir.nest.chunks import ChunkSizeOp, ChunksOp
from aotensor.ir.nest.loops import ForOp
from aotensor.ir.nest.ops import DoOp, YieldOp
from aotensor.ir.nest.syntax import Subscript
from aotensor.passes.report.numbers import dim_of

LONGEST: Final = 400  # characters of a formula
_INFIX: Final[Mapping[type[Operation], tuple[str, int]]] = {
    arith.MulfOp: ("*", 80), arith.DivfOp: ("/", 80), arith.AddfOp: ("+", 70), arith.SubfOp: ("-", 70),
    arith.MuliOp: ("*", 80), arith.DivSIOp: ("//", 80), arith.DivUIOp: ("//", 80), arith.FloorDivSIOp: ("//", 80),
    arith.RemSIOp: ("%", 80), arith.RemUIOp: ("%", 80), arith.AddiOp: ("+", 70), arith.SubiOp: ("-", 70),
    arith.AndIOp: ("&", 60), arith.OrIOp: ("|", 50), arith.XOrIOp: ("^", 55),
}  # fmt: skip
_CALLS: Final[Mapping[type[Operation], str]] = {
    arith.MinSIOp: "min", arith.MaxSIOp: "max", arith.MinUIOp: "min", arith.MaxUIOp: "max", arith.MinimumfOp: "minimum",
    arith.MaximumfOp: "maximum", arith.MinnumfOp: "fmin", arith.MaxnumfOp: "fmax", arith.SelectOp: "where",
}  # fmt: skip
_SAME: Final = (
    arith.IndexCastOp, arith.ExtFOp, arith.TruncFOp, arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.SIToFPOp,
    arith.UIToFPOp, arith.FPToSIOp, arith.FPToUIOp, arith.BitcastOp,
)  # fmt: skip
_ORDERS: Final = {
    "f": ("false", "==", ">", ">=", "<", "<=", "!=", "ord", "==", ">", ">=", "<", "<=", "!=", "uno", "true"),
    "i": ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="),
}
_ATOM: Final = 100


class Formulas:
    """Renders IR values as text.

    names: value → its name, if it has one. name_of: function that names a tensor or buffer.
    """

    def __init__(self, name_of: Callable[[SSAValue], str]) -> None:
        self.names: dict[SSAValue, str] = {}
        self._name_of = name_of
        self._written: dict[SSAValue, tuple[str, int]] = {}

    def value(self, x: SSAValue) -> str:
        """The text of a scalar."""
        return self._write(x, 0)[0]

    def access(self, x: SSAValue, subscripts: Sequence[Subscript]) -> str:
        """The text of an element such as `X[i, k]`; only the name for a tensor without axes."""
        name = self._name_of(x)
        inside = ", ".join(str(i) if isinstance(i, int) else self.value(i) for i in subscripts)
        return f"{name}[{inside}]" if inside else name

    def statement(self, op: DoOp) -> list[str]:
        """The text of a statement: one line for each element that it writes."""
        arguments = op.body.block.args
        accesses = [*op.reads, *op.writes]
        for argument, (x, subscripts) in zip(arguments, accesses, strict=True):
            self.names[argument] = self.access(x, subscripts)
        last = op.body.block.last_op
        assert isinstance(last, YieldOp)
        results = zip(arguments[len(op.inputs) :], op.writes, last.values, strict=True)
        return [self._assignment(op, own, x, subscripts, new) for own, (x, subscripts), new in results]

    def _assignment(self, op: DoOp, own: SSAValue, x: SSAValue, subscripts: Sequence[Subscript], new: SSAValue) -> str:
        left = self.names[own]
        if op.scatter is not None:
            where = self.value(op.body.block.args[op.scatter.value.data])
            rest = [str(i) if isinstance(i, int) else self.value(i) for i in subscripts[1:]]
            left = f"{self._name_of(x)}[{', '.join([where, *rest])}]"
            self.names[own] = left
        maker = new.owner
        if isinstance(maker, arith.AddfOp | arith.MulfOp | arith.AddiOp) and own in maker.operands:
            other = maker.operands[1] if maker.operands[0] is own else maker.operands[0]
            return _short(f"{left} {_INFIX[type(maker)][0]}= {self.value(other)}")
        return _short(f"{left} = {self.value(new)}")

    def _write(self, x: SSAValue, depth: int) -> tuple[str, int]:
        if x in self.names:
            return self.names[x], _ATOM
        if x in self._written:
            return self._written[x]
        if isinstance(x, BlockArgument) or depth > 12:
            return (x.name_hint or "…", _ATOM) if isinstance(x, BlockArgument) else ("…", _ATOM)
        text, strength = self._operation(x.owner, x, depth + 1) if isinstance(x.owner, Operation) else ("…", _ATOM)
        found = (text, strength) if len(text) <= LONGEST else ("…", _ATOM)
        if depth == 0:
            self._written[x] = found
        return found

    def _operation(self, op: Operation, x: SSAValue, depth: int) -> tuple[str, int]:
        if isinstance(op, ChunksOp | ChunkSizeOp):
            return "chunks" if isinstance(op, ChunksOp) else "size of a chunk", _ATOM
        operands = list(op.operands)
        if type(op) in _INFIX and not _counts(op):
            symbol, strength = _INFIX[type(op)]
            left, right = self._inside(operands[0], strength, depth), self._inside(operands[1], strength + 1, depth)
            return f"{left} {symbol} {right}", strength
        match op:
            case arith.ConstantOp():
                return _constant(op), _ATOM
            case tensor.DimOp():
                return x.name_hint or _dim(op) or f"extent of {self._name_of(op.source)}", _ATOM
            case arith.DivUIOp() if _counts(op):
                return f"#{self._write(operands[0], depth)[0]}", _ATOM
            case arith.NegfOp():
                return f"-{self._inside(operands[0], 85, depth)}", 85
            case arith.CmpfOp() | arith.CmpiOp():
                number = op.predicate.value.data
                sign = _ORDERS["f" if isinstance(op, arith.CmpfOp) else "i"][number]
                left, right = (self._inside(y, 41, depth) for y in operands)
                return f"{left} {sign} {right}", 40
            case tensor.ExtractOp():
                return self.access(op.tensor, list(op.indices)), _ATOM
            case ExtractIfOp():
                condition, other = self._write(op.condition, depth)[0], self._write(op.otherwise, depth)[0]
                return f"({self.access(op.tensor, list(op.indices))} if {condition} else {other})", _ATOM
            case func.CallOp():
                name = op.callee.root_reference.data.removeprefix("aot.").split(".")[0]
                return self._call(name, operands, depth), _ATOM
            case math.FmaOp():
                product = f"{self._inside(operands[0], 80, depth)} * {self._inside(operands[1], 81, depth)}"
                return f"{product} + {self._inside(operands[2], 71, depth)}", 70
            case _ if isinstance(op, _SAME):
                return self._write(operands[0], depth)
            case _ if type(op) in _CALLS:
                return self._call(_CALLS[type(op)], operands, depth), _ATOM
            case _:
                return self._call(op.name.partition(".")[2] or op.name, operands, depth), _ATOM

    def _call(self, name: str, operands: Sequence[SSAValue], depth: int) -> str:
        return f"{name}({', '.join(self._write(y, depth)[0] for y in operands)})"

    def _inside(self, x: SSAValue, least: int, depth: int) -> str:
        text, strength = self._write(x, depth)
        return text if strength >= least else f"({text})"


def _counts(op: Operation) -> bool:
    """Does an operation compute the number of a chunk or block, by dividing a loop counter by the loop's step?"""
    if not isinstance(op, arith.DivUIOp) or not isinstance(op.lhs, BlockArgument):
        return False
    loop = op.lhs.block.parent_op()
    return isinstance(loop, ForOp) and loop.step is op.rhs


def _dim(op: tensor.DimOp) -> str | None:
    axis = op.index.owner
    is_known = isinstance(axis, arith.ConstantOp) and isinstance(axis.value, IntegerAttr)
    return dim_of(op.source, axis.value.value.data) if is_known else None  # type: ignore[union-attr]


def _constant(op: arith.ConstantOp) -> str:
    if isinstance(op.value, IntegerAttr):
        return str(op.value.value.data)
    return f"{op.value.value.data:.6g}" if isinstance(op.value, FloatAttr) else "…"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
