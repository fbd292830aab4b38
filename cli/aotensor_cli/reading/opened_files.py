"""Record the files that a model opens while it is loaded, for dependency files and reproducers.

Python's audit events say what is opened; they cannot be turned off again, so one hook serves the process and listens
only while somebody wants to know. What a C library opens by itself it cannot see, but for SQLite.
"""

from __future__ import annotations

import os
import site
import stat
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

import aotensor
import aotensor_cli
import aotensor_runtime

_EVENTS: Final = ("open", "sqlite3.connect", "ctypes.dlopen")
_BYTECODE: Final = (".pyc", ".pyo")

_listeners: Final[list[dict[str, bool]]] = []
"""Absolute path → was it written? A file that a model makes for itself is none of its sources."""


@contextmanager
def opened_files() -> Iterator[list[Path]]:
    """Within: files are noted. The list is filled at the end: the user's own files that were opened for reading.

    That is a regular file that is neither Python's nor an installed package's nor ours.
    """
    found: list[Path] = []
    seen: dict[str, bool] = {}
    modules = set(sys.modules)
    _install()
    _listeners.append(seen)
    try:
        yield found
    finally:
        _listeners[:] = [x for x in _listeners if x is not seen]
        sources = (getattr(sys.modules.get(name), "__file__", None) for name in sorted(set(sys.modules) - modules))
        read = [name for name, is_written in seen.items() if not is_written]
        names = dict.fromkeys([*read, *(os.path.abspath(x) for x in sources if isinstance(x, str))])
        found += [Path(name) for name in names if _is_own(name)]


@cache
def _install() -> None:
    sys.addaudithook(_note)


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if not _listeners or event not in _EVENTS or not arguments:
        return
    name = arguments[0]
    if not isinstance(name, str | bytes | os.PathLike):
        return
    is_written = len(arguments) > 2 and isinstance(arguments[2], int) and bool(arguments[2] & os.O_WRONLY)
    with suppress(Exception):  # an exception here would become the model's
        text = os.path.abspath(os.fsdecode(name))
        for seen in _listeners:
            seen[text] = is_written or seen.get(text, False)


def _is_own(name: str) -> bool:
    if name.endswith(_BYTECODE) or any(_is_below(name, folder) for folder in _foreign_folders()):
        return False
    try:
        return stat.S_ISREG(os.stat(name).st_mode)
    except (OSError, ValueError):
        return False


def _is_below(name: str, folder: str) -> bool:
    return name.startswith(folder) or os.path.realpath(name).startswith(folder)


@cache
def _foreign_folders() -> tuple[str, ...]:
    """Folders whose files do not belong to a model: of the interpreter, packages, the system and aotensor."""
    ours = (path for module in (aotensor, aotensor_cli, aotensor_runtime) for path in module.__path__)
    paths = [*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages(), *ours]
    paths += [sys.prefix] if sys.prefix != sys.base_prefix else []
    paths += ["/proc", "/sys", "/dev", "/etc", "/usr/lib", "/usr/share", "/lib"]
    data = sysconfig.get_path("data")  # /usr, or the home of the interpreter: too wide
    return tuple(dict.fromkeys(os.path.realpath(path) + os.sep for path in paths if path and path != data))
