"""Make text safe to print: escape control characters of files and models, leave out colours where unwanted."""

from __future__ import annotations

import os
import re
import unicodedata
from typing import IO, Final

_SUSPECT: Final = re.compile(r"[^\n\t\x20-\x7e]")


def printable(text: str) -> str:
    """Escape control and format characters of a text, so that a name in a file cannot control the terminal.

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
    """Is the stream not a terminal, or a terminal without colours and other escape sequences?"""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return True
    try:
        return stream is None or not stream.isatty()
    except ValueError:  # closed
        return True
