"""The sequences and the initial values of a loop, as the user wrote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType, checked_int
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.elementwise.arithmetic import minimum
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.shape.axes import shape_padleft
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, extent_of, is_extent


def as_list(value: Any) -> list[Any]:
    """A list of the items of a list or tuple; of one item for any other value, empty for None."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


@frozen_dataclass
class Rows:
    """One tap of a sequence: its rows in the order of the steps, and the symbol of one row."""

    rows: Variable
    slot: Variable


@frozen_dataclass
class State:
    """An output that is fed back.

    initial: (depth, …), the oldest row first.
    lags: the taps in the order of the step function's parameters; slots: their symbols.
    literal: the Python number that the initial value was written as, if it was one.
    """

    initial: Variable
    lags: tuple[int, ...]
    slots: tuple[Variable, ...]
    literal: int | float | None = None

    def by_lag(self) -> tuple[tuple[int, ...], list[Variable]]:
        """(taps in increasing order, their symbols)."""
        order = sorted(zip(self.lags, self.slots, strict=True), key=lambda pair: pair[0])
        return tuple(lag for lag, _ in order), [slot for _, slot in order]


def read_sequences(given: Any, go_backwards: bool) -> tuple[list[Rows], list[SymbolicExtent]]:
    """The taps of all sequences in the order of the step's arguments, and the number of steps each sequence allows.

    Raises: GraphTypeError for a scalar, GraphValueError for an unknown key.
    """
    found: list[Rows] = []
    lengths: list[SymbolicExtent] = []
    for position, item in enumerate(as_list(given)):
        x, taps = _with_taps(item, "input", position)
        if x.ndim == 0:
            raise GraphTypeError(
                f"scan: sequence {position} is a scalar, which has no axis to loop over", lines=[x.describe()]
            )
        low, high = min(*taps, 0), max(*taps, 0)
        for tap in taps:
            start, end = tap - low, high - tap
            rows = x if start == end == 0 else x[start : None if end == 0 else -end]
            if go_backwards:
                rows = rows[::-1]
            name = x.name and f"{x.name}[t{tap:+d}]" if tap else x.name and f"{x.name}[t]"
            found.append(Rows(rows, Variable(TensorType(x.dtype, x.tensor_type.shape[1:]), name=name)))
        lengths.append(extent_of(found[-1].rows, 0))
    return found, lengths


def _with_taps(item: Any, key: str, position: int) -> tuple[Variable, tuple[int, ...]]:
    """A sequence and its taps, (0,) by default."""
    if not isinstance(item, Mapping):
        return as_tensor(item), (0,)
    unknown = set(item) - {key, "taps"}
    if unknown or key not in item:
        raise GraphValueError(
            f"scan: sequence {position}: expected a dict with the keys {key} and taps, found {sorted(item)}"
        )
    taps = item.get("taps")
    return as_tensor(item[key]), (0,) if taps is None else checked_taps(taps, f"sequence {position}")


def checked_taps(taps: Any, what: str) -> tuple[int, ...]:
    """Check the taps of a loop.   Raises: GraphTypeError unless ints, GraphValueError unless distinct and at least
    one.
    """
    listed = sorted(taps) if isinstance(taps, set | frozenset) else as_list(taps)
    if not all(isinstance(tap, int | np.integer) and not isinstance(tap, bool) for tap in listed):
        raise GraphTypeError(f"scan: the taps of {what} must be ints, not {taps!r}")
    if not listed or len(set(listed)) != len(listed):
        raise GraphValueError(f"scan: the taps of {what} must be at least one number, and distinct, not {taps!r}")
    return tuple(checked_int(tap, "a tap") for tap in listed)


def read_outputs(given: Any) -> list[State | None]:
    """A state for each fed-back output, None for the others.

    Raises: GraphValueError for taps that are not in the past, an unknown key, or too few initial rows.
    """
    return [_state(item, position) for position, item in enumerate(as_list(given))]


def _state(item: Any, position: int) -> State | None:
    what = f"output {position}"
    if item is None:
        return None
    taps: tuple[int, ...] = (-1,)
    if isinstance(item, Mapping):
        unknown = set(item) - {"initial", "taps", "inplace"}
        if unknown:
            raise GraphValueError(f"scan: {what}: expected a dict with the keys initial and taps, found {sorted(item)}")
        has_taps = item.get("taps") is not None
        if item.get("initial") is None:
            if has_taps:
                raise GraphValueError(f"scan: {what} has taps but no initial value")
            return None
        taps = checked_taps(item["taps"], what) if has_taps else taps
        item = item["initial"]
    if max(taps) >= 0:
        raise GraphValueError(f"scan: the taps of {what} must be negative, steps in the past, not {taps}")
    is_literal = isinstance(item, int | float) and not isinstance(item, bool | np.generic)
    return make_state(as_tensor(item), taps, what, item if is_literal else None)


def make_state(x: Variable, taps: tuple[int, ...], what: str, literal: int | float | None = None) -> State:
    """A state of one row, or with a leading axis of rows for taps other than just −1.

    Raises: GraphValueError for too few initial rows.
    """
    if taps == (-1,):
        initial = shape_padleft(x)
    else:
        depth = -min(taps)
        if x.ndim == 0:
            raise GraphValueError(f"scan: the initial value of {what} needs {depth} rows", lines=[x.describe()])
        rows = x.static_shape[0]
        if rows is not None and rows < depth:
            raise GraphValueError(
                f"scan: the initial value of {what} has {rows} rows, but its taps need {depth}", lines=[x.describe()]
            )
        initial = x if rows == depth else x[:depth]
    type = TensorType(x.dtype, initial.tensor_type.shape[1:])
    slots = tuple(Variable(type, name=x.name and f"{x.name}[t{lag:+d}]") for lag in taps)
    return State(initial, taps, slots, literal)


def step_count(n_steps: Any, lengths: Sequence[SymbolicExtent]) -> Variable:
    """The number of steps, an int64 scalar: `n_steps` if given, else as many as the shortest sequence allows.

    Raises: GraphValueError without sequences and n_steps, for a negative number, or one that a sequence does not allow;
    GraphTypeError for a non-integer.
    """
    if n_steps is None:
        if not lengths:
            raise GraphValueError("scan: n_steps is needed, as there are no sequences")
        return _shortest(lengths)
    count = as_extent(n_steps, "n_steps")
    if isinstance(count, int):
        if count < 0:
            raise GraphValueError(f"scan: n_steps must not be negative, found {count}")
        for position, length in enumerate(lengths):
            if isinstance(length, int) and length < count:
                raise GraphValueError(f"scan: sequence {position} has rows for {length} steps, but n_steps is {count}")
        return constant(count, dtype="int64")
    return cast(count, "int64")


def _shortest(lengths: Sequence[SymbolicExtent]) -> Variable:
    numbers = [length for length in lengths if isinstance(length, int)]
    found: list[Variable] = []
    for length in lengths:
        if isinstance(length, Variable) and not any(_is_same_dim(length, one) for one in found):
            found.append(length)
    found += [constant(min(numbers), dtype="int64")] if numbers else []
    shortest = found[0]
    for length in found[1:]:
        shortest = minimum(shortest, length)
    return shortest


def _is_same_dim(length: Variable, other: Variable) -> bool:
    """Are two lengths the extents of one named dim?"""
    return length is other or (
        length.owner is not None
        and length.owner.op == getattr(other.owner, "op", None)
        and len(length.owner.inputs) == 1
        and is_extent(other, length.owner.inputs[0], 0)
    )
