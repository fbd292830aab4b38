"""Splitting rules of indexing: windows, gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aotensor.graph.variable import Variable
from aotensor.ops.create import zeros_like
from aotensor.ops.window import Position, Slice
from aotensor.splitting.elementwise_rules import aligned_axis
from aotensor.splitting.merges import pointwise, wide_sum
from aotensor.splitting.places import Merge, NodeView, NotSplittable, Rows


def subtensor(view: NodeView) -> Rows:
    """Rule of windows x[:, 2, 1:k]: per row if the window contains all rows."""
    view.plain()
    return view.rows(_window_axis(view.node.op, _axis_of_x(view)))


def inc_subtensor(view: NodeView) -> Rows:
    """Rule of y assigned or added to a window x[:, 2, 1:k]: per row if the window contains all rows."""
    view.plain()
    axis = _axis_of_x(view)
    rank = view.node.inputs[0].ndim - sum(isinstance(entry, Position) for entry in _entries(view.node.op))
    _check_value(view, rank, _window_axis(view.node.op, axis))
    return view.rows(axis)


def _entries(op: Any) -> Sequence[Any]:
    return op.entries  # type: ignore[no-any-return]


def _axis_of_x(view: NodeView) -> int:
    if not view.at[0].is_local:
        raise NotSplittable("the assigned value has the rows, but the tensor that it is assigned to does not")
    return view.axis_of(0)


def _window_axis(op: Any, axis: int) -> int:
    """The axis of the rows in the window.   Raises: Crossing unless it contains all rows in order"""
    entries = _entries(op)
    if axis < len(entries):
        entry = entries[axis]
        if not (isinstance(entry, Slice) and entry.is_whole() and entry.step == 1):
            raise NotSplittable(
                "it indexes the rows by position, and a chunk has only a part of them",
                "give it all rows, [:], or a weight of 0",
            )
    return axis - sum(isinstance(entry, Position) for entry in entries[:axis])


def _check_value(view: NodeView, rank: int, axis: int) -> None:
    """Check that y has rows along the row axis of the window, or broadcasts there.   Raises: Crossing"""
    if view.at[1].is_local and rank - view.node.inputs[1].ndim + view.axis_of(1) != axis:
        raise NotSplittable("the assigned value and the tensor have the rows along different axes")
    y = view.node.inputs[1]
    own = axis - rank + y.ndim
    if not view.at[1].is_local and own >= 0 and y.static_shape[own] != 1:
        raise NotSplittable(f"{y}: {y.type} is not known to have the rows of dim {view.over}")


class _Gather:
    """The axes of rows in x[…, i, j, …], for an op whose index arrays begin at input `first`."""

    def __init__(self, view: NodeView, first: int) -> None:
        op: Any = view.node.op
        self.view, self.axes, self.first = view, tuple(op.axes), first
        self.arrays = range(first, len(view.at))
        self.rank: int = max(view.node.inputs[k].ndim for k in self.arrays)
        self.start: int = self.axes[0] if self.axes[-1] - self.axes[0] == len(self.axes) - 1 else 0
        self.has_rows = any(view.at[k].is_local for k in self.arrays)

    def array_axis(self) -> int:
        """The axis of the window along which the index arrays have rows."""
        return self.start + aligned_axis(self.view, self.rank, self.arrays)

    def x_axis(self) -> int:
        """The axis of the window with the rows of x, which no array indexes.   Raises: Crossing"""
        axis = self.view.axis_of(0)
        if axis in self.axes or self.has_rows:
            raise NotSplittable(
                "it reads or writes rows by computed indices, which may be in other chunks",
                "x[arange(n), …] accesses the own row only, and is split",
            )
        place: int = axis - sum(k < axis for k in self.axes)
        return place if place < self.start else place + self.rank

    def own_rows(self) -> int | None:
        """The index input that is 0, 1, 2, … over the rows, so that each row indexes itself; None if there is none."""
        axis = self.view.axis_of(0)
        if axis not in self.axes:
            return None
        k = self.first + self.axes.index(axis)
        place = self.view.at[k]
        return k if place.role == "positions" and place.domain == self.view.at[0].domain else None

    def make(self, k: int) -> Any:
        """A function for the op on a chunk; it makes the row numbers in input k count from the chunk's first row."""

        def on_chunk(inputs: Sequence[Variable], first: Variable) -> Sequence[Variable]:
            chosen = list(inputs)
            chosen[k] = inputs[k] - first
            return [self.view.node.op(*chosen)]

        return on_chunk


def advanced_subtensor(view: NodeView) -> Rows:
    """Rule of gathers: rows of a global table, columns of rows, or one element of each row."""
    view.plain()
    gather = _Gather(view, 1)
    if not view.at[0].is_local:
        return view.rows(gather.array_axis())
    own = gather.own_rows()
    if own is not None:
        return view.rows(gather.array_axis(), make=gather.make(own))
    return view.rows(gather.x_axis())


def inc_advanced_subtensor(view: NodeView) -> Rows | Merge:
    """Rule of scatters: a sum over rows if they are added to a global table, per row if within each row."""
    view.plain()
    op: Any = view.node.op
    gather, window = _Gather(view, 2), view.node.inputs[0].ndim - len(op.axes)
    rank = window + gather.rank
    if view.at[0].is_local:
        own = gather.own_rows()
        axis = gather.x_axis() if own is None else gather.array_axis()
        _check_value(view, rank, axis)
        return view.rows(view.axis_of(0), make=None if own is None else gather.make(own))
    if not gather.has_rows:
        raise NotSplittable("the assigned value has the rows, but neither the tensor nor the indices do")
    _check_value(view, rank, gather.array_axis())
    if op.is_set:
        raise NotSplittable("if several rows assign to the same element, the last one counts, and chunks have no order")
    dtype = view.node.outputs[0].dtype
    found = pointwise("sum", lambda xs: op(zeros_like(xs[0]), *xs[1:]), dtype, wide_sum(dtype))
    return Merge(
        "scatter", found.partials, found.combine, lambda merged, inputs: [inputs[0] + found.finish(merged, inputs)[0]]
    )
