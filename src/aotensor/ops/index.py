"""Indexing: x[2, 1:n, None, ::-1], x[[3, 0], :, i], and copies with such a window replaced or increased."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, within_reach
from aotensor.errors import GraphIndexError, GraphOverflowError, GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply, is_disconnected
from aotensor.graph.operations import KnownValues
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.batching import align_rank, check_nondifferentiable, repeated
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.base import unbroadcast
from aotensor.ops.index_batch import batched_change, batched_window, differs_in_positions
from aotensor.ops.integer_indexing import AdvancedSubtensor
from aotensor.ops.linear import LinearOp, MultilinearOp
from aotensor.ops.mask import axes_of, is_mask, with_positions
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import Shape, SymbolicExtent, as_extent, known_integer, shape_i
from aotensor.ops.window import (
    INPUT,
    ZERO_STEP,
    Entries,
    Entry,
    Position,
    Slice,
    ascending_line,
    broadcast_to_window,
    check_extents,
    check_value,
    concrete_index,
    entries_at,
    gather,
    lower_window,
    mirrored,
    window_shape,
)


@frozen_dataclass
class Subtensor(LinearOp):
    """Basic indexing x[entries]: inputs x and the symbolic bounds in order."""

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "subtensor"
    entries: Entries

    def infer_type(self, x: TensorType, *symbols: TensorType) -> TensorType:
        return TensorType(x.dtype, window_shape(self.entries, x, symbols))

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        x, *symbols = types
        entries, left = entries_at(self.entries, node.inputs[1:], known)
        return TensorType(x.dtype, window_shape(entries, x, [symbols[k] for k in left]))

    def reference(self, x: Array, *symbols: Array) -> Array:
        return np.array(x[concrete_index(self.entries, x, symbols)])

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        x, *symbols = inputs
        if self._is_whole():
            return cotangent
        zeros = zeros_like(x, cotangent.dtype)
        return IncSubtensor(self.entries, is_set=True)(zeros, cotangent, *symbols)  # type: ignore[no-any-return]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        if differs_in_positions(self.entries, is_batched[1:]):
            return [batched_window(self.entries, inputs[0], inputs[1:], is_batched[0])]
        check_nondifferentiable(self, is_batched)
        return Subtensor((Slice(), *self.entries)).apply(*inputs).outputs

    def lower(self, b: TensorBuilder, x: Tensor, *symbols: Tensor) -> Tensor:
        if self._is_whole():
            return x
        return b.bounded_as(x, gather(b, x, lower_window(b, self.entries, x, symbols)))

    def _is_whole(self) -> bool:
        """Does the window contain all elements in order, as x[:, None]?"""
        return all(isinstance(entry, Slice) and entry.is_whole() and entry.step == 1 for entry in self.entries)


@frozen_dataclass
class IncSubtensor(MultilinearOp):
    """A copy of x with y added to x[entries], or assigned if `is_set`: inputs x, y and the symbolic bounds.

    y is cast to the dtype of x and broadcasts to the window along dims that are statically 1.
    """

    name: ClassVar[str] = "inc_subtensor"
    linear_in: ClassVar[tuple[tuple[int, ...], ...]] = ((0, 1),)
    entries: Entries
    is_set: bool = False

    @property
    def takes_half(self) -> bool:  # type: ignore[override]
        return self.is_set

    def infer_type(self, x: TensorType, y: TensorType, *symbols: TensorType) -> TensorType:
        check_value(x, y, window_shape(self.entries, x, symbols))
        return x

    def reference(self, x: Array, y: Array, *symbols: Array) -> Array:
        index = concrete_index(self.entries, x, symbols)
        result = x.copy()
        with np.errstate(all="ignore"):
            change = y.astype(x.dtype)
            result[index] = change if self.is_set else result[index] + change
        return result

    def evaluate(self, node: Apply, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Check that only static extents of 1 broadcast, and evaluate the reference."""
        x, y, *symbols = inputs
        window = x[concrete_index(self.entries, x, symbols)].shape
        check_extents(self.name, node.inputs[1].tensor_type, y.shape, window)
        return super().evaluate(node, inputs)

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        x, y, *symbols = types
        entries, left = entries_at(self.entries, node.inputs[2:], known)
        window = window_shape(entries, x, [symbols[k] for k in left])
        check_extents(self.name, node.inputs[1].tensor_type, y.static_shape, window)
        check_value(x, y, window)
        return x

    def adjoints(self, inputs: Sequence[Variable], cotangent: Variable) -> Sequence[Variable]:
        _, y, *symbols = inputs
        for_y = unbroadcast(Subtensor(self.entries)(cotangent, *symbols), y)
        return [self._clear_window(cotangent, symbols) if self.is_set else cotangent, for_y]

    def _clear_window(self, x: Variable, symbols: Sequence[Variable]) -> Variable:
        """x with its window set to zeros."""
        zero = constant(0, dtype=x.dtype)
        return IncSubtensor(self.entries, is_set=True)(x, zero, *symbols)  # type: ignore[no-any-return]

    def along(self, group: tuple[int, ...], inputs: Sequence[Variable], tangents: Sequence[Variable]) -> Variable:
        if not is_disconnected(tangents[1]):
            return super().along(group, inputs, tangents)
        return self._clear_window(tangents[0], inputs[2:]) if self.is_set else tangents[0]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        x, y, *symbols = inputs
        rank = node.inputs[0].ndim - sum(isinstance(entry, Position) for entry in self.entries)
        samples = x if is_batched[0] else repeated(x, inputs[list(is_batched).index(True)])
        value = align_rank(y, rank) if is_batched[1] else y
        if differs_in_positions(self.entries, is_batched[2:]):
            return [batched_change(self.entries, samples, value, symbols, self.is_set)]
        check_nondifferentiable(self, is_batched, first=2)
        return IncSubtensor((Slice(), *self.entries), self.is_set).apply(samples, value, *symbols).outputs

    def lower(self, b: TensorBuilder, x: Tensor, y: Tensor, *symbols: Tensor) -> Tensor:
        lines = lower_window(b, self.entries, x, symbols)
        extents = [line.extent for line in lines if line.extent is not None]
        value = broadcast_to_window(b, self.name, b.cast(y, x.dtype), extents)
        if 0 in extents:
            return x
        if not self.is_set:
            value = b.map(lambda v, old, new: old + new, gather(b, x, lines), value, dtype=x.dtype)
        upwards = [ascending_line(b, line) for line in lines]
        value = mirrored(b, value, [line.step for line in lines if line.extent is not None])
        kept = iter(range(len(extents)))
        value = b.permute(value, [None if line.extent is None else next(kept) for line in lines])
        return b.insert(x, value, [line.start for line in upwards], [line.step for line in upwards])


@coerced
def subtensor(x: Any, index: Any) -> Variable:
    """x[index] for ints, integer scalars, integer arrays, slices, None and Ellipsis; negative steps too, bounds and
    steps may be symbolic.

    Positions count from the end where negative; slices are clipped, as in Python. Arrays broadcast together, and their
    axes replace those of x if these are neighbours, else come first, as in NumPy; with them, ints count as arrays.
    A mask, a tensor of bool with the extents of some neighbouring axes, selects the positions where it is true.

    Raises: GraphIndexError for a position outside its axis (at run time where one is not known) or too many indices,
    GraphTypeError for an index of another kind.
    """
    x = as_tensor(x)
    items = list(index) if isinstance(index, tuple) else [index]
    items = with_positions(x, _without_ellipsis([_array_item(item) for item in items], x))
    if any(_is_array(item) for item in items):
        return _by_arrays(x, items)
    entries: list[Entry] = []
    symbols: list[Variable] = []
    for item in items:
        if item is not None:
            entries.append(_entry(item, symbols))
    if x.owner is not None and isinstance(x.owner.op, Shape) and len(entries) == len(items) == 1 and not symbols:
        return _extent_of(x.owner, entries[0])
    result = Subtensor(tuple(entries))(x, *symbols)
    if len(entries) == len(items):
        return result  # type: ignore[no-any-return]
    return dimshuffle(result, _with_new_axes(items, result.ndim))


def _array_item(item: Any) -> Any:
    """A list, tuple or array converted to a variable of integers or a mask; any other index unchanged."""
    if not isinstance(item, list | tuple | np.ndarray) and not _is_array(item):
        return item
    found = item if _is_empty_list(item) else as_tensor(item)
    return found if is_mask(found) else index_array(found)


def index_array(value: Any) -> Variable:
    """Index positions as a variable; an empty list gives integers.

    Raises: GraphTypeError for non-integers.
    """
    found = constant(np.zeros(0, "int64")) if _is_empty_list(value) else as_tensor(value)
    if found.dtype not in dtypes.INTEGERS:
        raise GraphTypeError(f"an index must be an integer, a slice, None or Ellipsis, not {found.type}")
    return found


def _is_empty_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 0


def _is_array(item: Any) -> bool:
    return isinstance(item, Variable) and item.ndim > 0


def _by_arrays(x: Variable, items: Sequence[Any]) -> Variable:
    """x[items] with some arrays: first the slices and new axes, then the arrays and ints."""
    indices = {axis: _as_index(item) for axis, item in enumerate(items) if item is not None and type(item) is not slice}
    kept = tuple(slice(None) if axis in indices else item for axis, item in enumerate(items))
    is_cut = any(item != slice(None) for item in kept)
    op = AdvancedSubtensor(tuple(indices), after_slices=is_cut)
    return op(subtensor(x, kept) if is_cut else x, *indices.values())  # type: ignore[no-any-return]


def _as_index(item: Any) -> Variable:
    """An index converted to a variable, to be combined with index arrays.   Raises: GraphTypeError for a float or
    bool.
    """
    return item if _is_array(item) else as_tensor(_bound(item))


def _without_ellipsis(items: list[Any], x: Variable) -> list[Any]:
    """Replace `...` by whole slices.   Raises: GraphIndexError for two of them, or for more indices than axes."""
    ellipses = [position for position, item in enumerate(items) if item is Ellipsis]
    missing = x.ndim - sum(map(axes_of, items))
    if len(ellipses) > 1:
        raise GraphIndexError("an index can hold at most one ellipsis (...)")
    if missing < 0:
        raise GraphIndexError(f"{x.ndim - missing} indices for a tensor of rank {x.ndim}", lines=[x.describe()])
    if not ellipses:
        return items
    at = ellipses[0]
    return [*items[:at], *([slice(None)] * missing), *items[at + 1 :]]


def _entry(item: Any, symbols: list[Variable]) -> Entry:
    """Convert one index to an entry; its symbolic bounds are added to `symbols`."""
    if not isinstance(item, slice):
        at = _bound(item)
        return Position(at if isinstance(at, int) else _collected(at, symbols))
    step = 1 if item.step is None else _limit(item.step)
    if isinstance(step, int) and step == 0:
        raise GraphValueError(ZERO_STEP)
    limits = [None if limit is None else _limit(limit) for limit in (item.start, item.stop)]
    return Slice(*(_collected(bound, symbols) if isinstance(bound, Variable) else bound for bound in (*limits, step)))


def _collected(bound: Variable, symbols: list[Variable]) -> Any:
    symbols.append(bound)
    return INPUT


def _bound(value: Any) -> SymbolicExtent:
    """Convert a bound to an int or an integer scalar.   Raises: GraphTypeError for anything else, GraphIndexError
    beyond int64.
    """
    if isinstance(value, bool | np.bool_ | str | float):
        raise GraphTypeError(f"an index must be an integer, a slice, None or Ellipsis, not {value!r}")
    x = value if isinstance(value, int | np.integer) else as_tensor(value)
    try:
        return as_extent(x, "an index")
    except GraphOverflowError as error:
        raise GraphIndexError(f"index {x} does not fit 64 bits") from error


def _limit(value: Any) -> SymbolicExtent:
    """Convert a bound or the step of a slice; a number is clamped to ±MAX_ELEMENTS, larger than all extents."""
    x = value if isinstance(value, Variable | int | np.integer) else as_tensor(value)
    number = known_integer(x) if isinstance(x, Variable) else x
    if isinstance(number, int | np.integer) and not isinstance(number, bool):
        return within_reach(number)
    return _bound(value)


def _extent_of(node: Apply, entry: Entry) -> Variable:
    """x.shape[entry] for an integer `entry`, without the vector of all extents."""
    (x,) = node.inputs
    axes = node.op.selected(x.ndim)  # type: ignore[attr-defined]
    if isinstance(entry, Position):
        assert isinstance(entry.at, int)
        if not -len(axes) <= entry.at < len(axes):
            raise GraphIndexError(
                f"index {entry.at} is out of range for the shape of rank {x.ndim}", lines=[x.describe()]
            )
        return shape_i(x, axes[entry.at])
    assert not entry.symbols()
    return Shape(axes[slice(entry.start, entry.stop, entry.step)])(x)  # type: ignore[no-any-return]


def _with_new_axes(items: Sequence[Any], rank: int) -> list[int | None]:
    """The dimshuffle pattern that inserts an axis of extent 1 for each None of the index."""
    pattern: list[int | None] = []
    axis = 0
    for item in items:
        if item is None:
            pattern.append(None)
        elif isinstance(item, slice):
            pattern.append(axis)
            axis += 1
    return [*pattern, *range(axis, rank)]
