"""What the systems have in common of loading a library."""

from __future__ import annotations

import ctypes

from aotensor_runtime.errors import LibraryError
from aotensor_runtime.systems.scratch import scratch_folder


def dlopen(path: str, mode: int | None = None) -> ctypes.CDLL:
    """The library at a path.   mode: how Windows looks for what it needs

    Raises: LibraryError if the dynamic loader refuses it.
    """
    try:
        return ctypes.CDLL(path, winmode=mode)
    except OSError as error:
        raise LibraryError(f"the dynamic loader refuses it ({error})") from error


def through_a_file(data: bytes, name: str) -> ctypes.CDLL:
    """By a file in a folder that only this user can enter, which is gone when this returns.

    Raises: LibraryError, ToolError if the file cannot be written.
    """
    with scratch_folder() as folder:
        path = folder / name
        path.write_bytes(data)
        return dlopen(str(path))
