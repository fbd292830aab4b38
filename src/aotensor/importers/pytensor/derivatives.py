"""Ops whose derivatives do not follow from their values: PyTensor's own rules, imported when a derivative is asked for.

Such a node becomes an OpFromGraph of ours. Its rules ask the op of PyTensor for a graph of cotangents or tangents and
import that by the same table, so that the derivatives are PyTensor's to any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from pytensor.gradient import DisconnectedType
from pytensor.graph.op import io_connection_pattern

import aotensor.tensor as at
from aotensor.extension import (
    NullType,
    OpFromGraph,
    Pattern,
    disconnected,
    filled,
    is_disconnected,
    push_by_pullback,
    variables_at,
)
from aotensor.importers.pytensor.places import site_of, toposort, unsupported
from aotensor.importers.pytensor.values import is_constant

_VALUES_ONLY: Final = ("OpFromGraph", "TypeCastingOp")
"""Classes with a rule that holds for the values of their children, which may have derivatives of their own."""
_REVERSE: Final = ("lop_overrides", "grad_overrides", "pullback_overrides")
_FORWARD: Final = ("rop_overrides", "pushforward_overrides")
"""Attributes of PyTensor's OpFromGraph that hold rules of the user's, under the names of all its versions."""
_REVERSE_METHODS: Final = ("grad", "L_op", "pullback", "connection_pattern")
_FORWARD_METHODS: Final = ("R_op", "pushforward")

Graph = Callable[[Mapping[Any, Any], Sequence[Any]], list[Any]]
"""(PyTensor's variable → ours, PyTensor's outputs) → ours"""


def has_own_derivatives(node: Any, ruled: type) -> bool:
    """Do the derivatives of a node differ from those of its translation? ruled: the class whose rule applies"""
    op = node.op
    match type(getattr(op, "scalar_op", op)).__name__:
        case "Clip":
            return not has_ordered_bounds(node)
        case "Kve" | "Ive":  # at 0 other formulas give other slopes
            return True
    return ruled.__name__ in _VALUES_ONLY and _has_any(op, ruled)


def has_ordered_bounds(node: Any) -> bool:
    """Are the bounds of a clip constant, with the lower one below the upper one? If not, derivatives with respect to
    both may be 1.
    """
    low, high = (_unmoved(x) for x in node.inputs[1:])
    return is_constant(low) and is_constant(high) and bool(np.all(np.less_equal(low.data, high.data)))


def _unmoved(x: Any) -> Any:
    """The constant under added axes and casts."""
    while x.owner is not None and (
        type(getattr(x.owner.op, "scalar_op", x.owner.op)).__name__ in ("DimShuffle", "Cast")
    ):
        x = x.owner.inputs[0]
    return x


def changes_derivatives(op: Any) -> bool:
    """Does an op exist to change derivatives, or does its inner graph contain such an op?"""
    if any(kind.__name__ in _VALUES_ONLY for kind in type(op).__mro__) and _has_any(op, None):
        return True
    outputs = getattr(op, "inner_outputs", None)
    return outputs is not None and any(changes_derivatives(node.op) for node in toposort(outputs, ()))


def _has_any(op: Any, ruled: type | None) -> bool:
    """Does the op have the user's derivative rules, in either direction, or connection pattern? ruled: as in `_has`"""
    forward = _has(op, ruled, _FORWARD_METHODS, _FORWARD)
    return forward or _has_pattern(op) or _has(op, ruled, _REVERSE_METHODS, _REVERSE)


def _has_pattern(op: Any) -> bool:
    """Does an inner graph have the user's connection pattern? PyTensor stores its derived one in the same attribute."""
    given = getattr(op, "_connection_pattern", None)
    return given is not None and given != io_connection_pattern(op.inner_inputs, op.inner_outputs)


def _has(op: Any, ruled: type | None, methods: Sequence[str], attributes: Sequence[str]) -> bool:
    """Does the op have one of these attributes, or one of its classes below `ruled` one of these methods?"""
    if any(getattr(op, name, None) is not None for name in attributes):
        return True
    for kind in type(op).__mro__:
        if kind is ruled or kind.__name__ in (*_VALUES_ONLY, "ViewOp"):
            return False
        if any(name in vars(kind) for name in methods):
            return True
    return False


def with_own_derivatives(node: Any, apply: Callable[..., list[Any]], graph: Graph, values: Sequence[Any]) -> list[Any]:
    """The outputs of `apply(*values)` as one op that has the derivatives of `node`, a node of PyTensor's.

    graph: imports further graphs. Constants, and values other than variables become part of the op.
    """
    own = _Own(node, apply, graph, values)
    op = OpFromGraph(
        own.slots,
        own.outputs,
        name=type(node.op).__name__,
        pullback=own.pullback,
        pushforward=own.pushforward,
        connection_pattern=own.pattern,
    )
    return list(op.apply(*(values[k] for k in own.places)).outputs)


class _Own:
    """A node of PyTensor with its derivative rules, as functions of aotensor variables."""

    def __init__(self, node: Any, apply: Callable[..., list[Any]], graph: Graph, values: Sequence[Any]) -> None:
        self._node, self._graph, self._values = node, graph, list(values)
        self.places = [k for k, x in enumerate(values) if isinstance(x, at.Variable) and not isinstance(x, at.Constant)]
        self.slots = [at.Variable(values[k].type, name=values[k].name) for k in self.places]
        self.outputs = apply(*self._with(self.slots))
        whole = _pattern_of(node)
        self.pattern = [whole[k] for k in self.places]

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """PyTensor's cotangents of the inputs.   Raises: NoCounterpart if its op has none, or what has no rule here"""
        known, given, made = self._known(inputs, outputs)
        directions = [_direction(x, ct, known) for x, ct in zip(made, cotangents, strict=True)]
        op = self._node.op
        rule = op.pullback if hasattr(type(op), "pullback") else op.L_op
        return self._imported(known, "gradient", lambda: rule(given, made, directions), self.places)

    def pushforward(self, inputs: list[Any], outputs: list[Any], tangents: list[Any]) -> list[Any]:
        """PyTensor's tangents of the outputs, where the op says them; else by two pullbacks, as PyTensor has it."""
        op = self._node.op
        if not _has(op, None, _FORWARD_METHODS, _FORWARD):
            return push_by_pullback(
                lambda cotangents: self.pullback(inputs, outputs, list(cotangents)), outputs, self.pattern, tangents
            )
        known, given, made = self._known(inputs, outputs)
        moving = dict(zip(self.places, filled(tangents, inputs), strict=True))
        zeros = [x.zeros_like() for x in given]
        directions = [_direction(x, moving[k], known) if k in moving else zeros[k] for k, x in enumerate(given)]
        if hasattr(type(op), "pushforward"):
            return self._imported(known, "tangent", lambda: op.pushforward(given, made, directions), range(len(made)))
        return self._imported(known, "tangent", lambda: op.R_op(given, directions), range(len(made)))

    def _with(self, inputs: Sequence[Any]) -> list[Any]:
        """The aotensor values of all inputs of the node, with the given ones in place of those that have a slot."""
        found = list(self._values)
        for k, x in zip(self.places, inputs, strict=True):
            found[k] = x
        return found

    def _known(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[dict[Any, Any], list[Any], list[Any]]:
        """The node applied to symbols: aotensor values of the symbols, its inputs, its outputs."""
        given = [x if is_constant(x) else x.type() for x in self._node.inputs]
        made = self._node.clone_with_new_inputs(given, strict=False).outputs
        symbols = (pair for pair in zip(given, self._with(inputs), strict=True) if not is_constant(pair[0]))
        return {**dict(symbols), **dict(zip(made, outputs, strict=True))}, given, made

    def _imported(
        self, known: Mapping[Any, Any], what: str, rule: Callable[[], Sequence[Any]], places: Sequence[int]
    ) -> list[Any]:
        """Import the selected terms that a PyTensor rule returns."""
        with variables_at(site_of(self._node)):
            try:
                terms = rule()
            except NotImplementedError as error:
                raise unsupported(self._node, f"PyTensor does not define its {what}") from error
            chosen = [terms[k] for k in places]
            real = [x for x in chosen if _is_real(x)]
            found = iter(self._graph(known, real))
            return [next(found) if _is_real(x) else _placeholder(x) for x in chosen]


def _pattern_of(node: Any) -> Pattern:
    """The connection pattern by PyTensor: which inputs influence which outputs; generators of random numbers influence
    none.
    """
    if hasattr(node.op, "connection_pattern"):
        return [list(map(bool, row)) for row in node.op.connection_pattern(node)]
    return [[True for _ in node.outputs] for _ in node.inputs]


def _direction(x: Any, direction: Any, known: dict[Any, Any]) -> Any:
    """A PyTensor symbol for a cotangent or tangent, with the type of x except for its dtype."""
    if is_disconnected(direction):
        return DisconnectedType()()
    made = x.type.clone(dtype=direction.dtype)()
    known[made] = direction
    return made


def _is_real(term: Any) -> bool:
    return term is not None and type(term.type).__name__ not in ("DisconnectedType", "NullType")


def _placeholder(term: Any) -> Any:
    """Translate a term without value (disconnected or null)."""
    if term is not None and type(term.type).__name__ == "NullType":
        return at.Variable(NullType(term.type.why_null))
    return disconnected()
