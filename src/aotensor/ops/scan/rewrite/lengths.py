"""The number of steps of a segment, from trip counts and bytes of states and stored values."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from aotensor.graph.variable import Constant, Variable
from aotensor.ops.scan.op import Scan
from aotensor.ops.scan.rewrite.groups import Group
from aotensor.ops.shape.inference import Inference, LeafFacts

Extents: TypeAlias = tuple[int | None, ...]
_NEAR: Final = 1.5
"""A divisor of the trip count is preferred to the best length if it is larger or smaller by at most this factor."""


class Lengths:
    """Lengths of segments for the loops of one graph.   extents: of inputs at which they are chosen"""

    def __init__(
        self,
        extents: Mapping[Variable, Extents],
        stop: Collection[Variable],
        outputs: Sequence[Variable],
        levels: int,
    ) -> None:
        self._levels = levels
        self._given = {x: LeafFacts(extents.get(x, x.static_shape)) for x in stop}

    def segments(self, group: Group) -> list[int] | None:
        """The segment length at each level, none for few steps; None for an unknown trip count."""
        inference = Inference(self._given)
        inference.run([x for node in group.loops for x in (*node.inputs, *node.outputs)])
        steps = _most_steps(group.loops[0].inputs[0], inference)
        if steps is None:
            return None
        row = sum(bytes_of_extents(inference.extents_of(x)[1:], x) for x in group.dropped)
        states = sum(
            bytes_of_extents(inference.extents_of(x), x)
            for node in group.loops
            if any(x in group.dropped for x in node.outputs)
            for x in _initial(node.op, node.inputs)
        )
        return segment_lengths(steps, self._levels, row, states)


def _most_steps(n: Variable, inference: Inference) -> int | None:
    """The value of a trip count; for a loop that may stop early, the largest possible one."""
    if isinstance(n, Constant):
        return int(n.data)
    node = n.owner
    if node is not None and isinstance(node.op, Scan) and node.op.has_condition and n is node.outputs[-1]:
        return _most_steps(node.inputs[0], inference)
    found = inference.value(n)
    return None if found is None else int(found)


def _initial(op: object, inputs: Sequence[Variable]) -> list[Variable]:
    assert isinstance(op, Scan)
    return op.operands(inputs).initial


def bytes_of_extents(extents: Extents, x: Variable) -> int:
    """The bytes of elements of the dtype of x with these extents; unknown ones, and those of 0, count as 1."""
    return math.prod(1 if n is None else max(n, 1) for n in extents) * np.dtype(x.dtype).itemsize


def segment_lengths(steps: int, levels: int, row: int, states: int) -> list[int]:
    """Lengths k₁ > k₂ > … of nested segments that minimise stored bytes, states·(n/k₁ + k₁/k₂ + …) + row·(last k).

    row: bytes that are stored of each step. states: bytes of a checkpoint. All ratios are one q then, with
    q^(levels + 1) = n·row/states. Divisors of the length above are preferred if they are near.
    """
    ratio = max((steps * row / max(states, 1)) ** (1 / (levels + 1)), 1.0)
    found: list[int] = []
    above = steps
    for level in range(1, levels + 1):
        wanted = min(max(round(steps / ratio**level), 1), above)
        length = _near_divisor(above, wanted)
        if length >= above or length < 2:
            break
        found.append(length)
        above = length
    return found


def _near_divisor(whole: int, wanted: int) -> int:
    candidates = range(max(math.ceil(wanted / _NEAR), 1), int(wanted * _NEAR) + 1)
    divisors = [n for n in candidates if whole % n == 0]
    return min(divisors, key=lambda n: abs(math.log(n / wanted)), default=wanted)
