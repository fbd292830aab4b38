"""Extents as values, reshape, and the checks of shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Tensor, TensorBuilder
from aotensor.core.types import Array, Dim, TensorType, normalise_axis
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Apply
from aotensor.graph.public import lookup, public
from aotensor.graph.variable import Constant, Variable, as_tensor, constant
from aotensor.ops.batching import check_steering, moved
from aotensor.ops.linear import ConstantOp, LinearOp

SymbolicExtent = int | Variable
"""An extent in a graph: a number, or an integer scalar variable."""


@dataclass(frozen=True)
class Shape(ConstantOp):
    """int64 vector of the extents of x along `axes`, by default all."""

    name: ClassVar[str] = "shape"
    axes: tuple[int, ...] | None = None

    def selected(self, rank: int) -> tuple[int, ...]:
        """The axes whose extents are given."""
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


@dataclass(frozen=True)
class ShapeI(ConstantOp):
    """Extent of x along one axis, as an int64 scalar."""

    name: ClassVar[str] = "shape_i"
    gives_extent: ClassVar[bool] = True
    axis: int

    def infer_type(self, x: TensorType) -> TensorType:
        normalise_axis(self.axis, x.rank)
        return TensorType("int64")

    def reference(self, x: Array) -> Array:
        return np.array(x.shape[self.axis], dtype=np.int64)

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        return moved(self).apply(*inputs).outputs

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        v = b.scalars
        return b.from_scalar(v.cast(v.index(x.extents[self.axis]), "int64"))


@public
def shape(x: Any) -> Variable:
    """int64 vector of the extents of x."""
    return Shape()(as_tensor(x))  # type: ignore[no-any-return]


@public
def shape_i(x: Any, axis: int) -> Variable:
    """Extent of x along an axis as an int64 scalar: a constant where it is known."""
    extent = extent_of(as_tensor(x), axis)
    return extent if isinstance(extent, Variable) else constant(extent, dtype="int64")


@public
def size(x: Any) -> Variable:
    """int64 number of elements of x."""
    count = product(extents_of(as_tensor(x)))
    return count if isinstance(count, Variable) else constant(count, dtype="int64")


def extent_of(x: Variable, axis: int) -> SymbolicExtent:
    """Extent along an axis: a number where the type knows it."""
    axis = normalise_axis(axis, x.ndim)
    dim = x.static_shape[axis]
    return ShapeI(axis)(x) if dim is None else dim


def extents_of(x: Variable) -> list[SymbolicExtent]:
    """All extents of x, numbers where the type knows them."""
    return [extent_of(x, axis) for axis in range(x.ndim)]


def product(extents: Iterable[SymbolicExtent]) -> SymbolicExtent:
    """The number of elements of a shape: a number where all extents are numbers."""
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
    """One entry of a shape.   Raises: GraphTypeError unless it is an int or an integer scalar variable."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    x = as_tensor(value)
    if x.ndim != 0 or x.dtype not in dtypes.INTEGERS:
        raise GraphTypeError(f"{what} is an integer scalar, not {x.type}", lines=[x.describe()])
    return int(x.data) if isinstance(x, Constant) else x


def as_extents(value: Any) -> list[SymbolicExtent]:
    """A shape as the user wrote it: an int, a sequence of ints and integer scalars, or an integer vector.

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
        raise GraphTypeError(f"a shape is a vector of integers, not {x.type}", lines=[x.describe()])
    if isinstance(x, Constant):
        return [int(entry) for entry in x.data]
    if x.owner is not None and isinstance(x.owner.op, Shape):
        (source,) = x.owner.inputs
        return [extent_of(source, axis) for axis in x.owner.op.selected(source.ndim)]
    if x.static_shape[0] is None:
        raise GraphTypeError(
            "a shape vector needs a known length: it is the rank of the result",
            lines=[x.describe()],
            hint="give a tuple of scalars",
        )
    return [as_extent(lookup("subtensor")(x, k)) for k in range(x.static_shape[0])]


def dim_of(extent: SymbolicExtent) -> Dim:
    """What a type can say of an extent: the number, the name of the dim it is read from, or None."""
    if isinstance(extent, int):
        return extent
    source = _source(extent)
    return None if source is None else source[0].tensor_type.shape[source[1]]


def is_extent(value: Variable, x: Variable, axis: int) -> bool:
    """Is it certain that an integer scalar is the extent of x along an axis?"""
    if isinstance(value, Constant):
        return x.static_shape[axis] == int(value.data)
    source = _source(value)
    return source is not None and _key(*source) == _key(x, axis)


def _source(extent: Variable) -> tuple[Variable, int] | None:
    """(x, axis) if the extent is x.shape[axis]."""
    op: Any = extent.owner.op if extent.owner is not None else None
    return (extent.owner.inputs[0], op.axis) if extent.owner is not None and op.gives_extent else None


@dataclass(frozen=True)
class Reshape(LinearOp):
    """The elements of x in C order under new extents: x, *sizes → x reshaped.

    dims: an int is an extent, −1 is what remains (once at most), a name or None stands for the next of `sizes`.
    """

    name: ClassVar[str] = "reshape"
    dims: tuple[Dim, ...]

    def infer_type(self, x: TensorType, *sizes: TensorType) -> TensorType:
        _check_sizes(self.dims, sizes)
        if sum(dim == -1 for dim in self.dims) > 1:
            raise GraphValueError("only one extent can be −1")
        if -1 in self.dims and 0 in self.dims:
            raise GraphValueError("an extent of −1 beside an extent of 0 is not determined")
        out = tuple(None if dim == -1 else dim for dim in self.dims)
        known = [extent for extent in x.static_shape if extent is not None]
        if len(known) == x.rank and all(isinstance(dim, int) for dim in self.dims):
            target = _complete(math.prod(known), [dim for dim in self.dims if isinstance(dim, int)])
            return TensorType(x.dtype, target)
        return TensorType(x.dtype, out)

    def reference(self, x: Array, *sizes: Array) -> Array:
        return x.reshape(_complete(x.size, _fill(self.dims, sizes)))

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return reshape(cotangent, extents_of(inputs[0]))

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_steering(self, is_batched)
        x, *sizes = inputs
        pending = iter(sizes)
        target = [dim if isinstance(dim, int) else next(pending) for dim in self.dims]
        if -1 in self.dims:
            position = self.dims.index(-1)
            others = product(extent for k, extent in enumerate(target) if k != position)
            target[position] = _share(product(extents_of(x)[1:]), others)
        return [reshape(x, [extent_of(x, 0), *target])]

    def lower(self, b: TensorBuilder, x: Tensor, *sizes: Tensor) -> Tensor:
        v = b.scalars
        total: Extent = 1
        for extent in x.extents:
            total = v.imul(total, extent)
        extents: list[Extent] = []
        pending = iter(sizes)
        known: Extent = 1
        for dim in self.dims:
            extent = dim if isinstance(dim, int) else v.cast(b.item(next(pending)), dtypes.INDEX)
            if not isinstance(extent, int):
                b.check(v.compare("ge", extent, v.index(0)), "reshape: extent {found} is negative", found=extent)
            extents.append(extent)
            known = known if extent == -1 else v.imul(known, extent)
        if -1 in self.dims:
            rest = _rest(b, total, known)
            extents = [rest if dim == -1 else extent for dim, extent in zip(self.dims, extents, strict=True)]
            known = v.imul(known, rest)
        b.fit([extents])
        if not (isinstance(known, int) and isinstance(total, int)):
            b.check(v.compare("eq", v.index(known), v.index(total)), _MISFIT, found=total, expected=known)
        return b.reshape(x, extents)


_MISFIT = "reshape: {found} elements do not fit a shape of {expected}"
_NO_REST = "reshape: an extent of −1 is not determined by {found} elements beside others of product 0"


def _share(total: SymbolicExtent, known: SymbolicExtent) -> SymbolicExtent:
    """total // known in the graph, a number where both are."""
    if isinstance(total, int) and isinstance(known, int):
        return total // known
    return lookup("int_div")(total, known)  # type: ignore[no-any-return]


def _rest(b: TensorBuilder, total: Extent, known: Extent) -> Extent:
    """total // known, where known must not be 0."""
    v = b.scalars
    if isinstance(known, int):
        return v.ifloordiv(total, known)
    b.check(v.compare("ne", known, v.index(0)), _NO_REST, found=total)
    return v.ifloordiv(total, known)


def _check_sizes(dims: Sequence[Dim], sizes: Sequence[TensorType]) -> None:
    assert sum(not isinstance(dim, int) for dim in dims) == len(sizes), "one size per dim that is no number"
    for found in sizes:
        if found.rank != 0 or found.dtype not in dtypes.INTEGERS:
            raise GraphTypeError(f"an extent is an integer scalar, not {found}")


def _fill(dims: Sequence[Dim], sizes: Sequence[Array]) -> list[int]:
    for size in sizes:
        if size < 0:
            raise GraphValueError(f"reshape: extent {size} is negative")
    pending = iter(sizes)
    return [dim if isinstance(dim, int) else int(next(pending)) for dim in dims]


def _complete(total: int, target: Sequence[int]) -> tuple[int, ...]:
    """The extents with −1 replaced.   Raises: GraphValueError if they do not hold `total` elements."""
    known = math.prod(extent for extent in target if extent != -1)
    if -1 in target and known == 0:
        raise GraphValueError(_NO_REST.format(found=total))
    filled = tuple(total // known if extent == -1 else extent for extent in target)
    if any(extent < 0 for extent in filled):
        raise GraphValueError(f"reshape: extent {min(filled)} is negative")
    if math.prod(filled) != total:
        raise GraphValueError(_MISFIT.format(found=total, expected=math.prod(filled)))
    return filled


@public
def reshape(x: Any, shape: Any, ndim: int | None = None) -> Variable:
    """x in C order under new extents: ints, integer scalars, at most one −1; or an integer vector.

    ndim: the rank of the result, checked if given.
    Raises: GraphValueError if the numbers of elements differ (at run time where they are not known) or two are −1.
    """
    x = as_tensor(x)
    target = as_extents(shape)
    if ndim is not None and ndim != len(target):
        raise GraphValueError(f"reshape: {len(target)} extents for rank {ndim}")
    if sum(isinstance(extent, int) and extent == -1 for extent in target) == 1:
        target = _resolve(x, target)
    if _has_shape(x, target):
        return x  # type: ignore[no-any-return]
    symbolic = [extent for extent in target if isinstance(extent, Variable)]
    return Reshape(tuple(dim_of(extent) for extent in target))(x, *symbolic)  # type: ignore[no-any-return]


def _resolve(x: Variable, target: list[SymbolicExtent]) -> list[SymbolicExtent]:
    """The target with −1 replaced where extents of x cancel: (n, 3, 4) as (n, −1) is (n, 12), even for n = 0."""
    position = next(k for k, extent in enumerate(target) if isinstance(extent, int) and extent == -1)
    left = {_key(x, axis): axis for axis in range(x.ndim) if x.static_shape[axis] is None}
    above = math.prod(extent for extent in x.static_shape if extent is not None)
    below = math.prod(extent for k, extent in enumerate(target) if isinstance(extent, int) and k != position)
    if len(left) != x.static_shape.count(None) or below == 0:
        return target
    for extent in target:
        if isinstance(extent, Variable):
            source = _source(extent)
            if source is None or left.pop(_key(*source), None) is None:
                return target
    if not left and above % below == 0:
        rest: SymbolicExtent = above // below
    elif len(left) == 1 and above == below:
        rest = extent_of(x, next(iter(left.values())))
    else:
        return target
    return [*target[:position], rest, *target[position + 1 :]]


def _has_shape(x: Variable, target: Sequence[SymbolicExtent]) -> bool:
    """Is it certain that x has these extents already?"""
    if len(target) != x.ndim:
        return False
    for axis, extent in enumerate(target):
        if isinstance(extent, int):
            same = extent == x.static_shape[axis]
        else:
            source = _source(extent)
            same = source is not None and _key(*source) == _key(x, axis)
        if not same:
            return False
    return True


def _key(x: Variable, axis: int) -> str | tuple[Variable, int]:
    """What makes two unknown extents the same: the dim's name, else the variable and the axis."""
    dim = x.tensor_type.shape[axis]
    return dim if isinstance(dim, str) else (x, axis)


@public
def flatten(x: Any, ndim: int = 1) -> Variable:
    """x as rank `ndim`: the first ndim − 1 axes stay, the others become one.

    Raises: GraphValueError if ndim is below 1 or above the rank of x.
    """
    x = as_tensor(x)
    if not 1 <= ndim <= max(x.ndim, 1):
        raise GraphValueError(f"flatten: ndim {ndim} for a tensor of rank {x.ndim}", lines=[x.describe()])
    extents = extents_of(x)
    return reshape(x, [*extents[: ndim - 1], product(extents[ndim - 1 :])])


@public
def ravel(x: Any) -> Variable:
    """All elements of x in C order, as a vector."""
    return flatten(x)
