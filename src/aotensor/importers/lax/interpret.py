"""Translate a program to a graph, equation by equation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

import aotensor.tensor as at
from aotensor.errors import UnsupportedError
from aotensor.extension import dtypes
from aotensor.importers.base import Importer, several
from aotensor.importers.lax.rules import RULES
from aotensor.importers.lax.table import Equation, Extent, Program, body_of, is_literal


class Interpreter(Importer):
    """The base for programs of lax: subclasses translate extents, lines and constants of their framework."""

    def extent(self, dim: Any) -> Extent:
        """Translate an extent of the framework."""
        raise NotImplementedError

    def constant(self, value: Any, dtype: Any = None) -> at.Variable:
        """Convert a constant of the program."""
        return at.constant(np.asarray(value, dtype))

    def dtype_of(self, aval: Any) -> str:
        """The aotensor dtype of a type.   Raises: UnsupportedError for an unsupported dtype, such as int4"""
        return dtypes.canonical(str(aval.dtype))

    def converted(self, equation: Equation, inputs: Sequence[at.Variable]) -> Any:
        """Apply the rule of an equation."""
        return RULES[equation.primitive.name].convert(self, equation, *inputs)

    def extents(self, dims: Sequence[Any]) -> list[Extent]:
        """Translate extents of the framework."""
        return [self.extent(dim) for dim in dims]

    def lacking(self, equation: Equation) -> str | None:
        """The part of an equation that has no counterpart, "" for the whole; None if it is translated."""
        return unsupported_part(equation, self.dtype_of)

    def check(self, program: Program) -> None:
        """Raises: NoCounterpart with all equations that have none, also inside of loops and branches"""
        self._look(program)
        self.refuse()

    def _look(self, program: Program) -> None:
        for equation in body_of(program).eqns:
            if (reason := self.lacking(equation)) is not None:
                self.missing.append(self.entry(equation, reason))
            for inner in RULES[equation.primitive.name].inner(equation) if equation.primitive.name in RULES else ():
                self._look(inner)

    def run(self, program: Program, inputs: Sequence[at.Variable], is_users: bool = True) -> list[at.Variable]:
        """Translate a program: returns its outputs for these inputs. is_users: its equations have lines of the user's
        program; else all nodes get the current line. Raises: errors of the ops.
        """
        body, consts = body_of(program), getattr(program, "consts", ())
        values: dict[Any, at.Variable] = dict(zip(body.constvars, map(self.constant, consts), strict=True))
        values.update(zip(body.invars, inputs, strict=True))
        for equation in body.eqns:
            with self.located(equation) if is_users else nullcontext():
                outputs = self.outputs(equation, [self._read(x, values) for x in equation.invars])
            values.update(zip(equation.outvars, outputs, strict=True))
        return [self._read(x, values) for x in body.outvars]

    def _read(self, x: Any, values: Mapping[Any, at.Variable]) -> at.Variable:
        return self.constant(x.val, x.aval.dtype) if is_literal(x) else values[x]

    def outputs(self, equation: Equation, inputs: Sequence[at.Variable]) -> list[at.Variable]:
        """Translate an equation; results get the dtypes and static extents that the framework inferred."""
        found = self.converted(equation, inputs)
        return [self.with_known_type(x, var.aval) for x, var in zip(several(found), equation.outvars, strict=True)]

    def with_known_type(self, x: at.Variable, aval: Any) -> at.Variable:
        """x with a dtype and static extents."""
        x = at.cast(x, self.dtype_of(aval))
        assert x.ndim == len(aval.shape), (x.type, aval)
        if all(
            mine is not None or not isinstance(dim, int) for mine, dim in zip(x.static_shape, aval.shape, strict=True)
        ):
            return x
        return at.specify_shape(x, [dim if isinstance(dim, int) else None for dim in aval.shape])


def unsupported_part(equation: Equation, dtype_of: Callable[[Any], str]) -> str | None:
    """The unsupported part of an equation that has a rule: a dtype, or the reason that the rule reports; else None."""
    for var in equation.outvars:
        if hasattr(var.aval, "dtype"):
            try:
                dtype_of(var.aval)
            except UnsupportedError:
                return f"its result has dtype {var.aval.dtype}, which aotensor does not have"
    check = RULES[equation.primitive.name].check
    return (check(equation) or None) if check is not None else None
