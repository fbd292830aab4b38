"""Ranges: start, start + step, … below stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.core.builders import Extent, Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply, Op, connected, disconnected, sum_terms
from aotensor.graph.operations import KnownValues
from aotensor.graph.public import public
from aotensor.graph.variable import Constant, Variable, Variables, as_tensor, constant
from aotensor.ops.create import full_like
from aotensor.ops.elementwise.arithmetic import add, mul
from aotensor.ops.elementwise.base import unbroadcast
from aotensor.ops.elementwise.compare import cast, saturated
from aotensor.ops.linear import zero_gradient
from aotensor.ops.range_batch import batch_of_ranges
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.extents import dim_of, extent_of, known_integer

_LONGEST = 2.0**48
"""Most elements of a range: a longer one is a mistake, and its computation would overflow."""


@frozen_dataclass
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
                raise GraphTypeError(f"start, stop and step must be numbers, not {found}")
        return TensorType(self.dtype, (self.dim,))

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        start, stop, step = (known.value(x) for x in node.inputs)
        if start is None or stop is None or step is None:
            return self.infer_type(*types)
        return TensorType(self.dtype, (range_length(*self._bounds(start, stop, step)),))

    def _bounds(self, *bounds: Array) -> list[Any]:
        """(start, stop, step) in the dtype in which the range is computed."""
        wide = _wide(*(x.dtype.name for x in bounds))
        return [np.asarray(x, wide)[()] for x in bounds]

    def reference(self, start: Array, stop: Array, step: Array) -> Array:
        first, end, stride = self._bounds(start, stop, step)
        return saturated(first + stride * np.arange(range_length(first, end, stride), dtype=first.dtype), self.dtype)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False], [True]]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        start, _, step = inputs
        (g,) = cotangents
        if dtypes.is_discrete(self.dtype):
            return [zero_gradient(start), disconnected(), zero_gradient(step)]
        along = sum_over(mul(g, _positions(outputs[0])))
        return [unbroadcast(sum_over(g), start), disconnected(), unbroadcast(along, step)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (y,) = outputs
        if dtypes.is_discrete(self.dtype):
            return [zero_gradient(y)]
        moving = connected(tangents).items()
        terms = [cast(mul(t, _positions(y)), self.dtype) if k else full_like(y, t) for k, t in moving]
        return [sum_terms(terms, add)]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        wide = _wide(*(x.dtype for x in inputs))
        return [batch_of_ranges(Arange(self.dtype, None), self.dtype, wide, inputs, is_batched)]

    def lower(self, b: TensorBuilder, start: Tensor, stop: Tensor, step: Tensor) -> Tensor:
        v, wide = b.scalars, _wide(start.dtype, stop.dtype, step.dtype)
        first, end, stride = (v.cast(b.item(x), wide) for x in (start, stop, step))
        length: Extent
        if isinstance(self.dim, int):  # computed, and checked, when the range was created
            length = self.dim
        else:
            b.check(v.compare("ne", stride, v.constant(0, wide)), "step must not be 0")
            emit_length = _emit_float_length if dtypes.is_float(wide) else _emit_whole_length
            length = emit_length(b, first, end, stride)

        def element(s: ScalarBuilder, i: Scalar) -> Scalar:
            return s.cast(first + s.cast(i, wide) * stride, self.dtype)

        made = b.tabulate([length], self.dtype, element)
        counts = not dtypes.is_float(wide) and (v.as_extent(first), v.as_extent(stride)) == (0, 1)
        return b.mark_as_range(made) if counts else made


def _wide(*bounds: str) -> str:
    return "float64" if any(map(dtypes.is_float, bounds)) else "int64"


def _positions(y: Variable) -> Variable:
    """0, 1, 2, … in the shape and dtype of the vector y."""
    return arange(extent_of(y, 0), dtype=y.dtype)


def range_length(start: Any, stop: Any, step: Any) -> int:
    """Number of elements of a range.   Raises: GraphValueError for a step of 0 or an endless range."""
    if step == 0:
        raise GraphValueError("arange: step must not be 0")
    if (
        isinstance(start, int | np.integer)
        and isinstance(stop, int | np.integer)
        and isinstance(step, int | np.integer)
    ):
        return max(-((int(start) - int(stop)) // int(step)), 0)
    with np.errstate(all="ignore"):
        length = np.ceil((np.float64(stop) - np.float64(start)) / np.float64(step))
    if not length <= _LONGEST:
        raise GraphValueError("arange: start, stop and step must give a finite range")
    return max(int(length), 0) if np.isfinite(length) else 0


def _emit_whole_length(b: TensorBuilder, start: Scalar, stop: Scalar, step: Scalar) -> Extent:
    """Emit ⌈(stop − start)/step⌉ of integers, at most 2^62; distance and stride are unsigned 64-bit numbers."""
    v = b.scalars
    if v.as_extent(start) == 0 and v.as_extent(step) == 1:
        return v.imax(v.as_extent(stop), 0)
    low, high, stride = (v.cast(x, "uint64") for x in (start, stop, step))
    zero, one = v.constant(0, "uint64"), v.constant(1, "uint64")
    is_up = step > 0
    has_any = v.select(is_up, start < stop, stop < start)
    distance = v.select(has_any, v.select(is_up, high - low, low - high), one)
    size = v.maximum(v.select(is_up, stride, zero - stride), one)
    length = (distance - one) / size + one
    return v.cast(v.select(has_any, v.minimum(length, v.constant(1 << 62, "uint64")), zero), dtypes.INDEX)


def _emit_float_length(b: TensorBuilder, start: Scalar, stop: Scalar, step: Scalar) -> Scalar:
    v = b.scalars
    length = v.math("ceil", (stop - start) / step)
    fine = length <= _LONGEST
    b.check(fine, "start, stop and step must give a finite range")
    return v.cast(v.maximum(length, v.constant(0.0, "float64")), dtypes.INDEX)


@public(numpy="arange")
@coerced
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: DTypeLike | None = None) -> Variable:
    """start, start + step, … below stop; `arange(n)` is 0, 1, …, n − 1.

    Integers give int64, float literals floatX, symbolic floats their own dtype. Derivatives: 1 for start, i for step.

    Raises: GraphValueError for a step of 0 or an endless range, when built or at run time; GraphTypeError for a bound
    that is not a scalar number.
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
    """The dim of a range: its extent if static, or the name of the dim that the range counts; else None."""
    known = [x.data[()] if isinstance(x, Constant) and x.ndim == 0 else known_integer(x) for x in inputs]
    if all(value is not None for value in known):
        return range_length(*known)
    stop = inputs[1]
    counts = known[0] == 0 and known[2] == 1 and stop.ndim == 0 and dtypes.is_discrete(stop.dtype)
    return dim_of(stop) if counts else None
