"""States of the generator, and the position of each element of a draw: (key, draw, element number).

A state is a vector of two uint64: the key, and the number of draws under it. A state of a higher rank represents
many: the leading axes of a draw are then those of its state, and every row is drawn from its own state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from aotensor.core.builders import Extent, Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphTypeError
from aotensor.ops.random.philox import Position

WORDS = 2
"""Elements of a state vector."""


def check_state(state: TensorType) -> tuple[Dim, ...]:
    """The batch dims of a state, which its draws get.   Raises: GraphTypeError for anything but a state."""
    if state.dtype != "uint64" or not state.rank or state.shape[-1] not in (WORDS, None):
        raise GraphTypeError(f"a state of the generator must be a uint64 vector of {WORDS}, not {state}")
    return state.shape[:-1]


def array_positions(state: Array, extents: Sequence[int]) -> Position:
    """(key, draw, element number) of each element of a draw, as arrays that broadcast.   Raises: GraphTypeError"""
    if state.shape[-1] != WORDS:
        raise GraphTypeError(f"a state of the generator must have {WORDS} numbers, not {state.shape[-1]}")
    around = (*state.shape[:-1], *(1 for _ in extents))
    elements = np.arange(math.prod(extents), dtype=np.uint64).reshape(tuple(extents))
    return state[..., 0].reshape(around), state[..., 1].reshape(around), elements


def tabulate_draw(b: TensorBuilder, state: Tensor, extents: Sequence[Extent], dtype: str, fn: Any) -> Tensor:
    """out[…] = fn(builder, position, *counters) for a draw of `extents`, after the leading axes of its state."""
    b.same_extent([state.extents[-1], WORDS], "numbers of a state")
    leading = state.extents[:-1]
    shape = [*leading, *extents]
    shared = None if leading else [b.scalars.load(state, number) for number in range(WORDS)]

    def element(v: ScalarBuilder, *at: Scalar) -> Scalar:
        own = at[: len(leading)]
        key, draw = shared or [v.load(state, *own, number) for number in range(WORDS)]
        number: Extent = 0
        for extent, i in zip(extents, at[len(leading) : len(shape)], strict=True):
            number = number * extent + i
        position = (key, draw, v.cast(v.index(number), "uint64"))
        return fn(v, position, *at[: len(shape)])  # type: ignore[no-any-return]

    if shape:
        return b.tabulate(shape, dtype, element)
    return b.reshape(b.tabulate([1], dtype, element), [])  # a loop of one: samplers loop, and scalars have no loops
