"""Cards, tables and folds for notebooks: every text escaped, sizes bounded, colours those of the notebook."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

BUDGET: Final = 24_000
"""Characters that the rows of a table take at most."""
LONGEST: Final = 240
"""Characters of a cell; the rest is left out."""

_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]|[\ud800-\udfff]"
)
"""What XML does not allow, and what turns or hides the text around it."""
_LEFT: Final = ' style="text-align:left;vertical-align:top;padding:1px 8px"'  # notebooks put text at the right


def plain(text: str) -> str:
    """Text without control characters: a mark stands for each."""
    return _CONTROL.sub("\ufffd", text)


def escaped(text: object) -> str:
    """Text for HTML and XML, also inside of quotes."""
    return escape(plain(str(text)), quote=True)


def clipped(text: str, longest: int = LONGEST) -> str:
    """Text, shortened to at most this number of characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def card(title: str, note: str, *parts: str) -> str:
    """A title, a line, and what is below.   parts: HTML"""
    line = f"<div>{escaped(clipped(note, 1000))}</div>" if note else ""
    return f"<div><b>{escaped(clipped(title))}</b>{line}{''.join(parts)}</div>"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], budget: int = BUDGET, total: int = 0) -> str:
    """A row for each, the first ones where these are too many, and then how many more there are.

    total: number of rows, if `rows` are but the first of them
    """
    if not rows:
        return ""
    head = "".join(f"<th{_LEFT}>{escaped(header)}</th>" for header in headers)
    lines = [f"<thead><tr>{head}</tr></thead>"] if headers else []
    taken = shown = 0
    for row in rows:
        line = "<tr>" + "".join(f"<td{_LEFT}>{escaped(clipped(cell))}</td>" for cell in row) + "</tr>"
        taken += len(line)
        if taken > budget:
            break
        lines.append(line)
        shown += 1
    left_out = max(total, len(rows)) - shown
    if left_out:
        lines.append(f'<tr><td{_LEFT} colspan="{len(rows[0])}">and {left_out} more</td></tr>')
    return f"<table>{''.join(lines)}</table>"


def folded(summary: str, content: str, is_open: bool = False) -> str:
    """HTML under a line that opens it; nothing if there is none."""
    state = " open" if is_open else ""
    return f"<details{state}><summary>{escaped(clipped(summary))}</summary>{content}</details>" if content else ""


def code(text: str, longest: int = 4000) -> str:
    """Lines as they are written."""
    return f'<pre style="text-align:left;white-space:pre-wrap">{escaped(clipped(text, longest))}</pre>'


def within(parts: Iterable[str], budget: int, rest: str) -> str:
    """The first ones that have room.   parts: HTML; rest: what the others are, after their number"""
    chosen: list[str] = []
    left_out = 0
    for part in parts:
        budget -= len(part)
        if budget < 0:
            left_out += 1
        else:
            chosen.append(part)
    return "".join(chosen) + (f"<div>and {left_out} more {escaped(rest)}</div>" if left_out else "")


def size_text(count: int) -> str:
    """Bytes for people."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count} bytes"
