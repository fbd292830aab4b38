"""Batch rules of basic indices whose positions differ by sample: the sample numbers become an index array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from aotensor.graph.operations import dense, indexing
from aotensor.graph.variable import Variable
from aotensor.ops.ranges import arange
from aotensor.ops.shape.axes import moveaxis
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.window import INPUT, Bound, Entries, Position


def differs_in_positions(entries: Entries, is_batched: Sequence[bool]) -> bool:
    """True if some symbolic position is batched, and no bound or step of a slice is, as windows would be ragged."""
    return any(is_batched) and not any(
        on and not isinstance(entry, Position) for entry, flags in _with_symbols(entries, is_batched) for on in flags
    )


def batched_window(entries: Entries, x: Variable, symbols: Sequence[Variable], is_batched: bool) -> Variable:
    """x[entries] of every sample; batched symbols are vectors.   → (samples, …)"""
    items = _items(entries, symbols)
    if is_batched:
        return indexing.subtensor(x, (arange(extent_of(x, 0)), *items))
    arrays = [axis for axis, entry in enumerate(entries) if isinstance(entry, Position)]
    is_one_block = arrays[-1] - arrays[0] == len(arrays) - 1
    return moveaxis(indexing.subtensor(x, items), arrays[0] if is_one_block else 0, 0)


def batched_change(
    entries: Entries, x: Variable, value: Variable, symbols: Sequence[Variable], is_set: bool
) -> Variable:
    """A batched x in which the window x[entries] of each sample is increased by, or set to, `value` of that sample."""
    window = indexing.subtensor(x, (arange(extent_of(x, 0)), *_items(entries, symbols)))
    return dense.set_subtensor(window, value) if is_set else dense.inc_subtensor(window, value)


def _with_symbols(entries: Entries, symbols: Sequence[Any]) -> Iterator[tuple[Any, Sequence[Any]]]:
    """(entry, its symbolic bounds) for each entry."""
    start = 0
    for entry in entries:
        yield entry, symbols[start : start + entry.symbols()]
        start += entry.symbols()


def _items(entries: Entries, symbols: Sequence[Variable]) -> tuple[Any, ...]:
    """The entries as items of a Python index: ints, slices and symbols."""
    items: list[Any] = []
    for entry, own in _with_symbols(entries, symbols):
        pending = iter(own)
        bounds: Sequence[Bound] = (entry.at,) if isinstance(entry, Position) else (entry.start, entry.stop, entry.step)
        found = [next(pending) if bound is INPUT else bound for bound in bounds]
        items.append(found[0] if isinstance(entry, Position) else slice(*found))
    return tuple(items)
