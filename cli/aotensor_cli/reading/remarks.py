"""Read remarks from a library, and select them by line, op and pass."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aotensor.driver.stages import REMARKS_SECTION
from aotensor.graph.passes.remarks import Remark, by_line
from aotensor.graph.passes.steps import BY_NAME, OTHERS, unknown_pass
from aotensor_cli.options import Refusal, known_names_hint, similar
from aotensor_runtime.container import Container
from aotensor_runtime.errors import DamagedLibrary
from aotensor_runtime.json_node import parsed


def recorded_remarks(container: Container) -> list[Remark]:
    """The remarks stored in a library; none if it has no such section.   Raises: DamagedLibrary"""
    if REMARKS_SECTION not in container.extra_names():
        return []
    try:
        rows: Any = parsed(container.extra(REMARKS_SECTION))
        return [Remark.from_row(row) for row in rows]
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedLibrary(f"section {REMARKS_SECTION} is damaged: it is not a list of remarks") from error


@dataclass(frozen=True)
class Choice:
    """A selection of remarks: by `lines`, `ops` and `passes`; an empty one selects all."""

    lines: Sequence[str] = ()
    ops: Sequence[str] = ()
    passes: Sequence[str] = ()

    @property
    def is_restricted(self) -> bool:
        """Does the selection restrict the remarks?"""
        return bool(self.lines or self.ops or self.passes)

    def select(self, remarks: Sequence[Remark], subject: str) -> list[Remark]:
        """The selected remarks.

        Raises: Refusal of a line, op or pass without remarks, with those that have some
        """
        lines = [_line(text) for text in self.lines]
        for text, wanted in zip(self.lines, lines, strict=True):
            if not any(_is_at(x, wanted) for x in remarks):
                places = dict.fromkeys(f"{x.file}:{x.line}" for x in by_line(remarks) if x.line)
                raise Refusal(f"{subject}: no remark is about line {text}", known_names_hint(list(places), 40))
        words = sorted(frozenset[str]().union(*(x.words for x in remarks)), key=lambda x: (not x.isidentifier(), x))
        for name in self.ops:
            if name not in words:
                raise Refusal(f"{subject}: no remark names {name}", similar(name, words) or known_names_hint(words, 40))
        known = dict.fromkeys((*BY_NAME, *OTHERS, *(x.pass_name for x in remarks)))
        for name in self.passes:
            if name not in known:
                message, hint = unknown_pass(name)
                raise Refusal(message, hint or similar(name, known) or known_names_hint(list(known), 60))
        return [
            x
            for x in remarks
            if (not lines or any(_is_at(x, wanted) for wanted in lines))
            and (not self.ops or not x.words.isdisjoint(self.ops))
            and (not self.passes or x.pass_name in self.passes)
        ]


def _line(text: str) -> tuple[str, int]:
    """`35` or `model.py:35` → file, "" for any, and line.   Raises: Refusal for what is not a line"""
    match = re.fullmatch(r"(?:(.*[^:]):)?0*(\d{1,9})", text)
    if match is None:
        raise Refusal(f"--line {text} does not name a line", "write a number, or a file and a number: 35, model.py:35")
    return re.split(r"[/\\]", match[1] or "")[-1], int(match[2])


def _is_at(x: Remark, wanted: tuple[str, int]) -> bool:
    file, line = wanted
    return x.line > 0 and x.line == line and file in ("", x.file)
