"""Run Python's garbage collector less often while many long-lived objects are created."""

from __future__ import annotations

import gc
from contextlib import ContextDecorator
from threading import Lock
from typing import Final

_RARE: Final = 100_000, 1_000
"""Number of new objects between two collections of these, and number of those between two of older objects."""


class _RareCollections(ContextDecorator):
    """Number of running blocks and calls in all threads, and the collector's earlier thresholds."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.count = 0
        self.thresholds = (0, 0, 0)

    def __enter__(self) -> None:
        with self.lock:
            if self.count == 0:
                self.thresholds = gc.get_threshold()
                if self.thresholds[0]:  # 0: the collector is disabled
                    young, old, oldest = self.thresholds
                    gc.set_threshold(max(young, _RARE[0]), max(old, _RARE[1]), oldest)
            self.count += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.count -= 1
            if self.count == 0:
                gc.set_threshold(*self.thresholds)


rare_collections: Final = _RareCollections()
"""Collect garbage less often within a `with` block, or while a decorated function runs.

IR and imported modules are full of cycles that live until the end, and the collector would scan them again and again: a
seventh of the time to lower a chain of 1000 operations, a tenth of the time to import aotensor. So new objects are
scanned once, and older ones only after a hundred million further ones.
"""
