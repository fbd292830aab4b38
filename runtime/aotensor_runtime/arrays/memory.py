"""Memory for large results: what nobody holds any longer serves the next call.

The system gives large blocks back when they are freed, and clears them page by page when they are asked for again,
which takes as long as a simple kernel on them. So blocks are kept, and one is free when only we refer to it: each array
in it does, and so does each view of that.
"""

from __future__ import annotations

import sys
from threading import Lock
from typing import Final

import numpy as np

from aotensor_runtime.arrays.plain import AnyArray

SMALLEST: Final = 1 << 20
"""Bytes of a block that is kept; the C library keeps smaller ones itself."""
LIMIT: Final = 1 << 28
"""Bytes of all blocks that are kept."""

_blocks: Final[list[AnyArray]] = []
_lock: Final = Lock()


def block(size: int) -> AnyArray:
    """At least so many bytes, at most a quarter more; used before, or new.   Raises: MemoryError"""
    if size < SMALLEST or size > LIMIT or _FREE is None:
        return np.empty(size, np.uint8)
    with _lock:
        for found in _blocks:
            if size <= found.size <= size + size // 4 and sys.getrefcount(found) == _FREE:
                return found
        new = np.empty(size, np.uint8)
        while _blocks and sum(one.size for one in _blocks) + size > LIMIT:
            _blocks.pop(0)
        _blocks.append(new)
        return new


def _count_of_free() -> int | None:
    """What the loop above counts for a block that nobody holds; None where counts do not tell, as without a lock."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    blocks = [np.empty(1, np.uint8)]
    counts: list[int] = []
    for found in blocks:
        counts.append(sys.getrefcount(found))
    view = blocks[0][:0]
    for found in blocks:
        counts.append(sys.getrefcount(found))
    return counts[0] if counts[1] == counts[0] + 1 and view.base is blocks[0] else None


_FREE: Final = _count_of_free()
