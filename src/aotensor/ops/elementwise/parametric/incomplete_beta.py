"""The regularised incomplete beta function, the distribution of the beta law, with derivatives in all operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from math import comb, factorial
from typing import Any

import numpy as np

from aotensor.core.types import Array
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise
from aotensor.ops.elementwise.compare import eq, gt, lt, or_, switch
from aotensor.ops.elementwise.elementary import inside
from aotensor.ops.elementwise.parametric.beta_near_zero import from_zero
from aotensor.ops.elementwise.parametric.quadrature import (
    derivative_of_exponential,
    emitter_of_orders,
    growth_of_polygamma,
    integral_from_end,
    mean,
)
from aotensor.ops.elementwise.scipy_reference import scipy_special


def _is_outside(a: Variable, b: Variable, x: Variable) -> Variable:
    return or_(or_(lt(a, 0), lt(b, 0)), or_(lt(x, 0), gt(x, 1)))


def _derivative_of_density(i: int, j: int, a: Array, b: Array, log_x: Array, log_y: Array) -> Any:
    """∂ⁱ⁺ʲ/∂aⁱ∂bʲ of xᵃyᵇ/B(a, b), over that.

    1/B(a, b) = Q·Γ(1 + a + b)/(Γ(1 + a)·Γ(1 + b)) with Q = ab/(a + b), the factor whose derivatives are large for small
    parameters: the others are those of an exponential.
    """
    slopes: dict[tuple[int, ...], Any] = {}
    for k, m in product(range(i + 1), range(j + 1)):
        if k and m:
            slopes[k, m] = scipy_special("polygamma")(k + m - 1, 1 + a + b)
        elif k:
            slopes[k, 0] = log_x * (k == 1) + growth_of_polygamma(k - 1, 1 + a, b)
        elif m:
            slopes[0, m] = log_y * (m == 1) + growth_of_polygamma(m - 1, 1 + b, a)
    total: Any = derivative_of_exponential((i, j), slopes)
    for p, q in list(product(range(i + 1), range(j + 1)))[1:]:
        factor = comb(i, p) * comb(j, q) * _slope_of_quotient(p, q, a, b)
        total = total + factor * derivative_of_exponential((i - p, j - q), slopes)
    return total


def _slope_of_quotient(p: int, q: int, a: Array, b: Array) -> Any:
    """∂ᵖ⁺ᑫQ/∂aᵖ∂bᑫ, over Q = ab/(a + b)."""
    n, total = p + q, a + b
    if n == 1:
        return (b / a if p else a / b) / total
    weights = [comb(n - 2, p - k) if p >= k else 0 for k in range(3)]
    mixed = 2 * weights[1] - weights[0] * (a / b) - weights[2] * (b / a)
    return factorial(p) * factorial(q) * (-1 / total) ** n * mixed


# --- density ---------------------------------------------------------------------------------------------------------


def _reference_density(i: int, j: int) -> Any:
    def reference(a: Array, b: Array, x: Array) -> Array:
        p, q, t = (v.astype(np.float64) for v in (a, b, x))
        xlogy, xlog1py, betaln = scipy_special("xlogy"), scipy_special("xlog1py"), scipy_special("betaln")
        with np.errstate(all="ignore"):
            main = np.exp(xlogy(p - 1, t) + xlog1py(q - 1, -t) - betaln(p, q))
            factor = _derivative_of_density(i, j, p, q, np.log(t), np.log1p(-t))
            found = np.where(t == 0, _at_end(p, q, i, j), np.where(t == 1, _at_end(q, p, j, i), main * factor))
            is_proper = (p > 0) & (q > 0) & (t >= 0) & (t <= 1) & np.isfinite(p) & np.isfinite(q)
        return np.where(is_proper, found, np.nan).astype(x.dtype)

    return reference


def _at_end(a: Array, b: Array, order_a: int, order_b: int) -> Array:
    """The beta density, or its derivative in a and b, at x = 0."""
    infinite = (-1.0) ** order_a * np.inf
    at_one = infinite if order_a else b if not order_b else float(order_b == 1)
    return np.where(a > 1, 0.0, np.where(a == 1, at_one, infinite))


def _slope_at_end(a: Variable, b: Variable) -> Variable:
    """∂/∂x of the beta density at x = 0."""
    above_1 = switch(gt(a, 2), 0.0, switch(eq(a, 2), b * (b + 1), np.inf))
    return switch(gt(a, 1), above_1, switch(eq(a, 1), b * (1 - b), switch(gt(a, 0), -np.inf, np.nan)))


def _density_in_x(i: int, j: int, g: Variable, a: Variable, b: Variable, x: Variable, y: Variable) -> Variable:
    """g·∂/∂x of a derivative of the beta density: the density's own is (a − 1)/x − (b − 1)/(1 − x) times itself."""
    derivative = y * ((a - 1) / x - (b - 1) / (1 - x))
    if i:
        derivative = derivative + i / x * _density(i - 1, j)(a, b, x)
    if j:
        derivative = derivative - j / (1 - x) * _density(i, j - 1)(a, b, x)
    if i or j:
        at_zero, at_one = switch(gt(a, 2), 0.0, np.nan), switch(gt(b, 2), 0.0, np.nan)
    else:
        at_zero, at_one = _slope_at_end(a, b), -_slope_at_end(b, a)
    derivative = switch(eq(x, 0), at_zero, switch(eq(x, 1), at_one, derivative))
    return inside(_is_outside(a, b, x), g, g * derivative)


@cache
def _density(i: int, j: int) -> Elementwise:
    """The op ∂ⁱ⁺ʲ/∂aⁱ∂bʲ of the beta density xᵃ⁻¹(1 − x)ᵇ⁻¹/B(a, b)."""

    def partial(di: int, dj: int) -> Any:
        return lambda g, a, b, x, y: inside(_is_outside(a, b, x), g, g * _density(i + di, j + dj)(a, b, x))

    return Elementwise(
        Row(
            "beta_density",
            "xᵃ⁻¹(1 − x)ᵇ⁻¹/B(a, b), or a derivative of it in a and b",
            _reference_density(i, j),
            emitter_of_orders("beta_density", i, j),
            (partial(1, 0), partial(0, 1), lambda g, a, b, x, y: _density_in_x(i, j, g, a, b, x, y)),
            parameters=(("order_a", i), ("order_b", j)),
            notation="grad(betainc({0}, {1}, {2}))",
        )
    )


MAKERS["beta_density"] = lambda i=0, j=0: _density(i, j)


# --- distribution ----------------------------------------------------------------------------------------------------


def _reference_distribution(i: int, j: int) -> Any:
    """NumPy reference of derivatives of I_x(a, b) in a, b: an integral in ln(t/(1 − t)) over the side without the
    peak; a series where the parameter of that side is small.
    """

    def reference(a: Array, b: Array, x: Array) -> Array:
        p, q, t = np.broadcast_arrays(*(v.astype(np.float64) for v in (a, b, x)))
        is_proper = (p > 0) & (q > 0) & (t >= 0) & (t <= 1)
        is_inside = is_proper & (t > 0) & (t < 1) & np.isfinite(p) & np.isfinite(q)
        is_end = is_proper & ((t == 0) | (t == 1) | np.isinf(p) | np.isinf(q)) & ~(np.isinf(p) & np.isinf(q))
        found = np.where(is_end, 0.0, np.full(p.shape, np.nan))
        with np.errstate(all="ignore"):
            is_low = p * (1 - t) > q * t
            for holds, orders, own, other, sign in ((is_low, (i, j), p, q, 1), (~is_low, (j, i), q, p, -1)):
                holds = holds & is_inside
                logit = sign * scipy_special("logit")(t)
                for part, side in ((holds & (own < _NEAR), _from_zero), (holds & (own >= _NEAR), _from_end)):
                    if part.any():
                        point = t if sign > 0 else 1 - t
                        found[part] = sign * side(*orders, own[part], other[part], point[part], logit[part])
        return np.asarray(found, x.dtype)

    return reference


_NEAR = 0.1
"""Parameters below need the series: its integral from 0 on is 1/a long."""


def _from_zero(i: int, j: int, a: Array, b: Array, x: Array, logit: Array) -> Array:
    """∂ⁱ⁺ʲ/∂aⁱ∂bʲ of I_x(a, b) for a < 1 and b·x < a: up to ½ by the series, from there on by an integral."""
    found = from_zero(i, j, a, b, np.minimum(x, 0.5))
    above, width = np.maximum(logit, 0.0), 1 / _PANELS
    for k in range(_PANELS):
        found = found + above * width * mean(_integrand(i, j, a, b), above * (k * width), above * width)
    return found


_PANELS = 40
"""Panels of Gauss's rule between ½ and 1 − 2⁻⁵³, 37 in terms of ln(t/(1 − t))."""


def _from_end(i: int, j: int, a: Array, b: Array, x: Array, logit: Array) -> Array:
    """∂ⁱ⁺ʲ/∂aⁱ∂bʲ of I_x(a, b) for x below the mean a/(a + b), by the integral from there down to 0."""
    integrand = _integrand(i, j, a, b)
    y = scipy_special("expit")(-logit)
    scale = 1 / (np.abs(a * y - b * x) + np.sqrt((a + b) * x * y))
    return integral_from_end(lambda s: integrand(logit[:, None] - s), np.minimum(scale, 1 + np.abs(logit)))


def _integrand(i: int, j: int, a: Array, b: Array) -> Callable[[Array], Any]:
    """∂ⁱ⁺ʲ/∂aⁱ∂bʲ of tᵃ(1 − t)ᵇ/B(a, b) as a function of ln(t/(1 − t)), of shape (…, nodes)."""
    p, q = a[:, None], b[:, None]
    log_beta = scipy_special("betaln")(p, q)

    def function(place: Array) -> Any:
        log_t, log_u = -np.logaddexp(0.0, -place), -np.logaddexp(0.0, place)
        main = np.exp(p * log_t + q * log_u - log_beta)
        return main * _derivative_of_density(i, j, p, q, log_t, log_u)

    return function


def _partials(i: int, j: int) -> Any:
    def partial(op: Any) -> Any:
        return lambda g, a, b, x, y: inside(_is_outside(a, b, x), g, g * op()(a, b, x))

    return (
        partial(lambda: _distribution(i + 1, j)),
        partial(lambda: _distribution(i, j + 1)),
        partial(lambda: _density(i, j)),
    )


@cache
def _distribution(i: int, j: int) -> Elementwise:
    """The op ∂ⁱ⁺ʲI/∂aⁱ∂bʲ of the incomplete beta function I_x(a, b)."""
    return Elementwise(
        Row(
            "betainc",
            "a derivative in a and b",
            _reference_distribution(i, j),
            emitter_of_orders("betainc", i, j),
            _partials(i, j),
            parameters=(("order_a", i), ("order_b", j)),
        )
    )


MAKERS["betainc"] = _distribution

betainc = elementwise(
    "betainc",
    "I_x(a, b) = ∫₀ˣ tᵃ⁻¹(1 − t)ᵇ⁻¹ dt/B(a, b), regularised; nan for a < 0, b < 0 and x outside of 0 … 1. "
    "Differentiable in all three to any order.",
    scipy_special("betainc"),
    emitter_of_orders("betainc", 0, 0),
    _partials(0, 0),
    scipy="betainc",
)
