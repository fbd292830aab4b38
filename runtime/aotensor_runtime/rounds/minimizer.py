"""Value and gradient of a split function for `scipy.optimize.minimize`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aotensor_runtime.arrays.plain import AnyArray
from aotensor_runtime.errors import ArgumentTypeError


class Minimizer:
    """A function of one vector x of all unknown inputs, which caches its last results."""

    def __init__(self, bound: Any, fixed: Mapping[str, Any]) -> None:
        protocol = bound.protocol
        self.bound, self.fixed = bound, dict(fixed)
        self.free = [name for name, axis in protocol.inputs.items() if axis is None and name not in fixed]
        unknown = [name for name in fixed if name not in protocol.inputs]
        if unknown:
            raise ArgumentTypeError(f"{protocol.function}: {unknown[0]} is not an input")
        if not self.free:
            raise ArgumentTypeError(
                f"{protocol.function}: all inputs are given, so there is no variable to minimise over"
            )
        self.keys = list(protocol.outputs.values())
        if len(self.keys) < 1 + len(self.free):
            raise ArgumentTypeError(
                f"{protocol.function}: it must return a value and {len(self.free)} gradients: {', '.join(self.free)}",
                hint=f"outputs: {', '.join(self.keys)}",
            )
        with_rows = {name for each in protocol.rounds for name in each.rows}
        if with_rows & set(list(protocol.outputs)[: 1 + len(self.free)]):
            raise ArgumentTypeError(f"{protocol.function}: the value and the gradients must not have rows")
        self._last: AnyArray | None = None
        self._found: tuple[float, AnyArray] | None = None

    def value(self, x: AnyArray) -> float:
        """The value at x."""
        return self._at(x)[0]

    def gradient(self, x: AnyArray) -> AnyArray:
        """The gradient at x, as one vector."""
        return self._at(x)[1]

    def _at(self, x: AnyArray) -> tuple[float, AnyArray]:
        x = np.asarray(x, np.float64)
        if self._found is None or self._last is None or not np.array_equal(x, self._last):
            result = self.bound(**self.fixed, **self._inputs(x))
            found = list(result.values()) if isinstance(result, dict) else list(result)
            gradients = [np.ravel(g) for g in found[1 : 1 + len(self.free)]]
            self._found = float(found[0]), np.concatenate(gradients).astype(np.float64)
            self._last = x.copy()
        return self._found

    def _inputs(self, x: AnyArray) -> dict[str, AnyArray]:
        """The inputs from x: one input is all of x, several are split by their known extents."""
        specs = self._specs()
        if len(self.free) == 1:
            spec = specs[self.free[0]]
            shape = tuple(n if isinstance(n, int) else -1 for n in spec.shape)
            if shape.count(-1) > 1:
                raise ArgumentTypeError(f"{self.bound.protocol.function}: the extents of {self.free[0]} are not known")
            return {self.free[0]: x.reshape(shape).astype(spec.dtype)}
        found, at = {}, 0
        for name in self.free:
            spec = specs[name]
            if not all(isinstance(n, int) for n in spec.shape):
                raise ArgumentTypeError(
                    f"{self.bound.protocol.function}: the extents of {name} are not known",
                    hint="with several inputs, give all of them numbers as extents",
                )
            size = int(np.prod(spec.shape))
            found[name] = x[at : at + size].reshape(spec.shape).astype(spec.dtype)
            at += size
        if at != x.size:
            raise ArgumentTypeError(f"{self.bound.protocol.function}: x has {x.size} elements instead of {at}")
        return found

    def _specs(self) -> dict[str, Any]:
        library = self.bound.split.library
        return {spec.name: spec for f in library.functions.values() for spec in f.spec.arguments}
