"""Layout of a graph in layers: each node below its operands, near its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final

GAP: Final = 16.0  # pixels between neighbours
SWEEPS: Final = 6


def layers(inputs: Sequence[Sequence[int]]) -> list[int]:
    """The length of the longest path to each node.   inputs: of each node, by numbers smaller than its own"""
    found: list[int] = []
    for read in inputs:
        found.append(max((found[k] + 1 for k in read), default=0))
    return found


def placed(inputs: Sequence[Sequence[int]], widths: Sequence[float]) -> tuple[list[float], list[int]]:
    """The centre and the layer of each node. Neighbours in a layer do not overlap.   widths: in pixels"""
    depth = layers(inputs)
    users: list[list[int]] = [[] for _ in inputs]
    for number, read in enumerate(inputs):
        for k in read:
            users[k].append(number)
    for number, read in enumerate(inputs):  # a node without operands is placed right above its first reader
        if not read and users[number]:
            depth[number] = min(depth[k] for k in users[number]) - 1
    rows: list[list[int]] = [[] for _ in range(max(depth, default=0) + 1)]
    for number, level in enumerate(depth):
        rows[level].append(number)
    x = [0.0] * len(inputs)
    for row in rows:
        _place_nodes(row, widths, x, {number: float(k) for k, number in enumerate(row)}, is_order=True)
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            joined = inputs if sweep % 2 == 0 else users
            wanted = {n: median(x[k] for k in joined[n]) if joined[n] else x[n] for n in row}
            _place_nodes(row, widths, x, wanted)
    return x, depth


def _place_nodes(
    row: list[int], widths: Sequence[float], x: list[float], wanted: dict[int, float], is_order: bool = False
) -> None:
    """Place the nodes of a layer near their preferred positions, in that order, without overlap."""
    row.sort(key=lambda n: (wanted[n], n))
    if is_order:
        wanted = dict.fromkeys(row, 0.0)
    right = float("-inf")
    for n in row:
        x[n] = max(wanted[n], right + widths[n] / 2)
        right = x[n] + widths[n] / 2 + GAP
    if row:
        shift = sum(wanted[n] - x[n] for n in row) / len(row)
        for n in row:
            x[n] += shift
