"""Text that is safe to show: no control characters from files or models, no escape sequences where none are wanted."""

from __future__ import annotations

import os
import re
import unicodedata
from typing import IO, Final

_SUSPECT: Final = re.compile(r"[^\n\t\x20-\x7e]")


def printable(text: str) -> str:
    """The same text with control and format characters as escapes: a name in a file cannot command the terminal.

    Line ends and tabs stay; so do letters and symbols of all scripts.
    """
    return _SUSPECT.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        code = ord(character)
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    return character


def is_plain(stream: IO[str] | None) -> bool:
    """Is this no terminal, or one that wants neither colours nor other escape sequences?"""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return True
    try:
        return stream is None or not stream.isatty()
    except ValueError:  # closed
        return True
