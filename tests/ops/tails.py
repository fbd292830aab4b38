"""Derivatives where values round to a limit, squares overflow or terms cancel: closed forms for mpmath."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final

import mpmath as mp

import aotensor.tensor as at

Number = Any


@dataclass(frozen=True)
class Tail:
    """build: the function of a vector. first, second: its derivatives. points: those beyond float32 are for float64."""

    build: Callable[[Any], Any]
    first: Callable[[Number], Number]
    second: Callable[[Number], Number]
    points: Sequence[float]


def sigmoid(x: Number) -> Number:
    return 1 / (1 + mp.exp(-x))


def density(x: Number) -> Number:
    return sigmoid(x) * sigmoid(-x)


def gauss(x: Number) -> Number:
    return 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)


def scaled(x: Number) -> Number:
    return mp.exp(x * x) * mp.erfc(x)


def scaled_slope(x: Number) -> Number:
    return 2 * x * scaled(x) - 2 / mp.sqrt(mp.pi)


def mills(x: Number) -> Number:
    return mp.npdf(x) / (mp.erfc(-x / mp.sqrt(2)) / 2)


def plus_mills(x: Number) -> Number:
    return -mills(x) * (x + mills(x))


LOGISTIC: Final = (
    -700.0,
    -300.0,
    -86.0,
    -37.4,
    -20.0,
    -1.0,
    -1e-3,
    -1e-8,
    1e-8,
    0.7,
    5.0,
    30.0,
    37.4,
    40.0,
    86.0,
    700.0,
)
WIDE: Final = (-1e100, -1e18, -1e3, -1.0, -1e-18, 1e-100, 0.3, 7.0, 1e5, 1e12, 1e80, 1e100)
NORMAL: Final = (-26.0, -9.0, -3.0, -1e-3, 1e-9, 0.5, 1.0, 1.9, 2.1, 3.9, 4.1, 9.0, 15.0, 26.0)
INNER: Final = (-1 + 1e-15, -1 + 1e-6, -0.5, 1e-20, 0.5, 1 - 1e-6, 1 - 1e-10)

TAILS: Final[dict[str, Tail]] = {
    "sigmoid": Tail(at.sigmoid, density, lambda x: -density(x) * mp.tanh(x / 2), LOGISTIC),
    "softplus": Tail(at.softplus, sigmoid, density, LOGISTIC),
    "minus softplus(-x)": Tail(lambda x: -at.softplus(-x), lambda x: sigmoid(-x), lambda x: -density(x), LOGISTIC),
    "x·sigmoid": Tail(
        lambda x: x * at.sigmoid(x),
        lambda x: sigmoid(x) + x * density(x),
        lambda x: density(x) * (2 - x * mp.tanh(x / 2)),
        LOGISTIC,
    ),
    "logaddexp": Tail(lambda x: at.logaddexp(x, 0.0 * x), sigmoid, density, LOGISTIC),
    "tanh": Tail(
        lambda x: at.tanh(x / 2),
        lambda x: 2 * density(x),
        lambda x: -2 * density(x) * mp.tanh(x / 2),
        LOGISTIC,
    ),
    "expm1": Tail(at.expm1, mp.exp, mp.exp, LOGISTIC),
    "log1mexp": Tail(
        at.log1mexp,
        lambda x: 1 / -mp.expm1(-x),
        lambda x: -mp.exp(-x) / mp.expm1(-x) ** 2,
        [x for x in LOGISTIC if x < 0],
    ),
    "log1p": Tail(
        at.log1p, lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2, (-1 + 1e-15, -1 + 1e-6, -0.1, 1e-10, 1e10, 1e100)
    ),
    "logit": Tail(
        at.logit,
        lambda x: 1 / (x * (1 - x)),
        lambda x: (2 * x - 1) / (x * (1 - x)) ** 2,
        (1e-100, 1e-10, 0.3, 0.6, 1 - 1e-6, 1 - 1e-12),
    ),
    "arctan": Tail(at.arctan, lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2, WIDE),
    "arcsinh": Tail(at.arcsinh, lambda x: (x * x + 1) ** -0.5, lambda x: -x * (x * x + 1) ** -1.5, (*WIDE, 1e200)),
    "arccosh": Tail(
        at.arccosh,
        lambda x: (x * x - 1) ** -0.5,
        lambda x: -x * (x * x - 1) ** -1.5,
        (1 + 1e-10, 1 + 1e-6, 1.5, 1e12, 1e100, 1e200),
    ),
    "arctanh": Tail(at.arctanh, lambda x: 1 / (1 - x * x), lambda x: 2 * x / (1 - x * x) ** 2, INNER),
    "arcsin": Tail(at.arcsin, lambda x: (1 - x * x) ** -0.5, lambda x: x * (1 - x * x) ** -1.5, INNER),
    "arccos": Tail(at.arccos, lambda x: -((1 - x * x) ** -0.5), lambda x: -x * (1 - x * x) ** -1.5, INNER),
    "tan": Tail(
        at.tan,
        lambda x: mp.sec(x) ** 2,
        lambda x: 2 * mp.tan(x) * mp.sec(x) ** 2,
        (-1.5, -1.0, 1e-9, 0.5, 1.57),
    ),
    "erf": Tail(at.erf, gauss, lambda x: -2 * x * gauss(x), NORMAL),
    "erfc": Tail(at.erfc, lambda x: -gauss(x), lambda x: 2 * x * gauss(x), NORMAL),
    "erfcx": Tail(at.erfcx, scaled_slope, lambda x: 2 * scaled(x) + 2 * x * scaled_slope(x), (*NORMAL, 1e3, 1e5)),
    "log_ndtr": Tail(at.log_ndtr, mills, plus_mills, (*NORMAL, -1e5, -1e3, -37.0, 37.0)),
}


def fits(x: float, dtype: str) -> bool:
    """Is a point in the range of a dtype, and not closer to 1 than its numbers are?"""
    return dtype == "float64" or (1e-37 < abs(x) < 1e37 and not 0 < abs(abs(x) - 1) < 1e-7 * sqrt(2))
