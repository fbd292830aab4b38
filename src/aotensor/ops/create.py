"""Tensors from a value and a shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.core.builders import Extent, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply
from aotensor.graph.operations import KnownValues
from aotensor.graph.public import public
from aotensor.graph.variable import Constant, Variable, as_tensor, constant
from aotensor.ops.batching import align_rank, check_nondifferentiable
from aotensor.ops.elementwise.base import unbroadcast
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.linear import LinearOp
from aotensor.ops.shape.extents import SymbolicExtent, as_extents, dim_of, dims_at, extent_of, extents_of

# --- one value, repeated ---------------------------------------------------------------------------------------------


@frozen_dataclass
class Alloc(LinearOp):
    """A value broadcast to a shape: v, *extents → tensor.   dims: a number, or a name or None for the next extent."""

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "alloc"
    dims: tuple[Dim, ...]

    def infer_type(self, v: TensorType, *extents: TensorType) -> TensorType:
        _check_extent_types(extents)
        return TensorType(v.dtype, _fitted_dims(v, self.dims))

    def reference(self, v: Array, *extents: Array) -> Array:
        return np.array(np.broadcast_to(v, known_extents(self.name, self.dims, extents)))

    def evaluate(self, node: Apply, inputs: Sequence[Array]) -> tuple[Array, ...]:
        _check_fit(self.name, node.inputs[0], inputs[0].shape, known_extents(self.name, self.dims, inputs[1:]))
        return super().evaluate(node, inputs)

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        op = Alloc(dims_at(self.name, self.dims, node.inputs[1:], known))
        _check_fit(self.name, node.inputs[0], types[0].static_shape, op.dims)
        return op.infer_type(types[0], *[TensorType("int64")] * op.dims.count(None))

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return unbroadcast(cotangent, inputs[0])

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched)
        v, *extents = inputs
        pending = iter(extents)
        shape = [dim if isinstance(dim, int) else next(pending) for dim in self.dims]
        return [alloc(align_rank(v, len(shape)), [extent_of(v, 0), *shape])]

    def lower(self, b: TensorBuilder, v: Tensor, *extents: Tensor) -> Tensor:
        return b.broadcast(v, lowered_extents(b, self.dims, extents))


@frozen_dataclass
class FullLike(LinearOp):
    """A value broadcast to the extents of x, whose elements are not read: v, x → tensor."""

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "full_like"

    def infer_type(self, v: TensorType, x: TensorType) -> TensorType:
        return TensorType(v.dtype, _fitted_dims(v, x.shape))

    def reference(self, v: Array, x: Array) -> Array:
        return np.array(np.broadcast_to(v, x.shape))

    def evaluate(self, node: Apply, inputs: Sequence[Array]) -> tuple[Array, ...]:
        _check_fit(self.name, node.inputs[0], inputs[0].shape, inputs[1].shape)
        return super().evaluate(node, inputs)

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        _check_fit(self.name, node.inputs[0], types[0].static_shape, types[1].shape)
        return self.infer_type(*types)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return unbroadcast(cotangent, inputs[0])

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        v, x = inputs
        if not is_batched[0]:
            return self.apply(v, x).outputs
        wide = align_rank(v, node.outputs[0].ndim)
        if is_batched[1]:
            return self.apply(wide, x).outputs
        return [alloc(wide, [extent_of(v, 0), *extents_of(x)])]

    def lower(self, b: TensorBuilder, v: Tensor, x: Tensor) -> Tensor:
        return b.broadcast(v, x.extents)


def _check_extent_types(extents: Sequence[TensorType]) -> None:
    for found in extents:
        if found.rank != 0 or found.dtype not in dtypes.INTEGERS:
            raise GraphTypeError(f"an extent must be an integer scalar, not {found}")


def _fitted_dims(v: TensorType, dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """`dims`, with names and None replaced by known dims of v, which broadcasts to them.   Raises: GraphValueError"""
    extra = len(dims) - v.rank
    if extra < 0:
        raise GraphValueError(f"the value has rank {v.rank}, more than the {len(dims)} axes of the shape")
    fitted = list(dims)
    for axis, dim in enumerate(v.shape, extra):
        wanted = dims[axis]
        if isinstance(dim, int) and isinstance(wanted, int) and dim not in (1, wanted):
            raise GraphValueError(f"the value has extent {dim} along axis {axis}, where the shape has {wanted}")
        if dim != 1 and (wanted is None or isinstance(dim, int)):
            fitted[axis] = dim
    return tuple(fitted)


def _check_fit(name: str, v: Variable, shape: Sequence[int | None], extents: Sequence[Dim]) -> None:
    extra = len(extents) - len(shape)
    for axis, (dim, extent) in enumerate(zip(v.tensor_type.shape, shape, strict=True), extra):
        if dim != 1 and isinstance(extent, int) and isinstance(extents[axis], int) and extent != extents[axis]:
            raise GraphValueError(
                f"{name}: extents {extent} and {extents[axis]} along axis {axis} differ",
                lines=[v.describe()],
                hint="only a dim that the type says is 1 broadcasts" if extent == 1 else None,
            )


def known_extents(name: str, dims: Sequence[Dim], sizes: Sequence[Array]) -> tuple[int, ...]:
    """The extents at run time: the numbers among `dims`, else the next of `sizes`.

    Raises: GraphValueError for a negative one.
    """
    pending = iter(sizes)
    extents = tuple(dim if isinstance(dim, int) else int(next(pending)) for dim in dims)
    if any(extent < 0 for extent in extents):
        raise GraphValueError(f"{name}: extent {min(extents)} is negative")
    return extents


def lowered_extents(
    b: TensorBuilder, dims: Sequence[Dim], sizes: Sequence[Tensor], known: Sequence[Extent] = ()
) -> list[Extent]:
    """The extents in the IR: the numbers among `dims`, else the next of `sizes`; checked at run time not to be
    negative, unless they are among the `known` extents of tensors.
    """
    v = b.scalars
    pending = iter(sizes)
    extents: list[Extent] = []
    for dim in dims:
        if isinstance(dim, int):
            extents.append(dim)
            continue
        extent = v.cast(b.item(next(pending)), dtypes.INDEX)
        if extent not in known:
            b.check(extent >= 0, "extent {found} is negative", found=extent)
        extents.append(extent)
    return extents


def split_shape(name: str, shape: Any) -> tuple[tuple[Dim, ...], list[Variable]]:
    """Split a user's shape into the static dims that an op stores and the symbolic extents that become its inputs.

    Raises: GraphTypeError for another kind of argument, GraphValueError for a negative extent.
    """
    extents: list[SymbolicExtent] = as_extents(shape)
    for extent in extents:
        if isinstance(extent, int) and extent < 0:
            raise GraphValueError(f"{name}: extent {extent} is negative")
    return tuple(map(dim_of, extents)), [extent for extent in extents if isinstance(extent, Variable)]


@coerced
def alloc(value: Any, *shape: Any) -> Variable:
    """`value` broadcast to a shape: ints and integer scalars, or one sequence or vector of them.

    Raises: GraphValueError if the value does not fit the shape (at run time where it is not known) or an extent is
    negative; GraphTypeError for a shape other than integers.
    """
    is_whole = len(shape) == 1 and (isinstance(shape[0], list | tuple) or getattr(shape[0], "ndim", 0) == 1)
    dims, extents = split_shape("alloc", shape[0] if is_whole else shape)
    return Alloc(dims)(value, *extents)  # type: ignore[no-any-return]


@public(numpy="full")
@coerced
def full(shape: Any, fill_value: Any, dtype: DTypeLike | None = None) -> Variable:
    """`fill_value` everywhere, in its own dtype unless one is given."""
    value = as_tensor(fill_value)
    return alloc(value if dtype is None else cast(value, dtype), shape if _is_sequence(shape) else (shape,))


def _is_sequence(shape: Any) -> bool:
    return isinstance(shape, list | tuple) or getattr(shape, "ndim", 0) == 1


@public(numpy="zeros")
@coerced
def zeros(shape: Any, dtype: DTypeLike | None = None) -> Variable:
    """Zeros; floatX by default. Extents are numbers, integer scalars, or together an integer vector."""
    return full(shape, constant(0, dtype=dtype or config.floatX))


@public(numpy="ones")
@coerced
def ones(shape: Any, dtype: DTypeLike | None = None) -> Variable:
    """Ones; floatX by default."""
    return full(shape, constant(1, dtype=dtype or config.floatX))


@public(numpy="empty")
@coerced
def empty(shape: Any, dtype: DTypeLike | None = None) -> Variable:
    """A tensor with unspecified elements; they are zeros, so that every run gives the same."""
    return zeros(shape, dtype)


@public(numpy="full_like")
@coerced
def full_like(x: Any, fill_value: Any, dtype: DTypeLike | None = None) -> Variable:
    """`fill_value` in the shape of x and its dtype, unless one is given. x gets no gradient."""
    x = as_tensor(x)
    value = cast(fill_value, dtype or x.dtype)
    if all(isinstance(dim, int) for dim in x.tensor_type.shape):
        return Alloc(x.tensor_type.shape)(value)  # type: ignore[no-any-return]
    return FullLike()(value, x)  # type: ignore[no-any-return]


@public(numpy="zeros_like", method="zeros_like")
@coerced
def zeros_like(x: Any, dtype: DTypeLike | None = None) -> Variable:
    """Zeros in the shape of x. x gets no gradient."""
    return full_like(x, 0, dtype)


def is_zeros(x: Variable) -> bool:
    """Is x a dense tensor created by `zeros` or `zeros_like`?"""
    if x.owner is not None and x.owner.op.name == "complex":
        return all(map(is_zeros, x.owner.inputs))
    while x.owner is not None and (isinstance(x.owner.op, Alloc | FullLike) or x.owner.op.name == "cast"):
        x = x.owner.inputs[0]
    return isinstance(x, Constant) and not x.is_sparse and not x.data.any()


@public(numpy="ones_like", method="ones_like")
@coerced
def ones_like(x: Any, dtype: DTypeLike | None = None) -> Variable:
    """Ones in the shape of x. x gets no gradient."""
    return full_like(x, 1, dtype)


@public(numpy="empty_like")
@coerced
def empty_like(x: Any, dtype: DTypeLike | None = None) -> Variable:
    """A tensor in the shape of x with unspecified elements; they are zeros."""
    return zeros_like(x, dtype)
