"""The table from classes of PyTensor's ops to rules, and the walk over a graph that applies them. Classes are
identified by name, since PyTensor has moved many between modules. A class of another package is not translated by
the rule of its base class, except an op that is defined by an inner graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import aotensor.tensor as at
from aotensor.errors import AotensorError, UnsupportedError
from aotensor.extension import Site
from aotensor.importers.base import LOST, Importer, Unsuited, entering, several
from aotensor.importers.errors import NoCounterpart, Untranslated
from aotensor.importers.lax.windows import known_value
from aotensor.importers.pytensor.derivatives import has_own_derivatives, with_own_derivatives
from aotensor.importers.pytensor.places import MAKERS, site_of, toposort, untranslated
from aotensor.importers.pytensor.values import from_constant, is_constant, number_of, with_known_type

Rule = Callable[..., Any]
"""(the walk, the node, the values of its inputs) → the value of its output, or one per output."""

RULES: Final[dict[str, Rule]] = {}
_GRAPHS: Final = frozenset({"OpFromGraph"})
"""Classes whose children mean what their inner graph says."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for classes by name; those of the sparse module are written `sparse.Name`."""
    return entering(RULES, str, *names)


def rows(table: Mapping[str, Callable[..., Any]]) -> None:
    """Register rules that are one expression of (the op, *the values of its inputs)."""
    for name, expression in table.items():
        rule(name)(lambda walk, node, *inputs, expression=expression: expression(node.op, *inputs))


def rule_of(op: Any) -> Rule | None:
    """The rule for an op: that of its class, or of the nearest base class with a rule."""
    kind = ruled_class(op)
    return None if kind is None else RULES[_key(kind)]


def ruled_class(op: Any) -> type | None:
    """The class whose rule applies to an op: its own, or the nearest base class with a rule."""
    is_foreign = False
    for kind in type(op).__mro__:
        if kind.__module__.split(".")[0] not in MAKERS:
            is_foreign = True
        elif _key(kind) in RULES:
            return None if is_foreign and kind.__name__ not in _GRAPHS else kind
    return None


def _key(kind: type) -> str:
    """The name under which rules for a class are registered."""
    return f"sparse.{kind.__name__}" if "sparse" in kind.__module__.split(".")[1:] else kind.__name__


class Walk(Importer):
    """A translation of one graph.

    values: PyTensor's variable → its translation, None, or a slice. leaf: translates further leaves. has_short_buffers:
    loops keep only the rows that are read, as after PyTensor's rewrites for other machines. has_derivatives: somebody
    may differentiate the result, so that ops with derivatives of their own keep them.
    """

    framework = "PyTensor"

    def __init__(
        self,
        values: Mapping[Any, Any],
        leaf: Callable[[Any], Any] | None = None,
        has_short_buffers: bool = False,
        has_derivatives: bool = True,
    ) -> None:
        super().__init__()
        self.values: dict[Any, Any] = dict(values)
        self.has_short_buffers = has_short_buffers
        self.has_derivatives = has_derivatives
        self._leaf = leaf

    def site(self, node: Any) -> Site | None:
        """The user's line, which PyTensor keeps."""
        return site_of(node)

    def entry(self, node: Any, reason: str = "") -> Untranslated:
        """The op of a node, by its class."""
        return untranslated(node, reason)

    def attempt(self, node: Any, translate: Callable[[], Any]) -> Any:
        """As that of every importer; types that aotensor has not are without counterpart, too."""
        try:
            return super().attempt(node, translate)
        except UnsupportedError as error:
            self.missing.append(self.entry(node, error.diagnostic.title))
        except AotensorError as error:
            error.add_note(f"while translating {untranslated(node)} from PyTensor")
            raise
        return None

    def run(self, outputs: Sequence[Any]) -> list[Any]:
        """Translate the outputs.   Raises: NoCounterpart with all ops that cannot be translated."""
        for node in toposort(outputs, self.values):
            is_lost = any(self.values.get(x) is LOST for x in node.inputs)
            found = None if is_lost else self.attempt(node, partial(self._translated, node))
            self.values.update(zip(node.outputs, [LOST] * len(node.outputs) if found is None else found, strict=True))
        self.refuse()
        return [self.value(x) for x in outputs]

    def value(self, x: Any) -> Any:
        """The translated value of a PyTensor variable; leaves are created at first use."""
        if x not in self.values:
            if is_constant(x):
                self.values[x] = from_constant(x)
            else:
                assert self._leaf is not None, f"{x} is neither given nor computed"
                self.values[x] = self._leaf(x)
        return self.values[x]

    def inner(self, inputs: Sequence[Any], outputs: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """Translate an inner graph applied to values.   Raises: as `run`"""
        return self.on(dict(zip(inputs, values, strict=True)), outputs)

    def on(self, values: Mapping[Any, Any], outputs: Sequence[Any]) -> list[Any]:
        """Translate another graph, in which some variables have these values.   Raises: as `run`"""
        return Walk(values, self._leaf, self.has_short_buffers, self.has_derivatives).run(outputs)

    def extents(self, x: Any, count: int | None = None) -> Any:
        """A vector of extents as a list; elements of a vector built from scalars keep their static values. count:
        number of elements, if the type does not give it.
        """
        node = x.owner
        if is_constant(x):
            return [int(n) for n in x.data]
        if node is not None and type(node.op).__name__ == "MakeVector":
            return [number_of(self.value(n)) for n in node.inputs]
        if node is not None and type(node.op).__name__ == "Join":
            parts = [self.extents(part) for part in node.inputs[1:]]
            if all(isinstance(part, list) for part in parts):
                return [n for part in parts for n in part]
        length = x.type.shape[0]
        if length is None and count is not None:
            return list(at.specify_shape(self.value(x), [count]))
        return self.value(x) if length is None else [self.value(x)[k] for k in range(length)]

    def _translated(self, node: Any) -> list[Any]:
        kind = ruled_class(node.op)
        if kind is None:
            raise Unsuited

        def apply(*inputs: Any) -> list[Any]:
            results = RULES[_key(kind)](self, node, *inputs)
            listed = several(results)
            assert len(listed) == len(node.outputs), (node, listed)
            return [with_known_type(old, new) for old, new in zip(node.outputs, listed, strict=True)]

        values = [self.value(x) for x in node.inputs]
        if self.has_derivatives and has_own_derivatives(node, kind):
            return with_own_derivatives(node, apply, self.on, values)
        return apply(*values)


def integer_of(n: Any) -> int | None:
    """The integer value of a constant or of an expression of constants; else None."""
    number = number_of(n)
    known = number if isinstance(number, int) else known_value(n)
    return None if known is None else int(known)


def as_bool(x: Any) -> Any:
    """x as a bool: x ≠ 0."""
    return x if x.dtype == "bool" else at.neq(x, 0)


__all__ = ["NoCounterpart", "Walk", "as_bool", "integer_of", "rows", "rule", "rule_of"]
