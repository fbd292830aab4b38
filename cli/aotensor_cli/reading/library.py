"""Tell models from libraries, and read a library's bytes, without importing the compiler."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from aotensor_cli.options import Refusal, current_session
from aotensor_cli.reading.standard_input import MARK, standard_input
from aotensor_runtime.errors import LibraryError
from aotensor_runtime.formats.read import STARTS
from aotensor_runtime.library import read_file

_SUFFIXES: Final = (".so", ".o", ".dylib", ".dll", ".wasm")


def split_name(text: str) -> tuple[Path, str | None]:
    """`file.py:name` → path and name; a path that holds a colon and exists is a path; `-` is standard input.

    Raises: Refusal for standard input that has no model.
    """
    head, colon, tail = text.rpartition(":")
    if text == MARK or (head == MARK and tail.isidentifier()):
        return standard_input(), tail if colon else None
    if colon and tail.isidentifier() and not Path(text).exists():
        return Path(head), tail
    return Path(text), None


def is_library(path: Path) -> bool:
    """Is a file compiled, judged by its first bytes and then by its name?"""
    start = b""
    with contextlib.suppress(OSError, ValueError):
        if stat.S_ISREG(path.stat().st_mode):  # looking into a pipe would take away what is in it
            with path.open("rb") as file:
                start = file.read(4)
    return start.startswith(STARTS) or path.suffix in _SUFFIXES


def read_library(path: Path) -> bytes:
    """The bytes of a compiled file.   Raises: Refusal if it cannot be read"""
    try:
        return read_file(path)
    except LibraryError as error:
        raise Refusal(error.diagnostic.title) from error


def refuse_extents(path: Path) -> None:
    """Raise a Refusal if the command line fixes extents, which a compiled file has fixed already."""
    session = current_session()
    if session.dims or session.shapes:
        raise Refusal(f"{path}: this is compiled already", "--dim and --shape are for ONNX models and StableHLO")


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Prefix errors about a library inside the context with its path.   Raises: as `refuse_extents`"""
    refuse_extents(path)
    try:
        yield
    except LibraryError as error:
        raise type(error)(f"{path}: {error.diagnostic.title}", hint=error.diagnostic.hint) from error
