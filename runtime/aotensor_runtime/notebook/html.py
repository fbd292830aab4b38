"""Cards, tables and folds for notebooks: every text escaped, sizes bounded, colours those of the notebook."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

BUDGET: Final = 24_000
"""Most characters in the rows of a table."""
LONGEST: Final = 240
"""Most characters of a cell; the rest is cut."""

_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]|[\ud800-\udfff]"
)
"""Characters that XML does not allow, and those that reverse or hide text around them."""
_LEFT: Final = ' style="text-align:left;vertical-align:top;padding:1px 8px"'  # notebooks align text right by default


def plain(text: str) -> str:
    """Text with control characters replaced by a mark."""
    return _CONTROL.sub("\ufffd", text)


def escaped(text: object) -> str:
    """Text for HTML and XML, also inside of quotes."""
    return escape(plain(str(text)), quote=True)


def clipped(text: str, longest: int = LONGEST) -> str:
    """Text, shortened to at most this number of characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def card(title: str, note: str, *parts: str) -> str:
    """A card: a title, a line, and parts below.   parts: HTML"""
    line = f"<div>{escaped(clipped(note, 1000))}</div>" if note else ""
    return f"<div><b>{escaped(clipped(title))}</b>{line}{''.join(parts)}</div>"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], budget: int = BUDGET, total: int = 0) -> str:
    """A table of the rows that have room, and then the number of the others.

    total: number of rows, if `rows` are only the first ones
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
    """HTML folded under a summary line; empty for empty HTML."""
    state = " open" if is_open else ""
    return f"<details{state}><summary>{escaped(clipped(summary))}</summary>{content}</details>" if content else ""


def code(text: str, longest: int = 4000) -> str:
    """Preformatted lines."""
    return f'<pre style="text-align:left;white-space:pre-wrap">{escaped(clipped(text, longest))}</pre>'


def within(parts: Iterable[str], budget: int, rest: str) -> str:
    """The first parts that have room.   parts: HTML; rest: noun that follows the number of the others"""
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
    """A number of bytes in readable units."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count} bytes"
