"""The incomplete gamma functions P and Q, the distribution of the gamma law, with derivatives in both operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import comb, factorial
from typing import Any

import numpy as np

from aotensor.core.types import Array
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise
from aotensor.ops.elementwise.compare import eq, gt, isinf, lt, or_, switch
from aotensor.ops.elementwise.elementary import inside
from aotensor.ops.elementwise.parametric.quadrature import (
    derivative_of_exponential,
    emitter_of_orders,
    integral_from_end,
)
from aotensor.ops.elementwise.scipy_reference import scipy_special

# --- density ---------------------------------------------------------------------------------------------------------


_LARGE = 50.0
"""Smallest a for which Stirling's series of three terms is exact to rounding."""


def _logarithm_of_density(order: int, a: Array, t: Array, log_t: Array) -> Any:
    """∂ᵏ/∂aᵏ of the logarithm of the gamma density, (a − 1)·ln t − t − ln Γ(a), for k = 1 … order."""
    polygamma = scipy_special("polygamma")
    found = {(k,): -polygamma(k - 1, a) for k in range(2, order + 1)}
    if order:  # ln t − ψ(a); for large shapes ln(t/a) + ln a − ψ(a), DLMF 5.11.2
        rest = (1 / 2 + (1 / 12 - (1 / 120 - 1 / 252 / a**2) / a**2) / a) / a
        ratio = np.where(np.abs(t - a) < 0.5 * a, np.log1p((t - a) / a), log_t - np.log(a))
        found[1,] = np.where(a > _LARGE, ratio + rest, log_t - polygamma(0, a))
    return found


def _logarithm_for_large_shapes(a: Array, x: Array) -> Array:
    """(a − 1)·ln x − x − ln Γ(a) by Stirling's formula, without the cancellation of numbers as large as a·ln a."""
    change = x / a - 1
    ratio = np.where(np.abs(change) < 0.5, np.log1p((x - a) / a), np.log(x) - np.log(a))
    rest = 1 / (12 * a) - 1 / (360 * a**3) + 1 / (1260 * a**5)
    return np.asarray(a * ratio - (x - a) - np.log(x) + 0.5 * np.log(a / (2 * np.pi)) - rest)


def _reference_density(order: int) -> Any:
    def reference(a: Array, x: Array) -> Array:
        wide, points = a.astype(np.float64), x.astype(np.float64)
        xlogy, gammaln = scipy_special("xlogy"), scipy_special("gammaln")
        with np.errstate(all="ignore"):
            logarithm = xlogy(wide - 1, points) - points - gammaln(wide)
            main = np.exp(np.where(wide > _LARGE, _logarithm_for_large_shapes(wide, points), logarithm))
            factor = derivative_of_exponential((order,), _logarithm_of_density(order, wide, points, np.log(points)))
            regular = np.where(main == 0, 0.0, main * factor)
            if order == 1:  # 1/Γ(a) = a + …
                regular = np.where(wide == 0, np.exp(-points) / points, regular)
            infinite = (-1.0) ** order * np.inf
            at_zero = np.where(wide < 1, infinite, np.where(wide == 1, infinite if order else 1.0, 0.0))
            found = np.where((points == 0) & (wide > 0), at_zero, regular)
            found = np.where((points > 0) & (np.isinf(points) | np.isinf(wide)), 0.0, found)
            is_outside = ~((wide >= 0) & (points >= 0)) | ((wide == 0) & (points == 0))
        return np.where(is_outside, np.nan, found).astype(x.dtype)

    return reference


def density_in_x(
    of_order: Callable[[int], Elementwise], order: int, g: Variable, a: Variable, x: Variable, y: Variable
) -> Variable:
    """g·∂/∂x of a derivative of a density in a; the density's own is (a − 1 − x)/x times itself; limits at x = 0, ∞.

    of_order: the derivatives in a of xᵃ⁻¹e⁻ˣ, or of a multiple of it that is 1 at a = 1 and 2.
    """
    is_far = or_(isinf(a), isinf(x))
    shape, point = switch(is_far, 1.0, a), switch(is_far, 1.0, x)
    derivative = y / point * (shape - 1 - point)
    if order:
        derivative = derivative + order / point * of_order(order - 1)(a, x)
        at_zero = switch(gt(a, 2), 0.0, np.nan)
    else:
        below_1 = switch(gt(a, 0), -np.inf, np.nan)
        below_2 = switch(gt(a, 1), np.inf, switch(eq(a, 1), -1.0, below_1))
        at_zero = switch(gt(a, 2), 0.0, switch(eq(a, 2), 1.0, below_2))
    derivative = switch(eq(x, 0), at_zero, switch(is_far, y, derivative))
    return inside(is_outside_of_shapes(a, x), g, g * derivative)


@cache
def _density(order: int) -> Elementwise:
    """The op ∂ⁿ/∂aⁿ of the gamma density xᵃ⁻¹e⁻ˣ/Γ(a)."""
    return Elementwise(
        Row(
            "gamma_density",
            "xᵃ⁻¹e⁻ˣ/Γ(a), or a derivative of it in a",
            _reference_density(order),
            emitter_of_orders("gamma_density", order),
            (
                lambda g, a, x, y: inside(is_outside_of_shapes(a, x), g, g * _density(order + 1)(a, x)),
                lambda g, a, x, y: density_in_x(_density, order, g, a, x, y),
            ),
            parameters=(("order", order),),
            notation="grad(gammainc({0}, {1}))",
        )
    )


MAKERS["gamma_density"] = lambda order=0: _density(order)


def is_outside_of_shapes(a: Variable, x: Variable) -> Variable:
    """Is a point outside of the functions' domain: a or x below 0?"""
    return or_(lt(a, 0), lt(x, 0))


# --- distribution ----------------------------------------------------------------------------------------------------


def _reference_ratio(name: str, order: int) -> Any:
    """NumPy reference of P or Q and of its derivatives in a: power series up to x = 1, above it an integral."""
    if not order:
        return scipy_special(name)
    sign = 1.0 if name == "gammainc" else -1.0

    def reference(a: Array, x: Array) -> Array:
        shape, points = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
        is_inside = (shape > 0) & (points > 0) & np.isfinite(shape) & np.isfinite(points)
        safe, at = np.where(is_inside, shape, 1.0), np.where(is_inside, points, 1.0)
        with np.errstate(all="ignore"):
            series = _by_powers(order, safe, np.minimum(at, 1.0))
            found = sign * np.where(at <= 1, series, _by_integral(order, safe, np.maximum(at, 1.0)))
        is_at_zero = (shape == 0) & (points > 0)
        limit = -sign * _at_zero(order, np.where(is_at_zero, points, 1.0))
        found = np.where(is_inside, found, np.where(is_at_zero, limit, 0.0))
        is_outside = ~((shape >= 0) & (points >= 0)) | ((shape == 0) & (points == 0))
        is_outside |= np.isinf(shape) & np.isinf(points)
        return np.asarray(np.where(is_outside, np.nan, found), x.dtype)

    return reference


def _by_powers(order: int, a: Array, x: Array) -> Array:
    """∂ⁿ/∂aⁿ of xᵃ/Γ(a + 1)·(1 + a·Σ (−x)ᵏ/(k!·(a + k))) for x ≤ 1, without a difference for small a."""
    main = np.exp(a * np.log(x) - scipy_special("gammaln")(a + 1))
    total = np.zeros(a.shape)
    for n in range(order + 1):
        series = np.full(a.shape, float(n == 0))
        for k in range(1, 25):
            # a/(a + k) = 1 − k/(a + k)
            factor = a / (a + k) if not n else -k * (-1.0) ** n * factorial(n) / (a + k) ** (n + 1)
            series = series + (-x) ** k / factorial(k) * factor
        total = total + comb(order, n) * series * _slope_of_power(order - n, a, x, np.log(x))
    return np.asarray(np.where(main == 0, 0.0, main * total))


def _slope_of_power(order: int, a: Array, t: Array, log_t: Array) -> Any:
    """(∂ⁿ/∂aⁿ of f)/f for f = tᵃ/Γ(a + 1)."""
    return derivative_of_exponential((order,), _logarithm_of_density(order, a + 1, t, log_t))


def _by_integral(order: int, a: Array, x: Array) -> Array:
    """∂ⁿP/∂aⁿ for x ≥ 1 by an integral over the side of x without the peak; a·tᵃe⁻ᵗ/Γ(a + 1) in ln t."""
    direction = np.where(x < a, -1.0, 1.0)
    shape, log_x = a[..., None], np.log(x)[..., None]
    log_gamma = scipy_special("gammaln")(shape + 1)

    def integrand(s: Array) -> Any:
        log_t = log_x + direction[..., None] * s
        t = x[..., None] * np.exp(direction[..., None] * s)
        large = _logarithm_for_large_shapes(shape, t) + log_t - np.log(shape)
        main = np.exp(np.where(shape > _LARGE, large, shape * log_t - t - log_gamma))
        slope = order * _slope_of_power(order - 1, shape, t, log_t) + shape * _slope_of_power(order, shape, t, log_t)
        return np.where(main == 0, 0.0, main * slope)

    scale = np.minimum(1 / (np.abs(x - a) + np.sqrt(a)), 1 + np.abs(log_x[..., 0]))
    return -direction * integral_from_end(integrand, scale)


_RECIPROCAL = (1.0, 0.5772156649015329, -0.6558780715202538, -0.04200263503409524, 0.16653861138229148)
"""Coefficients of 1/Γ(a) in powers of a, from a¹ on.   Source: DLMF 5.7.1"""


def _at_zero(order: int, x: Array) -> Array:
    """∂ⁿQ/∂aⁿ at a = 0, where 1/Γ(a) vanishes and the rest of Q is ∫ₓ^∞ tᵃ⁻¹e⁻ᵗ dt."""

    def moment(power: int) -> Array:
        log_x = np.log(x)[..., None]
        return integral_from_end(lambda s: (log_x + s) ** power * np.exp(-np.exp(log_x + s)), 1 + np.abs(log_x[..., 0]))

    known = enumerate(_RECIPROCAL[:order], start=1)
    terms = [comb(order, k) * factorial(k) * c * moment(order - k) for k, c in known]
    return np.asarray(sum(terms) if order <= len(_RECIPROCAL) else np.full(x.shape, np.nan))


def _partials(name: str, order: int) -> Any:
    sign = 1 if name == "gammainc" else -1

    def in_shape(g: Variable, a: Variable, x: Variable, y: Variable) -> Variable:
        return inside(is_outside_of_shapes(a, x), g, g * MAKERS[name](order + 1)(a, x))

    def in_argument(g: Variable, a: Variable, x: Variable, y: Variable) -> Variable:
        return inside(is_outside_of_shapes(a, x), g, sign * g * _density(order)(a, x))

    return in_shape, in_argument


def _derivatives(name: str) -> Any:
    """A function from an order to the op of the derivative in a."""

    @cache
    def of_order(order: int) -> Elementwise:
        return Elementwise(
            Row(
                name,
                "a derivative in a",
                _reference_ratio(name, order),
                emitter_of_orders(name, order),
                _partials(name, order),
                parameters=(("order", order),),
            )
        )

    return of_order


def _public(name: str, doc: str) -> Elementwise:
    MAKERS[name] = _derivatives(name)
    return elementwise(name, doc, scipy_special(name), emitter_of_orders(name, 0), _partials(name, 0), scipy=name)


gammainc = _public(
    "gammainc",
    "P(a, x) = ∫₀ˣ tᵃ⁻¹e⁻ᵗ dt/Γ(a), regularised; 1 for a = 0 < x, nan for a < 0 or x < 0. Differentiable in both "
    "to any order.",
)
gammaincc = _public(
    "gammaincc",
    "Q(a, x) = 1 − P(a, x) without cancellation; 0 for a = 0 < x, nan for a < 0 or x < 0. Differentiable in both "
    "to any order.",
)
