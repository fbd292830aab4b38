"""Turn exceptions of the compiler and the runtime into error messages with exit codes."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import Final

from aotensor import errors
from aotensor_cli.options import Exit

_CODES: Final[tuple[tuple[type[errors.AotensorError], Exit], ...]] = (
    (errors.InternalError, Exit.BUG),
    (errors.ToolError, Exit.TOOL),
    (errors.OutOfMemory, Exit.TOOL),
    (errors.LibraryError, Exit.USAGE),
    (errors.ArgumentError, Exit.USAGE),
    (errors.OptionError, Exit.USAGE),
    (errors.AotensorError, Exit.PROGRAM),
)


@dataclass(frozen=True)
class Failure:
    """An error message: first line, further lines, hint, and exit code."""

    title: str
    hint: str | None
    code: Exit
    lines: tuple[str, ...] = ()


def explain(error: BaseException) -> Failure:
    """The error message of an exception; an unexpected one is reported as an internal error of aotensor."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            found = error.diagnostic
            hint = found.hint or (_REPORT if code is Exit.BUG else None)
            return Failure(_first_line(found.title), hint, code, found.lines)
    if isinstance(error, OSError):
        return Failure(_os_error(error), None, Exit.TOOL if error.errno in _MACHINE else Exit.USAGE)
    if isinstance(error, MemoryError):
        return Failure("out of memory", None, Exit.TOOL)
    return Failure(f"internal error: {_first_line(f'{type(error).__name__}: {error}')}", _REPORT, Exit.BUG)


_MACHINE: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EFBIG}
)
"""Errors of the machine, not of what the user asked for."""

_REPORT: Final = "this is a bug of aotensor: run again with --debug and report what it prints"


def _os_error(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    path = error.filename2 or error.filename
    if not path and isinstance(error, FileNotFoundError) and current_folder() is None:
        return "the current folder does not exist any more"
    return f"{path}: {reason}" if path else reason


def current_folder() -> str | None:
    """The path of the current folder; None where it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _first_line(text: str) -> str:
    return (text.splitlines() or [""])[0]
