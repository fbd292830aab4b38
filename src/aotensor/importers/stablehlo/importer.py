"""Translate the programs of a StableHLO text to a graph with the text's lines, extents and types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

import aotensor.tensor as at
from aotensor.errors import AotensorError, GraphTypeError
from aotensor.extension import Site, dtypes
from aotensor.importers.base import Unsuited, retitled
from aotensor.importers.check import checked, printable
from aotensor.importers.errors import NoCounterpart, Untranslated
from aotensor.importers.lax.interpret import Interpreter
from aotensor.importers.lax.table import Extent
from aotensor.importers.lax.windows import known_value
from aotensor.importers.stablehlo.attributes import dtype_of
from aotensor.importers.stablehlo.rules import OWN
from aotensor.importers.stablehlo.table import aval_of, may_be

_LONGEST: Final = 64
"""Entries of a vector of extents that is followed: no tensor has more axes."""


class Importer(Interpreter):
    """One import of a text. file: its name in messages; checks: messages and conditions that calls must meet"""

    framework = "StableHLO"

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file
        self._entries: dict[at.Variable, list[Extent]] = {}
        self._extents: dict[tuple[at.Variable, int], Extent] = {}
        self._constants: dict[int, at.Variable] = {}
        self.checks: list[tuple[str, at.Variable]] = []

    def name_extent(self, x: at.Variable, axis: int, size: Extent) -> None:
        """Record that an extent of x equals that of others."""
        self._extents[x, axis] = size

    def extent(self, dim: Any) -> Extent:
        """A number, or the scalar for a dynamic extent.   Raises: Unsuited for an unknown one"""
        if dim is None:
            raise Unsuited("it needs an extent that is unknown (?) in the text")
        found: Extent = dim
        return found

    def site(self, equation: Any) -> Site | None:
        """The line of the text."""
        return Site(self._file, equation.line)

    def entry(self, equation: Any, reason: str = "") -> Untranslated:
        """The operation of an equation, with its line."""
        return Untranslated(equation.name, reason, f"{self._file}:{equation.line}")

    def constant(self, value: Any, dtype: Any = None) -> at.Variable:
        """Convert a constant of the text; equal constants are one variable."""
        if id(value) not in self._constants:
            self._constants[id(value)] = at.constant(np.asarray(value, dtype))
        return self._constants[id(value)]

    def converted(self, equation: Any, inputs: Sequence[at.Variable]) -> Any:
        """Apply the rule of an equation, with extents given by operands."""
        name, count = equation.primitive.name, len(inputs) - equation.shapes
        if name == "extent":
            return at.cast(at.as_tensor(self._extent_of(inputs[0], equation.params["axis"])), "int64")
        if name == "check":
            if not self._are_one_extent(inputs[1:3]):
                self.checks.append((equation.params["message"], inputs[0]))
            return []
        if equation.late is not None:
            late = equation.late(*(self._integers_of(x) for x in inputs[count:]))
            equation = replace(equation, params={**equation.params, **late})
        inputs = inputs[:count]
        if any(None in x.aval.shape for x in equation.invars[:count]):
            known = [_with_extents(x, [self._extent_of(y, d) for d in range(y.ndim)])
                     for x, y in zip(equation.invars, inputs, strict=False)]  # fmt: skip
            equation = replace(equation, invars=known)
        if name in OWN:
            return OWN[name](self, equation, *inputs)
        return super().converted(equation, inputs)

    def outputs(self, equation: Any, inputs: Sequence[at.Variable]) -> list[at.Variable]:
        """Translate an equation.   Raises: NoCounterpart, and what ops raise, with the line"""
        try:
            found = super().outputs(equation, inputs)
        except Unsuited as error:
            raise NoCounterpart(self.framework, [self.entry(equation, str(error))]) from error
        except AotensorError as error:
            if error.diagnostic.title.startswith((f"{self._file}:", "StableHLO: ")):
                raise
            raise retitled(error, lambda title: f"{self._file}:{equation.line}: {equation.name}: {title}") from error
        self._record_integers(equation, inputs, found)
        return found

    def with_known_type(self, x: at.Variable, aval: Any) -> at.Variable:
        """x with dtype and static extents of the text.   Raises: GraphTypeError if they contradict those of x"""
        if not may_be(x.static_shape, aval.shape):
            raise GraphTypeError(f"its result has type {x.type}, but the text declares {aval}")
        if dtypes.is_complex(x.dtype) and not dtypes.is_complex(dtype_of(aval)):
            raise GraphTypeError(f"its result has type {x.type}, but the text declares {aval}")
        return super().with_known_type(x, aval)

    def _are_one_extent(self, pair: Sequence[at.Variable]) -> bool:
        """Are two integers the same named extent?"""
        found = [self._entries.get(x) for x in pair]
        first, second = found if len(found) == 2 else (None, None)
        return first is not None and second is not None and len(first) == len(second) == 1 and first[0] is second[0]

    def _extent_of(self, x: at.Variable, axis: int) -> Extent:
        known = x.static_shape[axis]
        if known is not None:
            return known
        return self._extents.setdefault((x, axis), at.shape_i(x, axis))

    def _integers_of(self, x: at.Variable) -> list[Extent]:
        """The integers of a vector or matrix, as numbers if they are static.   Raises: Unsuited"""
        if x.ndim == 2 and 0 < (x.static_shape[1] or 0) <= _LONGEST:
            value = known_value(x) if x.dtype.startswith(("int", "uint")) else None
            if value is not None and value.size <= _LONGEST:
                return [int(n) for n in value.flat]
            return self._integers_of(at.flatten(x))
        entries = self._entries_of(x)
        if entries is not None:
            return entries
        count = x.static_shape[0] if x.ndim == 1 else None
        if count is None or count > _LONGEST or not x.dtype.startswith(("int", "uint")):
            raise Unsuited(
                f"its extents are in an operand of type {x.type}, not in a vector of at most {_LONGEST} integers with "
                "a "
                "known length"
            )
        return [at.cast(x[k], "int64") for k in range(count)]

    def _entries_of(self, x: at.Variable) -> list[Extent] | None:
        """The integers of a scalar or vector that is constant or computed from extents; else None."""
        if x in self._entries:
            return self._entries[x]
        if x.ndim > 1 or not x.dtype.startswith(("int", "uint")) or (x.ndim and (x.static_shape[0] or 0) > _LONGEST):
            return None
        value = known_value(x)
        return None if value is None else [int(n) for n in np.ravel(value)]

    def _record_integers(self, equation: Any, inputs: Sequence[at.Variable], found: Sequence[at.Variable]) -> None:
        """Track the integers of a result that rearranges integers computed from extents."""
        if not found or found[0].ndim > 1 or not found[0].dtype.startswith(("int", "uint")):
            return
        name, x = equation.primitive.name, found[0]
        if name == "extent":
            self._entries[x] = [self._extent_of(inputs[0], equation.params["axis"])]
        elif name in ("convert_element_type", "reshape", "broadcast_in_dim") and inputs:
            entries = self._entries.get(inputs[0])
            if entries is None and inputs[0].ndim == 0 and inputs[0].dtype.startswith(("int", "uint")):
                entries = [at.cast(inputs[0], "int64")]
            if entries is not None and x.static_shape in ((), (len(entries),)):
                self._entries[x] = entries
        elif name == "concatenate" and any(y in self._entries for y in inputs) and _are_short(inputs):
            self._entries[x] = [n for y in inputs for n in self._integers_of(y)]

    def checked(self, outputs: Sequence[at.Variable]) -> list[at.Variable]:
        """Outputs after the run-time checks that the text requires."""
        found = list(outputs)
        for message, condition in self.checks:
            found = [
                checked(printable(message) or "a shape_assertion of the program failed", x, condition) for x in found
            ]
        return found


def _are_short(xs: Sequence[at.Variable]) -> bool:
    return all((x.static_shape[0] or _LONGEST) < _LONGEST for x in xs)


def _with_extents(x: Any, extents: Sequence[Extent]) -> Any:
    """An operand in the form that rules read, with scalars for unknown extents."""
    plain = SimpleNamespace(aval=aval_of(extents, x.aval.dtype))
    if hasattr(x, "val"):
        plain.val = x.val
    return plain
