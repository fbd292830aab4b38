"""Roots of 1 + u², and differences with them that cancel.

    √(1 + u²), (1 + u²)^−½, u/√(1 + u²)    beyond 1e154, where u² overflows, and their derivatives beyond 1e8
    √(1 + u²) − 1, √(1 + v) − 1            near 0
    u/(1 + u²), u²/(1 + u²), u/(1 + |u|)   beyond 1e154, and their derivatives

Derivatives are products of these functions: the sums that differentiation of the formulas gives cancel far out.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.core.types import Array
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import Elementwise, Row
from aotensor.ops.elementwise.elementary import arcsinh_slope, arctan_slope, softsign, sqrt
from aotensor.ops.stable.functions import log1p_square
from aotensor.ops.stable.match import Look, is_same, kind_of

_HUGE: Final = 2.0**60
"""Above it √(1 + x²) is |x|, and x²/(1 + x²) is 1, in float64."""


def _reference_root(x: Array) -> Array:
    size = np.abs(x)
    return np.asarray(np.where(size > _HUGE, size, np.sqrt(1 + np.square(np.where(size > _HUGE, 1, x)))), x.dtype)


def _emit_root(s: ScalarBuilder, x: Any) -> Scalar:
    size = s.abs(x)
    is_huge = size > _HUGE
    return s.select(is_huge, size, s.math("sqrt", s.constant(1.0, x.dtype) + x * x))


root: Final[Elementwise] = Elementwise(
    Row(
        "root_of_one_plus_square",
        "√(1 + x²) without overflow",
        _reference_root,
        _emit_root,
        (lambda g, x, y: g * direction(x),),
        analytic=lambda x: np.sqrt(1 + x * x),
        notation="sqrt(1 + ({0})**2)",
    )
)


def _direction_slope(g: Variable, x: Variable, y: Variable) -> Variable:
    below = arcsinh_slope(x)
    return g * (below * below * below)


direction: Final[Elementwise] = Elementwise(
    Row(
        "direction",
        "x/√(1 + x²) without overflow",
        lambda x: np.asarray(x / _reference_root(x), x.dtype),
        lambda s, x: x / _emit_root(s, x),
        (_direction_slope,),
        analytic=lambda x: x / np.sqrt(1 + x * x),
        notation="(({0}) / sqrt(1 + ({0})**2))",
    )
)


def _reference_root_less_one(x: Array) -> Array:
    size = np.abs(x)
    square = np.square(np.where(size > _HUGE, 1, x))
    return np.asarray(np.where(size > _HUGE, size, square / (1 + np.sqrt(1 + square))), x.dtype)


def _emit_root_less_one(s: ScalarBuilder, x: Any) -> Scalar:
    one, size, square = s.constant(1.0, x.dtype), s.abs(x), x * x
    found = square / (one + s.math("sqrt", one + square))
    return s.select(size > _HUGE, size, found)


root_less_one: Final[Elementwise] = Elementwise(
    Row(
        "root_of_one_plus_square_less_one",
        "√(1 + x²) − 1, exact near 0 and without overflow",
        _reference_root_less_one,
        _emit_root_less_one,
        (lambda g, x, y: g * direction(x),),
        analytic=lambda x: np.sqrt(1 + x * x) - 1,
        notation="(sqrt(1 + ({0})**2) - 1)",
    )
)


def _emit_sqrt1pm1(s: ScalarBuilder, x: Any) -> Scalar:
    one = s.constant(1.0, x.dtype)
    found = x / (one + s.math("sqrt", one + x))
    return s.select(s.compare("eq", x, s.constant(np.inf, x.dtype)), x, found)


def _reference_sqrt1pm1(x: Array) -> Array:
    is_infinite = x == np.inf
    finite = np.where(is_infinite, 1, x)
    return np.asarray(np.where(is_infinite, x, finite / (1 + np.sqrt(1 + finite))), x.dtype)


sqrt1pm1: Final[Elementwise] = Elementwise(
    Row(
        "sqrt1pm1",
        "√(1 + x) − 1, exact near 0",
        _reference_sqrt1pm1,
        _emit_sqrt1pm1,
        (lambda g, x, y: 0.5 * g / sqrt(1 + x),),
        analytic=lambda x: np.sqrt(1 + x) - 1,
        notation="(sqrt(1 + ({0})) - 1)",
    )
)


def _reference_share(x: Array) -> Array:
    is_huge = np.abs(x) > _HUGE
    square = np.square(np.where(is_huge, 1, x))
    return np.asarray(np.where(is_huge, 1, square / (1 + square)), x.dtype)


def _emit_share(s: ScalarBuilder, x: Any) -> Scalar:
    one = s.constant(1.0, x.dtype)
    is_huge = s.abs(x) > _HUGE
    square = x * x
    return s.select(is_huge, one, square / (one + square))


share: Final[Elementwise] = Elementwise(
    Row(
        "share_of_square",
        "x²/(1 + x²) without overflow",
        _reference_share,
        _emit_share,
        (lambda g, x, y: g * (log1p_square(1)(x) * arctan_slope(x)),),
        analytic=lambda x: x * x / (1 + x * x),
        notation="(({0})**2 / (1 + ({0})**2))",
    )
)


# --- formulas --------------------------------------------------------------------------------------------------------


def radicand(look: Look, x: Variable, power: float = 0.5) -> Variable | None:
    """v if x is √v, or v**power; else None."""
    node = look.node(x)
    if node is None:
        return None
    if kind_of(node) == "pow" and look.number(node.inputs[1]) == power:
        return node.inputs[0]
    return node.inputs[0] if kind_of(node) == "sqrt" and power == 0.5 else None


def match_one_plus_square(look: Look, x: Variable) -> Variable | None:
    """u if x is 1 + u², where u² may have a positive factor; else None."""
    square = look.one_plus(x)
    return None if square is None else look.scaled_square(square)


def _match_root(look: Look, x: Variable, power: float = 0.5) -> Variable | None:
    """u if x is √(1 + u²), or (1 + u²)**power; else None."""
    inner = radicand(look, x, power)
    u = None if inner is None else match_one_plus_square(look, inner)
    return u if u is not None and u.dtype == x.dtype else None


def root_form(look: Look, node: Apply) -> Variable | None:
    """A stable form of √(1 + u²), also as a power, and of (1 + u²)**−½; else None."""
    y = node.outputs[0]
    if (u := _match_root(look, y)) is not None:
        return root(u)
    return arcsinh_slope(u) if (u := _match_root(look, y, -0.5)) is not None else None


def root_quotient(look: Look, node: Apply) -> Variable | None:
    """A stable form of u/√(1 + u²), u/(1 + u²), u²/(1 + u²) or u/(1 + |u|); else None."""
    if kind_of(node) == "mul":
        return _with_power(look, node)
    if kind_of(node) == "reciprocal":
        return None
    above, below = node.inputs
    if (u := _match_root(look, below)) is not None:
        return direction(u) if is_same(above, u) else None
    size = look.one_plus(below)
    if size is not None and (v := look.argument(size, "abs")) is not None and is_same(above, v):
        return softsign(v)
    u = match_one_plus_square(look, below)
    if u is None:
        return None
    if is_same(above, u):
        return 0.5 * log1p_square(1)(u)
    square = look.scaled_square(above)
    return share(u) if square is not None and is_same(square, u) else None


def _with_power(look: Look, node: Apply) -> Variable | None:
    """A stable form of u·(1 + u²)**−½; else None."""
    pairs = (node.inputs, node.inputs[::-1]) if len(node.inputs) == 2 else ()
    for x, power in pairs:
        u = _match_root(look, power, -0.5)
        if u is not None and is_same(x, u):
            return direction(u)
    return None


def is_root_quotient(look: Look, node: Apply) -> bool:
    """Have the operands of a product or quotient the forms that `root_quotient` needs?"""
    operands = node.inputs if kind_of(node) == "mul" else node.inputs[-1:]
    kinds = ("pow",) if kind_of(node) == "mul" else ("add", "pow", "sqrt")
    return any((found := look.node(x)) is not None and kind_of(found) in kinds for x in operands)


def root_difference(look: Look, x: Variable) -> Variable | None:
    """A stable form of x − 1 for x = √(1 + u²) or √(1 + v); else None."""
    if (u := _match_root(look, x)) is not None:
        return root_less_one(u)
    inner = radicand(look, x)
    v = None if inner is None else look.one_plus(inner)
    return None if v is None or v.dtype != x.dtype else sqrt1pm1(v)
