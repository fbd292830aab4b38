"""Explain why two lines do or do not share a loop, and find a directive that fuses them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from aotensor import Function
from aotensor.api.schedule import Schedule
from aotensor.driver.build import Build
from aotensor.driver.definition import Definition
from aotensor.driver.recipe import Options
from aotensor.driver.report import Report
from aotensor.errors import AotensorError
from aotensor.graph.passes.pipeline import Pipeline, pipeline_of
from aotensor.graph.passes.remarks import Remark
from aotensor.graph.passes.topics import topic_of
from aotensor.passes.report.outline import Node, Outline
from aotensor_cli.explaining.answers import Loop, loop_of, missing_note
from aotensor_cli.explaining.places import Line, Use, lines_in, relation, uses
from aotensor_cli.terminal.remarks import without_remarks

STEPPED: Final = ("parallelize", "strip-mine")
"""The passes that make loops over chunks and blocks, whose sizes differ from loop to loop."""


@dataclass(frozen=True)
class Directive:
    """`f.schedule.fuse(first, second)`.   disabled: passes that must be left out for it. problem: "" if it is right"""

    function: str
    first: str
    second: str
    disabled: tuple[str, ...]
    problem: str

    def __str__(self) -> str:
        options = "".join(f" --disable-pass {name}" for name in self.disabled)
        return f'{self.function}.schedule.fuse("{self.first}", "{self.second}"){options and f" with{options}"}'

    def options(self, f: Function) -> Options:
        """Compile options that apply the directive.   Raises: ScheduleError if it is not right"""
        g = _disable_passes(f, self.disabled)
        return Options(schedule=Schedule(g).fuse(self.first, self.second).written(), pipeline=g.pipeline)


@dataclass(frozen=True)
class LoopSharing:
    """Why two lines do or do not share a loop in one function.

    shared: the innermost loop that both have statements in, behind those around it; empty for none. apart: the first
    loops in which they differ. decisions: that name the other line, or lines of the other's loop, those of `fuse`
    first. relation: what the lines have to do with each other. directive: what would fuse their loops, None if they
    share one. elsewhere: further loops with statements of a line. notes: lines that have no statement, and why.
    """

    function: str
    lines: tuple[Line, Line]
    relation: str
    decisions: list[Remark] = field(default_factory=list)
    shared: list[Loop] = field(default_factory=list)
    apart: tuple[Loop | None, Loop | None] = (None, None)
    directive: Directive | None = None
    elsewhere: list[tuple[Line, list[str]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON values, in the schema of docs/why.md."""
        directive = self.directive and {
            "text": str(self.directive), "right": not self.directive.problem, "problem": self.directive.problem
        }  # fmt: skip
        return {
            "function": self.function,
            "lines": [str(x) for x in self.lines],
            "shared": [x.to_json() for x in self.shared],
            "apart": [x and x.to_json() for x in self.apart],
            "decisions": [{**x.to_json(), "topic": topic_of(x.pass_name)} for x in self.decisions],
            "relation": self.relation,
            "directive": directive,
            "elsewhere": [{"line": str(line), "loops": names} for line, names in self.elsewhere],
            "notes": self.notes,
        }


def together(f: Function, outline: Outline, lines: tuple[Line, Line], decisions: Sequence[Remark]) -> LoopSharing:
    """Explain whether two lines share a loop, and try a directive that fuses them.   decisions: one for each"""
    own = [x for x in decisions if x.function == f.name]
    answer = LoopSharing(f.name, lines, relation(f, *lines), _ranked(own, [lines[0]], [lines[1]]))
    found = [list(uses(outline.nodes, line)) for line in lines]
    meeting = _nearest(*found)
    if meeting is None:
        rows = zip(lines, found, strict=True)
        return replace(answer, notes=[f"{line}: {missing_note(f, line, use)}" for line, use in rows if not use])
    left, right = (None if x is None else loop_of(x, *lines) for x in (meeting.left, meeting.right))
    answer = replace(answer, apart=(left, right))
    if meeting.around:
        shared = [loop_of(node, *lines) for node in meeting.around]
        return replace(answer, shared=shared, elsewhere=_elsewhere(lines, found, meeting.around[-1]))
    groups = [
        sorted(lines_in(x)) if x is not None else [line]
        for x, line in zip((meeting.left, meeting.right), lines, strict=True)
    ]
    if not any(x.pass_name == "fuse" for x in answer.decisions):
        of_loops = [x for x in _ranked(own, *groups) if x.pass_name == "fuse"]
        answer = replace(answer, decisions=[*answer.decisions, *of_loops])
    return replace(answer, directive=_directive(f, outline, lines))


@dataclass(frozen=True)
class _ClosestPair:
    """The pair of statements of two lines with the most loops in common.

    around: the loops that both are in. left, right: the next loops or statements
    """

    around: tuple[Node, ...]
    left: Node | None
    right: Node | None


def _nearest(first: Sequence[Use], second: Sequence[Use]) -> _ClosestPair | None:
    """The pair of statements with the most loops in common, then with the most time; None without a pair."""
    pairs = [(one, other, _common(one, other)) for one in first for other in second]
    several = [x for x in pairs if x[0].node is not x[1].node] or pairs
    if not several:
        return None
    one, other, depth = max(several, key=lambda x: (x[2], x[0].node.seconds[0] + x[1].node.seconds[0]))
    left, right = (use.loops[depth] if depth < len(use.loops) else None for use in (one, other))
    return _ClosestPair(one.loops[:depth], left, right)


def _common(one: Use, other: Use) -> int:
    """The number of loops that two statements share."""
    count = 0
    for x, y in zip(one.loops, other.loops, strict=False):
        if x is not y:
            break
        count += 1
    return count


def _elsewhere(lines: tuple[Line, Line], found: Sequence[Sequence[Use]], shared: Node) -> list[tuple[Line, list[str]]]:
    """The innermost loops of statements that are not in the loop that two lines share."""
    rows = []
    for line, statements in zip(lines, found, strict=True):
        loops = [use.loops[-1] for use in statements if use.loops and all(x is not shared for x in use.loops)]
        names = list(dict.fromkeys(x.name or x.text[0] for x in loops if x.seconds[0]))
        rows += [(line, names)] if names else []
    return rows


def _ranked(decisions: Sequence[Remark], first: Sequence[Line], second: Sequence[Line]) -> list[Remark]:
    """Remarks on one line that mention the other, missed ones of `fuse` first."""
    named = [x for x in decisions if _names(x, first, second) or _names(x, second, first)]
    return sorted(named, key=lambda x: (x.pass_name != "fuse", x.kind != "missed", x.pass_name))


def _names(x: Remark, about: Sequence[Line], others: Sequence[Line]) -> bool:
    return Line(x.file, x.line) in about and any(f"({other})" in x.message for other in others)


# --- the edit that would fuse them -----------------------------------------------------------------------------------


def _directive(f: Function, outline: Outline, lines: tuple[Line, Line]) -> Directive | None:
    """The checked directive that fuses the loops of two lines; None if they have no loops with names.

    Loops over chunks and blocks are over different numbers of iterations: the edit is then of the nest without them.
    """
    names = _loops_to_fuse(outline, lines)
    disabled: tuple[str, ...] = ()
    if names is not None and any("." in name.rstrip(".0123456789") for name in names):
        disabled = STEPPED
        report = Report({f.name: [{}]})
        build = Build([_disable_passes(f, disabled)], None, Options())
        build.report = report
        with without_remarks():
            _ = build.lowered
        names = _loops_to_fuse(report.outlines[0], lines)
    if names is None:
        return None
    try:
        Schedule(_disable_passes(f, disabled)).fuse(*names).check()
    except AotensorError as error:
        return Directive(f.name, *names, disabled, error.diagnostic.title)
    return Directive(f.name, *names, disabled, "")


def _disable_passes(f: Function, disabled: tuple[str, ...]) -> Definition:
    """The function without some of its passes."""
    present = [name for name in disabled if any(x.name == name for x in f.pipeline.passes)]
    return f.under(pipeline_without(f, present)) if present else f


def pipeline_without(f: Function, disabled: Sequence[str]) -> Pipeline:
    """The pipeline of a function without some passes."""
    return pipeline_of(str(f.pipeline), tuple(disabled))


def _loops_to_fuse(outline: Outline, lines: tuple[Line, Line]) -> tuple[str, str] | None:
    """The names of the outermost loops of two lines that share none, in the order of the text."""
    meeting = _nearest(*(list(uses(outline.nodes, line)) for line in lines))
    if meeting is None or meeting.left is None or meeting.right is None:
        return None
    order = [id(node) for node in _all(outline.nodes)]
    first, second = sorted((meeting.left, meeting.right), key=lambda node: order.index(id(node)))
    return (first.name, second.name) if first.name and second.name else None


def _all(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _all(node.body)
