"""The fixed tree in which partials are merged: it depends on the number of chunks, not on the order of arrival.

0 1 2 3 4        neighbours are merged, level by level; the last one of an odd number moves up unmerged
└┬┘ └┬┘ │
 └─┬─┘  │
   └─┬──┘
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class MergeTree(Generic[T]):
    """Merges partials of `count` chunks. If they arrive almost in order, at most as many wait as the tree is deep."""

    def __init__(self, count: int, combine: Callable[[T, T], T]) -> None:
        self._sizes = [count]
        while self._sizes[-1] > 1:
            self._sizes.append((self._sizes[-1] + 1) // 2)
        self._combine = combine
        self._waiting: dict[tuple[int, int], T] = {}

    def add(self, position: int, partial: T) -> None:
        """Add the partial of a chunk, and merge where possible."""
        level = 0
        while level < len(self._sizes) - 1:
            sibling = position ^ 1
            if sibling < self._sizes[level]:
                if (level, sibling) not in self._waiting:
                    break
                other = self._waiting.pop((level, sibling))
                partial = self._combine(partial, other) if position < sibling else self._combine(other, partial)
            level, position = level + 1, position // 2
        self._waiting[level, position] = partial

    def result(self) -> T:
        """The merged result, after all partials."""
        return self._waiting[len(self._sizes) - 1, 0]
