"""Slices of an axis as (start, count), so that a window costs memory for its entries only, whatever the extents.

start:stop:step of extent n   →   (first, count):   first + step·k for k = 0 … count − 1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.graph.variable import Constant, Variable, as_tensor
from aotensor.ops.elementwise.arithmetic import floor_div, maximum, minimum
from aotensor.ops.elementwise.compare import cast, lt, switch
from aotensor.ops.index import subtensor
from aotensor.ops.linear import ConstantOp
from aotensor.ops.ranges import arange
from aotensor.ops.shape.extents import SymbolicExtent, as_extent
from aotensor.sparse.csm import MatrixShape

Bound = int | Variable | None


@frozen_dataclass
class SliceRange(ConstantOp):
    """(extent, start, stop) → int64 (first, count) of start:stop:step, clipped as in Python.

    has_start, has_stop: a bound that is missing is not an input.
    """

    name: ClassVar[str] = "slice_range"
    notation: ClassVar[str] = "arange"
    step: int
    has_start: bool
    has_stop: bool

    def infer_type(self, *types: TensorType) -> TensorType:
        return TensorType("int64", (2,))

    def reference(self, extent: Array, *bounds: Array) -> Array:
        start, stop = self._bounds([int(x) for x in bounds])
        found = slice(start, stop, self.step).indices(int(extent))
        return np.array([found[0], len(range(*found))], np.int64)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return [MatrixShape()(*self.first_and_count(inputs))]

    def first_and_count(self, inputs: Sequence[Variable]) -> tuple[Variable, Variable]:
        """(first, count) as int64 scalars."""
        extent, *bounds = (cast(x, "int64") for x in inputs)
        is_upward = self.step > 0
        low, high = (as_tensor(0), extent) if is_upward else (as_tensor(-1), extent - 1)

        def clipped(bound: Variable | None, otherwise: Variable) -> Variable:
            if bound is None:
                return otherwise
            return minimum(maximum(switch(lt(bound, 0), bound + extent, bound), low), high)

        start, stop = self._bounds(bounds)
        first = clipped(start, low if is_upward else high)
        last = clipped(stop, high if is_upward else low)
        length = last - first if is_upward else first - last
        return first, switch(lt(0, length), floor_div(length - 1, abs(self.step)) + 1, 0)

    def _bounds(self, bounds: Sequence[Any]) -> tuple[Any, Any]:
        given = iter(bounds)
        return next(given) if self.has_start else None, next(given) if self.has_stop else None


@frozen_dataclass
class Progression:
    """Positions first + step·k for 0 ≤ k < count.   first: int64 scalar. dim: the static dim of the count"""

    first: Variable
    count: SymbolicExtent
    step: int
    dim: Dim

    @staticmethod
    def from_pair(pair: Variable, step: int, dim: Dim) -> Progression:
        """The progression of a vector (first, count) and a static step."""
        node = pair.owner
        if node is not None and isinstance(node.op, SliceRange):
            first, count = node.op.first_and_count(node.inputs)
        elif node is not None and isinstance(node.op, MatrixShape):
            first, count = node.inputs
        else:
            first, count = (subtensor(pair, k) for k in range(2))
        known = dim if isinstance(dim, int) else int(count.data) if isinstance(count, Constant) else as_extent(count)
        return Progression(cast(first, "int64"), known, step, dim)

    @property
    def upward(self) -> Progression:
        """The progression of the same positions in ascending order."""
        if self.step > 0:
            return self
        last = self.first + (cast(as_tensor(self.count), "int64") - 1) * self.step
        return Progression(last, self.count, -self.step, self.dim)

    @property
    def positions(self) -> Variable:
        """The positions as an int64 vector."""
        return self.first + arange(self.count, dtype="int64") * self.step


def slice_range(item: slice, extent: SymbolicExtent) -> tuple[Variable, int, Dim] | None:
    """(first, count) of a slice as a vector, its step, and the count if it is static.

    None for a step that is not a number other than 0, and for bounds that are not integers: such a slice is looked up
    in the positions of the axis, which says what is wrong with it.
    """
    step = _number(item.step) if item.step is not None else 1
    bounds = [x if x is None else _bound(x) for x in (item.start, item.stop)]
    is_strange = any((a is None) != (b is None) for a, b in zip((item.start, item.stop), bounds, strict=True))
    if not step or is_strange:
        return None
    start, stop = bounds
    if isinstance(extent, int) and not isinstance(start, Variable) and not isinstance(stop, Variable):
        found = slice(start, stop, step).indices(extent)
        count = len(range(*found))
        return MatrixShape()(as_tensor(found[0]), as_tensor(count)), step, count
    op = SliceRange(step, *(x is not None for x in bounds))
    return op(as_tensor(extent), *(as_tensor(x) for x in bounds if x is not None)), step, None


def _number(x: Any) -> int | None:
    if isinstance(x, Constant) and x.ndim == 0 and x.dtype in _INTEGERS:
        return int(x.data)
    return int(x) if isinstance(x, int | np.integer) and not isinstance(x, bool) else None


def _bound(x: Any) -> Bound:
    if isinstance(x, Variable) and not isinstance(x, Constant) and x.ndim == 0 and x.dtype in _INTEGERS:
        return x
    number = _number(x)
    return number if number is not None and -(2**63) <= number < 2**63 else None


_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
