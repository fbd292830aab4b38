"""Subgraphs: graphs with their own inputs, the bodies of loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import Field, dataclass, fields, is_dataclass
from dataclasses import replace as changed_copy
from functools import cache, cached_property
from typing import Any

from aotensor.core.types import Array
from aotensor.errors import MissingInputError
from aotensor.graph.continuation import continued
from aotensor.graph.op import Apply, Op
from aotensor.graph.site import variables_at
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import compute_all, evaluated, leaves, replace, toposort


@dataclass
class Allowance:
    """Number of body nodes that may be evaluated, and that were; shared by all loops within `at_most`."""

    most: float
    used: int = 0


_ALLOWANCE: ContextVar[Allowance | None] = ContextVar("_ALLOWANCE", default=None)


class TooLongError(Exception):
    """The evaluation of loops exceeds its limit of nodes."""


@contextmanager
def at_most(evaluations: float) -> Iterator[Allowance]:
    """Context manager that limits the number of body nodes evaluated in all loops together; each takes microseconds.

    Its value counts them. A context manager inside of another one has a limit and a count of its own.
    """
    allowance = Allowance(evaluations)
    token = _ALLOWANCE.set(allowance)
    try:
        yield allowance
    finally:
        _ALLOWANCE.reset(token)


@dataclass(frozen=True, eq=False)
class Subgraph:
    """A graph from inputs to outputs. Closed: its other leaves are constants. Compared by identity.

    Raises: MissingInputError for a leaf that is neither an input nor a constant.
    """

    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]

    def __post_init__(self) -> None:
        for x in leaves(self.outputs, stop=self.inputs):
            if not isinstance(x, Constant) and x not in self.inputs:
                raise MissingInputError(f"{x} is needed but is not an input of the subgraph", lines=[x.describe()])

    @cached_property
    def nodes(self) -> tuple[Apply, ...]:
        """The nodes in the order of evaluation."""
        return tuple(toposort(self.outputs, stop=self.inputs))

    @cached_property
    def constants(self) -> tuple[Constant, ...]:
        """The constants among the leaves, in order of use."""
        return tuple(x for x in leaves(self.outputs, stop=self.inputs) if isinstance(x, Constant))

    @cached_property
    def _places(self) -> dict[Variable, int]:
        """The position of each variable in the list of inputs, constants and node outputs, in this order."""
        places: dict[Variable, int] = {}
        for place, x in enumerate([*self.inputs, *self.constants, *(y for node in self.nodes for y in node.outputs)]):
            places.setdefault(x, place)
        return places

    @cached_property
    def _steps(self) -> tuple[tuple[Apply, tuple[int, ...]], ...] | None:
        """(node, positions of its inputs) in the order of evaluation; None if a node demands inputs lazily."""
        if any(type(node.op).demanded is not Op.demanded for node in self.nodes):
            return None
        return tuple((node, tuple(self._places[x] for x in node.inputs)) for node in self.nodes)

    @cached_property
    def influences(self) -> tuple[frozenset[int], ...]:
        """For each output, the positions of the inputs whose elements influence its elements."""
        reached: dict[Variable, frozenset[int]] = {}
        for position, x in enumerate(self.inputs):
            reached[x] = reached.get(x, frozenset()) | {position}
        for node in self.nodes:
            rows = list(zip(node.inputs, node.op.connection_pattern(node), strict=True))
            for k, x in enumerate(node.outputs):
                found = frozenset[int]().union(*(reached.get(y, frozenset()) for y, row in rows if row[k]))
                reached.setdefault(x, found)
        return tuple(reached.get(x, frozenset()) for x in self.outputs)

    def evaluate(self, arrays: Sequence[Array]) -> list[Array]:
        """Evaluate the outputs by the reference, from arrays of the inputs' types, or at complex ones by continuation.

        Raises: TooLongError for more evaluations than `at_most` allows.
        """
        if (allowance := _ALLOWANCE.get()) is not None:
            allowance.used += len(self.nodes)
            if allowance.used > allowance.most:
                raise TooLongError
        is_complex = any(x.dtype.kind == "c" for x in arrays)
        compute = continued if is_complex else evaluated
        if self._steps is not None:
            values = [*arrays, *(x.data for x in self.constants)]
            for node, places in self._steps:
                values += compute(node, [values[place] for place in places])
            return [values[self._places[x]] for x in self.outputs]
        known: dict[Variable, Array] = {x: x.data for x in self.constants}
        known.update(zip(self.inputs, arrays, strict=True))
        compute_all(self.outputs, known, compute)
        return [known[x] for x in self.outputs]

    def inlined(self, inputs: Sequence[Variable]) -> list[Variable]:
        """The outputs for other inputs, inlined into the enclosing graph."""
        replacements: Mapping[Variable, Variable] = dict(zip(self.inputs, inputs, strict=True))
        return replace(self.outputs, replacements)


def subgraphs(op: Op) -> list[tuple[str, Subgraph]]:
    """The subgraphs among the declared parameters of an op, by name."""
    return [(name, getattr(op, name)) for name in _bodies(type(op))]


@cache
def _bodies(kind: type[Op]) -> tuple[str, ...]:
    declared: tuple[Field[Any], ...] = fields(kind) if is_dataclass(kind) else ()
    return tuple(field.name for field in declared if field.type in (Subgraph, Subgraph.__name__))


def with_bodies(
    outputs: Sequence[Variable], stop: Collection[Variable], rewrite: Callable[[Subgraph], list[Variable]]
) -> list[Variable]:
    """The graph, with the outputs of every op's subgraphs replaced by others of the same types."""
    known: dict[Variable, Variable] = {}
    nodes = toposort(outputs, stop=stop)
    if not any(_bodies(type(node.op)) for node in nodes):
        return list(outputs)
    for node in nodes:
        bodies = {name: (body, rewrite(body)) for name, body in subgraphs(node.op)}
        changed = {
            name: Subgraph(body.inputs, tuple(new))
            for name, (body, new) in bodies.items()
            if any(one is not other for one, other in zip(new, body.outputs, strict=True))
        }
        inputs = [known.get(x, x) for x in node.inputs]
        if changed or any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
            record: Any = node.op
            with variables_at(node.outputs[0].site):
                made = (changed_copy(record, **changed) if changed else node.op).apply(*inputs).outputs
            known.update(zip(node.outputs, made, strict=True))
    return [known.get(x, x) for x in outputs]


def all_nodes(outputs: Iterable[Variable], stop: Collection[Variable] = ()) -> list[Apply]:
    """The nodes that outputs need, each before those inside of its subgraphs; not those before a variable in `stop`."""
    found: list[Apply] = []
    for node in toposort(outputs, stop):
        found.append(node)
        for _, body in subgraphs(node.op):
            found += all_nodes(body.outputs, body.inputs)
    return found


def all_constants(outputs: Sequence[Variable]) -> list[Constant]:
    """The constants that outputs need, those inside of subgraphs included, in order of use."""
    bodies = [body for node in all_nodes(outputs) for _, body in subgraphs(node.op)]
    parts = [leaves(outputs), *(leaves(body.outputs, body.inputs) for body in bodies)]
    return [x for part in parts for x in part if isinstance(x, Constant)]


def is_dual(outputs: Sequence[Variable], stop: Collection[Variable]) -> bool:
    """Is the pullback the transpose of the pushforward for all ops between, including ops in bodies?"""
    return all(
        node.op.is_dual() and all(is_dual(body.outputs, body.inputs) for _, body in subgraphs(node.op))
        for node in toposort(outputs, stop=stop)
    )
