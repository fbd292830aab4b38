"""The expansion of an op into other ops, to be differentiated and batched."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from aotensor.core.dtypes import is_complex
from aotensor.core.types import Array
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply, Op, has_value
from aotensor.graph.site import replacement_site, variables_at
from aotensor.graph.variable import Constant, SharedVariable, Variable
from aotensor.graph.walk import evaluate_all, input_of, leaves, replace, toposort


@dataclass(frozen=True, eq=False)
class Expansion:
    """The outputs of an op as a graph of other ops on `slots`, new symbols for the inputs."""

    slots: Sequence[Variable]
    outputs: Sequence[Variable]

    @classmethod
    def for_op(cls, op: Op, inputs: Sequence[Variable]) -> Expansion | None:
        """The expansion on inputs of these types, None if the op has none."""
        slots = [Variable(x.type, name=x.name) for x in inputs]
        outputs = op.expand(slots)
        return None if outputs is None else cls(slots, list(outputs))

    def on(self, inputs: Sequence[Variable]) -> list[Variable]:
        """The expanded outputs, with the actual inputs substituted for the slots."""
        return replace(self.outputs, dict(zip(self.slots, inputs, strict=True)))

    def outside(
        self,
        terms: Sequence[Variable],
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        others: Iterable[tuple[Variable, Variable]],
    ) -> list[Variable]:
        """Derivative terms of the expansion in terms of the node: replace slots by inputs, and expanded outputs by
        outputs.

        The node's outputs are reused, not recomputed. Null and disconnected terms stay.
        """
        computed = {x: y for x, y in zip(self.outputs, outputs, strict=True) if x.owner is not None}
        mapping = {**computed, **dict(zip(self.slots, inputs, strict=True)), **dict(others)}
        found = iter(replace([x for x in terms if has_value(x)], mapping))
        return [next(found) if has_value(x) else x for x in terms]


def without_sparse(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """The graph with all ops on sparse matrices expanded into ops on their vectors."""
    return _expanded_while(outputs, stop, has_sparse)


def without_values(outputs: Sequence[Variable], given: Collection[Variable]) -> list[Variable]:
    """The graph, in which outputs that depend on leaves not given are expanded into ops on vectors if that removes
    them.

    A sparse matrix may have constant indices and variable values: as a vector of its own, an index does not depend on
    values.
    """
    if _is_given(outputs, given):
        return list(outputs)
    short = [k for k, x in enumerate(outputs) if not _is_given([x], given)]
    found = list(outputs)
    for k, new in zip(short, _expand_patterns(without_sparse([outputs[k] for k in short], given), given), strict=True):
        if _is_given([new], given):
            found[k] = new
    return found


def _expand_patterns(outputs: Sequence[Variable], given: Collection[Variable]) -> list[Variable]:
    """The graph, in which sparsity patterns are computed by ops that do not read the values of the same matrix."""
    mapping: dict[Variable, Variable] = {}
    for node in toposort(outputs, stop=given):
        inputs = [mapping.get(x, x) for x in node.inputs]
        is_new = any(new is not old for new, old in zip(inputs, node.inputs, strict=True))
        made = node.op.apply(*inputs) if is_new else node
        found = made.op.without_values(made) or (made.outputs if is_new else None)
        if found is not None:
            mapping.update((old, new) for old, new in zip(node.outputs, found, strict=True) if old not in given)
    return [mapping.get(x, x) for x in outputs]


def _is_given(outputs: Sequence[Variable], given: Collection[Variable]) -> bool:
    return all(x in given or isinstance(x, Constant | SharedVariable) for x in leaves(outputs, stop=given))


@coerced
def evaluate(x: Variable, values: Mapping[Variable | str, object] | Mapping[Variable, object]) -> Array:
    """The value of one variable by the reference; inputs may be given by name.

    Raises: GraphValueError for a name that no input has, or several; the errors of `evaluate_all`.
    """
    known = {input_of(x, key): value for key, value in values.items()}
    return evaluate_all(without_values([x], known), known)[0]


def without_complex(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """The graph with all ops on complex values expanded into ops on real and imaginary parts."""
    return _expanded_while(outputs, stop, has_complex)


def _expanded_while(
    outputs: Sequence[Variable], stop: Collection[Variable], is_wanted: Callable[[Apply], bool]
) -> list[Variable]:
    found, is_changed = list(outputs), True
    while is_changed:
        found, is_changed = expanded_once(found, stop, is_wanted)
    return found


def has_complex(node: Apply) -> bool:
    """Does the node read or compute a complex value?"""
    return any(is_complex(x.dtype) for x in (*node.inputs, *node.outputs))


def has_sparse(node: Apply) -> bool:
    """Does the node read or compute a sparse matrix?"""
    return any(x.is_sparse for x in (*node.inputs, *node.outputs))


def expanded_once(
    outputs: Sequence[Variable], stop: Collection[Variable], is_wanted: Callable[[Apply], bool] = lambda node: True
) -> tuple[list[Variable], bool]:
    """Expand the outermost composites that `is_wanted` selects: (outputs, whether there were any)."""
    mapping: dict[Variable, Variable] = {}
    is_changed = False
    for node in toposort(outputs, stop=stop):
        inputs = [mapping.get(x, x) for x in node.inputs]
        with variables_at(replacement_site(node)):
            found = node.op.expand(inputs) if is_wanted(node) else None
            is_changed |= found is not None
            if found is None and any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
                found = node.op.apply(*inputs).outputs
        if found is not None:
            _check_expansion(node, found)
            for old, new in zip(node.outputs, found, strict=True):
                if old not in stop:
                    mapping[old] = new
    return [mapping.get(x, x) for x in outputs], is_changed


def _check_expansion(node: Apply, found: Sequence[Variable]) -> None:
    expected = [(x.dtype, x.ndim) for x in node.outputs]
    if [(x.dtype, x.ndim) for x in found] != expected:
        raise GraphValueError(
            f"{node.op.name}: expand returned {', '.join(str(x.type) for x in found) or 'nothing'} instead of "
            f"{', '.join(str(x.type) for x in node.outputs)}",
            lines=[repr(node)],
        )
