"""The incomplete gamma functions without the division by Γ, with derivatives in both operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from aotensor.core.types import Array
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise
from aotensor.ops.elementwise.elementary import inside
from aotensor.ops.elementwise.parametric.incomplete_gamma import density_in_x, is_outside_of_shapes
from aotensor.ops.elementwise.parametric.quadrature import (
    derivative_of_exponential,
    emitter_of_orders,
    integral_from_end,
)
from aotensor.ops.elementwise.scipy_reference import scipy_special

# --- references: integrals of tᵏe⁻ᵗ·lnⁿ t in s = ln t, and derivatives of Γ -------------------------------------------

_GAUSS = np.polynomial.legendre.leggauss(64)


def _from_end(order: int, k: Array, x: Array, direction: float) -> Array:
    """∂ⁿ/∂kⁿ of the incomplete gamma integral on the side of x without the peak of the integrand."""
    start = np.log(x)
    scale = np.minimum(1 / (np.abs(x - k) + np.sqrt(k)), 1 + np.abs(start))
    scale = np.where((k < 1) & (x <= 1) & (direction < 0), 1 / k, scale)
    unit = np.maximum(scale, 1.0)

    def integrand(distance: Array) -> Array:
        s = start[..., None] + direction * distance
        fall = k[..., None] * direction * distance - x[..., None] * np.expm1(direction * distance)
        return np.asarray((s / unit[..., None]) ** order * np.exp(fall))

    return np.asarray(np.exp(k * start - x) * integral_from_end(integrand, scale) * unit**order)


def _whole(order: int, k: Array) -> Array:
    """∂ⁿ/∂kⁿ of the complete gamma function Γ(k)."""
    polygamma = scipy_special("polygamma")
    slopes: dict[tuple[int, ...], Any] = {(m,): polygamma(m - 1, k) for m in range(1, order + 1)}
    return np.asarray(scipy_special("gamma")(k) * derivative_of_exponential((order,), slopes))


def _up_from(order: int, k: Array, x: Array) -> Array:
    """∂ⁿ/∂kⁿ of the integral from ln x ≤ 0 on for small k: Gauss's rule up to 0, where the integrand begins to fall."""
    nodes, weights = _GAUSS
    ends = [np.log(x), *(np.maximum(np.log(x), low) for low in (-200.0, -40.0, -4.0)), np.zeros(x.shape)]
    total = _from_end(order, k, np.ones(x.shape), 1.0)
    for low, high in pairwise(ends):
        half = 0.5 * (high - low)
        s = 0.5 * (high + low)[..., None] + half[..., None] * nodes
        total = total + half * np.sum(s**order * np.exp(k[..., None] * s - np.exp(s)) * weights, axis=-1)
    return total


def _reference(name: str, order: int) -> Callable[..., Array]:
    is_upper = name == "gammau"

    def reference(k: Array, x: Array) -> Array:
        shape, point = np.broadcast_arrays(k.astype(np.float64), x.astype(np.float64))
        is_proper = (shape >= 0) & np.isfinite(shape) & (point >= 0)
        is_inside = is_proper & (point > 0) & np.isfinite(point)
        with np.errstate(all="ignore"):
            own, at = np.where(is_inside, shape, 1.0), np.where(is_inside, point, 1.0)
            is_low = (at <= own) | (at < 1)
            lower = _from_end(order, own, np.where(is_low, at, 0.5 * own), -1.0)
            upper = _from_end(order, own, np.where(is_low, own + 1.0, at), 1.0)
            gamma = _whole(order, own)
            if is_upper:
                below = gamma - np.where(np.isfinite(gamma), lower, 0.0)
                near = _up_from(order, own, np.minimum(at, 1.0))
                found = np.where(is_low, np.where((own < 0.5) & (at < 1), near, below), upper)
            else:
                found = np.where(is_low, lower, gamma - np.where(np.isfinite(gamma), upper, 0.0))
            infinite = (-1.0) ** order * np.inf
            if not is_upper:
                found = np.where(own == 0, infinite, found)
            end = np.where(shape == 0, infinite, _whole(order, np.where(is_proper & (shape > 0), shape, 1.0)))
            end = np.where(np.isinf(point) != is_upper, end, 0.0)
        is_defined = is_proper & (is_upper | (shape + point > 0))
        return np.where(is_inside, found, np.where(is_defined, end, np.nan)).astype(x.dtype)

    return reference


def _reference_power(order: int) -> Callable[..., Array]:
    def reference(k: Array, x: Array) -> Array:
        shape, point = np.broadcast_arrays(k.astype(np.float64), x.astype(np.float64))
        with np.errstate(all="ignore"):
            log_x = np.log(point)
            main = np.exp(scipy_special("xlogy")(shape - 1, point) - point)
            infinite = (-1.0) ** order * np.inf
            at_zero = np.where(shape < 1, infinite, np.where(shape == 1, infinite if order else 1.0, 0.0))
            found = np.where(main == 0, 0.0, main * log_x**order)
            found = np.where(point == 0, at_zero, np.where(np.isposinf(point) & np.isfinite(shape), 0.0, found))
            is_outside = ~((shape >= 0) & (point >= 0)) | ((point > 0) & np.isinf(shape))
        return np.where(is_outside, np.nan, found).astype(x.dtype)

    return reference


# --- ops -------------------------------------------------------------------------------------------------------------


@cache
def _power(order: int) -> Elementwise:
    """The op ∂ⁿ/∂kⁿ of xᵏ⁻¹e⁻ˣ."""
    return Elementwise(
        Row(
            "gamma_power",
            "xᵏ⁻¹e⁻ˣ, or a derivative of it in k",
            _reference_power(order),
            emitter_of_orders("gamma_power", order),
            (
                lambda g, k, x, y: inside(is_outside_of_shapes(k, x), g, g * _power(order + 1)(k, x)),
                lambda g, k, x, y: density_in_x(_power, order, g, k, x, y),
            ),
            parameters=(("order", order),),
            notation="grad(gammal({0}, {1}))",
        )
    )


MAKERS["gamma_power"] = lambda order=0: _power(order)


def _partials(name: str, order: int) -> Any:
    sign = 1 if name == "gammal" else -1

    def in_shape(g: Variable, k: Variable, x: Variable, y: Variable) -> Variable:
        return inside(is_outside_of_shapes(k, x), g, g * MAKERS[name](order + 1)(k, x))

    def in_argument(g: Variable, k: Variable, x: Variable, y: Variable) -> Variable:
        return inside(is_outside_of_shapes(k, x), g, sign * g * _power(order)(k, x))

    return in_shape, in_argument


def _public(name: str, doc: str) -> Elementwise:
    op = elementwise(name, doc, _reference(name, 0), emitter_of_orders(name), _partials(name, 0))

    @cache
    def of_order(order: int) -> Elementwise:
        if not order:
            return op
        return Elementwise(
            Row(
                name,
                "a derivative in k",
                _reference(name, order),
                emitter_of_orders(name, order),
                _partials(name, order),
                parameters=(("order", order),),
            )
        )

    MAKERS[name] = of_order
    return op


gammal = _public(
    "gammal", "γ(k, x) = ∫₀ˣ tᵏ⁻¹e⁻ᵗ dt for k > 0, nan for k < 0 or x < 0. Differentiable in both to any order."
)
gammau = _public(
    "gammau",
    "Γ(k, x) = ∫ₓ^∞ tᵏ⁻¹e⁻ᵗ dt for k ≥ 0, nan for k < 0 or x < 0. Differentiable in both to any order.",
)
