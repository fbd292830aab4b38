"""The document of a model, read: texts of stages, loops, remarks and time, by place.   Loads no compiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple


class Place(NamedTuple):
    """A line of the user's program.   file: without its folder"""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Text:
    """The text of a stage, or of the IR after a pass.

    at: for each line the number of its place, -1 for none. changed: by the pass
    """

    name: str
    kind: str
    level: str
    changed: bool
    lines: Sequence[str]
    at: Sequence[int]


@dataclass(frozen=True)
class Source:
    """A file of the user.   problem: what is wrong with it, \"\" for nothing"""

    name: str
    path: str
    lines: Sequence[str]
    problem: str


@dataclass(frozen=True)
class Step:
    """A loop or a statement of the nest.   above: the loops around, outermost first"""

    function: str
    node: Mapping[str, Any]
    above: tuple[Mapping[str, Any], ...] = ()

    @property
    def is_loop(self) -> bool:
        return bool(self.node["kind"] == "loop")


@dataclass(frozen=True)
class Remark:
    """A remark with its topic, in the form of `inspect --remarks --json`."""

    pass_name: str
    kind: str
    function: str
    text: str
    topic: str
    hint: str
    place: Place


@dataclass
class Document:
    """The document of a model.   tree: the JSON values"""

    tree: Mapping[str, Any]
    places: list[Place] = field(init=False)

    def __post_init__(self) -> None:
        self.places = [Place(x["file"], x["line"]) for x in self.tree["places"]]

    @cached_property
    def texts(self) -> list[Text]:
        """All stages and passes in order; a pass that changed nothing has the text of the one before."""
        found: list[Text] = []
        for x in self.tree["stages"]:
            lines, at = (x["lines"], x["at"]) if "lines" in x else (found[-1].lines, found[-1].at)
            found.append(Text(x["name"], x["kind"], x["level"], x["changed"], lines, at))
        return found

    @cached_property
    def sources(self) -> list[Source]:
        """The user's files, that of the model first."""
        own = self.tree["model"].replace("\\", "/").rpartition("/")[2]
        rows = sorted(self.tree["sources"], key=lambda x: x["name"] != own)
        return [Source(x["name"], x["path"], x["text"].split("\n"), x["problem"]) for x in rows]

    @cached_property
    def numbers(self) -> dict[Place, int]:
        """Place → its number in the document."""
        return {place: number for number, place in enumerate(self.places)}

    @cached_property
    def steps(self) -> list[Step]:
        """All loops and statements in program order."""
        return [x for f in self.tree["functions"] for node in f["loops"] for x in _steps(f["name"], node, ())]

    @cached_property
    def remarks(self) -> list[Remark]:
        """All remarks."""
        return [
            Remark(
                x["pass"], x["kind"], x["function"], _with_sizes(x), x["topic"], x["hint"], Place(x["file"], x["line"])
            )
            for x in self.tree["remarks"]
        ]

    def seconds_at(self, place: Place) -> dict[str, tuple[float, float]]:
        """Function → estimated seconds of a line in one call, and their share."""
        return {
            x["function"]: (x["seconds"], x["share"])
            for x in self.tree["lines"]
            if (x["file"], x["line"]) == place and x["seconds"]
        }

    def statements_at(self, place: Place) -> list[Step]:
        """The statements that compute part of a line."""
        number = self.numbers.get(place, -2)
        return [x for x in self.steps if not x.is_loop and number in x.node["places"]]

    def remarks_at(self, place: Place) -> list[Remark]:
        """The remarks on a line."""
        return [x for x in self.remarks if x.place == place]

    def lines_in(self, node: Mapping[str, Any]) -> list[Place]:
        """The lines that have statements in a loop."""
        found = {number for x in _steps("", node, ()) if not x.is_loop for number in x.node["places"]}
        return sorted(self.places[number] for number in found)

    def known_places(self) -> set[Place]:
        """The places that have a statement or a remark."""
        return {x.place for x in self.remarks if x.place.line} | set(self.places)


def _steps(function: str, node: Mapping[str, Any], above: tuple[Mapping[str, Any], ...]) -> Iterator[Step]:
    yield Step(function, node, above)
    for inner in node["body"]:
        yield from _steps(function, inner, (*above, node))


def _with_sizes(x: Mapping[str, Any]) -> str:
    """The message of a remark with bytes, flops and number of occurrences."""
    sizes = [f"{x[unit]} {unit}" for unit in ("bytes", "flops") if x[unit]]
    more = [f"{x['count']} alike at this line"] if x["count"] > 1 else []
    return "; ".join([x["message"], *sizes, *more])


def excerpt(text: Text, number: int) -> list[str]:
    """The lines of a text that come from a place, with the loops and functions around them.

    ...  stands for what is left out
    """
    kept = {row for row, at in enumerate(text.at) if at == number}
    open_rows: list[int] = []
    for row, line in enumerate(text.lines):
        bare = line.strip()
        if bare.startswith("}") and open_rows:
            start = open_rows.pop()
            if any(start < x < row for x in kept):
                kept |= {start, row}
        if bare.endswith("{"):
            open_rows.append(row)
    found: list[str] = []
    former = -1
    for row in sorted(kept):
        if row > former + 1:
            indent = len(text.lines[row]) - len(text.lines[row].lstrip())
            found.append(f"{' ' * indent}...")
        found.append(text.lines[row])
        former = row
    return found
