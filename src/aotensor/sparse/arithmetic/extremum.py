"""The largest and the smallest elements of sparse matrices, without a dense one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, Variables, as_tensor, constant
from aotensor.ops.create import alloc
from aotensor.ops.elementwise.arithmetic import maximum, minimum
from aotensor.ops.elementwise.compare import and_, cast, eq, isnan, lt, or_, switch
from aotensor.ops.index import subtensor
from aotensor.ops.reduce import extremum as dense_extremum
from aotensor.ops.reduce.sort import argsort
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.extents import SymbolicExtent, extent_of, product
from aotensor.ops.shape.join import concatenate
from aotensor.sparse.arithmetic.operands import CanonicalOp, parts_in
from aotensor.sparse.arithmetic.sums import Axis, along, at_entries, kept, one_axis
from aotensor.sparse.compressed_axes import TakeAt, major_of_entries
from aotensor.sparse.csm import like, parts_of
from aotensor.sparse.op import Compressed, as_sparse, need_sparse
from aotensor.sparse.sample import sample_at


@frozen_dataclass
class SpExtremum(CanonicalOp):
    """The largest or smallest element over both axes (None) or one; elements that are not stored count as 0.

    (m, n) sparse → (), (n,) for axis 0 or (m,) for axis 1, dtype of x; nan if one is stored.

    Gradient: structured; every stored element that is the extremum gets all of z̄.

    Raises: GraphValueError for an axis that is empty (at run time where it is not known).
    """

    takes_complex: ClassVar[bool] = False
    kind: Literal["max", "min"]
    axis: int | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"sparse_{self.kind}"

    def infer_type(self, x: TensorType) -> TensorType:
        need_sparse(self, x)
        for axis in (0, 1) if self.axis is None else (self.axis,):
            if x.shape[axis] == 0:
                raise GraphValueError(f"{self.name}: axis {axis} is empty")
        return TensorType(x.dtype, () if self.axis is None else (x.shape[1 - self.axis],))

    def reference(self, x: Any) -> Array:
        for axis in (0, 1) if self.axis is None else (self.axis,):
            if x.shape[axis] == 0:
                raise GraphValueError(f"{self.name}: axis {axis} is empty")
        return np.asarray({"max": np.max, "min": np.min}[self.kind](x.toarray(), axis=self.axis))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        x = inputs[0]
        if self.axis is None:
            return [self._total_extremum(parts_of(x))]
        return [self._slice_extrema(parts_in(x, "csr" if self.axis == 1 else "csc"))]

    def _total_extremum(self, p: Compressed) -> Variable:
        """The extremum of all elements: of the stored values, and of 0 if some element is not stored."""
        total = product([p.rows, p.columns])
        has_zero = lt(extent_of(p.data, 0), total)
        info = np.finfo(p.data.dtype) if dtypes.is_float(p.data.dtype) else np.iinfo(p.data.dtype)
        never = -np.inf if dtypes.is_float(p.data.dtype) else int(info.min)
        if self.kind == "min":
            never = np.inf if dtypes.is_float(p.data.dtype) else int(info.max)
        rest = switch(has_zero, constant(0, dtype=p.data.dtype), constant(never, dtype=p.data.dtype))
        values = concatenate([p.data, alloc(rest, [_one_unless_empty(total)])])
        return getattr(dense_extremum, self.kind)(values)  # type: ignore[no-any-return]

    def _slice_extrema(self, p: Compressed) -> Variable:
        """The extremum of each slice: its first or last stored value in sorted order, and 0 if the slice is not
        full.
        """
        indptr = cast(p.indptr, "int64")
        by_value = argsort(p.data)
        order = subtensor(by_value, argsort(subtensor(major_of_entries(p), by_value)))
        zero = constant(0, dtype=p.data.dtype)
        values = concatenate([subtensor(p.data, order), alloc(zero, [1])])  # the last one for slices without entries
        starts, ends = subtensor(indptr, slice(None, -1)), subtensor(indptr, slice(1, None))
        nothing, last = cast(as_tensor(extent_of(p.data, 0)), "int64"), ends - 1
        has_some = lt(starts, ends)
        largest = TakeAt()(values, switch(has_some, last, nothing))
        found = largest
        if self.kind == "min":
            found = TakeAt()(values, switch(has_some, starts, nothing))
            found = switch(isnan(largest), largest, found) if dtypes.is_float(p.data.dtype) else found
        empty = alloc(zero, [_one_unless_empty(p.minor)])
        nil = dense_extremum.max(empty)  # 0, or the error of an empty axis
        bounded = (maximum if self.kind == "max" else minimum)(found, nil)
        return switch(lt(ends - starts, cast(as_tensor(p.minor), "int64")), bounded, found)

    def _mask(self, p: Compressed, y: Variable) -> Variable:
        """Mask of the stored entries that equal the extremum y."""
        best = at_entries(self.axis, p, y)
        is_best = eq(p.data, best)
        return or_(is_best, and_(isnan(p.data), isnan(best))) if dtypes.is_float(p.data.dtype) else is_best

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (x,), (y,), (ct,) = inputs, outputs, cotangents
        p = parts_of(x)
        return [like(x, switch(self._mask(p, y), at_entries(self.axis, p, ct), 0))]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (x,), (y,), (tx,) = inputs, outputs, tangents
        p = parts_of(x)
        found = switch(self._mask(p, y), sample_at(tx, x), 0)
        return [sum_over(found) if self.axis is None else along(self.axis)(p, found)]


def _one_unless_empty(extent: SymbolicExtent) -> SymbolicExtent:
    """min(extent, 1): the extent of a vector that is empty if the axis is, so that its extremum raises the error."""
    return min(extent, 1) if isinstance(extent, int) else minimum(extent, constant(1, dtype="int64"))


@coerced
def sparse_max(x: Any, axis: Axis = None, keepdims: bool = False) -> Variable:
    """The largest element over an axis, or all; see SpExtremum.   Raises: as `sp_sum`."""
    return _extremum("max", x, axis, keepdims)


@coerced
def sparse_min(x: Any, axis: Axis = None, keepdims: bool = False) -> Variable:
    """The smallest element over an axis, or all; see SpExtremum.   Raises: as `sp_sum`."""
    return _extremum("min", x, axis, keepdims)


def _extremum(kind: Literal["max", "min"], x: Any, axis: Axis, keepdims: bool) -> Variable:
    chosen = one_axis(axis)
    return kept(as_sparse(x), SpExtremum(kind, chosen)(as_sparse(x)), chosen, keepdims)
