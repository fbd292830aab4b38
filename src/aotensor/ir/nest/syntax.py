"""The textual form of accesses in the `nest` dialect: `%x = %X[%i, 0] : tensor<?x?xf64>`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from aotensor.ir.nest.expression_parser import Computed

if TYPE_CHECKING:
    from aotensor.ir.nest.ops import DoOp

Subscript: TypeAlias = int | SSAValue
"""One index of an access: a constant, or an index value such as the counter of a loop."""


def print_accesses(
    printer: Printer,
    names: Sequence[SSAValue],
    tensors: Sequence[SSAValue],
    subscripts: Iterable[Sequence[Subscript]],
    scatter: SSAValue | None = None,
) -> None:
    """Print accesses as (%x = %X[%i, %k] : tensor<?x?xf64>, …), with the body's name of each element.

    scatter: the element that is the index along the first axis; its name is printed as the first subscript.
    """

    def print_access(access: tuple[SSAValue, SSAValue, Sequence[Subscript]]) -> None:
        name, x, indices = access
        printer.print_ssa_value(name)
        printer.print_string(" = ")
        printer.print_ssa_value(x)
        with printer.in_square_brackets():
            printer.print_list([scatter, *indices[1:]] if scatter is not None else indices, print_subscript)
        printer.print_string(" : ")
        printer.print_attribute(x.type)

    def print_subscript(index: Subscript) -> None:
        if isinstance(index, int):
            printer.print_string(str(index))
        else:
            printer.print_ssa_value(index)

    with printer.in_parens():
        printer.print_list(list(zip(names, tensors, subscripts, strict=True)), print_access)


class Writing(Printer):
    """Interface of a printer that can print statements as assignments."""

    def print_statement(self, op: DoOp) -> bool:
        """Print a statement as an assignment; False if it is not one."""
        return False


class Computing(Parser):
    """Interface of a parser that can parse statements written as assignments."""

    @property
    def is_assignment(self) -> bool:
        """Is the next statement an assignment?"""
        return False

    def parse_statement(self) -> DoOp:
        """Parse an assignment."""
        self.raise_error("this parser reads no assignments")


@dataclass
class Accesses:
    """The result of `parse_accesses`: arguments of the body, tensors, and the subscripts of each access.

    scattered: the name from `known` that is the first subscript of an access, instead of an outside value.
    """

    arguments: list[Parser.Argument] = field(default_factory=list)
    tensors: list[SSAValue] = field(default_factory=list)
    subscripts: list[list[Subscript]] = field(default_factory=list)
    scattered: str | None = None


def parse_accesses(parser: Parser, known: Sequence[str] = ()) -> Accesses:
    """Parse accesses as printed by `print_accesses`. known: names of elements that may be the index of a scatter."""
    found = Accesses()

    def subscript() -> Subscript:
        operand = parser.parse_unresolved_operand()
        if isinstance(operand, Computed) and isinstance(operand.node, int):
            return operand.node
        if operand.operand_name in known and not isinstance(operand, Computed):
            found.scattered = operand.operand_name
            return 0
        return parser.resolve_operand(operand, IndexType())

    def access() -> None:
        name = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        operand: UnresolvedOperand = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, subscript, " in subscripts")
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        if not isinstance(kind, TensorType):
            parser.raise_error("an access is to a tensor")
        found.tensors.append(parser.resolve_operand(operand, kind))
        found.arguments.append(name.resolve(kind.element_type))
        found.subscripts.append(indices)

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, access, " in accesses")
    return found
