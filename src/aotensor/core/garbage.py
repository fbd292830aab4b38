"""Run Python's garbage collector less often while many long-lived objects are created."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_RARE: Final = 100_000, 1_000
"""Number of new objects between two collections of these, and number of those between two of older objects."""


class _Running:
    """State of `rare_collections`: number of running calls in all threads, and the collector's earlier thresholds."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.count = 0
        self.thresholds = (0, 0, 0)

    def begin(self) -> None:
        with self.lock:
            if self.count == 0:
                self.thresholds = gc.get_threshold()
                if self.thresholds[0]:  # 0: the collector is disabled
                    young, old, oldest = self.thresholds
                    gc.set_threshold(max(young, _RARE[0]), max(old, _RARE[1]), oldest)
            self.count += 1

    def end(self) -> None:
        with self.lock:
            self.count -= 1
            if self.count == 0:
                gc.set_threshold(*self.thresholds)


_running: Final = _Running()


def rare_collections(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: collect garbage less often while the function runs.

    IR is full of cycles that live until the end, and the collector would scan them again and again: a seventh of the
    time to lower a chain of 1000 operations. So new objects are scanned once, and older ones only after a hundred
    million further ones.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        _running.begin()
        try:
            return function(*args, **kwargs)
        finally:
            _running.end()

    return call
