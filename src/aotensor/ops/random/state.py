"""Seeds, first states, and the state after a draw."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from aotensor.core.types import Array
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import SharedVariable, Variable, as_tensor, constant, shared
from aotensor.ops.elementwise.arithmetic import add, mul
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.random.positions import WORDS, check_state

Drawn: TypeAlias = tuple[Variable, Variable]
"""(the next state, the draw)"""


@coerced
def first_state(seed: Any, number: int = 0) -> Array:
    """The first state of generator `number` of a seed; None uses entropy from the operating system.

    The keys of different numbers and seeds are hashes of them, by NumPy's SeedSequence.

    Raises: GraphTypeError for a seed that is not an integer, GraphValueError for a negative seed or number.
    """
    if number < 0:
        raise GraphValueError(f"generator number {number} is negative")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
        raise GraphTypeError(f"a seed must be an integer or None, not {type(seed).__name__} {seed!r:.40}")
    if seed is not None and seed < 0:
        raise GraphValueError(f"seed {seed} is negative")
    sequence = np.random.SeedSequence(None if seed is None else int(seed), spawn_key=(number,))
    return np.array([sequence.generate_state(1, np.uint64)[0], 0], np.uint64)


def shared_state(seed: int | None, number: int = 0, name: str = "rng") -> SharedVariable:
    """A new shared variable with the value of `first_state`."""
    return shared(first_state(seed, number), name=name, shape=(WORDS,))


def as_state(value: Any) -> Variable:
    """Convert a state to a variable.   Raises: GraphTypeError for anything but a uint64 vector of 2."""
    state = as_tensor(value)
    check_state(state.tensor_type)
    if state.ndim != 1:
        raise GraphTypeError(
            "one draw uses one state, not a batch of them",
            lines=[state.describe()],
            hint="vectorize the draw over states",
        )
    return state


def after(state: Variable, draws: Any = 1) -> Variable:
    """The state after a number of draws, by default one."""
    if isinstance(draws, int):
        return add(state, constant(np.array([0, draws], np.uint64)))
    return add(state, mul(constant(np.array([0, 1], np.uint64)), cast(draws, "uint64")))
