"""Checkpointing: values of forward steps in the backward steps are stored if they are expensive, else recomputed.

Values used by one side of a choice only are recomputed on that side: storing would compute them for the other one, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType
from aotensor.graph.op import Apply
from aotensor.graph.sparse_type import SparseVariable
from aotensor.graph.variable import Constant, Variable, constant
from aotensor.graph.walk import replace, toposort
from aotensor.ops.create import FullLike, alloc
from aotensor.ops.scan.cost import is_cheap
from aotensor.ops.scan.extents import Axis, Sources, rebuilt
from aotensor.ops.scan.sides import sides_of
from aotensor.ops.shape.extents import ShapeI, SymbolicExtent

_MANY = 16  # most roots; a value that depends on more is stored itself
Roots = dict[Variable, frozenset[Variable] | None]


@frozen_dataclass
class ForwardValues:
    """Forward values that are available in the backward steps.

    constants, rows: inputs of the body, the same for all steps or one for each.
    stored: values that the loop already stacks.
    is_frugal: recompute all values that follow from the inputs, at any cost.
    """

    inputs: Sequence[Variable]
    constants: Collection[Variable]
    rows: Collection[Variable]
    stored: Collection[Variable]
    is_frugal: bool = False


@dataclass
class RecoveredTerms:
    """Terms of the backward body as functions of symbols for outer values.

    saved: forward value → its symbol, a row per step; those in `Forward.stored` among them.
    extents: (input of the body, axis) → the symbol of its extent, an int64 scalar.
    """

    terms: list[Variable] = field(default_factory=list)
    saved: dict[Variable, Variable] = field(default_factory=dict)
    extents: dict[tuple[Variable, int], Variable] = field(default_factory=dict)


def recover(
    forward: ForwardValues, terms: Sequence[Variable], replacements: Mapping[Variable, Variable]
) -> RecoveredTerms:
    """`terms` of a body's pullback, rewritten to use only forward values that are available in the backward body.

    replacements: cotangent of an output of the body → its replacement.
    """
    result = RecoveredTerms()
    origins: dict[Variable, Variable] = {}
    lifted = _lift_extents(forward, terms, replacements, result.extents, origins)
    symbols = list(result.extents.values())
    nodes = toposort(lifted, stop=[*forward.inputs, *replacements, *symbols])
    dependent = _dependents(nodes, replacements)
    demanded = _demanded(nodes, lifted, dependent)
    sides = sides_of(nodes, lifted)
    sided = {x for node in nodes if sides[node] for x in node.outputs}
    chosen = _choose(forward, [node for node in nodes if node.outputs[0] not in dependent], demanded, symbols, sided)
    rows = {x: Variable(x.tensor_type, name=x.name) for x in chosen}
    result.saved = {origins.get(x, x): row for x, row in rows.items()}
    result.terms = replace(lifted, {**replacements, **rows})
    return result


def _dependents(nodes: Iterable[Apply], sources: Iterable[Variable]) -> set[Variable]:
    """The variables that depend on one of `sources`."""
    found = set(sources)
    for node in nodes:
        if any(x in found for x in node.inputs):
            found.update(node.outputs)
    return found


def _lift_extents(
    forward: ForwardValues,
    terms: Sequence[Variable],
    cotangents: Collection[Variable],
    extents: dict[tuple[Variable, int], Variable],
    origins: dict[Variable, Variable],
) -> list[Variable]:
    """The terms with extents of forward values read from the inputs of the body, so that the values are not needed.

    extents: symbols are added to it; origins: rewritten forward values → their values in the forward body.
    """
    nodes = toposort(terms, stop=[*forward.inputs, *cotangents])
    dependent = _dependents(nodes, cotangents)
    known: dict[Variable, Variable] = {}
    sources, inputs = Sources(forward.inputs), set(forward.inputs)

    def extent(x: Variable, axis: int) -> SymbolicExtent:
        found = sources.extent_of(x, axis)
        if isinstance(found, Variable):
            return known.get(found, found)
        if isinstance(found, int):
            return found
        if found[0] in inputs:
            return extents.setdefault(found, Variable(TensorType("int64")))
        return ShapeI(found[1])(found[0])  # type: ignore[no-any-return]

    for node in nodes:
        if isinstance(node.op, ShapeI) and node.inputs[0] not in dependent:
            size = extent(node.inputs[0], node.op.axis)
            known[node.outputs[0]] = size if isinstance(size, Variable) else constant(size, dtype="int64")
        elif isinstance(node.op, FullLike) and node.inputs[1] not in dependent:
            value, like = node.inputs
            known[node.outputs[0]] = alloc(known.get(value, value), [extent(like, a) for a in range(like.ndim)])
        elif not any(x in forward.stored for x in node.outputs):
            changed = rebuilt(node, known)
            known.update(changed)
            origins.update((new, old) for old, new in changed.items() if old not in dependent)
    return [known.get(x, x) for x in terms]


def _demanded(nodes: Sequence[Apply], terms: Sequence[Variable], dependent: Collection[Variable]) -> list[Variable]:
    """Forward values that the backward steps read, in order."""
    reading = [node for node in nodes if node.outputs[0] in dependent]
    used = [*(x for node in reading for x in node.inputs), *terms]
    return [x for x in dict.fromkeys(used) if x not in dependent and not isinstance(x, Constant)]


def _choose(
    forward: ForwardValues,
    nodes: Sequence[Apply],
    demanded: Sequence[Variable],
    symbols: Collection[Variable],
    sided: Collection[Variable],
) -> list[Variable]:
    """The values to store: expensive demanded ones, and the roots of the others.

    sided: values that are recomputed at any cost.
    """
    steady = _Steadiness(forward, nodes, symbols)
    roots = _roots(forward, nodes, symbols, steady, sided)
    order = [*forward.inputs, *(x for node in nodes for x in node.outputs)]
    chosen = {x: None for x in demanded if roots[x] == frozenset([x])}
    for x in demanded:
        needed = roots[x]
        missing = [x] if needed is None else [root for root in needed if root not in chosen]
        if needed is not None and (forward.is_frugal or x in sided or not steady(x)):
            chosen.update((root, None) for root in order if root in missing)
        elif len(missing) == 1 and _is_no_larger(missing[0], x):
            chosen[missing[0]] = None
        elif missing:
            chosen[x] = None
    there = {*forward.constants, *forward.rows, *symbols}
    made = toposort(demanded, stop=[*chosen, *there])
    used = [*(x for node in made for x in node.inputs), *demanded]
    chosen.update({x: None for x in used if x in forward.stored and x not in there})
    return list(chosen)


class _Steadiness:
    """Finds dense values that provably have the same extents in all steps; only these can be stacked."""

    def __init__(self, forward: ForwardValues, nodes: Sequence[Apply], symbols: Collection[Variable]) -> None:
        self._inputs = set(forward.inputs)
        self._sources = Sources(forward.inputs)
        self._fixed = {*forward.constants, *symbols}
        for node in nodes:
            if all(x in self._fixed or isinstance(x, Constant) for x in node.inputs):
                self._fixed.update(node.outputs)

    def is_fixed(self, x: Variable) -> bool:
        """Does the value provably have the same extents in all steps?"""
        return x in self._fixed

    def __call__(self, x: Variable) -> bool:
        return not isinstance(x, SparseVariable) and all(
            self._is_steady(self._sources.extent_of(x, axis)) for axis in range(x.ndim)
        )

    def _is_steady(self, source: SymbolicExtent | Axis) -> bool:
        while isinstance(source, Variable) and source not in self._fixed:
            if isinstance(source, Constant):
                return True
            if source.owner is None or not isinstance(source.owner.op, ShapeI):
                return False
            source = self._sources.extent_of(source.owner.inputs[0], source.owner.op.axis)
        return not isinstance(source, tuple) or source[0] in self._inputs or source[0] in self._fixed


def _roots(
    forward: ForwardValues,
    nodes: Sequence[Apply],
    symbols: Collection[Variable],
    steady: _Steadiness,
    sided: Collection[Variable],
) -> Roots:
    """For each value, the values to store so that cheap ops can recompute it; None for too many.

    Sparse matrices and values whose extents differ between steps cannot be stored, so they are recomputed at any cost;
    so are sided values.
    """
    roots: Roots = {x: frozenset() for x in (*forward.constants, *symbols, *forward.rows, *forward.stored)}
    for x in forward.inputs:
        roots.setdefault(x, frozenset([x]))
    for node in nodes:
        for x in node.outputs:
            if steady.is_fixed(x):
                roots[x] = frozenset()
            elif x not in roots:
                at_any_cost = forward.is_frugal or x in sided or not steady(x)
                limit = inf if x in sided else _MANY
                is_made_again = at_any_cost or is_cheap(node.op)
                roots[x] = _union(roots, node.inputs, limit) if is_made_again else frozenset([x])
    return roots


def _union(roots: Roots, inputs: Iterable[Variable], limit: float) -> frozenset[Variable] | None:
    total: frozenset[Variable] = frozenset()
    for x in inputs:
        found = frozenset[Variable]() if isinstance(x, Constant) else roots[x]
        if found is None and limit == inf:
            found = frozenset([x])
        if found is None or len(total | found) > limit:
            return None
        total |= found
    return total


def _is_no_larger(x: Variable, y: Variable) -> bool:
    return x.ndim <= y.ndim and np.dtype(x.dtype).itemsize <= np.dtype(y.dtype).itemsize
