"""Functions with NumPy's signature, where ours with that name has other arguments or another result, or is missing.

`np.clip(x, a_max=1)` is dispatched here. Other functions are registered where they are defined, by `graph.public`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from string import ascii_letters
from typing import Any, TypeVar

import numpy as np

from aotensor.core.dtypes import is_complex, is_float, is_half
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public, register
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.complex.parts import conj, imag
from aotensor.ops.contract import dot, tensordot, trace
from aotensor.ops.diagonal import diagonal
from aotensor.ops.einsum import einsum
from aotensor.ops.elementwise.arithmetic import abs, identity, int_div, maximum, minimum
from aotensor.ops.elementwise.compare import and_, cast, clip, eq, invert, neq, or_, rint, xor
from aotensor.ops.elementwise.powers import pow
from aotensor.ops.elementwise.special import erfc, softplus
from aotensor.ops.index import subtensor
from aotensor.ops.linalg.cholesky import cholesky
from aotensor.ops.linalg.solve import solve
from aotensor.ops.linalg.svd import svd
from aotensor.ops.mask import nonzero
from aotensor.ops.products import matrix_dot, vecdot
from aotensor.ops.reduce.sums import sum
from aotensor.ops.shape.axes import atleast_1d, atleast_2d, atleast_3d, swapaxes, transpose
from aotensor.ops.shape.extents import extent_of, shape_i, size
from aotensor.ops.shape.join import join, split
from aotensor.ops.shape.rearrange import flip
from aotensor.ops.shape.reshape import ravel

F = TypeVar("F", bound=Callable[..., Any])


def numpys(*names: str) -> Callable[[F], F]:
    """Decorator: register a function as the counterpart of functions of NumPy, the first of which its errors name."""
    return lambda function: register(coerced(function, name=f"numpy.{names[0]}"), numpy=names)


# --- elementwise -----------------------------------------------------------------------------------------------------


@numpys("clip")
def numpy_clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Variable:
    """`np.clip`."""
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if low is None or high is None:
        result = a if low is None else maximum(a, low)
        return identity(result) if high is None else minimum(result, high)
    return clip(a, low, high)


@numpys("round", "around")
def numpy_round(a: Any, decimals: int = 0) -> Variable:
    """np.round: scaled, rounded half to even, scaled back."""
    if decimals == 0:
        return rint(a)
    x, scale = as_tensor(a), 10.0 ** max(decimals, -decimals)
    found = rint(x * scale) / scale if decimals > 0 else rint(x / scale) * scale
    return cast(found, x.dtype) if is_half(x.dtype) else found


def _truth(x: Any) -> Variable:
    """x as bool: where it is not 0."""
    x = as_tensor(x)
    return x if x.dtype == "bool" else neq(x, 0)


@numpys("logical_and")
def numpy_logical_and(x1: Any, x2: Any) -> Variable:
    """`np.logical_and`."""
    return and_(_truth(x1), _truth(x2))


@numpys("logical_or")
def numpy_logical_or(x1: Any, x2: Any) -> Variable:
    """`np.logical_or`."""
    return or_(_truth(x1), _truth(x2))


@numpys("logical_xor")
def numpy_logical_xor(x1: Any, x2: Any) -> Variable:
    """`np.logical_xor`."""
    return xor(_truth(x1), _truth(x2))


@numpys("logical_not")
def numpy_logical_not(x: Any) -> Variable:
    """`np.logical_not`."""
    return invert(_truth(x))


@numpys("fabs")
def numpy_fabs(x: Any) -> Variable:
    """np.fabs: the absolute value as a float."""
    return abs(x) * (1 if is_float(as_tensor(x).dtype) else 1.0)


@numpys("float_power")
def numpy_float_power(x1: Any, x2: Any) -> Variable:
    """np.float_power: powers in float64."""
    return pow(cast(x1, "float64"), cast(x2, "float64"))


@numpys("isrealobj")
def numpy_isrealobj(x: Any) -> bool:
    """`np.isrealobj`."""
    return not is_complex(as_tensor(x).dtype)


@numpys("iscomplexobj")
def numpy_iscomplexobj(x: Any) -> bool:
    """`np.iscomplexobj`."""
    return is_complex(as_tensor(x).dtype)


# --- shapes ----------------------------------------------------------------------------------------------------------


def _one_or_several(name: str, convert: Callable[[Any], Variable]) -> None:
    """Register the counterpart of a NumPy function that returns one array, or a list of results for several."""

    @numpys(name)
    def call(*arys: Any) -> Any:
        return convert(arys[0]) if len(arys) == 1 else [convert(x) for x in arys]


_one_or_several("atleast_1d", atleast_1d)
_one_or_several("atleast_2d", atleast_2d)
_one_or_several("atleast_3d", atleast_3d)


@numpys("fliplr")
def numpy_fliplr(m: Any) -> Variable:
    """`np.fliplr`."""
    return flip(m, 1)


@numpys("flipud")
def numpy_flipud(m: Any) -> Variable:
    """`np.flipud`."""
    return flip(m, 0)


@numpys("ndim")
def numpy_ndim(a: Any) -> int:
    """`np.ndim`."""
    return as_tensor(a).ndim


@numpys("argwhere")
def numpy_argwhere(a: Any) -> Variable:
    """`np.argwhere`."""
    return transpose(nonzero(a, return_matrix=True))


@numpys("size")
def numpy_size(a: Any, axis: int | None = None) -> Variable:
    """`np.size`."""
    return size(a) if axis is None else shape_i(a, axis)


@numpys("count_nonzero")
def numpy_count_nonzero(a: Any, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Variable:
    """`np.count_nonzero`."""
    return sum(_truth(a), axis=axis, keepdims=keepdims)


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


@numpys("vdot")
def numpy_vdot(a: Any, b: Any) -> Variable:
    """`np.vdot`."""
    return dot(conj(ravel(a)), ravel(b))


@numpys("linalg.multi_dot")
def numpy_multi_dot(arrays: Sequence[Any]) -> Variable:
    """`np.linalg.multi_dot`."""
    return matrix_dot(*arrays)


@numpys("linalg.svdvals")
def numpy_svdvals(x: Any) -> Variable:
    """`np.linalg.svdvals`."""
    values: Variable = svd(x, compute_uv=False)
    return values


@numpys("dot")
def numpy_dot(a: Any, b: Any) -> Variable:
    """`np.dot`: also of more than two axes, the last one of a with the last but one of b."""
    x, y = as_tensor(a), as_tensor(b)
    if min(x.ndim, y.ndim) == 0 or max(x.ndim, y.ndim) <= 2:
        return dot(x, y)
    return tensordot(x, y, [[x.ndim - 1], [max(y.ndim - 2, 0)]])


@numpys("einsum")
def numpy_einsum(*operands: Any) -> Variable:
    """`np.einsum`: subscripts and operands, or operands with a list of axes each, and the list of the result."""
    if not operands or isinstance(operands[0], str):
        return einsum(*operands)
    arrays, lists = operands[0 : len(operands) // 2 * 2 : 2], operands[1::2]
    names = [_letters(one) for one in lists]
    result = f"->{_letters(operands[-1])}" if len(operands) % 2 else ""
    return einsum(",".join(names) + result, *arrays)


def _letters(axes: Any) -> str:
    """The subscripts of a list of axes: numbers below 52 and `...`.   Raises: GraphTypeError"""
    hint = "as in einsum(x, [0, 1], y, [1, 2], [0, 2])"
    if not isinstance(axes, list | tuple):
        raise GraphTypeError(f"numpy.einsum: expected a list of axes after each operand, found {axes}", hint=hint)
    for axis in axes:
        if axis is not Ellipsis and not (isinstance(axis, int) and 0 <= axis < len(ascii_letters)):
            raise GraphTypeError(f"numpy.einsum: axis {axis!r} is not a number below 52, or `...`", hint=hint)
    return "".join("..." if axis is Ellipsis else ascii_letters[axis] for axis in axes)


@numpys("result_type")
def numpy_result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """`np.result_type`: the dtype of a sum of all operands."""
    return np.result_type(*(np.dtype(x.dtype) if isinstance(x, Variable) else x for x in arrays_and_dtypes))


@numpys("rot90")
def numpy_rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Variable:
    """`np.rot90`: turned by k right angles from the first of two axes to the second."""
    x, (first, second) = as_tensor(m), axes
    if k % 2:
        x = swapaxes(x, first, second)
    turned = {0: (), 1: (first,), 2: (first, second), 3: (second,)}[k % 4]
    return flip(x, turned) if turned else x


@numpys("iscomplex")
def numpy_iscomplex(x: Any) -> Variable:
    """`np.iscomplex`: where the imaginary part is not 0."""
    return neq(imag(x), 0)


@numpys("isreal")
def numpy_isreal(x: Any) -> Variable:
    """`np.isreal`: where the imaginary part is 0."""
    return eq(imag(x), 0)


# --- scipy.special ---------------------------------------------------------------------------------------------------


@public(scipy="log_expit")
def scipy_log_expit(x: Any) -> Variable:
    """`scipy.special.log_expit`."""
    return -softplus(-as_tensor(x))


@public(scipy="ndtr")
def scipy_ndtr(x: Any) -> Variable:
    """`scipy.special.ndtr`."""
    return erfc(as_tensor(x) * -(0.5**0.5)) / 2
