"""Find values needed by one side of a choice only: the side not chosen must not be computed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, TypeAlias

from aotensor.graph.op import Apply, Op
from aotensor.graph.variable import Variable
from aotensor.ops.contract import Contract
from aotensor.ops.create import Alloc, FullLike
from aotensor.ops.diagonal import Band
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.gradient_control import ViewOp
from aotensor.ops.reduce.sums import Sum
from aotensor.ops.scan.branch import IfElse
from aotensor.ops.shape.axes import DimShuffle
from aotensor.ops.shape.extents import Shape, ShapeI

Sides: TypeAlias = tuple[tuple[Variable, bool], ...]
"""(condition, whether it holds or fails), from the outermost to the innermost."""


def sides_of(
    nodes: Sequence[Apply], outputs: Iterable[Variable], inside: Collection[Variable] | None = None
) -> dict[Apply, Sides]:
    """For each node, the sides of choices on which alone it is needed: the sides common to all its readers.

    inside: if given, only choices with outputs among these count.
    """
    needed: dict[Variable, Sides] = dict.fromkeys(outputs, ())
    found: dict[Apply, Sides] = {}
    for node in reversed(nodes):
        readers = [needed[x] for x in node.outputs if x in needed]
        found[node] = _common(readers)
        for position, x in enumerate(node.inputs):
            here = found[node]
            if isinstance(node.op, IfElse) and position > 0 and (inside is None or node.outputs[0] in inside):
                here = (*here, (node.inputs[0], position <= node.op.count))
            needed[x] = _common([needed[x], here]) if x in needed else here
    return found


def _common(paths: Sequence[Sides]) -> Sides:
    """The longest common prefix of several paths of sides."""
    count = 0
    for group in zip(*paths, strict=False):
        if any(step != group[0] for step in group):
            break
        count += 1
    return paths[0][:count] if paths else ()


def must_stay(nodes: Sequence[Apply], outputs: Iterable[Variable]) -> set[Variable]:
    """Values that must not be computed if their side is not chosen: results of ops that may fail, and their users."""
    sides = sides_of(nodes, outputs)
    found: set[Variable] = set()
    for node in nodes:
        if sides[node] and not (_is_total(node.op) and found.isdisjoint(node.inputs)):
            found.update(node.outputs)
    return found


def _is_total(op: Op) -> bool:
    """Does the op return a value for all inputs of matching extents, and run no long loop?"""
    return op.row.guard is None if isinstance(op, Elementwise) else isinstance(op, _TOTAL)


_TOTAL: Final = (Alloc, Band, Contract, DimShuffle, FullLike, IfElse, Shape, ShapeI, Sum, ViewOp)
