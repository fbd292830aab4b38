"""Merge sums of tensors that are zero outside of a window, as in the gradient of x[0], x[1], …

set(0, y, at 0) + set(0, z, at 1) + …    →    set(set(0, y, at 0), z, at 1)        if the windows are disjoint
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from aotensor.graph.variable import Variable
from aotensor.ops.create import is_zeros
from aotensor.ops.index import IncSubtensor
from aotensor.ops.window import Entries, Entry, Position


def join_windows(terms: Sequence[Variable]) -> list[Variable]:
    """Merge summands with provably disjoint windows into one tensor, one after the other.

    Exact: every element gets its one value, instead of a sum of this value and zeros.
    """
    result: list[Variable] = []
    joined: Variable | None = None
    taken: list[Entries] = []
    position = 0
    for term in terms:
        entries = _window_of_zeros(term)
        if entries is None or not all(_are_disjoint(entries, other) for other in taken):
            result.append(term)
            continue
        taken.append(entries)
        if joined is None:
            joined, position = term, len(result)
            result.append(term)
        else:
            assert term.owner is not None
            _, y, *symbols = term.owner.inputs
            joined = result[position] = term.owner.op(joined, y, *symbols)
    return result


def _window_of_zeros(x: Variable) -> Entries | None:
    """The window that zeros were set to by construction, or None; x is zero elsewhere."""
    if x.owner is None or not isinstance(x.owner.op, IncSubtensor) or not x.owner.op.is_set:
        return None
    return x.owner.op.entries if is_zeros(x.owner.inputs[0]) else None


def _are_disjoint(one: Entries, other: Entries) -> bool:
    """Do two windows of a tensor provably share no element, for all extents and symbolic bounds?"""
    for pair in zip(one, other, strict=False):
        (low, high), (start, stop) = map(_range, pair)
        if high <= start or stop <= low:
            return True
    return False


def _range(entry: Entry) -> tuple[float, float]:
    """The bounds of the positions of an entry, counted from the start; all positions if they are not known."""
    everywhere = (-inf, inf)
    if isinstance(entry, Position):
        return (entry.at, entry.at + 1) if isinstance(entry.at, int) and entry.at >= 0 else everywhere
    start, stop = 0 if entry.start is None else entry.start, inf if entry.stop is None else entry.stop
    if not isinstance(start, int) or not isinstance(stop, int | float) or entry.step != 1:
        return everywhere
    return (start, stop) if start >= 0 and stop >= 0 else everywhere
