"""Bessel functions of real order, with derivatives in argument and order."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from aotensor.core.types import Array
from aotensor.graph.public import Names
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.arithmetic import abs as absolute
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise
from aotensor.ops.elementwise.compare import and_, lt, neq, switch
from aotensor.ops.elementwise.parametric.bessel_order import first_term, in_order
from aotensor.ops.elementwise.parametric.bessel_reference import first_kind, whole_order_reference
from aotensor.ops.elementwise.parametric.modified_bessel import iv
from aotensor.ops.elementwise.parametric.quadrature import emitter_of_orders
from aotensor.ops.elementwise.scipy_reference import scipy_special


def _reference(order: int) -> Callable[..., Array]:
    """NumPy reference of ∂ⁿ/∂vⁿ J_v(x): SciPy's values and Hankel's expansion, series and integrals for derivatives."""

    def reference(v: Array, x: Array) -> Array:
        orders, points = np.broadcast_arrays(v.astype(np.float64), x.astype(np.float64))
        with np.errstate(all="ignore"):
            if not order:
                found = first_kind(orders, points)
                is_tiny = (points != 0) & (np.abs(points) < 1e-9) & (orders > -0.8)
                first = first_term(0, orders, np.where(is_tiny, np.abs(points), 1.0))
                first = np.where((points < 0) & (orders % 2 == 1), -first, first)
                is_whole = (points > 0) | (np.floor(orders) == orders)
                return np.asarray(np.where(is_tiny & is_whole, first, found), x.dtype)
            is_inside = (points > 0) & np.isfinite(points + orders)
            found = in_order(order, np.where(is_inside, orders, 1.0), np.where(is_inside, points, 1.0))
            at_zero = np.where((points == 0) & np.isfinite(orders), _at_zero(order, orders), np.nan)
            return np.asarray(np.where(is_inside, found, at_zero), x.dtype)

    return reference


def _at_zero(order: int, v: Array) -> Array:
    """∂ⁿ/∂vⁿ of J_v(x) at x = 0."""
    return np.where(v > 0, 0.0, np.where(v == 0, (-1.0) ** order * np.inf, np.nan))


def _partials(order: int) -> Any:
    def of(v: Variable, x: Variable, n: int = order) -> Variable:
        return _jv(n)(v, x)

    def in_argument(g: Variable, v: Variable, x: Variable, y: Variable) -> Variable:
        """The derivative of J_v(x) in x, times g: g·(J_{v−1} − J_{v+1})/2. Source: DLMF 10.6.1"""
        below, above = of(v - 1, x), of(v + 1, x)
        # v − 1 has no digits of a small v: J_{v−1} = 2v/x·J_v − J_{v+1}
        is_small = and_(and_(lt(absolute(v), 0.5), lt(absolute(x), 1)), neq(x, 0))
        point = switch(is_small, x, 1.0)
        twice = 2 * (v / point * y + order / point * of(v, x, order - 1) if order else v / point * y)
        found: Variable = g * (switch(is_small, twice - above, below) - above) * 0.5
        return found

    return (lambda g, v, x, y: g * of(v, x, order + 1), in_argument)


jv = elementwise(
    "jv",
    "J_v(x), of real order; for x < 0 of whole orders alone. Differentiable in both to any order.",
    _reference(0),
    emitter_of_orders("jv"),
    _partials(0),
    scipy="jv",
)


@cache
def _jv(order: int) -> Elementwise:
    if not order:
        return jv
    return Elementwise(
        Row(
            "jv",
            "a derivative of J in its order",
            _reference(order),
            emitter_of_orders("jv", order),
            _partials(order),
            parameters=(("order", order),),
        )
    )


MAKERS["jv"] = _jv


def _whole_order_op(name: str, doc: str, reference: Any, partial: Any, numpy: Names = ()) -> Elementwise:
    return elementwise(name, doc, reference, emitter_of_orders(name), (partial,), numpy=numpy, scipy=name)


j0 = _whole_order_op("j0", "J₀(x).", whole_order_reference(0), lambda g, x, y: -g * j1(x))
j1: Elementwise = _whole_order_op(
    "j1", "J₁(x).", whole_order_reference(1), lambda g, x, y: g * 0.5 * (j0(x) - jv(2, x))
)
i0 = _whole_order_op("i0", "I₀(x).", scipy_special("i0"), lambda g, x, y: g * i1(x), numpy="i0")
i1: Elementwise = _whole_order_op("i1", "I₁(x).", scipy_special("i1"), lambda g, x, y: g * 0.5 * (i0(x) + iv(2, x)))
