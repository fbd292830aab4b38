"""The measured functions: aotensor's, mpmath's, and the sample points of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, TypeAlias

import mpmath as mp
import numpy as np
import scipy.special

import aotensor.tensor as at

Points: TypeAlias = list[tuple[float, ...]]

SIZES: Final = (
    1e-300, 1e-200, 1e-100, 1e-30, 1e-16, 1e-8, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0, 1.5, 2.0, 3.2, 5.0, 8.1, 10.0,
    15.0, 21.0, 30.0, 50.0, 100.0, 300.0, 700.0, 1e3, 1e4, 1e6, 1e10, 1e20, 1e100, 1e300,
)  # fmt: skip
MIDDLE: Final = tuple(x for x in SIZES if 1e-3 <= x <= 1e3)
UNIT: Final = (
    1e-300, 1e-100, 1e-30, 1e-16, 1e-8, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1 - 1e-4, 1 - 1e-8, 1 - 2.0**-53,
)  # fmt: skip
INNER: Final = tuple(x for x in UNIT if 1e-3 <= x <= 0.99)
SIGNED: Final = (*(-x for x in reversed(SIZES)), *SIZES)


@dataclass(frozen=True)
class Function:
    """A function of real operands.

    bounds: the relative errors of value, first and second derivatives that docs/special_functions.md gives, in units of
    1 + |ln y|; beyond these a row of the page is marked.
    size: what errors are relative to, from |y| and the operands, where that is not |y|.
    mixed: whether second derivatives in two operands are looked at, too.
    """

    ours: Callable[..., Any]
    exact: Callable[..., Any]
    points: Points
    operands: str = "x"
    bounds: tuple[float, float, float] = (4e-15, 1e-14, 1e-13)
    size: Callable[..., Any] = lambda y, *_: y
    seconds: bool = True


def of(*values: float) -> Points:
    """Sample points of one operand."""
    return [(x,) for x in values]


def some(count: int, *axes: Sequence[float], ridge: float | None = None) -> Points:
    """A random sample of a grid: some of all points, and some whose operands are between 1e-3 and 1e3.

    ridge: adds points whose last operand is about the first one, by this factor at most.
    """
    rng = np.random.default_rng(37)
    inner = [[x for x in axis if 1e-3 <= abs(x) <= 1e3] for axis in axes]
    found: Points = []
    for choice in (axes, inner):
        grid = list(product(*choice))
        found += [grid[i] for i in rng.permutation(len(grid))[:count]]
    if ridge is not None:
        for size in axes[0]:
            found += [(size, *(float(rng.choice(a)) for a in axes[1:-1]), size * rng.uniform(1 / ridge, ridge))]
    return list(dict.fromkeys(found))


def inverse(function: Callable[..., Any], density: Callable[..., Any], start: Callable[..., Any], sign: int) -> Any:
    """Invert a function with respect to its last operand, by Newton's method."""

    def exact(*operands: Any) -> Any:
        *shapes, p = operands
        x = mp.mpf(float(start(*map(float, operands))))
        for _ in range(14):
            step = sign * (function(*shapes, x) - p) / density(*shapes, x)
            x -= step
            if abs(step) < abs(x) * mp.mpf(10) ** (3 - mp.mp.dps):
                break
        return x

    return exact


def _lower(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def _upper(a: Any, x: Any) -> Any:
    return mp.gammainc(a, x, mp.inf, regularized=True)


def _gamma_density(a: Any, x: Any) -> Any:
    return mp.exp((a - 1) * mp.log(x) - x) * mp.rgamma(a)


def _beta_ratio(a: Any, b: Any, x: Any) -> Any:
    if x * (a + b) < a:
        return mp.betainc(a, b, 0, x, regularized=True)
    return 1 - mp.betainc(b, a, 0, 1 - x, regularized=True)


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x)) / mp.beta(a, b)


def _owens(h: Any, a: Any) -> Any:
    # in pieces of the width of the peak, up to where the integrand has no digits left, and of that of 1/(1 + t²)
    reach = min(a, mp.sqrt(5 * mp.mp.dps) / h)
    inner = [mp.mpf(2) ** k / h for k in range(-1, 8)] + [mp.mpf(4) ** k for k in range(-1, 500)]
    points = [0, *sorted(t for t in inner if t < reach), reach]
    integral = mp.quad(lambda t: mp.exp(-((h * t) ** 2) / 2) / (1 + t * t), points)
    return mp.exp(-h * h / 2) * integral / (2 * mp.pi)


def _beta(a: Any, b: Any) -> Any:
    """The beta function B(a, b), with enough digits for a + b."""
    with mp.extradps(int(abs(mp.log10(a / b)))):
        return mp.beta(a, b)


def _rising(z: Any, m: Any) -> Any:
    """The Pochhammer symbol (z)ₘ, with enough digits for z + m."""
    with mp.extradps(int(abs(mp.log10(z / abs(m))))):
        return mp.rf(z, m)


def _normal(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _log_abs_gamma(x: Any) -> Any:
    return mp.log(abs(mp.gamma(x))) if x < 0 else mp.loggamma(x)


def _wave(y: Any, *operands: Any) -> Any:
    """The amplitude of the Bessel function J for arguments beyond its order."""
    v, x = operands if len(operands) == 2 else (0, *operands)
    return max(y, mp.sqrt(2 / (mp.pi * abs(x)))) if abs(x) >= max(8, abs(v)) else y


_NEAR_POLES: Final = of(*(-n + d for n in (0, 1, 2, 7, 30) for d in (1e-3, -1e-6, 1e-9, 0.5, 0.3) if -n + d))
_NEAR_ZEROS: Final = of(1 + 1e-9, 2 - 1e-9, 1.46163214, 0.9999, 2.0001)
_GAMMA: Final = [
    *of(*(x for x in SIGNED if x > 0 or x != int(x)), -1e4 - 0.3, -1e6 - 0.7), *_NEAR_POLES, *_NEAR_ZEROS,
]  # fmt: skip
_LOOSE: Final = (2e-14, 1e-12, 1e-10)
_SHAPES: Final = some(40, SIZES, SIZES, ridge=1.3)
_ORDERS: Final = some(40, (*SIZES, -0.3, -2.5, -3.0, -20.7, 0.0), SIZES, ridge=2.0)
_BESSEL: Final = of(*SIGNED, 2.404825557695773, 3.8317059702075125, 7.9, -33.3)
_TAIL: Final = of(*(s * x for s in (-1, 1) for x in (*SIZES[:20], 0.7, 4.0, 6.0, 9.5, 25.0, 26.5, 27.2, 37.0, 40.0)))

FUNCTIONS: Final[dict[str, Function]] = {
    "exp": Function(at.exp, mp.exp, of(*SIGNED)),
    "expm1": Function(at.expm1, mp.expm1, of(*SIGNED)),
    "log": Function(at.log, mp.log, of(*SIZES)),
    "log1p": Function(at.log1p, mp.log1p, of(*SIGNED[-60:])),
    "tanh": Function(at.tanh, mp.tanh, of(*SIGNED)),
    "sinh": Function(at.sinh, mp.sinh, of(*SIGNED)),
    "cosh": Function(at.cosh, mp.cosh, of(*SIGNED)),
    "arctan": Function(at.arctan, mp.atan, of(*SIGNED)),
    "arcsinh": Function(at.arcsinh, mp.asinh, of(*SIGNED)),
    "arctanh": Function(at.arctanh, mp.atanh, of(*UNIT, *(-x for x in UNIT))),
    "sigmoid": Function(at.sigmoid, lambda x: 1 / (1 + mp.exp(-x)), of(*SIGNED, 37.0, 40.0, -37.0)),
    "logit": Function(at.logit, lambda x: mp.log(x / (1 - x)), of(*UNIT)),
    "softplus": Function(at.softplus, lambda x: mp.log1p(mp.exp(x)), of(*SIGNED, 37.4, -37.4)),
    "log1mexp": Function(at.log1mexp, lambda x: mp.log(-mp.expm1(x)), of(*(-x for x in SIZES))),
    "xlogx": Function(at.xlogx, lambda x: x * mp.log(x), of(*SIZES)),
    "erf": Function(at.erf, mp.erf, _TAIL),
    "erfc": Function(at.erfc, mp.erfc, _TAIL),
    "erfcx": Function(at.erfcx, lambda x: mp.exp(x * x) * mp.erfc(x), [*_TAIL, *of(1e3, 1e6, 1e20, 1e300)]),
    "erfinv": Function(at.erfinv, mp.erfinv, of(*UNIT, *(-x for x in UNIT))),
    "erfcinv": Function(at.erfcinv, lambda x: mp.erfinv(1 - x), of(*UNIT, *(1 + x for x in UNIT[4:-1]))),
    "log_ndtr": Function(at.log_ndtr, lambda x: mp.log(_normal(x)), [*_TAIL, *of(-1e3, -1e6, -1e20)]),
    "ndtri": Function(
        at.ndtri,
        inverse(_normal, lambda x: mp.npdf(x), scipy.special.ndtri, 1),
        of(*(x for x in UNIT if x != 0.5)),
    ),
    "gamma": Function(at.gamma, mp.gamma, _GAMMA, bounds=_LOOSE),
    "gammaln": Function(at.gammaln, _log_abs_gamma, _GAMMA, bounds=_LOOSE),
    "psi": Function(at.psi, mp.psi0 if hasattr(mp, "psi0") else mp.digamma, _GAMMA, bounds=_LOOSE),
    "tri_gamma": Function(at.tri_gamma, lambda x: mp.polygamma(1, x), _GAMMA, bounds=_LOOSE),
    "polygamma(3)": Function(lambda x: at.polygamma(3, x), lambda x: mp.polygamma(3, x), _GAMMA, bounds=_LOOSE),
    "polygamma(12)": Function(lambda x: at.polygamma(12, x), lambda x: mp.polygamma(12, x),
        [p for p in _GAMMA if p[0] > 0 or (2 * p[0]) % 1],  # of even order 0 between the poles
        bounds=_LOOSE),
    "factorial": Function(at.factorial, lambda x: mp.gamma(x + 1), _GAMMA, bounds=_LOOSE),
    "j0": Function(at.j0, lambda x: mp.besselj(0, x), _BESSEL, bounds=_LOOSE, size=_wave),
    "j1": Function(at.j1, lambda x: mp.besselj(1, x), _BESSEL, bounds=_LOOSE, size=_wave),
    "i0": Function(at.i0, lambda x: mp.besseli(0, x), _BESSEL, bounds=_LOOSE),
    "i1": Function(at.i1, lambda x: mp.besseli(1, x), _BESSEL, bounds=_LOOSE),
    "logaddexp": Function(
        at.logaddexp, lambda a, b: mp.log(mp.exp(a) + mp.exp(b)), some(40, SIGNED, SIGNED), "a b", bounds=_LOOSE
    ),
    "xlogy": Function(at.xlogy, lambda x, y: x * mp.log(y), some(30, SIZES, SIZES), "x y"),
    "xlog1py": Function(at.xlog1py, lambda x, y: x * mp.log1p(y), some(30, SIZES, SIZES), "x y"),
    "arctan2": Function(at.arctan2, mp.atan2, some(40, SIGNED, SIGNED), "y x"),
    "hypot": Function(at.hypot, mp.hypot, some(40, SIGNED, SIGNED), "x y"),
    "beta": Function(at.beta, _beta, some(40, SIZES, SIZES), "a b", bounds=_LOOSE),
    "betaln": Function(at.betaln, lambda a, b: mp.log(_beta(a, b)), some(40, SIZES, SIZES), "a b", bounds=_LOOSE),
    "gammainc": Function(at.gammainc, _lower, _SHAPES, "a x", bounds=_LOOSE),
    "gammaincc": Function(at.gammaincc, _upper, _SHAPES, "a x", bounds=_LOOSE),
    "gammal": Function(at.gammal, lambda k, x: mp.gammainc(k, 0, x), _SHAPES, "k x", bounds=_LOOSE),
    "gammau": Function(at.gammau, lambda k, x: mp.gammainc(k, x), _SHAPES, "k x", bounds=_LOOSE),
    "chi2sf": Function(at.chi2sf, lambda x, k: _upper(k / 2, x / 2), _SHAPES, "x k", bounds=_LOOSE),
    "gammaincinv": Function(
        at.gammaincinv, inverse(_lower, _gamma_density, scipy.special.gammaincinv, 1), some(30, SIZES, UNIT), "a p",
        bounds=_LOOSE,
    ),
    "gammainccinv": Function(
        at.gammainccinv, inverse(_upper, _gamma_density, scipy.special.gammainccinv, -1), some(30, SIZES, UNIT), "a q",
        bounds=_LOOSE,
    ),
    "jv": Function(at.jv, mp.besselj, _ORDERS, "v x", bounds=(1e-13, 2e-13, 1e-12), size=_wave),
    "iv": Function(at.iv, mp.besseli, _ORDERS, "v x", bounds=_LOOSE),
    "ive": Function(at.ive, lambda v, x: mp.besseli(v, x) * mp.exp(-abs(x)), _ORDERS, "v x", bounds=_LOOSE),
    "kv": Function(at.kv, mp.besselk, _ORDERS, "v x", bounds=_LOOSE),
    "kve": Function(at.kve, lambda v, x: mp.besselk(v, x) * mp.exp(x), _ORDERS, "v x", bounds=_LOOSE),
    "owens_t": Function(at.owens_t, _owens, some(25, SIZES, SIZES), "h a"),
    "poch": Function(at.poch, _rising, some(40, SIZES, (*SIZES, -0.4, -3.2)), "z m", bounds=_LOOSE),
    "betainc": Function(at.betainc, _beta_ratio, some(40, SIZES, SIZES, UNIT), "a b x", bounds=(4e-14, 1e-12, 1e-10)),
    "betaincinv": Function(
        at.betaincinv, inverse(_beta_ratio, _beta_density, scipy.special.betaincinv, 1), some(15, MIDDLE, MIDDLE, UNIT),
        "a b p", bounds=_LOOSE,
    ),
    "hyp2f1": Function(
        at.hyp2f1, mp.hyp2f1, some(40, SIZES[3:17], SIZES[3:17], SIZES[8:20], (*UNIT, -0.5, -3.0, -1e4, -1e-300)),
        "a b c z", bounds=(1e-12, 1e-11, 1e-10), size=lambda y, *_: max(y, mp.mpf("1e-3")), seconds=False,
    ),
}  # fmt: skip
"""All functions of docs/surface/tensor.md, section 3, that are smooth, and elementary ones beside them."""
