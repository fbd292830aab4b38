"""Linear recurrences along an axis, and shifts by one: the derivatives of running products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, broadcast_shapes, normalise_axis
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import connected, sum_terms
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.batching import AxisOp
from aotensor.ops.elementwise.arithmetic import add, mul
from aotensor.ops.linear import LinearOp


@frozen_dataclass
class Shift(AxisOp, LinearOp):
    """Shift by one: y[k] = x[k − 1] along an axis with a leading 0, or x[k + 1] with a trailing 0 if `back`."""

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "shift"
    notation: ClassVar[str] = "roll"
    axis: int
    back: bool = False

    def infer_type(self, x: TensorType) -> TensorType:
        normalise_axis(self.axis, x.rank)
        return x

    def reference(self, x: Array) -> Array:
        line, result = np.moveaxis(x, self.axis, -1), np.zeros_like(x)
        target = np.moveaxis(result, self.axis, -1)
        if self.back:
            target[..., :-1] = line[..., 1:]
        else:
            target[..., 1:] = line[..., :-1]
        return result

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return Shift(self.axis, not self.back)(cotangent)  # type: ignore[no-any-return]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        def element(v: ScalarBuilder, *at: Scalar) -> Scalar:
            k, last = at[self.axis], x.extents[self.axis] - 1
            source = v.imin(k + 1, last) if self.back else v.imax(k - 1, 0)
            value = v.load(x, *at[: self.axis], source, *at[self.axis + 1 :])
            is_end = v.compare("eq", k, v.index(last if self.back else 0))
            return v.select(is_end, v.constant(0, x.dtype), value)

        return b.tabulate(x.extents, x.dtype, element)


@frozen_dataclass
class LinearRecurrence(AxisOp):
    """y[k] = a[k]·y[k − 1] + c[k] along an axis, from 0; y[k] = a[k]·y[k + 1] + c[k] if reverse.

    a, c: of one shape and one floating dtype, as y. Derivatives are such recurrences, so they cost n steps per line of
    n elements, to any order.
    """

    name: ClassVar[str] = "linear_recurrence"
    notation: ClassVar[str] = "scan"
    axis: int
    reverse: bool = False

    def infer_type(self, a: TensorType, c: TensorType) -> TensorType:
        normalise_axis(self.axis, a.rank)
        if a.dtype != c.dtype or not dtypes.is_float(a.dtype) or a.rank != c.rank:
            raise GraphTypeError(f"factors and terms must have one floating dtype and one rank, found {a} and {c}")
        if any(p != q and None not in (p, q) for p, q in zip(a.static_shape, c.static_shape, strict=True)):
            raise GraphValueError(f"factors and terms must have one shape, found {a} and {c}")
        return TensorType(a.dtype, broadcast_shapes([a.shape, c.shape]))

    def reference(self, a: Array, c: Array) -> Array:
        if a.shape != c.shape:
            raise GraphValueError(
                f"linear_recurrence: factors and terms must have one shape, found {a.shape} and {c.shape}"
            )
        result = np.zeros_like(c)
        factors, terms, y = (np.moveaxis(x, self.axis, 0)[:: -1 if self.reverse else 1] for x in (a, c, result))
        carried = np.zeros(y.shape[1:], y.dtype)
        with np.errstate(all="ignore"):
            for k in range(len(y)):
                y[k] = carried = factors[k] * carried + terms[k]
        return result

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (a, _), (y,), (ct,) = inputs, outputs, cotangents
        weight = LinearRecurrence(self.axis, not self.reverse)(Shift(self.axis, not self.reverse)(a), ct)
        return [mul(weight, Shift(self.axis, self.reverse)(y)), weight]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (a, _), (y,) = inputs, outputs
        moving = connected(tangents).items()
        changes = [t if k else mul(t, Shift(self.axis, self.reverse)(y)) for k, t in moving]
        return [self(a, sum_terms(changes, add))]

    def lower(self, b: TensorBuilder, a: Tensor, c: Tensor) -> Tensor:
        extents = [
            b.same_extent(found, f"extents along axis {axis} of factors and terms")
            for axis, found in enumerate(zip(a.extents, c.extents, strict=True))
        ]
        a, c = b.broadcast(a, extents), b.broadcast(c, extents)  # an extent may be known of one of them only
        return b.recur(a, c, self.axis, self.reverse)
