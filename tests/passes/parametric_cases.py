"""Functions with parameters in mpmath, and where and how closely they are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import mpmath as mp
import numpy as np
import scipy.special
from scalar_math_harness import Array

Draw: TypeAlias = Callable[[np.random.Generator, int], Sequence[Array]]

# central differences of fourth order: offsets and weights of the derivative of some order, over 12
_DIFFERENCES: Final = {
    0: ((0, 12),),
    1: ((-2, 1), (-1, -8), (1, 8), (2, -1)),
    2: ((-2, -1), (-1, 16), (0, -30), (1, 16), (2, -1)),
}
_STEP: Final = mp.mpf(10) ** -16


@dataclass(frozen=True)
class Parametric:
    """A function of `exact(*operands)` at points of `draw`.

    bounds: by orders of differentiation in the first operands, how large the relative error over `scale(y)` may be,
    where y is the result: an exponential of a large number has the errors of that number.
    """

    exact: Callable[..., Any]
    draw: Draw
    bounds: dict[tuple[int, ...], float]
    scale: Callable[[Any], Any] = lambda y: 1 + abs(mp.log(abs(y)))
    size: Callable[..., Any] = lambda y, *_: abs(y)
    """What errors are relative to, from the exact result and the operands."""
    digits: int = 90
    varying: Callable[..., Any] | None = None
    """The function up to a constant, where that is small, so that differences keep their digits."""

    def derivative(self, orders: Sequence[int], operands: Sequence[float]) -> Any:
        """The derivative in mpmath, by differences with many digits."""
        points = [(mp.mpf(float(x)), _STEP * (abs(mp.mpf(float(x))) or 1)) for x in operands]
        total, size = mp.mpf(0), mp.mpf(1)
        sums: list[tuple[int, list[Any]]] = [(1, [])]
        for position, (x, step) in enumerate(points):
            order = orders[position] if position < len(orders) else 0
            sums = [(w * weight, [*xs, x + offset * step]) for w, xs in sums for offset, weight in _DIFFERENCES[order]]
            size *= 12 * step**order
        for weight, xs in sums:
            total += weight * (self.varying or self.exact)(*xs)
        return total / size


def _gamma_points(rng: np.random.Generator, count: int) -> Sequence[Array]:
    """Shapes from tiny to large, points around them and in the tails, near and far from x = a, equal, whole."""
    a = np.concatenate(
        [10 ** rng.uniform(-6, 3, count), rng.uniform(150, 2000, count // 2), [1e-12, 1, 2, 20, 200, 200]]
    )
    x = a * np.concatenate(
        [10 ** rng.uniform(-1.5, 1, count), 1 + 0.1 * rng.normal(size=count // 2), [1e12, 1, 1, 1.1, 0.7, 1.3]]
    )
    low = 10 ** rng.uniform(-6, 1, count // 2)
    return np.concatenate([a, low]), np.concatenate([x, 10 ** rng.uniform(-3, 1.5, count // 2)])


def _beta_points(rng: np.random.Generator, count: int) -> Sequence[Array]:
    """Around the mean and anywhere; whole numbers, ones, equal parameters."""
    a, b = 10 ** rng.uniform(-2, 2.7, (2, count))
    a[::11], b[::13], b[::5] = np.ceil(a[::11]), np.ceil(b[::13]), a[::5]
    a[::17], b[::19] = 1.0, 1.0
    x = 1 / (1 + b / a * np.exp(2 * rng.normal(size=count) / np.sqrt(np.minimum(a, b) + 0.3)))
    x[::7] = rng.uniform(size=len(x[::7]))
    return a, b, x


def _beta_function_points(rng: np.random.Generator, count: int) -> Sequence[Array]:
    a, b = 10 ** rng.uniform(-8, 4, (2, 2 * count))
    b[::5], a[::7] = a[::5], np.ceil(a[::7])
    return a, b


def _lower(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def _upper(a: Any, x: Any) -> Any:
    return mp.gammainc(a, x, mp.inf, regularized=True)


def _lower_tail(a: Any, x: Any) -> Any:
    return _lower(a, x) if x < a * mp.mpf("1.0123") else -_upper(a, x)


def _upper_tail(a: Any, x: Any) -> Any:
    return -_lower_tail(a, x)


def _gamma_density(a: Any, x: Any) -> Any:
    return mp.exp((a - 1) * mp.log(x) - x) * mp.rgamma(a)


def _beta(a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(a, b, 0, x, regularized=True)


def _beta_tail(a: Any, b: Any, x: Any) -> Any:
    return _beta(a, b, x) if x * (a + b) < a * mp.mpf("1.0123") else -_beta(b, a, 1 - x)


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x)) / mp.beta(a, b)


def _quantile_points(rng: np.random.Generator, count: int) -> Sequence[Array]:
    """Shapes that are not too small for SciPy to find a start; probabilities in the middle and in both tails."""
    p = rng.uniform(0, 1, 2 * count)
    p[::3] = 10 ** rng.uniform(-100, 0, len(p[::3]))
    return 10 ** rng.uniform(-1.5, 4, 2 * count), p


def _beta_quantile_points(rng: np.random.Generator, count: int) -> Sequence[Array]:
    a, p = _quantile_points(rng, count)
    return np.minimum(a, 300), 10 ** rng.uniform(-1, 2, len(p)), np.maximum(p, 1e-12)


def _inverse(function: Any, density: Any, start: Any, sign: int) -> Callable[..., Any]:
    """The last operand for a value of the function: Newton's method with many digits."""

    def exact(*operands: Any) -> Any:
        *shapes, p = operands
        x = mp.mpf(float(start(*map(float, operands))))
        for _ in range(6):
            x -= sign * (function(*shapes, x) - p) / density(*shapes, x)
        return x

    return exact


def _owens(h: Any, a: Any) -> Any:
    reach = min(a, 12 / (1 + h))
    return mp.quad(lambda t: mp.exp(-(h**2) * (1 + t * t) / 2) / (1 + t * t), [0, reach / 2, reach]) / (2 * mp.pi)


def _bessel_points(rng: np.random.Generator, count: int) -> Sequence[Array]:
    """Orders small, large, whole and negative; arguments on both sides of them and where the methods change."""
    v = np.concatenate(
        [rng.uniform(0, 3, count), rng.uniform(0, 120, count), rng.uniform(-9, 0, count), rng.uniform(0, 500, count)]
    )
    v[::5] = np.round(v[::5])
    v[np.abs(v) == 0] = 1.0  # of even functions the first derivative there is 0
    x = np.concatenate(
        [
            10 ** rng.uniform(-3, 3, count), rng.uniform(0, 200, count), 10 ** rng.uniform(-1, 2, count),
            rng.uniform(25, 500, count),
        ]
    )  # fmt: skip
    return v, x


def _second_kind_points(rng: np.random.Generator, count: int) -> Sequence[Array]:
    """Where mpmath has K_v."""
    v, x = _bessel_points(rng, count)
    is_kept = np.abs(v) < 60
    return v[is_kept], x[is_kept]


def _scaled_by(function: Any, sign: int) -> Callable[..., Any]:
    return lambda v, x: function(v, x) * mp.exp(sign * x)


MODIFIED: Final = {(): 1e-14, (1, 0): 1e-12, (2, 0): 1e-11, (0, 1): 1e-12, (1, 1): 1e-11, (0, 2): 1e-11}


def _hypergeometric_points(rng: np.random.Generator, count: int) -> Sequence[Array]:
    """Whole, equal and resonant parameters too; z inside of the circle, far below it and near 1."""
    a, b = rng.uniform(-2, 4, (2, 3 * count))
    c = rng.uniform(0.5, 6, 3 * count)
    a[::7], b[::9] = np.round(a[::7]), a[::9]
    c[::5] = np.maximum(a[::5] + b[::5] + np.round(rng.uniform(-1, 3, len(c[::5]))), 0.75)
    z = [rng.uniform(-1, 1, count), -(10 ** rng.uniform(-1, 4, count)), 1 - 10 ** rng.uniform(-6, 0, count)]
    return a, b, c, np.concatenate(z)


PARAMETRIC: Final[dict[str, Parametric]] = {
    "gammainc": Parametric(_lower, _gamma_points, {(): 1e-15, (1,): 4e-14, (2,): 2e-12}, varying=_lower_tail),
    "gammaincc": Parametric(_upper, _gamma_points, {(): 1e-15, (1,): 4e-14, (2,): 2e-12}, varying=_upper_tail),
    "gamma_density": Parametric(_gamma_density, _gamma_points, {(): 1e-15, (1,): 1e-13}),
    "beta": Parametric(
        mp.beta, _beta_function_points, {(): 1e-14, (1, 1): 1e-12, (2, 0): 1e-12, (1, 2): 1e-10}, digits=100
    ),
    "gammal": Parametric(
        lambda k, x: mp.gammainc(k, 0, x), _gamma_points, {(): 1e-14, (1,): 1e-13, (2,): 2e-12}, digits=110
    ),
    "gammau": Parametric(mp.gammainc, _gamma_points, {(): 1e-14, (1,): 1e-13, (2,): 2e-12}, digits=110),
    "gamma_power": Parametric(
        lambda k, x: mp.exp((k - 1) * mp.log(x) - x), _gamma_points, {(): 1e-14, (1,): 1e-14, (2,): 1e-14}
    ),
    "betainc": Parametric(
        _beta,
        _beta_points,
        {(): 4e-14, (1, 0): 1e-12, (0, 1): 1e-12, (2, 0): 1e-10, (1, 1): 1e-11, (0, 2): 1e-11},
        varying=_beta_tail,
    ),
    "beta_density": Parametric(_beta_density, _beta_points, {(): 2e-15, (1, 0): 1e-12, (0, 1): 1e-12}),
    "gammaincinv": Parametric(
        _inverse(_lower, _gamma_density, scipy.special.gammaincinv, 1), _quantile_points, {(): 2e-14}, digits=40
    ),
    "gammainccinv": Parametric(
        _inverse(_upper, _gamma_density, scipy.special.gammainccinv, -1), _quantile_points, {(): 2e-14}, digits=40
    ),
    "betaincinv": Parametric(
        _inverse(_beta, _beta_density, scipy.special.betaincinv, 1), _beta_quantile_points, {(): 2e-14}, digits=40
    ),
    "owens_t": Parametric(
        _owens, lambda rng, count: (rng.uniform(0, 9, count), np.exp(rng.normal(size=count))), {(): 1e-15}, digits=30
    ),
    "poch": Parametric(
        mp.rf,
        lambda rng, count: (rng.uniform(-5, 300, count), rng.uniform(-4, 60, count)),
        {(): 2e-14, (1, 0): 2e-13, (0, 1): 5e-14, (1, 1): 1e-12, (2, 0): 1e-11},
    ),
    "jv": Parametric(
        mp.besselj,
        _bessel_points,
        {(): 1e-13, (1,): 2e-13, (2,): 1e-12},
        digits=60,
        size=lambda y, v, x: max(abs(y), mp.sqrt(2 / (mp.pi * x)) if x > abs(v) else mp.mpf(0)),
    ),
    "iv": Parametric(mp.besseli, _bessel_points, MODIFIED, digits=60),
    "ive": Parametric(_scaled_by(mp.besseli, -1), _bessel_points, MODIFIED, digits=60),
    "kv": Parametric(mp.besselk, _second_kind_points, MODIFIED, digits=60),
    "kve": Parametric(_scaled_by(mp.besselk, 1), _second_kind_points, MODIFIED, digits=60),
    "hyp2f1": Parametric(
        mp.hyp2f1,
        _hypergeometric_points,
        {
            (): 1e-12,
            (1, 0, 0, 0): 1e-11,
            (0, 0, 1, 0): 1e-11,
            (0, 0, 0, 1): 1e-11,
            (1, 0, 1, 0): 1e-10,
            (0, 0, 0, 2): 1e-11,
            (0, 2, 0, 0): 1e-10,
        },
        size=lambda y, *_: max(abs(y), mp.mpf(1) / 1000),
        digits=60,
    ),
}
