"""Locate missing lines in an edited nest: the parser reports them only at the end of the text.

A line with a brace is missing where the indentation does not match the braces; a line that defines a value is missing
before the first line that uses the value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_TOKENS: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//.*|[{}]')
_UNDEFINED: Final = re.compile(r"values used but not defined: \[%([^,\]\s]+)")


def missing_line(lines: Sequence[str], message: str) -> tuple[int, str] | None:
    """(number of the line after a missing one, from 1; the missing text); None if the error has another reason.

    message: the parser's message.
    """
    if not any(line.partition("//")[0].strip() for line in lines):
        return 1, "the file has no line of a nest"
    undefined = _UNDEFINED.search(message)
    return _missing_brace(lines) if undefined is None else _first_use(lines, undefined[1])


def _first_use(lines: Sequence[str], name: str) -> tuple[int, str] | None:
    """The number of the first line that uses a value without a preceding definition in its function."""
    mention, is_made = re.compile(rf"%{re.escape(name)}(?![\w.$-])(\s*=|\s+in\b)?"), False
    for number, line in enumerate(lines, 1):
        is_head = "func.func " in line
        is_made = is_made and not is_head
        for found in mention.finditer(line):
            is_made = is_made or is_head or found[1] is not None
            if not is_made:
                return number, f"this line uses %{name}, and no line above defines it"
    return None


def _missing_brace(lines: Sequence[str]) -> tuple[int, str] | None:
    """The number of the first line whose indentation does not match the braces, in a text with unbalanced braces."""
    braces = [[x for x in _TOKENS.findall(line) if x in "{}"] for line in lines]
    if sum((x == "{") - (x == "}") for line in braces for x in line) == 0:
        return None
    open_at: list[int] = []
    unit = min((_indent(line) for line in lines if line.strip() and _indent(line)), default=2)
    for number, (line, found) in enumerate(zip(lines, braces, strict=True), 1):
        if not line.strip():
            continue
        wanted = open_at[-1] + unit * (not line.lstrip().startswith("}")) if open_at else 0
        if _indent(line) > wanted:
            return number, "the line that opens this block with { is missing above"
        if _indent(line) < wanted:
            return number, "a } is missing above this line"
        for x in found:
            if x == "{":
                open_at.append(_indent(line))
            elif open_at:
                open_at.pop()
            else:
                return number, "this } has no matching {"
    return len(lines), "a } is missing at the end"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
