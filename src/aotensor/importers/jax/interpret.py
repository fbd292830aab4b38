"""Translate a jaxpr to a graph, equation by equation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import jax
import numpy as np

import aotensor.tensor as at
from aotensor.extension import Site, dtypes
from aotensor.importers.errors import Untranslated
from aotensor.importers.jax.derivatives import keeps_rule, with_rule
from aotensor.importers.jax.dims import extent_of
from aotensor.importers.jax.keys import is_key, on_keys
from aotensor.importers.jax.odeint import integrated, integration_of
from aotensor.importers.jax.sites import site_of
from aotensor.importers.jax.stablehlo_fallback import program_of, run_lowered
from aotensor.importers.lax.interpret import Interpreter
from aotensor.importers.lax.rules import RULES
from aotensor.importers.lax.table import Equation, Extent

COUNTERPARTS: Final[Mapping[str, str]] = {name: RULES[name].note for name in sorted(RULES)}
"""Primitive of JAX → remark on its import, "" if there is none."""


class Importer(Interpreter):
    """One import of a jaxpr. known: the named extents of inputs. keeps_rules: derivatives will be JAX's"""

    framework = "JAX"
    hint = "docs/importers.md lists the primitives that have one"

    def __init__(self, known: Mapping[str, at.Variable], keeps_rules: bool = True) -> None:
        super().__init__()
        self._known = known
        self._keeps_rules = keeps_rules

    def extent(self, dim: Any) -> Extent:
        """An extent of JAX, which may be an expression of symbolic dims.   Raises: as `dims.extent_of`"""
        return extent_of(dim, self._known)

    def site(self, equation: Equation) -> Site | None:
        """The user's line, recorded by JAX."""
        return site_of(equation)

    def entry(self, equation: Equation, reason: str = "") -> Untranslated:
        """The primitive of an equation, with the user's line."""
        return Untranslated(equation.primitive.name, reason, str(site_of(equation) or ""))

    def lacking(self, equation: Equation) -> str | None:
        """The part of an equation that has no counterpart, "" for the whole; None if it is translated."""
        name = equation.primitive.name
        if name not in RULES:
            return "" if program_of(equation) is None else None
        if is_about_keys(equation) and name not in on_keys and not RULES[name].takes_keys:
            return "of keys"
        return super().lacking(equation)

    def constant(self, value: Any, dtype: Any = None) -> at.Variable:
        """A constant of the program; keys become arrays of their words, and derivatives of integers (float0) zeros."""
        if jax.dtypes.issubdtype(getattr(value, "dtype", np.dtype("float32")), jax.dtypes.prng_key):
            value = jax.random.key_data(value)
        array = np.asarray(value, dtype)
        return at.constant(np.zeros(array.shape, bool) if array.dtype == jax.dtypes.float0 else array)

    def dtype_of(self, aval: Any) -> str:
        """The aotensor dtype of a JAX type.   Raises: UnsupportedError for an unsupported dtype, such as int4"""
        return dtype_of(aval)

    def converted(self, equation: Equation, inputs: Sequence[at.Variable]) -> Any:
        """Apply the rule of an equation, or its rule for keys if an operand is an array of keys."""
        name = equation.primitive.name
        if is_about_keys(equation) and name in on_keys:
            return on_keys[name](self, equation, *inputs)
        if name not in RULES:
            return run_lowered(equation, inputs)
        return super().converted(equation, inputs)

    def outputs(self, equation: Equation, inputs: Sequence[at.Variable]) -> list[at.Variable]:
        """Translate an equation; keep JAX's derivatives where they differ from those of our ops, and map `odeint`."""
        if (call := integration_of(equation)) is not None:
            found = integrated(equation, call, inputs, lambda program, xs: _imported(self._known, program, xs))
            return [self.with_known_type(found[0], equation.outvars[0].aval)]
        if not self._keeps_rules or not keeps_rule(equation):
            return super().outputs(equation, inputs)
        found = Importer(self._known, keeps_rules=False).outputs(equation, inputs)
        return with_rule(equation, inputs, found, self._known, _imported)

    def with_known_type(self, x: at.Variable, aval: Any) -> at.Variable:
        """x with the dtype and the static extents that JAX inferred."""
        return x if is_key(aval) else super().with_known_type(x, aval)


def _imported(known: Mapping[str, at.Variable], program: Any, inputs: Sequence[at.Variable]) -> list[at.Variable]:
    """Import a program of derivatives: returns its outputs for these inputs.   Raises: NoCounterpart"""
    importer = Importer(known)
    importer.check(program)
    return importer.run(program, inputs)


def is_about_keys(equation: Equation) -> bool:
    """Is an operand an array of keys of random numbers?"""
    return any(is_key(x.aval) for x in equation.invars)


def dtype_of(aval: Any) -> str:
    """The aotensor dtype of a JAX type.   Raises: UnsupportedError for an unsupported dtype, such as int4"""
    if aval.dtype == jax.dtypes.float0:
        return "bool"  # what JAX calls the derivative of an integer holds nothing
    return dtypes.canonical("uint32" if is_key(aval) else str(aval.dtype))
