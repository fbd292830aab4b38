"""Functions with NumPy's signature, where ours with that name takes other arguments or means something else.

`np.clip(x, a_max=1)` comes here; functions that only have another name are in `graph/methods/numpy_names.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from aotensor.errors import GraphValueError
from aotensor.graph.public import lookup, public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.contract import dot, tensordot, trace
from aotensor.ops.diagonal import diagonal
from aotensor.ops.elementwise.arithmetic import abs, identity, int_div, maximum, minimum, mod
from aotensor.ops.elementwise.compare import and_, cast, clip, invert, isclose, neq, or_, rint, xor
from aotensor.ops.elementwise.powers import pow
from aotensor.ops.linalg.cholesky import cholesky
from aotensor.ops.linalg.solve import solve
from aotensor.ops.linalg.svd import svd
from aotensor.ops.mask import nonzero
from aotensor.ops.products import matrix_dot, vecdot
from aotensor.ops.reduce.sums import all, sum
from aotensor.ops.shape.axes import atleast_1d, atleast_2d, atleast_3d, transpose
from aotensor.ops.shape.extents import extent_of, shape_i, size
from aotensor.ops.shape.join import join, split
from aotensor.ops.shape.rearrange import flip
from aotensor.ops.shape.reshape import ravel


def numpys(name: str) -> Callable[[Any], Any]:
    """Make a function the counterpart of one of NumPy's."""
    return partial(public, name=f"numpy.{name}")


# --- elementwise -----------------------------------------------------------------------------------------------------


@numpys("clip")
def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Variable:
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if low is None or high is None:
        result = a if low is None else maximum(a, low)
        return identity(result) if high is None else minimum(result, high)
    return clip(a, low, high)


@numpys("round")
def _round(a: Any, decimals: int = 0) -> Variable:
    """As NumPy does it: scaled, rounded half to even, scaled back."""
    if decimals == 0:
        return rint(a)
    scale = 10.0 ** max(decimals, -decimals)
    return rint(a * scale) / scale if decimals > 0 else rint(a / scale) * scale


def _truth(x: Any) -> Variable:
    x = as_tensor(x)
    return x if x.dtype == "bool" else neq(x, 0)


numpys("logical_and")(lambda x1, x2: and_(_truth(x1), _truth(x2)))
numpys("logical_or")(lambda x1, x2: or_(_truth(x1), _truth(x2)))
numpys("logical_xor")(lambda x1, x2: xor(_truth(x1), _truth(x2)))
numpys("logical_not")(lambda x: invert(_truth(x)))
numpys("fabs")(lambda x: abs(x) * 1.0)
numpys("float_power")(lambda x1, x2: pow(cast(x1, "float64"), cast(x2, "float64")))
numpys("divmod")(lambda x1, x2: (int_div(x1, x2), mod(x1, x2)))


@numpys("allclose")
def _allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Variable:
    return all(isclose(a, b, rtol, atol, equal_nan))


# --- shapes ----------------------------------------------------------------------------------------------------------


def _one_or_several(convert: Callable[[Any], Variable], arrays: Sequence[Any]) -> Any:
    return convert(arrays[0]) if len(arrays) == 1 else [convert(x) for x in arrays]


numpys("atleast_1d")(lambda *arys: _one_or_several(atleast_1d, arys))
numpys("atleast_2d")(lambda *arys: _one_or_several(atleast_2d, arys))
numpys("atleast_3d")(lambda *arys: _one_or_several(atleast_3d, arys))
numpys("ndim")(lambda a: a.ndim)
numpys("iscomplexobj")(lambda x: False)
numpys("isrealobj")(lambda x: True)
numpys("fliplr")(lambda m: flip(m, 1))
numpys("flipud")(lambda m: flip(m, 0))
numpys("argwhere")(lambda a: transpose(nonzero(a, return_matrix=True)))


@numpys("size")
def _size(a: Any, axis: int | None = None) -> Variable:
    return size(a) if axis is None else shape_i(a, axis)


@numpys("count_nonzero")
def _count_nonzero(a: Any, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Variable:
    return sum(_truth(a), axis=axis, keepdims=keepdims)


@numpys("concatenate")
def _concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Variable:
    return join(0, *(ravel(x) for x in arrays)) if axis is None else join(axis, *arrays)


@numpys("split")
def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Variable]:
    """Equal parts, or those between positions."""
    x = as_tensor(ary)
    if isinstance(indices_or_sections, int):
        count, extent = indices_or_sections, extent_of(x, axis)
        if count < 1 or (isinstance(extent, int) and extent % count):
            raise GraphValueError(f"split: {extent} elements do not make {count} equal parts", lines=[x.describe()])
        part = extent // count if isinstance(extent, int) else int_div(extent, count)
        return split(x, [part] * count, axis=axis)
    before = (slice(None),) * (axis % max(x.ndim, 1))
    places = [None, *indices_or_sections, None]
    return [lookup("subtensor")(x, (*before, slice(*pair))) for pair in pairwise(places)]


# --- products and linear algebra -------------------------------------------------------------------------------------


@numpys("inner")
def _inner(a: Any, b: Any) -> Variable:
    x, y = as_tensor(a), as_tensor(b)
    return dot(x, y) if 0 in (x.ndim, y.ndim) else tensordot(x, y, axes=([-1], [-1]))


numpys("vdot")(lambda a, b: dot(ravel(a), ravel(b)))
numpys("linalg.multi_dot")(lambda arrays: matrix_dot(*arrays))
numpys("linalg.svdvals")(lambda x: svd(x, compute_uv=False))


@numpys("linalg.diagonal")
def _diagonal(x: Any, *, offset: int = 0) -> Variable:
    return diagonal(x, offset, -2, -1)


@numpys("linalg.trace")
def _trace(x: Any, *, offset: int = 0) -> Variable:
    return trace(x, offset, -2, -1)


@numpys("linalg.vecdot")
def _vecdot(x1: Any, x2: Any, *, axis: int = -1) -> Variable:
    if axis != -1:
        raise GraphValueError(f"vecdot: axis {axis} is not the last one", hint="use moveaxis before")
    return vecdot(x1, x2)


@numpys("linalg.cholesky")
def _cholesky(a: Any, *, upper: bool = False) -> Variable:
    return cholesky(a, lower=not upper)


@numpys("linalg.solve")
def _solve(a: Any, b: Any) -> Variable:
    return solve(a, b, b_ndim=1 if as_tensor(b).ndim == 1 else 2)
