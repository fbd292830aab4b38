"""Functions with NumPy's signature, if ours with that name has other arguments or another result.

`np.clip(x, a_max=1)` is dispatched here; `ops/numpy_tables.py` has the table of counterparts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from aotensor.core.dtypes import is_half
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.contract import dot, tensordot, trace
from aotensor.ops.diagonal import diagonal
from aotensor.ops.elementwise.arithmetic import identity, int_div, maximum, minimum
from aotensor.ops.elementwise.compare import cast, clip, neq, rint
from aotensor.ops.index import subtensor
from aotensor.ops.linalg.cholesky import cholesky
from aotensor.ops.linalg.solve import solve
from aotensor.ops.products import vecdot
from aotensor.ops.reduce.sums import sum
from aotensor.ops.shape.extents import extent_of, shape_i, size
from aotensor.ops.shape.join import join, split
from aotensor.ops.shape.reshape import ravel

F = TypeVar("F", bound=Callable[..., Any])


def numpys(name: str) -> Callable[[F], F]:
    """Decorator: register a function as the counterpart of a NumPy function, whose name appears in its errors."""
    return partial(coerced, name=f"numpy.{name}")


# --- elementwise -----------------------------------------------------------------------------------------------------


@numpys("clip")
def numpy_clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Variable:
    """`np.clip`."""
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if low is None or high is None:
        result = a if low is None else maximum(a, low)
        return identity(result) if high is None else minimum(result, high)
    return clip(a, low, high)


@numpys("round")
def numpy_round(a: Any, decimals: int = 0) -> Variable:
    """np.round: scaled, rounded half to even, scaled back."""
    if decimals == 0:
        return rint(a)
    x, scale = as_tensor(a), 10.0 ** max(decimals, -decimals)
    found = rint(x * scale) / scale if decimals > 0 else rint(x / scale) * scale
    return cast(found, x.dtype) if is_half(x.dtype) else found


def truth(x: Any) -> Variable:
    """x as bool: where it is not 0."""
    x = as_tensor(x)
    return x if x.dtype == "bool" else neq(x, 0)


# --- shapes ----------------------------------------------------------------------------------------------------------


def one_or_several(convert: Callable[[Any], Variable], arrays: Sequence[Any]) -> Any:
    """`convert` applied to one array, or a list of results for several."""
    return convert(arrays[0]) if len(arrays) == 1 else [convert(x) for x in arrays]


@numpys("size")
def numpy_size(a: Any, axis: int | None = None) -> Variable:
    """`np.size`."""
    return size(a) if axis is None else shape_i(a, axis)


@numpys("count_nonzero")
def numpy_count_nonzero(a: Any, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Variable:
    """`np.count_nonzero`."""
    return sum(truth(a), axis=axis, keepdims=keepdims)


@numpys("concatenate")
def numpy_concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Variable:
    """`np.concatenate`."""
    return join(0, *(ravel(x) for x in arrays)) if axis is None else join(axis, *arrays)


@numpys("split")
def numpy_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Variable]:
    """np.split: equal parts, or those between positions."""
    x = as_tensor(ary)
    if isinstance(indices_or_sections, int):
        count, extent = indices_or_sections, extent_of(x, axis)
        if count < 1 or (isinstance(extent, int) and extent % count):
            raise GraphValueError(f"split: {extent} elements do not make {count} equal parts", lines=[x.describe()])
        part = extent // count if isinstance(extent, int) else int_div(extent, count)
        return split(x, [part] * count, axis=axis)
    before = (slice(None),) * (axis % max(x.ndim, 1))
    bounds = [None, *indices_or_sections, None]
    return [subtensor(x, (*before, slice(*pair))) for pair in pairwise(bounds)]


# --- products and linear algebra -------------------------------------------------------------------------------------


@numpys("inner")
def numpy_inner(a: Any, b: Any) -> Variable:
    """`np.inner`."""
    x, y = as_tensor(a), as_tensor(b)
    return dot(x, y) if 0 in (x.ndim, y.ndim) else tensordot(x, y, axes=([-1], [-1]))


@numpys("linalg.diagonal")
def numpy_diagonal(x: Any, *, offset: int = 0) -> Variable:
    """`np.linalg.diagonal`."""
    return diagonal(x, offset, -2, -1)


@numpys("linalg.trace")
def numpy_trace(x: Any, *, offset: int = 0) -> Variable:
    """`np.linalg.trace`."""
    return trace(x, offset, -2, -1)


@numpys("linalg.vecdot")
def numpy_vecdot(x1: Any, x2: Any, *, axis: int = -1) -> Variable:
    """`np.linalg.vecdot`."""
    if axis != -1:
        raise GraphValueError(f"vecdot: axis {axis} is not the last one", hint="use moveaxis before")
    return vecdot(x1, x2)


@numpys("linalg.cholesky")
def numpy_cholesky(a: Any, *, upper: bool = False) -> Variable:
    """`np.linalg.cholesky`."""
    return cholesky(a, lower=not upper)


@numpys("linalg.solve")
def numpy_solve(a: Any, b: Any) -> Variable:
    """`np.linalg.solve`."""
    return solve(a, b, b_ndim=1 if as_tensor(b).ndim == 1 else 2)
