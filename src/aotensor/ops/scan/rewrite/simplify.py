"""Simplify typical results of pullbacks.

dimshuffle(dimshuffle(x))                     →    dimshuffle(x), or x
zeros with a at 0:4  +  zeros with b at 4:8   →    zeros with a at 0:4 and b at 4:8; joined if that is all there is
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from aotensor.graph.op import Apply
from aotensor.graph.passes.remarks import applied
from aotensor.graph.passes.run import graph_pass
from aotensor.graph.site import variables_at
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort
from aotensor.ops.create import is_zeros
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.index import IncSubtensor
from aotensor.ops.scan.extents import rebuilt
from aotensor.ops.shape.axes import DimShuffle, dimshuffle
from aotensor.ops.shape.join import concatenate
from aotensor.ops.window import Slice


@graph_pass("join-windows", topic="loops", is_free=True, for_loops=True)
def tidy(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """Replaces sums of tensors with disjoint support (pullbacks of slices) by a concatenation."""
    known: dict[Variable, Variable] = {}
    for node in toposort(outputs, stop=stop):
        known.update(rebuilt(node, known))
        x = known.get(node.outputs[0], node.outputs[0])
        with variables_at(node.outputs[0].site):
            better = _better(x.owner, stop) if x.owner is not None else None
        if better is not None:
            if not isinstance(node.op, DimShuffle):
                applied("replaced the sum {} by a concatenation: its terms do not overlap", node)
            known[node.outputs[0]] = better
    return [known.get(x, x) for x in outputs]


def _better(node: Apply, stop: Collection[Variable]) -> Variable | None:
    if isinstance(node.op, DimShuffle):
        return _compose_dimshuffles(node, stop)
    return _one_window(node) if node.op == add else None


def _compose_dimshuffles(node: Apply, stop: Collection[Variable]) -> Variable | None:
    """The replacement of two successive dimshuffles: one dimshuffle, or x itself."""
    (x,) = node.inputs
    assert isinstance(node.op, DimShuffle)
    if x.owner is None or x in stop or not isinstance(x.owner.op, DimShuffle):
        return None
    inner = x.owner.op.pattern
    return dimshuffle(x.owner.inputs[0], [None if axis is None else inner[axis] for axis in node.op.pattern])


def _one_window(node: Apply) -> Variable | None:
    """The replacement of a sum of arrays that are zero outside of adjacent windows: one array."""
    parts = [_parts(x) for x in node.inputs]
    if not all(parts) or len({x.type for x in node.inputs}) > 1:
        return None
    windows = [window for part in parts for window in part]
    axis = windows[0][0]
    windows.sort(key=lambda part: part[1])
    ends = [end for _, _, end, _, _ in windows]
    if any(part[0] != axis for part in windows) or any(
        start < end for (_, start, *_), end in zip(windows[1:], ends, strict=False)
    ):
        return None
    whole = node.outputs[0]
    starts = [start for _, start, *_ in windows]
    is_all = starts == [0, *ends[:-1]] and ends[-1] == whole.static_shape[axis]
    if is_all:
        return concatenate([value for *_, value, _ in windows], axis)
    result = windows[0][4].inputs[0]
    for *_, value, write in windows:
        result = write.op(result, value)
    return result


Part = tuple[int, int, int, Variable, Apply]


def _parts(x: Variable) -> list[Part]:
    """(axis, start, end, value, node) of the windows that are set in zeros; empty for other nodes."""
    found: list[Part] = []
    while x.owner is not None and isinstance(x.owner.op, IncSubtensor) and x.owner.op.is_set:
        window = _window(x.owner)
        if window is None:
            return []
        found.append(window)
        x = x.owner.inputs[0]
    return found if is_zeros(x) else []


def _window(node: Apply) -> Part | None:
    assert isinstance(node.op, IncSubtensor)
    whole, value, *symbols = node.inputs
    cuts = [axis for axis, entry in enumerate(node.op.entries) if not (isinstance(entry, Slice) and entry.is_whole())]
    entry = node.op.entries[cuts[0]] if len(cuts) == 1 else None
    if (
        symbols
        or not isinstance(entry, Slice)
        or entry.step != 1
        or value.ndim != whole.ndim
        or 1 in value.static_shape
    ):
        return None
    start, end = 0 if entry.start is None else entry.start, entry.stop
    if end is None:
        end = whole.static_shape[cuts[0]]
    if not isinstance(start, int) or not isinstance(end, int) or start < 0 or end < start:
        return None
    return cuts[0], start, end, value, node
