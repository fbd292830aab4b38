"""The schedule of a loop: how its iterations run. A property of loops is declared here, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


def _number(phrase: str = "", is_hint: bool = False) -> Any:
    return field(default=1, metadata={"phrase": phrase, "is_hint": is_hint, "emitted": ""})


def _flag(phrase: str = "", is_hint: bool = False, emitted: str = "") -> Any:
    return field(default=False, metadata={"phrase": phrase, "is_hint": is_hint, "emitted": emitted})


@dataclass(frozen=True)
class Schedule:
    """The properties of a loop, in the order in which they are printed; 1 and False are the defaults.

    jam: number of iterations that advance together through the inner loops (unroll-and-jam).
    lanes: number of iterations per vector. interleave: number of vectors that advance together.
    rows: number of slices whose sums over entries become the lanes of a vector.
    terms: groups of slices with at most this many entries use a short-row algorithm: a scalar loop if all have equally
    many, else all terms are computed before they are added.
    ahead: prefetch distance, in entries, of the streams that are read along the entries of a slice.
    parallel: iterations are independent, except for sums.
    masked: the remaining iterations are one vector under a mask, otherwise scalar.
    short: few iterations are likely.
    cores: iterations may run on several cores at once.

    Each has a phrase for pages about loops; the result does not depend on a hint, so edited nests may have any. A flag
    that is only passed on to LLVM has the attribute of `scf.for` that it becomes.
    """

    jam: int = _number("{} at a time, which share what they read")
    lanes: int = _number("vectors of {}")
    interleave: int = _number("{} vectors at once", is_hint=True)
    rows: int = _number("{} slices become the lanes of a vector")
    terms: int = _number()
    ahead: int = _number("entries are fetched {} ahead")
    parallel: bool = _flag("iterations are independent", emitted="parallel_accesses")
    masked: bool = _flag("the rest under a mask")
    short: bool = _flag("few iterations are likely", is_hint=True, emitted="short")
    cores: bool = _flag("on several cores")

    @property
    def is_grouped(self) -> bool:
        """Do several iterations advance together, or as lanes of a vector?"""
        return self.jam > 1 or self.lanes > 1 or self.rows > 1

    @property
    def attributes(self) -> list[str]:
        """The attributes of the emitted loop."""
        return [text for x in fields(self) if (text := x.metadata["emitted"]) and getattr(self, x.name)]

    @property
    def words(self) -> dict[str, str]:
        """The properties that are set, as they are printed: {"jam": "jam 8", "parallel": "parallel"}."""
        found = ((x.name, getattr(self, x.name), x.default) for x in fields(self))
        return {name: name if value is True else f"{name} {value}" for name, value, usual in found if value != usual}

    @property
    def phrases(self) -> list[str]:
        """The properties that are set, in plain words: cores first, independence last."""
        order = sorted(self.words, key=lambda name: (name == "parallel") - (name == "cores"))
        return [text.format(getattr(self, name)) for name in order if (text := _PHRASES[name])]

    @staticmethod
    def parsed(parser: AttrParser) -> Schedule:
        """Parse the properties of a loop."""
        found: dict[str, Any] = {}
        while (word := parser.parse_optional_keyword_in(_NAMES)) is not None:
            found[word] = True if word in _FLAGS else parser.parse_integer()
        return Schedule(**found)

    def verify(self) -> None:
        """Raises: VerifyException for a number of iterations below 1"""
        for name in _NAMES:
            if name not in _FLAGS and getattr(self, name) < 1:
                raise VerifyException(f"{name} {getattr(self, name)} is not a number of iterations")


_NAMES: Final[Sequence[str]] = tuple(x.name for x in fields(Schedule))
_FLAGS: Final = frozenset(x.name for x in fields(Schedule) if x.default is False)
_PHRASES: Final[dict[str, str]] = {x.name: x.metadata["phrase"] for x in fields(Schedule)}
HINTS: Final = frozenset(x.name for x in fields(Schedule) if x.metadata["is_hint"])
"""Properties on which no result depends."""
UNSCHEDULED: Final = Schedule()


@irdl_attr_definition
class ScheduleAttr(Data[Schedule]):
    """The schedule of a loop in generic form: #nest.schedule<jam 8 parallel>."""

    name = "nest.schedule"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Schedule:
        with parser.in_angle_brackets():
            return Schedule.parsed(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(" ".join(self.data.words.values()))
