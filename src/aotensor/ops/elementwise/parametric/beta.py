"""The beta function and its logarithm, with derivatives that do not cancel where one operand is small or large."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.core.types import Array
from aotensor.graph.operations import dense
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise
from aotensor.ops.elementwise.parametric.quadrature import (
    derivative_of_exponential,
    emitter_of_orders,
    growth_of_polygamma,
    integral_from_end,
    mean,
)
from aotensor.ops.elementwise.probability import is_gamma_negative
from aotensor.ops.elementwise.scipy_reference import scipy_special
from aotensor.ops.elementwise.special import tri_gamma

# --- logarithm -------------------------------------------------------------------------------------------------------


def _wide(a: Array, b: Array) -> list[Array]:
    return list(np.broadcast_arrays(a.astype(np.float64), b.astype(np.float64)))


def _reference_betaln(a: Array, b: Array) -> Array:
    """NumPy reference of ln B(a, b): ln Γ(m) − m·∫₀¹ ψ(M + s·m) ds for positive operands m ≤ M, else by SciPy."""
    p, q = _wide(a, b)
    is_positive = (np.minimum(p, q) > 0) & np.isfinite(p + q)
    least, most = (np.where(is_positive, x(p, q), 1.0) for x in (np.minimum, np.maximum))
    found = scipy_special("gammaln")(least) - least * mean(scipy_special("psi"), most, least)
    return np.where(is_positive, found, scipy_special("betaln")(p, q)).astype(a.dtype)


def _polygamma(order: int, x: Variable) -> Variable:
    found: Variable = tri_gamma(x) if order == 1 else dense.polygamma(order, x)
    return found


_tri_gamma_fall: Final = Elementwise(
    Row(
        "tri_gamma_fall",
        "ψ′(a) − ψ′(a + b)",
        lambda a, b: (-growth_of_polygamma(1, a, b)).astype(a.dtype),
        lambda s, a, b: s.special("tri_gamma_fall", a, b),
        (
            lambda g, a, b, y: g * (_polygamma(2, a) - _polygamma(2, a + b)),
            lambda g, a, b, y: -g * _polygamma(2, a + b),
        ),
        notation="(polygamma(1, {0}) - polygamma(1, {0} + {1}))",
    )
)
_psi_growth: Final = Elementwise(
    Row(
        "psi_growth",
        "ψ(a + b) − ψ(a)",
        lambda a, b: growth_of_polygamma(0, a, b).astype(a.dtype),
        lambda s, a, b: s.special("psi_growth", a, b),
        (lambda g, a, b, y: -g * _tri_gamma_fall(a, b), lambda g, a, b, y: g * tri_gamma(a + b)),
        notation="(psi({0} + {1}) - psi({0}))",
    )
)
betaln = elementwise(
    "betaln",
    "ln |B(a, b)|, also where logarithms of Γ cancel.",
    _reference_betaln,
    lambda s, a, b: s.special("betaln", a, b),
    (lambda g, a, b, y: -g * _psi_growth(a, b), lambda g, a, b, y: -g * _psi_growth(b, a)),
    scipy="betaln",
)

# --- the function ----------------------------------------------------------------------------------------------------


def _emit_beta(s: ScalarBuilder, a: Any, b: Any) -> Scalar:
    size = s.math("exp", s.special("betaln", a, b))
    numerator = is_gamma_negative(s, a) ^ is_gamma_negative(s, b)
    return s.select(numerator ^ is_gamma_negative(s, a + b), -size, size)


def _reference_beta(a: Array, b: Array) -> Array:
    """NumPy reference of B(a, b) by SciPy, and by the exponential of ln B for large operands."""
    p, q = _wide(a, b)
    is_large = (np.minimum(p, q) > 0) & (np.maximum(p, q) > 50)
    large = np.exp(_reference_betaln(np.where(is_large, p, 1.0), np.where(is_large, q, 1.0)))
    return np.where(is_large, large, scipy_special("beta")(p, q)).astype(a.dtype)


def _reference_derivative(i: int, j: int) -> Any:
    """NumPy reference of ∂ⁱ⁺ʲB/∂aⁱ∂bʲ: from e^{ln B}; for a small operand ∫ tᵃ⁻¹(1 − t)ᵇ⁻¹·lnⁱ t·lnʲ(1 − t) dt."""

    def reference(a: Array, b: Array) -> Array:
        p, q = _wide(a, b)
        polygamma = scipy_special("polygamma")
        with np.errstate(all="ignore"):
            slopes: dict[tuple[int, ...], Any] = {
                (k, n): -polygamma(k + n - 1, p + q) for k in range(i + 1) for n in range(j + 1) if k and n
            }
            slopes |= {(k, 0): -growth_of_polygamma(k - 1, p, q) for k in range(1, i + 1)}
            slopes |= {(0, n): -growth_of_polygamma(n - 1, q, p) for n in range(1, j + 1)}
            regular = _reference_beta(p, q) * derivative_of_exponential((i, j), slopes)
            is_small = (np.minimum(p, q) > 0) & (np.minimum(p, q) < 0.1) & np.isfinite(p + q)
            small = _integral(i, j, np.where(is_small, p, 0.05), np.where(is_small, q, 1.0))
        return np.where(is_small, small, regular).astype(a.dtype)

    return reference


def _integral(i: int, j: int, a: Array, b: Array) -> Array:
    """∫ tᵃ⁻¹(1 − t)ᵇ⁻¹·lnⁱ t·lnʲ(1 − t) dt in u = ln(t/(1 − t)), from the peak of the integrand to both sides."""
    left, right = a + j, b + i
    start, scale = np.log(left / right)[..., None], np.sqrt(1 / left + 1 / right)
    p, q = a[..., None], b[..., None]

    def integrand(u: Array) -> Array:
        log_t, log_rest = -np.logaddexp(0, -u), -np.logaddexp(0, u)
        return np.asarray(np.exp(p * log_t + q * log_rest) * log_t**i * log_rest**j)

    before = integral_from_end(lambda distance: integrand(start - distance), scale)
    return before + integral_from_end(lambda distance: integrand(start + distance), scale)


@cache
def _beta(i: int, j: int) -> Elementwise:
    """The op ∂ⁱ⁺ʲB/∂aⁱ∂bʲ of the beta function B(a, b)."""
    return Elementwise(
        Row(
            "beta",
            "a derivative of B in both operands",
            _reference_derivative(i, j),
            emitter_of_orders("beta", i, j),
            (lambda g, a, b, y: g * _beta(i + 1, j)(a, b), lambda g, a, b, y: g * _beta(i, j + 1)(a, b)),
            parameters=(("order_a", i), ("order_b", j)),
        )
    )


MAKERS["beta"] = _beta

_beta_fall: Final = Elementwise(
    Row(
        "beta_fall",
        "−∂B/∂a = y·(ψ(a + b) − ψ(a)) for y = B(a, b), whose derivative in b is not a difference of products",
        lambda a, b, y: y * growth_of_polygamma(0, a, b).astype(a.dtype),
        lambda s, a, b, y: y * s.special("psi_growth", a, b),
        (
            lambda g, a, b, y, fall: -g * (fall * _psi_growth(a, b) + y * _tri_gamma_fall(a, b)),
            lambda g, a, b, y, fall: -g * _beta(1, 1)(a, b),
            None,  # y depends on a and b only
        ),
        notation="({2} * (psi({0} + {1}) - psi({0})))",
    )
)
beta = elementwise(
    "beta",
    "B(a, b) = Γ(a)·Γ(b)/Γ(a + b).",
    _reference_beta,
    _emit_beta,
    (lambda g, a, b, y: -g * _beta_fall(a, b, y), lambda g, a, b, y: -g * _beta_fall(b, a, y)),
    scipy="beta",
)
