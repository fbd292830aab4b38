"""Minimax polynomials for `aotensor.passes.scalar_math`: Remez exchange on a grid, coefficients rounded one by one.

The coefficients of the math library come from `fit`. The lowest coefficient is rounded to the target dtype first and
the others are fitted again, and so on upwards: the rounding of one coefficient is made good by the next ones.

    python tools/minimax.py [NAME ...]     prints these tables, or all of them
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeAlias

import mpmath as mp
import numpy as np

Function: TypeAlias = Callable[[mp.mpf], mp.mpf]


def chebyshev_grid(low: mp.mpf, high: mp.mpf, count: int) -> list[mp.mpf]:
    """`count` points of [low, high], denser at the ends; 0 is left out."""
    middle, radius = (high + low) / 2, (high - low) / 2
    points = [middle - radius * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / count) for i in range(count)]
    return [x for x in points if x != 0]


def remez(targets: Sequence[mp.mpf], basis: Sequence[Sequence[mp.mpf]]) -> tuple[list[mp.mpf], mp.mpf]:
    """c that minimises max |Σ c_j·basis[j][i] − targets[i]| over the grid, and that maximum.

    Source: the exchange algorithm of E. Y. Remez (1934), all extrema exchanged at once.
    """
    size, count = len(basis), len(targets)
    nodes = [round((count - 1) * (1 - float(mp.cos(mp.pi * i / size))) / 2) for i in range(size + 1)]
    best: tuple[list[mp.mpf], mp.mpf] = ([], mp.inf)
    for _ in range(60):
        system = mp.matrix(size + 1, size + 1)
        for row, node in enumerate(nodes):
            for j in range(size):
                system[row, j] = basis[j][node]
            system[row, size] = mp.mpf((-1) ** row)
        solution = mp.lu_solve(system, mp.matrix([targets[node] for node in nodes]))
        c, level = list(solution)[:size], abs(solution[size])
        errors = [mp.fsum(c[j] * basis[j][i] for j in range(size)) - targets[i] for i in range(count)]
        worst = max(abs(e) for e in errors)
        if worst < best[1]:
            best = (c, worst)
        if worst <= level * mp.mpf("1.001"):
            break
        nodes = _alternating_extrema(errors, size + 1)
        if len(nodes) < size + 1:
            break
    return best


def _alternating_extrema(errors: Sequence[mp.mpf], wanted: int) -> list[int]:
    """Positions of the largest errors of alternating sign."""
    peaks: list[int] = []
    for i, e in enumerate(errors):
        if peaks and (errors[peaks[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > wanted:
        if len(peaks) == wanted + 1:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        else:
            i = min(range(len(peaks) - 1), key=lambda k: max(abs(errors[peaks[k]]), abs(errors[peaks[k + 1]])))
            del peaks[i : i + 2]
    return peaks


def fit(
    function: Function,
    interval: tuple[float, float],
    powers: Sequence[int],
    dtype: str = "float64",
    *,
    weight: Function | None = None,
    fixed: dict[int, float] | None = None,
    grid: int = 600,
) -> tuple[list[float], float]:
    """Coefficients c of Σ c[k]·x**powers[k] ≈ function, representable in dtype, and the bits of accuracy.

    The error that is minimised is (p − f)·weight, by default relative: weight = 1/f. `fixed` holds coefficients of
    further powers that are given. dtype "exact" rounds nothing.
    """
    fixed = fixed or {}
    xs = chebyshev_grid(mp.mpf(interval[0]), mp.mpf(interval[1]), grid)
    values = [function(x) for x in xs]
    weights = [abs(weight(x) if weight else 1 / y) for x, y in zip(xs, values, strict=True)]
    given = [mp.fsum(mp.mpf(c) * x**k for k, c in fixed.items()) for x in xs]
    targets = [(y - g) * w for y, g, w in zip(values, given, weights, strict=True)]
    columns = {k: [x**k * w for x, w in zip(xs, weights, strict=True)] for k in powers}
    rounded = _to_float32 if dtype == "float32" else float
    chosen: list[float] = []
    c, error = remez(targets, [columns[k] for k in powers])
    if dtype == "exact":
        return [float(v) for v in c], float(-mp.log(error, 2))
    for position, k in enumerate(powers):
        chosen.append(rounded(c[0]))
        targets = [t - chosen[-1] * column for t, column in zip(targets, columns[k], strict=True)]
        left = [columns[j] for j in powers[position + 1 :]]
        if left:
            c = min(remez(targets, left), (c[1:], deviation(targets, left, c[1:])), key=lambda choice: choice[1])[0]
    return chosen, float(-mp.log(max(abs(t) for t in targets), 2))


def deviation(targets: Sequence[mp.mpf], basis: Sequence[Sequence[mp.mpf]], c: Sequence[mp.mpf]) -> mp.mpf:
    """max |Σ c_j·basis[j][i] − targets[i]| over the grid."""
    return max(abs(mp.fdot(c, column) - t) for t, column in zip(targets, zip(*basis, strict=True), strict=True))


def _to_float32(x: mp.mpf) -> float:
    return float(np.float32(float(x)))


def _near_zero() -> mp.mpf:
    return mp.mpf(10) ** -10


def _in_squares(function: Function) -> Function:
    """g with g(x²) = function(x)."""
    return lambda z: function(mp.sqrt(z))


def _fit_exp(dtype: str, count: int) -> tuple[list[float], float]:
    half = mp.log(2) / 2
    return fit(
        lambda r: (mp.expm1(r) - r) / r**2, (-half, half), range(count), dtype, weight=lambda r: r**2 / mp.expm1(r)
    )


def _fit_exp_of_sixteenth(count: int) -> tuple[list[float], float]:
    """Fit the exponential within half a sixteenth of an octave, with the error relative to e**r."""
    half = mp.log(2) / 32
    return fit(lambda r: (mp.expm1(r) - r) / r**2, (-half, half), range(count), weight=lambda r: r**2 / mp.exp(r))


def _fit_exp2(dtype: str, count: int) -> tuple[list[float], float]:
    half = mp.mpf(1) / 2
    return fit(
        lambda y: (mp.mpf(2) ** y - 1) / y, (-half, half), range(count), dtype, weight=lambda y: y / mp.mpf(2) ** y
    )


def _artanh_limit() -> mp.mpf:
    """s² at 1 + f = √2, for s = f/(2 + f)."""
    return ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0001")


def _fit_odd(function: Function, limit: mp.mpf, count: int) -> tuple[list[float], float]:
    """Fit (function(x)/x − 1)/x² in powers of x²."""
    tail = _in_squares(lambda x: (function(x) / x - 1) / x**2)
    return fit(tail, (_near_zero(), limit**2), range(count), weight=_in_squares(lambda x: x**3 / function(x)))


def _scaled_erfc(offset: int) -> Function:
    return lambda u: mp.exp((1 / u - offset) ** 2) * mp.erfc(1 / u - offset) / u


def _stirling(function: Function, count: int) -> tuple[list[float], float]:
    """Fit a function of z ≥ 8 in powers of 1/z²."""
    return fit(lambda w: function(1 / mp.sqrt(w)), (mp.mpf(10) ** -8, mp.mpf(1) / 64), range(count), grid=60)


def _log_gamma_rest(z: mp.mpf) -> mp.mpf:
    return z * (mp.loggamma(z) - (z - mp.mpf(1) / 2) * mp.log(z) + z - mp.log(2 * mp.pi) / 2)


RECIPES: dict[str, Callable[[], tuple[list[float], float]]] = {
    "exponential._EXPM1_TAIL float32": lambda: _fit_exp("float32", 5),
    "exponential._EXPM1_TAIL float64": lambda: _fit_exp("float64", 10),
    "exponential._TAIL_OF_SIXTEENTH": lambda: _fit_exp_of_sixteenth(5),
    "exponential._EXP2_TAIL float32": lambda: _fit_exp2("float32", 6),
    "exponential._EXP2_TAIL float64": lambda: _fit_exp2("float64", 11),
    "power._EXP2_SINGLE": lambda: _fit_exp2("float64", 6),
    "logarithm._TAIL float32": lambda: fit(
        lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, (-mp.mpf(1) / 3, mp.mpf(1) / 3), range(8), "float32",
        weight=lambda f: f**3 / mp.log1p(f),
    ),
    "logarithm._TAIL float64": lambda: fit(
        _in_squares(lambda s: (2 * mp.atanh(s) / s - 2) / s**2), (_near_zero(), _artanh_limit()), range(7),
        weight=lambda z: z / 2,
    ),
    "power._LOG_TAIL": lambda: fit(
        _in_squares(lambda s: (3 * mp.atanh(s) / s - 3 - s**2) / s**4), (mp.mpf(10) ** -8, _artanh_limit()), range(8)
    ),
    "power._LOG2_SINGLE": lambda: fit(
        _in_squares(lambda s: 2 * mp.atanh(s) / s / mp.log(2)), (_near_zero(), _artanh_limit()), range(5)
    ),
    "power._INVERSE_CBRT float32": lambda: fit(
        lambda f: mp.cbrt(1 / (1 + f)), (mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1), range(4)
    ),
    "power._INVERSE_CBRT float64": lambda: fit(
        lambda f: mp.cbrt(1 / (1 + f)), (mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1), range(6)
    ),
    "trigonometric._SIN float32": lambda: _fit_odd(mp.sin, mp.pi / 4, 3),
    "trigonometric._SIN float64": lambda: _fit_odd(mp.sin, mp.pi / 4, 6),
    "trigonometric._COS float32": lambda: fit(
        _in_squares(lambda x: (mp.cos(x) - 1) / x**2), (_near_zero(), (mp.pi / 4) ** 2), range(4),
        weight=_in_squares(lambda x: x**2 / mp.cos(x)),
    ),
    "trigonometric._COS float64": lambda: fit(
        _in_squares(lambda x: (mp.cos(x) - 1) / x**2), (_near_zero(), (mp.pi / 4) ** 2), range(7),
        weight=_in_squares(lambda x: x**2 / mp.cos(x)),
    ),
    "inverse_trigonometric._ARCTAN float32": lambda: _fit_odd(mp.atan, mp.tan(mp.pi / 8), 5),
    "inverse_trigonometric._ARCTAN float64": lambda: _fit_odd(mp.atan, mp.tan(mp.pi / 8), 11),
    "inverse_trigonometric._ARCSIN float32": lambda: _fit_odd(mp.asin, mp.mpf(1) / 2, 6),
    "inverse_trigonometric._ARCSIN float64": lambda: _fit_odd(mp.asin, mp.mpf(1) / 2, 12),
    "special._ERF_CENTRE float32": lambda: fit(
        _in_squares(lambda x: mp.erf(x) / x - 1), (_near_zero(), mp.mpf(1)), range(7), "float32",
        weight=_in_squares(lambda x: x / mp.erf(x)),
    ),
    "special._ERF_CENTRE float64": lambda: fit(
        _in_squares(lambda x: mp.erf(x) / x - 1), (_near_zero(), mp.mpf(1)), range(12),
        weight=_in_squares(lambda x: x / mp.erf(x)),
    ),
    "special._LOG_ERFC float32": lambda: fit(
        lambda x: mp.log(mp.erfc(x)), (1, mp.mpf("3.95")), range(7), "float32", weight=lambda x: mp.erfc(x) / mp.erf(x)
    ),
    "special._LOG_ERFC float64": lambda: fit(
        lambda x: mp.log(mp.erfc(x)), (1, mp.mpf("5.95")), range(18), weight=lambda x: mp.erfc(x) / mp.erf(x)
    ),
    "special._SCALED_ERFC float32": lambda: fit(_scaled_erfc(2), (mp.mpf("0.0815"), mp.mpf("0.346")), range(9)),
    "special._SCALED_ERFC float64": lambda: fit(_scaled_erfc(2), (mp.mpf("0.0341"), mp.mpf("0.346")), range(20)),
    "gamma._LOG_GAMMA": lambda: _stirling(_log_gamma_rest, 6),
    "gamma._PSI": lambda: _stirling(lambda z: (mp.log(z) - 1 / (2 * z) - mp.digamma(z)) * z**2, 6),
    "gamma._TRI_GAMMA": lambda: _stirling(lambda z: (mp.psi(1, z) - 1 / z - 1 / (2 * z**2)) * z**3, 6),
    "gamma._SIN_PI": lambda: fit(
        _in_squares(lambda t: mp.sin(mp.pi * t) / t), (_near_zero(), mp.mpf(1) / 4), range(8)
    ),
    "gamma._COS_PI": lambda: fit(
        _in_squares(lambda t: mp.cos(mp.pi * t)), (_near_zero(), mp.mpf(1) / 4), range(9), weight=lambda z: mp.mpf(1)
    ),
}  # fmt: skip


def main(names: Sequence[str]) -> None:
    """Print coefficients, and the bits of accuracy as a comment."""
    mp.mp.prec = 400
    for name in names or RECIPES:
        coefficients, bits = RECIPES[name]()
        sys.stdout.write(f"{name}  # error 2**-{bits:.1f}\n    {tuple(coefficients)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
