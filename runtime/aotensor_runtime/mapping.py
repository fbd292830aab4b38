"""A library into memory: the dynamic loader gets a private copy of the very bytes that were judged.

The copy is an anonymous file that is sealed once it is written, so nobody can change it between the judgement and the
mapping, or while it is mapped; a library that is compiled again over the file does not disturb who has loaded it. The
anonymous file has the library's name, which `perf` and /proc/PID/maps show; its path, /proc/PID/fd/N, is one that
`gdb` can open. Where there are no anonymous files, the copy is one in a folder of our own that is gone afterwards.

AOTENSOR_LOAD_IN_PLACE=1 maps the file itself, for profilers that look for its symbols after the process has ended.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import tempfile
from pathlib import Path
from threading import Lock
from typing import Final

from aotensor_runtime.errors import LibraryError

IN_PLACE: Final = "AOTENSOR_LOAD_IN_PLACE"

_KEPT: Final = 64
"""Anonymous files that stay open, so that debuggers find them; a process that loads more would run out of numbers."""
_SEALS: Final = ("F_SEAL_WRITE", "F_SEAL_GROW", "F_SEAL_SHRINK", "F_SEAL_SEAL")

_opened: Final[dict[bytes, ctypes.CDLL]] = {}
_lock: Final = Lock()


def map_library(data: bytes, digest: bytes, name: str, path: Path | None) -> ctypes.CDLL:
    """The library in memory; equal bytes are loaded once.

    digest: checksum of `data`. name: shown by tools. path: the file that it was read from, if it was one.

    Raises: LibraryError if the dynamic loader refuses it.
    """
    with _lock:
        if digest not in _opened:
            if path is not None and os.environ.get(IN_PLACE) == "1":
                _opened[digest] = _dlopen(str(path.resolve()))
            else:
                _opened[digest] = _map_anonymous(data, name)
        return _opened[digest]


def _map_anonymous(data: bytes, name: str) -> ctypes.CDLL:
    try:
        handle = os.memfd_create(name[:60], os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except (OSError, AttributeError):
        return _map_file(data)
    is_kept = False
    try:
        _write(handle, data)
        path = f"/proc/{os.getpid()}/fd/{handle}"
        if not os.path.exists(path):  # a sandbox without /proc
            return _map_file(data)
        is_kept = len(_opened) < _KEPT
        return _dlopen(path if is_kept else _alias(handle, len(_opened)))
    finally:
        if not is_kept:
            os.close(handle)


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
    seals = 0
    for seal in _SEALS:
        seals |= getattr(fcntl, seal)
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, seals)


def _alias(handle: int, number: int) -> str:
    """A spelling of /proc/PID/fd/N that no other library has: the loader takes equal paths for equal libraries."""
    steps = "".join("./" if bit == "1" else "/" for bit in f"{number:b}")
    return f"/proc/{os.getpid()}/fd/{steps}{handle}"


def _map_file(data: bytes) -> ctypes.CDLL:
    """Through a file in a folder that only this user can enter, which is gone when this returns."""
    with tempfile.TemporaryDirectory(prefix="aotensor-") as folder:
        path = Path(folder, "library.so")
        path.write_bytes(data)
        return _dlopen(str(path))


def _dlopen(path: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise LibraryError(f"the dynamic loader refuses it ({error})") from error
