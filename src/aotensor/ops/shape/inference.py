"""Extents of all values of a graph at given extents of its leaves, without evaluating the values.

The rules of types tell the extents of most results: `infer_type` on dims that are numbers. Where extents follow from
values, as those of `arange(n)`, `Op.types_at` reads known values: constants, extents, values that are computed
from both, and leaves with given values. Nothing is ever evaluated on made-up values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

import numpy as np

from aotensor.core.dtypes import is_float
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphError
from aotensor.graph.expansion import Expansion, has_sparse, without_sparse
from aotensor.graph.op import Apply
from aotensor.graph.operations import KnownValues
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import compute_all, evaluated, leaves, located_error, toposort
from aotensor.ops.shape.extents import Shape, ShapeI

Extents: TypeAlias = tuple[int | None, ...]
"""The extents of one value; None if they depend on unknown values."""


@frozen_dataclass
class LeafFacts:
    """What is known of a leaf. value: a function that computes its value, or None. of_extents: it depends on extents
    only
    """

    extents: Extents
    value: Callable[[], Array | None] | None = None
    of_extents: bool = False

    @classmethod
    def known(cls, x: Array) -> LeafFacts:
        """The facts about a leaf with a known value."""
        return cls(x.shape, lambda: x)

    @classmethod
    def from_known(cls, x: Variable, type: TensorType, known: KnownValues) -> LeafFacts:
        """The facts about an input of a node, from `known` as passed to `Op.types_at`."""
        value = partial(known.value, x) if known.knows(x) else None
        return cls(type.static_shape, value, known.follows_from_extents(x))


_OF_EXTENTS: Final = (Shape, ShapeI)


class Inference:
    """Shape inference for the values of one graph, and constant folding.   given: facts about leaves, without
    constants
    """

    def __init__(self, given: Mapping[Variable, LeafFacts]) -> None:
        self._given = given
        self._shapes: dict[Variable, Extents] = {x: y.extents for x, y in given.items()}
        self._values: dict[Variable, Array] = {}
        self._known = {x for x, y in given.items() if y.value is not None}
        self._of_extents = {x for x, y in given.items() if y.of_extents}
        self._errors: dict[Variable, GraphError] = {}
        self._soft: set[Variable] = set()
        self._reads_values = False

    def run(self, outputs: Sequence[Variable]) -> list[Extents]:
        """The extents of the outputs.   Raises: GraphError for extents that do not match, as in evaluation."""
        given = set(self._shapes)
        nodes = toposort(outputs, stop=given)
        if any(map(has_sparse, nodes)):
            outputs = without_sparse(outputs, given)
            nodes = toposort(outputs, stop=given)
        for x in leaves(outputs, stop=given):
            if isinstance(x, Constant) and x not in given:
                self._shapes[x], self._values[x] = np.shape(x.data), x.data
                self._known.add(x)
                self._of_extents.add(x)
        for node in nodes:
            self._visit(node)
        self._check(outputs, given)
        return [self._shapes[x] for x in outputs]

    def extents_of(self, x: Variable) -> Extents:
        """The extents of a value of the graph."""
        return self._shapes[x]

    def knows(self, x: Variable) -> bool:
        """Is the value of x known?"""
        return x in self._known

    def value(self, x: Variable) -> Array | None:
        """The value of x, None if it depends on unknown values."""
        if x not in self._known:
            return None
        self._reads_values |= x not in self._of_extents
        if x not in self._values:
            for leaf in leaves([x], stop=self._values):
                compute = self._given[leaf].value if leaf in self._given else None
                if compute is not None and (value := compute()) is not None:
                    self._values[leaf] = value.real if value.dtype.kind == "c" and is_float(leaf.dtype) else value
            compute_all([x], self._values, evaluated)
        return self._values[x]

    def follows_from_extents(self, x: Variable) -> bool:
        """Is x computed from extents and constants alone?"""
        return x in self._of_extents

    def _visit(self, node: Apply) -> None:
        if isinstance(node.op, _OF_EXTENTS):
            self._read_extents(node)
        else:
            if all(x in self._known for x in self._demanded(node)):
                self._known.update(node.outputs)
            if all(x in self._of_extents for x in node.inputs):
                self._of_extents.update(node.outputs)
        for x, found in zip(node.outputs, self._extents(node), strict=True):
            self._shapes.setdefault(x, found)

    def _read_extents(self, node: Apply) -> None:
        """The result of an op that returns extents of its input, if they are known."""
        (x,), (y,), op = node.inputs, node.outputs, node.op
        axes = (op.axis,) if isinstance(op, ShapeI) else op.selected(x.ndim) if isinstance(op, Shape) else ()
        found = [self._shapes[x][axis] for axis in axes]
        if None not in found:
            self._values[y] = np.array(found[0] if isinstance(op, ShapeI) else found, np.int64)
            self._known.add(y)
            self._of_extents.add(y)

    def _extents(self, node: Apply) -> list[Extents]:
        """The extents of the outputs: by the typing rule, by the expansion, by the known values.

        Extents that follow from values are checked where a step computes with them, and here if from extents alone.
        """
        self._reads_values = False
        try:
            found = self._by_type(node)
            if any(None in shape for shape in found) and not has_sparse(node):
                found = _merge_shapes(found, self._by_expansion(node))
            if any(None in shape for shape in found):
                values = [self.value(x) for x in node.outputs]
                found = [shape if x is None else x.shape for x, shape in zip(values, found, strict=True)]
        except GraphError as error:
            if not self._is_soft(node):
                self._errors.update(dict.fromkeys(node.outputs, self._locate_error(error, node)))
            found = [x.static_shape for x in node.outputs]
        if self._is_soft(node):
            self._soft.update(node.outputs)
        return found

    def _is_soft(self, node: Apply) -> bool:
        """Do the extents of a node depend on values other than extents?"""
        return self._reads_values or not self._soft.isdisjoint(node.inputs)

    def _by_type(self, node: Apply) -> list[Extents]:
        if has_sparse(node):  # the vectors of a matrix leaf
            return [x.static_shape for x in node.outputs]
        types = [TensorType(x.dtype, self._shapes[x]) for x in node.inputs]
        found = node.op.types_at(node, types, self)
        return [x.static_shape for x in (found if isinstance(found, tuple | list) else (found,))]

    def _by_expansion(self, node: Apply) -> list[Extents]:
        expansion = Expansion.for_op(node.op, node.inputs)
        if expansion is None:
            return [x.static_shape for x in node.outputs]
        types = [TensorType(x.dtype, self._shapes[x]) for x in node.inputs]
        given = [LeafFacts.from_known(x, type, self) for x, type in zip(node.inputs, types, strict=True)]
        return Inference(dict(zip(expansion.slots, given, strict=True))).run(expansion.outputs)

    def _locate_error(self, error: GraphError, node: Apply) -> GraphError:
        if error.is_located:
            return error
        found = located_error(type(error), error.diagnostic, node, [self._shapes[x] for x in node.inputs])
        assert isinstance(found, GraphError)
        return found

    def _check(self, outputs: Sequence[Variable], given: set[Variable]) -> None:
        """Raise the errors of unevaluated nodes, except on a side of a branch that may not be chosen."""
        pending, seen = list(outputs), set[Variable]()
        while pending:
            x = pending.pop()
            if x in seen or x in given:
                continue
            seen.add(x)
            if x in self._errors:
                raise self._errors[x]
            if x.owner is not None:
                pending += self._demanded(x.owner)

    def _demanded(self, node: Apply) -> list[Variable]:
        """Inputs of a node that evaluation certainly reads: for a branch, the condition and the side known to be
        chosen.
        """
        first = node.op.demanded(node, {})
        chooses = len(first) < len(node.inputs)
        known = {x: value for x in first if chooses and (value := self.value(x)) is not None}
        return [*first, *(node.op.demanded(node, known) if known else ())]


def _merge_shapes(one: Sequence[Extents], other: Sequence[Extents]) -> list[Extents]:
    """For each pair of shapes, the extents that either of them knows."""
    pairs = zip(one, other, strict=True)
    return [tuple(n if m is None else m for m, n in zip(*pair, strict=True)) for pair in pairs]
