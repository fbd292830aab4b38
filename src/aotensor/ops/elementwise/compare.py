"""Comparison, logic, choice, rounding, and the cast between dtypes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.core.types import Array, cast_array
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.operations import complex_numbers, sparse
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise, selection_partials
from aotensor.ops.elementwise.signatures import bitwise, choice, comparison, floating, numeric

# --- conversion ------------------------------------------------------------------------------------------------------


def saturated(x: Array, dtype: str) -> Array:
    """`x.astype(dtype)`; floats to integers truncate, saturate at the bounds and give 0 for nan."""
    if dtypes.kind_of(x.dtype) != "f" or dtype not in dtypes.INTEGERS:
        return cast_array(x, dtype)
    x = x.astype(dtypes.compute_of(dtypes.name_of(x.dtype)))
    bounds = np.iinfo(dtype)
    # 2**bits is exact in every float, the largest integer may not be: compare with the exact bound
    above, below = x >= float(bounds.max + 1), x <= float(bounds.min)
    whole = np.where(above | below | np.isnan(x), 0, x).astype(dtype)
    return np.select([above, below], [np.asarray(bounds.max, dtype), np.asarray(bounds.min, dtype)], whole)


@cache
def _cast(dtype: str) -> Elementwise:
    return Elementwise(
        Row(
            "cast",
            f"x as {dtype}",
            lambda x: saturated(x, dtype),
            lambda s, x: s.cast(x, dtype),
            (lambda g, x, y: g,),
            lambda operand: ((operand,), dtype),
            parameters=(("dtype", dtype),),
            notation="{0}",
        )
    )


MAKERS["cast"] = _cast


@public(numpy="astype")
@coerced
def cast(x: Any, dtype: Any) -> Variable:
    """x as dtype ("floatX" is the configured one); x itself where that is its dtype.

    Floats to integers truncate, saturate at the bounds and give 0 for nan; anything to bool is x ≠ 0. The derivative is
    1 between floats and from discrete to float, 0 to a discrete dtype. A sparse matrix keeps its pattern.

    Raises: UnsupportedError for a dtype that cannot be compiled, GraphTypeError from a complex to a real dtype.
    """
    if isinstance(x, Variable) and x.is_sparse:
        return sparse.cast(x, dtype)
    variable = as_tensor(x)
    wanted = dtypes.canonical(config.floatX if isinstance(dtype, str) and dtype == "floatX" else dtype)
    if variable.dtype == wanted:
        return variable
    return complex_numbers.to_complex(variable, wanted) if dtypes.is_complex(wanted) else _cast(wanted)(variable)


# --- comparison ------------------------------------------------------------------------------------------------------


def _comparison(name: str, predicate: str, text: str, numpy: str, operator: str = "") -> Elementwise:
    return elementwise(
        name,
        f"x {text} y; a nan compares {'true' if predicate == 'ne' else 'false'}.",
        getattr(np, numpy),
        lambda s, x, y: s.compare(predicate, x, y),
        (None, None),
        comparison,
        numpy=numpy,
        operator=operator,
    )


eq = _comparison("eq", "eq", "=", numpy="equal")
neq = _comparison("neq", "ne", "≠", numpy="not_equal")
lt = _comparison("lt", "lt", "<", numpy="less", operator="<")
le = _comparison("le", "le", "≤", numpy="less_equal", operator="<=")
gt = _comparison("gt", "gt", ">", numpy="greater", operator=">")
ge = _comparison("ge", "ge", "≥", numpy="greater_equal", operator=">=")
equal, not_equal, less, less_equal, greater, greater_equal = eq, neq, lt, le, gt, ge


isnan = elementwise(
    "isnan",
    "Whether x is nan; false for integers.",
    np.isnan,
    lambda s, x: s.is_nan(x) if dtypes.is_float(x.dtype) else s.constant(False, "bool"),
    (None,),
    comparison,
    numpy="isnan",
    method="isnan",
)
isinf = elementwise(
    "isinf",
    "Whether x is +inf or −inf; false for integers.",
    np.isinf,
    lambda s, x: s.is_inf(x) if dtypes.is_float(x.dtype) else s.constant(False, "bool"),
    (None,),
    comparison,
    numpy="isinf",
    method="isinf",
)
isfinite = elementwise(
    "isfinite",
    "Whether x is neither nan nor infinite; true for integers.",
    np.isfinite,
    lambda s, x: ~(s.is_nan(x) | s.is_inf(x)) if dtypes.is_float(x.dtype) else s.constant(True, "bool"),
    (None,),
    comparison,
    numpy="isfinite",
    method="isfinite",
)


@public(numpy="isclose")
@coerced
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Variable:
    """|a − b| ≤ atol + rtol·|b| where both are finite, a = b elsewhere; two nans agree if `equal_nan`."""
    a, b = as_tensor(a), as_tensor(b)
    if dtypes.promote(a.dtype, b.dtype) == "bool":
        a = cast(a, "int8")
    both_finite = and_(isfinite(a), isfinite(b))
    close = switch(both_finite, le(abs(a - b), atol + rtol * abs(b)), eq(a, b))
    return or_(close, and_(isnan(a), isnan(b))) if equal_nan else close


# --- logic -----------------------------------------------------------------------------------------------------------

and_ = elementwise(
    "and_",
    "Bitwise and; logical for bool.",
    np.bitwise_and,
    lambda s, x, y: x & y,
    (None, None),
    bitwise,
    numpy="bitwise_and",
    operator="&",
)
or_ = elementwise(
    "or_",
    "Bitwise or; logical for bool.",
    np.bitwise_or,
    lambda s, x, y: x | y,
    (None, None),
    bitwise,
    numpy="bitwise_or",
    operator="|",
)
xor = elementwise(
    "xor",
    "Bitwise exclusive or; logical for bool.",
    np.bitwise_xor,
    lambda s, x, y: x ^ y,
    (None, None),
    bitwise,
    numpy="bitwise_xor",
    operator="^",
)
invert = elementwise(
    "invert",
    "Bitwise complement; logical for bool.",
    np.invert,
    lambda s, x: ~x,
    (None,),
    bitwise,
    numpy="invert",
    method="__invert__",
    notation="~",
)
bitwise_and, bitwise_or, bitwise_xor, bitwise_not = and_, or_, xor, invert


# --- choice ----------------------------------------------------------------------------------------------------------


def _sides(condition: Variable, a: Variable, b: Variable) -> tuple[tuple[Variable, bool] | None, ...]:
    return None, (condition, True), (condition, False)


switch: Elementwise = elementwise(
    "switch",
    "a where the condition holds (is not 0), else b. The side that is not taken gets derivative 0, even where its own "
    "derivative is infinite.",
    np.where,
    lambda s, condition, a, b: s.select(condition, a, b),
    (None, *selection_partials(_sides, 3)[1:]),
    choice,
    weak_from=1,
    analytic=np.where,
    routes=_sides,
)


def _parts(x: Variable, lower: Variable, upper: Variable) -> tuple[tuple[Variable, bool] | None, ...]:
    """Derivative routes of clip: (condition, whether it must hold) for x, the lower and the upper bound; none at a
    nan.
    """
    return (
        (and_(le(lower, x), le(x, upper)), True),
        (and_(lt(x, lower), le(lower, upper)), True),
        (or_(gt(x, upper), gt(lower, upper)), True),
    )


clip = elementwise(
    "clip",
    "min(max(x, lower), upper); nan if any is nan. Derivative 1 for x at both bounds; where lower > upper the value is "
    "upper and so is the derivative.",
    lambda x, lower, upper: np.minimum(np.maximum(x, lower), upper),
    lambda s, x, lower, upper: s.minimum(s.maximum(x, lower), upper),
    selection_partials(_parts, 3),
    numeric,
    routes=_parts,
)


# --- rounding --------------------------------------------------------------------------------------------------------


def _rounding(name: str, doc: str, *special_methods: str) -> Elementwise:
    return elementwise(
        name,
        f"{doc} Derivative 0.",
        getattr(np, name),
        lambda s, x: s.math(name, x),
        (None,),
        floating,
        numpy=name,
        method=(name, *special_methods),
    )


ceil = _rounding("ceil", "⌈x⌉.", "__ceil__")
floor = _rounding("floor", "⌊x⌋.", "__floor__")
trunc = _rounding("trunc", "x without its fraction.", "__trunc__")
rint = _rounding("rint", "The nearest integer, the even one of two.")


def _emit_half_away(s: ScalarBuilder, x: Any) -> Scalar:
    """Emit rounding to nearest, ties away from 0: the floor of |x|, plus one if the exact fraction is at least ½."""
    size = s.abs(x)
    whole = s.math("floor", size)
    is_up = size - whole >= 0.5
    return s.math2("copysign", s.select(is_up, whole + 1.0, whole), x)


def _reference_half_away(x: Array) -> Array:
    if x.dtype.kind != "f":
        return x.copy()
    whole = np.floor(np.abs(x))
    return np.asarray(np.copysign(np.where(np.abs(x) - whole >= 0.5, whole + 1, whole), x), x.dtype)


round_half_to_even = elementwise(
    "round_half_to_even",
    "The nearest integer, the even one of two: 0.5 → 0, 1.5 → 2. Integers stay as they are. Derivative 0.",
    lambda x: np.rint(x) if x.dtype.kind == "f" else x.copy(),
    lambda s, x: s.math("rint", x) if dtypes.is_float(x.dtype) else x,
    (None,),
    numeric,
)
round_half_away_from_zero = elementwise(
    "round_half_away_from_zero",
    "The nearest integer, the one farther from 0 of two: 0.5 → 1, −2.5 → −3. Integers stay as they are. Derivative 0.",
    _reference_half_away,
    lambda s, x: _emit_half_away(s, x) if dtypes.is_float(x.dtype) else x,
    (None,),
    numeric,
)


@public(method="round")
@coerced
def round(x: Any, mode: str = "half_to_even") -> Variable:
    """x to the nearest integer, in its own dtype.   mode: "half_to_even" or "half_away_from_zero".

    Raises: GraphValueError for another mode.
    """
    is_even = check_choice("round: mode", mode, ("half_to_even", "half_away_from_zero")) == "half_to_even"
    return round_half_to_even(x) if is_even else round_half_away_from_zero(x)


@coerced
def iround(x: Any, mode: str = "half_to_even") -> Variable:
    """x to the nearest integer, as int64."""
    return cast(round(x, mode), "int64")
