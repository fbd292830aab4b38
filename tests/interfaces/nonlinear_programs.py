"""Nonlinear programs of the tests, with solutions that others have published or found."""

from __future__ import annotations

import numpy as np

import aotensor as aot
import aotensor.tensor as at

START = np.array([1.0, 5.0, 5.0, 1.0])
SOLUTION = np.array([1.0, 4.74299963, 3.82114998, 1.37940829])
"""Of the first program with c = 1, 1 ≤ x ≤ 5, Πx ≥ 25 and Σx² = 40. Source: Hock & Schittkowski (1981), problem 71"""


def hock_schittkowski_71() -> aot.NLP:
    """x₀x₃(x₀ + x₁ + x₂) + c x₂, with constraints Πx and Σx²."""
    x, c = at.vector("x", shape=(4,)), at.scalar("c")
    return aot.nlp(x, x[0] * x[3] * x[:3].sum() + c * x[2], [at.prod(x), (x**2).sum()], p=c, name="hs71")


def control(count: int) -> aot.NLP:
    """A van der Pol oscillator that is steered to rest: states and controls; the step size is a parameter."""
    y, u, h = at.matrix("y", shape=(count + 1, 2)), at.vector("u", shape=(count + 1,)), at.scalar("h")
    a, b = y[:, 0], y[:, 1]
    slope = (1 - b**2) * a - b + u
    defects = [z[1:] - z[:-1] - h / 2 * (dz[1:] + dz[:-1]) for z, dz in ((a, slope), (b, a))]
    return aot.nlp([y, u], h * (a**2 + b**2 + u**2).sum(), defects, p=h, name="vdp")
