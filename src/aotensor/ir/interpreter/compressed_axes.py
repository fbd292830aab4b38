"""NumPy semantics of the operations on compressed axes."""

from __future__ import annotations

import numpy as np

from aotensor.core.types import Array
from aotensor.errors import InternalError
from aotensor.ir.dialect_sparse import ExpandSlicesOp, SegmentSumOp, SumAtOp


def interpret_compressed(op: SegmentSumOp | ExpandSlicesOp | SumAtOp, x: Array, steering: Array, init: Array) -> Array:
    """The result of one operation on compressed axes.

    x, init: the tensor operands. steering: indptr, or the indices of `aot.sum_at`.

    Raises: InternalError if indptr or indices do not fit the extents.
    """
    if isinstance(op, SumAtOp):
        return _sum_at(x, steering, init)
    count = len(init) if isinstance(op, ExpandSlicesOp) else len(x)
    slices = len(x) if isinstance(op, ExpandSlicesOp) else len(init)
    if len(steering) != slices + 1 or steering[0] != 0 or steering[-1] != count or np.any(np.diff(steering) < 0):
        raise InternalError(f"interpret: indptr {steering} does not divide {count} entries into {slices} slices")
    slice_of = np.repeat(np.arange(slices), np.diff(steering))
    return x[slice_of] if isinstance(op, ExpandSlicesOp) else _sum_at(x, slice_of, init)


def _sum_at(x: Array, indices: Array, init: Array) -> Array:
    if len(indices) and not (indices.min() >= 0 and indices.max() < len(init)):
        raise InternalError(f"interpret: sums at {indices.min()} to {indices.max()} on an axis of {len(init)}")
    result = init.copy()
    with np.errstate(all="ignore"):
        np.add.at(result, indices, x)
    return result
