"""Trace extents inside of a subgraph to their origin, without computing the values that have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from aotensor.core.types import TensorType
from aotensor.errors import GraphError
from aotensor.graph.op import Apply
from aotensor.graph.site import variables_at
from aotensor.graph.variable import Constant, Variable
from aotensor.ops.create import Alloc
from aotensor.ops.shape.extents import ShapeI, SymbolicExtent, is_extent
from aotensor.ops.shape.reshape import Reshape

Axis: TypeAlias = tuple[Variable, int]


class Sources:
    """The extents of one graph, traced back; each step once, however many ask.

    stop: variables at which tracing ends.
    """

    def __init__(self, stop: Iterable[Variable] = ()) -> None:
        self._stop = set(stop)
        self._known: dict[Axis, SymbolicExtent | Axis] = {}

    def extent_of(self, x: Variable, axis: int) -> SymbolicExtent | Axis:
        """The extent of x along an axis: a number, an integer scalar of the graph, or the axis of a variable it equals.

        That variable is one to stop at or a leaf, where the rules of types tell enough; else one on the way there.
        """
        way: list[Axis] = []
        found: SymbolicExtent | Axis = (x, axis)
        while isinstance(found, tuple) and found not in self._known:
            way.append(found)
            further = self._step(*found)
            if further is None:
                break
            found = further
        end = self._known.get(found, found) if isinstance(found, tuple) else found
        self._known.update(dict.fromkeys(way, end))
        return end

    def _step(self, x: Variable, axis: int) -> SymbolicExtent | Axis | None:
        extent = x.static_shape[axis]
        if extent is not None:
            return extent
        return None if x.owner is None or x in self._stop else _from_inputs(x.owner, x.index, axis)


def spans(value: Variable, x: Variable) -> bool:
    """Is it certain that an integer scalar is the number of rows of x?"""
    one, other = _origin(value), _origin(Sources().extent_of(x, 0))
    if isinstance(one, tuple) and isinstance(other, tuple):
        return is_extent(ShapeI(one[1])(one[0]), *other)
    return is_extent(value, x, 0) or (one is other if isinstance(one, Variable) else one == other)


def _origin(found: SymbolicExtent | Axis) -> SymbolicExtent | Axis:
    """An extent traced to its origin: an int, a symbolic scalar, or the axis of a variable."""
    while isinstance(found, Variable):
        if isinstance(found, Constant):
            return int(found.data)
        if found.owner is None or not isinstance(found.owner.op, ShapeI):
            return found
        found = Sources().extent_of(found.owner.inputs[0], found.owner.op.axis)
    return found


def _from_inputs(node: Apply, output: int, axis: int) -> SymbolicExtent | Axis | None:
    """The extent of an output in terms of the inputs, as `infer_type` tells it when every unknown dim has a name."""
    knows = getattr(node.op, "extent_source", None)  # loops say it themselves
    if knows is not None:
        said: SymbolicExtent | Axis | None = knows(node, output, axis)
        return said
    if isinstance(node.op, Alloc | Reshape):
        size = _size_input(node, node.op.dims, axis)
        if size is not None:
            return size
    origins: dict[str, Axis] = {}
    types = [_named(x, position, origins) for position, x in enumerate(node.inputs)]
    try:
        result = node.op.infer_type(*types)
    except GraphError:
        return None
    dim = (result if isinstance(result, tuple) else (result,))[output].shape[axis]
    if isinstance(dim, str):
        return origins.get(dim)
    return dim


def _size_input(node: Apply, dims: Sequence[object], axis: int) -> Variable | None:
    """The input of a node that gives the extent of its output along an axis."""
    sizes = [position for position, dim in enumerate(dims) if not isinstance(dim, int)]
    return node.inputs[1 + sizes.index(axis)] if axis in sizes else None


def _named(x: Variable, position: int, origins: dict[str, Axis]) -> TensorType:
    """The type of x with a name of its own for every dim that is not a number."""
    dims: list[int | str] = []
    for axis, extent in enumerate(x.static_shape):
        name = f"__{position}_{axis}"
        origins[name] = (x, axis)
        dims.append(name if extent is None else extent)
    return TensorType(x.dtype, tuple(dims))


def rebuilt(node: Apply, known: Mapping[Variable, Variable]) -> dict[Variable, Variable]:
    """Output → its replacement, for a node some of whose inputs were replaced; empty if none was."""
    inputs = [known.get(x, x) for x in node.inputs]
    if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
        return {}
    with variables_at(node.outputs[0].site):
        return dict(zip(node.outputs, node.op.apply(*inputs).outputs, strict=True))
