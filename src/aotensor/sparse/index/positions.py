"""Check positions along an axis and count negative ones from the end, with memory independent of the extent."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.types import Array
from aotensor.errors import GraphIndexError
from aotensor.graph.variable import Constant, Variable, as_tensor
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row
from aotensor.ops.elementwise.compare import cast, clip
from aotensor.ops.integer_indexing import check_range
from aotensor.ops.multi_index import only_int64
from aotensor.ops.shape.extents import SymbolicExtent
from aotensor.ops.window import out_of_range

_LARGEST = np.iinfo(np.int64).max


def positions_from_start(item: Any, extent: SymbolicExtent, axis: int) -> Variable:
    """int64 positions 0 … extent − 1 of integers −extent … extent − 1, a scalar or a vector, of any integer dtype.

    Raises: GraphIndexError for one outside, at run time where item or extent is not known.
    """
    found = as_tensor(item)
    if isinstance(found, Constant) and isinstance(extent, int):
        return as_tensor(_reference(axis)(found.data, np.asarray(extent)).astype("int64"))
    if found.dtype == "uint64":
        found = clip(found, 0, _LARGEST)
    return _from_start(axis)(cast(found, "int64"), cast(as_tensor(extent), "int64"))


@cache
def _reference(axis: int) -> Any:
    def reference(x: Array, n: Array) -> Array:
        outside = np.asarray(x)[(x >= n) | (x < -n)].ravel()
        if outside.size:
            raise GraphIndexError(out_of_range(axis, str(outside[0]), str(n)))
        return np.where(x < 0, x + n, x)

    return reference


@cache
def _from_start(axis: int) -> Elementwise:
    def guard(b: TensorBuilder, x: Tensor, n: Tensor) -> None:
        check_range(b, x, b.scalars.cast(b.item(n), dtypes.INDEX), axis)

    return Elementwise(
        Row(
            "position_from_start", "x, or x + n where x is negative", _reference(axis),
            lambda s, x, n: s.select(x < 0, x + n, x),
            (None, None), only_int64, parameters=(("axis", axis),), guard=guard,
            notation="{0}",
        )
    )  # fmt: skip


MAKERS["position_from_start"] = _from_start
