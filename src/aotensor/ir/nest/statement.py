"""Statements of one element as assignments, such as `nest.do %s[] += %x[%i] * %w[%i] fastmath<contract> reassoc`.

    nest.do(%a = %x[%i] : tensor<?xf64>, %b = %w[%i] : tensor<?xf64>) -> (%c = %s[] : tensor<f64>) {
      %m = arith.mulf %a, %b fastmath<contract> : f64
      %t = arith.addf %c, %m fastmath<reassoc,contract> : f64
      nest.yield %t : f64
    }

All operations have the element's type, and each result is used once. They have the same fast-math flags, which follow
the expression; `reassoc` is an additional flag of the addition of `+=` or the product of `*=`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import UNKNOWN_LOC, AnyFloat, IndexType, TensorType
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.mlir_lexer import MLIRTokenKind

from aotensor.ir.nest.expression_parser import ExpressionParser, Node
from aotensor.ir.nest.expressions import ATOM, CALLS, Text, constant, has_no_flags, literal, number_text
from aotensor.ir.nest.ops import DoOp, YieldOp
from aotensor.ir.nest.syntax import Computing, Subscript

_FLOATS: Final[Mapping[type[Operation], tuple[str, int]]] = {
    arith.AddfOp: ("+", 1), arith.SubfOp: ("-", 1), arith.MulfOp: ("*", 2), arith.DivfOp: ("/", 2),
}  # fmt: skip
_INTEGERS: Final[Mapping[type[Operation], tuple[str, int]]] = {
    arith.AddiOp: ("+", 1), arith.SubiOp: ("-", 1), arith.MuliOp: ("*", 2),
}  # fmt: skip
_SIGNS: Final[Mapping[type[Operation], tuple[str, int]]] = {**_FLOATS, **_INTEGERS}
_SUMS: Final = (arith.AddfOp, arith.MulfOp, arith.AddiOp, arith.MuliOp)
_NEGATIVE: Final = 3
_FUNCTIONS: Final[Sequence[type[IRDLOperation]]] = (
    arith.MinimumfOp, arith.MaximumfOp, arith.MinnumfOp, arith.MaxnumfOp,
    *(kind for kind in math.Math.operations if issubclass(kind, IRDLOperation) and kind is not math.FPowIOp),
)  # fmt: skip
_NAMED: Final[Mapping[str, type[Operation]]] = {
    kind.name.partition(".")[2]: kind for kind in _FUNCTIONS if "fastmath" in kind.get_irdl_definition().properties
}
_FLAG_NAMES: Final = {flag.value: flag for flag in FastMathFlag}
_REASSOC: Final = frozenset({FastMathFlag.REASSOC})
_RESERVED: Final = {*_NAMED, *CALLS.values()}
_DEEPEST: Final = 100
"""Parentheses within each other, at most, in an assignment; others are printed operation by operation."""


def _flags(op: Operation) -> frozenset[FastMathFlag] | None:
    """The fast-math flags of an operation; None for an operation that cannot have any."""
    found = op.attributes.get("fastmath", op.properties.get("fastmath"))
    return frozenset(found.data) if isinstance(found, arith.FastMathFlagsAttr) else None


def _permissions(flags: frozenset[FastMathFlag]) -> str:
    names = [name for name, flag in _FLAG_NAMES.items() if flag in flags]
    return f" fastmath<{', '.join(names)}>" if names else ""


def _callee(op: Operation, kind: Attribute) -> str | None:
    """The name of a called elementary function, `softplus` for `@aot.softplus.f64`; None if it mixes types."""
    if not isinstance(op, func.CallOp) or any(x.type != kind for x in (*op.operands, *op.results)):
        return None
    dialect, _, rest = op.callee.string_value().partition(".")
    name, _, suffix = rest.partition(".")
    is_usual = dialect == "aot" and suffix == str(kind) and name.isidentifier() and name not in _RESERVED
    return name if is_usual and len(op.results) == 1 and not op.attributes else None


def assignment(op: DoOp, name: Callable[[SSAValue], str], is_hidden: Callable[[Operation], bool]) -> str | None:
    """Render a statement as an assignment; None if it has a different form.

    name: function that names outside values. is_hidden: predicate of operations of the body that are not printed.
    """
    if op.scatter is not None or len(op.outputs) != 1:
        return None
    ops = [x for x in op.body.block.ops if not (isinstance(x, YieldOp) or is_hidden(x))]
    return _Writer(op, ops, name).text()


class _Writer:
    """Renders a statement as an assignment. ops: the operations of the body that have a text."""

    def __init__(self, op: DoOp, ops: Sequence[Operation], name: Callable[[SSAValue], str]) -> None:
        self.op, self.ops, self.name = op, ops, name
        self.kind = op.outputs[0].type.element_type  # type: ignore[attr-defined]
        accesses = [*op.reads, *op.writes]
        self.accesses = dict(zip(op.body.block.args, accesses, strict=True))
        keys = {(x, tuple(subscripts)) for x, subscripts in accesses}
        self.is_plain = len(keys) == len(accesses) and all(x.type == self.kind for x in op.body.block.args)

    def text(self) -> str | None:
        """The text of the assignment; None if the statement has a different form."""
        ops = self.ops
        last, (*inputs, own) = self.op.body.block.last_op, self.op.body.block.args
        if not self.is_plain or not isinstance(last, YieldOp) or not all(map(self._is_plain, ops)):
            return None
        if any(x.first_use is None for x in inputs) or _depth(ops) > _DEEPEST:
            return None
        new = last.values[0]
        root = new.owner if isinstance(new.owner, _SUMS) else None
        if root is not None and (root.parent is not self.op.body.block or root.operands[0] is not own):
            root = None
        if root is not None and not own.has_one_use():
            root = None
        found = {flags for x in ops if x is not root and (flags := _flags(x)) is not None}
        added = None if root is None else _flags(root)
        common = next(iter(found), added or frozenset())
        if len(found) > 1 or (added is not None and added not in (common, common | _REASSOC)):
            return None
        sign = "" if root is None else _SIGNS[type(root)][0]
        text = self._write(new if root is None else root.operands[1])[0]
        more = " reassoc" if added is not None and added != common else ""
        return f"{self._access(own)} {sign}= {text}{_permissions(common)}{more}"

    def _is_plain(self, op: Operation) -> bool:
        if literal(op) is not None:
            return bool(op.results[0].type == self.kind)
        if len(op.results) != 1 or op.regions or any(x.type != self.kind for x in (*op.operands, *op.results)):
            return False
        if not op.results[0].has_one_use():
            return False
        if isinstance(op, func.CallOp):
            return _callee(op, self.kind) is not None
        is_float = isinstance(self.kind, AnyFloat)
        kinds: tuple[type[Operation], ...] = (
            (*_FLOATS, arith.NegfOp, *_NAMED.values()) if is_float else tuple(_INTEGERS)
        )
        if not is_float:
            return isinstance(op, kinds) and not op.attributes and has_no_flags(op)
        return isinstance(op, kinds) and {"fastmath"}.issuperset((*op.properties, *op.attributes))

    def _access(self, x: SSAValue) -> str:
        assert isinstance(x, BlockArgument)
        tensor, subscripts = self.accesses[x]
        inside = ", ".join(str(i) if isinstance(i, int) else self.name(i) for i in subscripts)
        return f"{self.name(tensor)}[{inside}]"

    def _write(self, x: SSAValue) -> Text:
        op = x.owner
        if isinstance(x, BlockArgument) and x.block is self.op.body.block:
            return self._access(x), ATOM
        if (number := literal(op)) is not None:
            return number_text(number)
        if not isinstance(op, Operation) or op not in self.ops:
            return self.name(x), ATOM
        infix = _SIGNS.get(type(op))
        if infix is not None:
            sign, strength = infix
            left, right = (self._inside(y, strength + k) for k, y in enumerate(op.operands))
            return f"{left} {sign} {right}", strength
        if isinstance(op, arith.NegfOp):
            return f"-{self._inside(op.operand, ATOM)}", _NEGATIVE
        name = _callee(op, self.kind) or op.name.partition(".")[2]
        return f"{name}({', '.join(self._write(y)[0] for y in op.operands)})", ATOM

    def _inside(self, x: SSAValue, least: int) -> str:
        text, strength = self._write(x)
        return text if strength >= least else f"({text})"


def _depth(ops: Iterable[Operation]) -> int:
    """The nesting depth of the expression that operations form. ops: the operations, in the order of the block."""
    depths: dict[Operation, int] = {}
    for op in ops:
        depths[op] = 1 + max((depths.get(x.owner, 0) for x in op.operands if isinstance(x.owner, Operation)), default=0)
    return max(depths.values(), default=0)


# --- parser ----------------------------------------------------------------------------------------------------------


@dataclass
class _Statement:
    """The parts of a statement that is being parsed: its target, reads and operations."""

    kind: Attribute
    target: tuple[SSAValue, list[Subscript]]
    block: Block
    reads: list[tuple[SSAValue, list[Subscript]]] = field(default_factory=list)
    ops: list[Operation] = field(default_factory=list)


class StatementParser(ExpressionParser, Computing):
    """A parser that also accepts assignments as statements."""

    _statement: _Statement | None = None

    def parse_operation(self) -> Operation:
        op = super().parse_operation()
        for inner in op.body.block.ops if isinstance(op, DoOp) else ():
            if inner.location == UNKNOWN_LOC:
                inner.location = op.location
        return op

    @property
    def is_assignment(self) -> bool:
        """Is the next statement an assignment?"""
        return self._current_token.kind is MLIRTokenKind.PERCENT_IDENT

    def parse_statement(self) -> DoOp:
        """Parse `%s[] += %x[%i] * %w[%i] fastmath<contract> reassoc`."""
        target = self._access()
        kind = target[0].type.element_type  # type: ignore[attr-defined]
        block = Block(arg_types=[kind])
        self._statement = now = _Statement(kind, target, block)
        sign = self.parse_optional_punctuation("+") or self.parse_optional_punctuation("*")
        self.parse_punctuation("=")
        new = self._scalar(self.expression(kind), kind)
        flags = self._permissions()
        combine: Operation | None = None
        if sign is not None:
            combine = _operation(sign, kind)(block.args[-1], new)
            block.add_op(combine)
            new = combine.results[0]
        self._statement = None
        for op in now.ops:
            _permit(op, flags)
        if combine is not None:
            _permit(combine, flags | _REASSOC if self.parse_optional_keyword("reassoc") else flags)
        block.add_op(YieldOp(new))
        return DoOp(now.reads, [target], Region(block))

    def _access(self) -> tuple[SSAValue, list[Subscript]]:
        x = self.named(self.parse_name())
        if not isinstance(x.type, TensorType):
            self.raise_error("an access is to a tensor")
        subscripts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self.parse_subscript, " in subscripts")
        return x, subscripts

    def parse_subscript(self) -> Subscript:
        """Parse a constant or an index."""
        node = self.expression()
        return node if isinstance(node, int | SSAValue) else self.raise_error("a subscript is an index")

    def _scalar(self, node: Node, kind: Attribute) -> SSAValue:
        x = self.value(node, kind)
        if x.type != kind:
            self.raise_error(f"a number of type {x.type} in a statement of {kind}")
        return x

    def value(self, node: Node, kind: Attribute) -> SSAValue:
        """Convert a parsed expression to an SSA value of this type."""
        now = self._statement
        if now is None or isinstance(node, SSAValue) or kind == IndexType():
            return super().value(node, kind)
        op = constant(node, kind)
        if op is None:
            self.raise_error(f"{node} is not a number of type {kind}")
        self.built(op)
        now.block.add_op(op)
        return op.results[0]

    def infix(self, kind: type[Operation], operands: Sequence[SSAValue], sign: str) -> SSAValue:
        """Build the operation of an infix operator."""
        now = self._statement
        if now is None or operands[0].type == IndexType():
            return super().infix(kind, operands, sign)
        make = _operation(sign, now.kind)
        if make is Operation:
            self.raise_error(f"{sign} of numbers of type {now.kind}")
        return self._add(make(*operands))

    def _add(self, op: Operation) -> SSAValue:
        assert self._statement is not None
        self.built(op)
        self._statement.block.add_op(op)
        self._statement.ops.append(op)
        return op.results[0]

    def atom(self, kind: Attribute) -> Node:
        """Parse an operand: a number, an access, a name, a call, or an expression in parentheses."""
        now = self._statement
        if now is None or kind == IndexType() or self._current_token.text == "(":
            return super().atom(kind)
        if self._current_token.kind is MLIRTokenKind.PERCENT_IDENT:
            return self._element(now)
        if self._current_token.text == CALLS[arith.IndexCastOp]:
            return super().atom(kind)
        number = self.parse_optional_number() if not self._is_negation() else None
        if number is not None:
            return number
        if self.parse_optional_punctuation("-") is not None:
            return self._add(arith.NegfOp(self._scalar(self.atom(kind), kind)))
        name = self.parse_identifier()
        operands = self.parse_comma_separated_list(
            self.Delimiter.PAREN, lambda: self._scalar(self.expression(kind), kind), " in operands"
        )
        make: Callable[..., Operation] | None = _NAMED.get(name)
        if make is None:
            return self._add(func.CallOp(f"aot.{name}.{kind}", operands, [kind]))
        return self._add(make(*operands))

    def _is_negation(self) -> bool:
        token = self._current_token
        following = self.lexer.input.content[token.span.end : token.span.end + 1]
        return token.kind is MLIRTokenKind.MINUS and not following.isdigit()

    def _element(self, now: _Statement) -> SSAValue:
        operand = self.parse_name()
        if self._current_token.text != "[":
            return self.named(operand)
        x = self.named(operand)
        subscripts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self.parse_subscript, " in subscripts")
        if (x, subscripts) == now.target:
            return now.block.args[-1]
        if (x, subscripts) not in now.reads:
            if not isinstance(x.type, TensorType):
                self.raise_error("an access is to a tensor")
            now.reads.append((x, subscripts))
            now.block.insert_arg(x.type.element_type, len(now.reads) - 1)
        return now.block.args[now.reads.index((x, subscripts))]

    def _permissions(self) -> frozenset[FastMathFlag]:
        if self.parse_optional_keyword("fastmath") is None:
            return frozenset()
        names = self.parse_comma_separated_list(self.Delimiter.ANGLE, self.parse_identifier, " in fastmath")
        unknown = next((name for name in names if name not in _FLAG_NAMES), None)
        if unknown is not None:
            self.raise_error(f"{unknown!r} is not a permission of floating-point arithmetic")
        return frozenset(_FLAG_NAMES[name] for name in names)


def _operation(sign: str, kind: Attribute) -> Callable[..., Operation]:
    """The operation type of an operator on numbers of a type; `Operation` if there is none."""
    table = _FLOATS if isinstance(kind, AnyFloat) else _INTEGERS
    return next((op for op, (known, _) in table.items() if known == sign), Operation)


def _permit(op: Operation, flags: frozenset[FastMathFlag]) -> None:
    if isinstance(op, func.CallOp) or "fastmath" not in op.get_irdl_definition().properties:  # type: ignore[attr-defined]
        return
    holder = op.attributes if isinstance(op, arith.NegfOp) else op.properties
    holder["fastmath"] = arith.FastMathFlagsAttr(flags)
