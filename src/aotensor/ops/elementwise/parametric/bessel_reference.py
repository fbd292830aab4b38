"""References of Bessel functions of the first kind where SciPy loses digits: far out, and about the first zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from aotensor.core.types import Array
from aotensor.ops.elementwise.scipy_reference import scipy_special

FAR: Final = 100.0
"""From here on, where also x > 2v², 16 terms of Hankel's expansion are exact; SciPy reduces x − π/4 in float64."""

_ZEROS: Final = {
    0: (
        (2.404825557695773, -1.176691651530894e-16, 0.0, -0.5191474972894667),
        (5.520078110286311, 8.088597146146722e-17, 0.0, 0.34026480655836816),
    ),
    1: (
        (3.8317059702075125, -1.5269184090088067e-16, -0.402759395702553, 0.0),
        (7.015586669815619, -9.414165653410389e-17, 0.30011575252613254, 0.0),
    ),
}
"""Order → its zeros below 8, as sums of two numbers, with J₀ and its derivative there."""
_NEAR: Final = 0.5


def first_kind(v: Array, x: Array) -> Array:
    """J_v(x) by Hankel's expansion for large x, else by SciPy.   v, x: float64"""
    found = scipy_special("jv")(v, x)
    orders, points = np.broadcast_arrays(v, x)
    is_whole, size = np.floor(orders) == orders, np.abs(points)
    is_far = (size > np.maximum(FAR, 2 * orders * orders)) & np.isfinite(points) & ((points > 0) | is_whole)
    far = hankel(np.where(is_far, orders, 0.0), np.where(is_far, size, FAR))
    return np.where(is_far, np.where((points < 0) & (orders % 2 == 1), -far, far), found)


def whole_order_reference(order: int) -> Callable[[Array], Array]:
    """NumPy reference of J₀ or J₁."""
    function = scipy_special(f"j{order}")

    def reference(x: Array) -> Array:
        points, size = x.astype(np.float64), np.abs(x.astype(np.float64))
        sign = np.where(points < 0, -1.0, 1.0) if order else 1.0
        is_far = (size > FAR) & np.isfinite(size)
        far = hankel(np.asarray(order, np.float64), np.where(is_far, size, FAR))
        found = np.where(is_far, sign * far, function(points))
        for high, low, value, slope in _ZEROS[order]:
            distance = (size - high) - low
            is_near = np.abs(distance) < _NEAR
            near = _about(order, high, np.where(is_near, distance, 0.0), value, slope)
            found = np.where(is_near, sign * near, found)
        return np.asarray(found, x.dtype)

    return reference


def hankel(v: Array, x: Array) -> Array:
    """Hankel's expansion of J_v(x) for real or complex v. Source: DLMF 10.17.3

    √(2/(πx))·(P·cos χ − Q·sin χ) with χ = x − (v/2 + 1/4)·π
    """
    phase = ((v - 4 * np.trunc(np.real(v) / 4)) / 2 + 0.25) * np.pi
    cosine = np.cos(x) * np.cos(phase) + np.sin(x) * np.sin(phase)
    sine = np.sin(x) * np.cos(phase) - np.cos(x) * np.sin(phase)
    term, even, odd = np.ones_like(x), np.ones_like(x), np.zeros_like(x)
    for k in range(1, 17):
        term = term * (4 * v * v - (2 * k - 1) ** 2) / (8 * k) / x
        if k % 2:
            odd = odd + (-1) ** (k // 2) * term
        else:
            even = even + (-1) ** (k // 2) * term
    return np.asarray(np.sqrt(2 / np.pi / x) * (even * cosine - odd * sine))


def _about(order: int, zero: float, distance: Array, value: float, slope: float) -> Array:
    """J₀, or −J₀′ = J₁, by the Taylor series of J₀ there: x·y″ + y′ + x·y = 0."""
    c = [value, slope]
    for k in range(24):
        before = c[k - 1] if k else 0.0
        c.append(-((k + 1) ** 2 * c[k + 1] + zero * c[k] + before) / (zero * (k + 1) * (k + 2)))
    terms = [-k * one for k, one in enumerate(c)][1:] if order else c
    return np.asarray(np.polynomial.polynomial.polyval(distance, terms))
