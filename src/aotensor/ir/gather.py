"""vector.gather: an operation of upstream vector that xDSL 0.74 lacks."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, MemRefType, VectorType
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer


@irdl_op_definition
class GatherOp(IRDLOperation):
    """result[l] = base[indices, the last + places[l]] where mask[l], else otherwise[l]; what is off is not read."""

    name = "vector.gather"
    base = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    places = operand_def(VectorType)
    mask = operand_def(VectorType)
    otherwise = operand_def(VectorType)
    result = result_def(VectorType)

    def __init__(
        self, base: SSAValue, indices: Sequence[SSAValue], places: SSAValue, mask: SSAValue, otherwise: SSAValue
    ) -> None:
        super().__init__(
            operands=[base, list(indices), places, mask, otherwise],
            result_types=[otherwise.type],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.base)
        for positions in (self.indices, [self.places]):
            with printer.in_square_brackets():
                printer.print_list(positions, printer.print_ssa_value)
        for value in (self.mask, self.otherwise):
            printer.print_string(", ")
            printer.print_ssa_value(value)
        printer.print_string(" : ")
        kinds = [x.type for x in (self.base, self.places, self.mask, self.otherwise)]
        printer.print_list(kinds, printer.print_attribute)
        printer.print_string(" into ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> GatherOp:
        base = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        values = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        for _ in range(2):
            parser.parse_punctuation(",")
            values.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(":")
        kind, *kinds = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_keyword("into")
        parser.parse_type()
        places, mask, otherwise = (parser.resolve_operand(x, t) for x, t in zip(values, kinds, strict=True))
        index = IndexType()
        return cls(
            parser.resolve_operand(base, kind),
            [parser.resolve_operand(i, index) for i in indices],
            places,
            mask,
            otherwise,
        )
