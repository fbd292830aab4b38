"""What every scalar function must be, and how close."""

from __future__ import annotations

from typing import Final

import mpmath as mp
import numpy as np
import scipy.special
from scalar_math_harness import Array, Case


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def logistic_density(x: Array) -> Array:
    t = np.exp(-np.abs(x))
    return t / np.square(1 + t)


def softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def log1mexp(x: Array) -> Array:
    return np.where(x > -0.7, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


OVERFLOW: Final = ((-746.0, -700.0), (-104.0, -86.0), (86.0, 90.0), (700.0, 712.0))
NEAR_ONE: Final = ((0.9, 1.1), (0.6, 0.8), (1.3, 1.5))
QUARTERS: Final = ((-1e4, 1e4), (-2.2e6, -2e6), (2e6, 1e7), (1.5707, 1.5709), (3.1415, 3.1417))

# long double serves as the reference for float64, float64 for float32
CASES: Final[dict[str, Case]] = {
    "exp": Case(2, np.exp, OVERFLOW, mp.exp),
    "exp2": Case(2, np.exp2, ((-1076.0, -1020.0), (1020.0, 1025.0), (-151.0, -120.0), (120.0, 129.0)), lambda x: 2**x),
    "expm1": Case(2, np.expm1, (*OVERFLOW, (0.3, 0.4), (-0.4, -0.3)), mp.expm1),
    "log": Case(2, np.log, NEAR_ONE, mp.log),
    "log2": Case(2, np.log2, NEAR_ONE, lambda x: mp.log(x, 2)),
    "log10": Case(2, np.log10, NEAR_ONE, mp.log10),
    "log1p": Case(2, np.log1p, ((-1.0, -0.9), (-0.3, 0.5)), mp.log1p),
    "log1mexp": Case(
        3, log1mexp, ((-0.75, -0.65), (-1e-3, 1e-3), OVERFLOW[0], OVERFLOW[1]), lambda x: mp.log1p(-mp.exp(x))
    ),
    "tanh": Case(2, np.tanh, ((-0.3, 0.3), (8.0, 20.0)), mp.tanh),
    "sigmoid": Case(
        2, sigmoid, (*OVERFLOW, (30.0, 40.0), (-40.0, -30.0), (-1e-3, 1e-3)), lambda x: 1 / (1 + mp.exp(-x))
    ),
    "sigmoid_shared": Case(
        2.5, sigmoid, (*OVERFLOW, (30.0, 40.0), (-40.0, -30.0), (-1e-3, 1e-3)), lambda x: 1 / (1 + mp.exp(-x))
    ),
    "logistic_density": Case(
        5, logistic_density, (*OVERFLOW, (-40.0, 40.0), (-1e-3, 1e-3)), lambda x: mp.exp(-x) / (1 + mp.exp(-x)) ** 2
    ),
    "tanh_half": Case(3, lambda x: np.tanh(x / 2), ((-0.6, 0.6), (16.0, 40.0)), lambda x: mp.tanh(x / 2)),
    "tanh_shared": Case(4, np.tanh, ((-0.3, 0.3), (8.0, 20.0)), mp.tanh),
    "sech_squared": Case(
        5, lambda x: 4 * logistic_density(2 * x), ((-0.3, 0.3), (8.0, 20.0), (340.0, 373.0)), lambda x: mp.sech(x) ** 2
    ),
    "exp_shared": Case(2, np.exp, OVERFLOW, mp.exp),
    "expm1_shared": Case(2, np.expm1, (*OVERFLOW, (0.3, 0.4), (-0.4, -0.3)), mp.expm1),
    "gauss": Case(3, lambda x: np.exp(-x * x), ((3.0, 10.0), (-27.5, -20.0)), lambda x: mp.exp(-x * x)),
    "half_gauss": Case(3, lambda x: np.exp(-x * x / 2), ((3.0, 14.0), (-39.0, -30.0)), lambda x: mp.exp(-x * x / 2)),
    "softplus": Case(2, softplus, (*OVERFLOW, (-2.0, 0.0)), lambda x: mp.log1p(mp.exp(x))),
    "sinh": Case(3, np.sinh, (*OVERFLOW, (0.3, 0.6)), mp.sinh),
    "cosh": Case(2, np.cosh, OVERFLOW, mp.cosh),
    "arcsinh": Case(3, np.arcsinh, ((0.2, 0.6),), mp.asinh),
    "arccosh": Case(3, np.arccosh, ((1.0, 1.1),), mp.acosh),
    "arctanh": Case(3, np.arctanh, ((0.9, 1.0), (-0.3, 0.3)), mp.atanh),
    "sin": Case(2, np.sin, QUARTERS, mp.sin),
    "cos": Case(2, np.cos, QUARTERS, mp.cos),
    "tan": Case(4, np.tan, QUARTERS, mp.tan),
    "arcsin": Case(3, np.arcsin, ((0.45, 0.55), (0.99, 1.0)), mp.asin),
    "arccos": Case(3, np.arccos, ((0.45, 0.55), (0.99, 1.0), (-1.0, -0.99)), mp.acos),
    "arctan": Case(3, np.arctan, ((0.4, 0.45), (2.3, 2.5)), mp.atan),
    "cbrt": Case(2, np.cbrt, NEAR_ONE, lambda x: mp.sign(x) * mp.cbrt(abs(x))),
    "erf": Case(2, scipy.special.erf, ((0.9, 1.1), (3.0, 6.0)), mp.erf),
    "i0": Case(6, scipy.special.i0, ((7.0, 9.0), (600.0, 720.0)), lambda x: mp.besseli(0, x)),
    "i1": Case(
        5, lambda x: np.copysign(scipy.special.i1(x), x), ((7.0, 9.0), (600.0, 720.0)), lambda x: mp.besseli(1, x)
    ),
    "erfc": Case(4, scipy.special.erfc, ((0.7, 1.5), (1.5, 10.5), (25.0, 27.5)), mp.erfc),
}
NO_LONG_DOUBLE: Final = ("erf", "erfc", "i0", "i1", "gauss", "half_gauss")
"""SciPy computes the first four in float64; the square of the last two costs long double its additional digits."""


def power_operands(dtype: str, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Bases and exponents: random patterns, results over the whole range, bases near 1, integers, and all corners."""
    limit = np.log2(float(np.finfo(dtype).max))
    near = 1 + rng.uniform(-1, 1, count) * 10.0 ** rng.uniform(-7 if dtype == "float32" else -14, -1, count)
    wide = np.exp2(rng.uniform(-limit, limit, count))
    whole = rng.integers(-20, 20, count)
    bases, exponents = [near, wide, wide, whole], [wide, rng.uniform(-2, 2, count), whole, whole]
    for base in (near, wide):
        logarithm = np.log2(base.astype(dtype).astype(np.float64))
        bases.append(base)
        exponents.append(rng.uniform(-1.06 * limit, 1.06 * limit, count) / np.where(logarithm == 0, 1, logarithm))
    return np.concatenate(bases).astype(dtype), np.concatenate(exponents).astype(dtype)


def power_corners(dtype: str) -> tuple[Array, Array]:
    """All pairs of numbers that C99 has a rule for, and odd, even and half-integer exponents large and small."""
    info, unit = np.finfo(dtype), 2.0 ** np.finfo(dtype).nmant
    sizes = [
        0.0,
        1.0,
        np.inf,
        2.0,
        3.0,
        0.5,
        2.5,
        info.max,
        info.smallest_subnormal,
        unit + 1,
        2 * unit,
        unit / 2 + 0.5,
    ]
    values = np.array([*sizes, *(-x for x in sizes), np.nan], dtype)
    x, y = np.meshgrid(values, values)
    return x.ravel(), y.ravel()
