"""Tensors from a value and a shape, and ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.core.builders import Extent, Scalar, ScalarVerbs, Tensor, TensorBuilder
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Apply, Op, disconnected, is_disconnected, sum_terms
from aotensor.graph.public import public
from aotensor.graph.variable import Constant, Variable, as_tensor, constant
from aotensor.ops.batching import aligned, check_steering
from aotensor.ops.elementwise.arithmetic import add, mul
from aotensor.ops.elementwise.base import unbroadcast
from aotensor.ops.elementwise.compare import cast, saturated
from aotensor.ops.linear import LinearOp, zero_gradient
from aotensor.ops.range_batch import batch_of_ranges
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.extents import SymbolicExtent, as_extents, dim_of, extent_of, extents_of

_LONGEST = 2.0**48
"""Elements that no array has: a longer range is a mistake, and would overflow on the way."""


# --- one value, repeated ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Alloc(LinearOp):
    """A value repeated to a shape: v, *extents → tensor.   dims: a number, or a name or None for the next extent."""

    name: ClassVar[str] = "alloc"
    dims: tuple[Dim, ...]

    def infer_type(self, v: TensorType, *extents: TensorType) -> TensorType:
        _check_extent_types(extents)
        return TensorType(v.dtype, _fitted_dims(v, self.dims))

    def reference(self, v: Array, *extents: Array) -> Array:
        return np.array(np.broadcast_to(v, known_extents(self.name, self.dims, extents)))

    def evaluate(self, node: Apply, inputs: Sequence[Array]) -> tuple[Array, ...]:
        _check_fit(self.name, node.inputs[0], inputs[0], known_extents(self.name, self.dims, inputs[1:]))
        return super().evaluate(node, inputs)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return unbroadcast(cotangent, inputs[0])

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_steering(self, is_batched)
        v, *extents = inputs
        pending = iter(extents)
        shape = [dim if isinstance(dim, int) else next(pending) for dim in self.dims]
        return [alloc(aligned(v, len(shape)), [extent_of(v, 0), *shape])]

    def lower(self, b: TensorBuilder, v: Tensor, *extents: Tensor) -> Tensor:
        return b.broadcast(v, lowered_extents(b, self.dims, extents))


@dataclass(frozen=True)
class FullLike(LinearOp):
    """A value repeated to the extents of x, whose elements are not read: v, x → tensor."""

    name: ClassVar[str] = "full_like"

    def infer_type(self, v: TensorType, x: TensorType) -> TensorType:
        return TensorType(v.dtype, _fitted_dims(v, x.shape))

    def reference(self, v: Array, x: Array) -> Array:
        return np.array(np.broadcast_to(v, x.shape))

    def evaluate(self, node: Apply, inputs: Sequence[Array]) -> tuple[Array, ...]:
        _check_fit(self.name, node.inputs[0], inputs[0], inputs[1].shape)
        return super().evaluate(node, inputs)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return unbroadcast(cotangent, inputs[0])

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        v, x = inputs
        if not is_batched[0]:
            return self.apply(v, x).outputs
        wide = aligned(v, node.outputs[0].ndim)
        if is_batched[1]:
            return self.apply(wide, x).outputs
        return [alloc(wide, [extent_of(v, 0), *extents_of(x)])]

    def lower(self, b: TensorBuilder, v: Tensor, x: Tensor) -> Tensor:
        return b.broadcast(v, x.extents)


def _check_extent_types(extents: Sequence[TensorType]) -> None:
    for found in extents:
        if found.rank != 0 or found.dtype not in dtypes.INTEGERS:
            raise GraphTypeError(f"an extent is an integer scalar, not {found}")


def _fitted_dims(v: TensorType, dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """The dims of v repeated to `dims`.   Raises: GraphValueError if v is larger than that."""
    extra = len(dims) - v.rank
    if extra < 0:
        raise GraphValueError(f"a value of rank {v.rank} does not fit a shape of rank {len(dims)}")
    fitted = list(dims)
    for axis, dim in enumerate(v.shape, extra):
        wanted = dims[axis]
        if isinstance(dim, int) and isinstance(wanted, int) and dim not in (1, wanted):
            raise GraphValueError(f"extent {dim} does not fit {wanted} along axis {axis}")
        if dim != 1 and (wanted is None or isinstance(dim, int)):
            fitted[axis] = dim
    return tuple(fitted)


def _check_fit(name: str, v: Variable, value: Array, extents: Sequence[int]) -> None:
    extra = len(extents) - value.ndim
    for axis, (dim, extent) in enumerate(zip(v.tensor_type.shape, value.shape, strict=True), extra):
        if dim != 1 and extent != extents[axis]:
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


def lowered_extents(b: TensorBuilder, dims: Sequence[Dim], sizes: Sequence[Tensor]) -> list[Extent]:
    """The same in the IR, with the same check."""
    v = b.scalars
    pending = iter(sizes)
    extents: list[Extent] = []
    for dim in dims:
        if isinstance(dim, int):
            extents.append(dim)
            continue
        extent = v.cast(b.item(next(pending)), dtypes.INDEX)
        b.check(v.compare("ge", extent, v.index(0)), "extent {found} is negative", found=extent)
        extents.append(extent)
    return extents


def split_shape(name: str, shape: Any) -> tuple[tuple[Dim, ...], list[Variable]]:
    """A shape as the user wrote it, as the dims that an op keeps and the extents that are its inputs.

    Raises: GraphTypeError for what is no shape, GraphValueError for a negative extent.
    """
    extents: list[SymbolicExtent] = as_extents(shape)
    for extent in extents:
        if isinstance(extent, int) and extent < 0:
            raise GraphValueError(f"{name}: extent {extent} is negative")
    return tuple(map(dim_of, extents)), [extent for extent in extents if isinstance(extent, Variable)]


@public
def alloc(value: Any, *shape: Any) -> Variable:
    """`value` repeated to a shape: ints and integer scalars, or one sequence or vector of them.

    Raises: GraphValueError if the value does not fit the shape (at run time where it is not known) or an extent is
    negative; GraphTypeError for a shape that holds no integers.
    """
    is_whole = len(shape) == 1 and (isinstance(shape[0], list | tuple) or getattr(shape[0], "ndim", 0) == 1)
    dims, extents = split_shape("alloc", shape[0] if is_whole else shape)
    return Alloc(dims)(value, *extents)  # type: ignore[no-any-return]


@public
def full(shape: Any, fill_value: Any, dtype: DTypeLike | None = None) -> Variable:
    """`fill_value` everywhere, in its own dtype unless one is given."""
    value = as_tensor(fill_value)
    return alloc(value if dtype is None else cast(value, dtype), shape if _is_sequence(shape) else (shape,))


def _is_sequence(shape: Any) -> bool:
    return isinstance(shape, list | tuple) or getattr(shape, "ndim", 0) == 1


@public
def zeros(shape: Any, dtype: DTypeLike | None = None) -> Variable:
    """Zeros; floatX by default. Extents are numbers, integer scalars, or together an integer vector."""
    return full(shape, constant(0, dtype=dtype or config.floatX))


@public
def ones(shape: Any, dtype: DTypeLike | None = None) -> Variable:
    """Ones; floatX by default."""
    return full(shape, constant(1, dtype=dtype or config.floatX))


@public
def empty(shape: Any, dtype: DTypeLike | None = None) -> Variable:
    """A tensor whose elements do not matter; they are zeros, so that every run gives the same."""
    return zeros(shape, dtype)


@public
def full_like(x: Any, fill_value: Any, dtype: DTypeLike | None = None) -> Variable:
    """`fill_value` in the shape of x and its dtype, unless one is given. Nothing flows back to x."""
    x = as_tensor(x)
    value = cast(fill_value, dtype or x.dtype)
    if all(isinstance(dim, int) for dim in x.tensor_type.shape):
        return Alloc(x.tensor_type.shape)(value)  # type: ignore[no-any-return]
    return FullLike()(value, x)  # type: ignore[no-any-return]


@public
def zeros_like(x: Any, dtype: DTypeLike | None = None) -> Variable:
    """Zeros in the shape of x. Nothing flows back to x."""
    return full_like(x, 0, dtype)


def is_zeros(x: Variable) -> bool:
    """Is x made of zeros, as `zeros` and `zeros_like` make it?"""
    while x.owner is not None and (isinstance(x.owner.op, Alloc | FullLike) or x.owner.op.name == "cast"):
        x = x.owner.inputs[0]
    return isinstance(x, Constant) and not x.data.any()


@public
def ones_like(x: Any, dtype: DTypeLike | None = None) -> Variable:
    """Ones in the shape of x. Nothing flows back to x."""
    return full_like(x, 1, dtype)


@public
def empty_like(x: Any, dtype: DTypeLike | None = None) -> Variable:
    """A tensor in the shape of x whose elements do not matter; they are zeros."""
    return zeros_like(x, dtype)


# --- ranges ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arange(Op):
    """y[i] = start + i·step below stop (above it for a negative step).   three scalars → (n,)

    dim: the extent n, if it is a number or has a name. Computed in int64 from integer bounds, else in float64.
    """

    name: ClassVar[str] = "arange"
    dtype: str
    dim: Dim

    def infer_type(self, start: TensorType, stop: TensorType, step: TensorType) -> TensorType:
        for found in (start, stop, step):
            if found.rank != 0 or found.dtype == "bool":
                raise GraphTypeError(f"a bound is a number, not {found}")
        return TensorType(self.dtype, (self.dim,))

    def reference(self, start: Array, stop: Array, step: Array) -> Array:
        wide = _wide(*(x.dtype.name for x in (start, stop, step)))
        first, end, stride = (np.asarray(x, wide)[()] for x in (start, stop, step))
        return saturated(np.asarray(first + stride * np.arange(range_length(first, end, stride)), wide), self.dtype)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False], [True]]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        start, _, step = inputs
        (g,) = cotangents
        if dtypes.is_discrete(self.dtype):
            return [zero_gradient(start), disconnected(), zero_gradient(step)]
        along = sum_over(mul(g, _positions(outputs[0])))
        return [unbroadcast(sum_over(g), start), disconnected(), unbroadcast(along, step)]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        (y,) = outputs
        start, _, step = tangents
        if is_disconnected(start) and is_disconnected(step):
            return [disconnected()]
        if dtypes.is_discrete(self.dtype):
            return [zero_gradient(y)]
        terms = [] if is_disconnected(start) else [full_like(y, start)]
        if not is_disconnected(step):
            terms.append(cast(mul(step, _positions(y)), self.dtype))
        return [sum_terms(terms, add)]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        wide = _wide(*(x.dtype for x in inputs))
        return [batch_of_ranges(Arange(self.dtype, None), self.dtype, wide, inputs, is_batched)]

    def lower(self, b: TensorBuilder, start: Tensor, stop: Tensor, step: Tensor) -> Tensor:
        v, wide = b.scalars, _wide(start.dtype, stop.dtype, step.dtype)
        first, end, stride = (v.cast(b.item(x), wide) for x in (start, stop, step))
        b.check(v.compare("ne", stride, v.constant(0, wide)), "step is 0")
        emit_length = _emit_float_length if dtypes.is_float(wide) else _emit_whole_length
        length: Extent = self.dim if isinstance(self.dim, int) else emit_length(b, first, end, stride)

        def element(s: ScalarVerbs, i: Scalar) -> Scalar:
            return s.cast(s.add(first, s.mul(s.cast(i, wide), stride)), self.dtype)

        return b.tabulate([length], self.dtype, element)


def _wide(*bounds: str) -> str:
    return "float64" if any(map(dtypes.is_float, bounds)) else "int64"


def _positions(y: Variable) -> Variable:
    """0, 1, 2, … in the shape and dtype of the vector y."""
    return arange(extent_of(y, 0), dtype=y.dtype)


def range_length(start: Any, stop: Any, step: Any) -> int:
    """Number of elements of a range.   Raises: GraphValueError for a step of 0 or an endless range."""
    if step == 0:
        raise GraphValueError("arange: step is 0")
    if (
        isinstance(start, int | np.integer)
        and isinstance(stop, int | np.integer)
        and isinstance(step, int | np.integer)
    ):
        return len(range(int(start), int(stop), int(step)))
    with np.errstate(all="ignore"):
        length = np.ceil((np.float64(stop) - np.float64(start)) / np.float64(step))
    if not length <= _LONGEST:
        raise GraphValueError("arange: the range does not end")
    return max(int(length), 0) if np.isfinite(length) else 0


def _emit_whole_length(b: TensorBuilder, start: Scalar, stop: Scalar, step: Scalar) -> Scalar:
    """⌈(stop − start)/step⌉ of integers, by a division of two positive ones."""
    v = b.scalars
    zero, one = v.constant(0, "int64"), v.constant(1, "int64")
    is_up = v.compare("gt", step, zero)
    distance = v.maximum(v.select(is_up, v.sub(stop, start), v.sub(start, stop)), zero)
    stride = v.maximum(v.abs(step), one)
    return v.cast(v.div(v.add(distance, v.sub(stride, one)), stride), dtypes.INDEX)


def _emit_float_length(b: TensorBuilder, start: Scalar, stop: Scalar, step: Scalar) -> Scalar:
    v = b.scalars
    length = v.math("ceil", v.div(v.sub(stop, start), step))
    fine = v.compare("le", length, v.constant(_LONGEST, "float64"))
    b.check(fine, "the range does not end")
    return v.cast(v.maximum(length, v.constant(0.0, "float64")), dtypes.INDEX)


@public
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: DTypeLike | None = None) -> Variable:
    """start, start + step, … below stop; `arange(n)` is 0, 1, …, n − 1.

    Integers give int64, float literals floatX, symbolic floats their own dtype. Slopes: 1 for start, i for step.

    Raises: GraphValueError for a step of 0 or an endless range, when built or at run time; GraphTypeError for a bound
    that is no scalar number.
    """
    start, stop = (0, start) if stop is None else (start, stop)
    bounds = [start, stop, step]
    name = dtypes.canonical(dtype) if dtype is not None else _range_dtype(bounds)
    inputs = [_bound(x) for x in bounds]
    return Arange(name, _range_dim(inputs))(*inputs)  # type: ignore[no-any-return]


def _is_literal(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool | np.generic)


def _bound(x: Any) -> Variable:
    return constant(x, dtype="float64" if isinstance(x, float) else "int64") if _is_literal(x) else as_tensor(x)


def _range_dtype(bounds: Sequence[Any]) -> str:
    symbolic = [as_tensor(x).dtype for x in bounds if not _is_literal(x)]
    if any(map(dtypes.is_float, symbolic)):
        return dtypes.promote(*symbolic)
    if any(isinstance(x, float) and _is_literal(x) for x in bounds):
        return config.floatX
    return "uint64" if "uint64" in symbolic else "int64"


def _range_dim(inputs: Sequence[Variable]) -> Dim:
    """The extent as far as it is known: a number, or the name of the dim that the range counts."""
    known = [x.data[()] if isinstance(x, Constant) and x.ndim == 0 else None for x in inputs]
    if all(value is not None for value in known):
        return range_length(*known)
    stop = inputs[1]
    counts = known[0] == 0 and known[2] == 1 and stop.ndim == 0 and dtypes.is_discrete(stop.dtype)
    return dim_of(stop) if counts else None
