"""Custom derivatives of a composite: convert the accepted forms to one kind of rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from aotensor.core.frozen import frozen_dataclass
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Op, disconnected, has_value, is_disconnected
from aotensor.graph.variable import Variable
from aotensor.ops.linear import filled

Override: TypeAlias = Callable[..., Any] | Op | list[Any] | None
"""A function, another op, a list of one entry per term, or None."""

RuleFunction: TypeAlias = Callable[[list[Variable], list[Variable], list[Variable]], Any]
"""(inputs, outputs, cotangents or tangents) → the terms."""


@frozen_dataclass
class Rule:
    """A custom derivative rule that returns `count` terms; at the positions in `defaults` the graph's derivative is
    used.
    """

    what: str
    call: RuleFunction
    count: int
    defaults: frozenset[int] = frozenset()

    def terms(self, inputs: Sequence[Variable], outputs: Sequence[Variable], directions: Sequence[Variable]) -> Any:
        """Call the rule and return its terms; the caller replaces the entries in `defaults`.

        Raises: GraphTypeError unless it returns a list, GraphValueError for another length.
        """
        found = self.call(list(inputs), list(outputs), list(directions))
        if not isinstance(found, list):
            raise GraphTypeError(f"{self.what} returned {type(found).__name__} instead of a list")
        if len(found) != self.count:
            raise GraphValueError(f"{self.what} returned {len(found)} terms instead of {self.count}")
        return found


def reverse_rule(override: Override, count: int) -> Rule | None:
    """Convert a custom pullback to a rule.   Raises: GraphTypeError and GraphValueError for another form."""

    def by_op(op: Op) -> RuleFunction:
        return lambda inputs, outputs, cotangents: list(op.apply(*inputs, *outputs, *cotangents).outputs)

    return _parsed("the pullback of a composite", override, count, by_op)


def forward_rule(override: Override, count: int) -> Rule | None:
    """Convert a custom pushforward to a rule.   Raises: GraphTypeError and GraphValueError for another form."""

    def by_op(op: Op) -> RuleFunction:
        def call(inputs: list[Variable], outputs: list[Variable], tangents: list[Variable]) -> list[Variable]:
            return list(op.apply(*inputs, *outputs, *filled(tangents, inputs)).outputs)

        return call

    return _parsed("the pushforward of a composite", override, count, by_op)


def older_forward_rule(override: Override, count: int) -> Rule | None:
    """Convert an R-op to a rule: functions of (inputs, eval_points), with None for disconnected terms."""

    def by_op(op: Op) -> RuleFunction:
        return lambda inputs, _, tangents: list(op.apply(*inputs, *filled(tangents, inputs)).outputs)

    def newer(item: Any) -> Any:
        return _with_eval_points(item, is_list=False) if callable(item) else item

    if isinstance(override, list):
        override = [newer(item) for item in override]
    elif callable(override) and not isinstance(override, Op):
        override = _with_eval_points(override, is_list=True)
    return _parsed("the R-op of a composite", override, count, by_op)


def _with_eval_points(rule: Callable[..., Any], is_list: bool) -> RuleFunction:
    def call(inputs: list[Variable], outputs: list[Variable], tangents: list[Variable]) -> Any:
        found = rule(inputs, [None if is_disconnected(x) else x for x in tangents])
        if is_list:
            return [disconnected() if x is None else x for x in found] if isinstance(found, list) else found
        return disconnected() if found is None else found

    return call


def _parsed(what: str, override: Override, count: int, by_op: Callable[[Op], RuleFunction]) -> Rule | None:
    if override is None:
        return None
    if isinstance(override, Op):
        return Rule(what, by_op(override), count)
    if isinstance(override, list):
        items = override
        _check_items(what, items, count)
        defaults = frozenset(position for position, item in enumerate(items) if item is None)

        def call(*arguments: list[Variable]) -> list[Any]:
            return [item(*arguments) if callable(item) else item for item in items]

        return Rule(what, call, count, defaults)
    if callable(override):
        return Rule(what, override, count)
    raise GraphTypeError(f"{what} must be a function, an op or a list, not {type(override).__name__} {override!r:.40}")


def _check_items(what: str, items: Sequence[Any], count: int) -> None:
    if len(items) != count:
        raise GraphValueError(f"{what} is a list of {len(items)} entries instead of {count}")
    for position, item in enumerate(items):
        is_placeholder = isinstance(item, Variable) and not has_value(item)
        if not (item is None or is_placeholder or callable(item)):
            raise GraphTypeError(
                f"{what}: entry {position} is {item!r:.40}",
                hint="give None, a function of one term, or a variable of NullType or DisconnectedType",
            )
