"""A scalar builder on NumPy arrays for samplers, whose code then serves reference and compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from aotensor.core.types import Array

_PREDICATES: Final[dict[str, Callable[..., Any]]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


class ArrayBuilder:
    """`core.builders.ScalarBuilder` with arrays as scalars: computes all elements at once, and masks finished ones."""

    add = staticmethod(np.add)
    sub = staticmethod(np.subtract)
    mul = staticmethod(np.multiply)
    div = staticmethod(np.divide)
    neg = staticmethod(np.negative)
    abs = staticmethod(np.abs)
    minimum = staticmethod(np.minimum)
    maximum = staticmethod(np.maximum)
    and_ = staticmethod(np.bitwise_and)
    or_ = staticmethod(np.bitwise_or)
    xor = staticmethod(np.bitwise_xor)
    not_ = staticmethod(np.invert)
    select = staticmethod(np.where)
    shift_left = staticmethod(np.left_shift)
    shift_right = staticmethod(np.right_shift)

    def constant(self, value: bool | int | float, dtype: str) -> Array:
        """A literal as an array of rank 0."""
        return np.asarray(value, dtype)

    def math(self, name: str, x: Array) -> Any:
        """A function of one float, by its NumPy name."""
        return getattr(np, name)(x)

    def compare(self, predicate: str, x: Array, y: Array) -> Any:
        """Compare by a predicate: eq, ne, lt, le, gt or ge."""
        return _PREDICATES[predicate](x, y)

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
