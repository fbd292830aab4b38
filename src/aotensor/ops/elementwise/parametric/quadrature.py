"""References of derivatives in parameters, which SciPy lacks: integrals of derivatives of densities.

∂^α of ∫ e^{L(θ, t)} dt is ∫ B_α·e^{L(θ, t)} dt, where B_α is the polynomial in derivatives of L that Faà di Bruno's
formula has. Where L is concave and falls from the end of the range on, the exp-sinh rule is accurate to rounding.
Source: Takahasi & Mori (1974), "Double exponential formulas for numerical integration".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import product
from math import comb, factorial, pi, prod
from typing import Any, TypeAlias

import numpy as np

from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.core.types import Array
from aotensor.ops.elementwise.scipy_reference import scipy_special

Index: TypeAlias = tuple[int, ...]


@cache
def _exp_sinh(fineness: int) -> tuple[Array, Array]:
    """Nodes and weights of the exp-sinh rule on 0 to ∞, with steps of 1/32/fineness."""
    step = 1 / 32 / fineness
    at = step * np.arange(-128 * fineness, 128 * fineness + 1)
    distances = np.exp(pi / 2 * np.sinh(at))
    return distances, step * (pi / 2) * np.cosh(at) * distances


def derivative_of_exponential(top: Index, derivatives: Mapping[Index, Any]) -> Any:
    """e^{−L}·∂^top e^L from the derivatives of L; missing ones are 0."""
    found: dict[Index, Any] = {(0,) * len(top): 1.0}
    for index in list(product(*(range(n + 1) for n in top)))[1:]:
        axis = next(i for i, n in enumerate(index) if n)
        below = tuple(n - (i == axis) for i, n in enumerate(index))
        total: Any = 0.0
        for inner in product(*(range(n + 1) for n in below)):
            outer = tuple(n - k + (i == axis) for i, (n, k) in enumerate(zip(below, inner, strict=True)))
            if outer in derivatives:
                weight = prod(comb(n, k) for n, k in zip(below, inner, strict=True))
                total = total + weight * found[inner] * derivatives[outer]
        found[index] = total
    return found[top]


def emitter_of_orders(name: str, *orders: int) -> Callable[..., Scalar]:
    """A function from orders to the emitter of that derivative of a special function, named like `gammainc_2`."""
    member = "_".join([name, *map(str, orders)]) if any(orders) else name

    def emit(s: ScalarBuilder, *operands: Any) -> Scalar:
        return s.special(member, *operands)

    return emit


def integral_from_end(integrand: Callable[[Array], Any], scale: Array, fineness: int = 1) -> Array:
    """∫₀^∞ integrand(s) ds of functions that fall within some multiples of `scale`.   scale: (…) → (…)

    integrand: (…, nodes) → (…, nodes). fineness: multiple of the usual 257 nodes
    """
    distances, weights = _exp_sinh(fineness)
    wide = np.asarray(scale)[..., None]
    values = integrand(wide * distances)
    return np.asarray(np.sum(np.where(np.isfinite(values), values, 0.0) * weights, axis=-1) * wide[..., 0])


def by_circle(function: Callable[[Any], Any], order: int, x: Array, radius: Array | float) -> Array:
    """The derivative of an order at x of an analytic function that is real on the real axis, by Cauchy's integral.

    function: of complex arrays of the shape of x, analytic within twice the radius about x. The error is 2⁻³² and a
    rounding of its largest values there over radiusᵒʳᵈᵉʳ. Source: Lyness & Moler (1967), "Numerical differentiation of
    analytic functions".
    """
    total: Any = 0.0
    for k in range(_CIRCLE):  # of the upper half of the circle: the lower one has conjugate values
        turn = np.exp(1j * pi * (k + 0.5) / _CIRCLE)
        total = total + np.real(function(x + radius * turn) * turn**-order)
    return np.asarray(total * (factorial(order) / _CIRCLE) / np.asarray(radius) ** order)


_CIRCLE = 32
_GAUSS = np.polynomial.legendre.leggauss(24)
_STEPS = 40
"""Most whole steps between poles of ψ⁽ⁿ⁾ that are taken one by one."""


def mean(function: Callable[[Array], Any], a: Array, b: Array) -> Array:
    """∫₀¹ f(a + s·b) ds by Gauss's rule, for f without poles closer to the range than it is long.   a, b: (…)"""
    nodes, weights = _GAUSS
    return np.asarray(np.sum(function(a[..., None] + 0.5 * (1 + nodes) * b[..., None]) * 0.5 * weights, axis=-1))


def growth_of_polygamma(order: int, a: Array, b: Array) -> Array:
    """ψ⁽ⁿ⁾(a + b) − ψ⁽ⁿ⁾(a); where |b| is below the smaller operand, as an integral.   a, b: (…)

    Below 1 the pole at 0 is a term of its own (DLMF 5.15.5); between poles whole steps are sums of such terms.
    """
    p, q = np.broadcast_arrays(a.astype(np.float64), b.astype(np.float64))
    polygamma = scipy_special("polygamma")
    is_near = (np.abs(q) <= np.minimum(p, p + q)) & np.isfinite(p)
    is_low = is_near & (p < 1)
    point, step = np.where(is_near, p + is_low, 2.0), np.where(is_near, q, 1.0)
    near = step * mean(lambda x: polygamma(order + 1, x), point, step)
    sign = (-1.0) ** order * factorial(order)
    with np.errstate(all="ignore"):
        term = -sign * p ** -(order + 1.0) * np.expm1(-(order + 1.0) * np.log1p(q / p))
        found = np.where(is_near, near + np.where(is_low, term, 0.0), polygamma(order, p + q) - polygamma(order, p))
        is_whole = (p < 0) & (np.floor(q) == q) & (np.abs(q) <= _STEPS)
        if not is_whole.any():
            return np.asarray(found)
        first, count = np.where(q < 0, p + q, p)[..., None] + np.arange(_STEPS), np.abs(q)[..., None]
        terms = np.where(np.arange(_STEPS) < count, first ** -(order + 1.0), 0.0).sum(-1)
    return np.where(is_whole, np.sign(q) * sign * terms, found)
