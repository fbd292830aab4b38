"""Parse the text of a schedule into a module that records its lines."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import PurePath

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, Region, SSAValue
from xdsl.utils.exceptions import ParseError, VerifyException

from aotensor.errors import AotensorError, ScheduleError
from aotensor.ir.context import TextParser, make_context, readable
from aotensor.ir.forms import NEST_FORM
from aotensor.ir.upstream import walk
from aotensor.passes.schedule.damage import missing_line


class Schedule:
    """A user-written nest. name: its file, for messages. lines: operation → its line in the text.

    Raises: ScheduleError for a text that is not a nest.
    """

    def __init__(self, text: str, name: str) -> None:
        self.name = PurePath(name).name
        self.lines: dict[Operation, int] = {}
        self._source = text.splitlines()
        parser: _Parser | None = None
        try:
            parser = _Parser(text, self.name, self.lines)
            self.module: ModuleOp = parser.parse_module()
        except ParseError as error:
            line = 1
            if parser is not None and error.msg.endswith("is not registered"):
                line = parser.begun  # the error is reported at the next token
            elif error.span is not None:
                line = error.span.input.content.count("\n", 0, error.span.start) + 1
            line, said = missing_line(self._source, error.msg) or (line, _first(error.msg))
            raise ScheduleError(f"{self.name}:{line}: {said}", hint=_HINT) from error
        except RecursionError as error:
            raise ScheduleError(f"{self.name}: its loops are nested too deeply") from error
        except Exception as error:  # the parsers of operations assume that the text was printed by them
            line = 1 if parser is None else parser.line
            raise ScheduleError(f"{self.name}:{line}: this is not a nest: {_first(str(error))}", hint=_HINT) from error
        self._check()

    def _check(self) -> None:
        for op in self.module.body.block.ops:
            for region in op.regions:
                self._check_uses(region, set())
        for op in walk(self.module):
            try:
                op.verify(verify_nested_ops=False)
            except VerifyException as error:
                raise ScheduleError(f"{self.where(op)}: {_first(str(error))}") from error
            except ValueError as error:  # of an undefined value, which the check of uses reports
                raise ScheduleError(f"{self.where(op)}: it uses a value that is defined elsewhere") from error
        try:
            NEST_FORM.check(self.module, "the schedule")
        except AotensorError as error:
            raise ScheduleError(f"{self.name}: this is not a nest: {error.diagnostic.title}", hint=_HINT) from error

    def _check_uses(self, region: Region, known: set[SSAValue]) -> None:
        """Check that every value in a region is defined before its uses. Raises: ScheduleError for one that is not."""
        for block in region.blocks:
            inside = {*known, *block.args}
            for op in block.ops:
                for x in op.operands:
                    if x not in inside:
                        name = f"%{x.name_hint}" if x.name_hint else "a number"
                        made = "" if isinstance(x, BlockArgument) else f", in line {self.line(x.owner)}"
                        raise ScheduleError(f"{self.where(op)}: {name} is used before it is defined{made}")
                for inner in op.regions:
                    self._check_uses(inner, inside)
                inside.update(op.results)

    def line(self, op: object) -> int:
        """The number of the line at which an operation begins."""
        while isinstance(op, Operation) and op not in self.lines:
            op = op.parent_op()
        return self.lines[op] if isinstance(op, Operation) else 1

    def where(self, op: Operation) -> str:
        return f"{self.name}:{self.line(op)}"

    def source(self, op: Operation) -> str:
        """The text of the line at which an operation begins."""
        return self._source[self.line(op) - 1].strip()


_HINT = "a schedule is an edited output of `aotensor compile --emit nest` of this version"


class _Parser(TextParser):
    def __init__(self, text: str, name: str, lines: dict[Operation, int]) -> None:
        readable_text = readable(text)
        super().__init__(make_context(), readable_text, name)
        self._found = lines
        self.begun = 1
        """The line of the operation that was parsed last."""
        self._ends = [k for k, c in enumerate(readable_text) if c == "\n"]

    @property
    def line(self) -> int:
        """The number of the line of the next token."""
        return bisect_right(self._ends, self._current_token.span.start - 1) + 1

    def parse_operation(self) -> Operation:
        line = self.begun = self.line
        op = super().parse_operation()
        self._found[op] = line
        return op


def _first(message: str) -> str:
    return (message.strip().splitlines() or ["this line cannot be parsed"])[0]
