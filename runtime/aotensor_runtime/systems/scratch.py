"""Temporary folders, and errors that name a folder which cannot be written.

A write to a full disk raises an OSError without a path, so callers write inside `writes_to` or `scratch_folder`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from aotensor_runtime.errors import ToolError

_HINT: Final = "free some space there, or set TMPDIR to another folder"


def temporary_root() -> Path:
    """The system's folder for temporary files.   Raises: ToolError if it has no writable one"""
    try:
        return Path(tempfile.gettempdir())
    except OSError as error:
        raise ToolError(
            f"no folder for temporary files can be written ({error.strerror or error})",
            hint="set TMPDIR to a folder with free space",
        ) from error


@contextmanager
def scratch_folder(prefix: str = "aotensor-", parent: Path | None = None) -> Iterator[Path]:
    """A new folder that only this user can enter; it is removed at the end.

    Raises: ToolError with the parent folder if a file or folder cannot be created or written inside.
    """
    folder = new_folder(prefix, parent)
    try:
        with writes_to(folder.parent):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_folder(prefix: str = "aotensor-", parent: Path | None = None) -> Path:
    """A new persistent folder that only this user can enter.   Raises: ToolError"""
    parent = temporary_root() if parent is None else parent
    with writes_to(parent):
        return Path(tempfile.mkdtemp(prefix=prefix, dir=parent))


def new_file() -> IO[bytes]:
    """An open file without a name.   Raises: ToolError"""
    root = temporary_root()
    with writes_to(root):
        return tempfile.TemporaryFile(dir=root)


@contextmanager
def writes_to(folder: Path, what: str = "temporary folder", hint: str = _HINT) -> Iterator[None]:
    """Turn an OSError about files in `folder` into a ToolError that names the folder; others pass.

    An OSError without a path counts as one about the folder: Python raises it when a write fails.
    """
    try:
        yield
    except OSError as error:
        path = error.filename2 or error.filename
        if isinstance(path, str | bytes | os.PathLike) and not _is_within(Path(os.fsdecode(path)), folder):
            raise
        reason = (error.strerror or str(error)).lower()
        raise ToolError(f"the {what} {folder} cannot be written ({reason})", hint=hint) from error


def _is_within(path: Path, folder: Path) -> bool:
    return Path(os.path.abspath(path)).is_relative_to(os.path.abspath(folder))
