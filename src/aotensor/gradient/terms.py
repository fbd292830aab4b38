"""The contract of derivative rules: checks of the results of `pullback`, `pushforward` and `connection_pattern`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

from aotensor.core import dtypes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.expansion import Expansion
from aotensor.graph.op import REVERSE_RULES, Apply, Op, chosen_rule, has_value, is_disconnected, is_null
from aotensor.graph.operands import is_complex
from aotensor.graph.placeholder import NullType
from aotensor.graph.site import warn_user
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import toposort
from aotensor.ops.complex.parts import real

Pattern = list[list[bool]]


def connection_pattern(node: Apply) -> Pattern:
    """The checked pattern of a node: one row per input, one entry per output, by its op or by the op's expansion.

    Raises: GraphTypeError unless it is a list of lists, GraphValueError if its size does not fit.
    """
    pattern = node.op.connection_pattern(node)
    if _is_known_by_expansion(node.op):
        graph = Expansion.for_op(node.op, node.inputs)
        return pattern if graph is None else graph_pattern(graph.slots, graph.outputs)
    if not isinstance(pattern, list) or not all(isinstance(row, list) for row in pattern):
        raise GraphTypeError(f"{node.op.name}: connection_pattern must return a list of lists, not {pattern!r}")
    if len(pattern) != len(node.inputs) or any(len(row) != len(node.outputs) for row in pattern):
        raise GraphValueError(
            f"{node.op.name}: connection_pattern needs {len(node.inputs)} rows of {len(node.outputs)}, found {pattern}"
        )
    return pattern


def _is_known_by_expansion(op: Op) -> bool:
    """Does an op have no rules for pattern and derivatives, so that its expansion supplies them?"""
    own = type(op)
    return own.connection_pattern is Op.connection_pattern and chosen_rule(own, REVERSE_RULES) is None


def graph_pattern(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Pattern:
    """[i][o] is true if elements of inputs[i] influence elements of outputs[o], by the patterns of the ops between.

    Raises: as `connection_pattern`.
    """
    influences = {x: 1 << position for position, x in enumerate(inputs)}  # sets of inputs as bit masks
    for node in toposort(outputs, stop=inputs):
        pattern = connection_pattern(node)
        for position, output in enumerate(node.outputs):
            bits = [influences.get(x, 0) for x, row in zip(node.inputs, pattern, strict=True) if row[position]]
            influences.setdefault(output, reduce(or_, bits, 0))
    return [[bool(influences.get(x, 0) >> position & 1) for x in outputs] for position in range(len(inputs))]


def checked_terms(node: Apply, rules: tuple[str, ...], found: Any, expected: Sequence[Variable]) -> list[Variable]:
    """Check the terms that one of `rules` returned: their number, floating dtype and rank; return them.

    Of an op that takes complex values, terms of real variables are real parts of what it returned.

    Raises: GraphTypeError or GraphValueError that says what the op returned instead.
    """
    where = _rule_name(node.op, rules)
    if not isinstance(found, list | tuple):
        raise GraphTypeError(
            f"{where} returned {type(found).__name__} instead of a list", lines=[node.outputs[0].describe()]
        )
    if len(found) != len(expected):
        raise GraphValueError(
            f"{where} returned {len(found)} terms for {len(expected)} variables", lines=[node.outputs[0].describe()]
        )
    if node.op.takes_complex:
        found = [_real_of(term, x) for term, x in zip(found, expected, strict=True)]
    for position, (term, x) in enumerate(zip(found, expected, strict=True)):
        _check_term(f"{where}: term {position}", term, x)
    return [_locate_term(term, node) for term in found]


def _real_of(term: Any, x: Variable) -> Any:
    """The derivative with respect to a real variable from a complex formula: Re(g·dx) = Re(g)·dx."""
    is_formula = isinstance(term, Variable) and is_complex(term) and not is_complex(x)
    return real(term) if is_formula else term


def _locate_term(term: Variable, node: Apply) -> Variable:
    """A null term, with the location of the op; other terms are returned unchanged."""
    if not is_null(term) or term.type.where:
        return term
    return Variable(NullType(term.type.why_null, node.outputs[0].describe()))


def _rule_name(op: Op, rules: tuple[str, ...]) -> str:
    return f"{op.name}.{chosen_rule(type(op), rules) or rules[0]}"


def _check_term(what: str, term: Any, x: Variable) -> None:
    if term is None:
        raise GraphTypeError(
            f"{what} is None",
            lines=[x.describe()],
            hint="return zeros_like(x), disconnected_type() or a variable of NullType",
        )
    if not isinstance(term, Variable):
        raise GraphTypeError(
            f"{what} is {type(term).__name__} {term!r:.40}, which is not a variable", lines=[x.describe()]
        )
    if not has_value(term):
        return
    if not dtypes.is_inexact(term.dtype):
        raise GraphTypeError(f"{what} has type {term.type}, but derivatives have floating dtypes", lines=[x.describe()])
    if dtypes.is_complex(term.dtype) and not dtypes.is_complex(x.dtype):
        raise GraphTypeError(
            f"{what} has type {term.type}, but derivatives of real variables are real", lines=[x.describe()]
        )
    if term.ndim != x.ndim:
        raise GraphValueError(f"{what} has rank {term.ndim} instead of {x.ndim}", lines=[x.describe()])
    for axis, (one, other) in enumerate(zip(term.static_shape, x.static_shape, strict=True)):
        if one != other and one is not None and other is not None:
            raise GraphValueError(f"{what} has extent {one} instead of {other} along axis {axis}", lines=[x.describe()])


def check_connection(
    node: Apply, pattern: Pattern, live: Sequence[bool], wanted: Sequence[bool], terms: Sequence[Variable]
) -> None:
    """Check the terms of a pullback against the pattern. `live` marks the outputs that have a cotangent.

    Raises: GraphTypeError for a missing or superfluous term, GraphValueError for a term that is certainly not zero
    though only discrete outputs depend on its input. Warns where a term is disconnected and the op has no pattern.
    """
    if chosen_rule(type(node.op), REVERSE_RULES) != "pullback_to":
        wanted = [True] * len(terms)  # other rules do not know what is wanted
    for position, (row, is_wanted, term) in enumerate(zip(pattern, wanted, terms, strict=True)):
        what = f"{_rule_name(node.op, REVERSE_RULES)}: term {position}"
        if not any(row) and not is_disconnected(term):
            raise GraphTypeError(f"{what} is given, but connection_pattern says that the input has no influence")
        if is_wanted and is_disconnected(term) and any(on and is_live for on, is_live in zip(row, live, strict=True)):
            _report_missing(node.op, what)
        influenced = [out for out, on in zip(node.outputs, row, strict=True) if on]
        if influenced and all(dtypes.is_discrete(out.dtype) for out in influenced) and _is_surely_nonzero(term):
            raise GraphValueError(f"{what} is not zero, but only discrete outputs depend on it")


def _report_missing(op: Op, what: str) -> None:
    if type(op).connection_pattern is not Op.connection_pattern:
        raise GraphTypeError(f"{what} is disconnected, but connection_pattern says that the input has influence")
    warn_user(f"{what} is disconnected: give {op.name} a connection_pattern that says so")


def has_zero_cotangent(node: Apply, output: Variable) -> bool:
    """Is this output of `node` discrete, so that its cotangents contribute zeros?"""
    return not node.op.sees_discrete and dtypes.is_discrete(output.dtype)


def _is_surely_nonzero(term: Variable) -> bool:
    return isinstance(term, Constant) and bool(term.data.any())
