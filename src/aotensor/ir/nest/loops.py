"""Loops of the `nest` dialect, over an extent or over the entries of a slice, with their schedules."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import (
    I64,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    TensorType,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from aotensor.ir.nest.expression_parser import ExpressionParser
from aotensor.ir.nest.segments import op_with_segments

_NUMBERS: Final = ("jam", "lanes", "interleave", "rows", "terms", "ahead")
_FLAGS: Final = ("parallel", "masked", "short", "cores")


class LoopOp(IRDLOperation):
    """The common part of loops: a counter, a body without results, and the schedule of the iterations.

    parallel: iterations are independent, except for sums.
    jam: number of iterations that advance together through the inner loops (unroll-and-jam).
    lanes: number of iterations per vector. interleave: number of vectors that advance together.
    masked: the remaining iterations are one vector under a mask, otherwise scalar.
    rows: number of slices whose sums over entries become the lanes of a vector.
    terms: groups of slices with at most this many entries use a short-row algorithm: a scalar loop if all have equally
    many, else all terms are computed before they are added.
    ahead: prefetch distance, in entries, of the streams that are read along the entries of a slice.
    short: few iterations are likely.
    cores: iterations may run on several cores at once.
    """

    body = region_def("single_block")
    jam = opt_prop_def(IntegerAttr[I64])
    lanes = opt_prop_def(IntegerAttr[I64])
    interleave = opt_prop_def(IntegerAttr[I64])
    rows = opt_prop_def(IntegerAttr[I64])
    terms = opt_prop_def(IntegerAttr[I64])
    ahead = opt_prop_def(IntegerAttr[I64])
    parallel = opt_prop_def(UnitAttr)
    masked = opt_prop_def(UnitAttr)
    short = opt_prop_def(UnitAttr)
    cores = opt_prop_def(UnitAttr)
    traits = traits_def(NoTerminator())

    @property
    def counter(self) -> SSAValue:
        return self.body.block.args[0]

    def number(self, name: str, default: int = 1) -> int:
        """The value of a schedule property, such as `jam`; `default` if it is not set."""
        found = self.properties.get(name)
        return found.value.data if isinstance(found, IntegerAttr) else default

    def schedule(self, **numbers: int | bool) -> None:
        """Set properties of the schedule; the values 1 and False remove them."""
        for name, value in numbers.items():
            if value is False or (value == 1 and value is not True):
                self.properties.pop(name, None)
            else:
                self.properties[name] = UnitAttr() if value is True else IntegerAttr(value, i64)

    def _print_body(self, printer: Printer) -> None:
        for name in _NUMBERS:
            if name in self.properties:
                printer.print_string(f" {name} {self.number(name)}")
        for name in _FLAGS:
            if name in self.properties:
                printer.print_string(f" {name}")
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.print_op_attributes(self.attributes)


def _parse_loop(parser: Parser, counter: Parser.UnresolvedArgument) -> tuple[Region, dict[str, int | bool]]:
    """Parse the schedule and the body of a loop."""
    words: dict[str, int | bool] = {}
    while (word := parser.parse_optional_keyword_in((*_NUMBERS, *_FLAGS))) is not None:
        words[word] = parser.parse_integer() if word in _NUMBERS else True
    assert isinstance(parser, ExpressionParser)
    return parser.parse_loop_body(counter.resolve(IndexType())), words


def _verify_loop(op: LoopOp) -> None:
    if [x.type for x in op.body.block.args] != [IndexType()]:
        raise VerifyException("the body of a loop has the counter as its argument")
    for name in _NUMBERS:
        if op.number(name) < 1:
            raise VerifyException(f"{name} {op.number(name)} is not a number of iterations")


@op_with_segments
class ForOp(LoopOp):
    """A loop over a range: nest.for %i = %lower to %upper step %step { … }.

    `nest.for %i in %n { … }` starts at 0 with step 1.
    """

    name = "nest.for"
    upper = operand_def(IndexType)
    lower = opt_operand_def(IndexType)
    step = opt_operand_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self, upper: SSAValue, body: Region | Block, lower: SSAValue | None = None, step: SSAValue | None = None
    ) -> None:
        super().__init__(operands=[upper, lower, step], regions=[body if isinstance(body, Region) else Region(body)])

    @property
    def is_whole(self) -> bool:
        """Does the loop cover all of an extent with step 1?"""
        return len(self.operands) == 1

    def set_bounds(self, upper: SSAValue, lower: SSAValue) -> None:
        """Replace the bounds of the loop, and keep its step."""
        step = [] if self.step is None else [self.step]
        self.operands = [upper, lower, *step]
        self.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [1, 1, len(step)])

    def verify_(self) -> None:
        _verify_loop(self)
        if self.cores is not None and (self.step is None or self.lower is not None):
            raise VerifyException("several cores run the chunks of a loop from 0, which is one with a step")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.counter)
        printer.print_string(" in " if self.lower is None else " = ")
        if self.lower is not None:
            printer.print_ssa_value(self.lower)
            printer.print_string(" to ")
        printer.print_ssa_value(self.upper)
        if self.step is not None:
            printer.print_string(" step ")
            printer.print_ssa_value(self.step)
        self._print_body(printer)

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        counter = parser.parse_argument(expect_type=False)
        lower = None
        if parser.parse_optional_punctuation("=") is not None:
            lower = _index(parser)
            parser.parse_keyword("to")
        else:
            parser.parse_keyword("in")
        upper = _index(parser)
        step = _index(parser) if parser.parse_optional_keyword("step") is not None else None
        body, words = _parse_loop(parser, counter)
        op = cls(upper, body, lower, step)
        op.schedule(**words)
        op.attributes = parser.parse_optional_attr_dict()
        return op


@irdl_op_definition
class EntriesOp(LoopOp):
    """A loop over the stored entries of a slice: nest.entries %p of %i in %indptr { … }.

    The entries p of slice i are indptr[i] ≤ p < indptr[i + 1].
    """

    name = "nest.entries"
    slice = operand_def(IndexType)
    indptr = operand_def(TensorType)

    def __init__(self, slice: SSAValue, indptr: SSAValue, body: Region | Block) -> None:
        super().__init__(operands=[slice, indptr], regions=[body if isinstance(body, Region) else Region(body)])

    def verify_(self) -> None:
        _verify_loop(self)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.counter)
        printer.print_string(" of ")
        printer.print_ssa_value(self.slice)
        printer.print_string(" in ")
        printer.print_ssa_value(self.indptr)
        printer.print_string(" : ")
        printer.print_attribute(self.indptr.type)
        self._print_body(printer)

    @classmethod
    def parse(cls, parser: Parser) -> EntriesOp:
        counter = parser.parse_argument(expect_type=False)
        parser.parse_keyword("of")
        slice = _index(parser)
        parser.parse_keyword("in")
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        indptr = parser.resolve_operand(operand, parser.parse_type())
        body, words = _parse_loop(parser, counter)
        op = cls(slice, indptr, body)
        op.schedule(**words)
        op.attributes = parser.parse_optional_attr_dict()
        return op


def _index(parser: Parser) -> SSAValue:
    return parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())
