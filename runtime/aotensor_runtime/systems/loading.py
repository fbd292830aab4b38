"""Library loading shared by the systems."""

from __future__ import annotations

import ctypes

from aotensor_runtime.errors import LibraryError


def dlopen(path: str, mode: int | None = None) -> ctypes.CDLL:
    """Load the library at a path.   mode: how Windows searches for its dependencies

    Raises: LibraryError if the dynamic loader refuses it.
    """
    try:
        return ctypes.CDLL(path, winmode=mode)
    except OSError as error:
        raise LibraryError(f"the dynamic loader refuses it ({error})") from error


def through_a_file(data: bytes, name: str) -> ctypes.CDLL:
    """Load bytes by a file in a folder that only this user can enter, which is deleted before it returns.

    Raises: LibraryError, ToolError if the file cannot be written.
    """
    from aotensor_runtime.systems.scratch import scratch_folder

    with scratch_folder() as folder:
        path = folder / name
        path.write_bytes(data)
        return dlopen(str(path))
