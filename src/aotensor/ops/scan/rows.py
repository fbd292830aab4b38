"""The rows of a sequence that a loop reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Apply
from aotensor.graph.operations import KnownValues
from aotensor.graph.variable import Variable
from aotensor.ops.batching import check_nondifferentiable
from aotensor.ops.create import alloc
from aotensor.ops.linear import LinearOp
from aotensor.ops.scan.extents import Axis
from aotensor.ops.shape.extents import SymbolicExtent, extents_of
from aotensor.ops.updates import set_subtensor
from aotensor.ops.window import Line, gather

_FEW = "a sequence has {found} rows for {expected} steps"
_NEGATIVE = "the number of steps must not be negative, found {found}"


@frozen_dataclass
class FirstRows(LinearOp):
    """x, n → the first n positions of x along `axis`, an int64 scalar n of them.

    Raises: GraphValueError if there are fewer, or n is negative.
    """

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "scan_rows"
    axis: int = 0

    def infer_type(self, x: TensorType, n: TensorType) -> TensorType:
        if x.rank <= self.axis or (n.dtype, n.rank) != ("int64", 0):
            raise GraphTypeError(f"{x} has no axis {self.axis}, or {n} is not an int64 scalar")
        return TensorType(x.dtype, (*x.shape[: self.axis], None, *x.shape[self.axis + 1 :]))

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        x, n = types[0], known.value(node.inputs[1])
        if n is None:
            return self.infer_type(*types)
        self._check(x.static_shape[self.axis], int(n))
        return TensorType(x.dtype, (*x.shape[: self.axis], int(n), *x.shape[self.axis + 1 :]))

    def extent_source(self, node: Apply, output: int, axis: int) -> SymbolicExtent | Axis:
        """The origin of an extent of the output, for `Sources`."""
        x, n = node.inputs
        return n if axis == self.axis else (x, axis)

    def reference(self, x: Array, n: Array) -> Array:
        self._check(x.shape[self.axis], int(n))
        return x[(*[slice(None)] * self.axis, slice(int(n)))].copy()

    def _check(self, found: int | None, wanted: int) -> None:
        if wanted < 0:
            raise GraphValueError(f"scan: {_NEGATIVE.format(found=wanted)}")
        if found is not None and found < wanted:
            raise GraphValueError(f"scan: {_FEW.format(found=found, expected=wanted)}")

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        x, n = inputs
        zeros = alloc(0.0, extents_of(x)).astype(cotangent.dtype)
        return set_subtensor(zeros[(*[slice(None)] * self.axis, slice(n))], cotangent)

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched)
        return FirstRows(self.axis + 1).apply(*inputs).outputs

    def lower(self, b: TensorBuilder, x: Tensor, n: Tensor) -> Tensor:
        v = b.scalars
        wanted = v.cast(b.item(n), dtypes.INDEX)
        found = x.extents[self.axis]
        b.check(wanted >= 0, _NEGATIVE, found=wanted)
        b.check(v.index(found) >= wanted, _FEW, found=found, expected=wanted)
        extents = [wanted if axis == self.axis else extent for axis, extent in enumerate(x.extents)]
        return gather(b, x, [Line(0, extent) for extent in extents])


@frozen_dataclass
class SegmentRows(LinearOp):
    """x, start → `length` positions of x along `axis` from start, an int64 scalar; all inside, so nothing is checked.

    x has at least `length` positions; a start outside of 0 … n − length is moved inside.
    """

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "segment_rows"
    length: int
    axis: int = 0

    def infer_type(self, x: TensorType, start: TensorType) -> TensorType:
        if x.rank <= self.axis or (start.dtype, start.rank) != ("int64", 0):
            raise GraphTypeError(f"{x} has no axis {self.axis}, or {start} is not an int64 scalar")
        return TensorType(x.dtype, (*x.shape[: self.axis], self.length, *x.shape[self.axis + 1 :]))

    def reference(self, x: Array, start: Array) -> Array:
        first = max(min(int(start), x.shape[self.axis] - self.length), 0)
        return x[(*[slice(None)] * self.axis, slice(first, first + self.length))].copy()

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        x, start = inputs
        zeros = alloc(0.0, extents_of(x)).astype(cotangent.dtype)
        window = (*[slice(None)] * self.axis, slice(start, start + self.length))
        return set_subtensor(zeros[window], cotangent)

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched)
        return SegmentRows(self.length, self.axis + 1).apply(*inputs).outputs

    def lower(self, b: TensorBuilder, x: Tensor, start: Tensor) -> Tensor:
        v = b.scalars
        last = x.extents[self.axis] - self.length
        first = v.imax(v.imin(v.cast(b.item(start), dtypes.INDEX), last), 0)
        lines = [Line(0, extent) for extent in x.extents]
        lines[self.axis] = Line(first, self.length)
        return gather(b, x, lines)
