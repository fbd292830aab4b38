"""A scalar builder on NumPy arrays for samplers, whose code then serves reference and compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from aotensor.core.types import Array


class ArrayBuilder:
    """`core.builders.ScalarBuilder` with arrays as scalars, which have operators: computes all elements at once."""

    abs = staticmethod(np.abs)
    minimum = staticmethod(np.minimum)
    maximum = staticmethod(np.maximum)
    select = staticmethod(np.where)

    def constant(self, value: bool | int | float, dtype: str) -> Array:
        """A literal as an array of rank 0."""
        return np.asarray(value, dtype)

    def math(self, name: str, x: Array) -> Any:
        """A function of one float, by its NumPy name."""
        return getattr(np, name)(x)

    def compare(self, predicate: str, x: Array, y: Array) -> Any:
        """Compare by a predicate: eq, as other comparisons are operators."""
        assert predicate == "eq", predicate
        return x == y

    def cast(self, x: Array, dtype: str) -> Array:
        """Convert to a dtype; integers that do not fit keep their lowest bits."""
        return np.asarray(x).astype(dtype)

    def iterate(
        self,
        start: Sequence[Array],
        fixed: Sequence[Array],
        goes_on: Callable[..., Array],
        step: Callable[..., Sequence[Array]],
    ) -> list[Array]:
        """While loop per element: values = step(builder, *values, *fixed) while goes_on(builder, *values, *fixed)."""
        shape = np.broadcast_shapes(*(np.shape(x) for x in (*start, *fixed)))
        operands = [np.array(np.broadcast_to(x, shape)).ravel() for x in (*start, *fixed)]
        active = np.arange(operands[0].size)
        while True:
            rows = [x[active] for x in operands]
            going = np.broadcast_to(goes_on(self, *rows), active.shape)
            active = active[going]
            if not active.size:
                return [x.reshape(shape) for x in operands[: len(start)]]
            made = step(self, *(x[going] for x in rows))
            for value, x in zip(operands, made, strict=False):
                value[active] = x
