"""Find the user's file and line in the text of an error."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_BEFORE: Final = re.compile(r"(?P<file>[^\n]*?\.\w+):(?P<line>[1-9]\d{0,8}): ")
_INSIDE: Final = re.compile(r"(?P<file>[^\s:()`'\"]+\.py):(?P<line>[1-9]\d{0,8})\b")


def place_of(title: str, lines: Iterable[str] = ()) -> tuple[str, int] | None:
    """File, without its folder, and line: `model.py:4: ...` in a title, else the first one that is named.

    None where none is named.
    """
    found = _BEFORE.match(title) or next((x for text in (title, *lines) if (x := _INSIDE.search(text))), None)
    return None if found is None else (re.split(r"[/\\]", found["file"])[-1], int(found["line"]))
