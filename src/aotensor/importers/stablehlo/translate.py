"""Translate functions and regions to programs of lax primitives; collect operations without a counterpart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from aotensor.errors import GraphValueError, UnsupportedError
from aotensor.importers.base import Importer, Unsuited, entering
from aotensor.importers.errors import Untranslated
from aotensor.importers.lax.interpret import unsupported_part
from aotensor.importers.lax.rules import RULES
from aotensor.importers.stablehlo.attributes import Splat, dtype_of
from aotensor.importers.stablehlo.structure import Function, Module, Operation, Region, Value
from aotensor.importers.stablehlo.table import (
    NOTES,
    TABLE,
    Equation,
    Literal,
    Program,
    Step,
    aval_of,
    equation,
)

_DEEPEST: Final = 64
"""Functions that call each other."""

_MOST: Final = 1 << 18
"""Operations of a program with all that it calls, each time anew."""

WriteRule = Callable[["Translator", Operation, list[Equation]], None]
WRITTEN: Final[dict[str, WriteRule]] = {}
"""Operations that are several primitives, or have regions."""


def writes(*names: str, dialect: str = "stablehlo", note: str = "") -> Callable[[WriteRule], WriteRule]:
    """A decorator that registers a function that appends equations for these operations, or records equivalents of
    their results.
    """
    NOTES.update({f"{dialect}.{name}": note for name in names if note})
    return entering(WRITTEN, f"{dialect}.{{}}".format, *names)


class Translator(Importer):
    """The translation of one module to programs of lax.   constants: known values, by identity"""

    framework = "StableHLO"
    hint = "docs/stablehlo.md lists those that have one"

    def __init__(self, module: Module, file: str) -> None:
        super().__init__()
        self._module, self._file = module, file
        self.made: dict[int, Equation] = {}
        self._known: dict[int, Value] = {}
        self._programs: dict[str, Program] = {}
        self._sizes: dict[int, int] = {}
        self._open: list[str] = []
        self._depth = 0

    @property
    def bodies(self) -> Mapping[str, Region]:
        """The regions of all functions."""
        return {name: f.body for name, f in self._module.functions.items()}

    @property
    def is_outermost(self) -> bool:
        """Is this the body of the first function, outside of all regions?"""
        return self._depth == 1

    def function(self, name: str) -> Program:
        """The program of a function.

        Raises: GraphValueError for an unknown function or one that calls itself; UnsupportedError for one too long
        """
        if name in self._programs:
            return self._programs[name]
        if name not in self._module.functions:
            raise GraphValueError(f"{self._file}: there is no function @{name}")
        found = self._module.functions[name]
        place = f"{self._file}:{found.line}"
        if name in self._open:
            raise GraphValueError(f"{place}: the function @{name} calls itself")
        if len(self._open) >= _DEEPEST:
            raise GraphValueError(f"{place}: calls of functions are nested more than {_DEEPEST} deep")
        self._open.append(name)
        program = self._program(found.body, found)
        self._open.pop()
        self._programs[name] = program
        return program

    def _program(self, region: Region, function: Function | None = None) -> Program:
        equations: list[Equation] = []
        self._depth += 1
        self.write(region.operations, equations)
        self._depth -= 1
        program = Program(list(region.arguments), equations, [self.found(x) for x in region.results])
        inner = (one for e in equations for value in e.params.values() for one in _programs(value))
        size = self._sizes[id(program)] = len(equations) + sum(self._sizes.get(id(one), 1) for one in inner)
        if size > _MOST:
            what = f"@{function.name}" if function is not None else "a region"
            raise UnsupportedError(
                f"{self._file}: {what} has more than {_MOST} operations, including those of the functions that it calls"
            )
        return program

    def region(self, region: Region) -> tuple[Program, list[Value]]:
        """A region as a program of the outer values that it uses, then its arguments."""
        program = self._program(region)
        inside = {id(x) for x in program.invars} | {id(x) for e in program.eqns for x in e.outvars}
        used = [*(x for e in program.eqns for x in e.invars), *program.outvars]
        outer = {id(x): x for x in used if id(x) not in inside and not isinstance(x, Literal)}
        program.invars = [*outer.values(), *program.invars]
        return program, list(outer.values())

    def found(self, x: Value) -> Value:
        """The known equivalent of a value: a constant, another value, or itself."""
        while id(x) in self._known:
            x = self._known[id(x)]
        return x

    def same(self, x: Value, as_: Value) -> None:
        """Record the equivalent of a value."""
        self._known[id(x)] = as_

    def constants(self) -> Mapping[int, Any]:
        """Arrays of the values that are constants, by identity of the value."""
        return {key: x.val for key in self._known if isinstance(x := self.found(self._known[key]), Literal)}

    def write(self, operations: Iterable[Operation], equations: list[Equation]) -> None:
        """Add the equations of operations."""
        for operation in operations:
            found = replace(operation, operands=[self.found(x) for x in operation.operands])
            self.attempt(found, partial(self._write_one, found, equations))

    def located(self, operation: Any) -> AbstractContextManager[None]:
        """No variables are made here."""
        return nullcontext()

    def entry(self, found: Operation, reason: str = "") -> Untranslated:
        """An operation, a custom call with its target."""
        target = f" @{target_of(found)}" if found.name == "stablehlo.custom_call" else ""
        return Untranslated(f"{found.name}{target}", reason, f"{self._file}:{found.line}")

    def _write_one(self, found: Operation, equations: list[Equation]) -> None:
        for x in found.results:
            try:
                dtype_of(x.aval)
            except UnsupportedError:
                raise Unsuited(f"its result has dtype {x.aval.dtype}, which aotensor does not have") from None
        if found.name == "stablehlo.constant":
            self._constant(found, equations)
        elif found.name in TABLE:
            self.emit(TABLE[found.name](found), found, equations)
        elif found.name in WRITTEN:
            WRITTEN[found.name](self, found, equations)
        else:
            raise Unsuited

    def _constant(self, found: Operation, equations: list[Equation]) -> None:
        (x,), value = found.results, found.attributes["value"]
        if value is None:
            raise Unsuited(f"its type {x.aval} has unknown extents")
        if not isinstance(value, Splat):
            self.same(x, Literal(x.aval, val=value))
            return
        one = Literal(aval_of((), x.aval.dtype), val=np.asarray(value.value, x.aval.dtype))
        self.emit(
            Step("broadcast_in_dim", [one], {"shape": x.aval.shape, "broadcast_dimensions": []}), found, equations
        )

    def emit(
        self, step: Step, found: Operation, equations: list[Equation], outvars: Sequence[Value] | None = None
    ) -> Sequence[Value]:
        """Add an equation. outvars: instead of the operation's results   Raises: Unsuited"""
        made = equation(step, found.results if outvars is None else outvars, found)
        if step.primitive in RULES and (reason := unsupported_part(made, dtype_of)) is not None:
            raise Unsuited(reason)
        equations.append(made)
        self.made.update((id(x), made) for x in made.outvars)
        return made.outvars

    def call(self, name: Any, found: Operation, equations: list[Equation]) -> None:
        """Replace an operation by a call of a function.   Raises: Unsuited if their types differ"""
        program = self.function(str(name))
        body = self._module.functions[str(name)].body
        given = [x.aval for x in found.operands], [x.aval for x in found.results]
        if given != ([x.aval for x in body.arguments], [x.aval for x in body.results]):
            raise Unsuited(f"its operands or results have other types than those of the function @{name}")
        self.emit(Step("jit", found.operands, {"jaxpr": program}), found, equations)


def target_of(found: Operation) -> str:
    """The target of a custom_call."""
    return str(found.words[0] if found.words else found.attributes.get("call_target_name", ""))


def _programs(value: Any) -> list[Program]:
    values = value if isinstance(value, list | tuple) else [value]
    return [one for one in values if isinstance(one, Program)]
