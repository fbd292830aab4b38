"""Copies of a tensor with a window replaced or increased, the functional form of an assignment to x[index]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aotensor.core import dtypes
from aotensor.core.types import TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.complex.parts import FromParts, Part, join_parts, part_of, parts
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.elementwise.compare import cast, switch
from aotensor.ops.index import IncSubtensor, Subtensor
from aotensor.ops.integer_indexing import AdvancedSubtensor, IncAdvancedSubtensor
from aotensor.ops.mask import mask_and_axis, mask_of
from aotensor.ops.shape.axes import DimShuffle, dimshuffle
from aotensor.ops.shape.extent_checks import fitting
from aotensor.ops.shape.extents import extent_of


@coerced
def inc_subtensor(x: Any, y: Any, ignore_duplicates: bool = False) -> Variable:
    """For x = z[index]: a copy of z with y added there.   y is cast to the dtype of z and broadcasts to the window.

    A position that arrays name several times gets every term; with `ignore_duplicates` it gets the last one only.

    Raises: GraphTypeError unless x was made by indexing, or if y loses its fraction in an integer z; GraphValueError
    if y does not fit the window.
    """
    x = as_tensor(x)
    if ignore_duplicates and x.owner is not None and isinstance(x.owner.op, AdvancedSubtensor):
        return _changed(x, add(x, y), is_set=True)
    return _changed(x, y, is_set=False)


@coerced
def set_subtensor(x: Any, y: Any) -> Variable:
    """For x = z[index]: a copy of z with y assigned there.   y is cast to the dtype of z and broadcasts to the window.

    If arrays name a position several times, the last value is kept, and only this one has a gradient.

    Raises: as inc_subtensor.
    """
    return _changed(x, y, is_set=True)


def _changed(x: Any, y: Any, is_set: bool) -> Variable:
    window = as_tensor(x)
    node = window.owner
    if node is not None and dtypes.is_complex(window.dtype) and isinstance(node.op, FromParts):
        values = parts(as_tensor(y))
        return join_parts(*(_changed(_window_of_part(window, k), value, is_set) for k, value in enumerate(values)))
    new_axes: list[int] = []
    if node is not None and isinstance(node.op, AdvancedSubtensor):
        return _changed_by_arrays(node, y, is_set)
    if node is not None and isinstance(node.op, DimShuffle):
        new_axes = [axis for axis, source in enumerate(node.op.pattern) if source is None]
        kept = [source for source in node.op.pattern if source is not None]
        node = node.inputs[0].owner if kept == list(range(len(kept))) else None
    if node is None or not isinstance(node.op, Subtensor):
        raise GraphTypeError(
            "expected x[index] of a tensor x, which can be set or increased", lines=[window.describe()]
        )
    target, *symbols = node.inputs
    value = _as_value(y, target)
    if new_axes:
        value = _without_axes(value, new_axes, window.ndim)
    return IncSubtensor(node.op.entries, is_set)(target, value, *symbols)  # type: ignore[no-any-return]


def _window_of_part(window: Variable, index: int) -> Variable:
    """Real or imaginary part of a window x[index] of a complex tensor, as the window of the real or imaginary part
    of x.
    """
    part = part_of(window, index)
    node = part.owner
    if node is not None and isinstance(node.op, DimShuffle) and node.inputs[0].owner is not None:
        inner = node.inputs[0].owner
        if isinstance(inner.op, Part):
            return node.op(part_of(inner.inputs[0], inner.op.index))  # type: ignore[no-any-return]
    return part


def _changed_by_arrays(node: Apply, y: Any, is_set: bool) -> Variable:
    target, *indices = node.inputs
    assert isinstance(node.op, AdvancedSubtensor)
    value = _as_value(y, target)
    changed: Variable = IncAdvancedSubtensor(node.op.axes, is_set)(target, value, *indices)
    mask = mask_of(indices)
    if mask is not None and value.ndim == 0:
        changed = _changed_at(target, mask, node.op.axes, value, is_set)
    return _changed(target, changed, is_set=True) if node.op.after_slices else changed


def _changed_at(x: Variable, mask: Variable, axes: Sequence[int], value: Variable, is_set: bool) -> Variable:
    """x with one number assigned, or added, where a mask holds, without positions.

    Raises: GraphIndexError where extents of mask and x differ, at run time where they are not known.
    """
    for own, axis in enumerate(axes):
        mask = fitting(mask, own, extent_of(x, axis), x.tensor_type.shape[axis], mask_and_axis(axis), "index")
    pattern = [axes.index(axis) if axis in axes else None for axis in range(x.ndim)]
    value = cast(value, x.dtype)
    return switch(dimshuffle(mask, pattern), value if is_set else add(x, value), x)


def _as_value(y: Any, target: Variable) -> Variable:
    """y as a variable; a Python number gets the dtype of the target if it fits."""
    is_literal = isinstance(y, int | float) and not isinstance(y, bool | np.generic)
    if not is_literal:
        return as_tensor(y)
    return constant(TensorType(target.dtype).filter(y, allow_downcast=dtypes.is_float(target.dtype) or None))


def _without_axes(y: Variable, new_axes: Sequence[int], rank: int) -> Variable:
    """y, without the axes that broadcast to new axes (None) of the window."""
    own = [axis - (rank - y.ndim) for axis in new_axes if axis >= rank - y.ndim]
    return dimshuffle(y, [axis for axis in range(y.ndim) if axis not in own])
