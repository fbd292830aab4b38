"""Roles of a loop's inputs and outputs; types and NumPy reference of loops and branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from aotensor.core.types import Dim, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.variable import Variable

T = TypeVar("T")


@dataclass
class Operands(Generic[T]):
    """The inputs of a loop by their roles; `initial` has one entry per state."""

    n_steps: T
    sequences: list[T]
    initial: list[T]
    constants: list[T]

    def flat(self) -> list[T]:
        """The inputs of the loop as one list, in their order."""
        return [self.n_steps, *self.sequences, *self.initial, *self.constants]


@dataclass
class Slots(Generic[T]):
    """The inputs of a loop's body by their roles; `taps` has one list per state."""

    sequences: list[T]
    taps: list[list[T]]
    constants: list[T]

    def flat(self) -> list[T]:
        """The inputs of the body as one list, in their order."""
        return [*self.sequences, *(tap for taps in self.taps for tap in taps), *self.constants]


@dataclass
class Results(Generic[T]):
    """The outputs of a loop or its body by their roles; `last`: number of steps, or the stop condition, if there is
    one.
    """

    states: list[T]
    mapped: list[T]
    last: T | None = None

    def flat(self) -> list[T]:
        """The outputs as one list, in their order."""
        return [*self.states, *self.mapped, *([] if self.last is None else [self.last])]


def slot_type(what: str, slot: Variable, found: TensorType) -> TensorType:
    """The type of a value passed to an input of a subgraph, with the extents known from either.

    Raises: GraphValueError if dtype, rank or static extents differ.
    """
    wanted = slot.tensor_type
    if (found.dtype, found.rank) != (wanted.dtype, wanted.rank):
        raise GraphValueError(f"{what} is {found}, but {wanted} is expected")
    return TensorType(found.dtype, merged_dims(what, found.shape, wanted.shape))


def merged_dims(what: str, first: Sequence[Dim], second: Sequence[Dim]) -> tuple[Dim, ...]:
    """The dims of two tensors of one shape: a number tells more than a name, a name more than nothing.

    Raises: GraphValueError if two numbers differ.
    """
    return tuple(_merge_dim(what, axis, *pair) for axis, pair in enumerate(zip(first, second, strict=True)))


def _merge_dim(what: str, axis: int, one: Dim, other: Dim) -> Dim:
    if isinstance(one, int) and isinstance(other, int) and one != other:
        raise GraphValueError(f"{what}: extents {one} and {other} along axis {axis} differ")
    if isinstance(one, int) or other is None:
        return one
    return other if isinstance(other, int) or one is None else one


def common_dims(first: Sequence[Dim], second: Sequence[Dim]) -> tuple[Dim, ...]:
    """The dims that two shapes of one rank have in common; None where they differ."""
    return tuple(one if one == other else None for one, other in zip(first, second, strict=True))
