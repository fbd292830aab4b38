"""macOS: libraries through a file of our own, processors and memory by sysconf.

Nothing of this has run on macOS; it is read by mypy as for it, and what it has in common with Linux runs there.
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
    """The file itself, whatever is in it by now.   Raises: LibraryError if the dynamic loader refuses it"""
    return dlopen(str(path))


def load_copy(data: bytes, name: str, number: int) -> ctypes.CDLL:
    """Load a copy of these bytes; the mapping stays valid after its file is deleted.

    Raises: LibraryError if the dynamic loader refuses it.
    """
    return through_a_file(data, "library.dylib")


def processors() -> int:
    """Those that are online: macOS has no affinity of processes."""
    return max(os.sysconf("SC_NPROCESSORS_ONLN"), 1)


def memory_bytes() -> int:
    """Of the machine; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def flags() -> Flags:
    """Features of the processor, as far as NumPy tells them."""
    return flags_of_numpy()


def version() -> tuple[int, ...]:
    """(14, 5); empty if it is not known."""
    words = platform.mac_ver()[0].split(".")
    return tuple(int(word) for word in words) if all(word.isdecimal() for word in words) else ()
