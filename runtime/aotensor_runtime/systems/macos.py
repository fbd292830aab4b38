"""macOS: libraries through a temporary file, processors and memory by sysconf.

Not tested on macOS; mypy checks it for that platform, and parts shared with Linux are tested there.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    raise ImportError("this is for macOS")

import ctypes
import os
import platform
from pathlib import Path
from typing import Final

from aotensor_runtime.systems.loading import dlopen, through_a_file
from aotensor_runtime.systems.processors import Flags, flags_of_numpy

NAME: Final = "macOS"
READING: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a FIFO without writer must not block
LOCKS: Final = False
WORKERS: Final = sys.maxsize


def load_file(path: Path, data: bytes) -> ctypes.CDLL | None:
    """Load the file itself, with its current content.   Raises: LibraryError if the dynamic loader refuses it"""
    return dlopen(str(path))


def load_copy(data: bytes, name: str, number: int) -> ctypes.CDLL:
    """Load a copy of these bytes; the mapping stays valid after its file is deleted.

    Raises: LibraryError if the dynamic loader refuses it.
    """
    return through_a_file(data, "library.dylib")


def processors() -> int:
    """The number of processors online: macOS has no affinity of processes."""
    return max(os.sysconf("SC_NPROCESSORS_ONLN"), 1)


def memory_bytes() -> int:
    """Bytes of memory of the machine; 0 if unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def flags() -> Flags:
    """Features of the processor, from NumPy."""
    return flags_of_numpy()


def version() -> tuple[int, ...]:
    """(14, 5); empty if unknown."""
    words = platform.mac_ver()[0].split(".")
    return tuple(int(word) for word in words) if all(word.isdecimal() for word in words) else ()
