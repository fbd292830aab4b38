"""A cache of memory for large results and workspaces: blocks without references are reused by the next call.

The C library returns large freed blocks to the system, which clears them page by page when they are allocated again,
which takes as long as a simple kernel on them. So blocks are kept, and one is free if only this module refers to it:
arrays in it and their views hold references. One workspace is kept; libraries take and return it themselves.
"""

from __future__ import annotations

import sys
from threading import Lock
from typing import Final

import numpy as np

from aotensor_runtime.abi import Kept
from aotensor_runtime.arrays.plain import AnyArray
from aotensor_runtime.systems import here

SMALLEST: Final = 1 << 20
"""Least bytes of a block that is kept; the C library caches smaller ones itself."""
LIMIT: Final = 1 << 28
"""Most bytes of all blocks that are kept."""

SHARE: Final = 16
"""A workspace is kept if it is at most 1 / SHARE of the machine's memory."""

_blocks: Final[list[AnyArray]] = []
_lock: Final = Lock()
"""Only try-acquired: a signal handler, a finaliser, or a child process after a fork would wait for ever."""


def block(size: int) -> AnyArray:
    """A reused or new block of at least this number of bytes, at most a quarter more.   Raises: MemoryError"""
    if size < SMALLEST or size > LIMIT or _FREE is None or not _lock.acquire(blocking=False):
        return np.empty(size, np.uint8)
    try:
        for k in range(len(_blocks)):
            if size <= _blocks[k].size <= size + size // 4 and _count(_blocks, k) == _FREE:
                return _blocks[k]
        new = np.empty(size, np.uint8)
        while _blocks and sum(one.size for one in _blocks) + size > LIMIT:
            _blocks.pop(0)
        _blocks.append(new)
        return new
    finally:
        _lock.release()


def _count(blocks: list[AnyArray], k: int) -> int:
    """Reference count of a block, including those of the counting itself, which vary with the version of Python."""
    return sys.getrefcount(blocks[k])


def _count_of_free() -> int | None:
    """The count of an unreferenced block; None if counts are unreliable, as without a global interpreter lock."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    blocks = [np.empty(1, np.uint8)]
    free = _count(blocks, 0)
    view = blocks[0][:0]
    return free if _count(blocks, 0) == free + 1 and view.base is blocks[0] else None


_FREE: Final = _count_of_free()


WORKSPACE: Final = Kept(limit=max(LIMIT, here.memory_bytes() // SHARE))
"""The workspace that calls of any library leave for later ones: at most one, from the C library's `malloc`."""
