"""Map a library into memory once: the dynamic loader gets exactly the bytes that were checked.

They are a private copy on Linux and macOS, so recompiling a library over its file does not affect processes that have
loaded it. On Windows, where a loaded file cannot be written to, they are the file itself.

AOTENSOR_LOAD_IN_PLACE=1 maps the file itself everywhere, for profilers that look for its symbols after the process has
ended.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from threading import Lock
from typing import Final

from aotensor_runtime.systems import here

IN_PLACE: Final = "AOTENSOR_LOAD_IN_PLACE"

_opened: Final[dict[bytes, ctypes.CDLL]] = {}
_lock: Final = Lock()


def map_library(data: bytes, digest: bytes, name: str, path: Path | None) -> ctypes.CDLL:
    """Load a library; equal bytes are loaded once.

    digest: checksum of `data`. name: of the library, shown by tools. path: the file that it was read from, if any.

    Raises: LibraryError if the dynamic loader refuses it.
    """
    with _lock:
        if digest not in _opened:
            found = None
            if path is not None and (here.LOCKS or os.environ.get(IN_PLACE) == "1"):
                found = here.load_file(path.resolve(), data)
            _opened[digest] = here.load_copy(data, name, len(_opened)) if found is None else found
        return _opened[digest]
