"""A disk store of files that can be regenerated: entries are validated when read, and the total size is bounded.

An entry is its content, then a mark and the SHA-256 of name and content: a damaged one, or one under another's name, is
detected and made again. Entries of another user, and those that others may write to, are not read: code loaded from
here runs as this user. The least recently used entries are deleted first when the size exceeds its bound.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aotensor.codegen.files import write_file

_MARK: Final = b"AOTCACHE"
_FOOTER: Final = len(_MARK) + hashlib.sha256().digest_size
"""Bytes that follow the content of an entry."""
_ABANDONED: Final = 600
"""Age in seconds at which a temporary file counts as abandoned."""
_EARLIER: Final = re.compile(r"[0-9a-f]{40}|\.building-.*")
"""Folders of older versions, which had a folder for each function."""


@dataclass(frozen=True)
class Entry:
    """A file in the store. name: path below the folder. size: bytes. used: last read or write, seconds since 1970"""

    name: str
    path: Path
    size: int
    used: float


@dataclass(frozen=True)
class Store:
    """Entries in the folders below `folder`, together at most `limit` bytes."""

    folder: Path
    limit: int

    def get(self, name: str) -> bytes | None:
        """The content of an entry; None if there is no valid one."""
        try:
            handle = os.open(self.folder / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (OSError, ValueError):
            return None
        try:
            with os.fdopen(handle, "rb") as file:
                if not _is_own(os.fstat(handle)):
                    return None
                data = file.read()
                with suppress(OSError):
                    os.utime(handle)
        except OSError:
            return None
        content = data[:-_FOOTER]
        return content if data[-_FOOTER:] == _footer(name, content) else None

    def put(self, name: str, content: bytes) -> Path:
        """Write an entry after making room for it, and return its path.   Raises: OSError if it cannot be written"""
        path = self.folder / name
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with suppress(OSError):
            if not _is_own(path.lstat()):
                path.unlink()
        write_file(path, content + _footer(name, content))
        os.chmod(path, 0o600)
        self.prune(self.limit, keep=name)
        return path

    def entries(self) -> list[Entry]:
        """All entries, the most recently used last."""
        found = [Entry(name, path, status.st_size, status.st_mtime) for name, path, status in self._files()]
        return sorted((x for x in found if not Path(x.name).name.startswith(".")), key=lambda x: -x.used)

    def prune(self, limit: int, keep: str | None = None) -> int:
        """Remove abandoned files, and least recently used entries down to `limit` bytes; returns the bytes removed.

        keep: an entry that is not removed.
        """
        removed, total = self._sweep(), 0
        for entry in self.entries():
            total += entry.size
            if total > limit and entry.name != keep:
                removed += _remove(entry.path, entry.size)
        return removed

    def clear(self) -> int:
        """Remove every entry and return the bytes freed.   Other files in the folder are not touched."""
        return self.prune(-1)

    def _sweep(self) -> int:
        """Remove files left by killed processes and earlier versions; returns the bytes freed."""
        removed, oldest = 0, time.time() - _ABANDONED
        for name, path, status in self._files():
            if Path(name).name.startswith(".") and status.st_mtime < oldest:
                removed += _remove(path, status.st_size)
        with suppress(OSError), os.scandir(self.folder) as listed:
            for item in listed:
                is_folder = _EARLIER.fullmatch(item.name) and item.is_dir(follow_symlinks=False)
                if is_folder and item.stat(follow_symlinks=False).st_mtime < oldest:
                    removed += _size_of(Path(item.path))
                    shutil.rmtree(item.path, ignore_errors=True)
        return removed

    def _files(self) -> Iterator[tuple[str, Path, os.stat_result]]:
        """The files of the store that still exist: other processes may remove them at any time."""
        for kind in KINDS:
            try:
                with os.scandir(self.folder / kind) as listed:
                    names = [item.name for item in listed]
            except OSError:
                continue
            for name in names:
                path = self.folder / kind / name
                try:
                    status = path.lstat()
                except OSError:
                    continue
                if stat.S_ISREG(status.st_mode):
                    yield f"{kind}/{name}", path, status


KINDS: Final = ("functions", "parts")
"""The folders of a store: libraries of functions, objects of parts."""


def _is_own(status: os.stat_result) -> bool:
    """Is it a regular file of this user that no other user may write?"""
    is_private = not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and is_private


def _footer(name: str, content: bytes) -> bytes:
    return _MARK + hashlib.sha256(name.encode() + b"\0" + content).digest()


def _remove(path: Path, size: int) -> int:
    try:
        path.unlink()
    except OSError:
        return 0
    return size


def _size_of(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_size
    return total
