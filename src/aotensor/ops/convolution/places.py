"""Contributions of loop counters to the indices of a convolution's operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from aotensor.core.builders import Extent, ScalarBuilder

Place: TypeAlias = Callable[[ScalarBuilder, Extent], Extent]
"""The contribution of an axis's counter to an index."""


def itself(v: ScalarBuilder, at: Extent) -> Extent:
    """The counter as it is."""
    return at


def times(factor: int) -> Place:
    """The counter times a factor."""
    return lambda v, at: at * factor


def quotient(factor: int, divisor: int) -> Place:
    """The counter times a factor, divided by a divisor."""
    return lambda v, at: at * factor // divisor


def remainder(factor: int, divisor: int) -> Place:
    """The counter times a factor, modulo a divisor."""

    def place(v: ScalarBuilder, at: Extent) -> Extent:
        whole = at * factor
        return whole - whole // divisor * divisor

    return place


def descending(start: Extent, step: int) -> Place:
    """A start minus the counter times a step."""
    return lambda v, at: start - at * step


def table_of(numbers: Sequence[int]) -> Place:
    """A function from a position to the number at that position, as nested selects of arithmetic progressions."""

    def place(v: ScalarBuilder, at: Extent) -> Extent:
        if isinstance(at, int):
            return numbers[at]
        found: Extent = 0
        for start, number, step in _progressions(numbers):
            here = (at - start) * step + number if step else number
            found = v.select(at >= start, v.index(here), v.index(found)) if start else here
        return found

    return place


def _progressions(numbers: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """(position, number, difference) where each longest run of equal differences begins; 0 in short runs."""
    start = 0
    while start < len(numbers):
        step = numbers[start + 1] - numbers[start] if start + 1 < len(numbers) else 0
        end = start + 1
        while end < len(numbers) and numbers[end] - numbers[end - 1] == step:
            end += 1
        if step and end - start < 3:
            step, end = 0, start + 1
        yield start, numbers[start], step
        start = end
