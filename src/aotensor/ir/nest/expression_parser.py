"""Parse expressions and tables of sizes (`expressions.py`) into operations."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from aotensor.ir.nest.chunks import KEYS, ChunkSizeOp
from aotensor.ir.nest.expressions import CALLS, DIVISIONS, INFIX, ORDERS, constant, dims_of, fact_of, literal

TABLE: Final = "nest.sizes"
Node: TypeAlias = "SSAValue | int | float"
_Type = TypeVar("_Type", bound=Attribute)
_SIGNS: Final = {sign: (kind, strength) for kind, (sign, strength) in INFIX.items()} | {"/": (arith.DivfOp, 2)}
_SPECIAL: Final = (tensor.DimOp, arith.IndexCastOp, ChunkSizeOp)
_NAMES: Final = {name: kind for kind, name in CALLS.items() if kind not in _SPECIAL}
_DIALECTS: Final = frozenset({"nest", "arith", "math", "func", "aot", "scf"})
_TENSORS: Final = frozenset({"tensor.extract", "tensor.empty", "tensor.splat", "tensor.dim", "tensor.from_elements"})
_CALLED: Final = (*CALLS.values(), *ORDERS)
_BEGIN: Final = re.compile(rf"\(*(-?\d|%|({'|'.join(_CALLED)})\()")
"""The begin of an operand that is not a name."""
_CALL: Final = re.compile(rf"({'|'.join(_CALLED)})\(")
_INDEX: Final = IndexType()


@dataclass
class Computed(UnresolvedOperand):
    """An operand that is an expression or a literal, whose type follows from its operation."""

    node: Node


class ExpressionParser(Parser):
    """A parser that accepts an expression for each operand, and a table of sizes at the head of a function."""

    _scopes: list[_Scope]
    _is_loop = False
    """Is the next block the body of a loop?"""
    _accepts = False
    """May operands of the operation that is parsed be literals? Some have numbers of another meaning there."""
    _table: dict[str, tuple[Span, SSAValue]] | None = None

    def _get_op_by_name(self, name: str) -> type[Operation]:
        self._accepts = name.partition(".")[0] in _DIALECTS or name in _TENSORS
        return super()._get_op_by_name(name)

    def _parse_block_body(self, block: Block) -> None:
        with self.inside(block):
            if self._current_token.text == TABLE:
                self._parse_table()
            super()._parse_block_body(block)

    def inside(self, block: Block) -> _Inside:
        """Context manager: operations of parsed expressions are added at the end of a block."""
        if not hasattr(self, "_scopes"):
            self._scopes = []
        is_loop, self._is_loop = self._is_loop, False
        return _Inside(self._scopes, block, is_loop)

    def parse_loop_body(self, counter: Parser.Argument, is_private: bool) -> Region:
        """Parse the region of a loop. Invariant operations of its expressions are added before the loop.

        is_private: for a loop over chunks: each chunk computes its invariants, as no pass moves them out
        """
        self._is_loop = not is_private
        return self.parse_region([counter])

    def built(self, op: Operation) -> None:
        """Hook for subclasses: called with each operation that an expression adds."""

    def emit(self, op: Operation) -> SSAValue:
        """Add an operation to the current block and return its value; an equal operation in scope is reused instead.

        A loop-invariant operation is added before the loop, unless it may trap: a loop may have no iterations.
        """
        key = type(op), fact_of(op), *op.operands
        if key in self._scopes[-1].known:
            found = self._scopes[-1].known[key]
            op.erase()
            return found
        self.built(op)
        scopes = iter(reversed(self._scopes))
        scope = next(scopes)
        while scope.is_loop and not isinstance(op, DIVISIONS) and not any(scope.holds(x) for x in op.operands):
            scope = next(scopes)
        scope.block.add_op(op)
        return scope.known.setdefault(key, op.results[0])

    # --- the table of sizes ------------------------------------------------------------------------------------------

    def _parse_table(self) -> None:
        self._consume_token()
        self.parse_punctuation("{")
        self._table = {}
        while self.parse_optional_punctuation("}") is None:
            token = self._parse_token(MLIRTokenKind.PERCENT_IDENT, " in a table of sizes")
            self.parse_punctuation("=")
            start = self._current_token.span
            x = self.value(self.expression(), _INDEX)
            name = token.text[1:]
            other = next((known for known, (_, y) in self._table.items() if y is x), None)
            if other is not None:
                self.raise_error(f"%{name} is equal to %{other}: equal sizes are one entry", token.span)
            if not isinstance(x.owner, Operation) or literal(x.owner) is not None:
                self.raise_error(f"%{name} is not computed: a size is an expression of extents", start)
            self._register_ssa_definition(name, [x], token.span)
            if SSAValue.is_valid_name(name):
                x.name_hint = name
            self._table[name] = (token.span, x)

    def parse_operation(self) -> Operation:
        op = super().parse_operation()
        if isinstance(op, func.FuncOp) and self._table is not None:
            self._check_table(op)
            self._table = None
        return op

    def _check_table(self, function: func.FuncOp) -> None:
        """Check that each entry of the table that is named like a dim is the extent of that dim."""
        assert self._table is not None
        dims = dims_of(function)
        for name, (span, x) in self._table.items():
            op = x.owner
            if not isinstance(op, tensor.DimOp) or not isinstance(op.source, BlockArgument):
                continue
            axis = literal(op.index.owner)
            found = dims.get((op.source.index, axis)) if isinstance(axis, int) else None
            if found is not None and name in dims.values() and name != found:
                said = f"axis {axis} of %{op.source.name_hint} is {found}"
                self.raise_error(f"the table of sizes is wrong: %{name} is not this extent, {said}", span)

    # --- expressions -------------------------------------------------------------------------------------------------

    def expression(self, kind: Attribute = _INDEX, first: Node | None = None) -> Node:
        """Parse an expression. kind: its type. first: its first operand, if that has been parsed."""
        return self._operations(1, kind, first)

    def value(self, node: Node, kind: Attribute) -> SSAValue:
        """Convert a parsed expression to an SSA value.   Raises: ParseError for a literal that is not of this type"""
        if isinstance(node, SSAValue):
            return node
        op = constant(node, kind)
        if op is None:
            self.raise_error(f"{node} is not a number of type {kind}")
        return self.emit(op)

    def _operations(self, least: int, kind: Attribute, first: Node | None) -> Node:
        """Parse infix operations whose operator binds at least as strongly as `least`."""
        left = self.atom(kind) if first is None else first
        while (found := _SIGNS.get(self._current_token.text)) is not None and found[1] >= least:
            sign = self._consume_token()
            right = self._operations(found[1] + 1, kind, None)
            left = self.infix(found[0], [self.value(left, kind), self.value(right, kind)], sign.text)
        return left

    def infix(self, kind: type[Operation], operands: Sequence[SSAValue], sign: str) -> SSAValue:
        """Build the operation of an infix operator."""
        if operands[0].type != _INDEX:
            self.raise_error(f"{sign} of a number of type {operands[0].type} outside of a statement")
        return self.emit(kind(*operands))

    def atom(self, kind: Attribute) -> Node:
        """Parse an operand of an infix operator: a number, a name, a call, or an expression in parentheses."""
        if self.parse_optional_punctuation("(") is not None:
            found = self.expression(kind)
            self.parse_punctuation(")")
            return found
        number = self.parse_optional_number()
        if number is not None:
            return number
        if self._current_token.kind is MLIRTokenKind.PERCENT_IDENT:
            return self.named(self.parse_name())
        name = self._current_token.text
        if name not in _CALLED:
            self.raise_error(f"{name!r} is not an operation of sizes")
        self._consume_token()
        self.parse_punctuation("(")
        if name in ("dim", "chunk_size"):
            made: Operation = self._dim() if name == "dim" else self._chunk_size()
        elif name == "i64":
            made = arith.IndexCastOp(self._argument(_INDEX), i64)
        else:
            operands = [self._argument(kind)]
            while self.parse_optional_punctuation(",") is not None:
                operands.append(self._argument(kind))
            if len(operands) != (3 if name == "select" else 2):
                self.raise_error(f"{name} of {len(operands)} operands")
            make: Callable[..., Operation] = arith.CmpiOp if name in ORDERS else _NAMES[name]
            made = make(*operands, name) if name in ORDERS else make(*operands)
        self.parse_punctuation(")")
        return self.emit(made)

    def _argument(self, kind: Attribute) -> SSAValue:
        return self.value(self.expression(kind), kind)

    def _dim(self) -> Operation:
        source = self.named(self.parse_name())
        self.parse_punctuation(",")
        return tensor.DimOp(source, self._argument(_INDEX))

    def _chunk_size(self) -> Operation:
        operands, least = [self._argument(_INDEX)], 0
        for key in KEYS:
            self.parse_punctuation(",")
            self.parse_keyword(key)
            self.parse_punctuation("=")
            if key == "least":
                least = self.parse_integer()
            else:
                operands.append(self._argument(_INDEX))
        if least < 1:
            self.raise_error(f"least = {least}: a chunk has work")
        return ChunkSizeOp(least, *operands)

    def parse_name(self) -> UnresolvedOperand:
        """Parse a single name."""
        operand = super().parse_optional_unresolved_operand()
        return operand if operand is not None else self.raise_error("a name is expected")

    def named(self, operand: UnresolvedOperand) -> SSAValue:
        """The SSA value of a name. Raises: ParseError for a name that is not yet defined."""
        values = self.ssa_values.get(operand.operand_name)
        if values is None or operand.index >= len(values):
            said = f"%{operand.operand_name} is not in the table of sizes, and nothing before makes it"
            self.raise_error(said, operand.span)
        return values[operand.index]

    # --- operands ----------------------------------------------------------------------------------------------------

    def parse_optional_unresolved_operand(self) -> UnresolvedOperand | None:
        """Parse an operand, which may be an expression."""
        token = self._current_token
        if token.kind is MLIRTokenKind.PERCENT_IDENT:
            operand = super().parse_optional_unresolved_operand()
            assert operand is not None
            if self._current_token.text not in _SIGNS:
                return operand
            return Computed(token.span, 0, self.expression(first=self.named(operand)))
        if (_BEGIN if self._accepts else _CALL).match(self.lexer.input.content, token.span.start) is not None:
            return Computed(token.span, 0, self.expression())
        return None

    def resolve_operand(self, operand: UnresolvedOperand, type: _Type) -> SSAValue[_Type]:
        """The SSA value of a parsed operand: of a name, an expression, or a literal of this type."""
        if not isinstance(operand, Computed):
            if self._table is not None and operand.operand_name not in self.ssa_values:
                self.named(operand)
            return super().resolve_operand(operand, type)
        x = self.value(operand.node, type)
        if x.type != type:
            self.raise_error(f"this is a number of type {x.type}, and {type} is needed", operand.span)
        return x  # type: ignore[return-value]

    def _parse_optional_operand_without_type(self) -> SSAValue | None:
        operand = self.parse_optional_unresolved_operand()
        if operand is None:
            return None
        return self.value(operand.node, _INDEX) if isinstance(operand, Computed) else self.named(operand)


@dataclass
class _Scope:
    """A block that is parsed, with the operations of expressions that are visible in it."""

    block: Block
    known: ChainMap[object, SSAValue]
    is_loop: bool

    def holds(self, x: SSAValue) -> bool:
        """Is a value defined in the block itself?"""
        return self.block in (x.owner, getattr(x.owner, "parent", None))


class _Inside:
    def __init__(self, scopes: list[_Scope], block: Block, is_loop: bool) -> None:
        self._scopes, self._block, self._is_loop = scopes, block, is_loop

    def __enter__(self) -> None:
        known = self._scopes[-1].known.new_child() if self._scopes else ChainMap[object, SSAValue]()
        self._scopes.append(_Scope(self._block, known, self._is_loop))

    def __exit__(self, *_: object) -> None:
        self._scopes.pop()
