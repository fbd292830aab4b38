"""Exceptions of the compiler and the runtime as the two lines of an error and its exit code."""

from __future__ import annotations

from typing import Final

from aotensor import errors
from aotensor_cli.options import Exit

_CODES: Final[tuple[tuple[type[errors.AotensorError], Exit], ...]] = (
    (errors.InternalError, Exit.BUG),
    (errors.ToolError, Exit.TOOL),
    (errors.OutOfMemory, Exit.TOOL),
    (errors.LibraryError, Exit.USAGE),
    (errors.ArgumentError, Exit.USAGE),
    (errors.AotensorError, Exit.PROGRAM),
)


def explain(error: Exception) -> tuple[str, str | None, Exit]:
    """First line, hint and exit code of any exception; what nobody foresaw is a bug of aotensor."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            found = error.diagnostic
            hint = found.hint or (_REPORT if code is Exit.BUG else None)
            return _first_line(found.title), hint, code
    if isinstance(error, OSError):
        return _os_error(error), None, Exit.USAGE
    if isinstance(error, MemoryError):
        return "out of memory", None, Exit.TOOL
    return f"internal error: {_first_line(f'{type(error).__name__}: {error}')}", _REPORT, Exit.BUG


_REPORT: Final = "this is a bug of aotensor: run again with --debug and report what it prints"


def _os_error(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    place = error.filename2 or error.filename
    return f"{place}: {reason}" if place else reason


def _first_line(text: str) -> str:
    return (text.splitlines() or [""])[0]
