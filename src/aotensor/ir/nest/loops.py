"""Loops of the `nest` dialect, over an extent or over the entries of a slice, with their schedules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import (
    IndexType,
    TensorType,
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
from aotensor.ir.nest.schedule import UNSCHEDULED, Schedule, ScheduleAttr
from aotensor.ir.nest.segments import create, op_with_segments, optional, sizes_of
from aotensor.ir.types import SEGMENTS


class LoopOp(IRDLOperation):
    """The common part of loops: a counter, a body without results, and the schedule of the iterations."""

    body = region_def("single_block")
    schedule_attr = opt_prop_def(ScheduleAttr, prop_name="schedule")
    traits = traits_def(NoTerminator())

    @property
    def counter(self) -> SSAValue:
        return self.body.block.args[0]

    @property
    def schedule(self) -> Schedule:
        """How the iterations run."""
        found = self.properties.get("schedule")
        return found.data if isinstance(found, ScheduleAttr) else UNSCHEDULED

    def reschedule(self, **changes: Any) -> None:
        """Change properties of the schedule; the values 1 and False remove them."""
        made = replace(self.schedule, **changes)
        if made == UNSCHEDULED:
            self.properties.pop("schedule", None)
        else:
            self.properties["schedule"] = ScheduleAttr(made)

    def _print_body(self, printer: Printer) -> None:
        printer.print_string("".join(f" {word}" for word in self.schedule.words.values()) + " ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.print_op_attributes(self.attributes)


def _parse_loop(parser: Parser, counter: Parser.UnresolvedArgument) -> tuple[Region, Schedule]:
    """Parse the schedule and the body of a loop."""
    schedule = Schedule.parsed(parser)
    assert isinstance(parser, ExpressionParser)
    return parser.parse_loop_body(counter.resolve(IndexType()), is_private=schedule.cores), schedule


def _verify_loop(op: LoopOp) -> None:
    if [x.type for x in op.body.block.args] != [IndexType()]:
        raise VerifyException("the body of a loop has the counter as its argument")
    op.schedule.verify()


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
        regions = [body if isinstance(body, Region) else Region(body)]
        create(self, [[upper], optional(lower), optional(step)], regions=regions)

    @property
    def is_whole(self) -> bool:
        """Does the loop cover all of an extent with step 1?"""
        return len(self.operands) == 1

    def set_bounds(self, upper: SSAValue, lower: SSAValue) -> None:
        """Replace the bounds of the loop, and keep its step."""
        groups = [[upper], [lower], optional(self.step)]
        self.operands = [x for group in groups for x in group]
        self.properties[SEGMENTS] = sizes_of(groups)

    def verify_(self) -> None:
        _verify_loop(self)
        if self.schedule.cores and (self.step is None or self.lower is not None):
            raise VerifyException("only a loop that starts at 0 and has a step can run on several cores")

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
        body, schedule = _parse_loop(parser, counter)
        op = cls(upper, body, lower, step)
        op.reschedule(**vars(schedule))
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
        body, schedule = _parse_loop(parser, counter)
        op = cls(slice, indptr, body)
        op.reschedule(**vars(schedule))
        op.attributes = parser.parse_optional_attr_dict()
        return op


def _index(parser: Parser) -> SSAValue:
    return parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())
