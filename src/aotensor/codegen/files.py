"""Write files atomically and durably, several of them together; write special files directly.

regular or new file   written to a temporary file in the same folder, synced, then renamed: readers never see half of it
several files         all are written before the first is renamed; a failure restores the former files
device, FIFO, socket  written through, as is everything under /dev and /proc
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_SPECIAL: Final = ("/dev/", "/proc/")
"""Folders of special names: replacing one would remove /dev/stdout."""


def write_file(path: Path, content: bytes) -> None:
    """Write one file. Raises: OSError with the path if it cannot be written; no temporary file remains."""
    write_files({path: content})


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Write several files, all of them or none; special files cannot be undone, and are written first.

    Raises: OSError with the path of a file that cannot be written.
    """
    plain = {path: content for path, content in contents.items() if not is_special(path)}
    with contextlib.ExitStack() as stack:
        staged = [stack.enter_context(_staged(path, content)) for path, content in plain.items()]
        for path, content in contents.items():
            if path not in plain:
                _write_through(path, content)
        stack.enter_context(_put_back(staged))
        for file in staged:
            file.put(is_last=file is staged[-1])
        for folder in {file.target.parent for file in staged}:
            _sync_folder(folder)


@contextlib.contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Context manager: create a folder with its parents for files written inside; remove it if that fails.

    Raises: OSError if it cannot be created, NotADirectoryError with the path of a file or broken link in its place.
    """
    missing = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
    present = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    if not present.is_dir():
        reason = "this is not a folder: remove it, or choose another folder"
        raise NotADirectoryError(errno.ENOTDIR, reason, str(present))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for path in missing:
            with contextlib.suppress(OSError):
                path.rmdir()
        raise


def is_special(path: Path) -> bool:
    """Must a path be written directly: is it a device, a FIFO, a socket, or a name with a special meaning?"""
    if os.path.abspath(path).startswith(_SPECIAL):
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@dataclass
class _Staged:
    """A file that is written, but not yet renamed. target: its final path, with symbolic links resolved."""

    target: Path
    fresh: str
    backup: str | None = field(default=None)
    is_put: bool = field(default=False)

    def put(self, is_last: bool) -> None:
        """Rename the file to its target; keep the former file until all are renamed, unless this is the last one."""
        if not is_last and self.target.exists():
            self.backup = _second_name(self.target)
        os.replace(self.fresh, self.target)
        self.is_put = True

    def take_back(self) -> None:
        """Restore the former file at the target."""
        if self.is_put and self.backup is not None:
            os.replace(self.backup, self.target)
            self.backup = None
        elif self.is_put:
            self.target.unlink(missing_ok=True)


@contextlib.contextmanager
def _staged(path: Path, content: bytes) -> Iterator[_Staged]:
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(21, "this is a folder, not a file", str(path))
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    except OSError as error:
        raise _named(error, path) from error
    file = _Staged(target, name)
    try:
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fchmod(stream.fileno(), _mode(target))
                os.fsync(stream.fileno())
        except OSError as error:
            raise _named(error, path) from error
        yield file
    finally:
        for left in (file.fresh, file.backup):
            if left is not None:
                with contextlib.suppress(OSError):
                    os.unlink(left)


@contextlib.contextmanager
def _put_back(files: list[_Staged]) -> Iterator[None]:
    """Context manager: restore all files if the renaming inside it fails or is interrupted."""
    try:
        yield
    except BaseException:
        for file in reversed(files):
            with contextlib.suppress(OSError):
                file.take_back()
        raise


def _named(error: OSError, path: Path) -> OSError:
    """A copy of an error with the user's path instead of the temporary one."""
    return type(error)(error.errno, error.strerror, str(path))


def _mode(target: Path) -> int:
    """The mode of the file to replace, else the default for new files; libraries are executable."""
    with contextlib.suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return (0o777 if target.suffix == ".so" else 0o666) & ~mask


def _second_name(target: Path) -> str:
    """The name of a second link to a file, or of a copy if the file system has no links."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    os.close(handle)
    os.unlink(name)
    try:
        os.link(target, name)
    except OSError:
        shutil.copy2(target, name)
    return name


def _sync_folder(folder: Path) -> None:
    """Sync a folder, so that renames are durable; some file systems do not support it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _write_through(path: Path, content: bytes) -> None:
    try:
        with open(path, "wb", buffering=0) as stream:
            view = memoryview(content)
            while view:
                view = view[stream.write(view) :]
    except OSError as error:
        raise _named(error, path) from error
