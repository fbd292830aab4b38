"""DETEST: 25 problems in five classes, none of them stiff.

Hull, Enright, Fellen & Sedgwick, Comparing numerical methods for ordinary differential equations, SIAM Journal on
Numerical Analysis 9 (1972). Constants of the equations are parameters here. Values at the end, and the start of C5:
Enright & Pryce, Two FORTRAN packages for assessing initial value methods, ACM TOMS 13 (1987).
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from tools.judges.integrate.problem import Problem, Rates


def _function(name: str, x: Any) -> Any:
    """A function of NumPy, or of the namespace of x, such as that of JAX."""
    space = x.__array_namespace__() if hasattr(x, "__array_namespace__") else np
    return getattr(space, name)(x)


# --- A: one equation -------------------------------------------------------------------------------------------------


def _decay(t: Any, y: Any, p: Any) -> list[Any]:
    return [-p[0] * y[0]]


def _riccati(t: Any, y: Any, p: Any) -> list[Any]:
    return [-p[0] * y[0] ** 3]


def _oscillating(t: Any, y: Any, p: Any) -> list[Any]:
    return [p[0] * y[0] * _function("cos", t)]


def _logistic(t: Any, y: Any, p: Any) -> list[Any]:
    return [p[0] * y[0] * (1.0 - y[0] / p[1])]


def _spiral(t: Any, y: Any, p: Any) -> list[Any]:
    return [(y[0] - p[0] * t) / (y[0] + t)]


# --- B: small systems ------------------------------------------------------------------------------------------------


def _populations(t: Any, y: Any, p: Any) -> list[Any]:
    eaten = y[0] * y[1]
    return [p[0] * (y[0] - eaten), -p[1] * (y[1] - eaten)]


def _linear_reaction(t: Any, y: Any, p: Any) -> list[Any]:
    first, second = p[0] * (y[1] - y[0]), p[1] * (y[2] - y[1])
    return [first, second - first, -second]


def _quadratic_reaction(t: Any, y: Any, p: Any) -> list[Any]:
    slow, fast = p[0] * y[0], p[1] * y[1] ** 2
    return [-slow, slow - fast, fast]


def _torus(t: Any, y: Any, p: Any) -> list[Any]:
    radius = (y[0] ** 2 + y[1] ** 2) ** 0.5
    return [-y[1] - y[0] * y[2] / radius, y[0] - y[1] * y[2] / radius, p[0] * y[0] / radius]


def _rigid_body(t: Any, y: Any, p: Any) -> list[Any]:
    return [p[0] * y[1] * y[2], -p[1] * y[0] * y[2], -p[2] * y[0] * y[1]]


# --- C: moderate systems ---------------------------------------------------------------------------------------------


def _equal_chain(t: Any, y: Any, p: Any) -> list[Any]:
    lost = [p[0] * y[i] for i in range(9)]
    return [-lost[0], *(lost[i - 1] - lost[i] for i in range(1, 9)), lost[8]]


def _rising_chain(t: Any, y: Any, p: Any) -> list[Any]:
    lost = [p[0] * (i + 1.0) * y[i] for i in range(9)]
    return [-lost[0], *(lost[i - 1] - lost[i] for i in range(1, 9)), lost[8]]


def _heat(n: int) -> Rates:
    """Rates of heat in n cells between two that stay at 0."""

    def rates(t: Any, y: Any, p: Any) -> list[Any]:
        ends = [p[0] * (y[1] - 2.0 * y[0]), p[0] * (y[n - 2] - 2.0 * y[n - 1])]
        return [ends[0], *(p[0] * (y[i - 1] - 2.0 * y[i] + y[i + 1]) for i in range(1, n - 1)), ends[1]]

    return rates


def _planets(t: Any, y: Any, p: Any) -> list[Any]:
    """Rates of five planets around the sun.   y: five positions, five velocities; p: gravity, and six masses"""
    places = [[y[3 * j + i] for i in range(3)] for j in range(5)]
    pull = [_pull(place) for place in places]
    moved: list[Any] = [y[15 + k] for k in range(15)]
    between = {}
    for j in range(5):
        for k in range(j):
            away = [a - b for a, b in zip(places[j], places[k], strict=True)]
            between[j, k] = [x * _pull(away) for x in away]
    for j, place in enumerate(places):
        for i in range(3):
            change = -(p[1] + p[2 + j]) * place[i] * pull[j]
            for k in range(5):
                if k != j:
                    towards = -between[j, k][i] if k < j else between[k, j][i]
                    change = change + p[2 + k] * (towards - places[k][i] * pull[k])
            moved.append(p[0] * change)
    return moved


def _pull(place: list[Any]) -> Any:
    """|place|⁻³"""
    square = place[0] * place[0] + place[1] * place[1] + place[2] * place[2]
    return square**-1.5


_POSITIONS: Final = (
    3.42947415189, 3.35386959711, 1.35494901715, 6.64145542550, 5.97156957878, 2.18231499728, 11.2630437207,
    14.6952576794, 6.27960525067, -30.1552268759, 1.65699966404, 1.43785752721, -21.1238353380, 28.4465098142,
    15.3882659679,
)  # fmt: skip
_VELOCITIES: Final = (
    -0.557160570446, 0.505696783289, 0.230578543901, -0.415570776342, 0.365682722812, 0.169143213293,
    -0.325325669158, 0.189706021964, 0.0877265322780, -0.0240476254170, -0.287659532608, -0.117219543175,
    -0.176860753121, -0.216393453025, -0.0148647893090,
)  # fmt: skip
_GRAVITY: Final = 2.95912208286
_MASSES: Final = (
    1.00000597682, 0.000954786104043, 0.000285583733151, 0.0000437273164546, 0.0000517759138449, 0.00000277777777778
)  # fmt: skip


# --- D: orbits -------------------------------------------------------------------------------------------------------


def _orbit(t: Any, y: Any, p: Any) -> list[Any]:
    pull = p[0] * (y[0] ** 2 + y[1] ** 2) ** -1.5
    return [y[2], y[3], -y[0] * pull, -y[1] * pull]


def _orbits(k: int, *published: float) -> Problem:
    """The orbit with eccentricity 0.2·k − 0.1."""
    e = round(0.2 * k - 0.1, 1)
    return _problem(f"D{k}", _orbit, (1 - e, 0.0, 0.0, ((1 + e) / (1 - e)) ** 0.5), (1.0,), published)


# --- E: equations of second order ------------------------------------------------------------------------------------


def _bessel(t: Any, y: Any, p: Any) -> list[Any]:
    return [y[1], -(y[1] / (t + 1.0) + (1.0 - p[0] / (t + 1.0) ** 2) * y[0])]


def _van_der_pol(t: Any, y: Any, p: Any) -> list[Any]:
    return [y[1], p[0] * (1.0 - y[0] ** 2) * y[1] - y[0]]


def _duffing(t: Any, y: Any, p: Any) -> list[Any]:
    return [y[1], p[0] * y[0] ** 3 - y[0] + p[1] * _function("sin", p[2] * t)]


def _falling(t: Any, y: Any, p: Any) -> list[Any]:
    return [y[1], p[0] - p[1] * y[1] ** 2]


def _pursuit(t: Any, y: Any, p: Any) -> list[Any]:
    return [y[1], (1.0 + y[1] ** 2) ** 0.5 / (p[0] - t)]


# --- the set ---------------------------------------------------------------------------------------------------------


def _problem(
    name: str, rates: Rates, start: tuple[float, ...], parameters: tuple[float, ...], published: tuple[float, ...] = ()
) -> Problem:
    return Problem(name, f"{name} of DETEST", rates, start, parameters, 20.0, 1.0, False, published)


_UNIT: Final = (1.0, *[0.0] * 9)
_BESSEL: Final = (2 / math.pi) ** 0.5
DETEST: Final = (
    _problem("A1", _decay, (1.0,), (1.0,)),
    _problem("A2", _riccati, (1.0,), (0.5,)),
    _problem("A3", _oscillating, (1.0,), (1.0,)),
    _problem("A4", _logistic, (1.0,), (0.25, 20.0)),
    _problem("A5", _spiral, (4.0,), (1.0,)),
    _problem("B1", _populations, (1.0, 3.0), (2.0, 1.0)),
    _problem("B2", _linear_reaction, (2.0, 0.0, 1.0), (1.0, 1.0)),
    _problem("B3", _quadratic_reaction, (1.0, 0.0, 0.0), (1.0, 1.0)),
    _problem("B4", _torus, (3.0, 0.0, 0.0), (1.0,)),
    _problem("B5", _rigid_body, (0.0, 1.0, 1.0), (1.0, 1.0, 0.51)),
    _problem("C1", _equal_chain, _UNIT, (1.0,)),
    _problem("C2", _rising_chain, _UNIT, (1.0,)),
    _problem("C3", _heat(10), _UNIT, (1.0,)),
    _problem("C4", _heat(51), (*_UNIT, *[0.0] * 41), (1.0,)),
    _problem("C5", _planets, (*_POSITIONS, *_VELOCITIES), (_GRAVITY, *_MASSES)),
    _orbits(1, 0.2198835352008397, 0.9427076846341813, -0.9787659841058176, 0.3287977990962036),
    _orbits(2, -0.1777027357140412, 0.9467784719905892, -1.030294163192969, 0.1211074890053952),
    _orbits(3, -0.5780432953035361, 0.8633840009194193, -0.9595083730380727, -0.06504915126712089),
    _orbits(4, -0.9538990293416394, 0.6907409024219432, -0.8212674270877433, -0.1539574259125825),
    _orbits(5, -1.295266250987574, 0.4003938963792321, -0.6775390924707566, -0.1270838154278686),
    _problem(
        "E1", _bessel, (_BESSEL * math.sin(1.0), _BESSEL * (math.cos(1.0) - math.sin(1.0) / 2)), (0.25,),
        (0.1456723600728308, -0.09883500195574063),
    ),
    _problem("E2", _van_der_pol, (2.0, 0.0), (1.0,), (2.008149762174948, -0.04250887527320057)),
    _problem("E3", _duffing, (0.0, 0.0), (1 / 6, 2.0, 2.78535), (-0.1004178858647128, 0.2411400132095954)),
    _problem("E4", _falling, (30.0, 0.0), (0.032, 0.4), (33.95091444646555, 0.2767822659672869)),
    _problem("E5", _pursuit, (0.0, 0.0), (25.0,), (14.11797390542629, 2.4)),
)  # fmt: skip
