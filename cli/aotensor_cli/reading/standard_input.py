"""Copy a model from standard input (`-`) to a temporary file for the duration of the process.

Readers of models want a file: its suffix gives its kind, and remarks show its lines.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import sys
from functools import cache
from pathlib import Path
from typing import Final

from aotensor_cli.options import Refusal
from aotensor_runtime.formats.read import STARTS
from aotensor_runtime.systems.scratch import new_folder, writes_to

MARK: Final = "-"
"""The argument that means standard input."""
_STABLEHLO: Final = re.compile(rb"(?:\s|//[^\n]*\n|#[^\n]*\n)*(?:builtin\.)?module\b[^\n]*\{")
_BYTECODE: Final = b"ML\xefR"
_LARGEST: Final = {".py": 1 << 24, ".mlir": 1 << 31, ".onnx": 1 << 31, ".so": 1 << 31}
"""Bytes that are read at most, by kind: a pipe may never end."""
_PIECE: Final = 1 << 20

_folders: Final[list[Path]] = []


@cache
def standard_input() -> Path:
    """Write standard input to a temporary file with the suffix of its kind; return its path.

    Raises: Refusal, ToolError
    """
    if sys.stdin is None or sys.stdin.buffer is None:
        raise Refusal("standard input cannot be read")
    stream, content = sys.stdin.buffer, bytearray()
    suffix = ""
    try:
        while piece := stream.read(_PIECE):
            content += piece
            suffix = suffix or _suffix(content)
            if len(content) > _LARGEST[suffix]:
                raise Refusal(f"standard input: it has more than {_LARGEST[suffix]} bytes, so it is not a model")
    except OSError as error:
        raise Refusal(f"standard input: cannot be read ({(error.strerror or str(error)).lower()})") from error
    if not content.strip():
        raise Refusal("standard input: it contains no model", "pipe a model into it: aotensor compile - < model.py")
    folder = new_folder()
    _remove_at_the_end(folder)
    path = folder / f"stdin{suffix}"
    with writes_to(folder.parent):
        path.write_bytes(content)
    return path


def _remove_at_the_end(folder: Path) -> None:
    """Remove a folder when the process ends, also when it is ended because its output pipe was closed."""
    _folders.append(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if not hasattr(signal, "SIGPIPE"):
        return

    def end(number: int, _: object) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGPIPE, end)


def is_standard_input(path: Path) -> bool:
    """Is a path the file that `standard_input` wrote?"""
    return path.parent in _folders


def without_folder(text: str) -> str:
    """Replace the path of the temporary file in a text by `stdin.py`."""
    for folder in _folders:
        text = text.replace(f"{folder}/", "")
    return text


def _suffix(start: bytes | bytearray) -> str:
    """The suffix for a model with these first bytes: of StableHLO, a library, ONNX, else Python."""
    if start.startswith(_BYTECODE) or _STABLEHLO.match(start):
        return ".mlir"
    if start.startswith(STARTS):
        return ".so"
    return ".onnx" if start[:1] == b"\x08" else ".py"  # field 1 of a ModelProto, its ir_version
