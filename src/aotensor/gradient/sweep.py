"""The pullback sweep: cotangents of a graph's variables in reverse topological order, each under its guards."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from aotensor.gradient.guards import Guarded, Guards, pull_choice, pull_elements, shared_guards, total, translate_guards
from aotensor.gradient.options import (
    is_float,
)
from aotensor.gradient.terms import Pattern, check_connection, checked_terms, connection_pattern, has_zero_cotangent
from aotensor.graph.expansion import Expansion
from aotensor.graph.op import (
    REVERSE_RULES,
    Apply,
    call_pullback,
    chosen_rule,
    connected,
    disconnected,
    has_value,
    is_disconnected,
    is_null,
)
from aotensor.graph.site import differentiating
from aotensor.graph.variable import Constant, Variable, Variables
from aotensor.graph.walk import toposort
from aotensor.ops.create import is_zeros
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.linear import zero_gradient
from aotensor.ops.scan.branch import IfElse
from aotensor.ops.stable.forms import stable_order
from aotensor.sparse.convert import dense_origin, everywhere_as


class Sweep:
    """One backward pass, linear in the graph and without recursion, so that deep chains cannot overflow the stack.

    seeds: (variable, cotangent) pairs, added to other contributions to the variable.
    known: final cotangents, which replace what would be computed.
    stop: variables at which propagation ends.
    cost: for the names of gradients, or None.
    """

    def __init__(
        self,
        seeds: Sequence[tuple[Variable, Variable]],
        known: Mapping[Variable, Variable],
        wrt: Collection[Variable],
        stop: Collection[Variable],
        cost: Variable | None = None,
    ) -> None:
        self._sources = sources = [x for x, _ in seeds] + list(known)
        self._known = known
        self._stop = set(stop)
        self._order = stable_order(sources, self._stop, {*wrt, *known, *self._stop})
        self._patterns: dict[Apply, Pattern] = {node: connection_pattern(node) for node in self._order}
        reached = self._find_influencing(x for x in sources if not (x in known and is_disconnected(known[x])))
        self._connected = reached & self._useful(wrt)
        self._guarded: dict[Variable, Guarded] = {}
        self._totals: dict[Variable, Variable] = {}
        self._terms: dict[Variable, list[Guarded]] = {}
        for x, cotangent in seeds:
            self._terms.setdefault(x, []).append(Guarded((), cotangent))
        self._cost_name = cost.name if cost is not None else None
        self._unnamed = {cost} - set(wrt)
        self._own = self._existing() if self._cost_name else set()

    def is_connected(self, x: Variable) -> bool:
        """Do elements of x influence a seeded variable? Known before `run`."""
        return x in self._connected

    def obstacle(self, x: Variable) -> Variable | None:
        """The first variable on a path from a disconnected x to the seeds at which its influence ends, or None."""
        influenced = {x}
        for node in toposort(self._sources):
            rows = [row for y, row in zip(node.inputs, connection_pattern(node), strict=True) if y in influenced]
            if not rows:
                continue
            passed = {y for position, y in enumerate(node.outputs) if any(row[position] for row in rows)} - self._stop
            if not passed:
                return node.outputs[0]
            influenced |= passed
        return None

    def run(self) -> None:
        """Call the pullbacks of all nodes between the seeds and wrt, in reverse topological order."""
        for node in reversed(self._order):
            with differentiating(node):
                self._propagate_node(node)

    def total(self, x: Variable) -> Variable:
        """The cotangent of x: a real one, null, or disconnected. Final once all consumers of x have been passed."""
        if x not in self._connected:
            return disconnected()
        if x not in self._totals:
            found = self._total(x).with_first_guards(0, x).term
            self._name(found, x)
            self._totals[x] = found
        return self._totals[x]

    def _total(self, x: Variable) -> Guarded:
        """The cotangent of x, summed over all paths, under the guards that the paths share."""
        if x not in self._connected:
            return Guarded((), disconnected())
        if x not in self._guarded:
            found = Guarded((), self._known[x]) if x in self._known else total(self._terms.pop(x, []), x)
            term = found.term
            if is_float(x) and has_value(term) and term.dtype != x.dtype:
                found = Guarded(found.guards, cast(term, x.dtype))
            if not found.guards:
                self._name(found.term, x)
            self._guarded[x] = found
        return self._guarded[x]

    def _find_influencing(self, sources: Iterable[Variable]) -> set[Variable]:
        """The variables that influence a seeded variable, by a walk backwards from the seeds."""
        severed = {x for x, cotangent in self._known.items() if is_disconnected(cotangent)}
        reached = set(sources)
        for node in reversed(self._order):
            live = [x in reached and x not in self._stop for x in node.outputs]
            for x, row in zip(node.inputs, self._patterns[node], strict=True):
                if x not in severed and _meets(row, live):
                    reached.add(x)
        return reached

    def _useful(self, wrt: Iterable[Variable]) -> set[Variable]:
        """The variables in wrt, and all variables that depend on one of them."""
        useful = set(wrt)
        for node in self._order:
            rows = [row for x, row in zip(node.inputs, self._patterns[node], strict=True) if x in useful]
            for position, output in enumerate(node.outputs):
                if output not in self._stop and any(row[position] for row in rows):
                    useful.add(output)
        return useful

    def _propagate_node(self, node: Apply) -> None:
        """Add the cotangent contributions of one node to its inputs."""
        given = [Guarded((), disconnected()) if x in self._stop else self._total(x) for x in node.outputs]
        live = [not is_disconnected(one.term) for one in given]
        pattern = self._patterns[node]
        if not any(live) or not pattern:
            return
        null = next((one.term for one in given if is_null(one.term)), None)
        is_poisoned = [is_null(one.term) for one in given]
        used = map(any, zip(*pattern, strict=True))
        live = [on and use and not poison for on, use, poison in zip(live, used, is_poisoned, strict=True)]
        given = [one if on else Guarded((), disconnected()) for one, on in zip(given, live, strict=True)]
        terms = self._guarded_terms(node, pattern, given, live) if any(live) else []
        for position, (x, row) in enumerate(zip(node.inputs, pattern, strict=True)):
            if x not in self._connected:
                continue
            if null is not None and _meets(row, is_poisoned):
                self._terms.setdefault(x, []).append(Guarded((), null))
            elif _meets(row, live):
                self._terms.setdefault(x, []).append(terms[position])

    def _guarded_terms(
        self, node: Apply, pattern: Pattern, given: Sequence[Guarded], live: Sequence[bool]
    ) -> list[Guarded]:
        """The cotangents of a node's inputs, with the guards that the op adds or passes on."""
        sent = [(x, one.term) for x, one, on in zip(node.outputs, given, live, strict=True) if on]
        if node.op.is_faithful() and all(is_zeros(term) or has_zero_cotangent(node, x) for x, term in sent):
            return [Guarded((), zero_gradient(x) if _meets(row, live) else disconnected())
                    for x, row in zip(node.inputs, pattern, strict=True)]  # fmt: skip
        if isinstance(node.op, IfElse):
            return pull_choice(node, [one.by_whole(y) for one, y in zip(given, node.outputs, strict=True)])
        if isinstance(node.op, Elementwise) and (node.op.row.routes or not _are_whole(given[0].guards)):
            return pull_elements(node, given[0])
        count = len(shared_guards([one for one, on in zip(given, live, strict=True) if on]))
        cut = [one.with_first_guards(count, y) for one, y in zip(given, node.outputs, strict=True)]
        guards = next(one.guards for one, on in zip(cut, live, strict=True) if on)
        passed = [translate_guards(guards, node, k) if any(row) else () for k, row in enumerate(pattern)]
        if any(found is None for found in passed):
            cut = [one.by_whole(y) for one, y in zip(cut, node.outputs, strict=True)]
            whole = next(one.guards for one, on in zip(cut, live, strict=True) if on)
            passed = [whole if found is None else found for found in passed]
        terms = self._pullback(node, pattern, [one.term for one in cut], live)
        return [Guarded(found or (), term) for found, term in zip(passed, terms, strict=True)]

    def _pullback(
        self, node: Apply, pattern: Pattern, given: Sequence[Variable], live: Sequence[bool]
    ) -> list[Variable]:
        cotangents = [dense_origin(x) if on else disconnected() for x, on in zip(given, live, strict=True)]
        wanted = [x in self._connected for x in node.inputs]
        terms = checked_terms(node, REVERSE_RULES, _reverse_terms(node, cotangents, wanted), node.inputs)
        check_connection(node, pattern, live, wanted, terms)
        if not any(on and dense_origin(x) is not x for x, on in zip(given, live, strict=True)):
            return terms
        return [everywhere_as(x, term) for x, term in zip(node.inputs, terms, strict=True)]

    def _existing(self) -> set[Variable]:
        """Variables that the user made before the sweep, which keep their names."""
        existing = {*self._known.values()}
        for node in self._order:
            existing.update(node.inputs)
            existing.update(node.outputs)
        return existing

    def _name(self, total: Variable, x: Variable) -> None:
        """Name a new gradient (dcost/dx), if cost and x have names; the cost's seed 1 is not named here."""
        is_ours = total.owner is not None or isinstance(total, Constant)
        is_new = total.name is None and is_ours and total not in self._own
        if self._cost_name and x.name and is_new and x not in self._unnamed:
            total.name = f"(d{self._cost_name}/d{x.name})"


def _reverse_terms(node: Apply, cotangents: Sequence[Variable], wanted: Sequence[bool]) -> Any:
    """The terms returned by an op's reverse rule; without a rule, by a sweep through its expansion."""
    if chosen_rule(type(node.op), REVERSE_RULES) is None:
        graph = Expansion.for_op(node.op, node.inputs)
        if graph is not None:
            return pull_through(graph, node.inputs, node.outputs, cotangents)
    return call_pullback(node.op, node.inputs, node.outputs, cotangents, wanted)


def pull_through(graph: Expansion, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
    """Cotangents of the inputs of a node by a backward sweep through its expansion."""
    live = [(graph.outputs[k], Variable(ct.type), ct) for k, ct in connected(cotangents).items()]
    sweep = Sweep([(x, slot) for x, slot, _ in live], {}, graph.slots, ())
    sweep.run()
    return graph.outside([sweep.total(x) for x in graph.slots], inputs, outputs, ((slot, ct) for _, slot, ct in live))


def _are_whole(guards: Guards) -> bool:
    return all(guard.is_whole for guard in guards)


def _meets(row: Sequence[bool], live: Sequence[bool]) -> bool:
    return any(on and is_live for on, is_live in zip(row, live, strict=True))
