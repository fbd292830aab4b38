"""Graph passes: named, timed rewrites, which also run inside the bodies of loops and branches."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, TypeAlias, TypeVar

from aotensor.core.frozen import frozen_dataclass
from aotensor.errors import InternalError
from aotensor.graph.passes.remarks import running
from aotensor.graph.passes.steps import Step, Topic, description_of
from aotensor.graph.subgraph import all_nodes, subgraphs, with_bodies
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import toposort

Rewrite: TypeAlias = Callable[[Sequence[Variable], Collection[Variable]], list[Variable]]
"""Outputs, and the variables to stop at (the inputs) → outputs of the same types in the same order.

A pass walks without recursion, and by `made_at` gives new nodes the source line of the node that they replace.
"""


F = TypeVar("F", bound=Rewrite)
_DECLARED: Final[dict[Rewrite, tuple[Step, GraphPass]]] = {}


@frozen_dataclass
class PassRecord:
    """Record of one pass: its seconds, and the number of nodes or operations before and after."""

    name: str
    seconds: float
    before: int
    after: int


@frozen_dataclass
class GraphPass:
    """A named rewrite. It sees one graph at a time, and then each body in it.

    bodies_first: bodies are rewritten before the enclosing graph, for passes that create bodies themselves. for_loops:
    it runs only on graphs with loops or branches.
    """

    name: str
    rewrite: Rewrite
    bodies_first: bool = False
    for_loops: bool = False

    def run(self, outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
        """The outputs after the pass, with all bodies rewritten."""
        running(self.name)
        if self.bodies_first:
            return self.rewrite(self._in_bodies(outputs, stop), stop)
        return self._in_bodies(self.rewrite(outputs, stop), stop)

    def _in_bodies(self, outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
        return with_bodies(outputs, stop, lambda body: self.run(body.outputs, body.inputs))


def graph_pass(
    name: str,
    *,
    topic: Topic,
    reference: str = "",
    needed: str = "",
    former: str = "",
    is_free: bool = False,
    bodies_first: bool = False,
    for_loops: bool = False,
) -> Callable[[F], F]:
    """Decorator of the function of a graph pass, which declares it.

    The first paragraph of its docstring is the description in docs/ir.md. The arguments are those of `Step` and
    `GraphPass`.
    """

    def register(rewrite: F) -> F:
        described = description_of(rewrite)
        step = Step(name, "graph", topic, needed, {}, is_free, former, described, reference)
        _DECLARED[rewrite] = step, GraphPass(name, rewrite, bodies_first, for_loops)
        return rewrite

    return register


def declared(rewrite: Rewrite) -> tuple[Step, GraphPass]:
    """The declaration of a graph pass by its function: its entry in the table of passes, and the pass."""
    return _DECLARED[rewrite]


def run_passes(
    outputs: Sequence[Variable], stop: Collection[Variable], passes: Sequence[GraphPass]
) -> Iterator[tuple[PassRecord, list[Variable]]]:
    """Run passes in order: (their records, the outputs)."""
    found, (size, known) = list(outputs), _survey(outputs, stop)
    for step in passes:
        before, start, old = size, time.perf_counter(), found
        found = step.run(found, stop)
        seconds = time.perf_counter() - start
        if found != old:
            size, needed = _survey(found, stop)
            _check(step.name, old, found, needed - known)
            known |= needed
        yield PassRecord(step.name, seconds, before, size), found


def _survey(outputs: Sequence[Variable], stop: Collection[Variable]) -> tuple[int, set[Variable]]:
    """(number of nodes, including nodes of bodies; inputs that the outputs depend on, without constants)."""
    nodes = toposort(outputs, stop)
    inside = sum(len(all_nodes(body.outputs, body.inputs)) for node in nodes for _, body in subgraphs(node.op))
    read = (x for x in (*outputs, *(x for node in nodes for x in node.inputs)) if x.owner is None)
    return len(nodes) + inside, {x for x in read if not isinstance(x, Constant)}.difference(stop)


def _check(name: str, old: Sequence[Variable], new: Sequence[Variable], strange: Collection[Variable]) -> None:
    """Check the outputs of a pass.   Raises: InternalError naming the pass if types changed, or inputs were added"""
    types = [(x.dtype, x.ndim) for x in old], [(x.dtype, x.ndim) for x in new]
    if types[0] != types[1]:
        raise InternalError(f"pass {name} broke the graph: outputs are {types[1]} instead of {types[0]}")
    if strange:
        raise InternalError(f"pass {name} broke the graph: {min(map(str, strange))} is not an input")
