"""A jaxpr, equation by equation, as a graph of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal

import aotensor.tensor as at
from aotensor.core import dtypes
from aotensor.errors import UnsupportedError
from aotensor.graph.site import made_at
from aotensor.importers.errors import NoCounterpart, Untranslated
from aotensor.importers.jax.dims import extent_of
from aotensor.importers.jax.keys import is_key, on_keys
from aotensor.importers.jax.sites import site_of
from aotensor.importers.jax.table import RULES, Extent


class Importer:
    """One import.   known: the extents of inputs that have names"""

    def __init__(self, known: Mapping[str, at.Variable]) -> None:
        self._known = known

    def extent(self, dim: Any) -> Extent:
        """An extent of JAX, which may be an expression of symbolic dims.   Raises: as `dims.extent_of`"""
        return extent_of(dim, self._known)

    def extents(self, dims: Sequence[Any]) -> list[Extent]:
        return [self.extent(dim) for dim in dims]

    def run(
        self, program: ClosedJaxpr | Jaxpr, inputs: Sequence[at.Variable], is_users: bool = True
    ) -> list[at.Variable]:
        """The outputs of a program for these inputs.

        is_users: its equations have lines of the user's program; else all count as made where this is asked for.

        Raises: what ops of ours raise.
        """
        jaxpr, consts = (program.jaxpr, program.consts) if isinstance(program, ClosedJaxpr) else (program, ())
        values: dict[Any, at.Variable] = dict(zip(jaxpr.constvars, map(_constant, consts), strict=True))
        values.update(zip(jaxpr.invars, inputs, strict=True))
        for equation in jaxpr.eqns:
            with made_at(site_of(equation)) if is_users else nullcontext():
                outputs = self._outputs(equation, [self._read(x, values) for x in equation.invars])
            values.update(zip(equation.outvars, outputs, strict=True))
        return [self._read(x, values) for x in jaxpr.outvars]

    def _read(self, x: Any, values: Mapping[Any, at.Variable]) -> at.Variable:
        return _constant(x.val, x.aval.dtype) if isinstance(x, Literal) else values[x]

    def _outputs(self, equation: JaxprEqn, inputs: Sequence[at.Variable]) -> list[at.Variable]:
        name = equation.primitive.name
        if is_about_keys(equation) and name in on_keys:
            found = on_keys[name](self, equation, *inputs)
        else:
            found = RULES[name].convert(self, equation, *inputs)
        outputs = [found] if isinstance(found, at.Variable) else list(found)
        return [self._settled(x, var.aval) for x, var in zip(outputs, equation.outvars, strict=True)]

    def _settled(self, x: at.Variable, aval: Any) -> at.Variable:
        """x with the dtype and the static extents that JAX has found."""
        if is_key(aval):
            return x
        x = at.cast(x, dtype_of(aval))
        assert x.ndim == len(aval.shape), (x.type, aval)
        if all(
            mine is not None or not isinstance(dim, int) for mine, dim in zip(x.static_shape, aval.shape, strict=True)
        ):
            return x
        return at.specify_shape(x, [dim if isinstance(dim, int) else None for dim in aval.shape])


def is_about_keys(equation: JaxprEqn) -> bool:
    """Does an operand hold keys of random numbers?"""
    return any(is_key(x.aval) for x in equation.invars)


def dtype_of(aval: Any) -> str:
    """Our name of a dtype.   Raises: UnsupportedError for one that we do not have, such as int4"""
    if aval.dtype == jax.dtypes.float0:
        return "bool"  # what JAX calls the derivative of an integer holds nothing
    return dtypes.canonical(str(aval.dtype))


def _constant(value: Any, dtype: Any = None) -> at.Variable:
    if jax.dtypes.issubdtype(getattr(value, "dtype", np.dtype("float32")), jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    array = np.asarray(value, dtype)
    return at.constant(np.zeros(array.shape, bool) if array.dtype == jax.dtypes.float0 else array)


def check(jaxpr: Jaxpr) -> None:
    """Raises: NoCounterpart with everything that has none, also inside of loops and branches."""
    if found := list(_foreign(jaxpr)):
        raise NoCounterpart("JAX", found, hint="docs/importers.md lists the primitives that have one")


def _foreign(jaxpr: Jaxpr) -> Iterator[Untranslated]:
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if (reason := _lacking(equation)) is not None:
            site = site_of(equation)
            yield Untranslated(name, reason, "" if site is None else str(site))
        if name in RULES:
            for inner in RULES[name].inner(equation):
                yield from _foreign(inner.jaxpr if isinstance(inner, ClosedJaxpr) else inner)


def _lacking(equation: JaxprEqn) -> str | None:
    """What of an equation has no counterpart, None if all has."""
    name = equation.primitive.name
    if name not in RULES:
        return ""
    if is_about_keys(equation) and name not in on_keys and not RULES[name].takes_keys:
        return "of keys"
    for var in equation.outvars:
        if not is_key(var.aval) and hasattr(var.aval, "dtype"):
            try:
                dtype_of(var.aval)
            except UnsupportedError:
                return str(var.aval.dtype)
    check = RULES[name].check
    return (check(equation) or None) if check is not None else None
