"""The window of a basic index: the elements of each axis that `x[2, 1:n, ::-1]` names; and values assigned to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.types import Array, Dim, TensorType, broadcast_shapes
from aotensor.errors import GraphIndexError, GraphTypeError, GraphValueError
from aotensor.graph.operations import KnownValues
from aotensor.graph.variable import Variable


class Symbolic(Enum):
    """Marker of a symbolic bound in an index: an input of the op."""

    INPUT = "?"

    def __repr__(self) -> str:
        return "?"


INPUT = Symbolic.INPUT
ZERO_STEP = "the step of a slice is 0"
Bound: TypeAlias = int | Symbolic | None


@dataclass(frozen=True, slots=True)
class Position:
    """An index of one element of an axis; the result lacks the axis."""

    at: int | Symbolic

    def __repr__(self) -> str:
        return repr(self.at)

    def symbols(self) -> int:
        """The number of symbolic inputs of this entry."""
        return int(self.at is INPUT)


@dataclass(frozen=True, slots=True)
class Slice:
    """start:stop:step of an axis, clipped as in Python; a missing bound is None, a step never."""

    start: Bound = None
    stop: Bound = None
    step: Bound = 1

    def __repr__(self) -> str:
        text = ":".join("" if bound is None else repr(bound) for bound in (self.start, self.stop))
        return text if self.step == 1 else f"{text}:{self.step!r}"

    def symbols(self) -> int:
        """The number of symbolic inputs of this entry."""
        return (self.start is INPUT) + (self.stop is INPUT) + (self.step is INPUT)

    def is_whole(self) -> bool:
        """Does it name all elements of the axis, whatever the extent?"""
        return self.stop is None and (
            (self.start in (None, 0) and self.step == 1) or (self.start, self.step) == (None, -1)
        )


Entry: TypeAlias = Position | Slice
Entries: TypeAlias = tuple[Entry, ...]


def window_shape(entries: Entries, x: TensorType, symbols: Sequence[TensorType]) -> tuple[Dim, ...]:
    """Dims of the window that `entries` name in x; axes without an entry are whole.

    Raises: GraphIndexError for too many entries or a position outside a static extent, GraphTypeError for a bound
    that is not an integer scalar.
    """
    if len(entries) > x.rank:
        raise GraphIndexError(f"{len(entries)} indices for a tensor of rank {x.rank}")
    assert sum(entry.symbols() for entry in entries) == len(symbols), "one input per symbolic bound"
    for found in symbols:
        if found.rank != 0 or found.dtype not in dtypes.INTEGERS:
            raise GraphTypeError(f"an index must be an integer scalar, not {found}")
    dims: list[Dim] = []
    for axis, entry in enumerate(entries):
        dim = x.shape[axis]
        if isinstance(entry, Position):
            _check_position(entry, dim, axis)
        else:
            dims.append(_slice_dim(entry, dim))
    return (*dims, *x.shape[len(entries) :])


def _check_position(entry: Position, dim: Dim, axis: int) -> None:
    if isinstance(entry.at, int) and isinstance(dim, int) and not -dim <= entry.at < dim:
        raise GraphIndexError(out_of_range(axis, str(entry.at), str(dim)))


def out_of_range(axis: int, found: str, extent: str) -> str:
    """The message for an index outside of its axis."""
    return f"index {found} is out of range for axis {axis} of extent {extent}"


def _slice_dim(entry: Slice, dim: Dim) -> Dim:
    if entry.is_whole():
        return dim
    if isinstance(dim, int) and not entry.symbols():
        return len(range(*slice(*_bounds(entry)).indices(dim)))
    return None


def entries_at(entries: Entries, symbols: Sequence[Variable], known: KnownValues) -> tuple[Entries, list[int]]:
    """The entries with known bounds as numbers, and the remaining symbols.

    A position counts as known if it depends on extents only: others are checked where they are read.
    """
    left: list[int] = []
    pending = iter(enumerate(symbols))

    def bound(given: Bound, is_position: bool = False) -> Bound:
        if given is not INPUT:
            return given
        number, x = next(pending)
        value = known.value(x) if not is_position or known.follows_from_extents(x) else None
        if value is None:
            left.append(number)
        return INPUT if value is None else int(value)

    found: list[Entry] = []
    for entry in entries:
        if isinstance(entry, Position):
            at = bound(entry.at, is_position=True)
            found.append(entry if at is None else Position(at))
            continue
        start, stop, step = (bound(given) for given in (entry.start, entry.stop, entry.step))
        if step == 0:
            raise GraphValueError(ZERO_STEP)
        found.append(Slice(start, stop, step))
    return tuple(found), left


def concrete_index(entries: Entries, x: Array, symbols: Sequence[Array]) -> tuple[int | slice, ...]:
    """The index for NumPy.   Raises: GraphIndexError for a position outside its axis."""
    pending = iter(symbols)
    index: list[int | slice] = []
    for axis, entry in enumerate(entries):
        if isinstance(entry, Slice):
            bounds = (entry.start, entry.stop, entry.step)
            start, stop, step = (int(next(pending)) if bound is INPUT else bound for bound in bounds)
            if step == 0:
                raise GraphValueError(ZERO_STEP)
            index.append(slice(start, stop, step))
            continue
        at = int(next(pending)) if entry.at is INPUT else entry.at
        if not -x.shape[axis] <= at < x.shape[axis]:
            raise GraphIndexError(out_of_range(axis, str(at), str(x.shape[axis])))
        index.append(at)
    return tuple(index)


@dataclass(frozen=True, slots=True)
class Line:
    """The positions start, start + step, … of one axis, all in range. extent: their number; None for an int index"""

    start: Extent
    extent: Extent | None
    step: Extent = 1


def lower_window(b: TensorBuilder, entries: Entries, x: Tensor, symbols: Sequence[Tensor]) -> list[Line]:
    """One line per axis of x, with run-time checks of positions."""
    pending = iter(symbols)
    lines: list[Line] = []
    for axis, n in enumerate(x.extents):
        if axis >= len(entries):
            lines.append(Line(0, n))
            continue
        entry = entries[axis]
        lines.append(
            _lower_position(b, entry, n, axis, pending)
            if isinstance(entry, Position)
            else _lower_slice(b, entry, n, pending)
        )
    return lines


def _next(b: TensorBuilder, bound: int | Symbolic, pending: Iterator[Tensor]) -> Extent:
    return bound if isinstance(bound, int) else b.scalars.cast(b.item(next(pending)), dtypes.INDEX)


def _lower_position(b: TensorBuilder, entry: Position, n: Extent, axis: int, pending: Iterator[Tensor]) -> Line:
    v = b.scalars
    at = _next(b, entry.at, pending)
    if isinstance(at, int) and isinstance(n, int) and -n <= at < n:
        return Line(at % n, None)
    inside = (v.index(at) >= 0 - n) & (v.index(at) < n)
    b.check(inside, out_of_range(axis, "{found}", "{expected}"), found=at, expected=n, kind="index")
    return Line(_from_start(b, at, n), None)


def _from_start(b: TensorBuilder, at: Extent, n: Extent) -> Extent:
    """Emit a possibly negative index counted from the start of the axis."""
    v = b.scalars
    if isinstance(at, int):
        return n + at if at < 0 else at
    return v.select(at < 0, at + n, at)


def _lower_slice(b: TensorBuilder, entry: Slice, n: Extent, pending: Iterator[Tensor]) -> Line:
    v = b.scalars
    if entry.is_whole():
        return Line(0, n) if entry.step == 1 else Line(n - 1, n, -1)
    start, stop, step = (None if bound is None else _next(b, bound, pending) for bound in _bounds(entry))
    assert step is not None
    if not isinstance(step, int):
        b.check(v.compare("ne", step, v.index(0)), ZERO_STEP)
        furthest = n + 1  # longer steps select the same, but sums with them may overflow
        step = v.imin(v.imax(step, 0 - furthest), furthest)
    low, high = _select_by_direction(b, step, 0, -1), _select_by_direction(b, step, n, n - 1)

    def clipped(bound: Extent | None, default: Extent) -> Extent:
        return default if bound is None else v.imin(v.imax(_from_start(b, bound, n), low), high)

    start = clipped(start, _select_by_direction(b, step, low, high))
    stop = clipped(stop, _select_by_direction(b, step, high, low))
    distance = _select_by_direction(b, step, stop - start, start - stop)
    stride = _stride(b, step)
    if stride != 1:
        distance = (distance + (stride - 1)) // stride
    return Line(start, v.imax(distance, 0), step)


def _bounds(entry: Slice) -> tuple[Bound, Bound, Bound]:
    return entry.start, entry.stop, entry.step


def _select_by_direction(b: TensorBuilder, step: Extent, yes: Extent, no: Extent) -> Extent:
    """`yes` for a positive step, else `no`; emitted as a select if the step is not static."""
    v = b.scalars
    if isinstance(step, int):
        return yes if step > 0 else no
    return v.select(step > 0, v.index(yes), v.index(no))


def _stride(b: TensorBuilder, step: Extent) -> Extent:
    """|step|, at least 1, so that no divisor is 0 before a step of 0 is refused."""
    v = b.scalars
    return v.imax(v.imax(step, 0 - step), 1)


def ascending_line(b: TensorBuilder, line: Line) -> Line:
    """A line with the same positions in ascending order."""
    if line.extent is None or (isinstance(line.step, int) and line.step > 0):
        return line
    v = b.scalars
    lowest = v.imax(line.start + (line.extent - 1) * line.step, 0)
    return Line(_select_by_direction(b, line.step, line.start, lowest), line.extent, _stride(b, line.step))


def mirrored(b: TensorBuilder, y: Tensor, steps: Sequence[Extent]) -> Tensor:
    """y reversed along the axes with a negative step."""
    if all(isinstance(step, int) and step > 0 for step in steps):
        return y
    lines = [
        Line(_select_by_direction(b, step, 0, extent - 1), extent, _select_by_direction(b, step, 1, -1))
        for extent, step in zip(y.extents, steps, strict=True)
    ]
    return gather(b, y, lines)


def gather(b: TensorBuilder, x: Tensor, lines: Sequence[Line]) -> Tensor:
    """The window of x: out[i, …] = x[start + i·step, …]."""

    def element(v: ScalarBuilder, *at: Scalar) -> Scalar:
        pending = iter(at)
        indices = [line.start if line.extent is None else line.start + next(pending) * line.step for line in lines]
        return v.load(x, *indices)

    return b.tabulate([line.extent for line in lines if line.extent is not None], x.dtype, element)


# --- what is put into a window ---------------------------------------------------------------------------------------


def check_value(x: TensorType, y: TensorType, window: tuple[Dim, ...]) -> None:
    """A value y for a window of x: cast to the dtype of x, broadcast along dims that are statically 1.

    Raises: GraphTypeError if the cast loses the fraction or the sign, GraphValueError if y does not fit the window.
    """
    if not np.can_cast(y.dtype, x.dtype, "same_kind"):
        raise GraphTypeError(
            f"a value of {y.dtype} cannot be stored in a tensor of {x.dtype} without losing its fraction or its sign"
        )
    if y.rank > len(window):
        raise GraphValueError(f"the value has rank {y.rank}, more than the {len(window)} axes of x[index]")
    for dim, wide in zip(y.static_shape, window[len(window) - y.rank :], strict=True):
        if wide == 1 and dim not in (1, None):
            raise GraphValueError(f"the value has extent {dim} along an axis where x[index] has 1")
    broadcast_shapes([window, y.shape])


def check_extents(name: str, type: TensorType, shape: Sequence[int | None], window: Sequence[Dim]) -> None:
    """The run-time part of `check_value`.   Raises: GraphValueError if y does not fit the window."""
    for axis, (dim, found) in enumerate(zip(type.static_shape, shape, strict=True), len(window) - len(shape)):
        if dim != 1 and isinstance(found, int) and isinstance(window[axis], int) and found != window[axis]:
            raise GraphValueError(_mismatch(name, axis, str(found), str(window[axis])))


def broadcast_to_window(b: TensorBuilder, name: str, y: Tensor, extents: Sequence[Extent]) -> Tensor:
    """y broadcast to the window, after a check of its extents."""
    v = b.scalars
    missing = len(extents) - len(y.extents)
    for axis, found in enumerate(y.extents, start=missing):
        wanted = extents[axis]
        if found == 1 or found == wanted:
            continue
        agree = v.compare("eq", v.index(found), v.index(wanted))
        b.check(agree, _mismatch(name, axis, "{found}", "{expected}"), found=found, expected=wanted)
    return b.broadcast(y, extents)


def _mismatch(name: str, axis: int, found: str, expected: str) -> str:
    return f"{name}: a value of extent {found} for axis {axis} of a window of extent {expected}"
