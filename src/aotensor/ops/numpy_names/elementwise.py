"""Elementwise functions, predicates and counts with NumPy's signature, where ours of that name has another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from aotensor.core.dtypes import is_complex, is_float, is_half
from aotensor.errors import GraphTypeError
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.complex.parts import imag
from aotensor.ops.elementwise.arithmetic import abs, identity, maximum, minimum
from aotensor.ops.elementwise.compare import and_, cast, clip, eq, invert, isnan, neq, or_, rint, switch, xor
from aotensor.ops.elementwise.powers import pow
from aotensor.ops.elementwise.special import erfc, logaddexp, softplus
from aotensor.ops.mask import where
from aotensor.ops.numpy_names.declare import numpys
from aotensor.ops.reduce.sums import sum


@numpys("clip")
def numpy_clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Variable:
    """`np.clip`."""
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    if low is None or high is None:
        result = a if low is None else maximum(a, low)
        return identity(result) if high is None else minimum(result, high)
    return clip(a, low, high)


@numpys("round", "around", method="__round__")
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


@numpys("fmax")
def numpy_fmax(x1: Any, x2: Any) -> Variable:
    """`np.fmax`: the maximum; where one operand is nan, the other one."""
    x, y = as_tensor(x1), as_tensor(x2)
    return switch(isnan(x), y, switch(isnan(y), x, maximum(x, y)))


@numpys("fmin")
def numpy_fmin(x1: Any, x2: Any) -> Variable:
    """`np.fmin`: the minimum; where one operand is nan, the other one."""
    x, y = as_tensor(x1), as_tensor(x2)
    return switch(isnan(x), y, switch(isnan(y), x, minimum(x, y)))


_LN2: Final = 0.6931471805599453


@numpys("logaddexp2")
def numpy_logaddexp2(x1: Any, x2: Any) -> Variable:
    """`np.logaddexp2`."""
    return logaddexp(x1 * _LN2, x2 * _LN2) / _LN2


@numpys("isrealobj")
def numpy_isrealobj(x: Any) -> bool:
    """`np.isrealobj`."""
    return not is_complex(as_tensor(x).dtype)


@numpys("iscomplexobj")
def numpy_iscomplexobj(x: Any) -> bool:
    """`np.iscomplexobj`."""
    return is_complex(as_tensor(x).dtype)


@numpys("isreal")
def numpy_isreal(x: Any) -> Variable:
    """`np.isreal`: where the imaginary part is 0."""
    return eq(imag(x), 0)


@numpys("iscomplex")
def numpy_iscomplex(x: Any) -> Variable:
    """`np.iscomplex`: where the imaginary part is not 0."""
    return neq(imag(x), 0)


@numpys("result_type")
def numpy_result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """`np.result_type`: the dtype of a sum of all operands."""
    return np.result_type(*(np.dtype(x.dtype) if isinstance(x, Variable) else x for x in arrays_and_dtypes))


@numpys("count_nonzero")
def numpy_count_nonzero(a: Any, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Variable:
    """`np.count_nonzero`."""
    return sum(_truth(a), axis=axis, keepdims=keepdims)


@numpys("select")
def numpy_select(condlist: Any, choicelist: Any, default: Any = 0) -> Variable:
    """`np.select`: the choice of the first condition that holds."""
    if len(condlist) != len(choicelist) or not condlist:
        hint = "as in select([x < 0, x > 1], [-x, x ** 2], default=0.0)"
        raise GraphTypeError(f"select: {len(condlist)} conditions for {len(choicelist)} choices", hint=hint)
    found = as_tensor(default)
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        found = where(condition, choice, found)
    return found


@public(scipy="log_expit")
def scipy_log_expit(x: Any) -> Variable:
    """`scipy.special.log_expit`."""
    return -softplus(-as_tensor(x))


@public(scipy="ndtr")
def scipy_ndtr(x: Any) -> Variable:
    """`scipy.special.ndtr`."""
    return erfc(as_tensor(x) * -(0.5**0.5)) / 2
