"""Nodes and weights of Gauss-Legendre quadrature."""

from __future__ import annotations

import math
from functools import cache


@cache
def gauss_legendre(count: int) -> tuple[tuple[float, float], ...]:
    """Nodes and weights of Gauss-Legendre quadrature on (0, 1), by Newton's method on Legendre's polynomial."""
    found = []
    for k in range(count):
        x = math.cos(math.pi * (k + 0.75) / (count + 0.5))
        slope = 1.0
        for _ in range(100):
            before, value = 1.0, x
            for n in range(2, count + 1):
                before, value = value, ((2 * n - 1) * x * value - (n - 1) * before) / n
            slope = count * (before - x * value) / (1 - x * x)
            step = value / slope
            x -= step
            if abs(step) < 1e-17:
                break
        found.append((0.5 * (1 + x), 1 / ((1 - x * x) * slope * slope)))
    return tuple(found)
