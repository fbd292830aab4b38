"""Reference of Gauss's F(a, b; c; z) for z < 1 and of its derivatives in a, b and c, which SciPy lacks.

    |z| ≤ ½    the power series, DLMF 15.2.1
    others     Taylor's expansions of the solution of the differential equation 15.10.1, from −½ or ½ on, by steps of
               half the distance to the nearest singularity

All formulas are for polynomials in small changes of the parameters, truncated behind the wanted orders: arrays whose
first three axes are the powers of the changes of a, b and c. Source: Pearson, Olver & Porter (2017), "Numerical methods
for the computation of the confluent and Gauss hypergeometric functions", section 4.8.
"""

from __future__ import annotations

from math import factorial
from typing import Final

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array

_WITHIN: Final = 0.5
_MOST_TERMS: Final = 2000
_NEGLIGIBLE: Final = 2.0**-57


def hypergeometric(orders: tuple[int, int, int, int], a: Array, b: Array, c: Array, z: Array) -> Array:
    """The derivative of F(a, b; c; z) of these orders; nan unless −∞ < z < 1.   a, b, c, z: of one shape"""
    *inner, order_z = orders
    found = np.full(z.shape, np.nan)
    is_inside = (z < 1) & np.isfinite(a + b + c + z)
    family, point = _Family(a[is_inside], b[is_inside], c[is_inside]), z[is_inside]
    one = np.zeros((*(n + 1 for n in inner), *point.shape))
    one[0, 0, 0] = 1.0
    value = family.moved(order_z).at(one, point)
    for n in range(order_z):  # DLMF 15.5.2
        value = family.over_c(family.by_b(family.by_a(value, n), n), n)
    found[is_inside] = value[tuple(inner)] * np.prod([factorial(n) for n in inner])
    return found


@frozen_dataclass
class _Family:
    """The parameters of F, and products of polynomials with a + n, b + n and 1/(c + n)."""

    a: Array
    b: Array
    c: Array

    def moved(self, n: float) -> _Family:
        """The family of the n-th derivative in z: all parameters are larger by n."""
        return _Family(self.a + n, self.b + n, self.c + n)

    def at(self, one: Array, z: Array) -> Array:
        """F at z.   one: the polynomial 1"""
        start = np.clip(z, -_WITHIN, _WITHIN)
        value, is_beyond = self.series(one, start), start != z
        if is_beyond.any():
            beyond = _Family(self.a[is_beyond], self.b[is_beyond], self.c[is_beyond])
            one, start = one[..., is_beyond], start[is_beyond]
            slope = beyond.over_c(beyond.by_b(beyond.by_a(beyond.moved(1).series(one, start), 0), 0), 0)
            value[..., is_beyond] = beyond.continued(value[..., is_beyond], slope, start, z[is_beyond])
        return value

    def by_a(self, p: Array, n: float) -> Array:
        return (self.a + n) * p + _raised(p, 0)

    def by_b(self, p: Array, n: float) -> Array:
        return (self.b + n) * p + _raised(p, 1)

    def by_c(self, p: Array, n: float) -> Array:
        return (self.c + n) * p + _raised(p, 2)

    def over_c(self, p: Array, n: float) -> Array:
        """The quotient by c + n, coefficient by coefficient of the powers of c."""
        found = np.empty_like(p)
        for k in range(p.shape[2]):
            found[:, :, k] = (p[:, :, k] - (found[:, :, k - 1] if k else 0.0)) / (self.c + n)
        return found

    def series(self, one: Array, z: Array) -> Array:
        """Σ (a)ₙ(b)ₙ/((c)ₙ·n!)·zⁿ for |z| ≤ ½."""
        total = term = one
        for n in range(_MOST_TERMS):
            term = self.over_c(self.by_b(self.by_a(term, n), n), n) * (z / (n + 1))
            total = total + term
            if _is_negligible(term, total):
                break
        return total

    def continued(self, value: Array, slope: Array, here: Array, end: Array) -> Array:
        """F at `end` from F and F′ at `here`, by steps."""
        while np.any(here != end):
            reach = np.where(here < 0, here, 1 - here) / 2
            following = here + reach
            is_last = np.where(here < 0, following <= end, following >= end)
            following = np.where(is_last, end, following)
            value, slope = self._taylor(value, slope, here, following - here)
            here = following
        return value

    def _taylor(self, value: Array, slope: Array, here: Array, step: Array) -> tuple[Array, Array]:
        """F and F′ at here + step, by z(1 − z)·F″ + (c − (a + b + 1)·z)·F′ − a·b·F = 0."""
        inverse = 1 / (here * (1 - here))
        # terms of orders n and n + 1 of F, those of F′ times the step
        one, two = value, slope * step
        total, change = value + two, two
        for n in range(_MOST_TERMS):
            linear = self.by_c(two, 0) - here * (self.by_a(two, 0) + self.by_b(two, 1)) + (1 - 2 * here) * n * two
            three = self.by_b(self.by_a(one, n), n) * step**2 - linear * (step * (n + 1))
            one, two = two, three * (inverse / ((n + 1) * (n + 2)))
            total, change = total + two, change + (n + 2) * two
            if _is_negligible(one, total) and _is_negligible(two, total):
                break
        moves = step != 0
        return total, np.where(moves, change / np.where(moves, step, 1.0), slope)


def _raised(p: Array, axis: int) -> Array:
    """The product with the change of a parameter: powers move up by one, the highest is dropped."""
    found = np.zeros_like(p)
    low, high = [slice(None)] * p.ndim, [slice(None)] * p.ndim
    low[axis], high[axis] = slice(None, -1), slice(1, None)
    found[tuple(high)] = p[tuple(low)]
    return found


def _is_negligible(term: Array, total: Array) -> bool:
    """Are all coefficients of a term below rounding of the sum's, or of its value?"""
    size = np.abs(total) + np.abs(total[0, 0, 0])
    return bool(np.all((np.abs(term) <= size * _NEGLIGIBLE) | ~np.isfinite(term)))
