"""Reshape: the elements of a tensor in C order under new extents; one may be −1, computed from the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply
from aotensor.graph.operations import KnownValues
from aotensor.graph.public import public
from aotensor.graph.variable import Constant, Variable, as_tensor
from aotensor.ops.batching import ExtentsOp, check_nondifferentiable
from aotensor.ops.elementwise.arithmetic import int_div
from aotensor.ops.linear import ConstantOp, LinearOp
from aotensor.ops.shape.extents import (
    Shape,
    ShapeI,
    SymbolicExtent,
    as_extents,
    dim_of,
    extent_key,
    extent_of,
    extents_of,
    product,
    source_of,
)


@frozen_dataclass
class Reshape(LinearOp):
    """The elements of x in C order under new extents: x, *sizes → x reshaped.

    dims: an int is an extent, −1 is the remaining extent (at most once), a name or None denotes the next of `sizes`.
    """

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "reshape"
    dims: tuple[Dim, ...]

    def infer_type(self, x: TensorType, *sizes: TensorType) -> TensorType:
        _check_sizes(self.dims, sizes)
        if sum(dim == -1 for dim in self.dims) > 1:
            raise GraphValueError(_SEVERAL)
        if -1 in self.dims and 0 in self.dims:
            raise GraphValueError("the extent −1 cannot be computed, because another extent is 0")
        out = tuple(None if dim == -1 else dim for dim in self.dims)
        known = [extent for extent in x.static_shape if extent is not None]
        if len(known) == x.rank and all(isinstance(dim, int) for dim in self.dims):
            target = _complete(math.prod(known), [dim for dim in self.dims if isinstance(dim, int)])
            return TensorType(x.dtype, target)
        return TensorType(x.dtype, out)

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        pending = iter(node.inputs[1:])
        given = [dim if isinstance(dim, int) else known.value(next(pending)) for dim in self.dims]
        sizes = [size for size in given if size is not None]
        _check_signs(size for size in sizes if not isinstance(size, int))
        if len(sizes) == len(given):
            return Reshape(tuple(map(int, sizes))).infer_type(types[0])
        return TensorType(types[0].dtype, tuple(None if size is None or size == -1 else int(size) for size in given))

    def reference(self, x: Array, *sizes: Array) -> Array:
        return x.reshape(_complete(x.size, _fill(self.dims, sizes)))

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return reshape(cotangent, extents_of(inputs[0]))

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched)
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
        total: Extent = prod(x.extents)
        extents: list[Extent] = []
        pending = iter(sizes)
        known: Extent = 1
        for dim in self.dims:
            extent = dim if isinstance(dim, int) else v.cast(b.item(next(pending)), dtypes.INDEX)
            if not isinstance(extent, int):
                b.check(extent >= 0, "reshape: extent {found} is negative", found=extent)
            extents.append(extent)
            known = known if extent == -1 else known * extent
        if -1 in self.dims:
            rest = _rest(b, total, known)
            extents = [rest if dim == -1 else extent for dim, extent in zip(self.dims, extents, strict=True)]
            known *= rest
        b.fit([extents])
        if not (isinstance(known, int) and isinstance(total, int)):
            b.check(v.compare("eq", v.index(known), v.index(total)), _MISFIT, found=total, expected=known)
        return b.reshape(x, extents)


@frozen_dataclass
class CompletedShape(ExtentsOp, ConstantOp):
    """The extents of a shape of `total` elements with −1 replaced: total, *sizes → as many int64 scalars as sizes.

    others: product of the extents that are numbers. has_rest: one of these is −1, so that none of the sizes may be.
    """

    name: ClassVar[str] = "completed_shape"
    others: int
    has_rest: bool

    def infer_type(self, total: TensorType, *sizes: TensorType) -> tuple[TensorType, ...]:
        _check_types([total, *sizes])
        return (TensorType("int64"),) * len(sizes)

    def reference(self, total: Array, *sizes: Array) -> tuple[Array, ...]:
        given = [int(size) for size in sizes]
        if given.count(-1) + self.has_rest > 1:
            raise GraphValueError(f"reshape: {_SEVERAL}")
        known = self.others * math.prod(size for size in given if size != -1)
        if -1 in given and known == 0:
            raise GraphValueError(_NO_REST.format(found=total))
        return tuple(np.array(int(total) // known if size == -1 else size) for size in given)

    def lower(self, b: TensorBuilder, total: Tensor, *sizes: Tensor) -> tuple[Tensor, ...]:
        v = b.scalars
        given = [v.cast(b.item(size), dtypes.INDEX) for size in sizes]
        known: Extent = self.others
        count: Extent = int(self.has_rest)
        is_rest = [v.compare("eq", size, v.index(-1)) for size in given]
        for size, is_one in zip(given, is_rest, strict=True):
            known *= v.select(is_one, v.index(1), size)
            count += v.select(is_one, v.index(1), v.index(0))
        b.check(v.index(count) <= 1, f"reshape: {_SEVERAL}")
        whole = v.cast(b.item(total), dtypes.INDEX)
        is_zero = v.compare("eq", v.index(known), v.index(0))
        is_open = v.compare("ne", v.index(count), v.index(int(self.has_rest)))
        b.check(~(is_open & is_zero), _NO_REST, found=whole)
        rest = whole // v.select(is_zero, v.index(1), v.index(known))
        filled = [v.select(is_one, v.index(rest), size) for size, is_one in zip(given, is_rest, strict=True)]
        return tuple(b.from_scalar(v.cast(extent, "int64")) for extent in filled)


_SEVERAL = "only one extent can be −1"
_MISFIT = "reshape: {found} elements do not fit a shape of {expected}"
_NO_REST = "reshape: the extent −1 cannot be computed for {found} elements, because another extent is 0"


def _share(total: SymbolicExtent, known: SymbolicExtent) -> SymbolicExtent:
    """total // known: an int if both are ints, else a node of the graph."""
    if isinstance(total, int) and isinstance(known, int):
        return total // known
    return int_div(total, known)


def _rest(b: TensorBuilder, total: Extent, known: Extent) -> Extent:
    """Emit total // known after a check that known is not 0."""
    v = b.scalars
    if isinstance(known, int):
        return total // known
    b.check(v.compare("ne", known, v.index(0)), _NO_REST, found=total)
    return total // known


def _check_sizes(dims: Sequence[Dim], sizes: Sequence[TensorType]) -> None:
    assert sum(not isinstance(dim, int) for dim in dims) == len(sizes), "one size per dim that is not a number"
    _check_types(sizes)


def _check_types(sizes: Sequence[TensorType]) -> None:
    for found in sizes:
        if found.rank != 0 or found.dtype not in dtypes.INTEGERS:
            raise GraphTypeError(f"an extent must be an integer scalar, not {found}")


def _check_signs(sizes: Iterable[Array]) -> None:
    for size in sizes:
        if size < 0:
            raise GraphValueError(f"reshape: extent {size} is negative")


def _fill(dims: Sequence[Dim], sizes: Sequence[Array]) -> list[int]:
    _check_signs(sizes)
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


@public(numpy="reshape")
@coerced
def reshape(x: Any, shape: Any, ndim: int | None = None) -> Variable:
    """x in C order under new extents: ints, integer scalars, at most one −1; or an integer vector.

    ndim: the rank of the result, checked if given.
    Raises: GraphValueError if the numbers of elements differ (at run time where they are not known) or two are −1.
    """
    x = as_tensor(x)
    target = as_extents(shape, ndim)
    if ndim is not None and ndim != len(target):
        raise GraphValueError(f"reshape: the shape has {len(target)} extents, but ndim is {ndim}")
    target = _without_rest(x, target)
    if sum(isinstance(extent, int) and extent == -1 for extent in target) == 1:
        target = _resolve(x, target)
    if _has_shape(x, target):
        return x  # type: ignore[no-any-return]
    symbolic = [extent for extent in target if isinstance(extent, Variable)]
    return Reshape(tuple(dim_of(extent) for extent in target))(x, *symbolic)  # type: ignore[no-any-return]


def _without_rest(x: Variable, target: list[SymbolicExtent]) -> list[SymbolicExtent]:
    """The target shape, in which extents that may be −1 at run time are replaced by the outputs of CompletedShape."""
    open_ones = [extent for extent in target if isinstance(extent, Variable) and not _is_of_extents(extent)]
    if not open_ones:
        return target
    numbers = [extent for extent in target if isinstance(extent, int)]
    op = CompletedShape(math.prod(n for n in numbers if n != -1), -1 in numbers)
    sizes = [extent for extent in target if isinstance(extent, Variable)]
    filled = iter(op.apply(product(extents_of(x)), *sizes).outputs)
    return [next(filled) if isinstance(extent, Variable) else extent for extent in target]


def _is_of_extents(x: Variable) -> bool:
    """Is an integer scalar computed from extents and numbers only, or unsigned, so that it cannot mean −1?"""
    pending, seen = [x], {x}
    while pending:
        y = pending.pop()
        if y.owner is None and not isinstance(y, Constant):
            return dtypes.is_unsigned(x.dtype)
        if y.owner is not None and not isinstance(y.owner.op, Shape | ShapeI):
            fresh = [source for source in y.owner.inputs if source not in seen]
            pending += fresh
            seen.update(fresh)
    return True


def _resolve(x: Variable, target: list[SymbolicExtent]) -> list[SymbolicExtent]:
    """The target with −1 replaced where extents of x cancel: (n, 3, 4) as (n, −1) is (n, 12), even for n = 0."""
    position = next(k for k, extent in enumerate(target) if isinstance(extent, int) and extent == -1)
    left = {extent_key(x, axis): axis for axis in range(x.ndim) if x.static_shape[axis] is None}
    above = math.prod(extent for extent in x.static_shape if extent is not None)
    below = math.prod(extent for k, extent in enumerate(target) if isinstance(extent, int) and k != position)
    if len(left) != x.static_shape.count(None) or below == 0:
        return target
    for extent in target:
        if isinstance(extent, Variable):
            source = source_of(extent)
            if source is None or left.pop(extent_key(*source), None) is None:
                return target
    if not left and above % below == 0:
        rest: SymbolicExtent = above // below
    elif len(left) == 1 and above == below:
        rest = extent_of(x, next(iter(left.values())))
    else:
        return target
    return [*target[:position], rest, *target[position + 1 :]]


def _has_shape(x: Variable, target: Sequence[SymbolicExtent]) -> bool:
    """Does x provably have these extents already?"""
    if len(target) != x.ndim:
        return False
    for axis, extent in enumerate(target):
        if isinstance(extent, int):
            same = extent == x.static_shape[axis]
        else:
            source = source_of(extent)
            same = source is not None and extent_key(*source) == extent_key(x, axis)
        if not same:
            return False
    return True


@public(method="flatten")
@coerced
def flatten(x: Any, ndim: int = 1) -> Variable:
    """x as rank `ndim`: the first ndim − 1 axes stay, the others become one.

    Raises: GraphValueError if ndim is below 1 or above the rank of x.
    """
    x = as_tensor(x)
    if not 1 <= ndim <= max(x.ndim, 1):
        raise GraphValueError(f"flatten: ndim must be from 1 to the rank {x.ndim}, found {ndim}", lines=[x.describe()])
    extents = extents_of(x)
    return reshape(x, [*extents[: ndim - 1], product(extents[ndim - 1 :])])


@public(numpy="ravel", method="ravel")
@coerced
def ravel(x: Any) -> Variable:
    """All elements of x in C order, as a vector."""
    return flatten(x)
