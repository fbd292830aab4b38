"""Print a report of remarks: for each line of the model its text, and the decisions of passes by topic.

model.py:7  loss = at.softplus(-y * (X @ w)).mean()

  loops    + fused `sum(...)` into the loop of `X @ w`: they share operands [fuse]
  memory   - no scalar replacement of `w[1:]`: `grad_w` reads it in another loop; 8*p bytes [scalar-replacement]
             to allow it: that reader in the same loop
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

import click

from aotensor.graph.passes.remarks import Remark, by_line
from aotensor.graph.passes.topics import TOPICS, topic_of
from aotensor_cli.terminal.plain import is_plain, printable
from aotensor_cli.terminal.render import WIDTH, show

_MARKS: Final = {"applied": "+", "missed": "-", "analysis": "="}
_COLOURS: Final = {"applied": "green", "missed": "yellow", "analysis": "cyan"}
_TOPICS: Final = (*TOPICS, "other")
_INDENT: Final = 2 + max(map(len, _TOPICS)) + 1  # columns in front of a mark
_LARGEST_SOURCE: Final = 1 << 24  # bytes


class Sources:
    """Lines of the user's files that exist.

    files: where they may be, the first of a name counts. since: when the compiled thing was made, in seconds; the text
    of a file that has changed later may be another one than it was, and is not shown.
    """

    def __init__(self, files: Sequence[Path], since: float | None = None) -> None:
        self._paths = {path.name: path for path in reversed(files) if path.is_file()}
        self._since = since
        self._lines: dict[str, list[str]] = {}
        self.changed: set[str] = set()

    def line(self, file: str, number: int) -> str:
        """The text of a line without its indent, "" if it is not known."""
        if file not in self._lines:
            self._lines[file] = self._read(file)
        lines = self._lines[file]
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def _read(self, file: str) -> list[str]:
        path = self._paths.get(file)
        try:
            if path is None or path.stat().st_size > _LARGEST_SOURCE:
                return []
            if self._since is not None and path.stat().st_mtime > self._since:
                self.changed.add(file)
                return []
            return path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []


def show_report(remarks: Sequence[Remark], sources: Sources, note: str = "") -> None:
    """Print the report, function by function and line by line.   note: printed before it"""
    if note:
        show(f"{printable(note)}\n", is_safe=True)
    if not remarks:
        show("no remarks")
        return
    for number, name in enumerate(dict.fromkeys(x.function for x in remarks)):
        chosen = [x for x in remarks if x.function == name]
        counts = {kind: sum(x.count for x in chosen if x.kind == kind) for kind in _MARKS}
        found = f", {counts['analysis']} found out (=)" if counts["analysis"] else ""
        show(f"{chr(10) if number else ''}{_styled(name, bold=True)}", is_safe=True)
        show(f"{counts['applied']} decisions to do something (+), {counts['missed']} not to (-){found}")
        for (file, line), group in groupby(by_line(chosen), key=lambda x: (x.file, x.line)):
            where = f"{file}:{line}" if line else "about no line"
            text = sources.line(file, line) if line else ""
            show(f"\n{_styled(where, bold=True)}{'  ' if text else ''}{printable(text)}", is_safe=True)
            show_remarks(list(group))
    for file in sorted(sources.changed):
        show(f"\nnote: {file} was changed after this was compiled, so its lines are not shown", err=True)


def show_remarks(remarks: Sequence[Remark]) -> None:
    """Print the remarks of one line by topic: applied ones first, then missed ones."""
    order = {kind: number for number, kind in enumerate(("applied", "analysis", "missed"))}
    remarks = sorted(remarks, key=lambda x: (_TOPICS.index(topic_of(x.pass_name)), order[x.kind]))
    for topic, group in groupby(remarks, key=lambda x: topic_of(x.pass_name)):
        for position, x in enumerate(group):
            lead = f"  {'' if position else topic}".ljust(_INDENT)
            show(
                f"{lead}{_styled(_MARKS[x.kind], fg=_COLOURS[x.kind])} {_filled(f'{x.text} [{x.pass_name}]')}",
                is_safe=True,
            )
            if x.hint:
                show(f"{' ' * (_INDENT + 2)}{_filled(f'to allow it: {x.hint}')}", is_safe=True)


def _filled(text: str) -> str:
    """Wrap safe text to the width of the terminal, indented after the marks."""
    lines = textwrap.wrap(printable(text), WIDTH - _INDENT - 2, break_long_words=False, break_on_hyphens=False)
    return f"\n{' ' * (_INDENT + 2)}".join(lines)


def _styled(text: str, *, bold: bool | None = None, fg: str | None = None) -> str:
    """Escape a text, and colour it if the terminal shows colours."""
    safe = printable(text)
    return safe if is_plain(sys.stdout) else click.style(safe, bold=bold, fg=fg)
