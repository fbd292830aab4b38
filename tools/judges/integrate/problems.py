"""Initial value problems, written once for numbers, NumPy, JAX and `aotensor.tensor`: y[i] and p[i] are scalars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tools.judges.integrate.detest import DETEST
from tools.judges.integrate.problem import Problem


def _lotka(t: Any, y: Any, p: Any) -> list[Any]:
    eaten = y[0] * y[1]
    return [p[0] * y[0] - p[1] * eaten, p[2] * eaten - p[3] * y[1]]


def _brusselator(t: Any, y: Any, p: Any) -> list[Any]:
    made = y[0] * y[0] * y[1]
    return [p[0] + made - (p[1] + 1.0) * y[0], p[1] * y[0] - made]


def _arenstorf(t: Any, y: Any, p: Any) -> list[Any]:
    near, far = y[0] + p[0], y[0] - 1.0 + p[0]
    d1, d2 = (near * near + y[1] * y[1]) ** 1.5, (far * far + y[1] * y[1]) ** 1.5
    rest = 1.0 - p[0]
    return [
        y[2],
        y[3],
        y[0] + 2.0 * y[3] - rest * near / d1 - p[0] * far / d2,
        y[1] - 2.0 * y[2] - rest * y[1] / d1 - p[0] * y[1] / d2,
    ]


def _van_der_pol(t: Any, y: Any, p: Any) -> list[Any]:
    return [y[1], p[0] * ((1.0 - y[0] * y[0]) * y[1] - y[0])]


def _robertson(t: Any, y: Any, p: Any) -> list[Any]:
    slow, fast, square = p[0] * y[0], p[1] * y[1] * y[2], p[2] * y[1] * y[1]
    return [fast - slow, slow - fast - square, square]


def _hires(t: Any, y: Any, p: Any) -> list[Any]:
    bound = p[0] * y[5] * y[7]
    return [
        -1.71 * y[0] + p[1] * y[1] + 8.32 * y[2] + p[2],
        1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + p[1] * y[3] + 0.035 * y[4],
        8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + p[1] * y[5] + p[1] * y[6],
        -bound + 0.69 * y[3] + 1.71 * y[4] - p[1] * y[5] + 0.69 * y[6],
        bound - p[3] * y[6],
        -bound + p[3] * y[6],
    ]


def _orego(t: Any, y: Any, p: Any) -> list[Any]:
    return [
        p[0] * (y[1] + y[0] * (1.0 - p[1] * y[0] - y[1])),
        (y[2] - (1.0 + y[0]) * y[1]) / p[0],
        p[2] * (y[0] - y[2]),
    ]


_REACTIONS: Final = (
    (0, 0), (1, 1, 3), (2, 4, 1), (3, 6), (4, 6), (5, 6, 5), (6, 8), (7, 8, 5), (8, 10, 1), (9, 10, 0),
    (10, 12), (11, 9, 1), (12, 13), (13, 0, 5), (14, 2), (15, 3), (16, 3), (17, 15), (18, 15), (19, 16, 5),
    (20, 18), (21, 18), (22, 0, 3), (23, 18, 0), (24, 19),
)  # fmt: skip
"""Of each reaction of POLLU: its rate constant and the species that it consumes, all from 0."""
_BALANCE: Final[tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]] = (
    ((2, 3, 9, 11, 12, 22, 25), (1, 10, 14, 23, 24)), ((1, 21), (2, 3, 9, 12)), ((1, 17, 19, 22), (15,)),
    ((15,), (2, 16, 17, 23)), ((4, 4, 6, 7, 13, 20), (3,)), ((3, 18, 18), (6, 8, 14, 20)), ((13,), (4, 5, 6)),
    ((4, 5, 6, 7), ()), ((), (7, 8)), ((7, 9), (12,)), ((8, 11), (9, 10)), ((9,), ()), ((10,), (11,)),
    ((12,), (13,)), ((14,), ()), ((16,), (18, 19)), ((), (20,)), ((20,), ()), ((23, 25), (21, 22, 24)),
    ((24,), (25,)),
)  # fmt: skip
"""Of each species of POLLU: the reactions that make it and that consume it, from 1."""


def _pollution(t: Any, y: Any, p: Any) -> list[Any]:
    rates = []
    for constant, *species in _REACTIONS:
        rate = p[constant]
        for i in species:
            rate = rate * y[i]
        rates.append(rate)
    return [_total([rates[i - 1] for i in made]) - _total([rates[i - 1] for i in lost]) for made, lost in _BALANCE]


def _total(terms: Sequence[Any]) -> Any:
    return sum(terms[1:], terms[0]) if terms else 0.0


_TEST_SET: Final = "Mazzia & Magherini, Test set for initial value problem solvers (2008)"
PROBLEMS: Final = (
    Problem(
        "lotka_volterra", "two populations, three periods", _lotka, (10.0, 5.0), (1.1, 0.4, 0.1, 0.4), 30.0, 1.0,
        False,
    ),
    Problem(
        "brusselator", "Hairer, Nørsett & Wanner (1993), section I.16", _brusselator, (1.5, 3.0), (1.0, 3.0), 20.0, 1.0,
        False,
    ),
    Problem(
        "arenstorf", "Hairer, Nørsett & Wanner (1993), section II.0: an orbit around earth and moon, half a period",
        _arenstorf, (0.994, 0.0, 0.0, -2.00158510637908252240537862224), (0.012277471,), 8.5, 1.0, False,
    ),
    Problem(
        "van_der_pol", f"VDPOL of {_TEST_SET}", _van_der_pol, (2.0, 0.0), (1e6,), 2.0, 1.0, True,
        (0.1706167732170483e1, -0.8928097010247975), 1e-4,  # jumps change the gradient by factors of 1e7
    ),
    Problem(
        "robertson", f"ROBER of {_TEST_SET}", _robertson, (1.0, 0.0, 0.0), (0.04, 1e4, 3e7), 1e11, 1e-6, True,
        (0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050),
    ),
    Problem(
        "orego", f"OREGO of {_TEST_SET}", _orego, (1.0, 2.0, 3.0), (77.27, 8.375e-6, 0.161), 360.0, 1.0, True,
        (0.1000814870318523e1, 0.1228178521549917e4, 0.1320554942846706e3),
    ),
    Problem(
        "hires", f"HIRES of {_TEST_SET}", _hires, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0057),
        (280.0, 0.43, 0.0007, 1.81), 321.8122, 1e-4, True,
        (
            0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2,
            0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2,
        ),
    ),
    Problem(
        "pollution", f"POLLU of {_TEST_SET}", _pollution,
        (
            0.0, 0.2, 0.0, 0.04, 0.0, 0.0, 0.1, 0.3, 0.01, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.007, 0.0, 0.0, 0.0,
        ),
        (
            0.35, 0.266e2, 0.123e5, 0.86e-3, 0.82e-3, 0.15e5, 0.13e-3, 0.24e5, 0.165e5, 0.9e4, 0.22e-1, 0.12e5, 0.188e1,
            0.163e5, 0.48e7, 0.35e-3, 0.175e-1, 0.1e9, 0.444e12, 0.124e4, 0.21e1, 0.578e1, 0.474e-1, 0.178e4, 0.312e1,
        ),
        60.0, 1e-4, True,
        (
            0.5646255480022769e-1, 0.1342484130422339, 0.4139734331099427e-8, 0.5523140207484359e-2,
            0.2018977262302196e-6, 0.1464541863493966e-6, 0.7784249118997964e-1, 0.3245075353396018,
            0.7494013383880406e-2, 0.1622293157301561e-7, 0.1135863833257075e-7, 0.2230505975721359e-2,
            0.2087162882798630e-3, 0.1396921016840158e-4, 0.8964884856898295e-2, 0.4352846369330103e-17,
            0.6899219696263405e-2, 0.1007803037365946e-3, 0.1772146513969984e-5, 0.5682943292316392e-4,
        ),
    ),
    *DETEST,
)  # fmt: skip
