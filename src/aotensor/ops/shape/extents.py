"""Extents as values: those of a tensor, those given by users, and static information on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final
from weakref import WeakKeyDictionary

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType, checked_int, normalise_axis
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply
from aotensor.graph.operations import KnownValues, dense, indexing
from aotensor.graph.public import public
from aotensor.graph.variable import Constant, Variable, as_tensor, constant
from aotensor.graph.walk import evaluate_all
from aotensor.ops.batching import shift_axes
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.linear import ConstantOp

SymbolicExtent = int | Variable
"""An extent in a graph: a number, or an integer scalar variable."""


@frozen_dataclass
class Shape(ConstantOp):
    """int64 vector of the extents of x along `axes`, by default all."""

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "shape"
    axes: tuple[int, ...] | None = None

    def selected(self, rank: int) -> tuple[int, ...]:
        """The axes of which the op returns the extents."""
        return tuple(range(rank)) if self.axes is None else self.axes

    def infer_type(self, x: TensorType) -> TensorType:
        return TensorType("int64", (len(self.selected(x.rank)),))

    def reference(self, x: Array) -> Array:
        return np.array([x.shape[axis] for axis in self.selected(x.ndim)], dtype=np.int64)

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        return Shape(tuple(axis + 1 for axis in self.selected(node.inputs[0].ndim))).apply(*inputs).outputs

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        extents = [x.extents[axis] for axis in self.selected(len(x.extents))]
        if all(isinstance(extent, int) for extent in extents):
            return b.constant(np.array(extents, dtype=np.int64), "int64")
        v = b.scalars
        parts = [b.from_scalar(v.cast(v.index(extent), "int64")) for extent in extents]
        return b.concatenate([b.permute(part, [None]) for part in parts], 0)


@frozen_dataclass
class ShapeI(ConstantOp):
    """The extent of x along one axis, as an int64 scalar."""

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "shape_i"
    gives_extent: ClassVar[bool] = True
    axis: int

    def infer_type(self, x: TensorType) -> TensorType:
        normalise_axis(self.axis, x.rank)
        return TensorType("int64")

    def reference(self, x: Array) -> Array:
        return np.array(x.shape[self.axis], dtype=np.int64)

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        return shift_axes(self).apply(*inputs).outputs

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        v = b.scalars
        return b.from_scalar(v.cast(v.index(x.extents[self.axis]), "int64"))


@public(numpy="shape")
@coerced
def shape(x: Any) -> Variable:
    """int64 vector of the extents of x."""
    return Shape()(as_tensor(x))  # type: ignore[no-any-return]


@coerced
def shape_i(x: Any, axis: int) -> Variable:
    """The extent of x along an axis as an int64 scalar: a constant if it is static."""
    extent = extent_of(as_tensor(x), axis)
    return extent if isinstance(extent, Variable) else constant(extent, dtype="int64")


@coerced
def size(x: Any) -> Variable:
    """int64 number of elements of x."""
    count = product(extents_of(as_tensor(x)))
    return count if isinstance(count, Variable) else constant(count, dtype="int64")


def extent_of(x: Variable, axis: int) -> SymbolicExtent:
    """The extent of x along an axis: an int if it is static, else a scalar variable."""
    axis = normalise_axis(axis, x.ndim)
    dim = x.static_shape[axis]
    return ShapeI(axis)(x) if dim is None else dim


def extents_of(x: Variable) -> list[SymbolicExtent]:
    """All extents of x: ints if they are static, else scalar variables."""
    return [extent_of(x, axis) for axis in range(x.ndim)]


def product(extents: Iterable[SymbolicExtent]) -> SymbolicExtent:
    """The product of extents: an int if all extents are ints."""
    extents = list(extents)
    known = math.prod(extent for extent in extents if isinstance(extent, int))
    symbolic = [extent for extent in extents if isinstance(extent, Variable)]
    if not symbolic:
        return known
    result = symbolic[0]
    for extent in symbolic[1:]:
        result = result * extent
    return result if known == 1 else result * constant(known, dtype="int64")


def as_extent(value: Any, what: str = "an extent") -> SymbolicExtent:
    """Convert one entry of a shape to an int or an integer scalar variable.

    Raises: GraphTypeError unless it is an int or an integer scalar variable, GraphOverflowError beyond int64.
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return checked_int(value, what)
    x = as_tensor(value)
    if x.ndim != 0 or x.dtype not in dtypes.INTEGERS:
        raise GraphTypeError(f"{what} must be an integer scalar, not {x.type}", lines=[x.describe()])
    known = known_integer(x)
    return x if known is None else checked_int(known, what)


def known_integer(x: Variable) -> int | None:
    """The value of an integer scalar computed from constants and integer scalars only, else None."""
    if x not in _INTEGERS:
        _INTEGERS[x] = _computed_integer(x)
    return _INTEGERS[x]


def _computed_integer(x: Variable) -> int | None:
    pending, values = [x], dict[Variable, Array]()
    seen = {x}
    while pending:
        y = pending.pop()
        if y.is_sparse or y.ndim != 0 or y.dtype not in dtypes.INTEGERS or _INTEGERS.get(y, 0) is None:
            return None
        if y in _INTEGERS:
            values[y] = np.asarray(_INTEGERS[y], y.dtype)
        elif not isinstance(y, Constant):
            op = None if y.owner is None else y.owner.op
            if y.owner is None or not isinstance(op, Elementwise) or op.row.guard is not None:
                return None
            pending += [operand for operand in y.owner.inputs if operand not in seen]
            seen.update(y.owner.inputs)
    return int(evaluate_all([x], values)[0])


_INTEGERS: Final[WeakKeyDictionary[Variable, int | None]] = WeakKeyDictionary()
"""Cache of known values of integer scalars: extents are often computed from each other."""


def as_extents(value: Any, count: int | None = None) -> list[SymbolicExtent]:
    """Convert a shape as the user wrote it: an int, a sequence of ints and integer scalars, or an integer vector.

    count: the length of a vector where its type does not say it; checked at run time.

    Raises: GraphTypeError for anything else, or for a vector variable of unknown length.
    """
    if isinstance(value, list | tuple):
        return [as_extent(entry) for entry in value]
    if isinstance(value, int | np.integer):
        return [as_extent(value)]
    x = as_tensor(value)
    if x.ndim == 0:
        return [as_extent(x)]
    if x.ndim != 1 or x.dtype not in dtypes.INTEGERS:
        raise GraphTypeError(f"a shape must be a vector of integers, not {x.type}", lines=[x.describe()])
    if x.static_shape[0] is None and count is not None:
        x = dense.specify_shape(x, (count,))
    if x.static_shape[0] is None:
        raise GraphTypeError(
            "a shape vector needs a known length: it is the rank of the result",
            lines=[x.describe()],
            hint="give a tuple of scalars",
        )
    return _entries(x)


def _entries(x: Variable) -> list[SymbolicExtent]:
    """The entries of a vector of known length, taken from the ops that build it where possible."""
    if isinstance(x, Constant):
        return [as_extent(entry) for entry in x.data]
    if x.owner is not None and isinstance(x.owner.op, Shape):
        (source,) = x.owner.inputs
        return [extent_of(source, axis) for axis in x.owner.op.selected(source.ndim)]
    if x.owner is not None and x.owner.op.name == "join" and all(p.static_shape[0] is not None for p in x.owner.inputs):
        return [entry for part in x.owner.inputs for entry in _entries(part)]
    if x.owner is not None and x.owner.op.name == "dimshuffle" and x.owner.inputs[0].ndim == 0:
        return [as_extent(x.owner.inputs[0])]
    count = x.static_shape[0]
    assert count is not None
    return [as_extent(indexing.subtensor(x, k)) for k in range(count)]


def dims_at(name: str, dims: Sequence[Dim], sizes: Sequence[Variable], known: KnownValues) -> tuple[Dim, ...]:
    """The extents at run time: numbers among `dims`, else the next known value of `sizes`; None if unknown.

    Raises: GraphValueError for a negative one.
    """
    pending = iter(sizes)
    values = [dim if isinstance(dim, int) else known.value(next(pending)) for dim in dims]
    found = tuple(None if value is None else int(value) for value in values)
    if any(extent is not None and extent < 0 for extent in found):
        raise GraphValueError(f"{name}: extent {min(n for n in found if n is not None)} is negative")
    return found


def dim_of(extent: SymbolicExtent) -> Dim:
    """The dim for an extent: its number, the name of the dim that it is read from, or None."""
    if isinstance(extent, int):
        return extent
    source = source_of(extent)
    return known_integer(extent) if source is None else source[0].tensor_type.shape[source[1]]


def is_extent(value: Variable, x: Variable, axis: int) -> bool:
    """Is an integer scalar provably the extent of x along an axis?"""
    known = known_integer(value)
    if known is not None:
        return x.static_shape[axis] == known
    source = source_of(value)
    return source is not None and extent_key(*source) == extent_key(x, axis)


def source_of(extent: Variable) -> tuple[Variable, int] | None:
    """(x, axis) if the scalar is x.shape[axis], else None."""
    op: Any = extent.owner.op if extent.owner is not None else None
    return (extent.owner.inputs[0], op.axis) if extent.owner is not None and op.gives_extent else None


def extent_key(x: Variable, axis: int) -> str | tuple[Variable, int]:
    """A key that is equal for equal unknown extents: the dim's name, else the variable and the axis."""
    dim = x.tensor_type.shape[axis]
    return dim if isinstance(dim, str) else (x, axis)
