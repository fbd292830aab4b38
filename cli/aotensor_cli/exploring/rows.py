"""Contents of the panes of `aotensor explore`: rows of plain text with their places.   Loads no compiler."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aotensor_cli.exploring.child import Problem
from aotensor_cli.exploring.session import Document, Place, Source, Text
from aotensor_cli.terminal.plain import printable
from aotensor_cli.terminal.render import time_text

_MARKS: Final = {"applied": "+", "missed": "-", "analysis": "="}
_STYLES: Final = {"applied": "added", "missed": "removed", "analysis": "note"}
_CONTEXT: Final = 3
"""Equal lines around a change."""


@dataclass(frozen=True)
class Row:
    """A line of a pane.   place: number of its line of the model, -1 for none. style: \"\", added, removed, note, head

    target: of a loop, its row in the text of stage nest; of a pass or remark, the name of the pass
    """

    text: str
    place: int = -1
    style: str = ""
    target: int | str = ""


def source_rows(document: Document, source: Source) -> list[Row]:
    """Numbered lines of a file, each with its largest share of a function's estimated time."""
    width = len(str(len(source.lines)))
    rows = [Row(source.problem, style="removed")] if source.problem else []
    for number, line in enumerate(source.lines, 1):
        place = Place(source.name, number)
        shares = [share for _, share in document.seconds_at(place).values()]
        share = f"{100 * max(shares):3.0f}%" if shares else "    "
        rows.append(Row(printable(f"{share} {number:{width}}  {line}"), document.numbers.get(place, -1)))
    return rows


def text_rows(text: Text) -> list[Row]:
    """Rows of the text of a stage or pass."""
    return [Row(printable(line), at) for line, at in zip(text.lines, text.at, strict=True)]


def difference_rows(old: Text, new: Text) -> list[Row]:
    """Rows of the difference between two texts, with a few equal lines around each change."""
    rows: list[Row] = []
    matcher = difflib.SequenceMatcher(None, old.lines, new.lines)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        start, end = group[0][3] + 1, group[-1][4]
        rows.append(Row(f"@@ lines {start} to {end} of {new.name}", style="head"))
        for tag, a, b, c, d in group:
            if tag == "equal":
                rows += [Row(printable(f"  {new.lines[k]}"), new.at[k]) for k in range(c, d)]
                continue
            rows += [Row(printable(f"- {old.lines[k]}"), old.at[k], "removed") for k in range(a, b)]
            rows += [Row(printable(f"+ {new.lines[k]}"), new.at[k], "added") for k in range(c, d)]
    return rows or [Row(f"{new.name} is as {old.name} left it", style="note")]


def remark_rows(document: Document, place: int) -> list[Row]:
    """Remarks about a place, by function and topic; all of them, by line, for -1."""
    wanted = [x for x in document.remarks if place in (-1, document.numbers.get(x.place, -2))]
    if place >= 0 and not wanted:
        return [Row(f"no pass has a remark about {document.places[place]}", place, "note")]
    rows: list[Row] = []
    former: tuple[str, Place] | None = None
    order = {x.topic: number for number, x in enumerate(wanted)}
    for x in sorted(wanted, key=lambda x: (x.function, not x.place.line, x.place, order[x.topic])):
        number = document.numbers.get(x.place, -1)
        if (x.function, x.place) != former:
            former = (x.function, x.place)
            where = str(x.place) if x.place.line else "about no line"
            rows.append(Row(printable(f"{x.function}, {where}  {_line_of(document, x.place)}"), number, "head"))
        said = f"  {x.topic:10} {_MARKS[x.kind]} {x.text} [{x.pass_name}]"
        rows.append(Row(printable(said), number, _STYLES[x.kind], x.pass_name))
        if x.hint:
            rows.append(Row(printable(f"               to allow it: {x.hint}"), number, "note", x.pass_name))
    return rows or [Row("no remarks", style="note")]


def _line_of(document: Document, place: Place) -> str:
    source = next((x for x in document.sources if x.name == place.file), None)
    is_known = source is not None and 0 < place.line <= len(source.lines)
    return source.lines[place.line - 1].strip() if source is not None and is_known else ""


def loop_rows(document: Document) -> list[Row]:
    """The loops of each function with their shares of its estimated time."""
    rows: list[Row] = []
    for f in document.tree["functions"]:
        total = f["seconds"] or 0.0
        said = f"{f['name']}, {time_text(total)} at {_sizes(f)} on one core, as estimated"
        rows.append(Row(printable(said), style="head"))
        rows += [x for node in f["loops"] for x in _loop_rows(node, total or 1.0, 0)]
    return rows


def _loop_rows(node: Mapping[str, Any], total: float, depth: int) -> Iterator[Row]:
    lead = f"{100 * node['seconds'] / total:4.0f} %  {'  ' * depth}"
    where = {"place": node["place"], "target": node["at"] if node["at"] >= 0 else ""}
    if node["kind"] == "loop":
        name = f"{node['name']}: " if node["name"] else ""
        trips = f" × {node['trips']}" if node["trips"] is not None else ""
        how = f"  ({'; '.join(node['how'])})" if node["how"] else ""
        yield Row(printable(f"{lead}{name}{node['text'][0]}{trips}{how}"), style="note", **where)
    else:
        for number, text in enumerate(node["text"]):
            yield Row(printable(f"{lead if number == 0 else ' ' * len(lead)}{text}"), **where)
    for inner in node["body"]:
        yield from _loop_rows(inner, total, depth + 1)


def _sizes(f: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={n}" for name, n in f["sizes"].items()) or "known sizes"


def cost_rows(document: Document) -> list[Row]:
    """Estimated time by line, the longest first; signatures and bytes of arguments; time of passes."""
    rows: list[Row] = []
    for f in document.tree["functions"]:
        rows.append(Row(printable(f["signature"]), style="head"))
        rows.append(Row(f"  {f['bytes']} bytes of inputs and outputs", style="note"))
        for x in document.tree["lines"]:
            if x["function"] == f["name"] and x["seconds"]:
                place = Place(x["file"], x["line"])
                took = f"{100 * x['share']:4.0f} %  {time_text(x['seconds']):>8}"
                rows.append(Row(printable(f"  {took}  {place}  {_line_of(document, place)}"), x["place"]))
    rows.append(Row(printable(document.tree["target"]), style="head"))
    return [*rows, *(Row(printable(x), style="note") for x in document.tree["notes"])]


def pass_rows(document: Document) -> list[Row]:
    """Rows of stages and passes in order, with time and operation counts before and after each pass."""
    runs: dict[str, int] = {}
    records: dict[str, Mapping[str, Any]] = {}
    for x in document.tree["passes"]:
        runs[x["name"]] = runs.get(x["name"], 0) + 1
        records[f"{x['name']}.{runs[x['name']]}"] = x
    rows = []
    for text in document.texts:
        known = records.get(text.name)
        if text.kind == "stage":
            rows.append(Row(f"{text.name}, {len(text.lines)} lines", style="head", target=text.name))
            continue
        took = f"{time_text(known['seconds']):>8}  {known['before']} → {known['after']} operations" if known else ""
        said = f"  {'+' if text.changed else ' '} {text.name:32} {took}".rstrip()
        rows.append(Row(said, style="added" if text.changed else "note", target=text.name))
    return rows


def problem_rows(problem: Problem) -> list[Row]:
    """Rows of the error that prevents a document, or a newer one."""
    rows = [Row(printable(problem.title), style="removed")]
    rows += [Row(printable(f"  {x}")) for x in problem.lines]
    return rows + ([Row(printable(f"hint: {problem.hint}"), style="note")] if problem.hint else [])


_DEFINED: Final = re.compile(r"\s*(?:[-+] )?(%[\w$.-]+)")


def same_row(rows: Sequence[Row], old: Row | None) -> int:
    """The row that corresponds to a row of another text: with the same value, else of the same line, else 0."""
    if old is None:
        return 0
    value = _DEFINED.match(old.text)
    if value is not None:
        for number, row in enumerate(rows):
            found = _DEFINED.match(row.text)
            if found is not None and found[1] == value[1]:
                return number
    return next((n for n, row in enumerate(rows) if row.place == old.place), 0) if old.place >= 0 else 0
