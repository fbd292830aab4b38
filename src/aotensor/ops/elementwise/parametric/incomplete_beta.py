"""The regularised incomplete beta function, the distribution of the beta law, with derivatives in all operands."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from aotensor.core.types import Array
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise
from aotensor.ops.elementwise.compare import eq, gt, lt, or_, switch
from aotensor.ops.elementwise.elementary import inside
from aotensor.ops.elementwise.parametric.quadrature import (
    derivative_of_exponential,
    emitter_of_orders,
    integral_from_end,
)
from aotensor.ops.elementwise.scipy_reference import scipy_special


def _is_outside(a: Variable, b: Variable, x: Variable) -> Variable:
    return or_(or_(lt(a, 0), lt(b, 0)), or_(lt(x, 0), gt(x, 1)))


def _logarithm(i: int, j: int, a: Array, b: Array, log_x: Array, log_y: Array) -> Any:
    """Derivatives in a and b of (a − 1)·ln x + (b − 1)·ln y − ln B(a, b), up to (i, j)."""
    polygamma = scipy_special("polygamma")
    found: dict[tuple[int, int], Any] = {}
    for k in range(i + 1):
        for m in range(j + 1):
            if k + m:
                own = (log_x * (k == 1) - polygamma(k - 1, a)) if not m else 0.0
                own = own + ((log_y * (m == 1) - polygamma(m - 1, b)) if not k else 0.0)
                found[k, m] = own + polygamma(k + m - 1, a + b)
    return found


# --- density ---------------------------------------------------------------------------------------------------------


def _reference_density(i: int, j: int) -> Any:
    def reference(a: Array, b: Array, x: Array) -> Array:
        p, q, t = (v.astype(np.float64) for v in (a, b, x))
        xlogy, xlog1py, betaln = scipy_special("xlogy"), scipy_special("xlog1py"), scipy_special("betaln")
        with np.errstate(all="ignore"):
            main = np.exp(xlogy(p - 1, t) + xlog1py(q - 1, -t) - betaln(p, q))
            factor = derivative_of_exponential((i, j), _logarithm(i, j, p, q, np.log(t), np.log1p(-t)))
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
    peak.
    """

    def reference(a: Array, b: Array, x: Array) -> Array:
        p, q, t = np.broadcast_arrays(*(v.astype(np.float64) for v in (a, b, x)))
        is_inside = (p > 0) & (q > 0) & (t > 0) & (t < 1) & np.isfinite(p) & np.isfinite(q)
        safe_p, safe_q, at = (np.where(is_inside, v, v0)[..., None] for v, v0 in ((p, 1.0), (q, 1.0), (t, 0.5)))
        slope = safe_p * (1 - at) - safe_q * at
        direction = np.where(slope > 0, -1.0, 1.0)
        logit, log_beta = scipy_special("logit")(at), scipy_special("betaln")(safe_p, safe_q)

        def integrand(s: Array) -> Any:
            place = logit + direction * s
            log_t, log_u = -np.logaddexp(0.0, -place), -np.logaddexp(0.0, place)
            main = np.exp(safe_p * log_t + safe_q * log_u - log_beta)
            return main * derivative_of_exponential((i, j), _logarithm(i, j, safe_p, safe_q, log_t, log_u))

        with np.errstate(all="ignore"):
            scale = 1 / (np.abs(slope) + np.sqrt((safe_p + safe_q) * at * (1 - at)))
            scale = np.minimum(scale, 1 + np.abs(logit))
            found = -direction[..., 0] * integral_from_end(integrand, scale[..., 0])
            is_end = (t == 0) | (t == 1) | np.isinf(p) | np.isinf(q)
            is_end &= (p > 0) & (q > 0) & (t >= 0) & (t <= 1) & ~(np.isinf(p) & np.isinf(q))
        return np.asarray(np.where(is_inside, found, np.where(is_end, 0.0, np.nan)), x.dtype)

    return reference


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
)
