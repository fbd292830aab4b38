"""The pass `forward-shapes`: shape queries on an elementwise result are redirected to its operands.

    y = exp(x); g = full_like(1, y)        →        y = exp(x); g = full_like(1, x)

A gradient begins with the extents of its cost. It would wait for the whole value, and nothing could
be fused with it. MLIR has a similar pass, `resolve-shaped-type-result-dims`.

The check that operands broadcast stays: an operand replaces a result that is computed anyway, or that needs no
check since all its operands have the extent from one source.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from aotensor.graph.op import Apply
from aotensor.graph.passes.remarks import applied
from aotensor.graph.passes.run import graph_pass
from aotensor.graph.site import replacement_site, variables_at
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort
from aotensor.ops.create import FullLike, alloc
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.shape.axes import DimShuffle
from aotensor.ops.shape.extents import ShapeI

_Source: TypeAlias = tuple[Variable, int] | None
"""An axis of a tensor, None for one of extent 1."""


@graph_pass("forward-shapes", topic="arithmetic", former="resolve-extents")
def forward_shapes(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """Redirects shape queries on an elementwise result to its operands."""
    stop = set(stop)
    nodes = toposort(outputs, stop)
    if all(_shaped_like(node) is None for node in nodes):
        return list(outputs)
    sources = _sources(nodes, stop, _read(outputs, nodes))
    known: dict[Variable, Variable] = {}
    for node in nodes:
        x = _shaped_like(node)
        made = node.on([known.get(y, y) for y in node.inputs]).outputs
        if x is not None and x in sources:
            applied("took the shape {} from the operands of {}, not from its result", node, x)
            with variables_at(replacement_site(node)):
                made = (_forward_reader(node, [known.get(y, y) for y in node.inputs], _known(sources[x], known)),)
        known.update((old, new) for old, new in zip(node.outputs, made, strict=True) if new is not old)
    return [known.get(x, x) for x in outputs]


def _shaped_like(node: Apply) -> Variable | None:
    """The input of which a node reads the extents alone (its last one); None for other nodes."""
    return node.inputs[-1] if isinstance(node.op, ShapeI | FullLike) else None


def _read(outputs: Sequence[Variable], nodes: Sequence[Apply]) -> set[Variable]:
    """The variables whose elements are needed for the outputs; not those of which only the extents are."""
    found = set(outputs)
    for node in reversed(nodes):
        if any(x in found for x in node.outputs):
            found.update(node.inputs if _shaped_like(node) is None else node.inputs[:-1])
    return found


# --- sources ---------------------------------------------------------------------------------------------------------


def _sources(
    nodes: Sequence[Apply], stop: Collection[Variable], read: Collection[Variable]
) -> dict[Variable, tuple[_Source, ...]]:
    """For each result, the (variable, axis) from which each of its extents comes, traced back through elementwise
    ops.
    """
    found: dict[Variable, tuple[_Source, ...]] = {}
    for node in nodes:
        y, origins = node.outputs[0], None
        if isinstance(node.op, Elementwise):
            origins = _common(node, found, y in read)
        elif isinstance(node.op, DimShuffle):
            (x,) = node.inputs
            origins = tuple(None if axis is None else _source(x, axis, found) for axis in node.op.pattern)
        if origins is not None and y not in stop:
            found[y] = origins
    return found


def _source(x: Variable, axis: int, found: Mapping[Variable, tuple[_Source, ...]]) -> _Source:
    return found[x][axis] if x in found else (x, axis)


def _common(node: Apply, found: Mapping[Variable, tuple[_Source, ...]], is_read: bool) -> tuple[_Source, ...] | None:
    """The (variable, axis) of each extent of an elementwise result; None if the op must stay to check its operands."""
    op: Any = node.op
    if op.row.guard is not None and not is_read:
        return None
    y = node.outputs[0]
    origins: list[_Source] = []
    for axis, is_one in enumerate(y.broadcastable):
        back = y.ndim - axis
        wide = [x for x in node.inputs if x.ndim >= back and not x.broadcastable[x.ndim - back]]
        candidates = dict.fromkeys(_source(x, x.ndim - back, found) for x in wide)
        if len(candidates) > 1 and not is_read:
            return None
        origins.append(None if is_one else next(iter(candidates)))
    return tuple(origins)


def _known(sources: Sequence[_Source], known: Mapping[Variable, Variable]) -> list[_Source]:
    """The (variable, axis) pairs, with each variable replaced as in `known`."""
    return [None if source is None else (known.get(source[0], source[0]), source[1]) for source in sources]


def _forward_reader(node: Apply, inputs: Sequence[Variable], sources: Sequence[_Source]) -> Variable:
    """The replacement of a node that reads extents."""
    if isinstance(node.op, ShapeI):
        return _extent(sources[node.op.axis])
    value, x = inputs
    first = next((source[0] for source in sources if source is not None), None)
    in_order = all(source is None or source == (first, axis) for axis, source in enumerate(sources))
    if first is not None and first.static_shape == x.static_shape and in_order:
        return FullLike().apply(value, first).outputs[0]
    known = x.static_shape
    return alloc(value, [_extent(source) if n is None else n for n, source in zip(known, sources, strict=True)])


def _extent(source: _Source) -> Variable:
    """The extent of an axis of a variable, as an int64 scalar."""
    assert source is not None
    x, axis = source
    return ShapeI(axis).apply(x).outputs[0]
