"""gather: translate XLA's description of windows of one array at many positions to an index. Along each axis of the
array a window covers the whole axis, or its position is read from the array of starts, or the axis is paired with a
batch axis. Whole axes stay slices, which makes of the common case, rows of a table, an index by one array.

Source: https://openxla.org/xla/operation_semantics#gather
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np

import aotensor.tensor as at
from aotensor.extension import dtypes
from aotensor.importers.lax.table import Context, Equation, Extent, rule
from aotensor.importers.lax.windows import known_value, window


@dataclass(frozen=True)
class Windows:
    """The positions of windows.

    shape: the extents of the array; sizes: those of a window, by axis of the array. batch: the extents that count the
    windows. kept_axes: the axes of the array along which windows have an axis. start_axes: the axis that each column of
    `starts` belongs to. batch_axes: axis of the array → the axis of the batch that it is paired with.
    """

    shape: Sequence[Extent]
    sizes: Sequence[Extent]
    batch: Sequence[Extent]
    kept_axes: Sequence[int]
    start_axes: Sequence[int]
    batch_axes: Mapping[int, int]
    starts: at.Variable
    mode: str

    @cached_property
    def slices(self) -> list[int]:
        """The axes along which windows have the full extent; with a batch, at least one axis is excluded."""
        moves = self.start_axes if self.mode == "fill_or_drop" else ()
        found = [d for d in self.kept_axes if d not in moves and _is_same(self.sizes[d], self.shape[d])]
        return found[1:] if self.batch and len(found) == len(self.shape) else found

    @cached_property
    def indexed(self) -> list[int]:
        """The other axes, which `transposed` moves to the front."""
        return [d for d in range(len(self.shape)) if d not in self.slices]

    @cached_property
    def cut_axes(self) -> list[int]:
        """The axes along which windows do not have the full extent."""
        return [d for d in self.kept_axes if d not in self.slices]

    def transposed(self, x: at.Variable) -> at.Variable:
        """The array, transposed so that the axes of `slices` are last."""
        return _permuted(x, [*self.indexed, *self.slices])

    def transposed_back(self, x: at.Variable) -> at.Variable:
        return _permuted(x, [int(d) for d in np.argsort([*self.indexed, *self.slices])])

    def axes_of_selection(self, window_axes: Sequence[int]) -> list[int]:
        """The position of each axis of a selection (batch, cut, slices) among the axes of an array of windows.

        window_axes: where that array has its axes for `kept_axes`; the batch has the others.
        """
        total = len(self.batch) + len(self.kept_axes)
        where = dict(zip(self.kept_axes, map(int, window_axes), strict=True))
        others = [d for d in range(total) if d not in where.values()]
        return [*others, *(where[d] for d in self.cut_axes), *(where[d] for d in self.slices)]

    @cached_property
    def is_inside(self) -> at.Variable | None:
        """A mask of the windows in bounds, in the shape of the batch; None if all are, or if others are clipped."""
        if self.mode != "fill_or_drop":
            return None
        found = []
        for column, axis in enumerate(self.start_axes):
            last = self.shape[axis] - self.sizes[axis]
            if not _is_in_range(self._column(column), last):
                start = self._column(column)
                found.append(at.ge(start, 0) & at.le(start, last))
        return reduce(at.and_, found) if found else None

    def index(self, outside: Extent | None = None) -> tuple[at.Variable, ...]:
        """An array of positions for each of `indexed`, which broadcast to batch, cut.

        outside: the position along the first of the start axes of windows that lie outside; they are moved inside
        without it.
        """
        return tuple(self._positions(axis, outside) for axis in self.indexed)

    def _positions(self, axis: int, outside: Extent | None) -> at.Variable:
        rank = len(self.batch) + len(self.cut_axes)
        if axis in self.batch_axes:
            return _line(self.batch[self.batch_axes[axis]], self.batch_axes[axis], rank)
        index: at.Variable = at.constant(np.zeros((1,) * rank, "int64"))
        if axis in self.start_axes:
            index = _append_unit_axes(self._start(axis, outside), len(self.cut_axes))
        if axis in self.cut_axes:
            index = index + _line(self.sizes[axis], len(self.batch) + self.cut_axes.index(axis), rank)
        return index

    def _start(self, axis: int, outside: Extent | None) -> at.Variable:
        start, last = self._column(list(self.start_axes).index(axis)), self.shape[axis] - self.sizes[axis]
        if _is_in_range(start, last):
            return start
        found = at.clip(start, 0, last)
        if outside is not None and axis == self.start_axes[0] and self.is_inside is not None:
            found = at.switch(self.is_inside, found, outside)
        return found

    def _column(self, number: int) -> at.Variable:
        """The starts along an axis; a constant if they are known."""
        found = at.cast(self.starts[..., number], "int64")
        value = known_value(found)
        return found if value is None else at.constant(value)

    def single(self) -> list[at.Variable | int]:
        """The start of the only window, along each axis."""
        axes = list(self.start_axes)
        return [self._column(axes.index(d)) if d in axes else 0 for d in range(len(self.shape))]


def _is_same(size: Extent, whole: Extent) -> bool:
    return size is whole or (isinstance(size, int) and isinstance(whole, int) and size == whole)


def _is_in_range(start: at.Variable, last: Extent) -> bool:
    """Are all starts statically known to be within 0 … last?"""
    if not isinstance(last, int) or (values := known_value(start)) is None:
        return False
    return bool(np.all((values >= 0) & (values <= last)))


def _permuted(x: at.Variable, axes: Sequence[int]) -> at.Variable:
    return x if list(axes) == list(range(x.ndim)) else at.dimshuffle(x, list(axes))


def _append_unit_axes(x: at.Variable, count: int) -> at.Variable:
    """x with `count` more trailing axes of extent 1."""
    return at.dimshuffle(x, [*range(x.ndim), *[None] * count]) if count else x


def _line(extent: Extent, axis: int, rank: int) -> at.Variable:
    """0, 1, …, extent − 1 along one axis of a tensor of this rank; other extents are 1."""
    return at.dimshuffle(at.arange(extent), [0 if d == axis else None for d in range(rank)])


def mode_of(equation: Equation) -> str:
    """The mode for windows out of bounds: "clip", "fill_or_drop" or "promise_in_bounds"."""
    mode = equation.params["mode"]
    return str(getattr(mode, "name", mode)).lower()


_NOTE = "in every mode: outside of the array windows are moved inside, or filled"


@rule("gather", note=_NOTE)
def _gather(context: Context, equation: Equation, x: at.Variable, starts: at.Variable) -> at.Variable:
    dims = equation.params["dimension_numbers"]
    dropped = {*map(int, dims.collapsed_slice_dims), *map(int, dims.operand_batching_dims)}
    found = Windows(
        shape=context.extents(equation.invars[0].aval.shape),
        sizes=context.extents(equation.params["slice_sizes"]),
        batch=context.extents(equation.invars[1].aval.shape[:-1]),
        kept_axes=[d for d in range(x.ndim) if d not in dropped],
        start_axes=[int(d) for d in dims.start_index_map],
        batch_axes=dict(
            zip(map(int, dims.operand_batching_dims), map(int, dims.start_indices_batching_dims), strict=True)
        ),
        starts=starts,
        mode=mode_of(equation),
    )
    if not found.batch:
        one = x[window(x, found.single(), found.shape, found.sizes)]
        result = at.dimshuffle(one, found.kept_axes) if dropped else one
    else:
        chosen = found.transposed(x)[found.index()] if x.ndim else at.full(found.batch, x)
        result = at.dimshuffle(chosen, [int(d) for d in np.argsort(found.axes_of_selection(dims.offset_dims))])
    if found.is_inside is None:
        return result
    offsets = {int(d) for d in dims.offset_dims}
    counted = iter(range(len(found.batch)))
    is_inside = at.dimshuffle(found.is_inside, [None if d in offsets else next(counted) for d in range(result.ndim)])
    return at.switch(is_inside, result, at.constant(_filling(x.dtype, equation.params["fill_value"])))


def _filling(dtype: str, value: Any) -> Any:
    """The fill value of elements out of bounds: the given one, else nan, the least signed or the largest unsigned
    integer.
    """
    if value is None:
        value = np.nan if dtypes.is_inexact(dtype) else True if dtype == "bool" else None
    if value is None:
        bounds = np.iinfo(dtype)
        value = bounds.min if dtypes.is_signed(dtype) else bounds.max
    return np.asarray(value, dtype)
