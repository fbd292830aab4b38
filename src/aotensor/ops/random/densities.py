"""Logarithms of densities in scalar operations, written so that large terms do not cancel."""

from __future__ import annotations

import math
from typing import Any, Final

from aotensor.core.builders import ScalarBuilder

_STIRLING: Final = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
"""log Γ(z) − (z − ½)·log z + z − ½·log 2π in powers of 1/z: 1/z, 1/z³, …   Source: DLMF 5.11.1."""
_SHIFT: Final = 8
"""Least z for which the series is exact to 2**-37: smaller z are raised by this number."""


def log_poisson(v: ScalarBuilder, k: Any, mean: Any) -> Any:
    """Log of the Poisson density, k·log m − m − log k!, without cancellation: the error grows as 2**-53·√m.

    For z = k + 1 = m·(1 + y) it is −m·((1 + y)·log(1 + y) − y) + log(1 + y) − ½·log z − ½·log 2π − S(z).
    """
    one, z = v.constant(1.0, "float64"), k + 1.0
    is_raised = z < float(_SHIFT)
    product, power = z, mean
    for number in range(1, _SHIFT):
        product = product * (z + float(number))
        power = power * mean
    z = v.select(is_raised, z + float(_SHIFT), z)
    y = (z - mean) / mean
    log_ratio = v.math("log1p", y)
    inverse = one / z
    square, series = inverse * inverse, v.constant(_STIRLING[-1], "float64")
    for coefficient in reversed(_STIRLING[:-1]):
        series = series * square + coefficient
    main = mean * ((one + y) * log_ratio - y)
    rest = v.math("log", v.select(is_raised, product / power, one) / v.math("sqrt", z))
    constant = inverse * series + 0.5 * math.log(2 * math.pi)
    return log_ratio - main + rest - constant


def log_binomial(v: ScalarBuilder, k: Any, mode: Any, n: Any, mean: Any, other: Any) -> Any:
    """Log of the ratio of binomial densities at k and at the mode.   mean, other: n·p and n·(1 − p)

    Binomial(k; n, p) = Poisson(k; np)·Poisson(n − k; nq) / Poisson(n; n)
    """
    here, there = (log_poisson(v, x, mean) + log_poisson(v, n - x, other) for x in (k, mode))
    return here - there


def log_gap(v: ScalarBuilder, passed: Any, left: Any, picks: Any) -> Any:
    """log of the density of `passed` elements before the next of `picks` among `left`, without the factor picks/left.

    C(left − passed − 1, picks − 1)/C(left, picks), by binomial densities for one probability p = picks/left. At least
    two picks.
    """
    one = v.constant(1.0, "float64")
    p = picks / left
    later = log_choices(v, picks - one, left - passed - one, p)
    return later - log_choices(v, picks, left, p) + passed * v.math("log1p", -p)


def log_hypergeometric(v: ScalarBuilder, k: Any, marked: Any, others: Any, picks: Any) -> Any:
    """log of the density of k marked elements among `picks` of all, without its factor of picks and all.

    Binomial(k; marked, p)·Binomial(picks − k; others, p) / Binomial(picks; all, p), for p = picks/all; without the
    divisor. Source: Loader, "Fast and accurate computation of binomial probabilities" (2000).
    """
    p = picks / (marked + others)
    return log_choices(v, k, marked, p) + log_choices(v, picks - k, others, p)


def log_choices(v: ScalarBuilder, chosen: Any, n: Any, p: Any) -> Any:
    """log of C(n, chosen)·p^chosen·(1 − p)^(n − chosen)."""
    q = 1.0 - p
    both = log_poisson(v, chosen, n * p) + log_poisson(v, n - chosen, n * q)
    return both - log_poisson(v, n, n)
