"""The table of rules for XLA's primitives, by the names of `jax.lax`, and the types that rules use. Rules do not depend
on a framework: a program is any object with the attributes of a jaxpr.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from aotensor.tensor import Variable

Extent: TypeAlias = int | Variable
"""A number, or an int64 scalar of the graph."""


class Equation(Protocol):
    """One operation of a program.

    invars, outvars: operands and results, each with `aval`, which has `shape` and `dtype`; an operand that is a number
    has its value as `val`. primitive: with its `name`. params: as `jax.lax` calls them.
    """

    @property
    def primitive(self) -> Any: ...

    @property
    def params(self) -> Mapping[str, Any]: ...

    @property
    def invars(self) -> Sequence[Any]: ...

    @property
    def outvars(self) -> Sequence[Any]: ...


Program: TypeAlias = Any
"""`invars`, `eqns`, `outvars`, or one in `jaxpr` with its `consts` beside."""


class Context(Protocol):
    """The services of an importer that rules may use."""

    def extent(self, dim: Any) -> Extent:
        """Translate an extent of the framework, which may be an expression of symbolic dims."""
        ...

    def extents(self, dims: Sequence[Any]) -> list[Extent]: ...

    def run(self, program: Program, inputs: Sequence[Variable], is_users: bool = True) -> list[Variable]:
        """The outputs of a program for these inputs.   is_users: its equations have lines of the user's program"""
        ...


Results: TypeAlias = Variable | Sequence[Variable]
Convert: TypeAlias = Callable[..., Results]
"""(context, equation, *inputs) → the outputs; dtypes and static extents are settled by who calls it."""

Inner: TypeAlias = Callable[[Equation], Iterable[Program]]
"""The programs of an equation that may run."""

F = TypeVar("F", bound=Convert)

Check: TypeAlias = Callable[[Equation], str]
"""What of an equation has no counterpart, in words; "" where all has."""


def is_literal(x: Any) -> bool:
    """Is this operand of an equation a literal?"""
    return hasattr(x, "val")


def body_of(program: Program) -> Any:
    """The inner program of a closed jaxpr, or the program itself."""
    return program.jaxpr if hasattr(program, "consts") else program


def programs_in(equation: Equation) -> Iterable[Program]:
    """All programs among the parameters."""
    for value in equation.params.values():
        for one in value if isinstance(value, list | tuple) else (value,):
            if hasattr(one, "eqns"):
                yield body_of(one)


@dataclass(frozen=True)
class Rule:
    """How a primitive is imported.

    note: a remark for the documentation. takes_keys: it passes keys of random numbers through. inner: the programs that
    it runs, by default all of the equation.
    """

    convert: Convert
    check: Check | None = None
    note: str = ""
    takes_keys: bool = False
    inner: Inner = programs_in


RULES: Final[dict[str, Rule]] = {}
"""Primitive → rule; `rules.py` fills it."""


def enter(name: str, convert: Convert, **options: Any) -> None:
    """Register a rule for a primitive. options: fields of `Rule`"""
    RULES[name] = Rule(convert, **options)


def rule(*names: str, **options: Any) -> Callable[[F], F]:
    """A decorator that registers a function as the rule of these primitives. options: fields of `Rule`"""

    def entered(convert: F) -> F:
        for name in names:
            enter(name, convert, **options)
        return convert

    return entered


def enter_functions(table: dict[str, Callable[..., Variable]]) -> None:
    """Register rules for primitives without parameters: functions of their operands."""
    for name, function in table.items():
        RULES[name] = Rule(_ignoring_equation(function))


def _ignoring_equation(function: Callable[..., Variable]) -> Convert:
    return lambda context, equation, *inputs: function(*inputs)
