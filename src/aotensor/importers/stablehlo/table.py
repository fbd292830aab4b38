"""Types and helpers for translating operations of StableHLO to primitives of `jax.lax`, so that both share one table of
rules.

Source: https://openxla.org/stablehlo/spec
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from aotensor.importers.base import Unsuited, entering
from aotensor.importers.lax.table import Extent
from aotensor.importers.stablehlo.attributes import Aval
from aotensor.importers.stablehlo.structure import Operation, Value

Params: TypeAlias = dict[str, Any]
LateParams: TypeAlias = Callable[..., Params]
"""From the integers that shape operands hold, parameters."""


@dataclass(eq=False)
class Equation:
    """A primitive of lax in the form that rules read. shapes: number of trailing operands with extents, which are
    passed to `late` instead of the rule. name: of the translated operation.
    """

    primitive: Any
    params: Params
    invars: Sequence[Any]
    outvars: Sequence[Any]
    name: str = ""
    line: int = 0
    late: LateParams | None = None
    shapes: int = 0


@dataclass(eq=False)
class Program:
    """A region or a function, with the attributes of a jaxpr."""

    invars: Sequence[Any]
    eqns: list[Equation]
    outvars: Sequence[Any]
    constvars: Sequence[Any] = ()


@dataclass(eq=False)
class Literal(Value):
    """A constant.   val: an array"""

    val: Any = field(kw_only=True)


@dataclass
class Step:
    """The translation of an operation to one primitive. shapes: operands with extents, for `late`"""

    primitive: str
    invars: Sequence[Any]
    params: Params = field(default_factory=dict)
    shapes: Sequence[Any] = ()
    late: LateParams | None = None


TABLE: Final[dict[str, Callable[[Operation], Step]]] = {}
"""Operations that are one primitive."""

NOTES: Final[dict[str, str]] = {}
"""What the documentation says of an operation."""

F = TypeVar("F", bound=Callable[..., Any])


def translates(*names: str, note: str = "") -> Callable[[F], F]:
    """A decorator that registers a function as the translation of these operations to one primitive."""
    NOTES.update({f"stablehlo.{name}": note for name in names if note})
    return entering(TABLE, "stablehlo.{}".format, *names)


def equation(step: Step, outvars: Sequence[Any], found: Operation) -> Equation:
    """The equation of a step, which replaces an operation."""
    invars = [*step.invars, *step.shapes]
    primitive = SimpleNamespace(name=step.primitive)
    return Equation(primitive, step.params, invars, outvars, found.name, found.line, step.late, len(step.shapes))


def attribute(found: Operation, *keys: str) -> Any:
    """An attribute, whose name may differ between the pretty and the generic form.

    Raises: Unsuited if it is missing
    """
    for key in keys:
        if key in found.attributes:
            return found.attributes[key]
    raise Unsuited(f"its attribute {keys[-1]} is missing")


def ints(found: Operation, *keys: str, count: int | None = None, default: int | None = None) -> list[int]:
    """The integers of an attribute, a list or an array. count: expected number; default: of each, if it is left out

    Raises: Unsuited
    """
    if default is not None and count is not None and not any(key in found.attributes for key in keys):
        return [default] * count
    value = attribute(found, *keys)
    value = value.ravel().tolist() if isinstance(value, np.ndarray) else value
    is_right = isinstance(value, list) and all(type(n) is int for n in value)
    if not is_right or (count is not None and len(value) != count):
        raise Unsuited(f"its attribute {keys[0]} is {value!r:.40}, not {'' if count is None else f'{count} '}integers")
    return list(value)


def sizes(found: Operation, *keys: str, count: int, default: int = 1) -> list[int]:
    """Positive integers, one per axis.   Raises: Unsuited"""
    value = ints(found, *keys, count=count, default=default)
    if any(not 1 <= n < 1 << 31 for n in value):
        raise Unsuited(f"its attribute {keys[0]} is {value!r:.40}, not positive integers below 2**31")
    return value


def pairs(found: Operation, *keys: str, count: int) -> list[tuple[int, int]]:
    """Padding widths before and after, per axis; 0 if they are left out.   Raises: Unsuited"""
    if not any(key in found.attributes for key in keys):
        return [(0, 0)] * count
    value = attribute(found, *keys)
    value = value.tolist() if isinstance(value, np.ndarray) else value
    is_right = isinstance(value, list) and len(value) == count
    if not is_right or not all(
        isinstance(p, list) and len(p) == 2 and all(type(n) is int and abs(n) < 1 << 31 for n in p) for p in value
    ):
        raise Unsuited(f"its attribute {keys[0]} is {value!r:.40}, not {count} pairs of integers")
    return [(low, high) for low, high in value]


def number(found: Operation, *keys: str, default: Any = None) -> Any:
    """An integer or bool.   Raises: Unsuited"""
    value = attribute(found, *keys) if default is None else found.attributes.get(keys[0], default)
    if not isinstance(value, int):
        raise Unsuited(f"its attribute {keys[0]} is {value!r:.40}, not an integer")
    return value


def in_rank(axis: int, rank: int) -> int:
    """Check an axis against the rank, and return it.   Raises: Unsuited"""
    if not 0 <= axis < rank:
        raise Unsuited(f"it names axis {axis} of a tensor of rank {rank}")
    return axis


def axis_of(found: Operation, *keys: str, rank: int) -> int:
    """The axis attribute, checked against the rank.   Raises: Unsuited"""
    return in_rank(number(found, *keys), rank)


def axes(found: Operation, *keys: str, rank: int) -> list[int]:
    """The axes of an attribute, which must be distinct.   Raises: Unsuited"""
    return different([in_rank(n, rank) for n in ints(found, *keys)], keys[0])


def different(numbers: list[int], what: str) -> list[int]:
    """Check that numbers are distinct.   Raises: Unsuited"""
    if len(set(numbers)) < len(numbers):
        raise Unsuited(f"its attribute {what} names an axis twice")
    return numbers


def shape_of(found: Operation) -> tuple[Any, ...]:
    """The extents of the first result; None for dynamic ones."""
    shape: tuple[Any, ...] = found.results[0].aval.shape
    return shape


def operands(found: Operation, count: int, results: int = 1) -> list[Value]:
    """The operands, if there are `count`.   Raises: Unsuited for another number of them, or of results"""
    if len(found.operands) != count or len(found.results) != results:
        raise Unsuited(
            f"it has {len(found.operands)} operands and {len(found.results)} results, not {count} and {results}"
        )
    return found.operands


def is_bool(x: Value) -> bool:
    """Does a value have bool elements?"""
    return bool(x.aval.dtype == np.dtype(bool))


def may_be(x: Sequence[Any], y: Sequence[Any]) -> bool:
    """Are two shapes compatible? None is a dynamic extent"""
    return len(x) == len(y) and all(a == b or a is None or b is None for a, b in zip(x, y, strict=True))


def static_or_given(known: Sequence[Any], given: Sequence[Extent]) -> list[Extent]:
    """The static extents of the text, else those given by an operand. Raises: Unsuited for a wrong number"""
    if len(known) != len(given):
        raise Unsuited(f"an operand holds {len(given)} extents for a result with {len(known)} axes")
    return [g if n is None else n for n, g in zip(known, given, strict=True)]


def aval_of(shape: Sequence[Any], dtype: Any) -> Aval:
    """The type with this shape and dtype."""
    return Aval(tuple(shape), dtype)
