"""Owen's T, Pochhammer's symbol, and compositions of functions with parameters."""

from __future__ import annotations

from functools import cache
from math import pi, sqrt
from typing import Any

import numpy as np

from aotensor.core.types import Array
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise
from aotensor.ops.elementwise.parametric.incomplete_gamma import gammaincc
from aotensor.ops.elementwise.parametric.quadrature import (
    derivative_of_exponential,
    emitter_of_orders,
    growth_of_polygamma,
    mean,
)
from aotensor.ops.elementwise.probability import gamma
from aotensor.ops.elementwise.scipy_reference import scipy_special
from aotensor.ops.elementwise.special import erf, half_gauss


def _owens_in_height(g: Variable, h: Variable, a: Variable, y: Variable) -> Variable:
    return g * (half_gauss(h) * erf(a * h * sqrt(0.5)) * (-0.5 / sqrt(2 * pi)))


def _owens_in_slope(g: Variable, h: Variable, a: Variable, y: Variable) -> Variable:
    return g * (half_gauss(h) * half_gauss(a * h) / (2 * pi * (1 + a * a)))


owens_t = elementwise(
    "owens_t",
    "Owen's T(h, a) = 1/(2π)·∫₀ᵃ e^{−h²(1 + t²)/2}/(1 + t²) dt.",
    scipy_special("owens_t"),
    emitter_of_orders("owens_t"),
    (_owens_in_height, _owens_in_slope),
    scipy="owens_t",
)


# --- Pochhammer's symbol ---------------------------------------------------------------------------------------------


def _reference_poch(i: int, j: int) -> Any:
    """NumPy reference of Pochhammer's symbol (SciPy loses digits for large z), and its derivatives by those of ln Γ.

    For small z of z·(z + 1)ₘ₋₁. Derivatives are nan where Γ has a pole, except at z = 0.
    """

    def reference(z: Array, m: Array) -> Array:
        top, steps = np.broadcast_arrays(z.astype(np.float64), m.astype(np.float64))
        with np.errstate(all="ignore"):
            found = _poch_derivative(i, j, top, steps)
            if i or j:
                is_small = (np.abs(top) < 0.5) & (np.abs(steps) > 0.1 * np.abs(top))
                own, rest = np.where(is_small, top + 1, 1.5), steps - 1
                small = top * _poch_derivative(i, j, own, rest)
                if i:
                    small = small + i * _poch_derivative(i - 1, j, own, rest)
                found = np.where(is_small, small, found)
        return np.asarray(found, z.dtype)

    return reference


def _poch_derivative(i: int, j: int, z: Array, m: Array) -> Array:
    polygamma = scipy_special("polygamma")
    is_large = (z > 50) & (np.abs(m) <= 0.5 * z)
    own, change = np.where(is_large, z, 60.0), np.where(is_large, m, 1.0)
    found = np.where(is_large, np.exp(change * mean(scipy_special("psi"), own, change)), scipy_special("poch")(z, m))
    slopes: dict[tuple[int, ...], Any] = {
        (k, n): polygamma(k + n - 1, z + m) if n else growth_of_polygamma(k - 1, z, m)
        for k in range(i + 1)
        for n in range(j + 1)
        if k + n
    }
    return np.asarray(found * derivative_of_exponential((i, j), slopes))


def _partials_of_poch(i: int, j: int) -> Any:
    return (lambda g, z, m, y: g * _poch(i + 1, j)(z, m), lambda g, z, m, y: g * _poch(i, j + 1)(z, m))


@cache
def _poch(i: int, j: int) -> Elementwise:
    return Elementwise(
        Row(
            "poch",
            "a derivative of Γ(z + m)/Γ(z)",
            _reference_poch(i, j),
            emitter_of_orders("poch", i, j),
            _partials_of_poch(i, j),
            parameters=(("order_z", i), ("order_m", j)),
        )
    )


MAKERS["poch"] = _poch

poch = elementwise(
    "poch",
    "(z)ₘ = Γ(z + m)/Γ(z), a polynomial in z for whole m; ∞ where Γ(z + m) alone has a pole, 0 where Γ(z) has.",
    _reference_poch(0, 0),
    emitter_of_orders("poch"),
    _partials_of_poch(0, 0),
    scipy="poch",
)


# --- composed --------------------------------------------------------------------------------------------------------


@coerced
def factorial(n: Any) -> Variable:
    """n! = Γ(n + 1); nan for −1, −2, …"""
    return gamma(as_tensor(n) + 1)


@coerced
def chi2sf(x: Any, k: Any) -> Variable:
    """The probability that a χ² variable of k degrees of freedom is above x: Q(k/2, x/2)."""
    return gammaincc(as_tensor(k) / 2, as_tensor(x) / 2)
