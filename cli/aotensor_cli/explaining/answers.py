"""Explain one line: its loops, how they run, and the decisions of passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aotensor import Function
from aotensor.graph.passes.remarks import Remark
from aotensor.graph.passes.topics import topic_of
from aotensor.passes.report.outline import Node, Outline
from aotensor_cli.explaining.places import (
    Line,
    Use,
    inputs_at,
    lines_in,
    readers_of,
    uses,
    values_at,
)


@dataclass(frozen=True)
class Loop:
    """A loop around a line.   name: as in `f.schedule`. text: its range. how: words on how iterations run

    seconds: estimated, on one core. shared: the other lines that have statements in it
    """

    name: str
    text: str
    how: list[str]
    seconds: float
    shared: list[Line]

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "shared": [str(x) for x in self.shared]}


@dataclass(frozen=True)
class Statement:
    """A statement of the nest that computes part of a line.

    loops: around it, outermost first. seconds: as in `Loop`
    """

    text: list[str]
    loops: list[Loop]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "loops": [x.to_json() for x in self.loops], "seconds": self.seconds}


@dataclass(frozen=True)
class About:
    """The explanation of a line in one function.

    values: what the line makes. share: of the function's estimated time. remarks: about the line. note: what to know
    where nothing of it is in the loops, else ""
    """

    function: str
    line: Line
    values: list[str]
    share: float
    statements: list[Statement]
    remarks: list[Remark]
    note: str

    def to_json(self) -> dict[str, Any]:
        return {
            "function": self.function,
            "line": str(self.line),
            "values": self.values,
            "share_of_time": self.share,
            "statements": [x.to_json() for x in self.statements],
            "remarks": [{**x.to_json(), "topic": topic_of(x.pass_name)} for x in self.remarks],
            "note": self.note,
        }


def about(f: Function, outline: Outline, line: Line, remarks: Sequence[Remark]) -> About | None:
    """Explain a line; None if the function computes nothing of it."""
    found = list(uses(outline.nodes, line))
    own = [x for x in remarks if x.function == f.name and (x.file, x.line) == (line.file, line.number)]
    values, inputs = values_at(f, line), inputs_at(f, line)
    if not (found or own or values or inputs):
        return None
    total = sum(node.seconds[0] for node in outline.nodes) or 1.0
    share = outline.lines.get((line.file, line.number), [0.0])[0] / total
    statements, note = [_statement(x, line) for x in found], missing_note(f, line, found)
    return About(f.name, line, values or inputs, share, statements, own, note)


def missing_note(f: Function, line: Line, found: Sequence[Use]) -> str:
    """The reason that a line has no statement in the loops."""
    if found:
        return ""
    inputs = inputs_at(f, line)
    if inputs:
        return f"it declares {', '.join(inputs)}, which the caller passes: nothing is computed"
    readers = ", ".join(map(str, readers_of(f, line)))
    gone = "no statement of the loops is of this line: what it makes is part of what reads it, or was not needed"
    return f"{gone}{f'; ask about {readers}' if readers else ''}"


def _statement(use: Use, line: Line) -> Statement:
    loops = [loop_of(node, line) for node in use.loops]
    return Statement(use.node.text, loops, use.node.seconds[0])


def loop_of(node: Node, *lines: Line) -> Loop:
    """A loop around these lines."""
    shared = sorted(lines_in(node) - set(lines))
    return Loop(node.name, node.text[0], node.how, node.seconds[0], shared)
