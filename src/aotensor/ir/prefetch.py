"""memref.prefetch: an operation of upstream memref that xDSL 0.74 lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, MemRefType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """A hint that an element will soon be read, or written: its cache line is fetched meanwhile. It cannot fail."""

    name = "memref.prefetch"
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality = prop_def(IntegerAttr, prop_name="localityHint")
    is_data = prop_def(BoolAttr, prop_name="isDataCache")
    KINDS: ClassVar = ("read", "write")

    def __init__(self, memref: SSAValue, indices: Sequence[SSAValue], is_write: bool = False) -> None:
        super().__init__(
            operands=[memref, list(indices)],
            properties={
                "isWrite": BoolAttr.from_bool(is_write),
                "localityHint": IntegerAttr(3, i32),
                "isDataCache": BoolAttr.from_bool(True),
            },
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_ssa_value)
        printer.print_string(f", {self.KINDS[bool(self.is_write)]}, locality<{self.locality.value.data}>, data : ")
        printer.print_attribute(self.memref.type)

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        buffer = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        parser.parse_punctuation(",")
        is_write = parser.parse_optional_keyword("write") is not None
        if not is_write:
            parser.parse_keyword("read")
        parser.parse_punctuation(",")
        parser.parse_keyword("locality")
        parser.parse_punctuation("<")
        parser.parse_integer()
        parser.parse_punctuation(">")
        parser.parse_punctuation(",")
        parser.parse_keyword("data")
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        index = IndexType()
        return cls(parser.resolve_operand(buffer, kind), [parser.resolve_operand(i, index) for i in indices], is_write)
