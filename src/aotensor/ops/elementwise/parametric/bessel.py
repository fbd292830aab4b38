"""Bessel functions of real order, with derivatives in argument and order."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import factorial
from typing import Any

import numpy as np

from aotensor.core.types import Array
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.arithmetic import sign
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise
from aotensor.ops.elementwise.parametric.quadrature import derivative_of_exponential, of_orders
from aotensor.ops.elementwise.scipy_reference import scipy_special

_DISTANCE = 0.02
_POINTS = np.arange(-5, 6)


def _reference(name: str, order: int) -> Callable[..., Array]:
    """SciPy's, and its derivatives in v by differences of tenth order: 1e-11 while |ln(x/v)| is below 5.

    Where the power series has one term that counts this term and its derivatives: SciPy gives I₁(1e-300) = 0.
    """
    function = scipy_special(name)

    def reference(v: Array, x: Array) -> Array:
        with np.errstate(all="ignore"):
            found = by_differences(v, x) if order else function(v, x)
            if name.startswith("k"):
                return np.asarray(found, x.dtype)
            is_first = (x != 0) & (np.abs(x) < 1e-9) & (v > -0.9) & ~np.isnan(found)
            return np.where(is_first, _first_term(order, v, x), found).astype(x.dtype)

    def by_differences(v: Array, x: Array) -> Array:
        orders, points = np.broadcast_arrays(v.astype(np.float64), x.astype(np.float64))
        powers = _POINTS[None, :].astype(np.float64) ** np.arange(len(_POINTS))[:, None]
        wanted = np.zeros(len(_POINTS))
        wanted[order] = factorial(order)
        weights = np.linalg.solve(powers, wanted) / _DISTANCE**order
        with np.errstate(all="ignore"):
            values = function(orders[..., None] + _POINTS * _DISTANCE, points[..., None])
            found = np.sum(values * weights, axis=-1)
            found = np.where(points == 0, _at_zero(name, order, orders), found)
            is_outside = ~(points >= 0) | ~np.isfinite(points + orders)
            if name == "kv":
                found = np.where(np.isposinf(points) & np.isfinite(orders), 0.0, found)
                is_outside = ~(points >= 0) | ~np.isfinite(orders)
        return np.asarray(np.where(is_outside, np.nan, found), x.dtype)

    return reference


def _first_term(order: int, v: Array, x: Array) -> Array:
    """∂ⁿ/∂vⁿ of (x/2)ᵛ/Γ(v + 1)."""
    power, half = v.astype(np.float64), np.abs(x.astype(np.float64)) / 2
    polygamma, sign = scipy_special("polygamma"), np.where((x < 0) & (power % 2 == 1), -1.0, 1.0)
    main = sign * half**power * scipy_special("rgamma")(power + 1)
    slopes = {(k,): (np.log(half) if k == 1 else 0.0) - polygamma(k - 1, power + 1) for k in range(1, order + 1)}
    return np.where(main == 0, 0.0, main * derivative_of_exponential((order,), slopes))


def _at_zero(name: str, order: int, v: Array) -> Array:
    """A derivative in v at x = 0."""
    odd = (-1.0) ** order
    if name.startswith("k"):
        at_zero = 0.0 if order % 2 else np.inf
        return np.where(v == 0, at_zero, np.where(v < 0, odd, 1.0) * np.inf)
    return np.where(v > 0, 0.0, np.where(v == 0, odd * np.inf, np.nan))


def _slope(name: str, below: Variable, above: Variable, x: Variable, y: Variable) -> Any:
    """∂/∂x from the orders v − 1 and v + 1.   Source: DLMF 10.6.1, 10.29.1"""
    match name:
        case "jv":
            return (below - above) * 0.5
        case "iv":
            return (below + above) * 0.5
        case "ive":
            return (below + above) * 0.5 - sign(x) * y
        case "kv":
            return (below + above) * -0.5
        case _:
            return y - (below + above) * 0.5


def _partials(name: str, order: int) -> Any:
    def of(v: Variable, x: Variable, n: int = order) -> Variable:
        found: Variable = MAKERS[name](n)(v, x)
        return found

    return (
        lambda g, v, x, y: g * of(v, x, order + 1),
        lambda g, v, x, y: g * _slope(name, of(v - 1, x), of(v + 1, x), x, y),
    )


def _function(name: str, doc: str) -> Elementwise:
    op = elementwise(name, doc, _reference(name, 0), of_orders(name), _partials(name, 0))

    @cache
    def of_order(order: int) -> Elementwise:
        if not order:
            return op
        return Elementwise(
            Row(
                name,
                f"a derivative of {name} in its order",
                _reference(name, order),
                of_orders(name, order),
                _partials(name, order),
                parameters=(("order", order),),
            )
        )

    MAKERS[name] = of_order
    return op


jv = _function("jv", "J_v(x), of real order; for x < 0 of whole orders alone. Differentiable in both to any order.")
iv = _function("iv", "I_v(x), of real order; for x < 0 of whole orders alone. Differentiable in both to any order.")
ive = _function("ive", "e^{−|x|}·I_v(x). Differentiable in both to any order.")
kv = _function("kv", "K_v(x), of real order; ∞ at x = 0, nan below. Differentiable in both to any order.")
kve = _function("kve", "eˣ·K_v(x). Differentiable in both to any order.")


def kn(n: Any, x: Any) -> Variable:
    """K_n(x), as `kv`."""
    return kv(n, x)


def _of_whole_order(name: str, doc: str, partial: Any) -> Elementwise:
    return elementwise(name, doc, scipy_special(name), of_orders(name), (partial,))


j0 = _of_whole_order("j0", "J₀(x).", lambda g, x, y: -g * j1(x))
j1: Elementwise = _of_whole_order("j1", "J₁(x).", lambda g, x, y: g * 0.5 * (j0(x) - jv(2, x)))
i0 = _of_whole_order("i0", "I₀(x).", lambda g, x, y: g * i1(x))
i1: Elementwise = _of_whole_order("i1", "I₁(x).", lambda g, x, y: g * 0.5 * (i0(x) + iv(2, x)))
