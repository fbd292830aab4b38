"""The readable text of nests: index arithmetic as expressions, and a table of sizes at the head of each function.

    %c1 = arith.constant 1 : index                     nest.sizes {
    %n = tensor.dim %x, %c0 : tensor<?xf64>      →       %n = dim(%x, 0)
    %m = arith.subi %n, %c1 : index                      %0 = %n - 1
    nest.for %i in %m { … }                            }
                                                       nest.for %i in %0 { … }

A *size* is computed from extents of arguments and constants alone. Equal sizes are one entry of the table. Other index
arithmetic is an expression where it is used, and a constant is a literal. `div` truncates and `divu` is unsigned.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Final, TypeAlias

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, FloatAttr, IndexType, IntegerAttr, IntegerType, StringAttr, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from aotensor.ir.nest.chunks import KEYS, ChunkSizeOp, ChunksOp
from aotensor.ir.upstream import walk

INFIX: Final[Mapping[type[Operation], tuple[str, int]]] = {
    arith.AddiOp: ("+", 1), arith.SubiOp: ("-", 1), arith.MuliOp: ("*", 2), arith.DivSIOp: ("div", 2),
    arith.FloorDivSIOp: ("floordiv", 2), arith.CeilDivSIOp: ("ceildiv", 2), arith.DivUIOp: ("divu", 2),
    arith.RemSIOp: ("rem", 2), arith.RemUIOp: ("remu", 2),
}  # fmt: skip
"""Operation → its sign and strength."""
CALLS: Final[Mapping[type[Operation], str]] = {
    arith.MinSIOp: "min", arith.MaxSIOp: "max", arith.MinUIOp: "minu", arith.MaxUIOp: "maxu", arith.SelectOp: "select",
    tensor.DimOp: "dim", arith.IndexCastOp: "i64", ChunksOp: "chunks", ChunkSizeOp: "chunk_size",
}  # fmt: skip
ORDERS: Final = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""Predicates of `arith.cmpi` by number."""
_FOLDABLE: Final = frozenset({arith.ConstantOp, arith.CmpiOp, *INFIX, *CALLS})
ATOM: Final = 9
_NONE: Final = arith.IntegerOverflowAttr("none")
DIVISIONS: Final = (
    arith.DivSIOp, arith.FloorDivSIOp, arith.CeilDivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp, ChunksOp,
)  # fmt: skip
_SHORT: Final = 5
"""Operations and operands of an expression that is written at each of its uses."""
_DEEP: Final = 32
"""Expressions in each other, at most: readers and parsers are recursive."""
Text: TypeAlias = tuple[str, int]
"""An expression and its strength."""


@dataclass
class Size:
    """A value whose operation is not printed: it is part of an expression, or an entry of the table of sizes.

    is_size: is it computed from extents of arguments and constants alone? uses: number of uses by printed operations.
    inner: values whose expressions use it. length: number of operations and operands in its expression.
    depth: how many expressions it has in each other.
    """

    op: Operation
    is_size: bool
    uses: int = 0
    inner: list[SSAValue] = field(default_factory=list)
    length: int = 1
    depth: int = 1
    is_named: bool = False


class Sizes:
    """Decides how the index arithmetic of a function is printed: which values are sizes, and which are expressions.

    names: value → the name of an extent of an argument, as the user gave it
    """

    def __init__(self, function: func.FuncOp) -> None:
        self._same: dict[SSAValue, SSAValue] = {}
        self._folded: dict[SSAValue, Size] = {}
        self._entry = function.body.block
        self._dims = dims_of(function)
        self.names: dict[SSAValue, str] = {}
        self._number(self._entry, ChainMap())
        self._count(function)
        self.table = self._table()
        for size in self._folded.values():
            if not size.is_size:
                parts = (self._folded.get(self.representative(y)) for y in size.op.operands)
                size.length = 1 + sum(1 if part is None or part.is_named else part.length for part in parts)
                is_cast = isinstance(size.op, arith.IndexCastOp)
                is_long = size.uses + len(size.inner) > 1 and size.length > _SHORT and not is_cast
                size.is_named = is_long or (self._is_deep(size) and bool(size.uses or size.inner))

    def _is_deep(self, size: Size) -> bool:
        """Must an expression have a name, as more than `_DEEP` are in each other? Operands come first."""
        parts = [self._folded.get(self.representative(y)) for y in size.op.operands]
        size.depth = 1 + max((part.depth for part in parts if part is not None and not part.is_named), default=0)
        return size.depth > _DEEP and not isinstance(size.op, arith.IndexCastOp)

    def representative(self, x: SSAValue) -> SSAValue:
        """The representative of all values equal to x: the first one."""
        return self._same.get(x, x)

    def is_hidden(self, op: Operation) -> bool:
        """Is an operation not printed, because its result is an expression or an entry of the table?"""
        if len(op.results) != 1 or op.results[0] not in self._same:
            return False
        size = self._folded.get(op.results[0])
        return size is None or size.is_size or not size.is_named

    def expression(self, x: SSAValue) -> Operation | None:
        """The operation of a value that is printed as an expression; None for one with a name."""
        size = self._folded.get(x)
        return None if size is None or size.is_named else size.op

    def _number(self, block: Block, known: ChainMap[object, SSAValue]) -> None:
        """Find equal values in a block and in the blocks around it."""
        for op in block.ops:
            if _is_foldable(op):
                (x,), operands = op.results, [self.representative(y) for y in op.operands]
                is_size = self._is_size(op, operands)
                scope = known.maps[-1] if is_size else known
                first = self._same[x] = scope.setdefault((type(op), fact_of(op), *operands), x)
                if first is x:
                    self._folded[x] = Size(op, is_size)
            for region in op.regions:
                for inner in region.blocks:
                    self._number(inner, known.new_child())

    def _is_size(self, op: Operation, operands: Sequence[SSAValue]) -> bool:
        """Is the result computed from extents of arguments and constants alone, and defined wherever these are?"""
        found = [self._folded.get(y) for y in operands]
        is_size = all(size is not None and size.is_size for size in found)
        if isinstance(op, tensor.DimOp):
            is_size = isinstance(op.source, BlockArgument) and op.source.block is self._entry and found[1] is not None
            return is_size and isinstance(found[1].op, arith.ConstantOp)  # type: ignore[union-attr]
        return is_size and (not isinstance(op, DIVISIONS) or self._is_positive(operands[1]))

    def _is_positive(self, x: SSAValue) -> bool:
        size = self._folded.get(x)
        op = None if size is None else size.op
        if isinstance(op, arith.ConstantOp):
            return isinstance(op.value, IntegerAttr) and op.value.value.data > 0
        if isinstance(op, ChunkSizeOp):
            return self._is_positive(self.representative(op.group))
        return isinstance(op, arith.MaxSIOp) and any(self._is_positive(self.representative(y)) for y in op.operands)

    def _count(self, function: func.FuncOp) -> None:
        """Count the uses of each value, except by arithmetic whose result is unused."""
        for op in walk(function):
            is_folded = type(op) in _FOLDABLE and op.results[0] in self._same
            for x in () if is_folded else op.operands:
                if (size := self._folded.get(self.representative(x))) is not None:
                    size.uses += 1
        for x, size in reversed(self._folded.items()):
            if size.uses or size.inner:
                for y in size.op.operands:
                    if (part := self._folded.get(self.representative(y))) is not None:
                        part.inner.append(x)

    def _table(self) -> list[SSAValue]:
        """The entries of the table of sizes: extents of arguments, then other sizes in the order of their uses."""
        found = list[SSAValue]()
        for x, size in self._folded.items():
            outside = any(not self._folded[y].is_size for y in size.inner)
            is_used = bool(size.uses) or outside or len(size.inner) > 1
            if size.is_size and literal(size.op) is None and (size.uses or size.inner):
                is_used = is_used and not isinstance(size.op, arith.IndexCastOp)
                size.is_named = is_used or isinstance(size.op, tensor.DimOp) or self._is_deep(size)
            if size.is_named:
                found.append(x)
                self._name(x, size.op)
        return sorted(found, key=lambda x: not isinstance(self._folded[x].op, tensor.DimOp))

    def _name(self, x: SSAValue, op: Operation) -> None:
        if isinstance(op, tensor.DimOp):
            axis = literal(self._folded[self.representative(op.index)].op)
            assert isinstance(op.source, BlockArgument) and isinstance(axis, int)
            name = self._dims.get((op.source.index, axis)) or f"{op.source.name_hint or 'x'}.{axis}"
            self.names[x] = name if SSAValue.is_valid_name(name) else f"d{op.source.index}.{axis}"


def dims_of(function: func.FuncOp) -> dict[tuple[int, int], str]:
    """(argument, axis) → the user's name of the extent of that axis."""
    rows = function.attributes.get("dims")
    return {
        (number, axis): name.data
        for number, row in enumerate(rows.data if isinstance(rows, ArrayAttr) else ())
        for axis, name in enumerate(row.data if isinstance(row, ArrayAttr) else ())
        if isinstance(name, StringAttr) and name.data
    }


def fact_of(op: Operation) -> object:
    """A key that distinguishes an operation from others of its type with the same operands."""
    match op:
        case arith.ConstantOp():
            return op.value, repr(literal(op))
        case arith.CmpiOp():
            return op.predicate
        case ChunkSizeOp():
            return op.least
    return None


def literal(op: object) -> int | float | None:
    """The number of a constant that is printed as a literal; None for any other operation."""
    if not isinstance(op, arith.ConstantOp) or op.attributes:
        return None
    if type(op.value) is IntegerAttr:
        kind = op.value.type
        is_number = isinstance(kind, IndexType) or (isinstance(kind, IntegerType) and kind.width.data > 1)
        return int(op.value.value.data) if is_number else None
    if not isinstance(op.value, FloatAttr) or not isfinite(op.value.value.data):
        return None
    return float(op.value.value.data)


def number_text(value: float) -> Text:
    """A literal as MLIR writes it: a float has a point."""
    text = repr(value)
    if isinstance(value, float) and "." not in text:
        mantissa, e, exponent = text.partition("e")
        text = f"{mantissa}.0{e}{exponent}"
    return text, 0 if text.startswith("-") else ATOM


def _is_foldable(op: Operation) -> bool:
    if type(op) not in _FOLDABLE or op.attributes:
        return False
    if isinstance(op, arith.ConstantOp):
        return literal(op) is not None
    if isinstance(op, arith.CmpiOp):
        return isinstance(op.lhs.type, IndexType)
    if isinstance(op, arith.IndexCastOp):
        return op.results[0].type == i64
    return has_no_flags(op) and isinstance(op.results[0].type, IndexType)


def has_no_flags(op: Operation) -> bool:
    """Does an integer operation have no overflow flags?"""
    return op.properties.get("overflowFlags", _NONE) == _NONE


def expression_text(op: Operation, text: Callable[[SSAValue, int], str]) -> Text:
    """The expression of an operation. text: renders an operand, in parentheses if it binds less than a strength."""
    if (number := literal(op)) is not None:
        return number_text(number)
    if type(op) in INFIX:
        sign, strength = INFIX[type(op)]
        return f"{text(op.operands[0], strength)} {sign} {text(op.operands[1], strength + 1)}", strength
    if isinstance(op, ChunkSizeOp):
        extent, work, most, group = (text(x, 0) for x in op.operands)
        told = zip(KEYS, (work, op.least.value.data, most, group), strict=True)
        return f"chunk_size({extent}, {', '.join(f'{key} = {x}' for key, x in told)})", ATOM
    name = ORDERS[op.predicate.value.data] if isinstance(op, arith.CmpiOp) else CALLS[type(op)]
    return f"{name}({', '.join(text(x, 0) for x in op.operands)})", ATOM


def constant(value: float, kind: Attribute) -> arith.ConstantOp | None:
    """A constant operation for a literal; None if literals of this type are not printed."""
    if isinstance(kind, IndexType | IntegerType) and isinstance(value, int):
        return arith.ConstantOp(IntegerAttr(value, kind))
    if isinstance(kind, AnyFloat) and isinstance(value, float):
        return arith.ConstantOp(FloatAttr(value, kind))
    return None
