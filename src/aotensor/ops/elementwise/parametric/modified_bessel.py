"""Modified Bessel functions of real order; each derivative in order or argument is its own op.

Recurrences in the order lose derivatives: those of e^{−x}·I_v(x) in x are differences of numbers that agree in all
digits for large x, and mixed ones for small v of numbers that differ by v.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import comb, factorial, pi
from typing import Any

import numpy as np

from aotensor.core.types import Array
from aotensor.graph.public import public
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise
from aotensor.ops.elementwise.parametric.quadrature import derivative_of_exponential, emitter_of_orders
from aotensor.ops.elementwise.scipy_reference import scipy_special

# --- references: integrals over lines in the plane --------------------------------------------------------------------

_AT_ONCE = 1 << 20
"""Most nodes of integrals in memory at a time."""


def _saddle(v: Array, x: Array) -> tuple[Array, Array, Array]:
    """(√(v² + x²), u, v·u − √(v² + x²) + x) for the saddle u = arsinh(v/x) of the integral of I_v."""
    w, u = np.hypot(v, x), np.arcsinh(v / x)
    return w, u, v * u - v / (w + x) * v


def _less_argument(t: Array, sign: float) -> Array:
    """sinh t − t, or sin t − t for sign −1."""
    square = np.minimum(t * t, 0.25) * sign
    series = np.ones(t.shape)
    for k in range(17, 3, -2):
        series = 1 + square / (k * (k - 1)) * series
    return np.where(np.abs(t) < 0.5, sign * t**3 / 6 * series, (np.sinh(t) if sign > 0 else np.sin(t)) - t)


def _second_kind(n: int, j: int, v: Array, x: Array, scale: int) -> Array:
    """∂ⁿ/∂vⁿ ∂ʲ/∂xʲ of e^{scale·x}·K_v(x) for v ≥ 0 and x > 0.

    ∫₀^∞ cosh(v·u)·e^{−x·cosh u} du by the trapezoidal rule.
    """
    w, top, height = _saddle(v, x)
    left = np.minimum(top, 14 / np.sqrt(w) + 65 / np.maximum(v, 1e-3))
    right = 2 * np.arcsinh(np.sqrt(35 / w))
    step = 0.5 / (2.1 + np.sqrt(w))
    counts = np.ceil((left + right) / step).astype(np.int64) + 1
    total = np.zeros(v.shape)
    order = np.argsort(counts, kind="stable")
    while order.size:
        count = int(counts[order[0]]) * 2  # values that need about as many nodes
        some = order[: max(1, _AT_ONCE // count)]
        some = some[counts[some] <= count]
        order = order[some.size :]
        start = np.where(left[some] < top[some], top[some] - left[some], 0.0)[:, None]
        u = start + step[some, None] * np.arange(count)
        t = u - top[some, None]
        own = v[some, None]
        # what v·u − x·(cosh u − 1) is below its largest value
        fall = 2 * w[some, None] * np.sinh(t / 2) ** 2 + own * _less_argument(t, 1.0)
        mirrored = np.exp(-2 * own * u) if n % 2 == 0 else np.expm1(-2 * own * u)
        other = 1 + mirrored if n % 2 == 0 else -mirrored
        factor = (scale - 1 - 2 * np.sinh(u / 2) ** 2) ** j * u**n
        values = 0.5 * np.exp(-fall) * other * factor
        values = np.where(np.isfinite(values), values, 0.0)
        values[:, 0] *= np.where(start[:, 0] == 0, 0.5, 1.0)
        total[some] = np.sum(values, axis=-1) * step[some]
    return np.asarray(total * np.exp(height + (scale - 1) * x))


_GAUSS = np.polynomial.legendre.leggauss(96)


def _first_kind(n: int, j: int, v: Array, x: Array, scale: int) -> Array:
    """∂ⁿ/∂vⁿ ∂ʲ/∂xʲ of e^{−scale·x}·I_v(x) for v ≥ 0 and x > 0.

    Far out 1/(2πi)·∫ e^{x·cosh t − v·t} dt through the saddle, elsewhere the power series.
    """
    is_far = np.hypot(v, x) > 25
    far = _by_saddle(n, j, np.where(is_far, v, 1.0), np.where(is_far, x, 30.0), scale)
    own, at = np.where(is_far, 1.0, v), np.where(is_far, 1.0, x)
    near = sum(comb(j, i) * (-scale) ** (j - i) * _by_powers(n, i, own, at) for i in range(j + 1) if scale or i == j)
    return np.where(is_far, far, near * np.exp(-scale * at))


def _by_saddle(n: int, j: int, v: Array, x: Array, scale: int) -> Array:
    w, top, height = _saddle(v, x)
    nodes, weights = _GAUSS
    half = 0.5 * np.minimum(pi, 10.5 / np.sqrt(w))[:, None]
    angle = half * (1 + nodes)
    t = top[:, None] + 1j * angle
    own, size = v[:, None], w[:, None]
    main = np.exp(-2 * size * np.sin(angle / 2) ** 2 + 1j * own * _less_argument(angle, -1.0))
    factor = (-t) ** n * (2 * np.sinh(t / 2) ** 2 + (1 - scale)) ** j
    total = np.sum((main * factor).real * weights * half, axis=-1) / pi
    exponent = (1 - scale) * x - height
    infinite = np.where((v == 0) & (n % 2 == 1), 0.0, np.where(total == 0, (-1.0) ** n, np.sign(total)) * np.inf)
    found = np.where(exponent < -1e4, 0.0, total * np.exp(exponent))
    return np.asarray(np.where(exponent > 1e4, infinite, found))


def _by_powers(n: int, j: int, v: Array, x: Array) -> Array:
    """Σ ∂ⁿ/∂vⁿ of (v + 2k)…(v + 2k − j + 1)·xᵛ⁺²ᵏ⁻ʲ/(2ᵛ⁺²ᵏ·k!·Γ(v + k + 1))."""
    k = np.arange(64)
    order, log_x = v[:, None], np.log(x)[:, None]
    power, polygamma = order + 2 * k, scipy_special("polygamma")
    falling = np.poly1d(np.poly(np.arange(j)) if j else [1.0])
    gammaln = scipy_special("gammaln")
    root = np.exp(0.5 * (power * (log_x - np.log(2)) - j * log_x - gammaln(k + 1) - gammaln(order + k + 1)))
    total = np.zeros(root.shape)
    for m in range(n + 1):
        slopes: dict[tuple[int, ...], Any] = {
            (i,): (log_x - np.log(2) if i == 1 else 0.0) - polygamma(i - 1, order + k + 1) for i in range(1, n - m + 1)
        }
        change = falling.deriv(m) if m else falling
        total = total + comb(n, m) * change(power) * derivative_of_exponential((n - m,), slopes)
    return np.asarray(np.sum(np.where(root == 0, 0.0, root * (root * total)), axis=-1))


def _sine(v: Array, order: int) -> Array:
    """A derivative of 2/π·sin(π·v), exactly 0 at whole v."""
    nearest = np.round(v)
    angle, sign = (v - nearest) * pi, np.where(nearest % 2 == 1, -1.0, 1.0)
    return np.asarray(
        2 / pi * pi**order * sign * (np.sin, np.cos)[order % 2](angle) * (1.0, 1.0, -1.0, -1.0)[order % 4]
    )


def _reference_first(n: int, j: int, scale: int) -> Callable[..., Array]:
    def reference(v: Array, x: Array) -> Array:
        shapes = np.broadcast_arrays(v.astype(np.float64), x.astype(np.float64))
        order, point = (np.ravel(a) for a in shapes)
        whole = np.floor(order) == order
        is_inside = np.isfinite(order) & np.isfinite(point) & ((point > 0) | (whole & (point < 0) & (n == 0)))
        with np.errstate(all="ignore"):
            own, at = np.where(is_inside, order, 1.0), np.abs(np.where(is_inside, point, 1.0))
            size = np.abs(own)
            found = np.where(own < 0, (-1.0) ** n, 1.0) * _first_kind(n, j, size, at, scale)
            if np.any(is_negative := (own < 0) & ((n > 0) | (np.floor(own) != own))):
                m, y = np.where(is_negative, size, 1.0), np.where(is_negative, at, 1.0)
                terms = [comb(n, k) * _times(_sine(m, k), _second_kind(n - k, j, m, y, -scale)) for k in range(n + 1)]
                found = np.where(is_negative, found + (-1.0) ** n * sum(terms), found)
            is_odd = (own % 2 == 1) ^ bool(j % 2)
            found = np.where((point < 0) & is_odd, -found, found)
            found = np.where(is_inside, found, np.where(point == 0, _first_at_zero(n, j, order, scale), np.nan))
            if not n and not scale:
                found = np.where(np.isposinf(order) & np.isfinite(point), 0.0, found)
        return found.reshape(shapes[0].shape).astype(x.dtype)

    return reference


def _times(a: Array, b: Array) -> Array:
    """a·b, but 0 where a is 0."""
    return np.where(a == 0, 0.0, a * b)


def _first_at_zero(n: int, j: int, v: Array, scale: int) -> Array:
    """∂ⁿ/∂vⁿ ∂ʲ/∂xʲ of I_v(x) at x = 0, also scaled by e^{−|x|}, which has a kink there."""
    whole = np.floor(v) == v
    if n:
        return np.where(np.isfinite(v) & (v > j), 0.0, np.where(v == j, (-1.0) ** n * np.inf, np.nan))
    if not j:
        found = np.where(v == 0, 1.0, np.where((v > 0) | whole, 0.0, np.nan if scale else np.inf))
    else:
        leading = v + 1 - j
        pole = np.where((leading < 0) & (np.floor(leading) % 2 == 1), -np.inf, np.inf)
        found = np.where((v > j) | whole, 0.0, pole)
        for k in range(j // 2 + 1):
            size = factorial(j) / (2.0**j * factorial(k) * factorial(j - k))
            found = np.where(np.abs(v) == j - 2 * k, size, found)
    return np.where(np.isfinite(v), found, np.nan)


def _reference_second(n: int, j: int, scale: int) -> Callable[..., Array]:
    def reference(v: Array, x: Array) -> Array:
        shapes = np.broadcast_arrays(v.astype(np.float64), x.astype(np.float64))
        order, point = (np.ravel(a) for a in shapes)
        is_inside = np.isfinite(order) & (point > 0) & np.isfinite(point)
        sign = np.where(order < 0, (-1.0) ** n, 1.0)
        infinite = sign * (-1.0) ** j * np.inf
        with np.errstate(all="ignore"):
            own, at = np.abs(np.where(is_inside, order, 1.0)), np.where(is_inside, point, 1.0)
            found = sign * _second_kind(n, j, own, at, scale)
            found = np.where(np.isnan(found), np.where(at > own, 0.0, infinite), found)
        at_zero = np.where(order == 0, 0.0, infinite) if n % 2 else infinite
        limit = np.where(point == 0, at_zero, np.where(np.isposinf(point) & (scale == 0), 0.0, np.nan))
        found = np.where(is_inside, found, np.where(np.isfinite(order), limit, np.nan))
        return found.reshape(shapes[0].shape).astype(x.dtype)

    return reference


# --- ops -------------------------------------------------------------------------------------------------------------


def _function(name: str, doc: str, reference: Callable[..., Any]) -> Elementwise:
    scale = int(name.endswith("e"))

    def partials(n: int, j: int) -> Any:
        return (
            lambda g, v, x, y: g * of_order(n + 1, j)(v, x),
            lambda g, v, x, y: g * of_order(n, j + 1)(v, x),
        )

    op = elementwise(name, doc, reference(0, 0, scale), emitter_of_orders(name), partials(0, 0), scipy=name)

    @cache
    def of_order(order: int = 0, order_x: int = 0) -> Elementwise:
        if not order and not order_x:
            return op
        return Elementwise(
            Row(
                name,
                f"a derivative of {name} in order and argument",
                reference(order, order_x, scale),
                emitter_of_orders(name, order, order_x),
                partials(order, order_x),
                parameters=(("order", order), ("order_x", order_x)),
            )
        )

    MAKERS[name] = of_order
    return op


iv = _function(
    "iv",
    "I_v(x), of real order; for x < 0 of whole orders alone. Differentiable in both to any order.",
    _reference_first,
)
ive = _function("ive", "e^{−|x|}·I_v(x). Differentiable in both to any order.", _reference_first)
kv = _function(
    "kv", "K_v(x), of real order; ∞ at x = 0, nan below. Differentiable in both to any order.", _reference_second
)
kve = _function("kve", "eˣ·K_v(x). Differentiable in both to any order.", _reference_second)


@public(scipy="kn")
def kn(n: Any, x: Any) -> Variable:
    """K_n(x) for an integer n, as `kv`."""
    return kv(n, x)
