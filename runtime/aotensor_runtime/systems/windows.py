"""Windows: load libraries from locked files; query processors and memory by the functions of kernel32.

A library is loaded from its own file, as security rules may forbid code in temporary folders to run on a
machine. The file is opened so that nobody can write to it or delete it, compared with the bytes that were judged, and
loaded while it is open; from then on Windows itself locks it. A library whose file is missing or changed gets a file
in a folder that only this user can enter. It cannot be deleted while it is loaded, so later loads delete files that
former processes have left.
"""

from __future__ import annotations

import sys

if sys.platform != "win32":
    raise ImportError("this is for Windows")

import ctypes
import msvcrt
import os
import re
import shutil
import time
from ctypes import wintypes
from pathlib import Path
from typing import Final

from aotensor_runtime.errors import LibraryError
from aotensor_runtime.systems.loading import dlopen
from aotensor_runtime.systems.processors import Flags, flags_of_numpy
from aotensor_runtime.systems.scratch import new_folder, temporary_root, writes_to

NAME: Final = "Windows"
READING: Final = os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT
LOCKS: Final = True
WORKERS: Final = 61  # Python waits for at most 63 objects, and two of them are its own

_PREFIX: Final = "aotensor-loaded-"
_OLD: Final = 3600
"""Age in seconds at which one of our folders counts as abandoned."""
_SYSTEM_ONLY: Final = 0x800  # LOAD_LIBRARY_SEARCH_SYSTEM32: files next to a library do not replace the system's
_READ, _SHARE_READ, _OPEN_EXISTING, _NORMAL = 0x8000_0000, 1, 3, 0x80
_INVALID: Final = wintypes.HANDLE(-1).value

_kernel: Final = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel.CreateFileW.argtypes = (
    wintypes.LPCWSTR, wintypes.DWORD, wintypes.DWORD, wintypes.LPVOID, wintypes.DWORD, wintypes.DWORD, wintypes.HANDLE,
)  # fmt: skip
_kernel.CreateFileW.restype = wintypes.HANDLE
_kernel.GetCurrentProcess.restype = wintypes.HANDLE
_kernel.GetProcessAffinityMask.argtypes = (
    wintypes.HANDLE, ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t),
)  # fmt: skip


class _Memory(ctypes.Structure):
    """MEMORYSTATUSEX"""

    _fields_ = (
        ("length", wintypes.DWORD),
        ("load", wintypes.DWORD),
        ("total", ctypes.c_uint64),
        ("others", ctypes.c_uint64 * 6),
    )


_kernel.GlobalMemoryStatusEx.argtypes = (ctypes.POINTER(_Memory),)


def load_file(path: Path, data: bytes) -> ctypes.CDLL | None:
    """Load the file itself, locked; None if it cannot be locked, or has another content than `data`.

    Raises: LibraryError if the loader refuses it.
    """
    handle = _kernel.CreateFileW(str(path), _READ, _SHARE_READ, None, _OPEN_EXISTING, _NORMAL, None)
    if handle is None or handle == _INVALID:
        return None
    with open(msvcrt.open_osfhandle(handle, os.O_RDONLY | os.O_BINARY), "rb") as file:
        return dlopen(str(path), _SYSTEM_ONLY) if file.read(len(data) + 1) == data else None


def load_copy(data: bytes, name: str, number: int) -> ctypes.CDLL:
    """Load a copy of these bytes.   name: shown by tools

    Raises: LibraryError if the loader refuses it, ToolError if the copy cannot be written.
    """
    _sweep()
    folder = new_folder(_PREFIX).resolve()
    path = folder / f"lib{re.sub('[^A-Za-z0-9_]', '_', name)[:60]}.dll"
    with writes_to(folder.parent):
        path.write_bytes(data)
    found = load_file(path, data)
    if found is None:
        raise LibraryError(f"its copy {path} was changed, or cannot be opened", hint="load it by the path of its file")
    return found


def _sweep() -> None:
    """Delete files that former processes have left; Windows keeps those that are loaded."""
    for folder in temporary_root().glob(f"{_PREFIX}*"):
        try:
            if time.time() - folder.stat().st_mtime > _OLD:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # another process was faster
            continue


def processors() -> int:
    """The number of processors by the affinity of the process, in its group of up to 64."""
    own, whole = ctypes.c_size_t(), ctypes.c_size_t()
    process = _kernel.GetCurrentProcess()
    if not _kernel.GetProcessAffinityMask(process, ctypes.byref(own), ctypes.byref(whole)):
        return 1
    return max(own.value.bit_count(), 1)


def memory_bytes() -> int:
    """Bytes of memory of the machine; 0 if unknown."""
    status = _Memory(length=ctypes.sizeof(_Memory))
    return int(status.total) if _kernel.GlobalMemoryStatusEx(ctypes.byref(status)) else 0


def flags() -> Flags:
    """Features of the processor, from NumPy."""
    return flags_of_numpy()


def version() -> tuple[int, ...]:
    """Empty: libraries need Windows 10, whose C library is part of the system."""
    return ()
