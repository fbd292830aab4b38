"""Linux: anonymous files, affinity and control groups, /proc.

A library is loaded from an anonymous file that is sealed once it is written, so nobody can change it between the
check and the mapping, or while it is mapped. The anonymous file has the library's name, which `perf` and
/proc/PID/maps show; `gdb` can open its path, /proc/PID/fd/N. Without anonymous files, the copy
is a file in a private folder that is deleted afterwards.
"""

from __future__ import annotations

import sys

if sys.platform in ("win32", "darwin"):
    raise ImportError("this is for Linux")

import ctypes
import fcntl
import os
from pathlib import Path
from typing import Final

from aotensor_runtime.systems.loading import dlopen, through_a_file
from aotensor_runtime.systems.processors import Flags

NAME: Final = "Linux"
READING: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a FIFO without writer must not block
LOCKS: Final = False
WORKERS: Final = sys.maxsize

SHARES: Final = (
    ("/sys/fs/cgroup/cpu.max",),
    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)
"""Files with a container's quota and period in microseconds: cgroup v2, v1."""

_KEPT: Final = 64
"""Most anonymous files kept open for debuggers; a process that loads more would run out of file descriptors."""
_SEALS: Final = ("F_SEAL_WRITE", "F_SEAL_GROW", "F_SEAL_SHRINK", "F_SEAL_SEAL")


def load_file(path: Path, data: bytes) -> ctypes.CDLL | None:
    """Load the file itself, with its current content.   Raises: LibraryError if the dynamic loader refuses it"""
    return dlopen(str(path))


def load_copy(data: bytes, name: str, number: int) -> ctypes.CDLL:
    """Load a copy of these bytes.   name: shown by tools. number: of libraries that are loaded already

    Raises: LibraryError if the dynamic loader refuses it, ToolError if it needs to write a copy and cannot.
    """
    try:
        handle = os.memfd_create(f"lib{name}.so"[:60], os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except (OSError, AttributeError):
        return through_a_file(data, "library.so")
    is_kept = False
    try:
        try:
            _write(handle, data)
        except OSError:  # no memory for it, or a limit on the size of files
            return through_a_file(data, "library.so")
        path = f"/proc/{os.getpid()}/fd/{handle}"
        if not os.path.exists(path):  # a sandbox without /proc
            return through_a_file(data, "library.so")
        is_kept = number < _KEPT
        return dlopen(path if is_kept else _alias(handle, number))
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
    """A unique spelling of /proc/PID/fd/N: the loader considers equal paths equal libraries."""
    steps = "".join("./" if bit == "1" else "/" for bit in f"{number:b}")
    return f"/proc/{os.getpid()}/fd/{steps}{handle}"


def processors() -> int:
    """The number of processors by the affinity of the process and the CPU quota of its container."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    for paths in SHARES:
        words = [word for path in paths for word in _words(path)]
        if len(words) == 2 and all(word.isdecimal() and int(word) > 0 for word in words):
            count = min(count, -(-int(words[0]) // int(words[1])))
    return count


def _words(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:
            return file.read(100).split()
    except (OSError, UnicodeDecodeError):
        return []


def memory_bytes() -> int:
    """Bytes of memory of the machine; 0 if unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0


def flags() -> Flags:
    """Features of the first CPU in /proc/cpuinfo; none are known without that file."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return Flags()
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return Flags(frozenset(value.split()), is_whole=True)
    return Flags()


def version() -> tuple[int, ...]:
    """Empty: libraries for Linux require versions of the C library, which the loader checks."""
    return ()
